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
from typing import Protocol, Self

import numpy as np
from scipy import linalg

from separatrix._array import Float, Rows, is_sparse, to_dense

__all__ = ["ClassScatter", "DiagonalScatter", "FactoredScatter", "PooledScatter", "Scatter", "segments"]


class Scatter(Protocol):
    """Centred second moments that merge."""

    @classmethod
    def of(cls, Z: Rows, bounds: Float) -> Self:
        """Scatter of centred rows Z; class k has the rows ``bounds[k]`` to ``bounds[k + 1]``."""

    def merge(self, other: Self, shift: Float) -> Self:
        """Both sums, plus ``shift[k] shift[k]'`` for each class."""

    def without(self, shift: Float) -> Self:
        """Less ``shift[k] shift[k]'`` for each class: rows that could not be centred first."""


def segments(bounds: Float) -> Iterator[tuple[int, slice]]:
    """Each class that has rows, and where they are."""
    for k, (low, high) in enumerate(zip(bounds[:-1], bounds[1:], strict=True)):
        if low < high:
            yield k, slice(low, high)


def gram(Z: Rows) -> Float:
    """Z'Z in the precision of Z, handed on in float64. NumPy computes half of it and mirrors."""
    product = Z.T @ Z
    return np.asarray(to_dense(product), dtype=np.float64)


def squared_sums(Z: Rows) -> Float:
    """The diagonal of Z'Z."""
    if is_sparse(Z):
        return np.bincount(Z.indices, np.square(Z.data), minlength=Z.shape[1])
    return np.asarray(np.einsum("nm,nm->m", Z, Z), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class PooledScatter:
    """S_W = Σ_k S_k as one (M, M) matrix."""

    matrix: Float

    @classmethod
    def of(cls, Z: Rows, bounds: Float) -> PooledScatter:
        """One product for the whole block."""
        return cls(gram(Z))

    def merge(self, other: PooledScatter, shift: Float) -> PooledScatter:
        """Rank-K update."""
        return PooledScatter(self.matrix + other.matrix + shift.T @ shift)

    def without(self, shift: Float) -> PooledScatter:
        """Rank-K downdate."""
        return PooledScatter(self.matrix - shift.T @ shift)


@dataclass(frozen=True, slots=True)
class ClassScatter:
    """S_k for each class, (K, M, M)."""

    matrices: Float

    @classmethod
    def of(cls, Z: Rows, bounds: Float) -> ClassScatter:
        """One product per class: together as many operations as the pooled one."""
        K, M = len(bounds) - 1, Z.shape[1]
        matrices = np.zeros((K, M, M))
        for k, rows in segments(bounds):
            matrices[k] = gram(Z[rows])
        return cls(matrices)

    def merge(self, other: ClassScatter, shift: Float) -> ClassScatter:
        """Rank-one update of each."""
        return ClassScatter(self.matrices + other.matrices + _outer(shift))

    def without(self, shift: Float) -> ClassScatter:
        """Rank-one downdate of each."""
        return ClassScatter(self.matrices - _outer(shift))

    @property
    def pooled(self) -> PooledScatter:
        """S_W."""
        return PooledScatter(self.matrices.sum(axis=0))


@dataclass(frozen=True, slots=True)
class DiagonalScatter:
    """Σ_n (x_nm - m_km)^2 for each class and column, (K, M)."""

    squares: Float

    @classmethod
    def of(cls, Z: Rows, bounds: Float) -> DiagonalScatter:
        """One read of the rows, no product."""
        squares = np.zeros((len(bounds) - 1, Z.shape[1]))
        for k, rows in segments(bounds):
            squares[k] = squared_sums(Z[rows])
        return cls(squares)

    def merge(self, other: DiagonalScatter, shift: Float) -> DiagonalScatter:
        """Squares add."""
        return DiagonalScatter(self.squares + other.squares + shift**2)

    def without(self, shift: Float) -> DiagonalScatter:
        """Squares subtract."""
        return DiagonalScatter(self.squares - shift**2)


@dataclass(frozen=True, slots=True)
class FactoredScatter:
    """Rows F (r, M) with F'F = S_W.

    For N < M the centred rows are themselves the smallest exact record of their scatter. Should more
    than 2M rows come together after all, a QR factorisation brings them back to M.
    """

    rows: Float

    @classmethod
    def of(cls, Z: Rows, bounds: Float) -> FactoredScatter:
        """The rows as they are."""
        return cls(np.asarray(to_dense(Z), dtype=np.float64))

    def merge(self, other: FactoredScatter, shift: Float) -> FactoredScatter:
        """Stack, and compress when the stack has grown tall."""
        moved = shift[np.any(shift != 0, axis=1)]
        stack = np.concatenate([self.rows, other.rows, moved])
        return FactoredScatter(linalg.qr(stack, mode="r")[0][: stack.shape[1]] if _is_tall(stack) else stack)

    def without(self, shift: Float) -> FactoredScatter:
        """Not defined: rows cannot be taken out of a stack. Blocks for it are made dense and centred."""
        raise TypeError("FactoredScatter is built from centred rows only")


def _is_tall(stack: Float) -> bool:
    return bool(stack.shape[0] > 2 * stack.shape[1])


def _outer(shift: Float) -> Float:
    return np.einsum("km,kl->kml", shift, shift)
