# SPDX-License-Identifier: BSD-3-Clause
"""A source: rows, wherever they are, with their targets. Every fit and every prediction goes through its three verbs.

``reduce(statistic)``   Σ over blocks of statistic(block); statistics add          (a *pass*)
``fold(step, state)``   state <- step(state, block), block after block, in order   (online rules)
``map(row_function)``   row_function(X) for every block, stacked                   (prediction)

A source is made of *partitions*, which hold the rows (in memory, in Arrow batches, on a device, in a Dask collection),
and a *runner*, which does the work (threads, a device's queue, Dask). The order of additions follows the order of the
rows, never who finishes first: equal runs give equal bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from scipy import sparse

from separatrix._array import Array, Rows, device_aware, is_sparse
from separatrix.rows.block import Block, Targets
from separatrix.rows.labels import Labelled, LabelRules, pair

State = TypeVar("State")


class Addable(Protocol):
    """Result of a pass: a record with an associative, commutative ``+``."""

    def __add__(self, other: Self, /) -> Self:
        """Return the statistic of both sets of rows together."""


Stat = TypeVar("Stat", bound=Addable)


class RowMap(Protocol):
    """Fitted basis functions x -> φ(x)."""

    def evaluate(self, X: Rows) -> Rows:
        """Φ (n, M) of the rows X (n, D)."""

    def names(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """Name of each of the M functions of the named columns."""


class Partition(Protocol):
    """Rows that can be cut into pieces and read piece by piece, any number of times.

    A piece has a ``start`` and a ``stop``, row numbers within the partition: a slice, or a record with the data of
    these rows. Pieces are cut by row number alone, so the same rows always give the same blocks.
    """

    columns: tuple[str, ...]
    copies: bool  # whether blocks are copies, which should fit the cache even if each number is read once

    @property
    def n_rows(self) -> int:
        """Number of rows; counting them may take a pass."""

    @property
    def known_rows(self) -> int | None:
        """Number of rows if it is known without a pass."""

    def height_for(self, width: float) -> int:
        """Rows per block for ``width`` numbers per row."""

    def pieces(self, height: int, more: tuple[str, ...] = (), rng: np.random.Generator | None = None) -> Iterable[Any]:
        """All rows, ``height`` at a time, with ``more`` columns for the targets; with ``rng``, in a random order."""

    def read(self, piece: Any) -> Rows:
        """Features of the rows of a piece."""


class Runner:
    """The way in which passes over the partitions are executed; by default, over one partition in this process."""

    is_remote = False  # whether other processes may do the work

    def reduce(self, source: Source, statistic: Callable[[Block], Any]) -> Any:
        """Sum of the statistic over all blocks."""
        raise NotImplementedError

    def reduce_batches(
        self, source: Source, statistic: Callable[[Any], Any], columns: tuple[str, ...], empty: Any
    ) -> Any:
        """Sum of a statistic of Arrow batches with these columns."""
        raise NotImplementedError

    def fold(
        self, source: Source, step: Callable[[Any, Block], Any], state: Any, rng: np.random.Generator | None
    ) -> Any:
        """State after all blocks; with ``rng``, blocks and the rows within them are shuffled."""
        raise NotImplementedError

    def map(self, source: Source, row_function: Callable[[Rows], Array], height: int) -> Array:
        """Results of all rows, in order."""
        raise NotImplementedError

    def each(self, source: Source, answer: Callable[[Source], Array]) -> Any:
        """``answer`` of each partition, as a lazy array; only called if the runner is remote."""
        raise NotImplementedError

    def attach(self, source: Source, t: Any, weight: Any, offset: Any) -> tuple[Any, ...]:
        """Targets for each partition."""
        return (Targets(t, weight, offset),)

    def label(self, source: Source, y: Any, sample_weight: Any, rules: LabelRules) -> Labelled:
        """Targets for each partition from labels in memory, encoded once."""
        return pair(y, sample_weight, source.n_rows, rules)

    def measured(self, source: Source) -> Source:
        """Return the source with known lengths of all partitions; only called if the runner is remote."""
        return source


@dataclass
class PassCount:
    """Number of passes over the rows of a source, shared by all of its views."""

    passes: int = 0


@dataclass(frozen=True, eq=False)
class Source:
    """Rows, wherever they are. One call of `reduce` or `fold` is a pass, the unit of cost.

    Attributes
    ----------
    columns : tuple of str
        Names of the features, or of the basis functions.
    height : int
        Rows per block.
    template : object
        A table with the same columns, for scikit-learn's checks of names and their number.
    classes : ndarray or None
        Labels of the class codes, sorted.
    n_unlabelled : int
        Rows without a label, code -1.
    is_soft : bool
        Whether the targets are class probabilities.
    """

    partitions: tuple[Any, ...]
    runner: Any
    columns: tuple[str, ...]
    height: int
    template: Any = None
    store: Any = None  # the RowStore that holds labels and weights next to the rows
    targets: tuple[Any, ...] = (Targets(),)
    views: tuple[Callable[[Block], Block], ...] = ()
    widest: int = 0  # numbers per row of the widest view
    first: int = 0  # number of the first row, if this is one partition of a larger source
    classes: Any = None
    n_unlabelled: int = 0
    is_soft: bool = False
    count: PassCount = field(default_factory=PassCount)

    @property
    def n_rows(self) -> int:
        """Number of rows; counting them may take a pass over one column."""
        if not self.runner.is_remote:
            return int(self.partitions[0].n_rows)
        return sum(partition.n_rows for partition in self.runner.measured(self).partitions)

    @property
    def passes(self) -> int:
        """Number of passes since targets were attached."""
        return self.count.passes

    # Opening

    def with_labels(self, y: Any, sample_weight: Any = None, rules: LabelRules | None = None) -> Source:
        """Attach class codes and weights; labels come from ``y``, or from the store of the rows if ``y`` is None."""
        rules = rules or LabelRules()
        source = self._prepared() if self.store is not None or self.runner.is_remote else self
        if y is None and self.store is not None:
            found: Labelled = self.store.label(source, sample_weight, rules)
        else:
            if self.store is not None:
                sample_weight = self.store.weights(sample_weight)
            found = self.runner.label(source, y, sample_weight, rules)
        return replace(
            source,
            targets=found.targets,
            classes=found.classes,
            n_unlabelled=found.n_unlabelled,
            is_soft=found.is_soft,
            count=PassCount(),
        )

    def with_numbers(self, t: Any, weight: Any = None, offset: Any = None) -> Source:
        """Attach targets (class codes or real numbers), weights and offsets that are in memory."""
        source = self._prepared() if self.store is not None or self.runner.is_remote else self
        return replace(source, targets=self.runner.attach(source, t, weight, offset), count=PassCount())

    def _prepared(self) -> Source:
        """The same rows outside memory, ready to be read several times, with known lengths of all partitions."""
        if self.store is not None:
            self.store.prepare()
        return self.runner.measured(self) if self.runner.is_remote else self

    def mapped(self, basis: RowMap | None) -> Source:
        """The same rows as basis functions φ(x), evaluated block by block; Φ (N, M) is never whole in memory."""
        if basis is None:
            return self
        names = basis.names(self.columns)
        # A block must suit its basis functions too: a hundred columns of φ may come from two of x.
        widest = max(self.widest, len(names), len(self.columns))
        views = (*self.views, lambda block: replace(block, X=basis.evaluate(block.X)))
        height = self.partitions[0].height_for(widest)
        return replace(self, views=views, columns=names, widest=widest, height=height)

    def viewed(self, view: Callable[[Block], Block], columns: tuple[str, ...] | None = None) -> Source:
        """The same rows, each block as a function of it; ``columns`` are the names afterwards."""
        return replace(self, views=(*self.views, view), columns=self.columns if columns is None else columns)

    @property
    def has_basis(self) -> bool:
        """Whether the rows are seen through basis functions."""
        return self.widest > 0

    @property
    def raw(self) -> Source:
        """The rows as they were opened, without views."""
        return replace(self, views=(), columns=self.partitions[0].columns, widest=0) if self.views else self

    def sized_for(self, width: float) -> Source:
        """The same rows in blocks that suit ``width`` numbers per row."""
        return replace(self, height=self.partitions[0].height_for(max(width, self.widest)))

    # Passes

    def reduce(self, statistic: Callable[[Block], Stat]) -> Stat:
        """One pass: the sum of a statistic over all blocks."""
        self.count.passes += 1
        views = self.views
        total: Stat = self.runner.reduce(self, (lambda block: statistic(_seen(block, views))) if views else statistic)
        return total

    def reduce_batches(self, statistic: Callable[[Any], Stat], columns: tuple[str, ...], empty: Stat) -> Stat:
        """Sum of a statistic of Arrow record batches with these columns, as they are stored; not counted as a pass."""
        total: Stat = self.runner.reduce_batches(self, statistic, columns, empty)
        return total

    def fold(
        self, step: Callable[[State, Block], State], state: State, rng: np.random.Generator | None = None
    ) -> State:
        """One pass that threads ``state`` through the blocks in order; with ``rng``, in a fresh random order."""
        self.count.passes += 1
        views = self.views
        work = (lambda so_far, block: step(so_far, _seen(block, views))) if views else step
        result: State = self.runner.fold(self, work, state, rng)
        return result

    def map(self, row_function: Callable[[Rows], Array], *, reads_once: bool = False) -> Array:
        """``row_function`` of every row, in the order of the rows; not counted as a pass.

        A function that reads each number once (``reads_once``) only multiplies the rows by weights. It gains nothing
        from blocks that fit the cache, and gets taller ones; rows on a device stay there.
        """
        views = self.views

        def work(X: Rows) -> Array:
            return row_function(_seen(Block(X, None, None, range(X.shape[0])), views).X if views else X)

        if reads_once and not views:
            device_aware(work)
        tall = reads_once and not views and not self.partitions[0].copies
        # The result of a row is smaller than the statistic of a block, so blocks may be taller than in a pass.
        result: Array = self.runner.map(self, work, self.height * (8 if tall else 2))
        return result

    def each(self, answer: Callable[[Source], Array]) -> Any:
        """``answer`` of this source; of each partition of a Dask collection, as a lazy array."""
        return self.runner.each(self, answer) if self.runner.is_remote else answer(self)

    def as_block(self) -> Block:
        """All rows as one block; the source must have one partition in memory."""
        (rows,), (targets,), every = self.partitions, self.targets, slice(0, self.n_rows)
        return _seen(targets.block(rows.read(every), every, self.first), self.views)

    def __getstate__(self) -> dict[str, Any]:
        # A statistic may hold the objective that it belongs to, and with it this source. It adds up blocks and reads
        # none by itself: on the way to a worker, rows and targets stay behind.
        if not self.runner.is_remote:
            return vars(self)
        bare = tuple(partition.stripped() for partition in self.partitions)
        return {**vars(self), "partitions": bare, "targets": (), "store": None}


def _seen(block: Block, views: tuple[Callable[[Block], Block], ...]) -> Block:
    for view in views:
        block = view(block)
    return block


def stack(results: Iterator[Array], n_rows: int | None) -> Array:
    """Stack the results of blocks; written to their place if the total number of rows is known. Sparse stays sparse."""
    first = next(results)
    if is_sparse(first):
        stacked = sparse.vstack([first, *results], format="csr")
        return sparse.csr_array(stacked)  # type: ignore[no-any-return]  # SciPy ships no types
    second = next(results, None)
    if second is None:
        return first
    if n_rows is None:
        return np.concatenate([first, second, *results])
    whole = np.empty((n_rows, *first.shape[1:]), first.dtype)
    whole[: len(first)], end = first, len(first)
    while second is not None:
        start, end = end, end + len(second)
        whole[start:end] = second[: max(n_rows - start, 0)]  # if rows were added, the pass ends in an error
        second = next(results, None)
    return whole
