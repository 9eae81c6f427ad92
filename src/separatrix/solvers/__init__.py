# SPDX-License-Identifier: BSD-3-Clause
"""Solvers: from statistics to parameters.

posterior    the negative log posterior, which a fit minimises, and the scales of the columns
hessian      inverse Hessians, exact and approximate
newton       Newton's method and the line search
lbfgs        L-BFGS with any preconditioner
gradient     batch gradient descent
conjugate    conjugate gradients for linear systems
stochastic   mini-batch gradient descent with variance reduction
dual         the same problem with one unknown per row, for tables with fewer rows than columns
proximal     proximal Newton steps and working sets, for priors that make weights exactly zero
parabola     the inner problem of proximal: a parabola plus a penalty with corners
auto         the default solver, which chooses among these by the shape of the table
result       the record that every solver returns
"""

from separatrix.solvers.auto import RENEWAL_STEPS, SAMPLE_TOL, Auto, has_cheap_hessian, is_wide
from separatrix.solvers.conjugate import conjugate_gradients
from separatrix.solvers.dual import dual
from separatrix.solvers.gradient import GradientDescent
from separatrix.solvers.hessian import (
    MAX_JOINT_WEIGHTS,
    Factor,
    Inverse,
    approximate_inverse,
    change_of_curvature,
    factorise,
    few_row_weights,
)
from separatrix.solvers.lbfgs import LBFGS
from separatrix.solvers.newton import MAX_FIRST_LENGTH, Newton, descend
from separatrix.solvers.posterior import Posterior, Solver, Units, pose
from separatrix.solvers.proximal import ProximalNewton, on_columns
from separatrix.solvers.result import Solution, Status, Step
from separatrix.solvers.stochastic import StochasticGradient

__all__ = [
    "LBFGS",
    "MAX_FIRST_LENGTH",
    "MAX_JOINT_WEIGHTS",
    "RENEWAL_STEPS",
    "SAMPLE_TOL",
    "Auto",
    "Factor",
    "GradientDescent",
    "Inverse",
    "Newton",
    "Posterior",
    "ProximalNewton",
    "Solution",
    "Solver",
    "Status",
    "Step",
    "StochasticGradient",
    "Units",
    "approximate_inverse",
    "change_of_curvature",
    "conjugate_gradients",
    "descend",
    "dual",
    "factorise",
    "few_row_weights",
    "has_cheap_hessian",
    "is_wide",
    "on_columns",
    "pose",
]
