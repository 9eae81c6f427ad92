# SPDX-License-Identifier: BSD-3-Clause
"""Class moments: N_k, m_k and scatter of the rows of each class. One pass, five models.

Least squares, Fisher, LDA, QDA and Gaussian naive Bayes are all functions of this one record.

Merging is centred: ``sxx - n m m'`` loses every digit once |mean| exceeds 1e8 standard deviations, the
pairwise rule (Chan, Golub & LeVeque 1979) loses none.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np
from scipy import sparse

from separatrix._array import Array, Codes, Float, Rows, bincount, device_aware, is_sparse, to_dense
from separatrix._threads import scratch
from separatrix.rows import Block, DeviceRows, Source, on_host
from separatrix.stats import device
from separatrix.stats.finite import require_finite, require_squares
from separatrix.stats.scatter import (
    ClassScatter,
    DiagonalScatter,
    FactoredScatter,
    PooledScatter,
    Scatter,
    segments,
    spread_out,
    squared_sums,
)

__all__ = ["ClassMoments", "class_moments", "collect_moments"]

S = TypeVar("S", bound=Scatter)

DENSE_ABOVE = 0.1  # a block with more than this share of non-zeros is centred as a dense one
COMPILED_FROM = 50_000  # numbers in a block from which a compiled loop pays for importing its compiler
FIRST_ROWS = 1024  # of a block on a device, whose mean is near enough to that of all of them
CANCELLATION = 1e4  # ... as is one with a column whose squared mean exceeds this many variances


@dataclass(frozen=True, slots=True)
class ClassMoments(Generic[S]):
    """Weighted counts N_k (K,), means m_k (K, M) and scatter about those means."""

    count: Float
    mean: Float
    scatter: S

    def __add__(self, other: ClassMoments[S]) -> ClassMoments[S]:
        """Moments of both sets of rows together; one kept as rows becomes as dense as the other."""
        if type(self.scatter) is not type(other.scatter):
            return _as_dense(self, other) + _as_dense(other, self)
        count = self.count + other.count
        share = np.divide(other.count, count, out=np.zeros_like(count), where=count > 0)
        delta = other.mean - self.mean
        shift = np.sqrt(self.count * share)[:, None] * delta  # shift' shift = n m / (n + m) delta delta'
        mean = self.mean + share[:, None] * delta
        return ClassMoments(count, mean, self.scatter.merge(other.scatter, shift))

    @property
    def total(self) -> float:
        """N, the sum of all weights."""
        return float(self.count.sum())

    @property
    def grand_mean(self) -> Float:
        """m = Σ_k N_k m_k / N."""
        return self.count @ self.mean / self.total

    def plus_scatter(self, k: int, matrix: Float) -> ClassMoments[S]:
        """With a matrix added to the scatter of class k."""
        return ClassMoments(self.count, self.mean, self.scatter.plus(k, matrix))

    def on_classes(self, position: Codes, n_classes: int) -> ClassMoments[S]:
        """The same moments among ``n_classes`` classes, those of class k now at ``position[k]``."""
        moved = partial(spread_out, position=position, n_classes=n_classes)
        return ClassMoments(moved(self.count), moved(self.mean), self.scatter.on_classes(position, n_classes))

    def is_constant(self, variance: Float) -> Array:
        """Columns whose variance is only the rounding of their mean, a few units in its last place."""
        rounding = 8 * np.finfo(np.float64).eps * np.abs(self.mean).max(axis=0)
        return np.asarray(variance <= rounding**2)

    @property
    def between(self) -> Float:
        """Rows √N_k (m_k - m), so that their Gram matrix is S_B of PRML (4.46)."""
        return np.sqrt(self.count)[:, None] * (self.mean - self.grand_mean)


def _as_dense(moments: ClassMoments[Any], like: ClassMoments[Any]) -> ClassMoments[Any]:
    if not isinstance(moments.scatter, FactoredScatter):
        return moments
    scatter = moments.scatter.dense(type(like.scatter), len(moments.count))
    return ClassMoments(moments.count, moments.mean, scatter)


def collect_moments(
    source: Source, n_classes: int, scatter: type[S]
) -> ClassMoments[S] | ClassMoments[FactoredScatter]:
    """One pass over the source. Where there are fewer rows than columns, scatter is kept as rows.

    Raises
    ------
    DataError
        Naming columns, where values are NaN, infinite, or too large to square.
    """
    kind: type[Scatter] = FactoredScatter if source.n_rows < len(source.columns) else scatter
    with np.errstate(invalid="ignore", over="ignore"):
        moments = source.reduce(partial(class_moments, n_classes=n_classes, scatter=kind))
    if not (np.isfinite(moments.mean).all() and moments.scatter.is_finite()):
        require_finite(source)
        require_squares(source)
    return moments  # type: ignore[return-value]  # kind is scatter or FactoredScatter


@device_aware
def class_moments(block: Block, n_classes: int, scatter: type[S]) -> ClassMoments[S]:
    """The moments of one block. NaN or infinity in a column makes that column's means not finite."""
    if isinstance(block.X, DeviceRows):
        if scatter is not FactoredScatter:
            return _device_moments(block, n_classes, scatter)
        block = on_host(block)
    order = np.argsort(block.codes, kind="stable")
    bounds = np.concatenate([[0], np.cumsum(np.bincount(block.codes, minlength=n_classes))])
    weight = None if block.weight is None else block.weight[order]
    with np.errstate(invalid="ignore", over="ignore"):
        if scatter is DiagonalScatter and not is_sparse(block.X) and block.X.size >= COMPILED_FROM:
            return diagonal_moments(block, n_classes)  # type: ignore[return-value]  # S is DiagonalScatter
        if is_sparse(block.X):
            return _sparse_moments(block.X[order], weight, bounds, scatter)
        return _dense_moments(_sorted_copy(block.X, order, kept=scatter is FactoredScatter), weight, bounds, scatter)


def _device_moments(block: Block, n_classes: int, kind: type[S]) -> ClassMoments[S]:
    """Means about that of the first rows, so that single precision keeps its digits; then scatter about them."""
    rows, t, weight = block.X, block.codes, block.weight
    count = device.class_weights(rows, t, weight, n_classes)
    safe = np.where(count > 0, count, 1.0)[:, None]
    first = device.mean_of_first(rows, FIRST_ROWS)
    if kind is PooledScatter and weight is None:
        found = device.pooled_moments(rows, first, t, n_classes)
        if found is not None and _is_near(shift := found[0] / safe, np.diag(found[1]) / count.sum()):
            moved = PooledScatter(found[1]).without(np.sqrt(count)[:, None] * shift)
            return ClassMoments(count, first + shift, moved)  # type: ignore[arg-type]  # S is PooledScatter
    mean = first.astype(np.float64) + device.class_sums(rows, np.tile(first, (n_classes, 1)), t, weight) / safe
    near = mean.astype(rows.dtype)  # a mean that the rows' precision can hold
    about: Any
    if kind is DiagonalScatter:
        about = DiagonalScatter(device.class_sums(rows, near, t, weight, squared=True))
    elif kind is PooledScatter:  # about one point for all classes, which takes no look at the class of each row
        near = np.tile((count @ mean / count.sum()).astype(rows.dtype), (n_classes, 1))
        about = PooledScatter(device.scatter(rows, near[0], weight))
    else:
        matrices = [device.scatter_of_class(rows, near[k], t, weight, k) for k in range(n_classes)]
        about = ClassScatter(np.stack(matrices))
    return ClassMoments(count, mean, about.without(np.sqrt(count)[:, None] * (mean - near)))


def _is_near(shift: Float, variance: Float) -> bool:
    """Whether a scatter about a point so far from the means loses no digit to speak of when it is moved to them."""
    return bool((shift**2 <= 0.75 * variance).all())


def diagonal_moments(block: Block, n_classes: int) -> ClassMoments[DiagonalScatter]:
    """Means and squares in two reads of a block in cache, without a sorted copy: half the time of the plain way."""
    from separatrix.stats._kernels import class_squares, class_sums

    X = np.ascontiguousarray(block.X)
    weight = np.ones(len(X)) if block.weight is None else block.weight
    count, mean, rest, squares = (np.zeros(shape) for shape in (n_classes, *[(n_classes, X.shape[1])] * 3))
    class_sums(X, block.codes, weight, count, mean)
    safe = np.where(count > 0, count, 1.0)[:, None]
    mean /= safe
    class_squares(X, block.codes, weight, mean, rest, squares)
    rest /= safe  # what the rounding of the first mean left over, as in _centre
    return ClassMoments(count, mean + rest, DiagonalScatter(squares - safe * rest**2))


def _sorted_copy(X: Array, order: Codes, *, kept: bool) -> Array:
    """``X[order]`` in the memory order of X: gathering across the grain takes twice as long."""
    across = int(X.strides[0] < X.strides[1])
    rows = X.T if across else X
    Z = np.empty_like(rows) if kept else scratch(rows.shape, rows.dtype)
    # Of positions out of range there are none; told to expect them, NumPy takes a copy and copies it again.
    np.take(rows, order, axis=across, out=Z, mode="clip")
    return Z.T if across else Z


def _dense_moments(Z: Array, weight: Float | None, bounds: Codes, scatter: type[S]) -> ClassMoments[S]:
    """Centre the sorted copy of the block in place, class by class, then take its scatter."""
    K, M = len(bounds) - 1, Z.shape[1]
    count, mean = np.zeros(K), np.zeros((K, M))
    for k, rows in segments(bounds):
        count[k], mean[k] = _centre(Z[rows], None if weight is None else weight[rows])
    if weight is not None:
        Z *= np.sqrt(weight).astype(Z.dtype)[:, None]
    return ClassMoments(count, mean, scatter.of(Z, bounds))


def _centre(Z: Array, weight: Float | None) -> tuple[float, Float]:
    """Subtract the mean from Z in place; return the total weight and the mean.

    Twice: the first mean carries the rounding of the data's offset, the mean of what remains does not.
    A constant column comes out as zeros, at any offset.
    """
    total = float(len(Z)) if weight is None else float(weight.sum())
    if total == 0.0:  # every row of the class has weight zero: as if it were not there
        return 0.0, np.zeros(Z.shape[1])
    share = (np.ones(len(Z)) if weight is None else weight) / total
    mean = np.zeros(Z.shape[1])
    for _ in range(2):
        rest = (share @ Z).astype(Z.dtype)  # summed in float64, subtracted in the precision of the rows
        Z -= rest
        mean += rest
    return total, mean


def _sparse_moments(X: Rows, weight: Float | None, bounds: Codes, scatter: type[S]) -> ClassMoments[S]:
    """Zeros stay zeros: scatter about the origin, less N_k m_k m_k'.

    That difference is harmless while most of a column is zero. A block where it is not is made dense.
    """
    n = X.shape[0]
    if X.nnz > DENSE_ABOVE * n * X.shape[1] or scatter is FactoredScatter:
        return _dense_moments(to_dense(X), weight, bounds, scatter)
    w = np.ones(n) if weight is None else weight
    owner = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    indicator = sparse.csr_array((w, (owner, np.arange(n))), shape=(len(bounds) - 1, n))
    count = bincount(owner, w, len(bounds) - 1)
    mean = to_dense(indicator @ X) / np.where(count > 0, count, 1.0)[:, None]
    Z = X if weight is None else sparse.csr_array(sparse.diags_array(np.sqrt(weight)) @ X)
    shift = np.sqrt(count)[:, None] * mean
    squares, lost = squared_sums(Z), (shift**2).sum(axis=0)
    if np.any(lost > CANCELLATION * np.maximum(squares - lost, 0) + np.finfo(float).tiny):
        return _dense_moments(to_dense(X), weight, bounds, scatter)
    return ClassMoments(count, mean, scatter.of(Z, bounds).without(shift))
