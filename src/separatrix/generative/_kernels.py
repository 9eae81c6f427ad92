# SPDX-License-Identifier: BSD-3-Clause
"""Compiled loop over patterns of missing values. ``sweep_patterns.py_func`` is the same loop in plain Python.

Importing Numba is slow; import this module only inside the functions that use it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from separatrix._array import Array, Codes, Float
from separatrix._linalg import VANISHING_VARIANCE

MAX_INFLATION = 1e4  # largest 1 / (1 - R²) of a column given the others for which the inverse of C is used


@njit(cache=True, nogil=True)
def keep_independent(T: Float, o: Codes, m: int, L: Float, smallest: float) -> int:
    """Move the columns of o that are not combinations of earlier ones, by Cholesky of T, to the front; count them."""
    n_kept = 0
    for i in range(m):
        s = T[o[i], o[i]]
        for j in range(n_kept):
            L[n_kept, j] = T[o[i], o[j]]
            for k in range(j):
                L[n_kept, j] -= L[n_kept, k] * L[j, k]
            L[n_kept, j] /= L[j, j]
            s -= L[n_kept, j] ** 2
        if s > smallest:
            L[n_kept, n_kept] = np.sqrt(s)
            o[n_kept] = o[i]
            n_kept += 1
    return n_kept


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def invert_seen(  # noqa: PLR0912 (three textbook loops, kept together for the compiler)
    C: Float, o: Codes, m: int, L: Float, P: Float, smallest: float
) -> float:
    """Compute P = C_oo⁻¹ for the first m entries of o by Cholesky, and return ln |C_oo|. L is a work array.

    Variances that are not larger than ``smallest``, given earlier columns, are replaced by it or `VANISHING_VARIANCE`.
    """
    log_det = 0.0
    for i in range(m):
        for j in range(i + 1):
            s = C[o[i], o[j]]
            for k in range(j):
                s -= L[i, k] * L[j, k]
            if i == j:
                L[i, i] = np.sqrt(s if s > smallest else max(smallest, VANISHING_VARIANCE))
                log_det += 2 * np.log(L[i, i])
            else:
                L[i, j] = s / L[j, j]
    for i in range(m):  # L <- L⁻¹, row by row
        d = 1 / L[i, i]
        for j in range(i):
            s = 0.0
            for k in range(j, i):
                s += L[i, k] * L[k, j]
            P[0, j] = -s * d  # store the row in P[0], because L[i, :] is still being read
        for j in range(i):
            L[i, j] = P[0, j]
        L[i, i] = d
    P[:m, :m] = 0.0
    for i in range(m):  # P = L⁻ᵀ L⁻¹
        for a in range(i + 1):
            for b in range(a + 1):
                P[a, b] += L[i, a] * L[i, b]
    for a in range(m):
        for b in range(a):
            P[b, a] = P[a, b]
    return log_det


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def fill_missing(Lambda: Float, Q: Float, o: Codes, m: int, z: Float, work: Float) -> None:
    """z_h = -Q Λ_ho z_o, the expectation of the missing columns h = o[m:], given the first m columns of o."""
    n_missing = len(o) - m
    for a in range(n_missing):
        work[a] = 0.0
        for b in range(m):
            work[a] += Lambda[o[m + a], o[b]] * z[o[b]]
    for a in range(n_missing):
        z[o[m + a]] = 0.0
        for b in range(n_missing):
            z[o[m + a]] -= Q[a, b] * work[b]


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def sweep_patterns(  # noqa: PLR0912 (one loop over the rows, kept together for the compiler)
    Z: Float, seen: Array, order: Codes, is_new: Array, weight: Float, model: tuple[Float, Float, Float, float]
) -> tuple[Float, Float, Float, Float, Float]:
    """Compute P z, z'Pz and ln |Σ_oo| of each row, where P = C_oo⁻¹, Σ_n weight_n P_n, and the size of o.

    ``order`` sorts the rows by pattern of missing values; ``is_new`` marks the first of each. Z is zero if missing.
    ``model`` is C, the scale of each column, T and the smallest variance. The columns o are those observed; if C is
    singular, those that are independent in T, the correlations of all rows.

    If more columns are observed than missing, and Λ = C⁻¹ is accurate, only Q = Λ_hh⁻¹ of the missing columns h is
    computed for each pattern: P z = Λ E[z | z_o],  P = Λ - Λ_·h Q Λ_h·,  |C_oo| = |C| |Λ_hh|.
    """
    N, M = Z.shape
    C, scale, T, smallest = model
    G, squared, log_det, precision = np.zeros((N, M)), np.zeros(N), np.zeros(N), np.zeros((M, M))
    n_used, o, z, work = np.zeros(N), np.arange(M), np.zeros(M), np.zeros(M)
    L, P, Lambda, spread = np.zeros((M, M)), np.zeros((M, M)), np.zeros((M, M)), np.zeros((M, M))
    log_det_C, is_accurate, spread_weight = 0.0, False, 0.0
    if len(T) == 0 and is_new.sum() > 2:  # for fewer patterns, the inverse of C does not pay
        log_det_C = invert_seen(C, o, M, L, Lambda, smallest)
        is_accurate = True
        for a in range(M):
            is_accurate = is_accurate and Lambda[a, a] < MAX_INFLATION
    m, by_missing, total, det = 0, False, 0.0, 0.0
    for i in range(order.shape[0] + 1):
        if i == order.shape[0] or is_new[i]:
            if by_missing:  # finish the previous pattern
                spread_weight += total
                for a in range(M - m):
                    for b in range(M - m):
                        spread[o[m + a], o[m + b]] += total * P[a, b]
            else:
                for a in range(m):
                    for b in range(m):
                        precision[o[a], o[b]] += total * P[a, b]
            if i == order.shape[0]:
                break
            m, total = 0, 0.0
            for a in range(M):
                if seen[order[i], a]:
                    o[m] = a
                    m += 1
            h = m
            for a in range(M):
                if not seen[order[i], a]:
                    o[h] = a
                    h += 1
            by_missing = is_accurate and 2 * m > M
            if by_missing:
                det = log_det_C + invert_seen(Lambda, o[m:], M - m, L, P, 0.0)
            else:
                if len(T) > 0:
                    m = keep_independent(T, o, m, L, smallest)
                det = invert_seen(C, o, m, L, P, smallest)
            for a in range(m):
                det += 2 * np.log(scale[o[a]])
        n = order[i]
        total += weight[n]
        log_det[n], n_used[n] = det, m
        if by_missing:
            for a in range(M):
                z[a] = Z[n, a]
            fill_missing(Lambda, P, o, m, z, work)
        for a in range(m):
            g = 0.0
            if by_missing:
                for b in range(M):
                    g += Lambda[o[a], b] * z[b]
            else:
                for b in range(m):
                    g += P[a, b] * Z[n, o[b]]
            G[n, o[a]] = g
            squared[n] += g * Z[n, o[a]]
    precision += spread_weight * Lambda - Lambda @ spread @ Lambda
    return G, squared, log_det, precision, n_used
