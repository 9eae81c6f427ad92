# SPDX-License-Identifier: BSD-3-Clause
"""A sparse text file as a source: every pass reads the file again, and keeps a few blocks of it.

Blocks are cut by rows alone, as in memory, wherever the chunks of the file end: the same file gives the same blocks,
and sums are taken in their order.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from separatrix._array import Array, Codes, Float, Rows
from separatrix._threads import map_in_order
from separatrix.exceptions import DataError
from separatrix.files.sparse.parsing import SparseRows, joined
from separatrix.rows import (
    MAP_BLOCKS,
    Block,
    Labelled,
    LabelRules,
    Source,
    Stat,
    begin_pass,
    block_rows,
    check_weight,
    join_answers,
    pair,
    require_weight,
    spans_of,
)

if TYPE_CHECKING:
    from separatrix.files.sparse.libsvm import LibsvmFile

__all__ = ["ClassCodes", "OpenedLibsvm", "SparseFileRows", "cut"]

State = TypeVar("State")
TALLER = 4  # blocks of rows of which each number is read once


class ClassCodes(NamedTuple):
    """The code of each distinct label of a file, -1 for a label that means there is none."""

    labels: Float
    codes: Codes

    def of(self, label: Float) -> Codes:
        """The codes of some rows."""
        found: Codes = self.codes[np.searchsorted(self.labels, label)]
        return found


@dataclass(frozen=True, eq=False)
class SparseFileRows:
    """The rows of a file, with codes of the labels that stand there or with targets ``t`` (N,) from memory."""

    file: LibsvmFile
    rows_per_block: int
    codes: ClassCodes | None = None
    t: Array | None = None
    weight: Float | None = None
    offset: Float | None = None

    @property
    def n_rows(self) -> int:
        """N."""
        return self.file.n_rows

    @property
    def columns(self) -> tuple[str, ...]:
        """x0, x1, ...: features have numbers, not names."""
        return self.file.columns

    def sized_for(self, width: int) -> SparseFileRows:
        """The same rows in blocks that suit ``width`` numbers per row."""
        return replace(self, rows_per_block=block_rows(width))

    def taller(self, factor: int) -> SparseFileRows:
        """The same rows in blocks of more rows."""
        return replace(self, rows_per_block=factor * self.rows_per_block)

    def blocks(self) -> Iterator[Block]:
        """All rows, in order; later ones are read and parsed on threads while a block is in use."""
        first, progress = 0, begin_pass(self.n_rows)
        for rows in cut(map_in_order(self.file.parse, self.file.chunks()), self.rows_per_block):
            yield self._block(rows, first)
            first += len(rows)
            progress.advance(len(rows))

    def reduce(self, statistic: Callable[[Block], Stat]) -> Stat:
        """One pass: reading, parsing and reducing at the same time, adding in the order of the file."""
        return functools.reduce(operator.add, map_in_order(statistic, self.blocks()))

    def fold(
        self, step: Callable[[State, Block], State], state: State, rng: np.random.Generator | None = None
    ) -> State:
        """Thread ``state`` through the blocks in order, or shuffled: first blocks, then rows within."""
        if rng is None:
            return functools.reduce(step, self.blocks(), state)
        spans = self._spans()
        for i in rng.permutation(len(spans)):
            block = self._block(self.file.rows_between(spans[i].start, spans[i].stop), spans[i].start)
            state = step(state, block.take(rng.permutation(len(block))))
        return state

    def map(self, row_function: Callable[[Rows], Array]) -> Array:
        """``row_function`` of every row, in order."""
        wide = replace(self, rows_per_block=MAP_BLOCKS * self.rows_per_block, codes=None, t=None, weight=None)
        answers = map_in_order(lambda block: row_function(block.X), wide.blocks())
        return join_answers(answers, wide._spans(), self.n_rows)

    def _spans(self) -> list[slice]:
        return spans_of(self.n_rows, self.rows_per_block)

    def _block(self, rows: SparseRows, first: int) -> Block:
        span = slice(first, first + len(rows))
        t = self.codes.of(rows.label) if self.codes else None if self.t is None else self.t[span]
        return Block(
            X=rows.matrix(self.file.n_features),
            t=t,
            weight=None if self.weight is None else self.weight[span],
            row=range(span.start, span.stop),
            offset=None if self.offset is None else self.offset[span],
        )


def cut(parts: Iterable[SparseRows], size: int) -> Iterator[SparseRows]:
    """The same rows, ``size`` at a time."""
    kept: list[SparseRows] = []
    n_kept = 0
    for part in parts:
        start = 0
        while start < len(part):
            stop = min(start + size - n_kept, len(part))
            kept.append(part.span(start, stop))
            n_kept, start = n_kept + stop - start, stop
            if n_kept == size:
                yield joined(kept)
                kept, n_kept = [], 0
    if kept:
        yield joined(kept)


@dataclass(frozen=True, eq=False)
class OpenedLibsvm:
    """A file that was opened, before it is known whether the labels that stand there are wanted."""

    file: LibsvmFile

    @property
    def source(self) -> SparseFileRows:
        """In blocks like those that the same rows have in memory."""
        return SparseFileRows(self.file, block_rows(1.5 * self.file.n_entries / self.file.n_rows))

    @property
    def likeness(self) -> Array:
        """No rows, as many columns."""
        return np.empty((0, self.file.n_features))

    @property
    def n_rows(self) -> int:
        """N."""
        return self.file.n_rows

    def rows(self, *, read_once: bool = False) -> Source:
        """The rows alone."""
        return self.source.taller(TALLER) if read_once else self.source

    def labelled(self, y: Any, sample_weight: Any, rules: LabelRules) -> Labelled:
        """With the labels of the file where ``y`` is None; weights are in memory."""
        if y is not None:
            targets = pair(y, sample_weight, self.n_rows, rules)
            source = replace(self.source, t=targets.t, weight=targets.weight)
            return Labelled(source, targets.classes, int(np.count_nonzero(targets.t < 0)), targets.is_soft)
        labels, counts = self._classes()
        # What the rules say of each distinct label, they say of all rows that have it.
        of_labels = pair(labels, None, len(labels), rules)
        codes = ClassCodes(self.file.labels, of_labels.t)
        weight = check_weight(sample_weight, self.n_rows)
        source = replace(self.source, codes=codes, weight=weight)
        if weight is not None and rules.known is None and not weight.all():
            require_weight(weight, codes.of(self.file.read_labels()), of_labels.classes)
        return Labelled(source, of_labels.classes, int(counts[of_labels.t < 0].sum()))

    def attached(self, t: Array, weight: Float | None, offset: Float | None) -> Source:
        """With numbers beside the rows."""
        return replace(self.source, t=t, weight=weight, offset=offset)

    def _classes(self) -> tuple[Array, Codes]:
        """Distinct labels, which must be whole numbers, and how many rows have each."""
        if (broken := self.file.labels[self.file.labels % 1 != 0]).size or self.file.has_more_labels:
            what = f"label {broken[0]:g} is not a whole number" if broken.size else "there are too many labels"
            raise DataError(
                f"{self.file.path}: {what}, so that labels are no classes. Give the classes of the rows: fit(file, y)."
            )
        return self.file.classes, self.file.label_counts
