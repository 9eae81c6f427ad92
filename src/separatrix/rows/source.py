# SPDX-License-Identifier: BSD-3-Clause
"""A source holds rows and their targets, in memory or elsewhere. Fits and predictions use three methods.

``reduce(statistic)``   Σ statistic(block) over all blocks                (a *pass*)
``fold(step, state)``   state <- step(state, block) for each block        (online rules)
``map(row_function)``   row_function(X) for each block, concatenated      (prediction)

A source consists of *partitions*, which hold the rows (in memory, in Arrow batches, on a device, in a Dask collection),
and a *runner*, which executes passes (threads, a device's queue, Dask). Results are added in row order, independent of
which thread finishes first, so repeated runs are bit-identical.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol, Self, TypeVar

import numpy as np
from scipy import sparse

from separatrix._array import Array, Rows, device_aware, is_device_aware, is_sparse
from separatrix.rows.block import Block, Targets
from separatrix.rows.labels import Labelled, LabelRules, pair
from separatrix.rows.memory import TALL, Memory, Sparse

State = TypeVar("State")


class Addable(Protocol):
    """Result of a pass: an object with an associative, commutative ``+``."""

    def __add__(self, other: Self, /) -> Self:
        """Return the statistic of the union of both sets of rows."""


Stat = TypeVar("Stat", bound=Addable)


class Summed:
    """Base class of data classes whose ``+`` adds each field."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __add__(self, other: Self) -> Self:
        return type(self)(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))


class RowMap(Protocol):
    """Fitted basis functions x -> φ(x)."""

    def evaluate(self, X: Rows) -> Rows:
        """Φ (n, M) of the rows X (n, D)."""

    def names(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """Names of the M basis functions, built from the column names."""


class Partition(Protocol):
    """Rows that can be read piece by piece, any number of times.

    A piece is a slice, or an object with the data of its rows. Its ``start`` and ``stop`` are row numbers within the
    partition. Pieces are cut by row number alone, so the same rows always give the same blocks.
    """

    columns: tuple[str, ...]

    @property
    def n_rows(self) -> int:
        """Number of rows; counting them may take a pass."""

    @property
    def known_rows(self) -> int | None:
        """Number of rows, or None if counting them needs a pass."""

    def height_for(self, width: float) -> int:
        """Number of rows per block if each row needs ``width`` floats of memory."""

    def pieces(self, height: int, more: tuple[str, ...] = (), rng: np.random.Generator | None = None) -> Iterable[Any]:
        """Yield ``height`` rows at a time, with ``more`` columns for the targets; with ``rng``, in random order."""

    def read(self, piece: Any) -> Rows:
        """Features of the rows of a piece."""


class Runner:
    """Base class of runners, with the targets of one partition in this process.

    A runner has the methods ``reduce``, ``fold`` and ``map``, which `Source` describes; ``reduce_batches`` if its rows
    are read as Arrow batches; and ``each`` if it is remote.
    """

    is_remote = False  # whether other processes may execute the pass

    def attach(self, source: Source, t: Any, weight: Any, offset: Any) -> tuple[Any, ...]:
        """Split targets in memory by partition."""
        return (Targets(t, weight, offset),)

    def label(self, source: Source, y: Any, sample_weight: Any, rules: LabelRules) -> Labelled:
        """Encode labels in memory and split them by partition."""
        return pair(y, sample_weight, source.n_rows, rules)

    def measured(self, source: Source) -> Source:
        """Return the source with the number of rows of each partition; only called if the runner is remote."""
        return source


@dataclass
class PassCount:
    """Number of passes over the rows of a source, shared by all of its views."""

    passes: int = 0


@dataclass(frozen=True, eq=False)
class Source:
    """Rows and their targets. One call of `reduce` or `fold` is a pass, the unit of cost."""

    partitions: tuple[Any, ...]
    runner: Any
    columns: tuple[str, ...]  # names of the features, or of the basis functions
    height: int  # rows per block
    template: Any = None  # a table with the same columns, for scikit-learn's checks of feature names
    store: Any = None  # the RowStore that holds labels and weights next to the rows
    targets: tuple[Any, ...] = (Targets(),)
    views: tuple[Callable[[Block], Block], ...] = ()
    widest: int = 0  # largest number of columns before or after basis functions; 0 without them
    first: int = 0  # row number of the first row, if this is one partition of a larger source
    classes: Any = None  # sorted labels; class code k stands for classes[k]
    n_unlabelled: int = 0  # number of rows without a label, which have code -1
    is_soft: bool = False  # whether the targets are class probabilities
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

    def with_labels(self, y: Any, sample_weight: Any = None, rules: LabelRules | None = None) -> Source:
        """Attach class codes and weights. If ``y`` is None, labels come from the table that holds the rows."""
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
        """Attach targets (class codes or real values), weights and offsets that are in memory."""
        source = self._prepared() if self.store is not None or self.runner.is_remote else self
        return replace(source, targets=self.runner.attach(source, t, weight, offset), count=PassCount())

    def _prepared(self) -> Source:
        """Prepare rows outside memory for several passes, and count the rows of each partition."""
        if self.store is not None:
            self.store.prepare()
        return self.runner.measured(self) if self.runner.is_remote else self

    def mapped(self, basis: RowMap | None) -> Source:
        """Replace each row x by φ(x), evaluated block by block, so Φ (N, M) is never in memory as a whole."""
        if basis is None:
            return self
        names = basis.names(self.columns)
        # Blocks of Φ must fit the cache too: φ may have a hundred columns even if x has two.
        widest = max(self.widest, len(names), len(self.columns))

        def view(block: Block) -> Block:
            return replace(block, X=basis.evaluate(block.X))

        views = (*self.views, device_aware(view) if is_device_aware(basis) else view)
        height = self.partitions[0].height_for(widest)
        return replace(self, views=views, columns=names, widest=widest, height=height)

    def viewed(self, view: Callable[[Block], Block], columns: tuple[str, ...] | None = None) -> Source:
        """Apply ``view`` to each block that is read; ``columns`` are the new column names."""
        return replace(self, views=(*self.views, view), columns=self.columns if columns is None else columns)

    @property
    def has_basis(self) -> bool:
        """Whether rows are transformed by basis functions."""
        return self.widest > 0

    @property
    def raw(self) -> Source:
        """The source without basis functions and other views."""
        return replace(self, views=(), columns=self.partitions[0].columns, widest=0) if self.views else self

    def sized_for(self, width: float) -> Source:
        """The same rows in blocks sized for ``width`` floats per row."""
        return replace(self, height=self.partitions[0].height_for(max(width, self.widest)))

    def reduce(self, statistic: Callable[[Block], Stat], *, reads_once: bool = False) -> Stat:
        """Sum a statistic over all blocks, in one pass; ``reads_once`` as in `map`."""
        self.count.passes += 1
        views, source = self.views, self
        if reads_once and self.block is None and self._may_be_tall:
            height = self.partitions[0].tall_height(self.height)
            source = self if height == self.height else replace(self, height=height)
        work = (lambda block: statistic(_seen(block, views))) if views else statistic
        if views and all(map(is_device_aware, (statistic, *views))):
            device_aware(work)
        total: Stat = self.runner.reduce(source, work)
        return total

    @property
    def n_stored(self) -> int | None:
        """Number of stored entries if the rows, before a basis, are one sparse matrix in memory; otherwise None."""
        first = self.partitions[0]
        return int(first.array.nnz) if isinstance(first, Sparse) else None

    @property
    def _may_be_tall(self) -> bool:
        """Whether blocks are views of rows in memory, which need not fit the cache if each value is read once."""
        return isinstance(self.partitions[0], Memory) and not self.views

    @cached_property
    def block(self) -> Block | None:
        """All rows, read once for all passes, if they are in memory, have no basis and fit one block; else None."""
        return self.as_block() if self._may_be_tall and self.n_rows <= self.height else None

    def reduce_batches(self, statistic: Callable[[Any], Stat], columns: tuple[str, ...], empty: Stat) -> Stat:
        """Sum a statistic of Arrow record batches with these columns, as stored; not counted as a pass."""
        total: Stat = self.runner.reduce_batches(self, statistic, columns, empty)
        return total

    def fold(
        self, step: Callable[[State, Block], State], state: State, rng: np.random.Generator | None = None
    ) -> State:
        """Update ``state`` with each block, in one pass: in order, or in random order if ``rng`` is given."""
        self.count.passes += 1
        views = self.views
        work = (lambda so_far, block: step(so_far, _seen(block, views))) if views else step
        result: State = self.runner.fold(self, work, state, rng)
        return result

    def map(
        self,
        row_function: Callable[[Rows], Array],
        *,
        reads_once: bool = False,
        around: Callable[[Rows, Callable[[Rows], Array]], Array] | None = None,
    ) -> Array:
        """Apply ``row_function`` to all rows, in order; not counted as a pass.

        Set ``reads_once`` if the function reads each value once, as a product with weights does. It gains nothing
        from blocks that fit the cache, so blocks are taller; rows on a device stay there. ``around(X, function)``
        computes the results of the rows X of a block, before the basis, from those of a function that includes it.
        """
        views = self.views

        def seen(X: Rows) -> Array:
            return row_function(_seen(Block(X, None, None, range(X.shape[0])), views).X if views else X)

        def work(X: Rows) -> Array:
            return seen(X) if around is None else around(X, seen)

        if reads_once and all(map(is_device_aware, views)):
            device_aware(work)
        # Results of rows need less memory than the statistic of a block, so blocks may be taller than in a pass.
        result: Array = self.runner.map(self, work, self.height * (TALL if reads_once and self._may_be_tall else 2))
        return result

    def each(self, answer: Callable[[Source], Array]) -> Any:
        """Apply ``answer`` to this source; for a Dask collection, to each partition, as a lazy array."""
        return self.runner.each(self, answer) if self.runner.is_remote else answer(self)

    def as_block(self) -> Block:
        """Return all rows as one block; the source must have a single partition, in memory."""
        (rows,), (targets,), every = self.partitions, self.targets, slice(0, self.n_rows)
        block = targets.block(rows.read(every), every, self.first)
        return _seen(block, self.views) if self.views else block

    def __getstate__(self) -> dict[str, Any]:
        # A statistic may refer to an objective, which refers to this source. Workers pass blocks to the statistic and
        # do not use this source, so rows and targets are not sent to them.
        if not self.runner.is_remote:
            return {name: value for name, value in vars(self).items() if name != "block"}
        bare = tuple(partition.without_shared_plan() for partition in self.partitions)
        return {**vars(self), "partitions": bare, "targets": (), "store": None}


def _seen(block: Block, views: tuple[Callable[[Block], Block], ...]) -> Block:
    for view in views:
        block = view(block)
    return block


def stack(results: Iterator[Array], n_rows: int | None) -> Array:
    """Concatenate the results of blocks, which may be sparse; if ``n_rows`` is known, memory is allocated once."""
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
        whole[start:end] = second[: max(n_rows - start, 0)]  # if rows were added to the table, an error follows
        second = next(results, None)
    return whole
