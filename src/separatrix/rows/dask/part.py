# SPDX-License-Identifier: BSD-3-Clause
"""One partition, inside the task that reads it: rows in memory, worked on by the one thread that the task has.

How many tasks run at a time is the scheduler's to say, so nothing here starts threads, and BLAS runs on one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from separatrix._array import Array, Float, Rows, is_sparse
from separatrix._text import did_you_mean
from separatrix._threads import single_thread_blas
from separatrix.exceptions import DataError
from separatrix.rows.block import Block
from separatrix.rows.memory import InMemory, block_rows
from separatrix.rows.reader import Reader, open_reader
from separatrix.rows.source import Stat

__all__ = ["Beside", "Place", "opened_part", "part_rows", "places", "reduce_part"]


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


def opened_part(table: Any, likeness: Any, partition: int, beside: Beside = ALONE, first: int = 0) -> InMemory:
    """The rows of one partition of a collection like this; an error says which."""
    table = conforming(table, likeness, partition)
    try:
        return part_rows(table, beside, first)
    except DataError as error:
        raise DataError(f"In partition {partition}: {error}") from error


def part_rows(table: Any, beside: Beside = ALONE, first: int = 0) -> InMemory:
    """The rows of one partition as a source; class codes are kept as narrow as they can be, and are widened here."""
    reader = Aligned(open_reader(table))
    t, weight, offset = beside
    t = t.astype(np.intp) if t is not None and t.dtype.kind == "i" else t
    weight = None if weight is None else _aligned(weight)
    return InMemory(reader, t, weight, block_rows(reader.row_numbers), offset, first, one_thread=True)


@dataclass(frozen=True, eq=False)
class Aligned:
    """A reader of numbers that came over a network, and may begin at any byte."""

    reader: Reader

    @property
    def n_rows(self) -> int:
        """N."""
        return self.reader.n_rows

    @property
    def columns(self) -> tuple[str, ...]:
        """Column names."""
        return self.reader.columns

    @property
    def row_numbers(self) -> float:
        """Numbers per row."""
        return self.reader.row_numbers

    def read(self, span: slice) -> Rows:
        """The rows of the span, where BLAS and Numba want them."""
        return _aligned(self.reader.read(span))


def _aligned(X: Rows) -> Rows:
    """At an address that suits the numbers: BLAS copies others at each use, and Numba compiles anew for them."""
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


def conforming(table: Any, likeness: Any, partition: int) -> Any:
    """A partition with the columns that its collection promises, in their order.

    Raises
    ------
    DataError
        Naming the partition and the column, where it has others.
    """
    if isinstance(likeness, np.ndarray):
        if table.shape[1] != likeness.shape[1]:
            raise DataError(
                f"Partition {partition} has {table.shape[1]} columns, and the Dask array says that it has "
                f"{likeness.shape[1]}. Give every chunk as many columns as the array has: look at how it was made."
            )
        return table
    names, own = list(likeness.columns), list(table.columns)
    for name in names:
        if name not in own:
            raise DataError(
                f"Partition {partition} has no column {name!r}, which the Dask dataframe says that it has."
                f"{did_you_mean(str(name), list(map(str, own)))} Give every partition the same columns: "
                "X.map_partitions(lambda part: part.rename(columns=...))."
            )
        if own.count(name) > 1:
            raise DataError(
                f"Partition {partition} has {own.count(name)} columns that are called {name!r}. Give every partition "
                "columns that are named apart: look at how it was made."
            )
    return table if own == names else table[names]


def reduce_part(
    table: Any, likeness: Any, beside: Beside | None, place: Place, statistic: Callable[[Block], Stat], how: Task
) -> Stat:
    """The statistic of one partition, summed over its blocks in order."""
    rows = opened_part(table, likeness, place.partition, beside or ALONE, place.first)
    rows = replace(rows, rows_per_block=how.rows_per_block)
    if rows.n_rows != place.length:
        raise DataError(
            f"Partition {place.partition} has {rows.n_rows} rows now and had {place.length} in the first pass. A fit "
            "reads its rows several times and must find the same ones: fix them with X = X.persist()."
        )
    with single_thread_blas(), np.errstate(**dict(how.policy)):
        return rows.reduce(statistic)


def places(lengths: tuple[int, ...]) -> list[Place]:
    """Of partitions of these lengths, one after another."""
    return [
        Place(i, first, n) for i, (first, n) in enumerate(zip(accumulate(lengths, initial=0), lengths, strict=False))
    ]
