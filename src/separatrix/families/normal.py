# SPDX-License-Identifier: BSD-3-Clause
"""Normal: x is a real number; the variance is unknown or known.                      PRML §2.3, §2.3.6, (2.42)

    p(x | μ, σ²) = (2πσ²)^-½ exp(-(x - μ)²/2σ²)

Mean and variance unknown (`Normal`):

    u(x) = (x, x²),   h(x) = (2π)^-½,   η = (μ/σ², -1/2σ²),   A = μ²/2σ² + ln σ,   E[u] = (μ, μ² + σ²)

Sums of x² lose all precision if |μ| exceeds 1e8 σ, so the statistics are count, mean x̄ and scatter S = Σ (x - x̄)².

Conjugate prior    λ = 1/σ² ~ Gamma(a, b),  μ | λ ~ N(m, 1/(βλ))                          (2.154)
                   ν = β = 2a - 3,  χ = (m, m² + 2b/ν); priors with other a and β are also conjugate
Posterior          β + n,  m + (x̄ - m) n/(β + n),  a + n/2,  b + ½ S + ½ (x̄ - m)² βn/(β + n)
Predictive         Student-t, 2a degrees of freedom, centre m, scale² = b (β + 1)/(aβ)
Marginal           Γ(a_n)/Γ(a) · b^a/b_n^a_n · (β/β_n)^½ (2π)^(-n/2)

Variance known, mean unknown (`NormalKnownVariance`):

    u(x) = x,   h(x) = N(x | 0, σ²),   η = μ/σ²,   A = μ²/2σ²,   E[u] = μ

If all classes have the same σ, the log-odds are linear in x, because u(x) = x (PRML §4.2.4). If σ is not given, it is
estimated as the pooled standard deviation within classes, and then treated as known.

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
from separatrix._special import LOG_SQRT_2PI, MAX_CANCELLING_NATS, log1p_ratio, log_rising
from separatrix.families.family import Density, Family, Prior, Size, reject, shape_of
from separatrix.families.sufficient_statistics import FactsError, Moments, require


@dataclass(frozen=True)
class _NormalFamily(Family[Moments]):
    """Base class of the two normal families, with their density, support and statistics."""

    mean: Float
    sd: Float
    statistics = Moments
    positive = ("sd",)

    @property
    def variance(self) -> Float:
        return self.sd**2

    def log_density(self, x: Any) -> Float:
        z = (np.asarray(x, dtype=np.float64) - self.mean) / self.sd
        return np.asarray(-0.5 * z**2 - np.log(self.sd) - LOG_SQRT_2PI)

    def log_density_sum(self, x: Array) -> Float:
        """Σ_d ln N(x_nd | μ_kd, σ_kd²) as matrix products; missing values are skipped.

        Let z = (x - m0)/s0 with the mean m0 of μ and the geometric mean s0 of σ over the classes. The square
        ((x - μ)/σ)² = (c z - b)² is expanded, which multiplies rounding errors by b², so it is not used if b is large.
        """
        middle, unit = self.mean.mean(axis=0), np.exp(np.log(self.sd).mean(axis=0))
        c, b = unit / self.sd, (self.mean - middle) / self.sd
        if np.max(b**2, initial=0.0) > MAX_CANCELLING_NATS:
            return Density.log_density_sum(self, x)
        z = (np.asarray(x, dtype=np.float64) - middle) / unit
        missing = np.isnan(z)
        constant = 0.5 * b**2 + np.log(self.sd) + LOG_SQRT_2PI
        seen = constant.sum(axis=1)
        if missing.any():
            z[missing] = 0.0
            seen = ~missing @ constant.T
        return np.asarray(np.square(z) @ (-0.5 * c**2).T + z @ (c * b).T - seen)

    def sample(self, rng: np.random.Generator, size: Size = ()) -> Float:
        return self.mean + self.sd * rng.standard_normal(shape_of(size, self.batch))

    @staticmethod
    def check_support(x: Array, columns: Sequence[str]) -> None:
        remedy = "Correct the value, or mark it missing (NaN)."
        reject(np.isinf(x), x, columns, want="numbers must be finite", remedy=remedy)


@dataclass(frozen=True)
class Normal(_NormalFamily):
    """N(x | μ, σ²) with ``mean`` μ and standard deviation ``sd`` σ > 0."""

    @staticmethod
    def u(x: Any) -> Float:
        x = np.asarray(x, dtype=np.float64)
        return np.stack([x, x**2], axis=-1)

    def log_h(self, x: Any) -> Float:
        return np.full(np.shape(x), -LOG_SQRT_2PI)

    @property
    def natural(self) -> Float:
        return np.stack([self.mean / self.variance, -0.5 / self.variance], axis=-1)

    @property
    def log_normaliser(self) -> Float:
        return 0.5 * (self.mean / self.sd) ** 2 + np.log(self.sd)

    @property
    def mean_u(self) -> Float:
        return np.stack([self.mean, self.mean**2 + self.variance], axis=-1)

    @classmethod
    def of_natural(cls, eta: Float) -> Self:
        eta = np.asarray(eta, dtype=np.float64)
        variance = -0.5 / eta[..., 1]
        return cls(variance * eta[..., 0], np.sqrt(variance))

    @classmethod
    def of_mean_u(cls, mean_u: Float) -> Self:
        """Estimate from the means of x and x²; `ml` avoids the cancellation of large squares."""
        mean_u = np.asarray(mean_u, dtype=np.float64)
        return cls(mean_u[..., 0], np.sqrt(mean_u[..., 1] - mean_u[..., 0] ** 2))

    @classmethod
    def ml(cls, facts: Moments) -> Self:
        """Maximum likelihood: the mean, and the square root of scatter divided by count."""
        facts.require_some(varying=True)
        return cls(facts.mean, np.sqrt(facts.variance))


@dataclass(frozen=True)
class NormalGamma(Prior[Normal, Moments], of=Normal):
    """Prior λ ~ Gamma(a, b), μ | λ ~ N(m, 1/(βλ)) with ``mean`` m, ``count`` β > 0, the number of pseudo-observations,
    ``shape`` a > 0 and ``rate`` b > 0.
    """

    mean: Float
    count: Float
    shape: Float
    rate: Float
    positive = ("count", "shape", "rate")

    @classmethod
    def weak(cls, facts: Moments, worth: float = 1.0) -> Self:
        """Prior with ``worth`` pseudo-observations that have the mean and standard deviation of all classes."""
        overall = facts.overall()
        FactsError.unless(~overall.is_constant, "all values are equal", "drop the column", overall=True)
        nu = np.asarray(worth)
        return cls(overall.mean, nu, 0.5 * (nu + 3), 0.5 * nu * np.square(np.sqrt(overall.variance)))

    def updated(self, facts: Moments) -> Self:
        count = self.count + facts.count  # combines (2.141) - (2.150) for both parameters
        mean = self.mean + (facts.mean - self.mean) * (facts.count / count)
        return type(self)(mean, count, self.shape + 0.5 * facts.count, self.rate + self._rate_increase(facts))

    def _rate_increase(self, facts: Moments) -> Float:
        """Difference b_n - b of the rates of posterior and prior."""
        shrunk = self.count * (facts.count / (self.count + facts.count))  # the product of both counts may overflow
        return 0.5 * (facts.scatter + shrunk * (facts.mean - self.mean) ** 2)

    @property
    def mode(self) -> Normal:
        """N(m, b/(a - 3/2)), the mode of η; requires a > 3/2."""
        require(self, "shape", self.shape > 1.5, "above 3/2 for a mode")
        return Normal(self.mean, np.sqrt(self.rate / (self.shape - 1.5)))

    def predictive(self) -> StudentT:
        scale = np.sqrt(self.rate / self.shape * (1 + 1 / self.count))
        return StudentT(2 * self.shape, self.mean, scale)

    def log_marginal(self, facts: Moments) -> Float:
        n, increase = facts.count, self._rate_increase(facts)
        gammas = log_rising(self.shape, 0.5 * n) - self.shape * log1p_ratio(increase, self.rate)
        scale = -0.5 * n * np.log(self.rate + increase) - 0.5 * log1p_ratio(n, self.count)
        return gammas + scale - n * LOG_SQRT_2PI


@dataclass(frozen=True)
class StudentT(Density):
    """Student's t with ``dof`` ν degrees of freedom, ``location`` m and ``scale`` s, which is a normal distribution
    whose precision is Gamma(ν/2, ν s²/2).
    """

    dof: Float
    location: Float
    scale: Float

    def log_density(self, x: Any) -> Float:
        """-(ν+1)/2 ln(1 + z²/ν) + lnΓ((ν+1)/2) - lnΓ(ν/2) - ½ ln νπ - ln s."""
        z = np.abs(np.asarray(x, dtype=np.float64) - self.location) / (self.scale * np.sqrt(self.dof))
        constant = log_rising(0.5 * self.dof, 0.5) - 0.5 * np.log(np.pi * self.dof) - np.log(self.scale)
        return constant - 0.5 * (self.dof + 1) * log1p_square(z)

    def sample(self, rng: np.random.Generator, size: Size = ()) -> Float:
        return self.location + self.scale * rng.standard_t(self.dof, shape_of(size, self.batch))


def log1p_square(z: Float) -> Float:
    """ln(1 + z²) for z >= 0, finite even if z² overflows."""
    return np.log1p(np.square(np.minimum(z, 1.0))) + np.where(z > 1, 2 * np.log(np.hypot(1.0, z)) - np.log(2.0), 0.0)


@dataclass(frozen=True)
class NormalKnownVariance(_NormalFamily):
    """N(x | μ, σ²) with ``mean`` μ and known standard deviation ``sd`` σ > 0."""

    def log_h(self, x: Any) -> Float:
        return NormalKnownVariance(np.zeros(()), self.sd).log_density(x)

    @property
    def natural(self) -> Float:
        return (self.mean / self.variance)[..., None]

    @property
    def log_normaliser(self) -> Float:
        return 0.5 * (self.mean / self.sd) ** 2

    @classmethod
    def of_natural(cls, eta: Float, sd: Any = 1.0) -> Self:
        return cls(np.square(sd) * np.asarray(eta)[..., 0], sd)

    @classmethod
    def of_mean_u(cls, mean_u: Float, sd: Any = 1.0) -> Self:
        return cls(np.asarray(mean_u)[..., 0], sd)

    @classmethod
    def ml(cls, facts: Moments, sd: Any = None) -> Self:
        """Maximum likelihood: the mean of each class. If ``sd`` is None, σ is pooled within classes."""
        facts.require_some()
        return cls(facts.mean, within_sd(facts) if sd is None else sd)


@dataclass(frozen=True)
class NormalNormal(Prior[NormalKnownVariance, Moments], of=NormalKnownVariance):
    """Prior μ ~ N(m, s²) for x ~ N(μ, σ²) with ``mean`` m, ``spread`` s > 0 and known ``sd`` σ > 0."""

    mean: Float
    spread: Float
    sd: Float
    positive = ("spread", "sd")

    @classmethod
    def weak(cls, facts: Moments, worth: float = 1.0, sd: Any = None) -> Self:
        """Prior with ``worth`` pseudo-observations (s = σ/√worth) at the mean of all classes; ``sd`` as in `ml`."""
        sd = within_sd(facts) if sd is None else sd
        return cls(facts.overall().mean, sd / np.sqrt(worth), sd)

    @property
    def count(self) -> Float:
        """Number of pseudo-observations ν = σ²/s²."""
        return np.square(self.sd / self.spread)

    def updated(self, facts: Moments) -> Self:
        n, nu = facts.count, self.count
        mean = self.mean + (facts.mean - self.mean) * (n / (nu + n))  # (2.141, 2.142)
        return type(self)(mean, self.spread * np.sqrt(nu / (nu + n)), self.sd)

    @property
    def mode(self) -> NormalKnownVariance:
        """N(m, σ²), where m is both the mode and the mean of μ."""
        return NormalKnownVariance(self.mean, self.sd)

    def predictive(self) -> NormalKnownVariance:
        """N(m, s² + σ²)."""
        return NormalKnownVariance(self.mean, np.hypot(self.spread, self.sd))

    def log_marginal(self, facts: Moments) -> Float:
        n, nu = facts.count, self.count
        fit = facts.scatter / self.sd**2 + n * (nu / (nu + n)) * ((facts.mean - self.mean) / self.sd) ** 2
        return -0.5 * (fit + log1p_ratio(n, nu)) - n * (np.log(self.sd) + LOG_SQRT_2PI)


def within_sd(facts: Moments) -> Float:
    """Pooled standard deviation within classes, (1, D)."""
    count = facts.overall().count
    variance = facts.scatter.sum(axis=0, keepdims=True) / count
    pooled = Moments(count, np.abs(facts.mean).max(axis=0, keepdims=True), variance * count)
    remedy = "drop the column, or give sd"
    FactsError.unless(~pooled.is_constant, "all values of a class are equal", remedy, overall=True)
    return np.asarray(np.sqrt(variance))
