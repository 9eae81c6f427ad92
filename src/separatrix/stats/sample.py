# SPDX-License-Identifier: BSD-3-Clause
"""A stratified sample of the rows, for starting values and cheap first fits.

One row is drawn at random from each stratum of consecutive rows, so samples of sorted and periodic tables are unbiased.
The draw depends only on the row number, not on how rows are stored or split into blocks.
Rows of weight zero are never drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from separatrix._array import Array, Codes, device_aware, is_sparse
from separatrix.rows import Block, DeviceRows, Source, Summed, as_source, open_rows

BLOCK_FACTOR = 16  # blocks have this many times more rows than in other passes, because few rows are kept
MAX_WEIGHT_RATIO = 2.0  # largest error, as a factor, of the total weight estimated from a representative sample


@dataclass(frozen=True, eq=False, slots=True)
class Sample(Summed):
    """Blocks of drawn rows, and the number and total weight of all rows with positive weight."""

    parts: tuple[Block, ...]
    n_live: int
    total: float


@device_aware
def draw(block: Block, stride: int) -> Sample:
    """Draw one row from each ``stride`` consecutive rows, and keep it if its weight is positive."""
    start, stop = int(block.row[0]), int(block.row[-1]) + 1
    rows = drawn_numbers(start, stop, stride) - start
    n, total = len(block), float(len(block))
    if block.weight is not None:
        n, total = int(np.count_nonzero(block.weight > 0)), float(block.weight.sum())
        rows = rows[block.weight[rows] > 0]
    return Sample((block.take(rows),) if len(rows) else (), n, total)


def drawn_numbers(start: int, stop: int, stride: int) -> Codes:
    """Numbers of the rows drawn from ``start`` to ``stop``: one row from every ``stride`` rows."""
    stratum = np.arange(start // stride, -(-stop // stride))
    chosen = stratum * stride + random_places(stratum, stride)
    return np.asarray(chosen[(chosen >= start) & (chosen < stop)])


def random_places(numbers: Codes, n: int) -> Codes:
    """A random number below n for each number, always the same: the mixing function of SplitMix64 (Steele 2014)."""
    with np.errstate(over="ignore"):
        z = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return np.asarray((z % np.uint64(n)).astype(np.intp))


def collect_sample(source: Source, rows: int) -> Source:
    """Draw about ``rows`` rows into host memory. Weights are scaled so that the sample represents all rows."""
    sample = _drawn(source, rows)
    X = _stacked([np.asarray(part.X) if isinstance(part.X, DeviceRows) else part.X for part in sample.parts])
    t, weight, offset = _joined_targets(sample)
    return as_source(X).with_numbers(None if t is None else np.asarray(t), weight, offset)


def representative_sample(source: Source, rows: int, least: int) -> Source | None:
    """Draw about ``rows`` rows without moving them to the host.

    Return None if the sample does not represent all rows: fewer than ``least`` rows have weight, or a few rows have
    most of the weight.
    """
    sample = _drawn(source, rows)
    n = sum(len(part) for part in sample.parts)
    weight = sum(float(len(part) if part.weight is None else part.weight.sum()) for part in sample.parts)
    if n < least or not 1 / MAX_WEIGHT_RATIO < weight * sample.n_live / n / sample.total < MAX_WEIGHT_RATIO:
        return None
    X = _stacked([part.X for part in sample.parts])
    return open_rows(X).with_numbers(*_joined_targets(sample))


def _drawn(source: Source, rows: int) -> Sample:
    stride = max(1, source.n_rows // rows)
    source = source.sized_for(max(1, len(source.columns) // BLOCK_FACTOR))
    sample = source.reduce(partial(draw, stride=stride))
    if stride > 1 and sample.n_live < source.n_rows / 2:  # most rows have weight 0: draw more rows
        sample = source.reduce(partial(draw, stride=max(1, sample.n_live // rows)))
    return sample


def _joined_targets(sample: Sample) -> tuple[Any, Any, Any]:
    """Targets, weights and offsets of the drawn rows."""
    t, weight, offset = (_joined([getattr(part, name) for part in sample.parts]) for name in ("t", "weight", "offset"))
    n = sum(len(part) for part in sample.parts)
    factor = sample.n_live / n
    return t, np.full(n, factor) if weight is None else factor * weight, offset


def _stacked(parts: list[Any]) -> Any:
    if isinstance(parts[0], DeviceRows):
        return DeviceRows.joined(parts).tensor
    return sparse.vstack(parts, format="csr") if is_sparse(parts[0]) else np.concatenate(parts)


def _joined(parts: list[Array | None]) -> Any:
    if parts[0] is None or len(parts) == 1:  # a single part may stay on the GPU
        return parts[0]
    return np.concatenate([part for part in parts if part is not None])
