# SPDX-License-Identifier: BSD-3-Clause
"""Probit regression.                                                                       PRML §4.3.5

    p(C_1 | x) = Φ(a),  a = w'φ(x) + w0                                                            (4.116)

with Φ the normal distribution function: a logistic model whose tails fall off as e^(-a²/2), so that a row far on the
wrong side weighs more. Two classes; fitted as logistic regression is, with the same prior and the same solvers.
"""

from __future__ import annotations

from typing import Any

from separatrix.discriminative.model import ClassLikelihood, DiscriminativeClassifier
from separatrix.likelihoods import Probit
from separatrix.priors import Prior
from separatrix.shell import require_two_classes

__all__ = ["ProbitRegression"]


class ProbitRegression(DiscriminativeClassifier):
    """Probit regression for two classes."""

    def __init__(
        self,
        alpha: float = 1.0,
        prior: Prior | None = None,
        basis: Any = None,
        fit_intercept: bool = True,
        solver: Any = "auto",
        tol: float = 1e-8,
        max_steps: int | None = None,
        trace: bool = False,
        rng: Any = None,
    ) -> None:
        self.alpha = alpha
        self.prior = prior
        self.basis = basis
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_steps = max_steps
        self.trace = trace
        self.rng = rng

    def _likelihood(self, n_classes: int) -> ClassLikelihood:
        require_two_classes(self, self.classes_, "")
        return Probit()
