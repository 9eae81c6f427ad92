# SPDX-License-Identifier: BSD-3-Clause
"""Compiled sweeps of `parabola`. Importing this file imports Numba.

A sweep minimises over each group of weights in turn, and returns the largest step as a change of the gradient. Group g
consists of the weights ``members[bounds[g] : bounds[g + 1]]``; its block of H has no eigenvalue above ``bound[g]``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from separatrix._array import Array, Codes, Float

# LLVM may reorder sums, which makes the loops fast.
REORDERED_SUMS = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True)
def shrink(x: Float, slope: Float, threshold: float, bound: float, step: Float) -> None:
    """Step from x_g (n,) to the minimum of slope'y + ½ bound |y - x_g|² + threshold |y|, in the first n of ``step``."""
    length = 0.0
    for i in range(len(x)):
        length += (bound * x[i] - slope[i]) ** 2
    length = np.sqrt(length)
    for i in range(len(x)):
        if length <= threshold:
            step[i] = -x[i]
        elif bound > 0.0:
            step[i] = (1.0 - threshold / length) * (x[i] - slope[i] / bound) - x[i]
        else:  # no curvature, as for a constant column
            step[i] = 0.0


@njit(cache=True, nogil=True)
def largest_group(bounds: Codes) -> int:
    """Number of weights in the largest group. `np.diff(bounds).max()` takes three seconds more to compile."""
    size = 0
    for g in range(len(bounds) - 1):
        size = max(size, bounds[g + 1] - bounds[g])
    return size


@njit(cache=True, nogil=True)
def sweep_matrix(
    H: Float, slope: Float, x: Float, members: Codes, bounds: Codes, threshold: Float, bound: Float, unit: Float
) -> float:
    """Sweep with the matrix H; ``slope`` (P,) is the gradient of the quadratic part at x (P,), and both are updated."""
    largest, size = 0.0, largest_group(bounds)
    x_g, slope_g, step = np.empty(size), np.empty(size), np.empty(size)
    for g in range(len(bound)):
        start, n = bounds[g], bounds[g + 1] - bounds[g]
        for i in range(n):
            x_g[i], slope_g[i] = x[members[start + i]], slope[members[start + i]]
        shrink(x_g[:n], slope_g[:n], threshold[g], bound[g], step)
        for i in range(n):
            if step[i] != 0.0:
                m = members[start + i]
                x[m] += step[i]
                largest = max(largest, abs(step[i]) * bound[g] / unit[m])
                for k in range(len(x)):
                    slope[k] += step[i] * H[m, k]
    return largest


@njit(cache=True, nogil=True, fastmath=REORDERED_SUMS)
def dense_slope(data: Array, j: int, r: Float, u: Float, q: Float) -> float:
    """Σ_n φ_nj r_n (u_n - q_n); every column has all N entries."""
    total, N, is_single = 0.0, len(u), len(q) == 0
    for n in range(N):
        total += data[j * N + n] * (u[n] if is_single else r[n] * (u[n] - q[n]))
    return total


@njit(cache=True, nogil=True)  # no reordered sums, which would gather u and be slower
def sparse_slope(data: Array, indices: Codes, indptr: Codes, j: int, r: Float, u: Float, q: Float) -> float:
    """The same over the stored entries of column j."""
    total, is_single = 0.0, len(q) == 0
    for i in range(np.uintp(indptr[j]), np.uintp(indptr[j + 1])):
        n = np.uintp(indices[i])  # unsigned, so that Numba does not check for negative indices
        total += data[i] * (u[n] if is_single else r[n] * (u[n] - q[n]))
    return total


@njit(cache=True, nogil=True)
def by_column(data: Array, indices: Codes, indptr: Codes, kept: Array, bias: bool) -> tuple[Array, Array, Array]:
    """Entries, rows and bounds of compressed columns from compressed rows; the last column is ones if ``bias``.

    Columns that are not ``kept`` (M,) have no entries.
    """
    N, n_columns = len(indptr) - 1, len(kept)
    bounds = np.zeros(n_columns + 1 + bias, np.int32)
    for i in range(len(data)):
        column = np.uintp(indices[i])
        bounds[column + np.uintp(1)] += kept[column]
    for j in range(n_columns):
        bounds[j + 1] += bounds[j]
    place, n_entries = bounds[:n_columns].copy(), bounds[n_columns]
    size = n_entries + N * bias
    entries, rows = np.empty(size), np.empty(size, np.int32)
    for n in range(N):
        for i in range(np.uintp(indptr[n]), np.uintp(indptr[n + 1])):
            column = np.uintp(indices[i])
            if kept[column]:
                at = np.uintp(place[column])
                entries[at], rows[at] = data[i], n
                place[column] += 1
    for n in range(N * bias):
        entries[n_entries + n], rows[n_entries + n] = 1.0, n
    bounds[-1] = size
    return entries, rows, bounds


@njit(cache=True, nogil=True)
def column_squares(data: Array, indices: Codes, indptr: Codes, weight: Float, members: Codes, width: int) -> Float:
    """Σ_n weight_kn φ_nj² for some weights, of class k and column j: the diagonal of H without the prior."""
    found, N = np.zeros(len(members)), weight.shape[1]
    for g in range(len(members)):
        k, j, total = members[g] // width, members[g] % width, 0.0
        if len(indices) == 0:
            for n in range(N):
                total += weight[k, n] * data[j * N + n] ** 2
        else:
            for i in range(np.uintp(indptr[j]), np.uintp(indptr[j + 1])):
                total += weight[k, np.uintp(indices[i])] * data[i] ** 2
        found[g] = total
    return found


@njit(cache=True, nogil=True)
def add_column(
    data: Array, indices: Codes, indptr: Codes, j: int, step: float, p: Float, r: Float, u: Float, q: Float
) -> None:
    """Add step φ_nj to u_n (times r_n for a single output), and p_n step φ_nj to q_n."""
    N, is_single = len(u), len(q) == 0
    if len(indices) == 0:
        for n in range(N):
            change = step * data[j * N + n]
            u[n] += r[n] * change if is_single else change
            if not is_single:
                q[n] += p[n] * change
    else:
        for i in range(np.uintp(indptr[j]), np.uintp(indptr[j + 1])):
            row = np.uintp(indices[i])
            change = step * data[i]
            u[row] += r[row] * change if is_single else change
            if not is_single:
                q[row] += p[row] * change


@njit(cache=True, nogil=True)
def sweep_rows(
    rows: Any,
    linear: Float,
    ridge: Float,
    x: Float,
    members: Codes,
    bounds: Codes,
    threshold: Float,
    bound: Float,
    unit: Float,
    only_nonzero: bool,
) -> float:
    """Sweep with H = Λ + Σ_n (diag r_n - r_n p_n') ⊗ φ_n φ_n', for the slope linear + Λ x + Σ_n r_n (u_n - q_n) φ_n'.

    ``rows`` has the columns of φ (one after the other, or compressed), p and r (C, N), and two arrays that are updated:
    the change u (C, N) of the activations since θ, and q = Σ_k p_k u_k (N,). For a single output, q is empty and u is
    multiplied by r, which saves half of the time.
    """
    data, indices, indptr, p, r, u, q = rows
    width, largest, size = len(x) // len(p), 0.0, largest_group(bounds)
    x_g, slope_g, step = np.empty(size), np.empty(size), np.empty(size)
    for g in range(len(bound)):
        start, n, is_zero = bounds[g], bounds[g + 1] - bounds[g], True
        for i in range(n):
            x_g[i] = x[members[start + i]]
            is_zero = is_zero and x_g[i] == 0.0
        if only_nonzero and is_zero and threshold[g] > 0.0:
            continue
        for i in range(n):
            m = members[start + i]
            k, j = m // width, m % width
            if len(indices) == 0:
                slope = dense_slope(data, j, r[k], u[k], q)
            else:
                slope = sparse_slope(data, indices, indptr, j, r[k], u[k], q)
            slope_g[i] = linear[m] + ridge[m] * x[m] + slope
        shrink(x_g[:n], slope_g[:n], threshold[g], bound[g], step)
        for i in range(n):
            if step[i] != 0.0:
                m = members[start + i]
                k, j = m // width, m % width
                x[m] += step[i]
                largest = max(largest, abs(step[i]) * bound[g] / unit[m])
                add_column(data, indices, indptr, j, step[i], p[k], r[k], u[k], q)
    return largest
