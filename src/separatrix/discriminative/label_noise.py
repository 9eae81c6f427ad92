# SPDX-License-Identifier: BSD-3-Clause
"""Logistic regression for labels that are sometimes wrong.                          PRML (4.117)"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.discriminative.model import ClassLikelihood, DiscriminativeClassifier
from separatrix.likelihoods import LabelNoise, SoftmaxLabelNoise
from separatrix.priors import Prior

__all__ = ["LabelNoiseLogisticRegression"]


class LabelNoiseLogisticRegression(DiscriminativeClassifier):
    """Logistic regression for labels that are sometimes wrong."""

    def __init__(
        self,
        noise: Any = None,
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
        self.noise = noise
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
        eps = 0.05 if self.noise is None else self.noise
        if n_classes == 2:
            return LabelNoise(eps)
        confusion = np.full((n_classes, n_classes), eps / (n_classes - 1))
        np.fill_diagonal(confusion, 1 - eps)
        return SoftmaxLabelNoise(confusion)
