# SPDX-License-Identifier: BSD-3-Clause
"""Count, extent and moments of numbers, as a statistic that adds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from separatrix._array import Codes, Float

__all__ = ["NumberFacts"]


@dataclass(frozen=True, slots=True)
class NumberFacts:
    """Count, extent, mean and squared deviations Σ (x - mean)² of numbers; whether all of them are whole."""

    count: int = 0
    low: float = np.inf
    high: float = -np.inf
    mean: float = 0.0
    squares: float = 0.0
    whole: bool = True

    @classmethod
    def of(cls, numbers: Float, counts: Codes | None = None) -> NumberFacts:
        """Of numbers without NaN, each once or as often as ``counts`` says."""
        if not len(numbers):
            return cls()
        low, high = float(numbers.min()), float(numbers.max())
        scale = max(abs(low), abs(high)) or 1.0  # no sum overflows, and equal numbers have exactly their own mean
        z = numbers / scale
        mean = float(np.average(z, weights=counts))
        squares = float(np.sum((z - mean) ** 2 * (1 if counts is None else counts)))
        return cls(
            count=len(numbers) if counts is None else int(counts.sum()),
            low=low,
            high=high,
            mean=scale * mean,
            squares=scale * scale * squares if squares else 0.0,
            whole=bool((numbers == np.floor(numbers)).all()),
        )

    def __add__(self, other: NumberFacts) -> NumberFacts:
        """Pairwise merge of centred moments: Chan, Golub & LeVeque (1979)."""
        if not (self.count and other.count):
            return self if self.count else other
        count = self.count + other.count
        share = other.count / count
        delta = other.mean - self.mean
        return NumberFacts(
            count=count,
            low=min(self.low, other.low),
            high=max(self.high, other.high),
            mean=self.mean + share * delta if math.isfinite(delta) else (1 - share) * self.mean + share * other.mean,
            squares=self.squares + other.squares + delta * delta * self.count * share,
            whole=self.whole and other.whole,
        )

    @property
    def variance(self) -> float:
        """Σ (x - mean)² / n; infinite where squares are too large for arithmetic."""
        return self.squares / self.count if self.count else 0.0
