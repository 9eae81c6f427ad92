# SPDX-License-Identifier: BSD-3-Clause
"""Rows in memory: NumPy arrays, SciPy sparse matrices, and data frames of any library.

Nothing here copies the table: a block is a view of some rows, or those rows alone converted. The exception is a data
frame of several types that is read again and again: it is converted once, where memory allows (`reader`).
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from separatrix._array import Array, Float, Rows, is_sparse
from separatrix._threads import map_in_order
from separatrix.rows.block import Block
from separatrix.rows.reader import Reader, open_reader
from separatrix.rows.source import Stat
from separatrix.rows.watch import followed

__all__ = ["InMemory", "as_source", "join_answers", "spans_of"]

Answer = TypeVar("Answer")
State = TypeVar("State")

BLOCK_BYTES = 2**21  # about what one core keeps in its second-level cache
MIN_ROWS, MAX_ROWS = 256, 2**16
MAP_BLOCKS = 2  # answers of rows are smaller than statistics of blocks, so there may be fewer of them


def block_rows(width: float) -> int:
    """Rows per block for ``width`` float64 numbers per row.

    As many as fit the cache, but where rows are long at least as many as there are columns (up to
    4096): a pass returns M x M numbers per block, which should not outweigh the block itself.
    """
    fit = int(BLOCK_BYTES / (8 * max(width, 1)))
    return max(MIN_ROWS, min(fit, MAX_ROWS), min(int(width), 4096))


@dataclass(frozen=True)
class InMemory:
    """A table in memory with its targets and weights, read block by block.

    It may be a part of a larger one, in which its rows have numbers from ``first`` on, and be worked on by one of many
    tasks: then on ``one_thread``, and nobody is told how far it is.
    """

    reader: Reader
    t: Array | None
    weight: Float | None
    rows_per_block: int
    offset: Float | None = None
    first: int = 0
    one_thread: bool = False

    @property
    def n_rows(self) -> int:
        """N."""
        return self.reader.n_rows

    @property
    def columns(self) -> tuple[str, ...]:
        """Column names."""
        return self.reader.columns

    def sized_for(self, width: int) -> InMemory:
        """The same rows in blocks that suit ``width`` numbers per row."""
        return replace(self, rows_per_block=block_rows(width))

    def taller(self, factor: int) -> InMemory:
        """The same rows in blocks of more rows."""
        return replace(self, rows_per_block=factor * self.rows_per_block)

    def reduce(self, statistic: Callable[[Block], Stat]) -> Stat:
        """One pass. Blocks and the order of additions are fixed, so equal runs give equal bits."""
        spans = spans_of(self.n_rows, self.rows_per_block)
        return functools.reduce(operator.add, self._each(lambda span: statistic(self._block(span)), spans))

    def fold(
        self, step: Callable[[State, Block], State], state: State, rng: np.random.Generator | None = None
    ) -> State:
        """Thread ``state`` through the blocks in order, or shuffled: first blocks, then rows within."""
        spans = spans_of(self.n_rows, self.rows_per_block)
        order = spans if rng is None else [spans[i] for i in rng.permutation(len(spans))]
        for span in order if self.one_thread else followed(order, order):
            block = self._block(span)
            state = step(state, block if rng is None else block.take(rng.permutation(len(block))))
        return state

    def map(self, row_function: Callable[[Rows], Array]) -> Array:
        """``row_function`` of every row, in order; sparse where its answers are."""
        spans = spans_of(self.n_rows, MAP_BLOCKS * self.rows_per_block)
        answers = self._each(lambda span: row_function(self.reader.read(span)), spans)
        return join_answers(iter(answers), spans, self.n_rows)

    def _each(self, work: Callable[[slice], Answer], spans: list[slice]) -> Iterable[Answer]:
        return map(work, spans) if self.one_thread else followed(map_in_order(work, spans), spans)

    def _block(self, span: slice) -> Block:
        return Block(
            X=self.reader.read(span),
            t=None if self.t is None else self.t[span],
            weight=None if self.weight is None else self.weight[span],
            row=range(self.first + span.start, self.first + span.stop),
            offset=None if self.offset is None else self.offset[span],
        )


def spans_of(n_rows: int, rows: int) -> list[slice]:
    """All rows, at most so many at a time."""
    return [slice(start, min(start + rows, n_rows)) for start in range(0, n_rows, rows)]


def join_answers(answers: Iterator[Array], spans: Sequence[slice], n_rows: int) -> Array:
    """The answers of spans of rows as one array, allocated once and like the first of them; sparse where they are."""
    first = next(answers)
    if len(spans) == 1:
        return first
    if is_sparse(first):
        stacked = sparse.vstack([first, *answers], format="csr")
        return sparse.csr_array(stacked)  # type: ignore[no-any-return]  # SciPy ships no types
    whole = np.empty((n_rows, *first.shape[1:]), first.dtype)
    whole[spans[0]] = first
    for span, answer in zip(spans[1:], answers, strict=True):
        whole[span] = answer
    return whole


def as_source(X: Any, t: Array | None = None, weight: Float | None = None) -> InMemory:
    """Rows of any in-memory table, with class codes (or real targets) and weights if there are any."""
    reader = open_reader(X)
    return InMemory(reader, t, weight, block_rows(reader.row_numbers))
