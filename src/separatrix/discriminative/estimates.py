# SPDX-License-Identifier: BSD-3-Clause
"""What a fit says of its coefficients one by one: an interval, and whether they could be zero.

Wald's statements need the estimates and their standard errors alone. Likelihood ratios, scores and profiles fit the
model again, so they need the rows. And where coefficients were pulled towards zero, no test of zero is made at all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix._array import Float
from separatrix.discriminative.glm_fit import GLMFit
from separatrix.discriminative.inference import each_coefficient, quantile, wald_tests
from separatrix.discriminative.profile import profile_interval

__all__ = ["INTERVALS", "Estimates"]

INTERVALS = ("wald", "profile")
PENALISED = (
    "Penalised fit (alpha = {alpha:g}): coefficients are pulled towards zero, and standard errors and intervals are "
    "those of the posterior, which takes the pull for a prior. A test of w = 0 would take it for evidence, so there is "
    "none; set alpha=0 to test."
)


@dataclass(frozen=True, eq=False)
class Estimates:
    """Coefficients (P,) with their standard errors; the fit they came from, where its rows are at hand.

    ``residual`` is the degrees of freedom of Student's t, infinite where the dispersion is known; ``alpha`` the
    penalty.
    """

    coefficients: Float
    standard_errors: Float
    residual: float
    alpha: float
    fit: GLMFit | None

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know."""
        return () if self.alpha == 0 else (PENALISED.format(alpha=self.alpha),)

    def limits(self, level: float, interval: str) -> tuple[Float, Float]:
        """Lower and upper ends, by one of `INTERVALS`."""
        reach = quantile(level, self.residual)
        if interval == "wald":
            half = reach * self.standard_errors
            return self.coefficients - half, self.coefficients + half
        fit = self.training_fit()
        ends = np.array([profile_interval(fit, j, reach) for j in range(len(fit.names))])
        return ends[:, 0], ends[:, 1]

    def tests(self, method: str) -> tuple[str, Float, Float]:
        """Name, statistics and p values, by one of `inference.TESTS`; NaN where there is a penalty."""
        if self.alpha > 0:
            nothing = np.full(len(self.standard_errors), np.nan)
            return "z", nothing, nothing
        if method == "wald":
            return wald_tests(self.coefficients, self.standard_errors, self.residual)
        return each_coefficient(self.training_fit(), method)

    def require_unpenalised(self, asked: str) -> None:
        """Raise where what was asked for would take the penalty for evidence."""
        if self.alpha > 0:
            raise ValueError(f"{asked} needs alpha=0. {PENALISED.format(alpha=self.alpha)}")

    def training_fit(self) -> GLMFit:
        """The fit with its rows; raise where they were left behind."""
        if self.fit is None:
            raise ValueError(
                "Likelihood-ratio and score tests and profile intervals fit the model again, and a model that was "
                "saved and loaded has no rows. Call fit(X, y) again; Wald tests and intervals need no rows."
            )
        return self.fit
