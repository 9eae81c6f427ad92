# SPDX-License-Identifier: BSD-3-Clause
"""One partition, inside the task that reads it: blocks that fit the cache, on the one thread that the task has.

How many tasks run at a time is the scheduler's to say, so nothing here starts threads, and BLAS runs on one.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, NamedTuple, TypeVar

import numpy as np

from separatrix._array import Array, Float, Rows, is_sparse
from separatrix._threads import single_thread_blas
from separatrix.data.block import Block
from separatrix.data.memory import block_rows, join_answers, spans_of
from separatrix.data.reader import Reader, open_reader
from separatrix.data.source import Stat
from separatrix.exceptions import DataError

__all__ = ["Beside", "PartRows", "Place", "places", "reduce_part"]

State = TypeVar("State")


class Beside(NamedTuple):
    """What stands beside the rows of one partition: targets, weights, offsets; None where there are none."""

    t: Array | None = None
    weight: Float | None = None
    offset: Float | None = None


ALONE = Beside()


class Place(NamedTuple):
    """Which partition this is, the number of its first row among all, and how many rows it has."""

    partition: int
    first: int
    length: int


@dataclass(frozen=True, eq=False)
class PartRows:
    """The rows of one partition as a source."""

    reader: Reader
    rows_per_block: int
    beside: Beside = ALONE
    first: int = 0

    @classmethod
    def of(cls, table: Any) -> PartRows:
        """The rows of a table alone."""
        reader = open_reader(table)
        return cls(reader, block_rows(reader.row_numbers))

    @property
    def n_rows(self) -> int:
        """Rows of the partition."""
        return self.reader.n_rows

    @property
    def columns(self) -> tuple[str, ...]:
        """Column names."""
        return self.reader.columns

    def sized_for(self, width: int) -> PartRows:
        """The same rows in blocks that suit ``width`` numbers per row."""
        return replace(self, rows_per_block=block_rows(width))

    def reduce(self, statistic: Callable[[Block], Stat]) -> Stat:
        """The statistic of the partition."""
        return functools.reduce(operator.add, map(statistic, map(self._block, self._spans())))

    def fold(
        self, step: Callable[[State, Block], State], state: State, rng: np.random.Generator | None = None
    ) -> State:
        """Thread ``state`` through the blocks in order."""
        assert rng is None, "rows of a partition are not shuffled"
        return functools.reduce(step, map(self._block, self._spans()), state)

    def map(self, row_function: Callable[[Rows], Array]) -> Array:
        """``row_function`` of every row of the partition."""
        spans = self._spans()
        return join_answers((row_function(_aligned(self.reader.read(span))) for span in spans), spans, self.n_rows)

    def _spans(self) -> list[slice]:
        return spans_of(self.n_rows, self.rows_per_block)

    def _block(self, span: slice) -> Block:
        t, weight, offset = (None if each is None else each[span] for each in self.beside)
        return Block(
            X=_aligned(self.reader.read(span)),
            # Class codes are kept as narrow as they can be, and are widened where they are used.
            t=t.astype(np.intp) if t is not None and t.dtype.kind == "i" else t,
            weight=None if weight is None else _aligned(weight),
            row=range(self.first + span.start, self.first + span.stop),
            offset=offset,
        )


def _aligned(X: Rows) -> Rows:
    """Numbers that came over a network may begin at any byte; BLAS copies such at each use, and Numba compiles anew."""
    if is_sparse(X) or X.flags.aligned:
        return X
    if not X.flags.c_contiguous:
        return np.require(X, requirements="A")
    copy = np.empty_like(X)
    copy.view(np.uint8)[...] = X.view(np.uint8)  # bytes, of which any address is right: three times as fast
    return copy


class Task(NamedTuple):
    """How a partition is to be read: rows per block, and the caller's floating-point policy (`numpy.errstate`)."""

    rows_per_block: int
    policy: tuple[tuple[str, Any], ...]


def reduce_part(table: Any, beside: Beside | None, place: Place, statistic: Callable[[Block], Stat], how: Task) -> Stat:
    """The statistic of one partition, summed over its blocks in order."""
    reader = open_reader(table)
    if reader.n_rows != place.length:
        raise DataError(
            f"Partition {place.partition} has {reader.n_rows} rows now and had {place.length} in the first pass. A fit "
            "reads its rows several times and must find the same ones: fix them with X = X.persist()."
        )
    rows = PartRows(reader, how.rows_per_block, beside or ALONE, place.first)
    with single_thread_blas(), np.errstate(**dict(how.policy)):
        return rows.reduce(statistic)


def places(lengths: tuple[int, ...]) -> list[Place]:
    """Of partitions of these lengths, one after another."""
    return [
        Place(i, first, n) for i, (first, n) in enumerate(zip(accumulate(lengths, initial=0), lengths, strict=False))
    ]
