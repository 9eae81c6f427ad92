# SPDX-License-Identifier: BSD-3-Clause
"""Scatter: Σ_n (x_n - m_k)(x_n - m_k)' over rows n, about the mean m_k of each row's class k.

Four ways to keep it, one per question asked of it:

================== ============ ==================================================== ===============
`PooledScatter`    (M, M)       the sum over all classes, S_W of PRML (4.28)         Fisher, LDA, LS
`ClassScatter`     (K, M, M)    one matrix for each class                            QDA, Fisher
`DiagonalScatter`  (K, M)       the diagonals alone                                  naive Bayes
`FactoredScatter`  (r, M)       rows F with F'F = S_W; M x M is never formed         N < M
================== ============ ==================================================== ===============

Each is built from rows already centred, sorted by class and multiplied by the root of their weight, and
merges by the pairwise rule of Chan, Golub & LeVeque (1979): two centred sums add, plus one row per class
that carries the distance between the two means.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, Self

import numpy as np
from scipy import linalg

from separatrix._array import Codes, Float, Rows, bincount, is_sparse, to_dense

__all__ = ["ClassScatter", "DiagonalScatter", "FactoredScatter", "PooledScatter", "Scatter", "segments"]


class Scatter(Protocol):
    """Centred second moments that merge."""

    @classmethod
    def of(cls, Z: Rows, bounds: Codes) -> Self:
        """Scatter of centred rows Z; class k has the rows ``bounds[k]`` to ``bounds[k + 1]``."""

    def merge(self, other: Self, shift: Float) -> Self:
        """Both sums, plus ``shift[k] shift[k]'`` for each class."""

    def without(self, shift: Float) -> Self:
        """Less ``shift[k] shift[k]'`` for each class: rows that could not be centred first."""

    def plus(self, k: int, matrix: Float) -> Self:
        """With a matrix (M, M) added for class k."""

    def on_classes(self, position: Codes, n_classes: int) -> Self:
        """The same scatter among ``n_classes`` classes, that of class k now at ``position[k]``."""

    def is_finite(self) -> bool:
        """Whether no sum overflowed or met a NaN."""


def segments(bounds: Codes) -> Iterator[tuple[int, slice]]:
    """Each class that has rows, and where they are."""
    for k, (low, high) in enumerate(pairwise(bounds)):
        if low < high:
            yield k, slice(low, high)


def spread_out(array: Float, position: Codes, n_classes: int) -> Float:
    """Entries k of the first axis moved to ``position[k]`` among ``n_classes``; zero elsewhere."""
    wide = np.zeros((n_classes, *array.shape[1:]))
    wide[position] = array
    return wide


def gram(Z: Rows) -> Float:
    """Z'Z in the precision of Z, handed on in float64. NumPy computes half of it and mirrors."""
    product = Z.T @ Z
    return np.asarray(to_dense(product), dtype=np.float64)


def squared_sums(Z: Rows) -> Float:
    """The diagonal of Z'Z."""
    if is_sparse(Z):
        return bincount(Z.indices, np.square(Z.data), Z.shape[1])
    return np.asarray(np.einsum("nm,nm->m", Z, Z), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class PooledScatter:
    """S_W = Σ_k S_k as one (M, M) matrix."""

    matrix: Float

    @classmethod
    def of(cls, Z: Rows, bounds: Codes) -> PooledScatter:
        """One product for the whole block."""
        return cls(gram(Z))

    def merge(self, other: PooledScatter, shift: Float) -> PooledScatter:
        """Rank-K update."""
        return PooledScatter(self.matrix + other.matrix + shift.T @ shift)

    def combined(self, factor: Float) -> Float:
        """factor S_W; the classes are no longer apart, so they share one factor."""
        if factor.min() != factor.max():
            raise TypeError("a pooled scatter cannot weigh classes differently; use ClassScatter")
        return float(factor[0]) * self.matrix

    def plus(self, k: int, matrix: Float) -> PooledScatter:
        """With a matrix (M, M) added for class k."""
        return PooledScatter(self.matrix + matrix)

    def on_classes(self, position: Codes, n_classes: int) -> PooledScatter:
        """Classes move, numbers do not."""
        return self  # the classes are no longer apart

    def is_finite(self) -> bool:
        """No NaN, no overflow."""
        return bool(np.isfinite(self.matrix).all())

    def without(self, shift: Float) -> PooledScatter:
        """Rank-K downdate."""
        return PooledScatter(self.matrix - shift.T @ shift)


@dataclass(frozen=True, slots=True)
class ClassScatter:
    """S_k for each class, (K, M, M)."""

    matrices: Float

    @classmethod
    def of(cls, Z: Rows, bounds: Codes) -> ClassScatter:
        """One product per class: together as many operations as the pooled one."""
        K, M = len(bounds) - 1, Z.shape[1]
        matrices = np.zeros((K, M, M))
        for k, rows in segments(bounds):
            matrices[k] = gram(Z[rows])
        return cls(matrices)

    def merge(self, other: ClassScatter, shift: Float) -> ClassScatter:
        """Rank-one update of each."""
        return ClassScatter(self.matrices + other.matrices + _outer(shift))

    def plus(self, k: int, matrix: Float) -> ClassScatter:
        """With a matrix (M, M) added for class k."""
        position = np.array([k])
        return ClassScatter(self.matrices + spread_out(matrix[None], position, len(self.matrices)))

    def on_classes(self, position: Codes, n_classes: int) -> ClassScatter:
        """Classes move, numbers do not."""
        return ClassScatter(spread_out(self.matrices, position, n_classes))

    def is_finite(self) -> bool:
        """No NaN, no overflow."""
        return bool(np.isfinite(self.matrices).all())

    def without(self, shift: Float) -> ClassScatter:
        """Rank-one downdate of each."""
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
        """One read of the rows, no product."""
        squares = np.zeros((len(bounds) - 1, Z.shape[1]))
        for k, rows in segments(bounds):
            squares[k] = squared_sums(Z[rows])
        return cls(squares)

    def merge(self, other: DiagonalScatter, shift: Float) -> DiagonalScatter:
        """Squares add."""
        return DiagonalScatter(self.squares + other.squares + shift**2)

    def plus(self, k: int, matrix: Float) -> DiagonalScatter:
        """With a matrix (M, M) added for class k."""
        squares = np.diag(matrix)[None]
        return DiagonalScatter(self.squares + spread_out(squares, np.array([k]), len(self.squares)))

    def on_classes(self, position: Codes, n_classes: int) -> DiagonalScatter:
        """Classes move, numbers do not."""
        return DiagonalScatter(spread_out(self.squares, position, n_classes))

    def is_finite(self) -> bool:
        """No NaN, no overflow."""
        return bool(np.isfinite(self.squares).all())

    def without(self, shift: Float) -> DiagonalScatter:
        """Squares subtract."""
        return DiagonalScatter(self.squares - shift**2)


@dataclass(frozen=True, slots=True)
class FactoredScatter:
    """Rows F (r, M) with F'F = S_W, and the class each row belongs to.

    For N < M the centred rows are themselves the smallest exact record of their scatter. Should a class
    gather more than 2M rows after all, a QR factorisation brings them back to M.
    """

    rows: Float
    owner: Codes

    @classmethod
    def of(cls, Z: Rows, bounds: Codes) -> FactoredScatter:
        """The rows as they are."""
        owner = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
        return cls(np.asarray(to_dense(Z), dtype=np.float64), owner)

    def merge(self, other: FactoredScatter, shift: Float) -> FactoredScatter:
        """Stack, and compress the classes whose stack has grown tall."""
        moved = np.flatnonzero(np.any(shift != 0, axis=1))
        stacked = FactoredScatter(
            np.concatenate([self.rows, other.rows, shift[moved]]),
            np.concatenate([self.owner, other.owner, moved]),
        )
        return stacked.compressed() if len(stacked.owner) > 2 * shift.size else stacked

    def plus(self, k: int, matrix: Float) -> FactoredScatter:
        """With a matrix (M, M) added for class k."""
        L = linalg.cholesky(matrix, lower=True)
        owner = np.full(len(L), k)
        return FactoredScatter(np.concatenate([self.rows, L.T]), np.concatenate([self.owner, owner]))

    def on_classes(self, position: Codes, n_classes: int) -> FactoredScatter:
        """Classes move, numbers do not."""
        return FactoredScatter(self.rows, position[self.owner])

    def is_finite(self) -> bool:
        """No NaN, no overflow."""
        return bool(np.isfinite(self.rows).all())

    def without(self, shift: Float) -> FactoredScatter:
        """Not defined: rows cannot be taken out of a stack, so blocks for it are centred first."""
        raise TypeError("FactoredScatter is built from centred rows only")

    def compressed(self) -> FactoredScatter:
        """At most M rows per class, with the same scatter."""
        M = self.rows.shape[1]
        parts = [linalg.qr(self.of_class(k), mode="r")[0][:M] for k in np.unique(self.owner)]
        owner = np.repeat(np.unique(self.owner), [len(part) for part in parts])
        return FactoredScatter(np.concatenate(parts), owner)

    def dense(self, kind: type[Scatter], n_classes: int) -> Scatter:
        """The same scatter as another kind, M x M after all."""
        order = np.argsort(self.owner, kind="stable")
        bounds = np.searchsorted(self.owner[order], np.arange(n_classes + 1))
        return kind.of(self.rows[order], bounds)

    def of_class(self, k: int) -> Float:
        """The rows of class k."""
        return np.compress(self.owner == k, self.rows, axis=0)

    def combined(self, factor: Float) -> Float:
        """Rows of Σ_k factor_k S_k."""
        return np.sqrt(factor)[self.owner, None] * self.rows

    def spread(self, w: Float) -> Float:
        """w' S_k w for each class."""
        return bincount(self.owner, (self.rows @ w) ** 2, int(self.owner.max()) + 1)


def _outer(shift: Float) -> Float:
    return np.asarray(np.einsum("km,kl->kml", shift, shift))
