# SPDX-License-Identifier: BSD-3-Clause
"""Errors of probabilities and intervals that are due to an approximation of the posterior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix._array import Float

# Average error of probabilities and bounds, and largest error of bounds, up to which a Gaussian predicts instead of the
# draws: it takes a hundredth of the time.
NEGLIGIBLE_ERROR, NEGLIGIBLE_LARGE_ERROR = 0.005, 0.05


@dataclass(frozen=True)
class Errors:
    """Errors of probabilities that are due to the approximation, as estimated by draws; NaN if unknown.

    They are the ``average``, the ``largest`` of 99 % of the rows, and the same for the ``bounds`` of 95 % intervals.
    """

    average: float = float("nan")
    largest: float = float("nan")
    bounds: float = float("nan")
    largest_bounds: float = float("nan")

    @property
    def are_negligible(self) -> bool:
        """Whether a Gaussian predicts as well as the draws."""
        return max(self.average, self.bounds) <= NEGLIGIBLE_ERROR and self.largest_bounds <= NEGLIGIBLE_LARGE_ERROR

    @classmethod
    def of(cls, sizes: Float, bounds: Float, n_kinds: int) -> Errors:
        """Return the larger errors of ``n_kinds`` kinds of rows, from those of each probability and bound."""
        found = list[float]()
        for each in (sizes, bounds):
            parts = np.split(each.reshape(len(each), -1), n_kinds)
            found += [float(max(part.mean() for part in parts))]
            found += [float(max(np.quantile(part.max(axis=1), 0.99) for part in parts))]
        return cls(*found)
