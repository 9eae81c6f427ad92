# SPDX-License-Identifier: BSD-3-Clause
"""Some of the rows, spread evenly over all of them: a first look, and a cheap first fit.

One row is drawn at random from each stretch of equal length, so neither sorted nor periodic tables mislead. The draw
depends on the number of the row alone: the same rows give the same sample.
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

__all__ = ["Sample", "collect_sample"]


@dataclass(frozen=True, eq=False, slots=True)
class Sample:
    """Blocks of rows that were drawn; ``+`` keeps both."""

    parts: tuple[Block, ...]

    def __add__(self, other: Sample) -> Sample:
        return Sample(self.parts + other.parts)


def draw(block: Block, stretch: int) -> Sample:
    """One row out of each ``stretch`` of a block."""
    n = len(block)
    starts = np.arange(0, n, stretch)
    jump = np.random.default_rng(block.row[0]).integers(stretch, size=len(starts))
    # The last stretch may be short; then its row is there with the probability that it would have elsewhere.
    chosen = (starts + jump)[starts + jump < n]
    return Sample((block.take(chosen),) if len(chosen) else ())


def collect_sample(source: Source, rows: int) -> InMemory:
    """About ``rows`` rows of a source, in memory; their weights are scaled to stand for all of them."""
    stretch = max(1, source.n_rows // rows)
    parts = source.reduce(partial(draw, stretch=stretch)).parts
    X: Any = _stacked([part.X for part in parts])
    drawn = as_source(X)
    weight = _joined([part.weight for part in parts])
    share = source.n_rows / drawn.n_rows
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
