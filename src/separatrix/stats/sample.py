# SPDX-License-Identifier: BSD-3-Clause
"""Some of the rows, spread evenly over all of them: a first look, and a cheap first fit.

One row is drawn at random from each stretch of equal length, so neither sorted nor periodic tables mislead. The draw
depends on the number of the row alone: the same rows give the same sample. Rows of weight zero are not there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from separatrix._array import Array, is_sparse
from separatrix.data import Block, InMemory, Source, as_source
from separatrix.data.memory import block_rows

__all__ = ["Sample", "collect_sample", "representative_sample"]

FAIR = 2.0  # the weight of all rows, as estimated from those that were drawn, is off by less than this factor


@dataclass(frozen=True, eq=False, slots=True)
class Sample:
    """Blocks of rows that were drawn, the rows there were to draw from, and their weight; ``+`` keeps both."""

    parts: tuple[Block, ...]
    n_live: int
    total: float

    def __add__(self, other: Sample) -> Sample:
        return Sample(self.parts + other.parts, self.n_live + other.n_live, self.total + other.total)


def draw(block: Block, stretch: int) -> Sample:
    """One row out of each ``stretch`` of those rows of a block that have weight."""
    if block.weight is None:
        live, total = None, float(len(block))
    else:
        live, total = np.flatnonzero(block.weight > 0), float(block.weight.sum())
    n = len(block) if live is None else len(live)
    starts = np.arange(0, n, stretch)
    jump = np.random.default_rng(block.row[0]).integers(stretch, size=len(starts))
    # The last stretch may be short; then its row is there with the probability that it would have elsewhere.
    chosen = (starts + jump)[starts + jump < n]
    rows = chosen if live is None else live[chosen]
    return Sample((block.take(rows),) if len(rows) else (), n, total)


def collect_sample(source: Source, rows: int) -> InMemory:
    """About ``rows`` rows of a source, in memory; their weights are scaled to stand for all of them."""
    return _in_memory(_drawn(source, rows))


def representative_sample(source: Source, rows: int, least: int) -> InMemory | None:
    """The same, or None where it does not stand for all rows: too few have weight, or a few have most of it."""
    sample = _drawn(source, rows)
    n = sum(len(part) for part in sample.parts)
    weight = sum(float(len(part) if part.weight is None else part.weight.sum()) for part in sample.parts)
    if n < least or not 1 / FAIR < weight * sample.n_live / n / sample.total < FAIR:
        return None
    return _in_memory(sample)


def _drawn(source: Source, rows: int) -> Sample:
    stretch = max(1, source.n_rows // rows)
    sample = source.reduce(partial(draw, stretch=stretch))
    if stretch > 1 and sample.n_live < source.n_rows / 2:  # of so few, more are needed
        sample = source.reduce(partial(draw, stretch=max(1, sample.n_live // rows)))
    return sample


def _in_memory(sample: Sample) -> InMemory:
    parts = sample.parts
    X: Any = _stacked([part.X for part in parts])
    drawn = as_source(X)
    weight = _joined([part.weight for part in parts])
    share = sample.n_live / drawn.n_rows
    return InMemory(
        drawn.reader,
        _joined([part.t for part in parts]),
        np.full(drawn.n_rows, share) if weight is None else share * weight,
        block_rows(drawn.reader.row_numbers),
        _joined([part.offset for part in parts]),
    )


def _stacked(parts: list[Any]) -> Any:
    return sparse.vstack(parts, format="csr") if is_sparse(parts[0]) else np.concatenate(parts)


def _joined(parts: list[Array | None]) -> Any:
    return None if parts[0] is None else np.concatenate([part for part in parts if part is not None])
