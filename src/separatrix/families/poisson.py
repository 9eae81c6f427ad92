# SPDX-License-Identifier: BSD-3-Clause
"""Poisson: x is the number of events that occur at a constant rate.

    p(x | λ) = λ^x e^-λ / x!
    u(x) = x,   h(x) = 1/x!,   η = ln λ,   A = e^η,   E[u] = λ

Conjugate prior    λ ~ Gamma(a, b):  ν = b,  χ = a/b       (a earlier events in b earlier observations)
Posterior          Gamma(a + Σx, b + n)
Predictive         negative binomial, Γ(a + x)/(Γ(a) x!) · (b/(b+1))^a (1/(b+1))^x
Marginal           Γ(a + Σx)/Γ(a) · b^a/(b + n)^(a + Σx) · Π 1/x_n!

Densities are written with the divergence D(x, λ) = x ln(x/λ) - x + λ, so that a count of 1e8 at a rate of
1e8 keeps its precision: ln p = -D(x, λ) - δ(x) - ½ ln 2πx (Loader 2000).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import special

from separatrix._array import Array, Float
from separatrix._special import LOG_SQRT_2PI, divergence, log1p_ratio, log_rising, stirling_error
from separatrix.families.family import Density, Family, Prior, Size, is_count, reject, shape_of
from separatrix.families.sufficient_statistics import Sums


@dataclass(frozen=True)
class Poisson(Family[Sums]):
    """p(x) = λ^x e^-λ / x!; ``rate`` λ >= 0 is the mean count."""

    rate: Float
    not_negative = ("rate",)

    @staticmethod
    def log_h(x: Any) -> Float:
        return -np.asarray(special.gammaln(np.asarray(x, dtype=np.float64) + 1))

    @property
    def natural(self) -> Float:
        with np.errstate(divide="ignore"):
            return np.log(self.rate)[..., None]

    @property
    def log_normaliser(self) -> Float:
        return self.rate

    mean = variance = log_normaliser

    @classmethod
    def of_natural(cls, eta: Float) -> Self:
        return cls(np.exp(np.asarray(eta)[..., 0]))

    @classmethod
    def of_mean_u(cls, mean_u: Float) -> Self:
        return cls(np.asarray(mean_u)[..., 0])

    def log_density(self, x: Any) -> Float:
        """-D(x, λ) - δ(x) - ½ ln 2πx."""
        x = np.asarray(x, dtype=np.float64)
        ok = is_count(x)
        x = np.where(ok, x, 0.0)
        some = np.where(x > 0, x, 1.0)  # ln x! - x ln x + x is zero at zero
        rest = np.where(x > 0, stirling_error(some) + 0.5 * np.log(some) + LOG_SQRT_2PI, 0.0)
        return np.where(ok, -divergence(x, self.rate) - rest, -np.inf)

    def sample(self, rng: np.random.Generator, size: Size = ()) -> Float:
        return rng.poisson(self.rate, shape_of(size, self.batch)).astype(np.float64)

    @staticmethod
    def check_support(x: Array, columns: Sequence[str]) -> None:
        remedy = "Correct the value, mark it missing, or fit another family (normal, or gamma for positive amounts)."
        reject(~(np.isnan(x) | is_count(x)), x, columns, want="counts must be whole numbers from 0", remedy=remedy)

    @classmethod
    def facts(cls, x: Array, R: Array) -> Sums:
        return Sums.of(x, R, cls.log_h)


@dataclass(frozen=True)
class GammaPoisson(Prior[Poisson, Sums], of=Poisson):
    """Prior λ ~ Gamma(a, b), equivalent to ``shape`` a earlier events in ``rate`` b earlier observations, both > 0."""

    shape: Float
    rate: Float
    positive = ("shape", "rate")

    @classmethod
    def weak(cls, facts: Sums, worth: float = 1.0) -> Self:
        """Prior with ``worth`` pseudo-observations at the overall mean; one event is added, so that it is not zero."""
        pooled = facts.overall()
        return cls(worth * ((pooled.total_u[..., 0] + 1) / (pooled.count + 1)), np.asarray(worth))

    def updated(self, facts: Sums) -> Self:
        return type(self)(self.shape + facts.total_u[..., 0], self.rate + facts.count)

    @property
    def mode(self) -> Poisson:
        """λ = a/b, which is the posterior mean of λ."""
        return Poisson(self.shape / self.rate)

    def predictive(self) -> NegativeBinomial:
        """The negative binomial, which is overdispersed relative to a Poisson."""
        return NegativeBinomial(self.shape, self.rate)

    def log_marginal(self, facts: Sums) -> Float:
        a, b, n, total = self.shape, self.rate, facts.count, facts.total_u[..., 0]
        return log_rising(a, total) - a * log1p_ratio(n, b) - total * np.log(b + n) + facts.log_h


@dataclass(frozen=True)
class NegativeBinomial(Density):
    """p(x) = Γ(a + x)/(Γ(a) x!) q^a (1 - q)^x with q = b/(b + 1), a Poisson distribution whose rate is Gamma(a, b)."""

    shape: Float
    rate: Float

    def log_density(self, x: Any) -> Float:
        """The density is a/(a + x) times the binomial of a successes in a + x trials, computed as in Loader (2000)."""
        x = np.asarray(x, dtype=np.float64)
        ok = is_count(x)
        x = np.where(ok, x, 0.0)
        a, b, n = self.shape, self.rate, self.shape + x
        some = np.where(x > 0, x, 1.0)
        stirling = stirling_error(n) - stirling_error(a) - stirling_error(some)
        miss = divergence(a, n * (b / (b + 1))) + divergence(x, n / (b + 1))
        inside = stirling - miss + 0.5 * (np.log(a) - np.log(n) - np.log(some)) - LOG_SQRT_2PI
        return np.where(ok, np.where(x > 0, inside, -a * log1p_ratio(1.0, b)), -np.inf)

    def sample(self, rng: np.random.Generator, size: Size = ()) -> Float:
        """Draw λ from the gamma distribution, then a count given λ."""
        rate = rng.gamma(self.shape, 1.0 / self.rate, shape_of(size, self.batch))
        return rng.poisson(rate).astype(np.float64)
