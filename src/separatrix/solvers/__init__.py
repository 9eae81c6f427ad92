# SPDX-License-Identifier: BSD-3-Clause
"""From statistics to parameters, and how it went."""

from separatrix.solvers.auto import Auto
from separatrix.solvers.gradient import GradientDescent
from separatrix.solvers.lbfgs import LBFGS
from separatrix.solvers.newton import Newton
from separatrix.solvers.posterior import Posterior, Solver, pose
from separatrix.solvers.result import Solution, Status, Step
from separatrix.solvers.separation import Separability, separability
from separatrix.solvers.stochastic import StochasticGradient

__all__ = [
    "LBFGS",
    "Auto",
    "GradientDescent",
    "Newton",
    "Posterior",
    "Separability",
    "Solution",
    "Solver",
    "Status",
    "Step",
    "StochasticGradient",
    "pose",
    "separability",
]
