# SPDX-License-Identifier: BSD-3-Clause
"""Products of columns of float32 rows on a CUDA device, by tensor cores.

    split_gram      Σ weight (x - c)(x - c)'
    split_moments   the same without weights, and Σ (x - c) for each class

**The split.** Tensor cores multiply bfloat16, whose eight bits are few, at ten times the rate of float32. Two of them
hold 16 bits of z = √weight (x - c) = h + l, and the product of the two small parts, 2⁻¹⁸ of the whole, is left out:

    G = Σ h h' + h l' + l h' = ½ (A + A'),     A = Σ h (h + 2 l)'

so that a tile of A is two products, of which the left factor is the same, and doubling is exact.

**The tiles.** A program owns a tile of 128 x 128 columns on the diagonal of A and the one beside it, for a stretch of
rows. It reads the columns of both, splits them in registers, and keeps both tiles there: with 256 columns each number
is read by two programs, which run side by side and find it in the cache. Of more columns the other tiles are programs
of their own. Nothing as tall as the table is written.

**The accuracy.** A program sums a chunk of rows in float32, and chunks in float64 in memory of its own: the same rows
give the same bits. Tensor cores drop the bits that a sum has no room for, so that errors grow with the chunk. In units
of the lengths of the two columns of an entry they are 4e-6 where 400 rows are summed, 7e-6 where 1200 are and 1.2e-5
where 2400 are, whatever the spreads of the columns.

`device` has the plain version. Import this file only where it is used: it pulls in Triton.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import torch
import triton
import triton.language as tl

from separatrix.stats._triton import processors

__all__ = ["MOST_MOMENTS", "TILINGS", "generation", "split_gram", "split_moments"]

MOST_MOMENTS = 64  # classes whose sums a program can hold beside its tiles
WIDTH = 128  # columns of a tile, at most
WARPS = 8  # of a program: with twice as many a thread has too few registers for its part of the tiles
LEAST = 16  # rows or columns of a factor that tensor cores take

# By generation of the device: rows that are split and multiplied at a time, and how many such are under way from
# memory. The first is what an H200 likes best; the others have less memory beside their cores.
TILINGS = {9: (64, 3), 8: (32, 2), 12: (32, 2)}


@triton.jit  # type: ignore[untyped-decorator]  # Triton ships no types
def _group(X, centre, share, i, live, m, M: tl.constexpr, ROWS: tl.constexpr, IS_EVEN: tl.constexpr):  # type: ignore[no-untyped-def]
    """√weight (x - c) in the columns m of the i-th block of rows; zero outside the table."""
    at = X + tl.cast(i, tl.int64) * (ROWS * M) + tl.arange(0, ROWS)[:, None] * M + m[None, :]
    if IS_EVEN:  # without a mask by column loads are four times as wide
        x = tl.load(at, mask=live[:, None], other=0.0)
    else:
        x = tl.load(at, mask=live[:, None] & (m < M)[None, :], other=0.0)
    return (x - tl.load(centre + m, mask=m < M, other=0.0)[None, :]) * share[:, None]


@triton.jit  # type: ignore[untyped-decorator]
def _split(z, PART: tl.constexpr, IS_ROUGH: tl.constexpr):  # type: ignore[no-untyped-def]
    """h and 2 l, where z = h + l. Rounding by the bits: there is no fast instruction that gives back a float32."""
    h = ((z.to(tl.int32, bitcast=True) + 0x8000) & -0x10000).to(tl.float32, bitcast=True)
    if IS_ROUGH:  # the bits of a NaN may wrap around to zero, and there will be no l to show it
        h = tl.where(z != z, z, h)  # noqa: PLR0124  # true of NaN alone
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
            z = _group(X, centre, share, i, live, mine, M, ROWS, IS_EVEN)
            high, low = _split(z, PART, IS_ROUGH)
            left = tl.trans(high)
            if WITH_OWN:
                own = _plus(own, left, high, low, IS_ROUGH)
            if WITH_CROSS:
                y = _group(X, centre, share, i, live, theirs, M, ROWS, IS_EVEN)
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


def split_gram(X: Any, centre: Any, weight: Any, chunk: int, *, rough: bool = False) -> Any:
    """Σ weight (x - centre)(x - centre)' (M, M) in float64, each ``chunk`` of rows summed in float32 first.

    Weights are not negative. A ``rough`` one takes the eight bits of the larger part alone.
    """
    return _all_tiles(X, centre, weight, None, 0, chunk, rough=rough)[1]


def split_moments(X: Any, centre: Any, t: Any, K: int, chunk: int) -> tuple[Any, Any]:
    """Σ (x - centre) for each class (K, M), and Σ (x - centre)(x - centre)' (M, M), in float64.

    The sums are products with an indicator of each class, which bfloat16 holds exactly.
    """
    return _all_tiles(X, centre, None, t, K, chunk, rough=False)


def _all_tiles(X: Any, centre: Any, weight: Any, t: Any, K: int, chunk: int, *, rough: bool) -> tuple[Any, Any]:
    """Sums of the classes (K, M) and G (M, M)."""
    (N, M), (rows, stages) = X.shape, TILINGS[generation(X)]
    width = max(LEAST, min(WIDTH, triton.next_power_of_2(M)))
    groups = triton.cdiv(M, width)
    even = groups if groups == 1 else groups + groups % 2
    A = torch.zeros(even, even, width, width, dtype=torch.float64, device=X.device)
    S = torch.zeros(K, even, width, dtype=torch.float64, device=X.device)
    part = tl.bfloat16 if X.is_cuda else tl.float32  # of which Triton's interpreter knows the products
    for pairs, with_own, with_cross in _launches(groups, X.device):
        classes = max(LEAST, triton.next_power_of_2(K)) if K and with_own else 1
        stretches = max(1, min(processors(X) // len(pairs), triton.cdiv(N, rows)))
        tiles = torch.zeros(stretches, len(pairs), 2, width, width, dtype=torch.float64, device=X.device)
        sums = torch.zeros(stretches, len(pairs), classes, width, dtype=torch.float64, device=X.device)
        _gram_kernel[(len(pairs), stretches)](
            X, centre, X if weight is None else weight, pairs if t is None else t, pairs, tiles, sums, N, M, rows,
            width, chunk, part, classes, with_own, with_cross, weight is not None, rough, even * width == M,
            num_warps=WARPS, num_stages=stages,
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
    """Pairs (i, j) of column groups, and whether their programs own the tile (i, i) and the tile (i, j)."""
    every = range(groups)
    own = [(i, i ^ 1 if groups > 1 else i) for i in every]
    rest = [pair for pair in product(every, repeat=2) if pair[0] != pair[1] and pair not in own]
    launches = ((own, True, groups > 1), (rest, False, True))
    return [(torch.tensor(pairs, dtype=torch.int32, device=device), *what) for pairs, *what in launches if pairs]


def generation(X: Any) -> int:
    """The major number of the compute capability of the device; Triton's interpreter passes for the latest."""
    return torch.cuda.get_device_capability(X.device)[0] if X.is_cuda else max(TILINGS)
