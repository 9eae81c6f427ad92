# SPDX-License-Identifier: BSD-3-Clause
"""Profile intervals: every value b of a coefficient that a likelihood ratio test does not reject.

    √[(D(w_j = b) - D̂)/φ̂] <= reach,       D minimised over all other coefficients

As a function of b the left side is nearly a straight line on each side of the estimate, so secants find its ends in a
few restricted fits, each started from the one before.
"""

from __future__ import annotations

import numpy as np

from separatrix.discriminative.glm_fit import GLMFit
from separatrix.discriminative.restricted import fit_restricted, foretold
from separatrix.exceptions import DataError

__all__ = ["profile_interval"]

TOLERANCE = 1e-7  # of the reach, relative


def profile_interval(fit: GLMFit, j: int, reach: float) -> tuple[float, float]:
    """All b for which √[(D(w_j = b) - D̂)/φ̂] <= reach; infinite on a side where the deviance never rises so far."""
    center = float(fit.coefficients[j])
    error = float(np.sqrt(fit.dispersion * fit.user_covariance[j, j]))
    if not (error > 0 and np.isfinite(reach)):  # a perfect fit, or no rows left to estimate the dispersion
        return center - reach * error, center + reach * error
    below, above = (_distance(_Profile(fit, j, center, side), reach, error) for side in (-1.0, 1.0))
    return center - below, center + above


class _Profile:
    """√[(D(w_j = center ± x) - D̂)/φ̂] for one side; each fit starts from the nearest one inside."""

    def __init__(self, fit: GLMFit, j: int, center: float, side: float) -> None:
        self.fit, self.j, self.center, self.side = fit, j, center, side
        self.inside = (0.0, fit.coefficients)
        self.tangent = foretold(fit, [j], np.array([center + side])) - fit.coefficients

    def __call__(self, x: float) -> float:
        b = np.array([self.center + self.side * x])
        x0, w = self.inside
        found = fit_restricted(self.fit, [self.j], b, w + (x - x0) * self.tangent, w)
        if found is None:
            return np.inf
        self.last = (x, found[1])
        return float(np.sqrt(max(found[0] - self.fit.goodness.deviance, 0.0) / self.fit.dispersion))

    def accept(self) -> None:
        """Remember the last point as one inside."""
        self.inside = self.last


def _distance(profile: _Profile, reach: float, error: float) -> float:
    """Where a profile that rises from zero, nearly a straight line, is as high as ``reach``: secants in a bracket."""
    low, high = (0.0, 0.0), (np.inf, np.inf)
    x, before = reach * error, (0.0, 0.0)
    for _ in range(100):
        z = profile(x)
        if abs(z - reach) <= TOLERANCE * reach:
            return x
        if z < reach:
            profile.accept()
            low = (x, z)
            if np.isinf(high[1]):  # no likelihood there, seen from further inside: look again from here
                high = (np.inf, np.inf)
        else:
            high = (x, z)
        slope = (z - before[1]) / (x - before[0]) if np.isfinite(z) and x != before[0] else 0.0
        guess = x + (reach - z) / slope if slope > 0 else np.inf
        before = (x, z) if np.isfinite(z) else low
        if not low[0] < guess < high[0] or guess > 4.0 * low[0] + reach * error:
            guess = 0.5 * (low[0] + high[0]) if np.isfinite(high[0]) else 4.0 * low[0]
        if guess > 1e8 * reach * error:
            return np.inf
        x = guess
    raise DataError(f"No end of the profile interval was found after 100 fits, up to {low[0]:g} from the estimate.")
