# SPDX-License-Identifier: BSD-3-Clause
"""Exponential: x >= 0 is a memoryless waiting time.

    p(x | b) = b e^(-b x)
    u(x) = x,   h(x) = 1,   η = -b,   A = -ln b,   E[u] = 1/b

Conjugate prior    b ~ Gamma(a0, b0):  ν = a0 - 1,  χ = b0/(a0 - 1)
Posterior          Gamma(a0 + n, b0 + Σx)
Predictive         Lomax, a0 b0^a0 / (b0 + x)^(a0 + 1)
Marginal           Γ(a0 + n)/Γ(a0) · b0^a0/(b0 + Σx)^(a0 + n)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from separatrix._array import Array, Float
from separatrix._special import log1p_ratio, log_rising
from separatrix.families.family import Density, Family, Prior, Size, reject, shape_of
from separatrix.families.sufficient_statistics import FactsError, Sums, require

REMEDY_FOR_ZEROS = "drop the column, or use another family"


@dataclass(frozen=True)
class Exponential(Family[Sums]):
    """p(x) = b e^(-b x) for x >= 0; ``rate`` b > 0 is one over the mean."""

    rate: Float
    statistics = Sums
    positive = ("rate",)

    @property
    def natural(self) -> Float:
        return -self.rate[..., None]

    @property
    def log_normaliser(self) -> Float:
        return -np.log(self.rate)

    @property
    def mean(self) -> Float:
        return 1.0 / self.rate

    @property
    def variance(self) -> Float:
        return self.rate**-2.0

    @classmethod
    def of_natural(cls, eta: Float) -> Self:
        return cls(-np.asarray(eta)[..., 0])

    @classmethod
    def of_mean_u(cls, mean_u: Float) -> Self:
        return cls(1.0 / np.asarray(mean_u)[..., 0])

    def log_density(self, x: Any) -> Float:
        x = np.asarray(x, dtype=np.float64)
        return np.where(x >= 0, np.log(self.rate) - self.rate * x, -np.inf)

    def sample(self, rng: np.random.Generator, size: Size = ()) -> Float:
        return rng.exponential(self.mean, shape_of(size, self.batch))

    @staticmethod
    def check_support(x: Array, columns: Sequence[str]) -> None:
        bad = ~(np.isnan(x) | ((x >= 0) & np.isfinite(x)))
        remedy = "Correct the value, mark it missing, or fit another family (normal)."
        reject(bad, x, columns, want="amounts must be finite and not negative", remedy=remedy)

    @classmethod
    def ml(cls, facts: Sums) -> Self:
        """Maximum likelihood: b is one over the mean."""
        facts.require_some()
        FactsError.unless(facts.total_u[..., 0] > 0, "only zeros", REMEDY_FOR_ZEROS)
        return cls.of_mean_u(facts.mean_u)


@dataclass(frozen=True)
class GammaExponential(Prior[Exponential, Sums], of=Exponential):
    """Prior b ~ Gamma(a0, b0); ``shape`` a0 is 1 + the number of earlier observations, ``rate`` b0 is their sum."""

    shape: Float
    rate: Float
    positive = ("shape", "rate")

    @classmethod
    def weak(cls, facts: Sums, worth: float = 1.0) -> Self:
        """Gamma(1 + worth, worth · mean): ``worth`` pseudo-observations at the mean of all classes."""
        pooled = facts.overall()
        FactsError.unless(pooled.total_u[..., 0] > 0, "only zeros", REMEDY_FOR_ZEROS, overall=True)
        return cls(np.asarray(1.0 + worth), worth * pooled.mean_u[..., 0])

    def updated(self, facts: Sums) -> Self:
        return type(self)(self.shape + facts.count, self.rate + facts.total_u[..., 0])

    @property
    def mode(self) -> Exponential:
        """b = (a0 - 1)/b0, which is one over the posterior mean of 1/b; requires a0 > 1."""
        require(self, "shape", self.shape > 1, "above 1 for a mode")
        return Exponential((self.shape - 1) / self.rate)

    def predictive(self) -> Lomax:
        """The Lomax distribution, with a power-law tail."""
        return Lomax(self.shape, self.rate)

    def log_marginal(self, facts: Sums) -> Float:
        a, b, n, total = self.shape, self.rate, facts.count, facts.total_u[..., 0]
        return log_rising(a, n) - a * log1p_ratio(total, b) - n * np.log(b + total)


@dataclass(frozen=True)
class Lomax(Density):
    """p(x) = a b^a / (b + x)^(a + 1) for x >= 0, an exponential distribution whose rate is Gamma(a, b)."""

    shape: Float
    rate: Float

    def log_density(self, x: Any) -> Float:
        """ln a - ln b - (a + 1) ln(1 + x/b)."""
        x = np.asarray(x, dtype=np.float64)
        inside = np.log(self.shape) - np.log(self.rate)
        inside = inside - (self.shape + 1) * log1p_ratio(np.where(x >= 0, x, 0.0), self.rate)
        return np.where(x >= 0, inside, -np.inf)

    def sample(self, rng: np.random.Generator, size: Size = ()) -> Float:
        """Draw x = b (U^(-1/a) - 1) by inverting the distribution function."""
        return self.rate * np.expm1(rng.exponential(size=shape_of(size, self.batch)) / self.shape)
