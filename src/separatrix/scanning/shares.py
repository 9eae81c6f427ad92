# SPDX-License-Identifier: BSD-3-Clause
"""A scan that several workers read: each share of it (a file, some row groups) is a task, and no row passes the client.

The workers open the files themselves, so a path must mean the same to all of them.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib import import_module
from typing import Any, NoReturn, TypeVar

import numpy as np

from separatrix._array import Array, Float, Rows
from separatrix._threads import single_thread_blas
from separatrix.exceptions import DataError
from separatrix.rows import (
    Beside,
    Block,
    Place,
    Stat,
    Task,
    compute_told,
    for_each,
    places,
    refuse_order,
    split,
    task,
    teller,
    tree_sum,
)
from separatrix.scanning.batches import WHOLE
from separatrix.scanning.labels import LabelTally
from separatrix.scanning.opened import tally_piece
from separatrix.scanning.part import BlockPlan, Part, blocks_of, pieces_of
from separatrix.scanning.passes import Origin, require_rows, tried_twice
from separatrix.scanning.source import Scanned, stacked
from separatrix.table import TableFacts, table_facts

__all__ = ["SharedScan", "Workers"]

State = TypeVar("State")


@dataclass(frozen=True, eq=False)
class Workers:
    """Who reads the shares of an origin: a client of Dask, or True for Dask's own choice."""

    origin: Origin
    client: Any

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """Rows of each share; those that no file tells are counted by the workers, on one column."""
        parts = self.origin.shares(self.origin.columns[:1])
        unknown = [self.task(_count, part)() for part in parts if part.n_rows is None]
        counted = iter(self.compute(unknown, [0] * len(unknown)))
        lengths = tuple(next(counted) if part.n_rows is None else part.n_rows for part in parts)
        require_rows(sum(lengths), self.origin.title)
        return lengths

    @property
    def n_rows(self) -> int:
        """N."""
        return sum(self.lengths)

    def at_work(self) -> AbstractContextManager[Any]:
        """While the client, or whoever Dask chooses, does the tasks."""
        if self.client is True:
            return nullcontext()
        chosen: AbstractContextManager[Any] = import_module("dask").config.set(scheduler=self.client)
        return chosen

    def task(self, work: Callable[..., Any], *settings: Any) -> Callable[..., Any]:
        """A lazy ``work(*settings, ...)``, begun once more by the worker where a query breaks off."""
        return task(partial(_retried, self.origin.title, work, *settings))

    def total(self, sums: Sequence[Any], rows: Sequence[int], width: int) -> Any:
        """The sum of lazy statistics of shares of so many rows: one pass."""
        with self.at_work():
            return tree_sum(sums, width, teller(rows, sum(rows) or None))

    def compute(self, answers: Sequence[Any], rows: Sequence[int]) -> tuple[Any, ...]:
        """Lazy answers to shares of so many rows, brought here: one pass."""
        if not answers:
            return ()
        with self.at_work():
            return compute_told(answers, lambda parts: parts, teller(rows, sum(rows) or None))

    def split(self, *numbers: Array | None) -> tuple[Any, ...]:
        """Targets, weights and offsets in memory, cut up and sent to where the shares are; once."""
        if all(each is None for each in numbers):
            return (None,) * len(self.lengths)
        with self.at_work():
            return split(numbers, self.lengths)

    def tally(self, target: str, weight: str | None, beside: Float | None) -> LabelTally:
        """Labels and their weights, from a column or ``beside`` the rows: each share counts its own."""
        parts = self.origin.shares((target,) if weight is None else (target, weight))
        rows = zip(parts, self.split(None, beside, None), places(self.lengths), strict=True)
        tallies = [self.task(tally_share, part, place, target, weight)(numbers) for part, numbers, place in rows]
        total: LabelTally = self.total(tallies, self.lengths, 1)
        return total

    def facts(self, columns: tuple[str, ...], unread: Sequence[str]) -> TableFacts:
        """What there is to know about some columns before they have types."""
        parts = self.origin.shares(columns)
        found = [self.task(share_facts, part, number, tuple(unread))() for number, part in enumerate(parts, start=1)]
        total: TableFacts = self.total(found, [part.n_rows or 0 for part in parts], len(columns))
        return total


@dataclass(frozen=True, eq=False)
class SharedScan:
    """The rows of a scan as a source whose passes are done by workers."""

    scanned: Scanned
    workers: Workers
    beside: tuple[Any, ...] = ()

    @classmethod
    def of(cls, scanned: Scanned, workers: Workers) -> SharedScan:
        """What stands beside the rows in memory goes to the workers with them."""
        return cls(scanned, workers, workers.split(scanned.t, scanned.weight, scanned.offset))

    def __reduce__(self) -> tuple[Any, ...]:
        # With a statistic that holds its source, as in `Partitioned`: what stands beside the rows stays behind.
        alone = replace(self.scanned, t=None, weight=None, offset=None)
        return type(self), (alone, replace(self.workers, client=True))

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The shares, with the columns that the fit needs."""
        return self.scanned.passes.origin.shares(self.scanned.passes.columns)

    @property
    def n_rows(self) -> int:
        """N."""
        return self.workers.n_rows

    @property
    def columns(self) -> tuple[str, ...]:
        """Column names."""
        return self.scanned.columns

    def sized_for(self, width: int) -> SharedScan:
        """The same shares in blocks that suit ``width`` numbers per row."""
        return replace(self, scanned=self.scanned.sized_for(width))

    def reduce(self, statistic: Callable[[Block], Stat]) -> Stat:
        """One pass: one graph."""
        seal = self.scanned.seal
        return self._reduced(statistic) if seal is None else seal.reduce(self._reduced, statistic)

    def _reduced(self, statistic: Callable[[Block], Stat]) -> Stat:
        plan, of_block = for_each(self.scanned.plan), for_each(statistic)
        how = Task(self.scanned.plan.rows, tuple(np.geterr().items()))
        rows = zip(self.parts, self.beside, places(self.workers.lengths), strict=True)
        sums = [
            self.workers.task(reduce_share, part, place, how)(plan, numbers, of_block)
            for part, numbers, place in rows
            if place.length
        ]
        total: Stat = self.workers.total(sums, [n for n in self.workers.lengths if n], len(self.columns))
        return total

    def fold(
        self, step: Callable[[State, Block], State], state: State, rng: np.random.Generator | None = None
    ) -> NoReturn:
        """Refused, as for any rows that several workers have."""
        refuse_order("The shares of a scan with a client", "let this process read the rows: scan(...) without client=")

    def map(self, row_function: Callable[[Rows], Array]) -> Array:
        """Answers are brought to the client, rows are not."""
        plan = for_each(replace(self.scanned.plan, target=None, weight=None))
        function = for_each(row_function)
        lazy = [self.workers.task(map_share, part)(plan, function) for part in self.parts]
        answers = self.workers.compute(lazy, [part.n_rows or 0 for part in self.parts])
        some = [answer for found in answers for answer in found]
        require_rows(len(some), self.scanned.passes.origin.title)
        return stacked(iter(some), sum(answer.shape[0] for answer in some))


def reduce_share(
    part: Part, place: Place, how: Task, plan: BlockPlan, beside: Beside | None, statistic: Callable[[Block], Stat]
) -> Stat:
    """The statistic of one share, read batch by batch."""
    with single_thread_blas(), np.errstate(**dict(how.policy)):
        blocks = _blocks(part, place, replace(plan, first_row=place.first), beside)
        return functools.reduce(operator.add, map(statistic, blocks))


def tally_share(part: Part, place: Place, target: str, weight: str | None, beside: Beside | None) -> LabelTally:
    """The labels of one share."""
    known = None if beside is None else beside.weight
    pieces = pieces_of(part.batches(), WHOLE, place.first)
    tallies = (tally_piece(piece, target, weight, known, place.first) for piece in pieces)
    return functools.reduce(operator.add, tallies, LabelTally())


def share_facts(part: Part, number: int, unread: tuple[str, ...]) -> TableFacts:
    """What there is to know about the columns of one share."""
    batches = enumerate(part.batches(), start=1)
    found = (table_facts(batch, name=f"batch {i} of part {number}", unread=unread) for i, batch in batches)
    return functools.reduce(operator.add, found, TableFacts())


def map_share(part: Part, plan: BlockPlan, row_function: Callable[[Rows], Array]) -> list[Array]:
    """The answers to one share, block by block."""
    with single_thread_blas(), np.errstate(invalid="ignore", over="ignore"):
        return [row_function(block.X) for block in blocks_of(part.batches(), plan)]


def _blocks(part: Part, place: Place, plan: BlockPlan, beside: Beside | None) -> Iterator[Block]:
    """Blocks with what stands beside them; an error where their rows are not as many as they were."""
    end = place.first
    for block in blocks_of(part.batches(), plan):
        end = block.row[-1] + 1
        yield block if beside is None else _with(block, beside, place.first)
    if end - place.first != place.length:
        raise DataError(
            f"Part {place.partition} of the scan has {end - place.first} rows now and had {place.length} before: it "
            "was changed between two passes. Scan a copy that nobody writes to."
        )


def _with(block: Block, beside: Beside, first: int) -> Block:
    span = slice(int(block.row[0]) - first, int(block.row[-1]) + 1 - first)
    t, weight, offset = (None if each is None else each[span] for each in beside)
    return replace(
        block,
        t=block.t if t is None else t.astype(np.intp) if t.dtype.kind == "i" else t,
        weight=block.weight if weight is None else weight,
        offset=offset,
    )


def _retried(title: str, work: Callable[..., Any], *arguments: Any) -> Any:
    return tried_twice(partial(work, *arguments), title)


def _count(part: Part) -> int:
    return sum(batch.num_rows for batch in part.batches())
