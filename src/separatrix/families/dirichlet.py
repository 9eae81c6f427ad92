# SPDX-License-Identifier: BSD-3-Clause
"""Dirichlet: a row of D positive fractions that sum to one. Beta: a single proportion.      PRML (2.38), (2.13)

    p(x | α) = Γ(s)/Π_d Γ(α_d) · Π_d x_d^(α_d - 1),   s = Σα
    u(x) = ln x,   h(x) = 1/Π x_d,   η = α,   A = Σ lnΓ(α_d) - lnΓ(s),   E[u_d] = ψ(α_d) - ψ(s)

A proportion x has the beta distribution x^(a-1) (1-x)^(b-1) / B(a, b) if (x, 1-x) is Dirichlet with α = (a, b).

Conjugate prior    exp(ν Σ α_d χ_d - ν A(α)): ν pseudo-observations with mean logs χ
Posterior          the same form with the observations added
Predictive, marginal: ratios of the normaliser, an integral over α. With two components, quadrature computes it to
                   1e-8, in about a millisecond for each value of the predictive. With more components, Laplace's
                   method in ln α has a relative error of O(1/ν), and the error of the ratio is O(1/ν²).

All quantities are computed from the log likelihood of one observation with mean logs χ,

    k(α) = Σ_j α_j χ_j - Σ_j lnΓ(α_j) + lnΓ(s),        χ_j = ln m_j - g_j.

χ is stored as m (positive, sums to one) and the gap g = ln m - χ. With p = α/s, the large terms then cancel:

    k(α) = -s KL(p ‖ m) - Σ_j α_j g_j + ½ Σ_j ln α_j - ½ ln s - ½(C-1) ln 2π - Σ_j δ(α_j) + δ(s)

The normaliser of the conjugate prior exp(ν k(α)) has no closed form. As a function of θ = ln α, the integrand has one
smooth peak with tails e^{(ν+1)θ}, so the quadrature is the trapezoidal rule on a sinh-spaced grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from scipy import special

from separatrix._array import Array, Float
from separatrix._special import (
    LOG_SQRT_2PI,
    divergence,
    log_beta,
    log_minus_digamma,
    root_of_decreasing,
    stirling_error,
    trigamma_excess,
)
from separatrix.families.family import Size, SupportError, reject, reject_missing, shape_of
from separatrix.families.pseudo_observations import PositiveFamily, PseudoObservations, metropolis, sinh_grid
from separatrix.families.sufficient_statistics import FactsError, LogMoments

MAX_SUM_ERROR = 1e-8  # largest |Σ_d x_d - 1| of a valid row
NORMALISERS_PER_BATCH = 128  # normalisers integrated together; their grids take some tens of MB


def log_kernel(alpha: Float, m: Float, g: Float) -> Float:
    """Log likelihood k(α) of one observation; the components are on the last axis."""
    s = alpha.sum(axis=-1)
    fit = s * divergence(alpha / s[..., None], m).sum(axis=-1) + (alpha * g).sum(axis=-1)
    spread = 0.5 * (np.log(alpha).sum(axis=-1) - np.log(s)) - (alpha.shape[-1] - 1) * LOG_SQRT_2PI
    return np.asarray(spread - fit - stirling_error(alpha).sum(axis=-1) + stirling_error(s))


def centre(chi: Float) -> tuple[Float, Float]:
    """Split χ into m and g such that χ = ln m - g and Σ m = 1."""
    m = special.softmax(np.maximum(chi, chi.max(axis=-1, keepdims=True) - 600), axis=-1)
    return m, np.log(m) - chi


def slack(m: Float, g: Float) -> Float:
    """-ln Σ_j e^χ_j, which is positive if χ can be the mean logarithm of vectors that are not all equal."""
    missing = np.minimum(-(m * np.expm1(-g)).sum(axis=-1), 0.5)  # 1 - Σ e^χ if that is small
    far = -special.logsumexp(np.log(m) - g, axis=-1)
    return np.asarray(np.where(missing < 0.5, -np.log1p(-missing), far))


def maximum(m: Float, g: Float) -> Float:
    """Maximise k: solve ψ(α_j) - ψ(s) = χ_j for all j. `slack` must be positive.

    With α_j = s m_j e^ρ_j and F(α) = ln α - ψ(α), the equations are ρ_j = F(α_j) - F(s) - g_j and
    Σ m_j (e^ρ_j - 1) = 0, without cancellation. For given s, each ρ_j is one root; the sum decreases in s and has one.
    """

    def excess(t: Float) -> tuple[Float, Float]:
        s = np.exp(t)
        rho = _log_ratios(s, m, g)
        w = trigamma_excess(s[..., None] * m * np.exp(rho))
        slope = -(m * np.exp(rho) * (w - trigamma_excess(s)[..., None]) / (1 + w)).sum(axis=-1)
        return (m * np.expm1(rho)).sum(axis=-1), slope

    start = 0.5 * (m.shape[-1] - 1) / slack(m, g)
    s = np.exp(root_of_decreasing(excess, np.log(start)))
    return np.asarray(s[..., None] * m * np.exp(_log_ratios(s, m, g)))


def _log_ratios(s: Float, m: Float, g: Float) -> Float:
    """Solve for ρ_j = ln(α_j / s m_j) at given s."""
    s = s[..., None]
    y = np.log(s * m) - log_minus_digamma(s) - g  # y = ψ(α_j); the start inverts ψ as in Minka (2000)
    log_alpha = np.where(y > -2.22, np.logaddexp(y, -np.log(2)), -np.log(np.maximum(-y - np.euler_gamma, 1e-2)))

    def excess(rho: Float) -> tuple[Float, Float]:
        alpha = s * m * np.exp(rho)
        value = log_minus_digamma(alpha) - log_minus_digamma(s) - g - rho
        return value, -1.0 - trigamma_excess(alpha)

    return root_of_decreasing(excess, log_alpha - np.log(s * m))


def mode_of_log(nu: Float, m: Float, g: Float) -> tuple[Float, Float]:
    """Mode over θ = ln α of ν k(α) + Σθ, and minus the Hessian at the mode, by Newton's method from `maximum`."""
    theta = np.log(maximum(m, g))
    n = nu[..., None]
    for _ in range(50):
        alpha = np.exp(theta)
        s = alpha.sum(axis=-1, keepdims=True)
        rho = np.log(alpha / (s * m))
        gradient = 1.0 + n * alpha * (log_minus_digamma(alpha) - log_minus_digamma(s) - g - rho)
        # ν (diag α²ψ'(α) - ψ'(s) αα') + I; at the mode this is minus the Hessian in θ. On the diagonal, 1 - α_j/s is
        # the sum of the other α over s, so that nothing cancels if one α is much larger than the others.
        apart = 1 - np.eye(alpha.shape[-1])
        excess = trigamma_excess(alpha) - trigamma_excess(s) * alpha / s + alpha @ apart / s
        outer = alpha[..., :, None] * (alpha / s)[..., None, :] * (1 + trigamma_excess(s))[..., None]
        diagonal = np.eye(alpha.shape[-1]) * (n * alpha * excess + 1.0)[..., None]
        precision = np.asarray(diagonal - n[..., None] * outer * apart)
        step = np.linalg.solve(precision, gradient[..., None])[..., 0]
        step *= np.minimum(1.0, 2.0 / np.maximum(np.abs(step).max(axis=-1, keepdims=True), 2.0))
        theta = theta + step
        if np.all(np.abs(step) < 1e-7):  # the mode only positions the grid, so a rough tolerance is enough
            break
    return theta, precision


def log_partition(nu: Float, m: Float, g: Float) -> Float:
    """ln ∫ exp(ν k(α)) dα: by quadrature for two components, by Laplace's method for more."""
    C = m.shape[-1]
    flat = nu.reshape(-1), m.reshape(-1, C), g.reshape(-1, C)
    method = by_quadrature if C == 2 else by_laplace
    batches = ([a[i : i + NORMALISERS_PER_BATCH] for a in flat] for i in range(0, nu.size, NORMALISERS_PER_BATCH))
    try:
        parts = [method(*batch) for batch in batches]
    except np.linalg.LinAlgError:
        what = "values are so close to 0 or to one another that the evidence of a beta or Dirichlet is rounding error"
        raise FactsError([()], what, "use another family, such as gamma or normal") from None
    return np.concatenate([np.zeros(0), *parts]).reshape(nu.shape)


def by_laplace(nu: Float, m: Float, g: Float) -> Float:
    """`log_partition` of a batch (B,), (B, C), (B, C), by a normal approximation of the integrand in ln α."""
    theta, precision = mode_of_log(nu, m, g)
    peak = nu * log_kernel(np.exp(theta), m, g) + theta.sum(axis=-1)
    return np.asarray(peak + theta.shape[-1] * LOG_SQRT_2PI - 0.5 * np.asarray(np.linalg.slogdet(precision)[1]))


def by_quadrature(nu: Float, m: Float, g: Float) -> Float:
    """`log_partition` of a batch (B,), (B, 2), (B, 2), on a grid that is scaled by the covariance at the mode."""
    theta, precision = mode_of_log(nu, m, g)
    L = np.linalg.cholesky(np.linalg.inv(precision))
    z, log_weight = sinh_grid(nu)
    nodes = np.stack(np.meshgrid(z, z, indexing="ij"), axis=-1).reshape(-1, 2)
    weight = (log_weight[:, None] + log_weight).ravel()
    at = np.clip(theta[:, None, :] + np.einsum("bij,vj->bvi", L, nodes), -700.0, 700.0)
    value = log_kernel(np.exp(at), m[:, None, :], g[:, None, :]) * nu[:, None] + at.sum(axis=-1)
    scale = np.log(np.diagonal(L, axis1=-2, axis2=-1)).sum(axis=-1)
    return np.asarray(special.logsumexp(value + weight, axis=-1) + scale)


class FractionsFamily(PositiveFamily):
    """Base class of beta and Dirichlet, whose natural parameters are α."""

    def log_h(self, x: Any) -> Float:
        return -np.asarray(self.u(x).sum(axis=-1))

    @property
    def mean_u(self) -> Float:
        alpha = self.natural
        s = alpha.sum(axis=-1, keepdims=True)
        return np.asarray(np.log(alpha / s) - log_minus_digamma(alpha) + log_minus_digamma(s))

    @classmethod
    def of_mean_u(cls, mean_u: Float) -> Self:
        """Estimate from the mean logs; `ml` is more accurate if x hardly varies."""
        return cls.of_natural(maximum(*centre(np.asarray(mean_u, dtype=np.float64))))

    @classmethod
    def ml(cls, facts: LogMoments) -> Self:
        """Maximum likelihood: solve ψ(α_d) - ψ(s) = mean of ln x_d."""
        facts.require_some(varying=True)
        return cls.of_natural(maximum(facts.mean, facts.mean_gap))


@dataclass(frozen=True)
class Dirichlet(FractionsFamily):
    """p(x) = Γ(Σα)/ΠΓ(α_d) Π x_d^(α_d - 1) for a row x of fractions that sum to one.

    ``alpha`` (..., D) is positive; the mean is α/Σα.
    """

    alpha: Float
    event: ClassVar[tuple[int, ...]] = (1,)
    vector = True
    positive = ("alpha",)

    @staticmethod
    def u(x: Any) -> Float:
        return np.log(np.asarray(x, dtype=np.float64))

    @property
    def natural(self) -> Float:
        return self.alpha

    @property
    def log_normaliser(self) -> Float:
        return np.asarray(special.gammaln(self.alpha).sum(axis=-1) - special.gammaln(self.alpha.sum(axis=-1)))

    @property
    def mean(self) -> Float:
        return np.asarray(self.alpha / self.alpha.sum(axis=-1, keepdims=True))

    @property
    def variance(self) -> Float:
        mu = self.mean
        covariance = mu[..., :, None] * (np.eye(mu.shape[-1]) - mu[..., None, :])
        return np.asarray(covariance / (self.alpha.sum(axis=-1) + 1)[..., None, None])

    @classmethod
    def of_natural(cls, eta: Float) -> Self:
        return cls(eta)

    def log_density(self, x: Any) -> Float:
        """k(α) with m = x and g = 0, plus ln h(x)."""
        x = np.asarray(x, dtype=np.float64)
        ok = (x > 0).all(axis=-1) & (np.abs(x.sum(axis=-1) - 1) <= MAX_SUM_ERROR)
        x = np.where(ok[..., None], x, 1.0 / x.shape[-1])
        return np.where(ok, log_kernel(self.alpha, x, np.zeros_like(x)) - np.log(x).sum(axis=-1), -np.inf)

    def sample(self, rng: np.random.Generator, size: Size = ()) -> Float:
        """Normalise gamma draws, using their logarithms because the draws underflow if α is small."""
        draws = log_gamma_draws(rng, self.alpha, shape_of(size, self.alpha.shape))
        return np.asarray(np.maximum(special.softmax(draws, axis=-1), np.finfo(np.float64).tiny))

    @staticmethod
    def parts(x: Any) -> Float:
        return np.asarray(x)

    @staticmethod
    def check_support(x: Array, columns: Sequence[str]) -> None:
        """Raise DataError unless all values are positive and each row sums to one."""
        reject_missing(x, columns, remedy="The columns are parts of a whole. Drop those rows, or use another family.")
        remedy = "Replace zeros by a small fraction, or use another family."
        reject(~((x > 0) & (x < 1)), x, columns, want="fractions must lie strictly between 0 and 1", remedy=remedy)
        off = np.flatnonzero(np.abs(x.sum(axis=1) - 1) > MAX_SUM_ERROR)
        if len(off):
            problem = f"The sum of the columns {columns[0]!r} .. {columns[-1]!r} is {x[off[0]].sum():.10g}"
            raise SupportError(problem, "fractions must sum to 1", "Divide each row by its sum.", int(off[0]))

    @classmethod
    def facts(cls, x: Array, R: Array) -> LogMoments:
        x = np.asarray(x, dtype=np.float64)
        return LogMoments.of(x[:, None, :], R)[:, 0]


@dataclass(frozen=True)
class Beta(FractionsFamily):
    """p(x) = x^(a-1) (1-x)^(b-1) / B(a, b) with ``a`` and ``b`` > 0; the mean is a/(a+b)."""

    a: Float
    b: Float
    positive = ("a", "b")

    @property
    def natural(self) -> Float:
        return np.stack([self.a, self.b], axis=-1)

    @staticmethod
    def u(x: Any) -> Float:
        x = np.asarray(x, dtype=np.float64)
        return np.stack([np.log(x), np.log1p(-x)], axis=-1)

    @property
    def log_normaliser(self) -> Float:
        return log_beta(self.a, self.b)

    @property
    def mean(self) -> Float:
        return self.a / (self.a + self.b)

    @property
    def variance(self) -> Float:
        s = self.a + self.b
        return (self.a / s) * (self.b / s) / (s + 1)

    @classmethod
    def of_natural(cls, eta: Float) -> Self:
        eta = np.asarray(eta)
        return cls(eta[..., 0], eta[..., 1])

    def log_density(self, x: Any) -> Float:
        """k(α) with m = (x, 1-x) and g = 0, plus ln h(x)."""
        x = np.asarray(x, dtype=np.float64)
        ok = (x > 0) & (x < 1)
        parts = self.parts(np.where(ok, x, 0.5))
        inside = log_kernel(self.natural, parts, np.zeros(2)) - np.log(parts).sum(axis=-1)
        return np.where(ok, inside, -np.inf)

    def sample(self, rng: np.random.Generator, size: Size = ()) -> Float:
        """Draw proportions; a draw that rounds to 0 or 1 is replaced by the nearest float inside (0, 1)."""
        draws = log_gamma_draws(rng, self.natural, shape_of(size, (*self.batch, 2)))
        x = 1.0 / (1.0 + np.exp(np.minimum(draws[..., 1] - draws[..., 0], 700.0)))
        return np.clip(x, np.finfo(np.float64).tiny, np.nextafter(1.0, 0.0))

    @staticmethod
    def parts(x: Any) -> Float:
        return np.stack([x, 1.0 - np.asarray(x)], axis=-1)

    @staticmethod
    def check_support(x: Array, columns: Sequence[str]) -> None:
        remedy = "Divide percentages by 100; for exact 0 or 1 use another family (normal, or bernoulli)."
        want = "a beta column must contain values strictly between 0 and 1"
        reject(~(np.isnan(x) | ((x > 0) & (x < 1))), x, columns, want=want, remedy=remedy)


D = TypeVar("D", bound=FractionsFamily)


class ConjugateSimplex(PseudoObservations[D]):
    """Base class of the conjugate priors of beta and Dirichlet."""

    @property
    def log_partition(self) -> Float:
        """ln Z, by quadrature for two components and by Laplace's method for more."""
        return log_partition(self.count, self.mean, self.facts.mean_gap)

    def draw(self, rng: np.random.Generator, size: Size = ()) -> D:
        """Draw α by Metropolis steps in ln α."""
        m, g = self.mean, self.facts.mean_gap
        mode, precision = mode_of_log(self.count, m, g)
        theta = metropolis(
            lambda theta: self.count * log_kernel(np.exp(theta), m, g) + theta.sum(axis=-1),
            mode,
            np.linalg.cholesky(np.linalg.inv(precision)),
            rng,
            shape_of(size, self.batch),
        )
        drawn: D = self.family.of_natural(np.exp(theta))
        return drawn


@dataclass(frozen=True)
class ConjugateDirichlet(ConjugateSimplex[Dirichlet], of=Dirichlet):
    """Prior p(α) ∝ exp(ν Σ α_d χ_d - ν A(α)) with ``count`` ν, ``mean`` and ``gap`` ν (ln mean - χ)."""


@dataclass(frozen=True)
class ConjugateBeta(ConjugateSimplex[Beta], of=Beta):
    """Prior p(a, b) ∝ exp(ν a χ_1 + ν b χ_2) / B(a, b)^ν with ``count`` ν pseudo-observations, the ``mean`` of
    (x, 1-x), and ``gap`` ν (ln mean - χ), both (..., 2).
    """


def log_gamma_draws(rng: np.random.Generator, shape: Float, size: tuple[int, ...]) -> Float:
    """Logarithms of gamma draws, which are accurate even if a draw underflows: G(a) = G(a+1) U^(1/a)."""
    return np.log(rng.standard_gamma(shape + 1, size)) - rng.standard_exponential(size) / shape
