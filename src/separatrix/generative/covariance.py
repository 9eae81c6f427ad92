# SPDX-License-Identifier: BSD-3-Clause
"""A covariance matrix, by what is asked of it: solve, squared Mahalanobis distance, log determinant, draws.

`DenseCovariance`      Σ = D C D through the Cholesky factor of the correlation matrix C, so in any units
`FactoredCovariance`   Σ = F'F + diag(ridge) with fewer rows than columns; M x M is never formed (Woodbury)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy import linalg

from separatrix._array import Array, Float, Rows, to_dense
from separatrix._linalg import cholesky_of_correlation
from separatrix.generative.missing import condition, patterns

__all__ = ["Covariance", "DenseCovariance", "FactoredCovariance"]


class Covariance(Protocol):
    """Σ of a normal distribution."""

    @property
    def log_det(self) -> float:
        """ln |Σ|."""

    def solve(self, B: Float) -> Float:
        """Σ⁻¹ B for B (M, q)."""

    def squared_distance(self, X: Rows, mean: Float) -> Float:
        """(x - mean)' Σ⁻¹ (x - mean) for each row."""

    def marginal(self, X: Array, mean: Float) -> tuple[Float, Float, Float]:
        """Of rows with gaps, over the columns seen: squared distance, ln |Σ_oo|, and their number."""

    def draw(self, size: int, rng: np.random.Generator) -> Float:
        """Rows from N(0, Σ)."""

    @property
    def matrix(self) -> Float:
        """Σ itself, (M, M)."""


@dataclass(frozen=True)
class DenseCovariance:
    """Σ (M, M), positive definite; `SingularError` at first use where it is not."""

    matrix: Float

    @cached_property
    def _factor(self) -> tuple[Float, Float]:
        return cholesky_of_correlation(self.matrix)

    @property
    def is_well_conditioned(self) -> bool:
        """Whether an explicit inverse keeps most of its digits: no column is explained by the others to 1 - 1e-6."""
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
        """Σ⁻¹ B."""
        scale, L = self._factor
        return np.asarray(linalg.cho_solve((L, True), B / scale[:, None]) / scale[:, None])

    def squared_distance(self, X: Rows, mean: Float) -> Float:
        """|(x - mean) U|²: one product for all rows."""
        Z = (to_dense(X) - mean).astype(X.dtype, copy=False)  # centred in float64, multiplied in the precision of X
        Z = Z @ self.whitener.astype(X.dtype, copy=False)
        return np.asarray(np.einsum("nm,nm->n", Z, Z, dtype=np.float64))

    def marginal(self, X: Array, mean: Float) -> tuple[Float, Float, Float]:
        """All patterns of gaps in one sweep."""
        part = condition(X, mean, self.matrix)
        return part.squared_distance, part.log_det, part.n_seen

    def draw(self, size: int, rng: np.random.Generator) -> Float:
        """ε L' D."""
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
        """|z|² less what the factor explains."""
        q, s, Vt = self._svd
        Z = (to_dense(X) - mean) / q
        along = Z @ Vt.T
        return np.asarray(np.einsum("nm,nm->n", Z, Z) - along**2 @ (s**2 / (1 + s**2)))

    def marginal(self, X: Array, mean: Float) -> tuple[Float, Float, Float]:
        """Σ_oo = F_o'F_o + diag(ridge_o) has the same form: one small factorisation for each pattern of gaps."""
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
