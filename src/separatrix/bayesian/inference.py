# SPDX-License-Identifier: BSD-3-Clause
"""From an objective to a posterior: mode, Gaussian, diagnosis, repair; and the prior tuned on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._array import Float
from separatrix.bayesian.approximation import Approximation, laplace
from separatrix.priors import Gaussian
from separatrix.solvers import Auto, Solution
from separatrix.solvers.posterior import Posterior

__all__ = ["METHODS", "Inference", "Options", "infer"]

METHODS = ("auto", "laplace", "variational", "ep", "importance")


@dataclass(frozen=True, eq=False)
class Options:
    """What the user asked for."""

    method: str
    structure: str | None
    tune: bool
    groups: Any
    tol: float
    rng: np.random.Generator


@dataclass(frozen=True, eq=False)
class Inference:
    """What came of it."""

    objective: Posterior
    approximation: Approximation
    solution: Solution[Float]
    effective_parameters: float
    pareto_k: float = float("nan")
    draws: Any = None
    prior: Gaussian | None = None
    tuning: Any = None


def infer(objective: Posterior, options: Options) -> Inference:
    """Laplace for now."""
    solution = Auto(options.tol).minimise(objective, np.zeros(objective.shape))
    approximation = laplace(objective, solution.value)
    return Inference(objective, approximation, solution, 0.0)
