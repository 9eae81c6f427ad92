# SPDX-License-Identifier: BSD-3-Clause
"""From statistics to parameters, and how it went."""

from separatrix.solvers.auto import BLOCK, JOINT, PATIENCE, ROUGH, Auto, is_small
from separatrix.solvers.descent import ROUNDING
from separatrix.solvers.factor import Factor, factorise
from separatrix.solvers.gradient import GradientDescent
from separatrix.solvers.lbfgs import LBFGS
from separatrix.solvers.margin import Margin, Novikoff, novikoff, widest_margin
from separatrix.solvers.newton import Newton
from separatrix.solvers.posterior import Posterior, Solver, Units, pose, survey
from separatrix.solvers.precondition import Inverse, by_class, diagonal, level
from separatrix.solvers.result import Solution, Status, Step
from separatrix.solvers.separation import Separability, SeparationStatus, separability
from separatrix.solvers.stochastic import StochasticGradient
from separatrix.solvers.wide import dual, is_wide

__all__ = [
    "BLOCK",
    "JOINT",
    "LBFGS",
    "PATIENCE",
    "ROUGH",
    "ROUNDING",
    "Auto",
    "Factor",
    "GradientDescent",
    "Inverse",
    "Margin",
    "Newton",
    "Novikoff",
    "Posterior",
    "Separability",
    "SeparationStatus",
    "Solution",
    "Solver",
    "Status",
    "Step",
    "StochasticGradient",
    "Units",
    "by_class",
    "diagonal",
    "dual",
    "factorise",
    "is_small",
    "is_wide",
    "level",
    "novikoff",
    "pose",
    "separability",
    "survey",
    "widest_margin",
]
