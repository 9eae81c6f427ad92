# SPDX-License-Identifier: BSD-3-Clause
"""Compiled loops of `class_moments`. Import this file only where it is used: it pulls in Numba.

The plain versions stand beside them in moments.py; the tests compare the two.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from separatrix._array import Array, Codes, Float

__all__ = ["class_squares", "class_sums"]


@njit(cache=True, nogil=True)
def class_sums(X: Array, codes: Codes, weight: Float, count: Float, total: Float) -> None:
    """Add N_k to count (K,) and Σ weight x to total (K, M)."""
    for n in range(X.shape[0]):
        k, w = codes[n], weight[n]
        count[k] += w
        for m in range(X.shape[1]):
            total[k, m] += w * np.float64(X[n, m])


@njit(cache=True, nogil=True)
def class_squares(X: Array, codes: Codes, weight: Float, mean: Float, rest: Float, squares: Float) -> None:
    """Add Σ weight (x - mean_k) to rest (K, M) and Σ weight (x - mean_k)² to squares (K, M)."""
    for n in range(X.shape[0]):
        k, w = codes[n], weight[n]
        for m in range(X.shape[1]):
            d = np.float64(X[n, m]) - mean[k, m]
            rest[k, m] += w * d
            squares[k, m] += w * d * d
