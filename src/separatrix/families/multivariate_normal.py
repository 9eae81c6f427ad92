# SPDX-License-Identifier: BSD-3-Clause
"""Multivariate normal: a row of D columns with mean μ and covariance Σ.              PRML §2.3, (2.43)

    p(x | μ, Σ) = |2πΣ|^-½ exp(-½ (x - μ)'Σ^-1 (x - μ))
    u(x) = (x, xx'),   h(x) = (2π)^(-D/2),   η = (Σ^-1 μ, -½ Σ^-1),   A = ½ μ'Σ^-1 μ + ½ ln|Σ|,
    E[u] = (μ, Σ + μμ')

The statistics are centred, and densities use the Cholesky factor of the correlations, so no result depends on units.

Conjugate prior    Λ = Σ^-1 ~ Wishart(Ψ^-1, dof),  μ | Λ ~ N(m, (βΛ)^-1)                  (2.157)
                   ν = β = dof - D - 2,  Ψ = ν (covariance of the pseudo-observations)
Posterior          β + n,  m + (x̄ - m) n/(β + n),  dof + n,  Ψ + S + (x̄ - m)(x̄ - m)' βn/(β + n)
Predictive         multivariate t, dof - D + 1 degrees of freedom, centre m, shape Ψ (β + 1)/(β (dof - D + 1))
Marginal           π^(-nD/2) Γ_D(dof_n/2)/Γ_D(dof/2) |Ψ|^(dof/2)/|Ψ_n|^(dof_n/2) (β/β_n)^(D/2)

Rows with missing values are not supported here; linear and quadratic discriminant analysis fit them by EM.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from separatrix._array import Array, Float
from separatrix._linalg import SingularError, cholesky_of_correlation
from separatrix._special import LOG_SQRT_2PI, log1p_ratio, log_rising
from separatrix.exceptions import DataError
from separatrix.families.family import Density, Family, Prior, Size, reject_missing, shape_of
from separatrix.families.normal import Normal, log1p_square
from separatrix.families.sufficient_statistics import FactsError, VectorMoments, require


class SingularFactsError(FactsError):
    """Error for a singular covariance of a class; `describe` names the columns that depend on others."""

    def __init__(self, k: int, singular: SingularError, n_columns: int) -> None:
        self.singular = singular
        self.n_columns = n_columns
        super().__init__([(k,)], "the covariance is singular", "drop those columns, or use a prior")

    def describe(self, classes: Sequence[Any] | None = None, columns: Sequence[str] | None = None) -> str:
        """Describe the columns that depend on others, by name if names are given."""
        names = tuple(str(d) for d in range(self.n_columns)) if columns is None else tuple(columns)
        k = self.where[0][0]
        label = k if classes is None or k is None else repr(classes[k])
        return f"{self.what} in class {label}: {self.singular.describe(names)}; {self.remedy}."


def whitener(covariance: Float) -> tuple[Float, Float]:
    """Lower triangular W with W Σ W' = I, and ½ ln|Σ|, from the Cholesky factor of the correlations."""
    scale = np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1))
    try:
        L = np.linalg.cholesky(covariance / scale[..., :, None] / scale[..., None, :])
    except np.linalg.LinAlgError:
        raise DataError(
            "A covariance is singular, up to rounding. Drop columns that are combinations of others, raise "
            "pseudo_count, or use sample weights of similar size."
        ) from None
    half_log_det = np.log(np.diagonal(L, axis1=-2, axis2=-1)).sum(axis=-1) + np.log(scale).sum(axis=-1)
    return np.tril(np.linalg.inv(L)) / scale[..., None, :], np.asarray(half_log_det)


def whitened(W: Float, x: Float) -> Float:
    """Compute W x for each row x."""
    return np.asarray(x @ W.T if W.ndim == 2 else np.einsum("...ij,...j->...i", W, x))


@dataclass(frozen=True)
class MultivariateNormal(Family[VectorMoments]):
    """N(x | μ, Σ) with ``mean`` μ (..., D) and positive definite ``covariance`` Σ (..., D, D)."""

    mean: Float
    covariance: Float
    event = (1, 2)
    statistics = VectorMoments
    vector = True

    @cached_property
    def _whitener(self) -> tuple[Float, Float]:
        return whitener(self.covariance)

    @staticmethod
    def u(x: Any) -> Float:
        x = np.asarray(x, dtype=np.float64)
        return _flat(x, x[..., :, None] * x[..., None, :])

    def log_h(self, x: Any) -> Float:
        return np.full(np.shape(x)[:-1], -self.mean.shape[-1] * LOG_SQRT_2PI)

    @property
    def natural(self) -> Float:
        W, _ = self._whitener
        precision = np.swapaxes(W, -1, -2) @ W
        return _flat((precision @ self.mean[..., None])[..., 0], -0.5 * precision)

    @property
    def log_normaliser(self) -> Float:
        W, half_log_det = self._whitener
        return np.asarray(0.5 * (whitened(W, self.mean) ** 2).sum(axis=-1) + half_log_det)

    @property
    def mean_u(self) -> Float:
        return _flat(self.mean, self.covariance + self.mean[..., :, None] * self.mean[..., None, :])

    @property
    def variance(self) -> Float:
        return self.covariance

    @classmethod
    def of_natural(cls, eta: Float) -> Self:
        first, second = _unflat(np.asarray(eta, dtype=np.float64))
        covariance = np.asarray(np.linalg.inv(-2.0 * second), dtype=np.float64)
        return cls((covariance @ first[..., None])[..., 0], covariance)

    @classmethod
    def of_mean_u(cls, mean_u: Float) -> Self:
        """Estimate from the means of x and xx'; `ml` avoids the cancellation of large products."""
        mean, second = _unflat(np.asarray(mean_u, dtype=np.float64))
        return cls(mean, second - mean[..., :, None] * mean[..., None, :])

    def log_density(self, x: Any) -> Float:
        """-½ |W (x - μ)|² - ½ ln|2πΣ|."""
        W, half_log_det = self._whitener
        z = whitened(W, np.asarray(x, dtype=np.float64) - self.mean)
        constant = half_log_det + self.mean.shape[-1] * LOG_SQRT_2PI
        return np.asarray(-0.5 * np.einsum("...d,...d->...", z, z) - constant)

    def sample(self, rng: np.random.Generator, size: Size = ()) -> Float:
        """Draw μ + W^-1 z with standard normal z."""
        z = rng.standard_normal(shape_of(size, self.mean.shape))
        return self.mean + np.linalg.solve(self._whitener[0], z[..., None])[..., 0]

    @staticmethod
    def check_support(x: Array, columns: Sequence[str]) -> None:
        Normal.check_support(x, columns)
        remedy = "Drop those rows, or use LinearDiscriminantAnalysis, which fits incomplete rows by EM."
        reject_missing(x, columns, remedy=remedy)

    @classmethod
    def ml(cls, facts: VectorMoments) -> Self:
        """Maximum likelihood: the mean, and the scatter matrix divided by the count."""
        facts.require_some()
        covariance = facts.scatter / facts.count[..., None, None]
        rounding = 0.5 * np.finfo(np.float64).eps * np.abs(facts.mean)
        for k, each in enumerate(covariance):
            varies = np.sqrt(np.diag(each)) > rounding[k]
            try:
                cholesky_of_correlation(each * np.outer(varies, varies))
            except SingularError as singular:
                raise SingularFactsError(k, singular, len(each)) from None
        return cls(facts.mean, covariance)


@dataclass(frozen=True)
class NormalWishart(Prior[MultivariateNormal, VectorMoments], of=MultivariateNormal):
    """Prior Λ ~ Wishart(Ψ^-1, dof), μ | Λ ~ N(m, (βΛ)^-1) with ``mean`` m (..., D), ``count`` β > 0, the number of
    pseudo-observations, ``dof`` > D - 1, and positive definite ``scatter`` Ψ (..., D, D), in the units of x².
    """

    mean: Float
    count: Float
    dof: Float
    scatter: Float
    event: ClassVar[tuple[int, ...]] = (1, 0, 0, 2)
    positive = ("count",)

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self, "dof", self.dof > self.mean.shape[-1] - 1, "above D - 1")

    @classmethod
    def weak(cls, facts: VectorMoments, worth: float = 1.0) -> Self:
        """Prior with ``worth`` pseudo-observations that have the means and variances of all classes, uncorrelated."""
        overall = facts.overall()
        variance = np.diagonal(overall.scatter, axis1=-2, axis2=-1) / overall.count[..., None]
        constant = np.sqrt(variance) <= 0.5 * np.finfo(np.float64).eps * np.abs(overall.mean)
        FactsError.unless(~constant, "all values are equal", "drop the column", overall=True)
        nu, D = np.asarray(worth), variance.shape[-1]
        return cls(overall.mean, nu, nu + D + 2, nu * np.eye(D) * variance[..., None])

    def updated(self, facts: VectorMoments) -> Self:
        count = self.count + facts.count
        fraction = (facts.count / count)[..., None]
        delta = facts.mean - self.mean
        outer = delta[..., :, None] * delta[..., None, :] * (self.count[..., None] * fraction)[..., None]
        mean = self.mean + fraction * delta
        return type(self)(mean, count, self.dof + facts.count, self.scatter + facts.scatter + outer)

    @property
    def mode(self) -> MultivariateNormal:
        """N(m, Ψ/(dof - D - 2)), the mode of η; requires dof > D + 2."""
        free = self.dof - self.mean.shape[-1] - 2
        require(self, "dof", free > 0, "above D + 2 for a mode")
        return MultivariateNormal(self.mean, self.scatter / free[..., None, None])

    def predictive(self) -> MultivariateT:
        dof = self.dof - self.mean.shape[-1] + 1
        return MultivariateT(dof, self.mean, self.scatter * ((1 + 1 / self.count) / dof)[..., None, None])

    def log_marginal(self, facts: VectorMoments) -> Float:
        """The marginal likelihood above. Γ_D is a product of D gamma functions and powers of π, which cancel."""
        D, n = self.mean.shape[-1], facts.count
        half = 0.5 * self.dof[..., None] - 0.5 * np.arange(D)
        gammas = log_rising(half, 0.5 * n[..., None]).sum(axis=-1)
        (_, before), (_, after) = whitener(self.scatter), whitener(self.updated(facts).scatter)
        dets = self.dof * before - (self.dof + n) * after
        return np.asarray(gammas + dets - 0.5 * D * (log1p_ratio(n, self.count) + n * np.log(np.pi)))


@dataclass(frozen=True)
class MultivariateT(Density):
    """Student's t in D dimensions, with ``dof`` degrees of freedom, ``location`` (..., D) and a ``scale`` matrix."""

    dof: Float
    location: Float
    scale: Float
    event: ClassVar[tuple[int, ...]] = (0, 1, 2)
    vector = True

    @cached_property
    def _whitener(self) -> tuple[Float, Float]:
        return whitener(self.scale)

    def log_density(self, x: Any) -> Float:
        """-(ν+D)/2 ln(1 + |z|²/ν) + lnΓ((ν+D)/2) - lnΓ(ν/2) - D/2 ln νπ - ½ ln|S|."""
        D = self.location.shape[-1]
        W, half_log_det = self._whitener
        z = whitened(W, np.asarray(x, dtype=np.float64) - self.location)
        length = np.linalg.norm(z / np.sqrt(self.dof)[..., None], axis=-1)
        constant = log_rising(0.5 * self.dof, 0.5 * D) - 0.5 * D * np.log(np.pi * self.dof)
        return np.asarray(constant - half_log_det - 0.5 * (self.dof + D) * log1p_square(length))

    def sample(self, rng: np.random.Generator, size: Size = ()) -> Float:
        """Draw a normal vector, and divide it by the square root of an independent χ²/ν."""
        z = MultivariateNormal(np.zeros_like(self.location), self.scale).sample(rng, size)
        chi2 = rng.chisquare(self.dof, z.shape[:-1])
        return self.location + z * np.sqrt(self.dof / chi2)[..., None]


def _flat(first: Float, second: Float) -> Float:
    return np.concatenate([first, second.reshape(*first.shape[:-1], -1)], axis=-1)


def _unflat(both: Float) -> tuple[Float, Float]:
    """Invert `_flat`: split D + D² entries into a vector and a matrix."""
    D = round((np.sqrt(1 + 4 * both.shape[-1]) - 1) / 2)
    return both[..., :D], both[..., D:].reshape(*both.shape[:-1], D, D)
