# SPDX-License-Identifier: BSD-3-Clause
"""Normal and Student t class densities, their covariance matrices, and missing values.

`DenseCovariance`      Σ = D C D with the Cholesky factor of the correlation matrix C, so results do not depend on units
`FactoredCovariance`   Σ = F'F + diag(ridge), where F has fewer rows than columns; Σ (M, M) is never formed (Woodbury)
`SingularCovariance`   Σ = R'R that has no inverse; some columns are not used
`NormalClasses`        p(x | C_k) for K classes

If columns are constant or combinations of others in all rows, they do not help to distinguish classes, and are not
used. If the columns in use have directions without variance *within* classes, log densities are limits of a vanishing
variance ε in these directions. For ε -> 0, ln p(x | C_k) = -½ (d_k ln ε + |n_k|²/ε) + O(1), with the distance n_k from
the class mean in the d_k directions without variance. So a row with n_k = 0 for some classes belongs to the class with
the largest d_k among them; other rows belong to the class with the smallest |n_k|. Only ties depend on the other terms.

Missing values are marginalised. Let o be the observed columns of a row. The marginal of N(μ, Σ) is N(μ_o, Σ_oo). Given
x_o, the whole row has

    E[x] = μ + Σ_·o Σ_oo⁻¹ (x_o - μ_o),        cov[x] = Σ - Σ_·o Σ_oo⁻¹ Σ_o·                        PRML (2.81, 2.82)

Let P be Σ_oo⁻¹ padded with zeros to (M, M), and z = x - μ with zeros for missing values. Then E[x] = μ + Σ P z,
cov[x] = Σ - Σ P Σ, and the squared distance is z'Pz. Rows are grouped by their pattern of missing values. A compiled
loop factorises each pattern once; all other steps are matrix products over all rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg
from scipy.special import gammaln

from separatrix._array import Array, Codes, Float, Rows, to_dense
from separatrix._linalg import SINGULAR_IN_EM, cholesky_of_correlation, whitener_of_root
from separatrix.stats import has_missing

#: Squared distance z'Pz, ln |Σ_oo| and number of observed columns of each row.
Marginal = tuple[Float, Float, Float]


@dataclass(frozen=True)
class DenseCovariance:
    """Covariance matrix Σ (M, M); raises `SingularError` at its first use if Σ is not positive definite."""

    matrix: Float

    @cached_property
    def _factor(self) -> tuple[Float, Float]:
        return cholesky_of_correlation(self.matrix)

    @property
    def n_used(self) -> int:
        return len(self.matrix)

    @property
    def is_well_conditioned(self) -> bool:
        """Whether an explicit inverse is accurate: R² of each column given earlier columns is below 1 - 1e-6."""
        return bool(np.diag(self._factor[1]).min() ** 2 > SINGULAR_IN_EM)

    @cached_property
    def whitener(self) -> Float:
        """Upper triangular U (M, M) with U U' = Σ⁻¹, so that the covariance of (x - mean) U is the identity."""
        scale, L = self._factor
        inverse = linalg.solve_triangular(L, np.eye(len(L)), lower=True)
        return np.asarray((inverse / scale).T)

    @cached_property
    def log_det(self) -> float:
        """Log determinant ln |Σ| = 2 Σ ln d_m + 2 Σ ln L_mm."""
        scale, L = self._factor
        return float(2 * np.log(scale).sum() + 2 * np.log(np.diag(L)).sum())

    def solve(self, B: Float) -> Float:
        """Σ⁻¹ B for B (M, q)."""
        scale, L = self._factor
        return np.asarray(linalg.cho_solve((L, True), B / scale[:, None]) / scale[:, None])

    def squared_distance(self, X: Rows, mean: Float) -> Float:
        """(x - mean)' Σ⁻¹ (x - mean) of each row, computed as |(x - mean) U|² with one product for all rows."""
        return whitened_lengths(X, mean, self.whitener)

    def marginal(self, X: Array, mean: Float) -> Marginal:
        """Marginal of the observed columns of each row, computed in a compiled loop."""
        return condition(X, mean, self.matrix)[0]

    def draw(self, size: int, rng: np.random.Generator) -> Float:
        """Draw rows ε L' D from N(0, Σ), with standard normal ε."""
        scale, L = self._factor
        return np.asarray((rng.standard_normal((size, len(L))) @ L.T) * scale)


@dataclass(frozen=True)
class FactoredCovariance:
    """Covariance Σ = F'F + diag(ridge). Columns with a ridge of zero are not used."""

    F: Float
    ridge: Float

    @cached_property
    def svd(self) -> tuple[Float, Float, Float]:
        """√ridge, and the singular values and right singular vectors of F ridge^-½."""
        q = np.sqrt(np.where(self.ridge > 0, self.ridge, np.inf))
        _, s, Vt = linalg.svd(self.F / q, full_matrices=False)
        return q, s, Vt

    @property
    def n_used(self) -> int:
        return int(np.count_nonzero(self.ridge))

    @property
    def matrix(self) -> Float:
        """The matrix Σ (M, M), computed at each access."""
        return self.F.T @ self.F + np.diag(self.ridge)

    @cached_property
    def log_det(self) -> float:
        """Log determinant Σ ln ridge + Σ ln(1 + s²), with the singular values s of F ridge^-½."""
        _, s, _ = self.svd
        return float(np.log(self.ridge[self.ridge > 0]).sum() + np.log1p(s**2).sum())

    def solve(self, B: Float) -> Float:
        """Σ⁻¹ B by Woodbury's identity."""
        q, s, Vt = self.svd
        b = B / q[:, None]
        return np.asarray((b - Vt.T @ ((s**2 / (1 + s**2))[:, None] * (Vt @ b))) / q[:, None])

    def squared_distance(self, X: Rows, mean: Float) -> Float:
        """Squared distance of each row: |z|² with z = (x - mean) ridge^-½, minus a correction for F'F."""
        q, s, Vt = self.svd
        Z = (to_dense(X) - mean) / q
        along = Z @ Vt.T
        return np.asarray(np.einsum("nm,nm->n", Z, Z) - along**2 @ (s**2 / (1 + s**2)))

    def marginal(self, X: Array, mean: Float) -> Marginal:
        """As in `DenseCovariance`. Σ_oo = F_o'F_o + diag(ridge_o) is factorised once per pattern of missing values."""
        seen = ~np.isnan(X) & (self.ridge > 0)
        squared, log_det = np.zeros(len(X)), np.zeros(len(X))
        order, is_new = patterns(seen)
        for rows in np.split(order, np.flatnonzero(is_new)[1:]):
            o = seen[rows[0]]
            part = FactoredCovariance(self.F[:, o], self.ridge[o])
            squared[rows], log_det[rows] = part.squared_distance(X[np.ix_(rows, o)], mean[o]), part.log_det
        return squared, log_det, seen.sum(axis=1).astype(np.float64)

    def draw(self, size: int, rng: np.random.Generator) -> Float:
        """Draw rows from N(0, Σ) as the sum of independent noise and a combination of the rows of F."""
        r, M = self.F.shape
        wide: Array = rng.standard_normal((size, M)) * np.sqrt(self.ridge)
        return np.asarray(wide + rng.standard_normal((size, r)) @ self.F)


@dataclass(frozen=True)
class SingularCovariance:
    """Covariance Σ = R'R of the columns ``used``, with a vanishing variance in directions that have none.

    ``units`` are the variances of the columns in use in all rows, for columns that are constant within the class.
    ``floor`` is the variance of other directions without variance, relative to the columns.
    """

    root: Float  # R (r, M)
    used: Codes
    units: Float
    floor: float

    @cached_property
    def _whitened(self) -> tuple[Float, float, int]:
        return whitener_of_root(self.root[:, self.used], self.units, self.floor)

    @property
    def matrix(self) -> Float:
        """The matrix Σ (M, M) of all columns, computed at each access."""
        return self.root.T @ self.root

    @property
    def n_used(self) -> int:
        return len(self.used)

    @property
    def n_vanishing(self) -> int:
        return self._whitened[2]

    @cached_property
    def whitener(self) -> Float:
        """U (M, n_used) with U U' = Σ⁻¹, zero for columns that are not used."""
        U = np.zeros((self.root.shape[1], self.n_used))
        U[self.used] = self._whitened[0]
        return U

    @property
    def log_det(self) -> float:
        """Log determinant of the columns in use."""
        return self._whitened[1]

    def solve(self, B: Float) -> Float:
        """Σ⁻¹ B, zero for columns that are not used."""
        return np.asarray(self.whitener @ (self.whitener.T @ B))

    def squared_distance(self, X: Rows, mean: Float) -> Float:
        """As in `DenseCovariance`, for the columns in use."""
        return whitened_lengths(X, mean, self.whitener)

    def marginal(self, X: Array, mean: Float) -> Marginal:
        """As in `DenseCovariance`, for the columns in use."""
        regular = np.linalg.inv(self._whitened[0])
        return condition(X[:, self.used], mean[self.used], regular.T @ regular)[0]

    def draw(self, size: int, rng: np.random.Generator) -> Float:
        """Draw rows ε R of all columns, so that constants and combinations are exact."""
        return np.asarray(rng.standard_normal((size, len(self.root))) @ self.root)


def whitened_lengths(X: Rows, mean: Float, U: Float) -> Float:
    """|(x - mean) U|² of each row."""
    Z = (to_dense(X) - mean).astype(X.dtype, copy=False)  # centred in float64, multiplied in the precision of X
    Z = Z @ U.astype(X.dtype, copy=False)
    return np.asarray(np.einsum("nm,nm->n", Z, Z, dtype=np.float64))


Covariance = DenseCovariance | FactoredCovariance | SingularCovariance


@dataclass(frozen=True)
class NormalClasses:
    """Densities p(x | C_k) of K classes: normal, or Student t if ``freedom`` is finite.

    ``covariance`` has K entries, or one entry that all classes share. The scale matrix of a Student t is
    ``widening[k]`` times the covariance.
    """

    mean: Float
    covariance: tuple[Covariance, ...]
    freedom: Float  # (K,) degrees of freedom; inf for a normal density
    widening: Float  # (K,) factors of the scale matrices; 1 for a normal density

    def log_density(self, X: Rows) -> Float:
        """ln p(x | C_k), (n, K); missing values are marginalised."""
        incomplete = has_missing(X)
        answer = np.empty((X.shape[0], len(self.mean)))
        if incomplete.any():
            rows = np.asarray(to_dense(X[incomplete]), dtype=np.float64)
            for k, mean in enumerate(self.mean):
                answer[incomplete, k] = self.density_at(k, *self.of_class(k).marginal(rows, mean))
            answer[~incomplete] = self.log_density(X[~incomplete])
            return answer
        for k, mean in enumerate(self.mean):
            Sigma = self.of_class(k)
            answer[:, k] = self.density_at(k, Sigma.squared_distance(X, mean), Sigma.log_det, float(Sigma.n_used))
        return answer

    def density_at(self, k: int, squared: Float, log_det: Any, M: Any) -> Float:
        """Log density of M columns at a squared distance; marginals of a Student t have the same ``freedom``."""
        nu, widening = self.freedom[k], self.widening[k]
        if np.isinf(nu):
            return np.asarray(-0.5 * (M * np.log(2 * np.pi) + log_det + squared))
        squared = np.where(np.isinf(squared), np.nan, squared)  # not hopeless, because the tails are long
        log_scale = log_det + M * np.log(widening)
        constant = gammaln((nu + M) / 2) - gammaln(nu / 2) - 0.5 * (M * np.log(nu * np.pi) + log_scale)
        return np.asarray(constant - 0.5 * (nu + M) * np.log1p(squared / (widening * nu)))

    def draw(self, k: int, size: int, rng: np.random.Generator) -> Float:
        Z = self.of_class(k).draw(size, rng) * np.sqrt(self.widening[k])
        if np.isfinite(self.freedom[k]):
            Z /= np.sqrt(rng.chisquare(self.freedom[k], size) / self.freedom[k])[:, None]
        return np.asarray(self.mean[k] + Z)

    @cached_property
    def total(self) -> Float | None:
        """Covariance of rows of which each class has as many, if a covariance is singular."""
        K = len(self.mean)
        if not any(isinstance(Sigma, SingularCovariance) for Sigma in self.covariance):
            return None
        between = (self.mean - self.mean.mean(axis=0)) / np.sqrt(K)
        between[:, np.abs(between).max(axis=0) <= 8 * np.finfo(np.float64).eps * np.abs(self.mean).max(axis=0)] = 0.0
        return np.asarray(sum(self.of_class(k).matrix for k in range(K)) / K + between.T @ between)

    def of_class(self, k: int) -> Covariance:
        return self.covariance[k if len(self.covariance) > 1 else 0]


def condition(
    X: Array, mean: Float, Sigma: Float, weight: Float | None = None, total: Float | None = None
) -> tuple[Marginal, Float, Float]:
    """Condition rows X (n, M) on their observed values under N(mean, Sigma); missing values are NaN.

    Return the marginal of the observed columns, X with the expectation of missing values, and Σ_n weight_n cov[x_n].
    The computation is scaled to correlations, so the result does not depend on units. If Sigma is singular, ``total``
    is the covariance of all rows: columns that are combinations of others in all rows are not counted.
    """
    from separatrix.generative._kernels import sweep_patterns

    X = np.ascontiguousarray(X)  # the loop is compiled for this order only
    seen = ~np.isnan(X)
    weight = np.zeros(len(X)) if weight is None else weight
    variance, T, smallest = np.diag(Sigma), np.zeros((0, 0)), 0.0
    if total is not None:
        variance = np.where(variance > 0, variance, np.diag(total))
        variance = np.where(variance > 0, variance, 1.0)  # constant in all rows
        inverse = np.divide(1.0, np.diag(total), out=np.zeros(len(total)), where=np.diag(total) > 0) ** 0.5
        T, smallest = total * np.outer(inverse, inverse), SINGULAR_IN_EM
    scale = np.sqrt(variance)
    C = Sigma / np.outer(scale, scale)
    Z = np.where(seen, (X - mean) / scale, 0.0)
    G, squared, log_det, precision, n_used = sweep_patterns(Z, seen, *patterns(seen), weight, (C, scale, T, smallest))
    filled = np.where(seen, X, mean + scale * (G @ C))
    covariance = np.outer(scale, scale) * (weight.sum() * C - C @ precision @ C)
    return (squared, log_det, n_used), filled, covariance


def patterns(seen: Array) -> tuple[Codes, Array]:
    """Indices of the rows sorted by pattern of missing values, and whether each begins a new pattern."""
    packed = np.packbits(seen, axis=1)
    words = np.zeros((len(seen), -(-packed.shape[1] // 8) * 8), np.uint8)  # integers are sorted faster than bytes
    words[:, : packed.shape[1]] = packed
    words = words.view(np.uint64)
    order = np.lexsort(words.T)
    ordered = words[order]
    is_new = np.ones(len(seen), dtype=bool)
    is_new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    return order, is_new
