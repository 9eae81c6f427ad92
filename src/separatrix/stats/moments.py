# SPDX-License-Identifier: BSD-3-Clause
"""Class moments in one pass: count N_k, mean m_k and scatter Σ_n (x_n - m_k)(x_n - m_k)' of the rows n of class k.

Least squares, Fisher's discriminant, LDA, QDA and Gaussian naive Bayes are computed from these moments.
`column_moments` are the moments of all rows as a single class. A scatter has four representations:

================== ============ ==================================================== ===============
`PooledScatter`    (M, M)       the sum over all classes, S_W of PRML (4.28)         Fisher, LDA, LS
`ClassScatter`     (K, M, M)    one matrix for each class                            QDA, Fisher
`DiagonalScatter`  (K, M)       only the diagonals                                   naive Bayes
`FactoredScatter`  (r, M)       rows F with F'F = S_W; M x M is never formed         N < M
================== ============ ==================================================== ===============

Each is computed from rows that are centred, sorted by class and multiplied by the square root of their weight; for
large dense blocks, by the compiled loops of `_moment_kernels`. Moments are merged by the pairwise rule of Chan, Golub &
LeVeque (1979): the centred sums are added, plus one rank-one term per class for the difference of the two means. The
textbook formula ``sxx - n m m'`` is pure rounding error if |mean| exceeds 1e8 standard deviations; the pairwise rule
is accurate.

For the mean and squares of a sparse column, zeros that are not stored are added at the end: Σ w (x - m)² = Σ_S w (x -
m)² + v m² with the stored entries S and the weight v of the other rows. This does not cancel for any offset.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import pairwise
from sys import float_info
from typing import Any, Generic, Protocol, Self, TypeVar, cast

import numpy as np
from scipy import linalg, sparse

from separatrix._array import (
    MIN_STD,
    Array,
    Codes,
    Float,
    Rows,
    bincount,
    device_aware,
    is_sparse,
    read_only,
    to_dense,
    to_host,
)
from separatrix._threads import scratch
from separatrix.rows import Block, DeviceRows, Source, block_rows, on_host
from separatrix.stats import device
from separatrix.stats.checks import (
    GRAM_BYTES,
    MAX_GRAM_ROWS,
    MAX_MAGNITUDE,
    MIN_COMPILED_ENTRIES,
    require_finite,
    require_squares,
)

DOUBLE_ROUNDING = 1e-12  # relative rounding error of a sum over rows
SINGLE_ROUNDING = 1e-9  # relative rounding error if activations are in single precision, as on a GPU
MAX_SPARSE_DENSITY = 0.1  # a sparse block with a larger fraction of non-zeros is converted to dense
MAX_CANCELLATION = 1e4  # a sparse block is also converted to dense if mean² / variance of a column is larger
MAX_SINGLE_ROOT = 1e9  # roots of larger weights, or of all weights below 1e-18, are multiplied in double precision
MIN_SPARSE_PRODUCTS = 8  # products of a sparse block per entry of its matrix; with fewer, adding matrices takes longer
FIRST_ROWS = 1024  # the mean of this number of rows approximates the mean of a block on a GPU


class Scatter(Protocol):
    """Centred second moments that can be merged."""

    @classmethod
    def of(cls, Z: Rows, bounds: Codes) -> Self:
        """Scatter of centred rows Z; the rows of class k are ``bounds[k]`` to ``bounds[k + 1]``."""

    def merge(self, other: Self, shift: Float) -> Self:
        """Add both sums, and ``shift[k] shift[k]'`` for each class."""

    def on_classes(self, position: Codes, n_classes: int) -> Self:
        """Renumber the classes: class k becomes class ``position[k]`` of ``n_classes``."""


def spread_out(array: Float, position: Codes, n_classes: int) -> Float:
    """Move entry k of the first axis to ``position[k]`` of ``n_classes``; other entries are zero."""
    wide = np.zeros((n_classes, *array.shape[1:]))
    wide[position] = array
    return wide


def gram(Z: Rows, weight: Float | None = None, columns: Codes | None = None) -> Float:
    """Z'Z computed in the precision of Z (NumPy computes one triangle and mirrors it), returned in float64.

    Sparse rows may have a weight each, of any sign, and the product may be limited to some of their ``columns``.
    """
    if is_sparse(Z) and Z.nnz >= MIN_COMPILED_ENTRIES:
        from separatrix.stats._kernels import add_triangles, csr_gram

        kept = np.arange(Z.shape[1]) if columns is None else columns
        place, G = np.full(Z.shape[1], -1), np.zeros((len(kept), len(kept)))
        place[kept] = np.arange(len(kept))
        csr_gram(Z.data, Z.indices, Z.indptr, place, np.zeros(0) if weight is None else weight, G)
        add_triangles(G)
        return G
    Z = Z if columns is None else Z[:, columns]
    product = Z.T @ (Z if weight is None else Z.multiply(weight[:, None]).tocsr())
    return np.asarray(to_dense(product), dtype=np.float64)


def squared_sums(Z: Rows) -> Float:
    """Diagonal of Z'Z."""
    if is_sparse(Z):
        return bincount(Z.indices, np.square(Z.data), Z.shape[1])
    return np.asarray(np.einsum("nm,nm->m", Z, Z), dtype=np.float64)


class ArrayScatter:
    """A scatter stored in one array, whose first axis is the class unless it is pooled."""

    __slots__ = ()

    @classmethod
    def of(cls, Z: Rows, bounds: Codes) -> Self:
        raise NotImplementedError

    @property
    def array(self) -> Float:
        """The one field of the record."""
        (name,) = type(self).__slots__  # type: ignore[misc]  # a subclass has one field
        return np.asarray(getattr(self, name))

    def merge(self, other: Self, shift: Float) -> Self:
        return type(self)(self.array + other.array + self._products(shift))  # type: ignore[call-arg]

    def without(self, shift: Float) -> Self:
        """Subtract ``shift[k] shift[k]'`` for each class, in place, which centres a scatter about another point."""
        array = self.array
        array -= self._products(shift)
        return self

    def on_classes(self, position: Codes, n_classes: int) -> Self:
        return type(self)(spread_out(self.array, position, n_classes))  # type: ignore[call-arg]

    def _products(self, shift: Float) -> Float:
        """``shift[k] shift[k]'`` for each class, in the representation of this scatter."""
        return self.of(shift, np.arange(len(shift) + 1)).array


@dataclass(frozen=True, slots=True)
class PooledScatter(ArrayScatter):
    """S_W = Σ_k S_k as one (M, M) matrix."""

    matrix: Float

    @classmethod
    def of(cls, Z: Rows, bounds: Codes) -> PooledScatter:
        return cls(gram(Z))

    def combined(self, factor: Float) -> Float:
        """factor S_W; all entries of the factor must be equal, because the classes are pooled."""
        if factor.min() != factor.max():
            raise TypeError("a pooled scatter cannot weight classes differently; use ClassScatter")
        return float(factor[0]) * self.matrix

    def plus(self, k: int, matrix: Float) -> PooledScatter:
        return PooledScatter(self.matrix + matrix)

    def on_classes(self, position: Codes, n_classes: int) -> PooledScatter:
        return self  # the classes are pooled


@dataclass(frozen=True, slots=True)
class ClassScatter(ArrayScatter):
    """S_k for each class, (K, M, M)."""

    matrices: Float

    @classmethod
    def of(cls, Z: Rows, bounds: Codes) -> ClassScatter:
        return cls(np.stack([gram(Z[start:stop]) for start, stop in pairwise(bounds)]))

    def plus(self, k: int, matrix: Float) -> ClassScatter:
        return ClassScatter(self.matrices + spread_out(matrix[None], np.array([k]), len(self.matrices)))

    def combined(self, factor: Float) -> Float:
        """Σ_k factor_k S_k."""
        return np.asarray(np.einsum("k,kml->ml", factor, self.matrices))

    def spread(self, w: Float) -> Float:
        """w' S_k w for each class."""
        return np.asarray(np.einsum("m,kml,l->k", w, self.matrices, w, optimize=True))


@dataclass(frozen=True, slots=True)
class DiagonalScatter(ArrayScatter):
    """Σ_n (x_nm - m_km)^2 for each class and column, (K, M)."""

    squares: Float

    @classmethod
    def of(cls, Z: Rows, bounds: Codes) -> DiagonalScatter:
        return cls(np.stack([squared_sums(Z[start:stop]) for start, stop in pairwise(bounds)]))


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

    def on_classes(self, position: Codes, n_classes: int) -> FactoredScatter:
        return FactoredScatter(self.rows, position[self.owner])

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


S = TypeVar("S", bound=Scatter)


@dataclass(frozen=True, slots=True)
class ClassMoments(Generic[S]):
    """Weighted counts N_k (K,), means m_k (K, M) and scatter about those means."""

    count: Float
    mean: Float
    scatter: S

    def __add__(self, other: ClassMoments[S]) -> ClassMoments[S]:
        """Moments of the union of both sets of rows. A factored scatter is converted to the kind of the other."""
        if type(self.scatter) is not type(other.scatter):
            return self._dense_as(other) + other._dense_as(self)
        count = self.count + other.count
        share = np.divide(other.count, count, out=np.zeros_like(count), where=count > 0)
        delta = other.mean - self.mean
        shift = np.sqrt(self.count * share)[:, None] * delta  # shift shift' = n1 n2 / (n1 + n2) delta delta'
        mean = self.mean + share[:, None] * delta
        return ClassMoments(count, mean, self.scatter.merge(other.scatter, shift))

    def _dense_as(self, other: ClassMoments[Any]) -> ClassMoments[Any]:
        if not isinstance(self.scatter, FactoredScatter):
            return self
        return ClassMoments(self.count, self.mean, self.scatter.dense(type(other.scatter), len(self.count)))

    @property
    def total(self) -> float:
        """N = Σ_k N_k, the sum of all weights."""
        return float(self.count.sum())

    @property
    def grand_mean(self) -> Float:
        """m = Σ_k N_k m_k / N."""
        return (self.count / self.total) @ self.mean  # Σ_k N_k m_k can overflow

    @property
    def is_finite(self) -> bool:
        """Whether no sum overflowed or contains NaN, and no mean is so large that products with it would overflow."""
        scatter = (getattr(self.scatter, name) for name in self.scatter.__slots__)  # type: ignore[attr-defined]
        finite = all(np.isfinite(array).all() for array in (self.count, self.mean, *scatter))
        return finite and bool(np.abs(self.mean).max(initial=0.0) <= MAX_MAGNITUDE)

    def on_classes(self, position: Codes, n_classes: int) -> ClassMoments[S]:
        """Renumber the classes: class k becomes class ``position[k]`` of ``n_classes``."""
        moved = partial(spread_out, position=position, n_classes=n_classes)
        return ClassMoments(moved(self.count), moved(self.mean), self.scatter.on_classes(position, n_classes))

    def is_constant(self, variance: Float) -> Array:
        """Whether each column is constant: its deviation is no larger than the rounding error of its mean, or tiny."""
        rounding = 8 * float_info.epsilon * np.abs(self.mean).max(axis=0)
        return np.asarray(np.sqrt(variance) <= np.maximum(rounding, MIN_STD))

    @property
    def between(self) -> Float:
        """Rows √N_k (m_k - m). Their Gram matrix is S_B of PRML (4.46)."""
        return np.sqrt(self.count)[:, None] * (self.mean - self.grand_mean)


def sum_moments(source: Source, n_classes: int, scatter: type[S]) -> ClassMoments[S] | ClassMoments[FactoredScatter]:
    """Moments of all rows, in one pass. With fewer rows than columns, the scatter is a `FactoredScatter`."""
    N, M = source.n_rows, len(source.columns)
    kind: type[Scatter] = FactoredScatter if N < M else scatter
    if kind is PooledScatter and source.n_stored is not None and not source.views:
        n_products = source.n_stored**2 / (2 * N)
        n_blocks = max(1, int(n_products / (MIN_SPARSE_PRODUCTS * M**2)))
        source = replace(source, height=max(source.height, -(-N // n_blocks)))
    statistic = partial(class_moments, n_classes=n_classes, scatter=kind)
    with np.errstate(invalid="ignore", over="ignore"):
        return source.reduce(statistic, reads_once=True)  # type: ignore[return-value]  # kind may be FactoredScatter


def collect_moments(
    source: Source, n_classes: int, scatter: type[S]
) -> ClassMoments[S] | ClassMoments[FactoredScatter]:
    """`sum_moments`; raises DataError with the names of columns with NaN, infinity, or values too large to square."""
    moments = sum_moments(source, n_classes, scatter)
    if not moments.is_finite:
        require_finite(source)
        require_squares(source)
    return moments


@device_aware
def class_moments(block: Block, n_classes: int, scatter: type[S]) -> ClassMoments[S]:
    """Moments of one block. A column with NaN or infinity has a mean that is not finite."""
    if isinstance(block.X, DeviceRows):
        if scatter is not FactoredScatter:
            return _device_moments(block, n_classes, scatter)
        block = on_host(block)
    X = block.X
    with np.errstate(invalid="ignore", over="ignore"):
        if X.size >= MIN_COMPILED_ENTRIES:
            is_row_major = not is_sparse(X) and X.flags.c_contiguous and scatter is not FactoredScatter
            if is_row_major or (scatter is DiagonalScatter and not is_sparse(X)):
                return _compiled_moments(X, block.codes, block.weight, n_classes, scatter)
            if is_sparse(X) and scatter is PooledScatter:  # rows need not be sorted
                found = _sparse_moments(X, block.weight, block.codes, n_classes, scatter)
                if found is not None:
                    return found
            height = block_rows(X.nnz / len(block) if is_sparse(X) else X.shape[1])
            if len(block) > 2 * height:  # a sorted copy should fit the cache
                parts = (block.take(slice(start, start + height)) for start in range(0, len(block), height))
                return reduce(operator.add, (class_moments(part, n_classes, scatter) for part in parts))
        order = np.argsort(block.codes, kind="stable")
        bounds = np.concatenate([[0], np.cumsum(np.bincount(block.codes, minlength=n_classes))])
        weight = None if block.weight is None else block.weight[order]
        if is_sparse(X):
            X = X[order]
            found = _sparse_moments(X, weight, block.codes[order], n_classes, scatter)
            return found if found is not None else _dense_moments(to_dense(X), weight, bounds, scatter)
        # The sorted copy keeps the memory order of X, because copying to the other order takes twice as long.
        across = int(X.strides[0] < X.strides[1])
        rows = X.T if across else X
        Z = np.empty_like(rows) if scatter is FactoredScatter else scratch(rows.shape, rows.dtype)
        np.take(rows, order, axis=across, out=Z, mode="clip")  # the default mode makes another copy
        return _dense_moments(Z.T if across else Z, weight, bounds, scatter)


@device_aware
def column_moments(block: Block) -> ClassMoments[DiagonalScatter]:
    """Mean and squares of each column, as the moments of a single class."""
    X, weight = block.X, block.weight
    if isinstance(X, DeviceRows):
        return class_moments(replace(block, t=cast(Any, X.in_one_class())), 1, DiagonalScatter)
    with np.errstate(invalid="ignore", over="ignore"):
        if is_sparse(X):
            return _sparse_column_moments(X, weight)
        if X.size >= MIN_COMPILED_ENTRIES:
            return _compiled_moments(X, np.zeros(len(X), dtype=np.intp), weight, 1, DiagonalScatter)
        total = float(len(X) if weight is None else weight.sum())
        fraction = (np.ones(len(X)) if weight is None else weight) / (total or 1.0)
        origin = (fraction @ X).astype(X.dtype)  # the mean up to rounding, in the precision of the rows
        Z = X - origin
        shift = fraction @ Z
        squares = total * (fraction @ np.square(Z, out=Z) - shift**2)
        return ClassMoments(np.array([total]), (origin + shift)[None], DiagonalScatter(np.maximum(squares, 0.0)[None]))


def _dense_moments(Z: Array, weight: Float | None, bounds: Codes, scatter: type[S]) -> ClassMoments[S]:
    """Moments of rows sorted by class; Z is overwritten by the centred rows."""
    K, M = len(bounds) - 1, Z.shape[1]
    count, mean = np.zeros(K), np.zeros((K, M))
    for k, (start, stop) in enumerate(pairwise(bounds)):
        if start < stop:
            count[k], mean[k] = _centre(Z[start:stop], None if weight is None else weight[start:stop])
    return ClassMoments(count, mean, scatter.of(Z if weight is None else _times_root(Z, weight), bounds))


def _times_root(Z: Array, weight: Float) -> Array:
    """Z times √weight, in place; a copy in double precision if squares would overflow or underflow in float32."""
    root = np.sqrt(weight)[:, None]
    if Z.dtype != np.float64 and not 1 / MAX_SINGLE_ROOT < root.max(initial=0.0) < MAX_SINGLE_ROOT:
        return Z * root
    Z *= root.astype(Z.dtype)
    return Z


def _centre(Z: Array, weight: Float | None) -> tuple[float, Float]:
    """Subtract the mean from Z in place; return the total weight and the mean.

    The mean is subtracted twice. The first mean has a rounding error if the data are far from zero; the mean of the
    remainder does not. A constant column becomes exactly zero.
    """
    total = float(len(Z)) if weight is None else float(weight.sum())
    if total == 0.0:  # no rows, or all weights are zero
        return 0.0, np.zeros(Z.shape[1])
    fraction = (np.ones(len(Z)) if weight is None else weight) / total
    mean = np.zeros(Z.shape[1])
    for _ in range(2):
        part = (fraction @ Z).astype(Z.dtype)  # summed in float64, subtracted in the precision of the rows
        Z -= part
        mean += part
    return total, mean


def _compiled_moments(
    X: Array, codes: Codes, weight: Float | None, n_classes: int, scatter: type[S]
) -> ClassMoments[S]:
    """Moments by compiled loops that read each row once, about an origin near the mean of each class."""
    from separatrix.stats._moment_kernels import class_grams, class_squares

    K, M = n_classes, X.shape[1]
    w = np.ones(len(X)) if weight is None else weight
    is_known, origin, count, rest = np.zeros(K, bool), np.zeros((K, M)), np.zeros(K), np.zeros((K, M))
    rows = map(read_only, (np.ascontiguousarray(X), codes, w))
    if scatter is DiagonalScatter:
        squares = np.zeros((K, M))
        class_squares(*rows, is_known, origin, count, rest, squares)
    else:
        squares = np.zeros((1 if scatter is PooledScatter else K, M, M))
        height = min(max(GRAM_BYTES // (8 * M), M), MAX_GRAM_ROWS, len(X))
        class_grams(*rows, scratch((height, M), X.dtype), is_known, origin, count, rest, squares)
        squares = np.where(np.tri(M, dtype=bool), squares, np.swapaxes(squares, 1, 2))
    shift = rest / np.where(count > 0, count, 1.0)[:, None]
    about: Any = scatter(squares[0] if scatter is PooledScatter else squares)  # type: ignore[call-arg]
    return ClassMoments(count, origin + shift, about.without(np.sqrt(count)[:, None] * shift))


def _sparse_moments(
    X: Rows, weight: Float | None, codes: Codes, n_classes: int, scatter: type[S]
) -> ClassMoments[S] | None:
    """Scatter about the origin, less N_k m_k m_k', so that rows stay sparse; sorted by class unless it is pooled.

    The subtraction is accurate if most entries of a column are zero. Otherwise the result is None.
    """
    n, K = X.shape[0], n_classes
    if X.nnz > MAX_SPARSE_DENSITY * n * X.shape[1] or scatter is FactoredScatter:
        return None
    w = np.ones(n) if weight is None else weight
    indicator = sparse.csr_array((w, (codes, np.arange(n))), shape=(K, n))
    count = bincount(codes, w, K)
    mean = to_dense(indicator @ X) / np.where(count > 0, count, 1.0)[:, None]
    Z = X if weight is None else sparse.csr_array(sparse.diags_array(np.sqrt(weight)) @ X)
    shift = np.sqrt(count)[:, None] * mean
    squares, lost = squared_sums(Z), (shift**2).sum(axis=0)
    if np.any(lost > MAX_CANCELLATION * np.maximum(squares - lost, 0) + np.finfo(float).tiny):
        return None
    about_zero: Any = scatter.of(Z, np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=K))]))
    return ClassMoments(count, mean, about_zero.without(shift))


def _sparse_column_moments(X: Rows, weight: Float | None) -> ClassMoments[DiagonalScatter]:
    M, w = X.shape[1], np.ones(X.shape[0]) if weight is None else weight
    total = float(w.sum())
    safe = total if total > 0 else 1.0
    stored, sums, rest, squares = np.zeros((4, M))
    is_compiled = X.nnz >= MIN_COMPILED_ENTRIES
    each = None if is_compiled else np.repeat(w, np.diff(X.indptr))
    if is_compiled:
        from separatrix.stats._kernels import csr_centred_sums, csr_stored_sums

        csr_stored_sums(X.data, X.indices, X.indptr, w, stored, sums)
    else:
        stored, sums = bincount(X.indices, each, M), bincount(X.indices, each * X.data, M)
    mean, absent = sums / safe, total - stored
    if weight is not None:  # if all entries are stored, the difference is rounding error, but m² may be large
        absent[np.bincount(X.indices, minlength=M) == X.shape[0]] = 0.0
    if is_compiled:
        csr_centred_sums(X.data, X.indices, X.indptr, w, mean, rest, squares)
    else:
        d = X.data - mean[X.indices]
        rest, squares = bincount(X.indices, each * d, M), bincount(X.indices, each * d * d, M)
    shift = (rest - absent * mean) / safe  # the rounding error of the first mean
    squares = squares + absent * mean**2 - total * shift**2
    return ClassMoments(np.array([total]), (mean + shift)[None], DiagonalScatter(np.maximum(squares, 0.0)[None]))


def _device_moments(block: Block, n_classes: int, kind: type[S]) -> ClassMoments[S]:
    """Moments of rows on a GPU. Sums are relative to the mean of the first rows, to preserve single precision."""
    rows, t, weight = block.X, block.codes, block.weight
    count = device.class_weights(rows, t, weight, n_classes)
    safe = np.where(count > 0, count, 1.0)[:, None]
    first = np.asarray(to_host(rows.tensor[:FIRST_ROWS].mean(dim=0)))
    if kind is PooledScatter and weight is None:
        found = device.pooled_moments(rows, first, t, n_classes)
        if found is not None:
            shift, variance = found[0] / safe, np.diag(found[1]) / count.sum()
            if (shift**2 <= 0.75 * variance).all():  # so close to the means, centring the scatter does not cancel
                scatter = PooledScatter(found[1]).without(np.sqrt(count)[:, None] * shift)
                return ClassMoments(count, first + shift, scatter)  # type: ignore[arg-type]  # S is PooledScatter
    mean = first.astype(np.float64) + device.class_sums(rows, np.tile(first, (n_classes, 1)), t, weight) / safe
    near = mean.astype(rows.dtype)  # the mean in the precision of the rows
    about: Any
    if kind is DiagonalScatter:
        about = DiagonalScatter(device.class_sums(rows, near, t, weight, squared=True))
    elif kind is PooledScatter:  # one centre for all classes, so that the class of a row does not matter
        near = np.tile((count @ mean / (count.sum() or 1.0)).astype(rows.dtype), (n_classes, 1))
        about = PooledScatter(np.asarray(to_host(device.gram(rows, near[0], rows.on(weight)))))
    else:
        about = ClassScatter(np.stack([device.class_gram(rows, near[k], t, weight, k) for k in range(n_classes)]))
    return ClassMoments(count, mean, about.without(np.sqrt(count)[:, None] * (mean - near)))


@dataclass(frozen=True, eq=False, slots=True)
class ColumnSurvey:
    """Moments of all rows as one class, the format of the rows, and the relative rounding error of sums."""

    moments: ClassMoments[DiagonalScatter]
    dtype: np.dtype[Any]
    has_fast_products: bool  # whether products of rows are dense, which take less time per operation than sparse ones
    rounding: float

    def __add__(self, other: ColumnSurvey) -> ColumnSurvey:
        return replace(self, moments=self.moments + other.moments)


@device_aware
def column_survey(block: Block) -> ColumnSurvey:
    """Moments of all rows of a block as one class, and the format of the rows."""
    is_single = isinstance(block.X, DeviceRows) and block.X.dtype == np.float32
    rounding = SINGLE_ROUNDING if is_single else DOUBLE_ROUNDING
    return ColumnSurvey(column_moments(block), np.dtype(block.X.dtype), not is_sparse(block.X), rounding)
