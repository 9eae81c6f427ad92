# SPDX-License-Identifier: BSD-3-Clause
# ruff: noqa: D102  (Scatter documents the methods that the four kinds share)
"""Scatter: Σ_n (x_n - m_k)(x_n - m_k)' over rows n, about the mean m_k of each row's class k.

Four representations, one for each use:

================== ============ ==================================================== ===============
`PooledScatter`    (M, M)       the sum over all classes, S_W of PRML (4.28)         Fisher, LDA, LS
`ClassScatter`     (K, M, M)    one matrix for each class                            QDA, Fisher
`DiagonalScatter`  (K, M)       only the diagonals                                   naive Bayes
`FactoredScatter`  (r, M)       rows F with F'F = S_W; M x M is never formed         N < M
================== ============ ==================================================== ===============

Each is built from rows that are centred, sorted by class and multiplied by the square root of their weight. Two are
merged by the pairwise rule of Chan, Golub & LeVeque (1979): the centred sums add, plus one row per class for the
distance between the two means.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, Self

import numpy as np
from scipy import linalg

from separatrix._array import Codes, Float, Rows, bincount, is_sparse, to_dense


class Scatter(Protocol):
    """Centred second moments that can be merged."""

    @classmethod
    def of(cls, Z: Rows, bounds: Codes) -> Self:
        """Scatter of centred rows Z; class k has the rows ``bounds[k]`` to ``bounds[k + 1]``."""

    def merge(self, other: Self, shift: Float) -> Self:
        """Add both sums, and ``shift[k] shift[k]'`` for each class."""

    def without(self, shift: Float) -> Self:
        """Subtract ``shift[k] shift[k]'`` for each class, to centre rows afterwards."""

    def plus(self, k: int, matrix: Float) -> Self:
        """Add a matrix (M, M) to the scatter of class k."""

    def on_classes(self, position: Codes, n_classes: int) -> Self:
        """Renumber the classes: class k becomes class ``position[k]`` of ``n_classes``."""

    def is_finite(self) -> bool:
        """Whether no sum overflowed or contains NaN."""


def spread_out(array: Float, position: Codes, n_classes: int) -> Float:
    """Move entry k of the first axis to ``position[k]`` of ``n_classes``; the others are zero."""
    wide = np.zeros((n_classes, *array.shape[1:]))
    wide[position] = array
    return wide


def gram(Z: Rows) -> Float:
    """Z'Z computed in the precision of Z (NumPy computes one triangle and mirrors it), returned in float64."""
    product = Z.T @ Z
    return np.asarray(to_dense(product), dtype=np.float64)


def squared_sums(Z: Rows) -> Float:
    """Diagonal of Z'Z."""
    if is_sparse(Z):
        return bincount(Z.indices, np.square(Z.data), Z.shape[1])
    return np.asarray(np.einsum("nm,nm->m", Z, Z), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class PooledScatter:
    """S_W = Σ_k S_k as one (M, M) matrix."""

    matrix: Float

    @classmethod
    def of(cls, Z: Rows, bounds: Codes) -> PooledScatter:
        return cls(gram(Z))

    def merge(self, other: PooledScatter, shift: Float) -> PooledScatter:
        return PooledScatter(self.matrix + other.matrix + shift.T @ shift)

    def combined(self, factor: Float) -> Float:
        """factor S_W; the factor must be the same for all classes, which are no longer separate."""
        if factor.min() != factor.max():
            raise TypeError("a pooled scatter cannot weight classes differently; use ClassScatter")
        return float(factor[0]) * self.matrix

    def plus(self, k: int, matrix: Float) -> PooledScatter:
        return PooledScatter(self.matrix + matrix)

    def on_classes(self, position: Codes, n_classes: int) -> PooledScatter:
        return self  # the classes are no longer separate

    def is_finite(self) -> bool:
        return bool(np.isfinite(self.matrix).all())

    def without(self, shift: Float) -> PooledScatter:
        return PooledScatter(self.matrix - shift.T @ shift)


@dataclass(frozen=True, slots=True)
class ClassScatter:
    """S_k for each class, (K, M, M)."""

    matrices: Float

    @classmethod
    def of(cls, Z: Rows, bounds: Codes) -> ClassScatter:
        K, M = len(bounds) - 1, Z.shape[1]
        matrices = np.zeros((K, M, M))
        for k, (start, stop) in enumerate(pairwise(bounds)):
            matrices[k] = gram(Z[start:stop])
        return cls(matrices)

    def merge(self, other: ClassScatter, shift: Float) -> ClassScatter:
        return ClassScatter(self.matrices + other.matrices + _outer(shift))

    def plus(self, k: int, matrix: Float) -> ClassScatter:
        position = np.array([k])
        return ClassScatter(self.matrices + spread_out(matrix[None], position, len(self.matrices)))

    def on_classes(self, position: Codes, n_classes: int) -> ClassScatter:
        return ClassScatter(spread_out(self.matrices, position, n_classes))

    def is_finite(self) -> bool:
        return bool(np.isfinite(self.matrices).all())

    def without(self, shift: Float) -> ClassScatter:
        return ClassScatter(self.matrices - _outer(shift))

    def combined(self, factor: Float) -> Float:
        """Σ_k factor_k S_k."""
        return np.asarray(np.einsum("k,kml->ml", factor, self.matrices))

    def spread(self, w: Float) -> Float:
        """w' S_k w for each class."""
        return np.asarray(np.einsum("m,kml,l->k", w, self.matrices, w, optimize=True))


@dataclass(frozen=True, slots=True)
class DiagonalScatter:
    """Σ_n (x_nm - m_km)^2 for each class and column, (K, M)."""

    squares: Float

    @classmethod
    def of(cls, Z: Rows, bounds: Codes) -> DiagonalScatter:
        squares = np.zeros((len(bounds) - 1, Z.shape[1]))
        for k, (start, stop) in enumerate(pairwise(bounds)):
            squares[k] = squared_sums(Z[start:stop])
        return cls(squares)

    def merge(self, other: DiagonalScatter, shift: Float) -> DiagonalScatter:
        return DiagonalScatter(self.squares + other.squares + shift**2)

    def plus(self, k: int, matrix: Float) -> DiagonalScatter:
        squares = np.diag(matrix)[None]
        return DiagonalScatter(self.squares + spread_out(squares, np.array([k]), len(self.squares)))

    def on_classes(self, position: Codes, n_classes: int) -> DiagonalScatter:
        return DiagonalScatter(spread_out(self.squares, position, n_classes))

    def is_finite(self) -> bool:
        return bool(np.isfinite(self.squares).all())

    def without(self, shift: Float) -> DiagonalScatter:
        return DiagonalScatter(self.squares - shift**2)


@dataclass(frozen=True, slots=True)
class FactoredScatter:
    """Rows F (r, M) with F'F = S_W, and the class each row belongs to.

    For N < M the centred rows are the smallest exact representation of their scatter. If a class has more than 2M
    rows, a QR factorisation reduces them to M.
    """

    rows: Float
    owner: Codes

    @classmethod
    def of(cls, Z: Rows, bounds: Codes) -> FactoredScatter:
        owner = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
        return cls(np.asarray(to_dense(Z), dtype=np.float64), owner)

    def merge(self, other: FactoredScatter, shift: Float) -> FactoredScatter:
        """Stack the rows, and compress them if there are many."""
        moved = np.flatnonzero(np.any(shift != 0, axis=1))
        stacked = FactoredScatter(
            np.concatenate([self.rows, other.rows, shift[moved]]),
            np.concatenate([self.owner, other.owner, moved]),
        )
        return stacked.compressed() if len(stacked.owner) > 2 * shift.size else stacked

    def plus(self, k: int, matrix: Float) -> FactoredScatter:
        L = linalg.cholesky(matrix, lower=True)
        owner = np.full(len(L), k)
        return FactoredScatter(np.concatenate([self.rows, L.T]), np.concatenate([self.owner, owner]))

    def on_classes(self, position: Codes, n_classes: int) -> FactoredScatter:
        return FactoredScatter(self.rows, position[self.owner])

    def is_finite(self) -> bool:
        return bool(np.isfinite(self.rows).all())

    def without(self, shift: Float) -> FactoredScatter:
        raise TypeError("FactoredScatter is built from centred rows only")

    def compressed(self) -> FactoredScatter:
        """Return at most M rows per class, with the same scatter."""
        M = self.rows.shape[1]
        parts = [linalg.qr(self.of_class(k), mode="r")[0][:M] for k in np.unique(self.owner)]
        owner = np.repeat(np.unique(self.owner), [len(part) for part in parts])
        return FactoredScatter(np.concatenate(parts), owner)

    def dense(self, kind: type[Scatter], n_classes: int) -> Scatter:
        """The same scatter in another representation."""
        order = np.argsort(self.owner, kind="stable")
        bounds = np.searchsorted(self.owner[order], np.arange(n_classes + 1))
        return kind.of(self.rows[order], bounds)

    def of_class(self, k: int) -> Float:
        """Rows of class k."""
        return np.compress(self.owner == k, self.rows, axis=0)

    def combined(self, factor: Float) -> Float:
        """Rows of Σ_k factor_k S_k."""
        return np.sqrt(factor)[self.owner, None] * self.rows

    def spread(self, w: Float) -> Float:
        """w' S_k w for each class."""
        return bincount(self.owner, (self.rows @ w) ** 2, int(self.owner.max()) + 1)


def _outer(shift: Float) -> Float:
    return np.asarray(np.einsum("km,kl->kml", shift, shift))
