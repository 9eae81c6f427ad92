# SPDX-License-Identifier: BSD-3-Clause
"""Gamma: x > 0, an amount whose standard deviation is proportional to its mean.      PRML (2.146)

    p(x | a, b) = b^a x^(a-1) e^(-b x) / Γ(a)
    u(x) = (ln x, x),   h(x) = 1/x,   η = (a, -b),   A = lnΓ(a) - a ln b,   E[u] = (ψ(a) - ln b, a/b)

The maximum-likelihood estimate solves ln a - ψ(a) = ln(mean) - mean(ln x), the gap of `LogMoments`; b = a/mean.

Conjugate prior    exp(ν a χ_1 - ν b χ_2) (b^a/Γ(a))^ν: ν pseudo-observations with mean χ_2 and mean log χ_1
Posterior          the same form with the observations added
Predictive, marginal: ratios of the normaliser Z(ν, χ). The integral over b has a closed form; a needs quadrature:

    Z = ∫ exp(ν a χ_1 - ν lnΓ(a)) Γ(νa + 1)/(ν χ_2)^(νa+1) da
      = 1/χ_2 (2π)^((1-ν)/2) ν^-½ ∫ exp(-ν a gap - ν δ(a) + δ(νa)) a^((ν+1)/2) da

The trapezoidal rule in ln a on a sinh-spaced grid computes it to 1e-10.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import special

from separatrix._array import Array, Float
from separatrix._special import (
    LOG_SQRT_2PI,
    divergence,
    inverse_log_minus_digamma,
    log_minus_digamma,
    root_of_decreasing,
    stirling_error,
    trigamma_excess,
)
from separatrix.families.family import Size, reject, shape_of
from separatrix.families.pseudo_observations import PositiveFamily, PseudoObservations, metropolis, sinh_grid
from separatrix.families.sufficient_statistics import LogMoments

GRIDS_PER_BATCH = 4096  # normalisers integrated together


@dataclass(frozen=True)
class Gamma(PositiveFamily):
    """p(x) = b^a x^(a-1) e^(-b x) / Γ(a) with ``shape`` a > 0 and ``rate`` b > 0.

    The mean is a/b, and the standard deviation is 1/√a times the mean.
    """

    shape: Float
    rate: Float
    positive = ("shape", "rate")

    @staticmethod
    def u(x: Any) -> Float:
        x = np.asarray(x, dtype=np.float64)
        return np.stack([np.log(x), x], axis=-1)

    def log_h(self, x: Any) -> Float:
        return -np.log(np.asarray(x, dtype=np.float64))

    @property
    def natural(self) -> Float:
        return np.stack([self.shape, -self.rate], axis=-1)

    @property
    def log_normaliser(self) -> Float:
        return np.asarray(special.gammaln(self.shape) - self.shape * np.log(self.rate))

    @property
    def mean_u(self) -> Float:
        log_mean = np.log(self.shape) - np.log(self.rate)
        return np.stack([log_mean - log_minus_digamma(self.shape), self.mean], axis=-1)

    @property
    def mean(self) -> Float:
        return self.shape / self.rate

    @property
    def variance(self) -> Float:
        return self.shape / self.rate / self.rate

    @classmethod
    def of_natural(cls, eta: Float) -> Self:
        eta = np.asarray(eta)
        return cls(eta[..., 0], -eta[..., 1])

    @classmethod
    def of_mean_u(cls, mean_u: Float) -> Self:
        """Estimate from the mean log and the mean; `ml` is more accurate if x hardly varies."""
        mean_u = np.asarray(mean_u, dtype=np.float64)
        shape = inverse_log_minus_digamma(np.log(mean_u[..., 1]) - mean_u[..., 0])
        return cls(shape, shape / mean_u[..., 1])

    def log_density(self, x: Any) -> Float:
        """-ln x - D(a, bx) + ½ ln a - ½ ln 2π - δ(a) with the divergence D and the error δ of Stirling's formula."""
        x = np.asarray(x, dtype=np.float64)
        some, a = np.where(x > 0, x, 1.0), self.shape
        inside = 0.5 * np.log(a) - LOG_SQRT_2PI - stirling_error(a)
        return np.where(x > 0, inside - divergence(a, self.rate * some) - np.log(some), -np.inf)

    def sample(self, rng: np.random.Generator, size: Size = ()) -> Float:
        """Draw x; a draw that underflows is replaced by the smallest positive float."""
        draw = rng.standard_gamma(self.shape, shape_of(size, self.batch)) / self.rate
        return np.maximum(draw, np.finfo(np.float64).tiny)

    @staticmethod
    def check_support(x: Array, columns: Sequence[str]) -> None:
        bad = ~(np.isnan(x) | ((x > 0) & np.isfinite(x)))
        remedy = "Correct the value, mark it missing, or fit another family (normal, or exponential for zeros)."
        reject(bad, x, columns, want="a gamma column must contain finite values above 0", remedy=remedy)

    @staticmethod
    def parts(x: Any) -> Float:
        return np.asarray(x)[..., None]

    @classmethod
    def ml(cls, facts: LogMoments) -> Self:
        """Maximum likelihood: solve ln a - ψ(a) = gap."""
        facts.require_some(varying=True)
        shape = inverse_log_minus_digamma(facts.mean_gap[..., 0])
        return cls(shape, shape / facts.mean[..., 0])


@dataclass(frozen=True)
class ConjugateGamma(PseudoObservations[Gamma], of=Gamma):
    """Prior p(a, b) ∝ (b^a/Γ(a))^ν exp(ν a χ_1 - ν b χ_2) with ``count`` ν pseudo-observations, ``mean`` χ_2 and
    ``gap`` ν (ln χ_2 - χ_1), both (..., 1).
    """

    @property
    def log_partition(self) -> Float:
        """ln Z by quadrature over ln a."""
        nu, gap = self.count.ravel(), self.gap[..., 0].ravel()
        integral = np.zeros(nu.size)
        for i in range(0, nu.size, GRIDS_PER_BATCH):
            part = slice(i, i + GRIDS_PER_BATCH)
            t, precision = _mode_of_log(nu[part], gap[part])
            z, log_weight = sinh_grid(nu[part])
            at = np.minimum(t[:, None] + z / np.sqrt(precision)[:, None], 700.0)
            value = _log_integrand(at, nu[part, None], gap[part, None]) + log_weight
            integral[part] = special.logsumexp(value, axis=-1) - 0.5 * np.log(precision)
        constant = (nu - 1) * LOG_SQRT_2PI + 0.5 * np.log(nu)
        return (integral - constant).reshape(self.batch) - np.log(self.mean[..., 0])

    def draw(self, rng: np.random.Generator, size: Size = ()) -> Gamma:
        """Draw a by Metropolis steps, then b ~ Gamma(νa + 1, ν χ_2)."""
        shape = shape_of(size, self.batch)
        gap = self.gap[..., 0]
        mode, precision = _mode_of_log(self.count.ravel(), gap.ravel())
        t = metropolis(
            lambda theta: _log_integrand(theta[..., 0], self.count, gap),
            mode.reshape(*self.batch, 1),
            (precision**-0.5).reshape(*self.batch, 1, 1),
            rng,
            shape,
        )
        a = np.exp(t[..., 0])
        return Gamma(a, rng.standard_gamma(self.count * a + 1) / (self.count * self.mean[..., 0]))


def _log_integrand(t: Float, nu: Float, gap: Float) -> Float:
    """Log integrand over t = ln a; ``gap`` is ν times the mean gap."""
    a = np.exp(t)
    return 0.5 * (nu + 3) * t - a * gap - nu * stirling_error(a) + stirling_error(nu * a)


def _mode_of_log(nu: Float, gap: Float) -> tuple[Float, Float]:
    """Mode of the integrand over t = ln a, and minus its second derivative at the mode."""

    def slope(t: Float) -> tuple[Float, Float]:
        a = np.exp(t)
        one, many = a * log_minus_digamma(a), nu * a * log_minus_digamma(nu * a)
        bend = nu * (one - a * trigamma_excess(a)) - (many - nu * a * trigamma_excess(nu * a))
        return 2 - a * gap + nu * one - many, bend - a * gap

    t = root_of_decreasing(slope, np.log(0.5 * (nu + 3) / gap))
    return t, -slope(t)[1]
