# SPDX-License-Identifier: BSD-3-Clause
"""A pass over partitions: one task for each of them, then a tree of ``+``. Statistics travel, rows do not.

The tree follows the order of the partitions, whoever finishes first: equal runs give equal bits, with threads, with
processes, on a cluster, and after a worker was lost and its tasks were done again by another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NoReturn, TypeVar

import numpy as np

from separatrix._array import Array, Rows
from separatrix.exceptions import DataError
from separatrix.rows.block import Block
from separatrix.rows.dask.answers import lazy_answers
from separatrix.rows.dask.collection import Collection
from separatrix.rows.dask.graph import for_each, task
from separatrix.rows.dask.part import Task, places, reduce_part
from separatrix.rows.dask.told import teller
from separatrix.rows.dask.tree import tree_sum
from separatrix.rows.memory import block_rows
from separatrix.rows.source import Source, Stat

__all__ = ["Partitioned", "answers", "refuse_order"]

State = TypeVar("State")


@dataclass(frozen=True, eq=False)
class Partitioned:
    """Partitions whose lengths are known, and a lazy `Beside` for each; None where the rows are alone."""

    collection: Collection
    columns: tuple[str, ...]
    rows_per_block: int
    beside: tuple[Any, ...] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        # A statistic may hold the objective that it belongs to, and with it this source. It adds up blocks that it is
        # given and reads none by itself: on the way to a worker, the partitions stay behind.
        alone = Collection((), self.collection.lengths, None)
        return type(self), (alone, self.columns, self.rows_per_block)

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """Rows of each partition."""
        return self.collection.measured()

    @property
    def n_rows(self) -> int:
        """N."""
        return sum(self.lengths)

    def sized_for(self, width: int) -> Partitioned:
        """The same partitions, cut into blocks that suit ``width`` numbers per row."""
        return replace(self, rows_per_block=block_rows(width))

    def reduce(self, statistic: Callable[[Block], Stat]) -> Stat:
        """One pass: one graph."""
        of_block, of_part, likeness = for_each(statistic), task(reduce_part), for_each(self.collection.likeness)
        how = Task(self.rows_per_block, tuple(np.geterr().items()))
        beside = self.beside or (None,) * len(self.lengths)
        rows = zip(self.collection.parts, beside, places(self.lengths), strict=True)
        sums = [of_part(part, likeness, numbers, place, of_block, how) for part, numbers, place in rows if place.length]
        total: Stat = tree_sum(sums, len(self.columns), teller([n for n in self.lengths if n], self.n_rows))
        return total

    def fold(
        self, step: Callable[[State, Block], State], state: State, rng: np.random.Generator | None = None
    ) -> NoReturn:
        """Refused: each step needs the result of the one before, and partitions are worked on side by side."""
        refuse_order("Partitions of a Dask collection", "bring the rows into memory: X.compute(), or a sample of them")

    def map(self, row_function: Callable[[Rows], Array]) -> Array:
        """The answers to all rows, in memory."""
        return np.asarray(self.each(lambda rows: rows.map(row_function)).compute())

    def each(self, answer: Callable[[Source], Array]) -> Any:
        """A lazy Dask array: ``answer`` to the rows of each partition, which it sees as a source of their own."""
        return lazy_answers(self.collection, answer)


def refuse_order(what: str, remedy: str) -> NoReturn:
    """Say why a fit of ordered steps is not done by workers."""
    raise DataError(
        "This fit learns from one row after the other, each step starting from the weights that the last one left. "
        f"{what} are worked on side by side and have no such order. Choose a fit that is a sum over rows "
        "(solver='auto', 'newton', 'lbfgs' or 'gradient'; LogisticRegression or FisherDiscriminant instead of the "
        f"Perceptron), or {remedy}."
    )


def answers(rows: Source, answer: Callable[[Source], Array]) -> Array:
    """``answer`` to the rows; a lazy array where they are partitions of a Dask collection."""
    return rows.each(answer) if isinstance(rows, Partitioned) else answer(rows)
