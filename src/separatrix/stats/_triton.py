# SPDX-License-Identifier: BSD-3-Clause
"""Kernels for float32 rows on a CUDA device that read each row once, at the rate of the memory.

    logit_pass      ln p, slope and curvature of a logistic regression, and Σ slope φ with φ = x - origin
    class_sums      Σ (x - c_k), or of its squares, for each class
    extent_pass     the smallest and largest value of each column, and the longest row

Each program takes every so-many-th tile of rows and keeps its sums in float64: the same rows give the same bits.
Nothing as tall as the table is written, but for a number or two per row by the first. `_triton_gram` has the products
of columns, `device` the plain versions. Import this file only where it is used: it pulls in Triton.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

__all__ = ["MOST_CLASSES", "MOST_COLUMNS", "class_sums", "extent_pass", "logit_pass", "processors"]

MOST_COLUMNS = 1024  # a row that a program can hold
MOST_CLASSES = 4  # whose sums it can hold beside
TILE = 4096  # numbers in a tile of rows
PROGRAMS, WARPS = 8, 2  # for each multiprocessor, and in each: what reads at the full rate of the memory


@triton.jit  # type: ignore[untyped-decorator]  # Triton ships no types
def _read(X, n, m, live, M: tl.constexpr, WIDTH: tl.constexpr):  # type: ignore[no-untyped-def]  # pointers
    at = X + n[:, None] * M + m[None, :]
    # Without a mask by column, where none is needed, loads are four times as wide.
    if WIDTH == M:
        return tl.load(at, mask=live[:, None], other=0.0)
    return tl.load(at, mask=live[:, None] & (m < M)[None, :], other=0.0)


@triton.jit  # type: ignore[untyped-decorator]
def _logit_kernel(  # type: ignore[no-untyped-def]
    X,
    w,
    origin,
    t,
    weight,
    offset,
    activation,
    sums,
    bias,
    N,
    M: tl.constexpr,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
    STEP: tl.constexpr,
    HAS_WEIGHT: tl.constexpr,
    HAS_OFFSET: tl.constexpr,
    HAS_ORIGIN: tl.constexpr,
    WITH_CURVATURE: tl.constexpr,
):
    """Activations, Σ slope φ and Σ curvature φ. What is left of the row's numbers is done once, by `_row_kernel`."""
    m = tl.arange(0, WIDTH)
    w_m = tl.load(w + m, mask=m < M, other=0.0)
    c_m = tl.load(origin + m, mask=m < M, other=0.0)
    slopes, bends = tl.zeros([WIDTH], tl.float64), tl.zeros([WIDTH], tl.float64)
    for i in range(tl.program_id(0), tl.cdiv(N, ROWS), STEP):
        n = tl.cast(i, tl.int64) * ROWS + tl.arange(0, ROWS)
        live = n < N
        x = _read(X, n, m, live, M, WIDTH)
        if HAS_ORIGIN:
            x -= c_m[None, :]
        a = tl.sum(x * w_m[None, :], axis=1) + bias
        if HAS_OFFSET:
            a += tl.load(offset + n, mask=live, other=0.0).to(tl.float32)
        tl.store(activation + n, a, mask=live)
        e = tl.exp(-tl.abs(a))
        low = e / (1.0 + e)
        share = tl.where(live, 1.0, 0.0)
        if HAS_WEIGHT:
            share = tl.load(weight + n, mask=live, other=0.0).to(tl.float32)
        slope = tl.load(t + n, mask=live, other=0).to(tl.float32) - tl.where(a >= 0, 1.0, 0.0)
        slopes += tl.sum(x * (share * (slope + tl.where(a >= 0, low, -low)))[:, None], axis=0).to(tl.float64)
        if WITH_CURVATURE:
            bends += tl.sum(x * (share * low * (1.0 - low))[:, None], axis=0).to(tl.float64)
    row = sums + tl.program_id(0) * (3 + 2 * M) + 3 + m
    tl.store(row, slopes, mask=m < M)
    tl.store(row + M, bends, mask=m < M)


@triton.jit  # type: ignore[untyped-decorator]
def _row_kernel(  # type: ignore[no-untyped-def]
    activation,
    t,
    weight,
    sums,
    curvature,
    N,
    M: tl.constexpr,
    ROWS: tl.constexpr,
    STEP: tl.constexpr,
    HAS_WEIGHT: tl.constexpr,
    WITH_CURVATURE: tl.constexpr,
):
    """Σ of ln p, slope and curvature, in float64: a line search looks at the last digits of the first."""
    value, slopes, bends = tl.zeros([ROWS], tl.float64), tl.zeros([ROWS], tl.float64), tl.zeros([ROWS], tl.float64)
    for i in range(tl.program_id(0), tl.cdiv(N, ROWS), STEP):
        n = tl.cast(i, tl.int64) * ROWS + tl.arange(0, ROWS)
        live = n < N
        a = tl.load(activation + n, mask=live, other=0.0).to(tl.float64)
        share = tl.where(live, 1.0, 0.0).to(tl.float64)
        if HAS_WEIGHT:
            share = tl.load(weight + n, mask=live, other=0.0)
        e = tl.exp(-tl.abs(a))
        low = e / (1.0 + e)
        miss = tl.where(a >= 0, 1.0, 0.0) - tl.load(t + n, mask=live, other=0).to(tl.float64)
        value -= share * (miss * a + tl.log(1.0 + e))
        slopes += share * (tl.where(a >= 0, low, -low) - miss)
        if WITH_CURVATURE:
            bend = share * low * (1.0 - low)
            bends += bend
            tl.store(curvature + n, bend.to(tl.float32), mask=live)
    head = sums + tl.program_id(0) * (3 + 2 * M)
    tl.store(head, tl.sum(value, axis=0))
    tl.store(head + 1, tl.sum(slopes, axis=0))
    tl.store(head + 2, tl.sum(bends, axis=0))


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
        # The sums of class 0 are what the others leave of those of all rows.
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
def _extent_kernel(  # type: ignore[no-untyped-def]
    X, lows, highs, longest, N, M: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr, STEP: tl.constexpr
):
    m = tl.arange(0, WIDTH)
    low, high = tl.full([WIDTH], float("inf"), tl.float32), tl.full([WIDTH], float("-inf"), tl.float32)
    far = tl.zeros([ROWS], tl.float32)
    for i in range(tl.program_id(0), tl.cdiv(N, ROWS), STEP):
        n = tl.minimum(tl.cast(i, tl.int64) * ROWS + tl.arange(0, ROWS), N - 1)  # the last row again, and not zeros
        x = _read(X, n, m, n < N, M, WIDTH)
        low, high = tl.minimum(low, tl.min(x, axis=0)), tl.maximum(high, tl.max(x, axis=0))
        far = tl.maximum(far, tl.sum(x * x, axis=1))
    row = tl.program_id(0) * M
    tl.store(lows + row + m, low, mask=m < M)
    tl.store(highs + row + m, high, mask=m < M)
    tl.store(longest + tl.program_id(0), tl.max(far, axis=0))


def logit_pass(
    X: Any, w: Any, origin: Any, t: Any, weight: Any, offset: Any, bias: float, *, with_curvature: bool
) -> tuple[Any, Any]:
    """Σ of ln p, slope, curvature, slope φ and curvature φ, one after the other (3 + 2 M,); and each row's curvature.

    φ = x - origin, or x where that is None. Without ``with_curvature`` there is none.
    """
    (N, M), step = X.shape, _programs(X)
    rows, width = _tile(M)
    sums = torch.empty(step, 3 + 2 * M, dtype=torch.float64, device=X.device)  # of the rows, then of the columns
    a = torch.empty(N, dtype=torch.float32, device=X.device)
    bend = torch.empty(N if with_curvature else 1, dtype=torch.float32, device=X.device)
    share = t if weight is None else weight
    has_weight, has_offset = weight is not None, offset is not None
    _logit_kernel[(step,)](
        X, w, w if origin is None else origin, t, share, offset if has_offset else t, a, sums, bias, N, M, rows, width,
        step, has_weight, has_offset, origin is not None, with_curvature, num_warps=WARPS,
    )  # fmt: skip
    _row_kernel[(step,)](a, t, share, sums, bend, N, M, 256, step, has_weight, with_curvature, num_warps=4)
    return sums.sum(dim=0), bend


def class_sums(X: Any, centre: Any, t: Any, weight: Any, *, squared: bool) -> Any:
    """Σ weight (x - c_k) for each class, or of its squares, (K, M)."""
    (N, M), K, step = X.shape, len(centre), _programs(X)
    rows, width = _tile(M)
    sums = torch.empty(step, K, M, dtype=torch.float64, device=X.device)
    _class_kernel[(step,)](
        X, centre, t, t if weight is None else weight, sums, N, M, K, rows, width, step, weight is not None, squared,
        num_warps=WARPS,
    )  # fmt: skip
    return sums.sum(dim=0)


def extent_pass(X: Any) -> tuple[Any, Any, Any]:
    """The smallest and largest value of each column (M,), and the largest |x|²; NaN is passed over."""
    (N, M), step = X.shape, _programs(X)
    rows, width = _tile(M)
    low, high = (torch.empty(step, M, dtype=torch.float32, device=X.device) for _ in range(2))
    longest = torch.empty(step, dtype=torch.float32, device=X.device)
    _extent_kernel[(step,)](X, low, high, longest, N, M, rows, width, step, num_warps=WARPS)
    return low.amin(dim=0), high.amax(dim=0), longest.max()


def _tile(M: int) -> tuple[int, int]:
    """Rows and columns of a tile, powers of two."""
    width = triton.next_power_of_2(M)
    return max(4, min(TILE // width, 128)), width


def _programs(X: Any) -> int:
    return PROGRAMS * processors(X)


def processors(X: Any) -> int:
    """Multiprocessors of the device; on a CPU Triton's interpreter runs one program after another."""
    return int(torch.cuda.get_device_properties(X.device).multi_processor_count) if X.is_cuda else 1
