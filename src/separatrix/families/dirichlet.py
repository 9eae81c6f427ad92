# SPDX-License-Identifier: BSD-3-Clause
"""Dirichlet: a row of D positive shares that sum to one.                             PRML (2.38)

    p(x | α) = Γ(s)/Π_d Γ(α_d) · Π_d x_d^(α_d - 1),   s = Σα
    u(x) = ln x,   h(x) = 1/Π x_d,   η = α,   A = Σ lnΓ(α_d) - lnΓ(s),   E[u_d] = ψ(α_d) - ψ(s)

Conjugate prior    exp(ν Σ α_d χ_d - ν A(α)): ν observations with mean logs χ
Posterior          the same with the observations added
Predictive, marginal: ratios of the normaliser, an integral over α. With two shares it is done by quadrature
                   to 1e-8 (see `beta`); with more by Laplace's method in ln α, relative error O(1/ν), of
                   which the ratio keeps O(1/ν²)
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from scipy import special

from separatrix._array import Array, Float
from separatrix._special import log_minus_digamma
from separatrix.exceptions import DataError
from separatrix.families.facts import LogMoments
from separatrix.families.family import Family, Size, reject, shape_of
from separatrix.families.multinomial import reject_missing
from separatrix.families.pseudo import PseudoObservations, metropolis
from separatrix.families.record import FactsError, require
from separatrix.families.simplex import centre, log_kernel, log_partition, maximum, mode_of_log

__all__ = ["ConjugateDirichlet", "ConjugateSimplex", "Dirichlet"]

SUMS_TO_ONE = 1e-8  # how far a row may be from one and still be called shares


@dataclass(frozen=True)
class Dirichlet(Family[LogMoments]):
    """p(x) = Γ(Σα)/ΠΓ(α_d) Π x_d^(α_d - 1) for a row x of shares.

    Parameters
    ----------
    alpha
        (..., D), all > 0; the mean is α/Σα.

    Examples
    --------
    >>> Dirichlet([1.0, 1.0, 1.0]).log_density([0.2, 0.3, 0.5]).round(4)
    np.float64(0.6931)
    """

    alpha: Float
    event: ClassVar[tuple[int, ...]] = (1,)
    vector = True

    def _check(self) -> None:
        require(self, "alpha", self.alpha > 0, "positive")

    @staticmethod
    def u(x: Any) -> Float:
        """ln x."""
        return np.log(np.asarray(x, dtype=np.float64))

    def log_h(self, x: Any) -> Float:
        """-Σ ln x."""
        return -np.asarray(self.u(x).sum(axis=-1))

    @property
    def natural(self) -> Float:
        """α."""
        return self.alpha

    @property
    def log_normaliser(self) -> Float:
        """Σ lnΓ(α) - lnΓ(s)."""
        return np.asarray(special.gammaln(self.alpha).sum(axis=-1) - special.gammaln(self.alpha.sum(axis=-1)))

    @property
    def mean_u(self) -> Float:
        """ψ(α) - ψ(s)."""
        s = self.alpha.sum(axis=-1, keepdims=True)
        return np.asarray(np.log(self.alpha / s) - log_minus_digamma(self.alpha) + log_minus_digamma(s))

    @property
    def mean(self) -> Float:
        """α/s."""
        return np.asarray(self.alpha / self.alpha.sum(axis=-1, keepdims=True))

    @property
    def variance(self) -> Float:
        """(diag μ - μμ')/(s + 1) with μ the mean."""
        mu = self.mean
        covariance = mu[..., :, None] * (np.eye(mu.shape[-1]) - mu[..., None, :])
        return np.asarray(covariance / (self.alpha.sum(axis=-1) + 1)[..., None, None])

    @classmethod
    def of_natural(cls, eta: Float) -> Self:
        """η = α."""
        return cls(eta)

    @classmethod
    def of_mean_u(cls, mean_u: Float) -> Self:
        """From the mean logs. Where x hardly varies, `ml` keeps more digits."""
        return cls(maximum(*centre(np.asarray(mean_u, dtype=np.float64))))

    def log_density(self, x: Any) -> Float:
        """The kernel at x, and ln h."""
        x = np.asarray(x, dtype=np.float64)
        ok = (x > 0).all(axis=-1) & (np.abs(x.sum(axis=-1) - 1) <= SUMS_TO_ONE)
        x = np.where(ok[..., None], x, 1.0 / x.shape[-1])
        return np.where(ok, log_kernel(self.alpha, x, np.zeros_like(x)) - np.log(x).sum(axis=-1), -np.inf)

    def sample(self, rng: np.random.Generator, size: Size = ()) -> Float:
        """Normalised gamma draws, by their logarithms: small α make shares that are far below one."""
        draws = log_gamma_draws(rng, self.alpha, shape_of(size, self.alpha.shape))
        return np.asarray(np.maximum(special.softmax(draws, axis=-1), np.finfo(np.float64).tiny))

    @staticmethod
    def check_support(x: Array, columns: Sequence[str]) -> None:
        """Positive, and each row sums to one."""
        reject_missing(x, columns)
        remedy = "Replace zeros by a small share, or use another family."
        reject(~((x > 0) & (x < 1)), x, columns, want="shares lie between 0 and 1", remedy=remedy)
        off = np.flatnonzero(np.abs(x.sum(axis=1) - 1) > SUMS_TO_ONE)
        if len(off):
            raise DataError(
                f"Row {off[0]} of columns {columns[0]!r} .. {columns[-1]!r} sums to {x[off[0]].sum():.10g}, "
                "but shares sum to 1. Divide each row by its sum."
            )

    @classmethod
    def facts(cls, x: Array, R: Array) -> LogMoments:
        """Count, mean and gap of each share."""
        x = np.asarray(x, dtype=np.float64)
        return LogMoments.of(x[:, None, :], R)[:, 0]

    @classmethod
    def ml(cls, facts: LogMoments) -> Self:
        """ψ(α_d) - ψ(s) = mean ln x_d."""
        return cls(maximum_likelihood(facts))

    @classmethod
    def weak_prior(cls, facts: LogMoments) -> ConjugateDirichlet:
        """One observation with the overall mean and gaps."""
        return ConjugateDirichlet.weak(facts)


D = TypeVar("D", bound=Family[LogMoments])


class ConjugateSimplex(PseudoObservations[D]):
    """What the conjugate priors of beta and Dirichlet share."""

    @staticmethod
    @abstractmethod
    def distribution(alpha: Float) -> D:
        """The distribution with natural parameters α."""

    @classmethod
    def weak(cls, facts: LogMoments) -> Self:
        """One observation with the mean and gaps of all classes."""
        overall = facts.overall()
        FactsError.unless(~overall.is_constant, "all values are equal", "drop the column", overall=True)
        return cls.of_facts(overall, worth=1.0)

    @property
    def mean_gap(self) -> Float:
        """ln(mean) - χ."""
        return self.gap / self.count[..., None]

    @property
    def mode(self) -> D:
        """Maximum likelihood of the (pseudo-)observations."""
        return self.distribution(maximum(self.mean, self.mean_gap))

    @property
    def log_partition(self) -> Float:
        """ln Z by quadrature (two components) or Laplace's method."""
        return log_partition(self.count, self.mean, self.mean_gap)

    def draw(self, rng: np.random.Generator, size: Size = ()) -> D:
        """α by Metropolis steps in ln α."""
        m, g = self.mean, self.mean_gap
        mode, precision = mode_of_log(self.count, m, g)
        theta = metropolis(
            lambda theta: self.count * log_kernel(np.exp(theta), m, g) + theta.sum(axis=-1),
            mode,
            np.linalg.cholesky(np.linalg.inv(precision)),
            rng,
            shape_of(size, self.batch),
        )
        return self.distribution(np.exp(theta))


@dataclass(frozen=True)
class ConjugateDirichlet(ConjugateSimplex[Dirichlet]):
    """p(α) ∝ exp(ν Σ α_d χ_d - ν A(α)): ``count`` ν observations, their ``mean`` and ``gap`` ν (ln mean - χ)."""

    count: Float
    mean: Float
    gap: Float
    event: ClassVar[tuple[int, ...]] = (0, 1, 1)
    vector = True

    @staticmethod
    def parts(x: Any) -> Float:
        """The shares themselves."""
        return np.asarray(x)

    @staticmethod
    def distribution(alpha: Float) -> Dirichlet:
        """α is the parameter."""
        return Dirichlet(alpha)


def maximum_likelihood(facts: LogMoments) -> Float:
    """α (..., C) from facts about shares."""
    facts.require_some()
    remedy = "drop the column or the class, or use a prior"
    FactsError.unless(~facts.is_constant, "all values are equal", remedy)
    return maximum(facts.mean, facts.mean_gap)


def log_gamma_draws(rng: np.random.Generator, shape: Float, size: tuple[int, ...]) -> Float:
    """ln of gamma draws, also where the draw itself is below every float: G(a) = G(a+1) U^(1/a)."""
    return np.log(rng.standard_gamma(shape + 1, size)) - rng.standard_exponential(size) / shape
