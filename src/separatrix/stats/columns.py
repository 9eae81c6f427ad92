# SPDX-License-Identifier: BSD-3-Clause
"""Mean and squares of each column, all rows together: where a column lies, and how far it spreads.

Of sparse rows the zeros that are not stored are put in at the end: with S the stored entries of a column and v the
weight of the rest,

    Σ w (x - m)² = Σ_S w (x - m)² + v m²,

which loses no digits however far the column is from zero, and makes nothing dense.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from separatrix._array import Float, Rows, bincount, device_aware, is_sparse
from separatrix.rows import Block, DeviceRows
from separatrix.stats.moments import COMPILED_FROM, ClassMoments, class_moments
from separatrix.stats.scatter import DiagonalScatter

__all__ = ["column_moments"]


@device_aware
def column_moments(block: Block) -> ClassMoments[DiagonalScatter]:
    """The moments of one block, as those of a single class."""
    if not is_sparse(block.X):
        is_there = isinstance(block.X, DeviceRows)
        t = block.X.in_one_class() if is_there else np.zeros(len(block), dtype=np.intp)
        return class_moments(replace(block, t=t), 1, DiagonalScatter)
    with np.errstate(invalid="ignore", over="ignore"):
        return _sparse_moments(block.X, block.weight)


def _sparse_moments(X: Rows, weight: Float | None) -> ClassMoments[DiagonalScatter]:
    w = np.ones(X.shape[0]) if weight is None else weight
    total = float(w.sum())
    safe = total if total > 0 else 1.0
    stored, sums = stored_sums(X, w)
    mean, absent = sums / safe, total - stored
    if weight is not None:  # a difference of sums that is rounding where every entry is stored, while m² may be large
        absent[np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0]] = 0.0
    rest, squares = centred_sums(X, w, mean)
    shift = (rest - absent * mean) / safe  # what the rounding of the first mean left over
    squares = squares + absent * mean**2 - total * shift**2
    return ClassMoments(np.array([total]), (mean + shift)[None], DiagonalScatter(np.maximum(squares, 0.0)[None]))


def stored_sums(X: Rows, weight: Float) -> tuple[Float, Float]:
    """Σ w and Σ w x over the stored entries of each column (M,)."""
    M = X.shape[1]
    if X.nnz >= COMPILED_FROM:
        from separatrix.stats._kernels import csr_stored_sums

        stored, sums = np.zeros(M), np.zeros(M)
        csr_stored_sums(X.data, X.indices, X.indptr, weight, stored, sums)
        return stored, sums
    w = np.repeat(weight, np.diff(X.indptr))
    return bincount(X.indices, w, M), bincount(X.indices, w * X.data, M)


def centred_sums(X: Rows, weight: Float, mean: Float) -> tuple[Float, Float]:
    """Σ w (x - m) and Σ w (x - m)² over the stored entries of each column (M,)."""
    M = X.shape[1]
    if X.nnz >= COMPILED_FROM:
        from separatrix.stats._kernels import csr_centred_sums

        rest, squares = np.zeros(M), np.zeros(M)
        csr_centred_sums(X.data, X.indices, X.indptr, weight, mean, rest, squares)
        return rest, squares
    w = np.repeat(weight, np.diff(X.indptr))
    d = X.data - mean[X.indices]
    return bincount(X.indices, w * d, M), bincount(X.indices, w * d * d, M)
