# SPDX-License-Identifier: BSD-3-Clause
"""Normal with known variance: only the mean is unknown.                              PRML §2.3.6

    p(x | μ) = N(x | μ, σ²),  σ given
    u(x) = x,   h(x) = N(x | 0, σ²),   η = μ/σ²,   A = μ²/2σ²,   E[u] = μ

With one σ for all classes u(x) = x makes the classifier a linear separator (PRML §4.2.4). Where σ is not given
it is taken from the facts: the standard deviation within classes, pooled, and from then on treated as known.

Conjugate prior    μ ~ N(m, s²):  ν = σ²/s²,  χ = m                                        (2.138)
Posterior          precision 1/s² + n/σ², mean weighted by precision                       (2.141, 2.142)
Predictive         N(x | m, s² + σ²)
Marginal           (2πσ²)^(-n/2) e^(-S/2σ²) (1 + ns²/σ²)^-½ exp(-½ n (x̄ - m)²/(σ² + ns²))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from separatrix._array import Array, Float
from separatrix._special import LOG_SQRT_2PI
from separatrix.families.facts import Moments
from separatrix.families.family import Family, Prior, Size, shape_of
from separatrix.families.normal import Normal, log_normal, log_normal_sum
from separatrix.families.record import FactsError, require

__all__ = ["NormalKnownVariance", "NormalNormal"]


@dataclass(frozen=True)
class NormalKnownVariance(Family[Moments]):
    """N(x | μ, σ²) with σ given.

    Parameters
    ----------
    mean
        μ.
    sd
        σ > 0, known.

    Examples
    --------
    >>> facts = NormalKnownVariance.facts([[1.0], [3.0]], [[1.0], [1.0]])
    >>> NormalKnownVariance.ml(facts, sd=2.0)
    NormalKnownVariance(mean=array([[2.]]), sd=array([[2.]]))
    """

    mean: Float
    sd: Float

    def _check(self) -> None:
        require(self, "sd", self.sd > 0, "positive")

    @staticmethod
    def u(x: Any) -> Float:
        """x."""
        return np.asarray(x, dtype=np.float64)[..., None]

    def log_h(self, x: Any) -> Float:
        """ln N(x | 0, σ²)."""
        return log_normal(x, np.zeros(()), self.sd)

    @property
    def natural(self) -> Float:
        """μ/σ²."""
        return (self.mean / self.variance)[..., None]

    @property
    def log_normaliser(self) -> Float:
        """μ²/2σ²."""
        return 0.5 * (self.mean / self.sd) ** 2

    @property
    def mean_u(self) -> Float:
        """μ."""
        return self.mean[..., None]

    @property
    def variance(self) -> Float:
        """σ²."""
        return self.sd**2

    @classmethod
    def of_natural(cls, eta: Float, sd: Any = 1.0) -> Self:
        """μ = σ² η."""
        return cls(np.square(sd) * np.asarray(eta)[..., 0], sd)

    @classmethod
    def of_mean_u(cls, mean_u: Float, sd: Any = 1.0) -> Self:
        """μ = mean of x."""
        return cls(np.asarray(mean_u)[..., 0], sd)

    def log_density(self, x: Any) -> Float:
        """-½ ((x - μ)/σ)² - ln σ - ½ ln 2π."""
        return log_normal(x, self.mean, self.sd)

    def log_density_sum(self, x: Array) -> Float:
        """Matrix products about the middle of the classes."""
        return log_normal_sum(x, self.mean, self.sd)

    def sample(self, rng: np.random.Generator, size: Size = ()) -> Float:
        """μ + σ z."""
        return self.mean + self.sd * rng.standard_normal(shape_of(size, self.batch))

    @staticmethod
    def check_support(x: Array, columns: Sequence[str]) -> None:
        """Finite."""
        Normal.check_support(x, columns)

    @classmethod
    def facts(cls, x: Array, R: Array) -> Moments:
        """Count, mean, scatter."""
        return Moments.of(x, R)

    @classmethod
    def ml(cls, facts: Moments, sd: Any = None) -> Self:
        """The mean of each class; σ pooled within classes unless given."""
        facts.require_some()
        return cls(facts.mean, within_sd(facts) if sd is None else sd)

    @classmethod
    def weak_prior(cls, facts: Moments) -> NormalNormal:
        """One observation at the overall mean, σ pooled within classes."""
        return NormalNormal.weak(facts)


@dataclass(frozen=True)
class NormalNormal(Prior[NormalKnownVariance, Moments]):
    """μ ~ N(m, s²) for x ~ N(μ, σ²).

    Parameters
    ----------
    mean, spread
        m and s > 0.
    sd
        σ > 0, known.
    """

    mean: Float
    spread: Float
    sd: Float

    def _check(self) -> None:
        require(self, "spread", self.spread > 0, "positive")
        require(self, "sd", self.sd > 0, "positive")

    @classmethod
    def weak(cls, facts: Moments, sd: Any = None) -> Self:
        """One observation (s = σ) at the mean of all classes; σ pooled within classes unless given."""
        sd = within_sd(facts) if sd is None else sd
        return cls(facts.overall().mean, sd, sd)

    def _worth(self, facts: Moments) -> Float:
        """n s²/σ²: the facts against the prior, in observations."""
        return facts.count * np.square(self.spread / self.sd)

    def updated(self, facts: Moments) -> Self:
        """(2.141) and (2.142)."""
        q = self._worth(facts)
        mean = self.mean + (facts.mean - self.mean) * (q / (1 + q))
        return type(self)(mean, self.spread / np.sqrt(1 + q), self.sd)

    @property
    def mode(self) -> NormalKnownVariance:
        """N(m, σ²); m is the mean of μ too."""
        return NormalKnownVariance(self.mean, self.sd)

    def predictive(self) -> NormalKnownVariance:
        """N(m, s² + σ²)."""
        return NormalKnownVariance(self.mean, np.hypot(self.spread, self.sd))

    def log_marginal(self, facts: Moments) -> Float:
        """In closed form."""
        n, q = facts.count, self._worth(facts)
        fit = facts.scatter / self.sd**2 + n * ((facts.mean - self.mean) / self.sd) ** 2 / (1 + q)
        return -0.5 * (fit + np.log1p(q)) - n * (np.log(self.sd) + LOG_SQRT_2PI)


def within_sd(facts: Moments) -> Float:
    """The standard deviation within classes, pooled, (1, D)."""
    count = facts.overall().count
    variance = facts.scatter.sum(axis=0, keepdims=True) / count
    pooled = Moments(count, np.abs(facts.mean).max(axis=0, keepdims=True), variance * count)
    remedy = "drop the column, or give sd"
    FactsError.unless(~pooled.is_constant, "all values of a class are equal", remedy, overall=True)
    return np.asarray(np.sqrt(variance))
