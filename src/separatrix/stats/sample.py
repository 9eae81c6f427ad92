# SPDX-License-Identifier: BSD-3-Clause
"""Some of the rows, spread evenly over all of them: a first look, and a cheap first fit.

One row is drawn at random from each stretch of equal length, so neither sorted nor periodic tables mislead. The draw
depends on the number of the row alone: the same rows give the same sample, in whatever blocks and from wherever they
come. Rows of weight zero are not there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from separatrix._array import Array, Codes, device_aware, is_sparse
from separatrix.rows import Block, DeviceRows, InMemory, Source, as_source, open_rows

__all__ = ["Sample", "collect_sample", "drawn_numbers", "representative_sample"]

TALLER = 16  # blocks than elsewhere: of most rows nothing is read, and few large pieces are sooner sent and joined
FAIR = 2.0  # the weight of all rows, as estimated from those that were drawn, is off by less than this factor


@dataclass(frozen=True, eq=False, slots=True)
class Sample:
    """Blocks of rows that were drawn, the rows there were to draw from, and their weight; ``+`` keeps both."""

    parts: tuple[Block, ...]
    n_live: int
    total: float

    def __add__(self, other: Sample) -> Sample:
        return Sample(self.parts + other.parts, self.n_live + other.n_live, self.total + other.total)


@device_aware
def draw(block: Block, stretch: int) -> Sample:
    """One row out of each ``stretch``; of those that have weight, they are kept."""
    start, stop = int(block.row[0]), int(block.row[-1]) + 1
    rows = drawn_numbers(start, stop, stretch) - start
    n, total = len(block), float(len(block))
    if block.weight is not None:
        n, total = int(np.count_nonzero(block.weight > 0)), float(block.weight.sum())
        rows = rows[block.weight[rows] > 0]
    return Sample((block.take(rows),) if len(rows) else (), n, total)


def drawn_numbers(start: int, stop: int, length: int) -> Codes:
    """Of rows numbered from ``start`` to ``stop``, those that are drawn: one from each stretch of so many rows.

    Which one follows from the number of the stretch alone, by the mixing of SplitMix64 (Steele 2014).
    """
    stretch = np.arange(start // length, -(-stop // length))
    with np.errstate(over="ignore"):
        z = (stretch.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    chosen = stretch * length + (z % np.uint64(length)).astype(np.intp)
    return np.asarray(chosen[(chosen >= start) & (chosen < stop)])


def collect_sample(source: Source, rows: int) -> InMemory:
    """About ``rows`` rows of a source, in host memory; their weights are scaled to stand for all of them."""
    sample = _drawn(source, rows)
    X = _stacked([np.asarray(part.X) if isinstance(part.X, DeviceRows) else part.X for part in sample.parts])
    t, weight, offset = _numbers(sample)
    return replace(as_source(X, None if t is None else np.asarray(t), weight), offset=offset)


def representative_sample(source: Source, rows: int, least: int) -> Source | None:
    """The same where the rows live, or None where it does not stand for all of them: too few rows have weight, or a
    few have most of it.
    """
    sample = _drawn(source, rows)
    n = sum(len(part) for part in sample.parts)
    weight = sum(float(len(part) if part.weight is None else part.weight.sum()) for part in sample.parts)
    if n < least or not 1 / FAIR < weight * sample.n_live / n / sample.total < FAIR:
        return None
    X = _stacked([part.X for part in sample.parts])
    return open_rows(X).attached(*_numbers(sample))


def _drawn(source: Source, rows: int) -> Sample:
    stretch = max(1, source.n_rows // rows)
    source = source.sized_for(max(1, len(source.columns) // TALLER))
    sample = source.reduce(partial(draw, stretch=stretch))
    if stretch > 1 and sample.n_live < source.n_rows / 2:  # of so few, more are needed
        sample = source.reduce(partial(draw, stretch=max(1, sample.n_live // rows)))
    return sample


def _numbers(sample: Sample) -> tuple[Any, Any, Any]:
    """Targets, weights and offsets of the rows that were drawn."""
    t, weight, offset = (_joined([getattr(part, name) for part in sample.parts]) for name in ("t", "weight", "offset"))
    n = sum(len(part) for part in sample.parts)
    share = sample.n_live / n
    return t, np.full(n, share) if weight is None else share * weight, offset


def _stacked(parts: list[Any]) -> Any:
    if isinstance(parts[0], DeviceRows):
        return DeviceRows.joined(parts).tensor
    return sparse.vstack(parts, format="csr") if is_sparse(parts[0]) else np.concatenate(parts)


def _joined(parts: list[Array | None]) -> Any:
    if parts[0] is None or len(parts) == 1:  # which may stay where it is
        return parts[0]
    return np.concatenate([part for part in parts if part is not None])
