# SPDX-License-Identifier: BSD-3-Clause
"""Compiled loops for `moments` and `objective`. Importing this file imports Numba.

The callers have NumPy versions of these loops, and the tests compare the two.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import get_cython_function_address, intrinsic, overload
from scipy import special

from separatrix._array import Array, Float
from separatrix.likelihoods import logit_law, probit_law, reaches

# LLVM may reorder sums, which makes the loops fast. NaN and infinity are still handled correctly.
REORDERED_SUMS = {"reassoc", "contract", "nsz"}
MIN_RELATIVE_WEIGHT = 1e-60  # smallest weight, relative to the largest, that is not neglected in single precision


# Processors fetch memory that is read in order before it is needed, but not early enough if each row takes some
# computation: on Intel processors, a pass that asks for later rows itself takes half the time.
AHEAD_BYTES, LINE_BYTES = 6400, 64  # distance of the row that is prefetched, and the unit in which memory is fetched


@intrinsic
def _fetch(_context: Any, X: Any, n: Any, m: Any) -> Any:
    """Ask for the cache line of X[n, m]."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = cgutils.get_item_pointer(context, builder, signature.args[0], rows, arguments[1:], wraparound=False)
        place, number = builder.bitcast(place, ir.IntType(8).as_pointer()), ir.IntType(32)
        kinds = ir.FunctionType(ir.VoidType(), [place.type, number, number, number])
        prefetch = cgutils.get_or_insert_function(builder.module, kinds, "llvm.prefetch.p0i8")
        builder.call(prefetch, [place, number(0), number(3), number(1)])  # to read, into every cache, as data
        return context.get_dummy_value()

    return types.void(X, n, m), generate


@njit(nogil=True)
def _rows_ahead(X: Array) -> int:
    return int(max(1, AHEAD_BYTES // max(1, X.itemsize * X.shape[1])))


@njit(nogil=True)
def _fetch_row(X: Array, n: int) -> None:
    """Ask for row n, if there is one."""
    if n < X.shape[0]:
        for m in range(0, X.shape[1], LINE_BYTES // X.itemsize):
            _fetch(X, n, m)


@njit(cache=True, nogil=True, fastmath=REORDERED_SUMS)
def row_extent(X: Array, low: Float, high: Float) -> float:
    """Widen the ranges of the columns to those of X, and return max_n |x_n|²; NaN if a value is NaN."""
    largest, ahead = 0.0, _rows_ahead(X)
    for n in range(X.shape[0]):
        _fetch_row(X, n + ahead)
        squared = 0.0
        for m in range(X.shape[1]):
            x = np.float64(X[n, m])
            low[m] = x if x < low[m] else low[m]
            high[m] = x if x > high[m] else high[m]
            squared += x * x
        if not squared <= largest:  # also if it is NaN
            largest = squared
            if np.isnan(squared):
                break
    return largest


@njit(cache=True, nogil=True, fastmath=REORDERED_SUMS)
def row_dots(X: Array, w: Float, a: Float) -> None:
    """a = X w, summed in float64 for any X. It takes two thirds of the time of BLAS."""
    ahead = _rows_ahead(X)
    for n in range(X.shape[0]):
        _fetch_row(X, n + ahead)
        dot = 0.0
        for m in range(X.shape[1]):
            dot += X[n, m] * w[m]
        a[n] = dot


@njit(cache=True, nogil=True, fastmath=REORDERED_SUMS)
def row_sums(X: Array, slope: Float, total: Float) -> None:
    """Add Σ_n slope_n x_n to total (M,), in float64. It takes a third of the time of BLAS."""
    for n in range(X.shape[0]):
        factor = slope[n]
        for m in range(X.shape[1]):
            total[m] += factor * X[n, m]


# Numba calls SciPy's erfcx by its address. A symbol, unlike an address, can be part of a cached kernel.
llvm.add_symbol("separatrix_erfcx", get_cython_function_address("scipy.special.cython_special", "__pyx_fuse_1erfcx"))
_erfcx = types.ExternalFunction("separatrix_erfcx", types.float64(types.float64, types.int32))


@overload(special.erfcx)
def _compiled_erfcx(x: Any) -> Any:
    def call(x: Any) -> Any:
        return _erfcx(x, 0)

    return call


@overload(reaches)
def _compiled_reaches(x: Any, bound: Any) -> Any:
    def call(x: Any, bound: Any) -> Any:
        return x >= bound

    return call


_logit, _probit = njit(logit_law), njit(probit_law)


@njit(nogil=True)
def _law(law: int, a: float, t: float) -> Any:
    """ln p, slope and curvature of one row; ``law`` is an index of `objective.COMPILED_LAWS`."""
    return _logit(a, t) if law == 0 else _probit(a, t)


@njit(cache=True, nogil=True, fastmath=REORDERED_SUMS)
def row_objective(
    law: int,
    X: Array,
    w: Float,
    bias: float,
    targets: tuple[Float, Float, Float],
    sums: Float,
    slopes: Float,
    curvature: Float,
) -> None:
    """Add ln p and the slope at a = w'x + bias of each row to ``sums`` (2,); each row is read once.

    Also adds Σ slope x to ``slopes`` (M,) and writes the curvatures (n,). The targets, weights and offsets, and the
    curvatures, are (n,), or (0,) if not used.
    """
    t, weight, offset = targets
    value, total = sums[0], sums[1]
    ahead = _rows_ahead(X)
    for n in range(X.shape[0]):
        _fetch_row(X, n + ahead)
        a = bias
        for m in range(X.shape[1]):
            a += X[n, m] * w[m]
        if len(offset):
            a += offset[n]
        log_p, slope, bend = _law(law, a, t[n])
        if len(weight):
            log_p, slope, bend = weight[n] * log_p, weight[n] * slope, weight[n] * bend
        value += log_p
        total += slope
        for m in range(X.shape[1]):
            slopes[m] += slope * X[n, m]
        if len(curvature):
            curvature[n] = bend
    sums[0], sums[1] = value, total


# Numba calls the symmetric products of SciPy's BLAS in the same way; arguments of Fortran are pointers.
def _symmetric_product(prefix: str, number: Any) -> Any:
    llvm.add_symbol(
        f"separatrix_{prefix}syrk", get_cython_function_address("scipy.linalg.cython_blas", f"{prefix}syrk")
    )
    letter, integer, real = (types.CPointer(kind) for kind in (types.uint8, types.int32, number))
    kinds = (letter, letter, integer, integer, real, real, integer, real, real, integer)
    return types.ExternalFunction(f"separatrix_{prefix}syrk", types.void(*kinds))


_dsyrk, _ssyrk = _symmetric_product("d", types.float64), _symmetric_product("s", types.float32)
_LETTERS = np.frombuffer(b"UN", np.uint8)  # the upper triangle in Fortran's order is the lower one in C's order


def _square(Z: Array, G: Array) -> None:
    """Write Z'Z to the lower triangle of G."""


@overload(_square)
def _compiled_square(Z: Any, G: Any) -> Any:
    syrk = _dsyrk if Z.dtype == types.float64 else _ssyrk

    def call(Z: Any, G: Any) -> Any:
        n, width = np.array([Z.shape[0]], np.int32), np.array([Z.shape[1]], np.int32)
        one, zero = np.ones(1, Z.dtype).ctypes, np.zeros(1, Z.dtype).ctypes
        upper, plain = _LETTERS[:1].ctypes, _LETTERS[1:].ctypes
        syrk(upper, plain, width.ctypes, n.ctypes, one, Z.ctypes, width.ctypes, zero, G.ctypes, width.ctypes)

    return call


@njit(cache=True, nogil=True)
def scaled_rows(X: Array, origin: Array, inverse_unit: Array, factor: Array, Z: Array) -> None:
    """Z = factor (inverse_unit (x - origin), 1) for each row, in one read; the 1 is omitted if Z is as wide as X."""
    M, ahead = X.shape[1], _rows_ahead(X)
    for n in range(X.shape[0]):
        _fetch_row(X, n + ahead)
        f = factor[n]
        for m in range(M):
            Z[n, m] = f * ((X[n, m] - origin[m]) * inverse_unit[m])
        if Z.shape[1] > M:
            Z[n, M] = f


@njit(cache=True, nogil=True)
def add_gram(X: Array, origin: Array, inverse_unit: Array, Z: Array, weight: Float, H: Float) -> None:
    """Add Σ_n weight_n z_n z_n' to the lower triangle of H, z = (inverse_unit (x - origin), 1).

    As many rows at a time as Z has are written to Z, in its precision, and multiplied by BLAS. If Z fits the cache, the
    memory is read once. Weights must not be negative.
    """
    part = np.empty(H.shape, Z.dtype)
    for start in range(0, X.shape[0], Z.shape[0]):
        w = weight[start : start + Z.shape[0]]
        largest = w.max()  # roots of w / largest do not overflow in single precision
        if largest == 0.0:
            continue
        z, relative = Z[: len(w)], w / largest
        if Z.itemsize == 4:  # products of subnormal numbers are slow on some processors
            relative[relative < MIN_RELATIVE_WEIGHT] = 0.0
        scaled_rows(X[start : start + len(w)], origin, inverse_unit, np.sqrt(relative).astype(X.dtype), z)
        _square(z, part)
        for i in range(H.shape[0]):
            for j in range(i + 1):
                H[i, j] += largest * part[i, j]


@njit(cache=True, nogil=True)
def mirror(H: Float, unit: Float) -> None:
    """Multiply row and column i of H by unit_i, and copy the lower triangle to the upper one."""
    for i in range(len(H)):
        for j in range(i + 1):
            H[i, j] = H[j, i] = H[i, j] * unit[i] * unit[j]


@njit(cache=True, nogil=True)
def row_hessian(
    law: int,
    X: Array,
    w: Float,
    bias: float,
    targets: tuple[Float, Float, Float],
    origin: Array,
    inverse_unit: Array,
    Z: Array,
    sums: Float,
    slopes: Float,
    H: Float,
) -> None:
    """The same as `row_objective`; also adds Σ curvature z z' to the lower triangle of H, as `add_gram` does."""
    t, weight, offset = targets
    curvature = np.empty(Z.shape[0])
    for start in range(0, X.shape[0], Z.shape[0]):  # rows are read from memory once, and then from the cache
        stop = min(start + Z.shape[0], X.shape[0])
        rows, bends = X[start:stop], curvature[: stop - start]
        row_objective(law, rows, w, bias, (t[start:stop], weight[start:stop], offset[start:stop]), sums, slopes, bends)
        add_gram(rows, origin, inverse_unit, Z, bends, H)


@njit(cache=True, nogil=True)  # no reordered sums, which would gather w and be slower
def csr_objective(
    law: int,
    data: Array,
    indices: Array,
    indptr: Array,
    w: Float,
    bias: float,
    targets: tuple[Float, Float, Float],
    sums: Float,
    slopes: Float,
    curvature: Float,
) -> None:
    """The same as `row_objective`, for compressed sparse rows."""
    # The lines that both loops share stay here: a function for them makes a pass a fifth slower.
    t, weight, offset = targets
    value, total = sums[0], sums[1]
    for n in range(len(t)):
        a = bias
        # All indices are unsigned, so that Numba does not check for negative ones; the check takes a quarter of a pass.
        for i in range(np.uintp(indptr[n]), np.uintp(indptr[n + 1])):
            a += data[i] * w[np.uintp(indices[i])]
        if len(offset):
            a += offset[n]
        log_p, slope, bend = _law(law, a, t[n])
        if len(weight):
            log_p, slope, bend = weight[n] * log_p, weight[n] * slope, weight[n] * bend
        value += log_p
        total += slope
        for i in range(np.uintp(indptr[n]), np.uintp(indptr[n + 1])):
            slopes[np.uintp(indices[i])] += slope * data[i]
        if len(curvature):
            curvature[n] = bend
    sums[0], sums[1] = value, total


@njit(cache=True, nogil=True)  # no reordered sums, which would gather w and be slower
def csr_dots(data: Array, indices: Array, indptr: Array, w: Float, a: Float) -> None:
    """a = X w for compressed sparse rows."""
    for n in range(len(a)):
        dot = 0.0
        for i in range(np.uintp(indptr[n]), np.uintp(indptr[n + 1])):
            dot += data[i] * w[np.uintp(indices[i])]
        a[n] = dot


@njit(cache=True, nogil=True)
def csr_sums(data: Array, indices: Array, indptr: Array, slope: Float, total: Float) -> None:
    """Add Σ_n slope_n x_n to total (M,), for compressed sparse rows."""
    for n in range(len(slope)):
        factor = slope[n]
        for i in range(np.uintp(indptr[n]), np.uintp(indptr[n + 1])):
            total[np.uintp(indices[i])] += factor * data[i]


@njit(cache=True, nogil=True, fastmath={"contract"})
def csr_class_dots(data: Array, indices: Array, indptr: Array, W: Float, A: Float) -> None:
    """A = (X W)' (K, n) for compressed sparse rows X and the K columns of W (M, K)."""
    a = np.empty(len(A))
    for n in range(A.shape[1]):
        a[:] = 0.0
        i, stop = np.uintp(indptr[n]), np.uintp(indptr[n + 1])
        while i + np.uintp(1) < stop:  # two entries at a time halve the reads and writes of a
            x, y = data[i], data[i + np.uintp(1)]
            v, w = W[np.uintp(indices[i])], W[np.uintp(indices[i + np.uintp(1)])]
            for k in range(len(a)):
                a[k] += x * v[k] + y * w[k]
            i += np.uintp(2)
        if i < stop:
            x, v = data[i], W[np.uintp(indices[i])]
            for k in range(len(a)):
                a[k] += x * v[k]
        for k in range(len(a)):
            A[k, n] = a[k]


@njit(cache=True, nogil=True, fastmath={"contract"})
def csr_class_sums(data: Array, indices: Array, indptr: Array, slope: Float, total: Float) -> None:
    """Add Σ_n slope_kn x_n to column k of total (M, K), for compressed sparse rows and slopes (K, n)."""
    s = np.empty(len(slope))
    for n in range(slope.shape[1]):
        for k in range(len(s)):
            s[k] = slope[k, n]
        for i in range(np.uintp(indptr[n]), np.uintp(indptr[n + 1])):
            x, sums = data[i], total[np.uintp(indices[i])]
            for k in range(len(s)):
                sums[k] += x * s[k]


@njit(cache=True, nogil=True)  # no reordered sums, which would gather v and be slower
def csr_products(data: Array, indices: Array, indptr: Array, v: Float, bias: float, weight: Float, out: Float) -> float:
    """Add Σ_n weight_n (x_n'v + bias) x_n to out (M,), and return the sum of the factors; ``weight`` (0,) counts as 1.

    Each row of the compressed sparse rows is read once.
    """
    total = 0.0
    for n in range(len(indptr) - 1):
        a = bias
        for i in range(np.uintp(indptr[n]), np.uintp(indptr[n + 1])):
            a += data[i] * v[np.uintp(indices[i])]
        if len(weight):
            a *= weight[n]
        total += a
        for i in range(np.uintp(indptr[n]), np.uintp(indptr[n + 1])):
            out[np.uintp(indices[i])] += a * data[i]
    return total


@njit(cache=True, nogil=True)
def csr_pair_products(
    data: Array, indices: Array, indptr: Array, V: Float, bias: Float, weight: Float, out: Float, totals: Float
) -> None:
    """The same as `csr_products` for two vectors, the columns of V and of out (M, 2), in little more time than one."""
    for n in range(len(indptr) - 1):
        a, b = bias[0], bias[1]
        for i in range(np.uintp(indptr[n]), np.uintp(indptr[n + 1])):
            m = np.uintp(indices[i])
            a += data[i] * V[m, 0]
            b += data[i] * V[m, 1]
        if len(weight):
            a *= weight[n]
            b *= weight[n]
        totals[0] += a
        totals[1] += b
        for i in range(np.uintp(indptr[n]), np.uintp(indptr[n + 1])):
            m = np.uintp(indices[i])
            out[m, 0] += a * data[i]
            out[m, 1] += b * data[i]


@njit(cache=True, nogil=True)
def csr_gram(data: Array, indices: Array, indptr: Array, place: Array, weight: Float, G: Float) -> None:
    """Add weight_n x_ni x_nj to G for each pair of entries of a row, once; ``weight`` (0,) counts as 1.

    Column c of the rows is column place[c] of G, or left out if that is negative.
    """
    longest = 0
    for n in range(len(indptr) - 1):
        longest = max(longest, indptr[n + 1] - indptr[n])
    columns, entries = np.empty(longest, np.uintp), np.empty(longest)
    for n in range(len(indptr) - 1):
        size = 0
        for i in range(np.uintp(indptr[n]), np.uintp(indptr[n + 1])):
            column = place[np.uintp(indices[i])]
            if column >= 0:
                columns[size], entries[size] = np.uintp(column), data[i]
                size += 1
        for i in range(size):
            x, sums = entries[i] * weight[n] if len(weight) else entries[i], G[columns[i]]
            for j in range(i + 1):
                sums[columns[j]] += x * entries[j]


@njit(cache=True, nogil=True)
def add_triangles(G: Float) -> None:
    """Add the strictly upper triangle of G to the lower one and vice versa, tile by tile, so that it is symmetric."""
    M, tile = len(G), 32
    for top in range(0, M, tile):
        for left in range(0, top + 1, tile):
            for i in range(top, min(top + tile, M)):
                for j in range(left, min(left + tile, i)):
                    G[i, j] = G[j, i] = G[i, j] + G[j, i]


@njit(cache=True, nogil=True)
def csr_stored_sums(data: Array, indices: Array, indptr: Array, weight: Float, stored: Float, sums: Float) -> None:
    """Add Σ w to stored (M,) and Σ w x to sums (M,), over the entries of compressed sparse rows."""
    for n in range(len(weight)):
        w = weight[n]
        for i in range(np.uintp(indptr[n]), np.uintp(indptr[n + 1])):
            m = np.uintp(indices[i])
            stored[m] += w
            sums[m] += w * data[i]


@njit(cache=True, nogil=True)
def csr_centred_sums(
    data: Array, indices: Array, indptr: Array, weight: Float, mean: Float, rest: Float, squares: Float
) -> None:
    """Add Σ w (x - m) to rest (M,) and Σ w (x - m)² to squares (M,), over the entries of compressed sparse rows."""
    for n in range(len(weight)):
        w = weight[n]
        for i in range(np.uintp(indptr[n]), np.uintp(indptr[n + 1])):
            m = np.uintp(indices[i])
            d = data[i] - mean[m]
            rest[m] += w * d
            squares[m] += w * d * d
