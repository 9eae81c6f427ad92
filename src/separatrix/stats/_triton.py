# SPDX-License-Identifier: BSD-3-Clause
"""Triton kernels for float32 rows on a CUDA device. Each kernel reads every row once, at memory bandwidth.

    objective_pass  ln p, slope and curvature of a logit, probit or softmax model, and Σ slope φ with φ = x - origin
    class_sums      Σ (x - c_k), or Σ (x - c_k)², for each class
    extents         smallest and largest value of each column
    split_gram      Σ weight (x - c)(x - c)', on tensor cores
    split_moments   Σ (x - c)(x - c)' without weights, and Σ (x - c) for each class

In the first three, program i of n handles tiles i, i + n, i + 2n, ... of rows and adds them in this order, in float64,
so repeated runs give identical results. `objective_pass` writes a few values per row; the others write only sums.
`device` has versions in torch. Importing this file imports Triton.

**Splitting.** Tensor cores multiply bfloat16 (8 significant bits) at ten times the rate of float32. Two bfloat16 values
h and l store 16 bits of z = √weight (x - c) = h + l. The product l l', 2⁻¹⁸ of the whole, is omitted:

    G = Σ h h' + h l' + l h' = ½ (A + A'),     A = Σ h (h + 2 l)'

so a tile of A needs two products with the same left factor. Doubling l is exact.

**Tiles.** A program computes one 128 x 128 tile on the diagonal of A and the tile next to it, for a range of rows. It
reads the columns of both tiles, splits them in registers, and keeps both tiles in registers. With 256 columns each
value is read by two programs that run at the same time, so it is in the cache. With more columns, separate programs
compute the other tiles.

**Accuracy.** A program sums a chunk of rows in float32, and the chunks in float64 in its own memory, so repeated runs
give identical results. Tensor cores drop bits that do not fit into a sum, so errors grow with the size of the chunk.
Relative to the lengths of the two columns of an entry, the error is 4e-6 for 400 rows, 7e-6 for 1200 rows and 1.2e-5
for 2400 rows, for any scales of the columns.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from math import pi
from typing import Any

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

SQRT_HALF, SQRT_2_OVER_PI = tl.constexpr(0.5**0.5), tl.constexpr((2 / pi) ** 0.5)

MAX_COLUMNS = 1024  # a program must hold a whole row
MAX_CLASSES = 4  # number of classes whose sums fit into a program of class_sums or objective_pass
TILE_ENTRIES = 4096  # entries of a tile of rows
PROGRAMS_PER_PROCESSOR, WARPS = 8, 2  # these values reach the full memory bandwidth

MAX_GRAM_CLASSES = 64  # number of classes whose sums fit into a program of split_moments
GRAM_COLUMNS = 128  # largest number of columns of a tile
GRAM_WARPS = 8  # with 16, a thread has too few registers for its part of the tiles
MIN_FACTOR = 16  # rows or columns of the smallest factor that tensor cores multiply

# For each GPU generation: number of rows split and multiplied at a time, and number of such groups loaded ahead.
# Generation 9 was tuned on an H200; the others have less shared memory.
GRAM_TILINGS = {9: (64, 3), 8: (32, 2), 12: (32, 2)}


@triton.jit  # type: ignore[untyped-decorator]  # Triton has no type stubs
def _read(X, n, m, live, M: tl.constexpr, WIDTH: tl.constexpr):  # type: ignore[no-untyped-def]  # pointers
    at = X + n[:, None] * M + m[None, :]
    # Without a column mask, loads are four times as wide.
    if WIDTH == M:
        return tl.load(at, mask=live[:, None], other=0.0)
    return tl.load(at, mask=live[:, None] & (m < M)[None, :], other=0.0)


@triton.jit  # type: ignore[untyped-decorator]
def _law(a, t, IS_PROBIT: tl.constexpr, WITH_CURVATURE: tl.constexpr):  # type: ignore[no-untyped-def]
    """ln p, slope and curvature of a logit (`logit_law`) or probit (`probit_law`), in the precision of ``a``.

    Without curvature, the third value of a probit is not computed.
    """
    if IS_PROBIT:
        x, up = tl.abs(a), tl.where(a >= 0, 1.0, 0.0)
        against = tl.abs(up - t)
        bell, scaled = tl.exp(-0.5 * x * x), libdevice.erfcx(x * SQRT_HALF)
        tail = 0.5 * scaled * bell
        high = 0.5 * SQRT_2_OVER_PI * bell / (1.0 - tail)
        log_p = against * (tl.log(0.5 * scaled) - 0.5 * x * x) + (1.0 - against) * tl.log(1.0 - tail)
        if not WITH_CURVATURE:
            slope = (2.0 * up - 1.0) * ((1.0 - against) * high - against * SQRT_2_OVER_PI / scaled)
            return log_p, slope, slope
        z = tl.maximum(x, 30.0)
        y = 1.0 / (z * z)
        series = 1.0 - y * (2.0 - y * (10.0 - y * (74.0 - y * (706.0 - y * (8162.0 - y * (110410.0 - y * 1708394.0))))))
        excess = tl.where(x < 30.0, SQRT_2_OVER_PI / scaled - x, series / z)
        low = x + excess
        slope = (2.0 * up - 1.0) * ((1.0 - against) * high - against * low)
        return log_p, slope, against * low * excess + (1.0 - against) * high * (x + high)
    e = tl.exp(-tl.abs(a))
    low = e / (1.0 + e)
    miss = tl.where(a >= 0, 1.0, 0.0) - t
    return -miss * a - tl.log(1.0 + e), tl.where(a >= 0, low, -low) - miss, low * (1.0 - low)


@triton.jit  # type: ignore[untyped-decorator]
def _objective_kernel(  # type: ignore[no-untyped-def]  # noqa: PLR0912, PLR0915
    X,
    W,
    origin,
    t,
    weight,
    offset,
    activation,
    sums,
    bias,
    N,
    M: tl.constexpr,
    D: tl.constexpr,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
    STEP: tl.constexpr,
    IS_PROBIT: tl.constexpr,
    HAS_WEIGHT: tl.constexpr,
    HAS_OFFSET: tl.constexpr,
    HAS_ORIGIN: tl.constexpr,
    WITH_CURVATURE: tl.constexpr,
):
    """Activations, Σ slope φ and Σ curvature φ; `_row_kernel` computes the sums over rows that do not involve φ."""
    m = tl.arange(0, WIDTH)
    b1 = tl.load(bias)
    w1 = tl.load(W + m, mask=m < M, other=0.0)
    if D > 1:
        b2 = tl.load(bias + 1)
        w2 = tl.load(W + M + m, mask=m < M, other=0.0)
    if D > 2:
        b3 = tl.load(bias + 2)
        w3 = tl.load(W + 2 * M + m, mask=m < M, other=0.0)
    c_m = tl.load(origin + m, mask=m < M, other=0.0)
    first, second = tl.zeros([WIDTH], tl.float64), tl.zeros([WIDTH], tl.float64)
    third, bends = tl.zeros([WIDTH], tl.float64), tl.zeros([WIDTH], tl.float64)
    for i in range(tl.program_id(0), tl.cdiv(N, ROWS), STEP):
        n = tl.cast(i, tl.int64) * ROWS + tl.arange(0, ROWS)
        live = n < N
        x = _read(X, n, m, live, M, WIDTH)
        if HAS_ORIGIN:
            x -= c_m[None, :]
        share = tl.where(live, 1.0, 0.0)
        if HAS_WEIGHT:
            share = tl.load(weight + n, mask=live, other=0.0).to(tl.float32)
        a1 = tl.sum(x * w1[None, :], axis=1) + b1
        if D == 1:
            if HAS_OFFSET:
                a1 += tl.load(offset + n, mask=live, other=0.0).to(tl.float32)
            _, slope, bend = _law(a1, tl.load(t + n, mask=live, other=0).to(tl.float32), IS_PROBIT, WITH_CURVATURE)
            first += tl.sum(x * (share * slope)[:, None], axis=0).to(tl.float64)
            if WITH_CURVATURE:
                bends += tl.sum(x * (share * bend)[:, None], axis=0).to(tl.float64)
        else:
            code = tl.load(t + n, mask=live, other=0)
            a2 = tl.sum(x * w2[None, :], axis=1) + b2
            tl.store(activation + n * D + 1, a2, mask=live)
            top = tl.maximum(tl.maximum(a1, a2), 0.0)
            if D > 2:
                a3 = tl.sum(x * w3[None, :], axis=1) + b3
                tl.store(activation + n * D + 2, a3, mask=live)
                top = tl.maximum(top, a3)
            e1, e2 = tl.exp(a1 - top), tl.exp(a2 - top)
            total = tl.exp(-top) + e1 + e2
            if D > 2:
                e3 = tl.exp(a3 - top)
                total += e3
                s3 = share * (tl.where(code == 3, 1.0, 0.0) - e3 / total)
                third += tl.sum(x * s3[:, None], axis=0).to(tl.float64)
            s1 = share * (tl.where(code == 1, 1.0, 0.0) - e1 / total)
            s2 = share * (tl.where(code == 2, 1.0, 0.0) - e2 / total)
            first += tl.sum(x * s1[:, None], axis=0).to(tl.float64)
            second += tl.sum(x * s2[:, None], axis=0).to(tl.float64)
        tl.store(activation + n * D, a1, mask=live)
    row = sums + tl.program_id(0) * (2 + D + (D + 1) * M) + 2 + D + m
    tl.store(row, first, mask=m < M)
    if D > 1:
        tl.store(row + M, second, mask=m < M)
    if D > 2:
        tl.store(row + 2 * M, third, mask=m < M)
    tl.store(row + D * M, bends, mask=m < M)


@triton.jit  # type: ignore[untyped-decorator]
def _row_kernel(  # type: ignore[no-untyped-def]
    activation,
    t,
    weight,
    sums,
    curvature,
    N,
    M: tl.constexpr,
    D: tl.constexpr,
    ROWS: tl.constexpr,
    STEP: tl.constexpr,
    IS_PROBIT: tl.constexpr,
    HAS_WEIGHT: tl.constexpr,
    WITH_CURVATURE: tl.constexpr,
):
    """Σ of ln p, slope and curvature, in float64 because a line search compares the last digits of Σ ln p."""
    value, bends = tl.zeros([ROWS], tl.float64), tl.zeros([ROWS], tl.float64)
    first, second, third = tl.zeros([ROWS], tl.float64), tl.zeros([ROWS], tl.float64), tl.zeros([ROWS], tl.float64)
    for i in range(tl.program_id(0), tl.cdiv(N, ROWS), STEP):
        n = tl.cast(i, tl.int64) * ROWS + tl.arange(0, ROWS)
        live = n < N
        share = tl.where(live, 1.0, 0.0).to(tl.float64)
        if HAS_WEIGHT:
            share = tl.load(weight + n, mask=live, other=0.0)
        a1 = tl.load(activation + n * D, mask=live, other=0.0).to(tl.float64)
        if D == 1:
            log_p, slope, bend = _law(a1, tl.load(t + n, mask=live, other=0).to(tl.float64), IS_PROBIT, WITH_CURVATURE)
            value += share * log_p
            first += share * slope
            if WITH_CURVATURE:
                bends += share * bend
                tl.store(curvature + n, (share * bend).to(tl.float32), mask=live)
        else:
            code = tl.load(t + n, mask=live, other=0)
            a2 = tl.load(activation + n * D + 1, mask=live, other=0.0).to(tl.float64)
            top = tl.maximum(tl.maximum(a1, a2), 0.0)
            own = tl.where(code == 1, a1, tl.where(code == 2, a2, 0.0))
            if D > 2:
                a3 = tl.load(activation + n * D + 2, mask=live, other=0.0).to(tl.float64)
                top = tl.maximum(top, a3)
                own = tl.where(code == 3, a3, own)
            e1, e2 = tl.exp(a1 - top), tl.exp(a2 - top)
            total = tl.exp(-top) + e1 + e2
            if D > 2:
                e3 = tl.exp(a3 - top)
                total += e3
                third += share * (tl.where(code == 3, 1.0, 0.0) - e3 / total)
            value += share * (own - top - tl.log(total))
            first += share * (tl.where(code == 1, 1.0, 0.0) - e1 / total)
            second += share * (tl.where(code == 2, 1.0, 0.0) - e2 / total)
    head = sums + tl.program_id(0) * (2 + D + (D + 1) * M)
    tl.store(head, tl.sum(value, axis=0))
    tl.store(head + 1, tl.sum(bends, axis=0))
    tl.store(head + 2, tl.sum(first, axis=0))
    if D > 1:
        tl.store(head + 3, tl.sum(second, axis=0))
    if D > 2:
        tl.store(head + 4, tl.sum(third, axis=0))


@triton.jit  # type: ignore[untyped-decorator]
def _class_kernel(  # type: ignore[no-untyped-def]
    X,
    centre,
    t,
    weight,
    sums,
    N,
    M: tl.constexpr,
    K: tl.constexpr,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
    STEP: tl.constexpr,
    HAS_WEIGHT: tl.constexpr,
    SQUARED: tl.constexpr,
):
    m = tl.arange(0, WIDTH)
    every, second = tl.zeros([WIDTH], tl.float64), tl.zeros([WIDTH], tl.float64)
    third, fourth = tl.zeros([WIDTH], tl.float64), tl.zeros([WIDTH], tl.float64)
    for i in range(tl.program_id(0), tl.cdiv(N, ROWS), STEP):
        n = tl.cast(i, tl.int64) * ROWS + tl.arange(0, ROWS)
        live = n < N
        code = tl.load(t + n, mask=live, other=0)
        share = tl.where(live, 1.0, 0.0)
        if HAS_WEIGHT:
            share = tl.load(weight + n, mask=live, other=0.0).to(tl.float32)
        x = _read(X, n, m, live, M, WIDTH) - _read(centre, code, m, live, M, WIDTH)
        if SQUARED:
            x = x * x
        # Class 0 has the sums of all rows minus the sums of the other classes.
        every += tl.sum(x * share[:, None], axis=0).to(tl.float64)
        if K > 1:
            second += tl.sum(x * tl.where(code == 1, share, 0.0)[:, None], axis=0).to(tl.float64)
        if K > 2:
            third += tl.sum(x * tl.where(code == 2, share, 0.0)[:, None], axis=0).to(tl.float64)
        if K > 3:
            fourth += tl.sum(x * tl.where(code == 3, share, 0.0)[:, None], axis=0).to(tl.float64)
    row = sums + tl.program_id(0) * K * M + m
    tl.store(row, every - second - third - fourth, mask=m < M)
    if K > 1:
        tl.store(row + M, second, mask=m < M)
    if K > 2:
        tl.store(row + 2 * M, third, mask=m < M)
    if K > 3:
        tl.store(row + 3 * M, fourth, mask=m < M)


@triton.jit  # type: ignore[untyped-decorator]
def _extent_kernel(X, found, N, M: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr, STEP: tl.constexpr):  # type: ignore[no-untyped-def]
    m = tl.arange(0, WIDTH)
    low, high = tl.full([WIDTH], float("inf"), tl.float32), tl.full([WIDTH], float("-inf"), tl.float32)
    is_nan = tl.zeros([WIDTH], tl.int32)
    for i in range(tl.program_id(0), tl.cdiv(N, ROWS), STEP):
        n = tl.minimum(tl.cast(i, tl.int64) * ROWS + tl.arange(0, ROWS), N - 1)  # the last tile repeats the last row
        x = _read(X, n, m, n >= 0, M, WIDTH)
        low, high = tl.minimum(low, tl.min(x, axis=0)), tl.maximum(high, tl.max(x, axis=0))
        is_nan = tl.maximum(is_nan, tl.max((x != x).to(tl.int32), axis=0))  # noqa: PLR0124  # true only for NaN
    row = found + tl.program_id(0) * 2 * M + m
    tl.store(row, tl.where(is_nan > 0, float("nan"), low), mask=m < M)
    tl.store(row + M, tl.where(is_nan > 0, float("nan"), high), mask=m < M)


@triton.jit  # type: ignore[untyped-decorator]  # Triton has no type stubs
def _group(X, centre, share, n, live, m, M: tl.constexpr, IS_EVEN: tl.constexpr):  # type: ignore[no-untyped-def]
    """√weight (x - c) in the columns m of the rows n; zero outside the table."""
    at = X + n[:, None] * M + m[None, :]
    if IS_EVEN:  # without a column mask, loads are four times as wide
        x = tl.load(at, mask=live[:, None], other=0.0)
    else:
        x = tl.load(at, mask=live[:, None] & (m < M)[None, :], other=0.0)
    return (x - tl.load(centre + m, mask=m < M, other=0.0)[None, :]) * share[:, None]


@triton.jit  # type: ignore[untyped-decorator]
def _split(z, PART: tl.constexpr, IS_ROUGH: tl.constexpr):  # type: ignore[no-untyped-def]
    """h and 2 l with z = h + l. Integer operations round z to h: no fast instruction rounds float32 to 8 bits."""
    h = ((z.to(tl.int32, bitcast=True) + 0x8000) & -0x10000).to(tl.float32, bitcast=True)
    if IS_ROUGH:  # rounding the bits of a NaN may give zero, and without l the NaN would be lost
        h = tl.where(z != z, z, h)  # noqa: PLR0124  # true only for NaN
    low = z - h
    return h.to(PART), (low + low).to(PART)


@triton.jit  # type: ignore[untyped-decorator]
def _plus(A, left, high, low, IS_ROUGH: tl.constexpr):  # type: ignore[no-untyped-def]
    """A + left (h + 2 l)."""
    A = tl.dot(left, high, A)
    if not IS_ROUGH:
        A = tl.dot(left, low, A)
    return A


@triton.jit  # type: ignore[untyped-decorator]
def _gram_kernel(  # type: ignore[no-untyped-def]
    X,
    centre,
    weight,
    t,
    index,
    pairs,
    tiles,
    sums,
    N,
    M: tl.constexpr,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
    CHUNK: tl.constexpr,
    PART: tl.constexpr,
    CLASSES: tl.constexpr,
    WITH_OWN: tl.constexpr,
    WITH_CROSS: tl.constexpr,
    HAS_WEIGHT: tl.constexpr,
    IS_ROUGH: tl.constexpr,
    IS_EVEN: tl.constexpr,
    IS_INDEXED: tl.constexpr,
):
    pair, stretch = tl.program_id(0), tl.program_id(1)
    column = tl.arange(0, WIDTH)
    mine, theirs = tl.load(pairs + 2 * pair) * WIDTH + column, tl.load(pairs + 2 * pair + 1) * WIDTH + column
    place = tl.cast(stretch, tl.int64) * tl.num_programs(0) + pair
    at = tiles + place * (2 * WIDTH * WIDTH) + column[:, None] * WIDTH + column[None, :]
    k = tl.arange(0, CLASSES)
    head = sums + place * (CLASSES * WIDTH) + k[:, None] * WIDTH + column[None, :]
    per = tl.cdiv(tl.cdiv(N, ROWS), tl.num_programs(1))
    stop = tl.minimum((stretch + 1) * per, tl.cdiv(N, ROWS))
    for first in range(stretch * per, stop, CHUNK // ROWS):
        own, cross = tl.zeros([WIDTH, WIDTH], tl.float32), tl.zeros([WIDTH, WIDTH], tl.float32)
        total = tl.zeros([CLASSES, WIDTH], tl.float32)
        for i in range(first, tl.minimum(first + CHUNK // ROWS, stop)):
            n = tl.cast(i, tl.int64) * ROWS + tl.arange(0, ROWS)
            live = n < N
            share = tl.where(live, 1.0, 0.0)
            if HAS_WEIGHT:
                share *= tl.sqrt(tl.load(weight + n, mask=live, other=0.0).to(tl.float32))
            at_row = tl.load(index + n, mask=live, other=0) if IS_INDEXED else n
            z = _group(X, centre, share, at_row, live, mine, M, IS_EVEN)
            high, low = _split(z, PART, IS_ROUGH)
            left = tl.trans(high)
            if WITH_OWN:
                own = _plus(own, left, high, low, IS_ROUGH)
            if WITH_CROSS:
                y = _group(X, centre, share, at_row, live, theirs, M, IS_EVEN)
                upper, lower = _split(y, PART, IS_ROUGH)
                cross = _plus(cross, left, upper, lower, IS_ROUGH)
            if CLASSES > 1:
                code = tl.load(t + n, mask=live, other=-1)
                is_so = code[None, :] == k[:, None]
                total = tl.dot(tl.where(is_so, 1.0, 0.0).to(PART), high, total)
                total = tl.dot(tl.where(is_so, 0.5, 0.0).to(PART), low, total)
        if WITH_OWN:
            tl.store(at, tl.load(at) + own.to(tl.float64))
        if WITH_CROSS:
            tl.store(at + WIDTH * WIDTH, tl.load(at + WIDTH * WIDTH) + cross.to(tl.float64))
        if CLASSES > 1:
            tl.store(head, tl.load(head) + total.to(tl.float64))


def objective_pass(
    X: Any,
    W: Any,
    origin: Any,
    bias: Any,
    targets: tuple[Any, Any, Any],
    *,
    is_probit: bool = False,
    with_curvature: bool = False,
) -> tuple[Any, Any, Any]:
    """Sums, activations (N, D) and, if requested, the curvature of each row (N,), for two classes.

    ``W`` (D, M) and ``bias`` (D,) are the weights of classes 1 to D minus those of class 0: one row for two classes.
    ``targets`` contains t, the weights and the offsets of the rows; weights and offsets may be None. φ = x - origin, or
    x if origin is None. The sums are Σ ln p, Σ curvature, Σ slope (D), Σ slope φ (D M) and Σ curvature φ (M).
    """
    (N, M), D, (t, weight, offset) = X.shape, len(W), targets
    step = PROGRAMS_PER_PROCESSOR * processors(X)
    rows, width = _tile(M)
    sums = torch.empty(step, 2 + D + (D + 1) * M, dtype=torch.float64, device=X.device)
    a = torch.empty(N, D, dtype=torch.float32, device=X.device)
    bend = torch.empty(N if with_curvature else 1, dtype=torch.float32, device=X.device)
    share = t if weight is None else weight
    has_weight, has_offset = weight is not None, offset is not None
    _objective_kernel[(step,)](
        X, W, W if origin is None else origin, t, share, offset if has_offset else t, a, sums, bias, N, M, D, rows,
        width, step, is_probit, has_weight, has_offset, origin is not None, with_curvature, num_warps=WARPS,
    )  # fmt: skip
    _row_kernel[(step,)](
        a, t, share, sums, bend, N, M, D, 256, step, is_probit, has_weight, with_curvature, num_warps=4
    )
    return sums.sum(dim=0), a, bend


def class_sums(X: Any, centre: Any, t: Any, weight: Any, *, squared: bool) -> Any:
    """Σ weight (x - c_k) for each class (K, M); if ``squared``, Σ weight (x - c_k)²."""
    (N, M), K, step = X.shape, len(centre), PROGRAMS_PER_PROCESSOR * processors(X)
    rows, width = _tile(M)
    sums = torch.empty(step, K, M, dtype=torch.float64, device=X.device)
    _class_kernel[(step,)](
        X, centre, t, t if weight is None else weight, sums, N, M, K, rows, width, step, weight is not None, squared,
        num_warps=WARPS,
    )  # fmt: skip
    return sums.sum(dim=0)


def extents(X: Any) -> tuple[Any, Any]:
    """Smallest and largest value of each column, (M,); NaN if the column contains NaN."""
    (N, M), (rows, width) = X.shape, _tile(X.shape[1])
    step = min(PROGRAMS_PER_PROCESSOR * processors(X), triton.cdiv(N, rows))
    found = torch.empty(step, 2, M, device=X.device)
    _extent_kernel[(step,)](X, found, N, M, rows, width, step, num_warps=WARPS)
    return found[:, 0].amin(dim=0), found[:, 1].amax(dim=0)


def _tile(M: int) -> tuple[int, int]:
    """Numbers of rows and columns of a tile, both powers of two."""
    width = triton.next_power_of_2(M)
    return max(4, min(TILE_ENTRIES // width, 128)), width


def processors(X: Any) -> int:
    """Number of multiprocessors of the device; 1 on a CPU, where Triton's interpreter runs."""
    return int(torch.cuda.get_device_properties(X.device).multi_processor_count) if X.is_cuda else 1


def split_gram(X: Any, centre: Any, weight: Any, chunk: int, *, rough: bool = False, index: Any = None) -> Any:
    """Σ weight (x - centre)(x - centre)' (M, M) in float64; each ``chunk`` of rows is summed in float32.

    Weights must not be negative. With ``rough``, only h is used, which has 8 bits. With ``index``, the sum is over
    these rows, and ``weight`` contains only their weights.
    """
    return _all_tiles(X, centre, weight, (None, 0), chunk, rough=rough, index=index)[1]


def split_moments(X: Any, centre: Any, t: Any, K: int, chunk: int) -> tuple[Any, Any]:
    """Σ (x - centre) for each class (K, M), and Σ (x - centre)(x - centre)' (M, M), in float64.

    The class sums are products with class indicators, which are exact in bfloat16.
    """
    sums, product = _all_tiles(X, centre, None, (t, K), chunk, rough=False)
    return sums, product


def _all_tiles(
    X: Any, centre: Any, weight: Any, classes: tuple[Any, int], chunk: int, *, rough: bool, index: Any = None
) -> Any:
    """Sums of each class (K, M) and G (M, M)."""
    (N, M), (t, K), (rows, stages) = X.shape, classes, GRAM_TILINGS[generation(X)]
    N = N if index is None else len(index)
    width = max(MIN_FACTOR, min(GRAM_COLUMNS, triton.next_power_of_2(M)))
    groups = triton.cdiv(M, width)
    even = groups if groups == 1 else groups + groups % 2
    A = torch.zeros(even, even, width, width, dtype=torch.float64, device=X.device)
    S = torch.zeros(K, even, width, dtype=torch.float64, device=X.device)
    part = tl.bfloat16 if X.is_cuda else tl.float32  # Triton's interpreter cannot multiply bfloat16
    for pairs, with_own, with_cross in _launches(groups, X.device):
        n_sums = max(MIN_FACTOR, triton.next_power_of_2(K)) if K and with_own else 1
        stretches = max(1, min(processors(X) // len(pairs), triton.cdiv(N, rows)))
        tiles = torch.zeros(stretches, len(pairs), 2, width, width, dtype=torch.float64, device=X.device)
        sums = torch.zeros(stretches, len(pairs), n_sums, width, dtype=torch.float64, device=X.device)
        _gram_kernel[(len(pairs), stretches)](
            X, centre, X if weight is None else weight, pairs if t is None else t, pairs if index is None else index,
            pairs, tiles, sums, N, M, rows,
            width, chunk, part, n_sums, with_own, with_cross, weight is not None, rough, even * width == M,
            index is not None,
            num_warps=GRAM_WARPS, num_stages=stages,
        )  # fmt: skip
        (i, j), found = pairs.long().T, tiles.sum(dim=0)
        if with_cross:
            A[i, j] = found[:, 1]
        if with_own:
            A[i, i] = found[:, 0]
            S[:, i] = sums.sum(dim=0)[:, :K].transpose(0, 1)
    A = A.transpose(1, 2).reshape(even * width, even * width)[:M, :M]
    return S.view(K, even * width)[:, :M], 0.5 * (A + A.T)


@cache
def _launches(groups: int, device: Any) -> list[tuple[Any, bool, bool]]:
    """Pairs (i, j) of column groups, and whether their programs compute the tile (i, i) and the tile (i, j)."""
    every = range(groups)
    own = [(i, i ^ 1 if groups > 1 else i) for i in every]
    rest = [pair for pair in product(every, repeat=2) if pair[0] != pair[1] and pair not in own]
    launches = ((own, True, groups > 1), (rest, False, True))
    return [(torch.tensor(pairs, dtype=torch.int32, device=device), *what) for pairs, *what in launches if pairs]


def generation(X: Any) -> int:
    """Major compute capability of the device; Triton's interpreter counts as the latest generation."""
    return torch.cuda.get_device_capability(X.device)[0] if X.is_cuda else max(GRAM_TILINGS)
