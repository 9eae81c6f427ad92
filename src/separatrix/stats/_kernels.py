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
from separatrix.likelihoods import decaying_exp, log1p_of_unit, logit_law, probit_law, reaches

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


# Rows are multiplied four at a time: each value of w is then read once for four rows, and the sums do not wait for one
# another. This takes half the time of one row at a time.
@njit(nogil=True, forceinline=True, error_model="numpy", fastmath=REORDERED_SUMS)
def _add_dots(X: Array, start: int, stop: int, ahead: int, n_ahead: int, w: Float, a: Float) -> None:
    """Add x_n'w of the rows from ``start`` to a (stop - start,).

    For each group of four rows, ``n_ahead`` rows are prefetched, from ``ahead`` rows after the first of the group.
    """
    n, M = start, X.shape[1]
    while n + 4 <= stop:
        for i in range(n_ahead):
            _fetch_row(X, n + ahead + i)
        x0, x1, x2, x3 = X[n], X[n + 1], X[n + 2], X[n + 3]
        a0 = a1 = a2 = a3 = 0.0
        for m in range(M):
            a0 += x0[m] * w[m]
            a1 += x1[m] * w[m]
            a2 += x2[m] * w[m]
            a3 += x3[m] * w[m]
        a[n - start] += a0
        a[n - start + 1] += a1
        a[n - start + 2] += a2
        a[n - start + 3] += a3
        n += 4
    while n < stop:
        dot = 0.0
        for m in range(M):
            dot += X[n, m] * w[m]
        a[n - start] += dot
        n += 1


@njit(nogil=True, forceinline=True, error_model="numpy", fastmath=REORDERED_SUMS)
def _add_sums(X: Array, start: int, stop: int, ahead: int, n_ahead: int, slope: Float, total: Float) -> None:
    """Add Σ_n slope_n x_n of the rows from ``start`` to total (M,); ``slope`` is (stop - start,)."""
    n, M = start, X.shape[1]
    while n + 4 <= stop:
        for i in range(n_ahead):
            _fetch_row(X, n + ahead + i)
        x0, x1, x2, x3 = X[n], X[n + 1], X[n + 2], X[n + 3]
        s0, s1, s2, s3 = slope[n - start], slope[n - start + 1], slope[n - start + 2], slope[n - start + 3]
        for m in range(M):
            total[m] += s0 * x0[m] + s1 * x1[m] + s2 * x2[m] + s3 * x3[m]
        n += 4
    while n < stop:
        factor = slope[n - start]
        for m in range(M):
            total[m] += factor * X[n, m]
        n += 1


@njit(cache=True, nogil=True)
def row_dots(X: Array, w: Float, a: Float) -> None:
    """a = X w, summed in float64 for any X."""
    a[:] = 0.0
    _add_dots(X, 0, len(X), _rows_ahead(X), 4, w, a)


@njit(cache=True, nogil=True)
def row_sums(X: Array, slope: Float, total: Float) -> None:
    """Add Σ_n slope_n x_n to total (M,), in float64."""
    _add_sums(X, 0, len(X), _rows_ahead(X), 4, slope, total)


@intrinsic
def _bits(_context: Any, _x: Any) -> Any:
    """Integer with the bits of a float64."""
    return types.int64(types.float64), lambda _c, builder, _s, values: builder.bitcast(values[0], ir.IntType(64))


@intrinsic
def _float_of_bits(_context: Any, _bits: Any) -> Any:
    """Inverse of `_bits`."""
    return types.float64(types.int64), lambda _c, builder, _s, values: builder.bitcast(values[0], ir.DoubleType())


# Options of functions that LLVM evaluates for several rows at once. Division by zero gives inf or NaN, no exception.
PLAIN_ARITHMETIC: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract"}}

# LLVM evaluates e^-x and ln(1 + x) of several rows at once if they are plain arithmetic; calls of the C library, row by
# row, take ten times as long. The polynomials interpolate at Chebyshev points; powers increase.
EXP_COEFFICIENTS = (
    0.5000000000000001,
    0.16666666666666669,
    0.041666666666624164,
    0.008333333333330065,
    0.0013888888917196719,
    0.00019841269863040545,
    2.4801521322368692e-05,
    2.7557268480310024e-06,
    2.7620075879983367e-07,
    2.5100375832561234e-08,
)  # of (e^r - 1 - r)/r² for |r| ≤ ln 2/2
LOG_COEFFICIENTS = (
    0.6666666666666666,
    0.39999999999999525,
    0.285714285716001,
    0.2222222219823677,
    0.18181819897962714,
    0.1538454396486055,
    0.13335178631449257,
    0.11734279061303197,
    0.10845178394880015,
    0.07492143795550767,
    0.1563057780092285,
)  # of 2 (artanh(s)/s - 1)/z, z = s², for s ≤ 1/3
LOG2_E, LN2_HIGH, LN2_LOW = 1.4426950408889634, 0.6931471803691238, 1.9082149292705877e-10  # k LN2_HIGH is exact
MAX_DECAY = 746.0  # e^-x is zero beyond
ROUNDING = 1.5 * 2**52  # a number that is added to this is rounded to an integer, in the last bits of the sum
ROUNDING_BITS = int(np.float64(ROUNDING).view(np.int64))
EXTRA_EXPONENT = 100  # e^-x is computed times 2^100, which is never subnormal


@overload(decaying_exp, jit_options=PLAIN_ARITHMETIC)
def _compiled_decaying_exp(x: Any) -> Any:
    c0, c1, c2, c3, c4, c5, c6, c7, c8, c9 = EXP_COEFFICIENTS
    smallest, offset = 2.0**-EXTRA_EXPONENT, 1023 + EXTRA_EXPONENT - ROUNDING_BITS

    def call(x: Any) -> Any:
        y = MAX_DECAY if x > MAX_DECAY else x  # NaN remains
        shifted = ROUNDING - y * LOG2_E
        k = shifted - ROUNDING
        r = (-y - k * LN2_HIGH) - k * LN2_LOW  # -x = k ln 2 + r
        r2 = r * r
        r4 = r2 * r2
        high = ((c4 + c5 * r) + r2 * (c6 + c7 * r)) + r4 * (c8 + c9 * r)
        rest = ((c0 + c1 * r) + r2 * (c2 + c3 * r)) + r4 * high
        power = _float_of_bits((_bits(shifted) + offset) << 52)  # 2^(k + EXTRA_EXPONENT)
        return (1.0 + (r + r2 * rest)) * power * smallest

    return call


@overload(log1p_of_unit, jit_options=PLAIN_ARITHMETIC)
def _compiled_log1p_of_unit(x: Any) -> Any:
    c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10 = LOG_COEFFICIENTS

    def call(x: Any) -> Any:
        s = x / (2.0 + x)  # ln(1 + x) = 2 artanh(s)
        z = s * s
        z2 = z * z
        z4 = z2 * z2
        high = ((c4 + c5 * z) + z2 * (c6 + c7 * z)) + z4 * ((c8 + c9 * z) + z2 * c10)
        rest = ((c0 + c1 * z) + z2 * (c2 + c3 * z)) + z4 * high
        return 2.0 * s + s * (z * rest)

    return call


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


_logit, _probit = njit(logit_law, **PLAIN_ARITHMETIC), njit(probit_law, **PLAIN_ARITHMETIC)
TILE_BYTES, TILE_ROWS = 2**14, 64  # rows that stay in the first-level cache until their slopes are known


@njit(nogil=True, forceinline=True, error_model="numpy", fastmath=REORDERED_SUMS)
def _add_law(
    law: Any,
    a: Float,
    targets: tuple[Float, Float, Float],
    start: int,
    stop: int,
    sums: Float,
    slope: Float,
    bend: Float,
) -> None:
    """Add Σ ln p and Σ slope of rows ``start`` to ``stop`` to ``sums`` (2,).

    Overwrites ``a`` with ln p, and writes ``slope`` and ``bend`` (the curvature). Sums have a loop of their own: in a
    loop that writes to arrays, LLVM would choose vector or scalar code by the addresses of the arrays, so that the last
    bits of a sum could differ between runs.
    """
    t, weight, offset = targets
    if len(offset):
        for i in range(stop - start):
            a[i] += offset[start + i]
    for i in range(stop - start):
        a[i], slope[i], bend[i] = law(a[i], t[start + i])
    if len(weight):
        for i in range(stop - start):
            a[i] *= weight[start + i]
            slope[i] *= weight[start + i]
            bend[i] *= weight[start + i]
    value, total = 0.0, 0.0
    for i in range(stop - start):
        value += a[i]
        total += slope[i]
    sums[0] += value
    sums[1] += total


@njit(cache=True, nogil=True)
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
    """Add ln p and the slope at a = w'x + bias of each row to ``sums`` (2,); each row is read from memory once.

    Also adds Σ slope x to ``slopes`` (M,) and writes the curvatures (n,). The targets, weights and offsets, and the
    curvatures, are (n,), or (0,) if not used. ``law`` is an index of `objective.COMPILED_LAWS`.
    """
    height = min(TILE_ROWS, max(4, TILE_BYTES // max(1, X.itemsize * X.shape[1]) // 4 * 4))
    a, slope, bend = np.empty(TILE_ROWS), np.empty(TILE_ROWS), np.empty(TILE_ROWS)
    for start in range(0, len(X), height):
        stop = min(start + height, len(X))
        for i in range(stop - start):
            a[i] = bias
        _add_dots(X, start, stop, height, 2, w, a)
        if law == 0:
            _add_law(_logit, a, targets, start, stop, sums, slope, bend)
        else:
            _add_law(_probit, a, targets, start, stop, sums, slope, bend)
        if len(curvature):
            for i in range(stop - start):  # an assignment of slices takes a second to compile
                curvature[start + i] = bend[i]
        _add_sums(X, start, stop, height + 2, 2, slope, slopes)


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

    Rows are copied to the buffer Z, ``len(Z)`` rows at a time and in the precision of Z, and multiplied there by BLAS.
    If Z fits the cache, X is read from memory once. Weights must not be negative.
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
    n_rows, a, slope, bend = len(indptr) - 1, np.empty(TILE_ROWS), np.empty(TILE_ROWS), np.empty(TILE_ROWS)
    for start in range(0, n_rows, TILE_ROWS):
        stop = min(start + TILE_ROWS, n_rows)
        # All indices are unsigned, so that Numba does not check for negative ones; the check takes a quarter of a pass.
        for n in range(start, stop):
            dot = bias
            for i in range(np.uintp(indptr[n]), np.uintp(indptr[n + 1])):
                dot += data[i] * w[np.uintp(indices[i])]
            a[n - start] = dot
        if law == 0:
            _add_law(_logit, a, targets, start, stop, sums, slope, bend)
        else:
            _add_law(_probit, a, targets, start, stop, sums, slope, bend)
        if len(curvature):
            for i in range(stop - start):
                curvature[start + i] = bend[i]
        for n in range(start, stop):
            factor = slope[n - start]
            for i in range(np.uintp(indptr[n]), np.uintp(indptr[n + 1])):
                slopes[np.uintp(indices[i])] += factor * data[i]


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
