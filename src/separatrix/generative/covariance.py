# SPDX-License-Identifier: BSD-3-Clause
"""Normal and Student t class densities, their covariance matrices, and missing values.

`DenseCovariance`      Σ = D C D with the Cholesky factor of the correlation matrix C, so results do not depend on units
`FactoredCovariance`   Σ = F'F + diag(ridge) with fewer rows than columns; M x M is never formed (Woodbury)
`NormalClasses`        p(x | C_k) for K classes

Missing values are marginalised. Let o be the observed columns of a row. The marginal of N(μ, Σ) is N(μ_o, Σ_oo), and
given x_o the whole row has

    E[x] = μ + Σ_·o Σ_oo⁻¹ (x_o - μ_o),        cov[x] = Σ - Σ_·o Σ_oo⁻¹ Σ_o·                        PRML (2.81, 2.82)

With P = Σ_oo⁻¹ padded by zeros to (M, M), and z = x - μ with zeros for missing values, these are μ + Σ P z and
Σ - Σ P Σ, and the squared distance is z'Pz. Rows are grouped by their pattern of missing values, and each pattern is
factorised once, in a compiled loop; everything else is a product over all rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy.special import gammaln

from separatrix._array import Array, Codes, Float, Rows, to_dense
from separatrix._linalg import cholesky_of_correlation
from separatrix.stats import has_missing


@dataclass(frozen=True)
class DenseCovariance:
    """Σ (M, M); raises `SingularError` at first use if it is not positive definite."""

    matrix: Float

    @cached_property
    def _factor(self) -> tuple[Float, Float]:
        return cholesky_of_correlation(self.matrix)

    @property
    def is_well_conditioned(self) -> bool:
        """Whether an explicit inverse is accurate: the other columns explain at most 1 - 1e-6 of any column."""
        return bool(np.diag(self._factor[1]).min() ** 2 > 1e-6)

    @cached_property
    def whitener(self) -> Float:
        """U (M, M) upper triangular with U U' = Σ⁻¹, so that (x - mean) U has the identity as covariance."""
        scale, L = self._factor
        inverse = linalg.solve_triangular(L, np.eye(len(L)), lower=True)
        return np.asarray((inverse / scale).T)

    @cached_property
    def log_det(self) -> float:
        """ln |Σ| = 2 Σ ln d_m + 2 Σ ln L_mm."""
        scale, L = self._factor
        return float(2 * np.log(scale).sum() + 2 * np.log(np.diag(L)).sum())

    def solve(self, B: Float) -> Float:
        """Σ⁻¹ B for B (M, q)."""
        scale, L = self._factor
        return np.asarray(linalg.cho_solve((L, True), B / scale[:, None]) / scale[:, None])

    def squared_distance(self, X: Rows, mean: Float) -> Float:
        """(x - mean)' Σ⁻¹ (x - mean) of each row, as |(x - mean) U|²: one product for all rows."""
        Z = (to_dense(X) - mean).astype(X.dtype, copy=False)  # centred in float64, multiplied in the precision of X
        Z = Z @ self.whitener.astype(X.dtype, copy=False)
        return np.asarray(np.einsum("nm,nm->n", Z, Z, dtype=np.float64))

    def marginal(self, X: Array, mean: Float) -> tuple[Float, Float, Float]:
        """Squared distance, ln |Σ_oo| and number of the observed columns of each row, in one compiled loop."""
        part = condition(X, mean, self.matrix)
        return part.squared_distance, part.log_det, part.n_seen

    def draw(self, size: int, rng: np.random.Generator) -> Float:
        """Rows from N(0, Σ): ε L' D."""
        scale, L = self._factor
        return np.asarray((rng.standard_normal((size, len(L))) @ L.T) * scale)


@dataclass(frozen=True)
class FactoredCovariance:
    """Σ = F'F + diag(ridge), ridge > 0."""

    F: Float
    ridge: Float

    @cached_property
    def _svd(self) -> tuple[Float, Float, Float]:
        q = np.sqrt(self.ridge)
        _, s, Vt = linalg.svd(self.F / q, full_matrices=False)
        return q, s, Vt

    @property
    def matrix(self) -> Float:
        """Σ, formed on demand."""
        return self.F.T @ self.F + np.diag(self.ridge)

    @cached_property
    def log_det(self) -> float:
        """Σ ln ridge + Σ ln(1 + s²)."""
        _, s, _ = self._svd
        return float(np.log(self.ridge).sum() + np.log1p(s**2).sum())

    def solve(self, B: Float) -> Float:
        """Woodbury's identity."""
        q, s, Vt = self._svd
        b = B / q[:, None]
        return np.asarray((b - Vt.T @ ((s**2 / (1 + s**2))[:, None] * (Vt @ b))) / q[:, None])

    def squared_distance(self, X: Rows, mean: Float) -> Float:
        """|z|² minus the part explained by the factor."""
        q, s, Vt = self._svd
        Z = (to_dense(X) - mean) / q
        along = Z @ Vt.T
        return np.asarray(np.einsum("nm,nm->n", Z, Z) - along**2 @ (s**2 / (1 + s**2)))

    def marginal(self, X: Array, mean: Float) -> tuple[Float, Float, Float]:
        """Σ_oo = F_o'F_o + diag(ridge_o) has the same form: one small factorisation per pattern of missing values."""
        seen = ~np.isnan(X)
        squared, log_det = np.zeros(len(X)), np.zeros(len(X))
        order, is_new = patterns(seen)
        for rows in np.split(order, np.flatnonzero(is_new)[1:]):
            o = seen[rows[0]]
            part = FactoredCovariance(self.F[:, o], self.ridge[o])
            squared[rows], log_det[rows] = part.squared_distance(X[np.ix_(rows, o)], mean[o]), part.log_det
        return squared, log_det, seen.sum(axis=1).astype(np.float64)

    def draw(self, size: int, rng: np.random.Generator) -> Float:
        """ε √ridge + ε' F."""
        r, M = self.F.shape
        wide: Array = rng.standard_normal((size, M)) * np.sqrt(self.ridge)
        return np.asarray(wide + rng.standard_normal((size, r)) @ self.F)


Covariance = DenseCovariance | FactoredCovariance


@dataclass(frozen=True)
class NormalClasses:
    """p(x | C_k) for K classes: normal, or Student t if ``freedom`` is finite.

    ``covariance`` has one entry, shared, or K. For a Student t it is the scale matrix of class k divided by
    ``widening[k]``.
    """

    mean: Float
    covariance: tuple[Covariance, ...]
    freedom: Float  # (K,); inf for normal
    widening: Float  # (K,); 1 for normal

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
            answer[:, k] = self.density_at(k, Sigma.squared_distance(X, mean), Sigma.log_det, float(len(mean)))
        return answer

    def density_at(self, k: int, squared: Float, log_det: Any, M: Any) -> Float:
        """Log density at a squared distance, for M columns; a marginal of a Student t has the same ``freedom``."""
        nu, widening = self.freedom[k], self.widening[k]
        if np.isinf(nu):
            return np.asarray(-0.5 * (M * np.log(2 * np.pi) + log_det + squared))
        log_scale = log_det + M * np.log(widening)
        constant = gammaln((nu + M) / 2) - gammaln(nu / 2) - 0.5 * (M * np.log(nu * np.pi) + log_scale)
        return np.asarray(constant - 0.5 * (nu + M) * np.log1p(squared / (widening * nu)))

    def draw(self, k: int, size: int, rng: np.random.Generator) -> Float:
        """Rows of class k."""
        Z = self.of_class(k).draw(size, rng) * np.sqrt(self.widening[k])
        if np.isfinite(self.freedom[k]):
            Z /= np.sqrt(rng.chisquare(self.freedom[k], size) / self.freedom[k])[:, None]
        return np.asarray(self.mean[k] + Z)

    def of_class(self, k: int) -> Covariance:
        """Σ_k."""
        return self.covariance[k if len(self.covariance) > 1 else 0]


class Conditioned(NamedTuple):
    """The distribution of rows given their observed values.

    ``squared_distance`` z'Pz, ``log_det`` ln |Σ_oo| and ``n_seen`` describe the marginal of the observed columns; ``X``
    has missing values replaced by their expectation, and ``covariance`` is Σ_n weight_n cov[x_n].
    """

    squared_distance: Float
    log_det: Float
    n_seen: Float
    X: Float
    covariance: Float


def condition(X: Array, mean: Float, Sigma: Float, weight: Float | None = None) -> Conditioned:
    """Condition rows X (n, M), NaN for missing values, on their observed values under N(mean, Sigma).

    The computation is scaled to correlations, so the result does not depend on units.
    """
    from separatrix.generative._kernels import sweep_patterns

    seen = ~np.isnan(X)
    weight = np.zeros(len(X)) if weight is None else weight
    scale = np.sqrt(np.diag(Sigma))
    C = Sigma / np.outer(scale, scale)
    Z = np.where(seen, (X - mean) / scale, 0.0)
    G, squared, log_det, precision = sweep_patterns(Z, seen, *patterns(seen), weight, C)
    filled = np.where(seen, X, mean + scale * (G @ C))
    covariance = np.outer(scale, scale) * (weight.sum() * C - C @ precision @ C)
    return Conditioned(
        squared, log_det + 2 * (seen @ np.log(scale)), seen.sum(axis=1).astype(float), filled, covariance
    )


def patterns(seen: Array) -> tuple[Codes, Array]:
    """Row numbers ordered by pattern of missing values, and where in that order a new pattern begins."""
    packed = np.packbits(seen, axis=1)
    key = np.ascontiguousarray(packed).view([("", packed.dtype)] * packed.shape[1]).ravel()
    order = np.argsort(key, kind="stable")
    ordered = packed[order]
    is_new = np.ones(len(seen), dtype=bool)
    is_new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    return order, is_new
