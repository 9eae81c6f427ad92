# SPDX-License-Identifier: BSD-3-Clause
"""Compiled loops over the rows of classes, which read each row once. Importing this file imports Numba.

Sums are relative to an origin near the mean of each class: the mean of the first rows of the class that are found. So
the correction by the distance from the final mean does not cancel, and the sums of a constant column are exactly zero.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from separatrix._array import Array, Codes, Float
from separatrix.stats._kernels import REORDERED_SUMS, _fetch_row, _rows_ahead, _square

FIRST_ROWS = 256  # rows in which new classes are searched for at a time


@njit(cache=True, nogil=True)
def _find_origins(X: Array, codes: Codes, weight: Float, is_known: Array, origin: Float) -> None:
    """Set the origin of each new class to the mean of its rows."""
    is_new = np.zeros(len(is_known), np.bool_)
    for n in range(X.shape[0]):
        is_new[codes[n]] |= weight[n] > 0 and not is_known[codes[n]]
    for k in range(len(is_new)):
        if not is_new[k]:
            continue
        total = 0.0
        for n in range(X.shape[0]):
            if codes[n] == k and weight[n] > 0:
                if total == 0.0:
                    for m in range(X.shape[1]):
                        origin[k, m] = X[n, m]
                total += weight[n]
                for m in range(X.shape[1]):  # running means, so that the sum cannot overflow
                    origin[k, m] += weight[n] / total * (X[n, m] - origin[k, m])
        is_known[k] = True


@njit(cache=True, nogil=True)
def class_squares(
    X: Array, codes: Codes, weight: Float, is_known: Array, origin: Float, count: Float, rest: Float, squares: Float
) -> None:
    """Add N_k to count (K,), and Σ weight d and Σ weight d² with d = x - origin_k to rest and squares (K, M)."""
    ahead = _rows_ahead(X)
    for start in range(0, X.shape[0], FIRST_ROWS):
        stop = min(start + FIRST_ROWS, X.shape[0])
        if not is_known.all():
            _find_origins(X[start:stop], codes[start:stop], weight[start:stop], is_known, origin)
        for n in range(start, stop):
            _fetch_row(X, n + ahead)
            k, w = codes[n], weight[n]
            count[k] += w
            for m in range(X.shape[1]):
                d = X[n, m] - origin[k, m]
                rest[k, m] += w * d
                squares[k, m] += w * d * d


@njit(cache=True, nogil=True, fastmath=REORDERED_SUMS)
def class_ones(X: Array, codes: Codes, weight: Float, total: Float) -> bool:
    """Add Σ weight x to total (K, M); return whether all values are 0 or 1. Stop at the first other value."""
    ahead = _rows_ahead(X)
    for n in range(X.shape[0]):
        _fetch_row(X, n + ahead)
        k, w, other = codes[n], weight[n], 0.0
        for m in range(X.shape[1]):
            x = np.float64(X[n, m])
            other += abs(x * (x - 1.0))
            total[k, m] += w * x
        if other != 0.0:  # also if it is NaN
            return False
    return True


@njit(cache=True, nogil=True)
def class_grams(
    X: Array,
    codes: Codes,
    weight: Float,
    Z: Array,
    is_known: Array,
    origin: Float,
    count: Float,
    rest: Float,
    products: Float,
) -> None:
    """Add N_k to count (K,), Σ weight d to rest (K, M) and Σ weight d d' to the lower triangles of products (C, M, M).

    C is K, or 1 for the sum over all classes. As many rows at a time as Z has are centred, sorted by class, written to
    Z in its precision, and multiplied by BLAS.
    """
    C, M, ahead = len(products), X.shape[1], _rows_ahead(X)
    part = np.empty((M, M), Z.dtype)
    for start in range(0, X.shape[0], Z.shape[0]):
        stop = min(start + Z.shape[0], X.shape[0])
        if not is_known.all():
            _find_origins(X[start:stop], codes[start:stop], weight[start:stop], is_known, origin)
        largest = weight[start:stop].max()  # roots of weight / largest do not overflow in single precision
        if largest == 0.0:
            continue
        end = np.zeros(C + 1, np.int64)  # position after the last row of each class, in Z
        for n in range(start, stop):
            end[1 + (codes[n] if C > 1 else 0)] += 1
        end = np.cumsum(end)
        begin = end[:-1].copy()
        for n in range(start, stop):
            _fetch_row(X, n + ahead)
            k, w = codes[n], weight[n]
            c = k if C > 1 else 0
            i, root = begin[c], np.sqrt(w / largest)
            begin[c] += 1
            count[k] += w
            for m in range(M):
                d = X[n, m] - origin[k, m]
                rest[k, m] += w * d
                Z[i, m] = root * d
        for c in range(C):
            if end[c] < end[c + 1]:
                _square(Z[end[c] : end[c + 1]], part)
                for a in range(M):
                    for b in range(a + 1):
                        products[c, a, b] += largest * part[a, b]
