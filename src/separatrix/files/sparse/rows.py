# SPDX-License-Identifier: BSD-3-Clause
"""The rows of a sparse text file as a partition: every pass reads the file again, and keeps a few blocks of it.

Blocks are cut by rows alone, as in memory, wherever the chunks of the file end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from separatrix._array import Codes, Float, Rows
from separatrix._threads import map_in_order
from separatrix.exceptions import DataError
from separatrix.files.sparse.parsing import SparseRows, joined
from separatrix.rows import (
    Block,
    Labelled,
    LabelRules,
    Source,
    Targets,
    Threads,
    block_rows,
    check_weight,
    cut_spans,
    pair,
    require_weight,
)

if TYPE_CHECKING:
    from separatrix.files.sparse.libsvm import LibsvmFile


class Piece(NamedTuple):
    """Rows ``start`` to ``stop`` of a file."""

    start: int
    stop: int
    rows: SparseRows


@dataclass(frozen=True, eq=False)
class SparseText:
    """A partition: all rows of a file."""

    file: LibsvmFile
    copies = False

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.file.n_rows

    known_rows = n_rows

    @property
    def columns(self) -> tuple[str, ...]:
        """x0, x1, ...: features have numbers, not names."""
        return self.file.columns

    @property
    def numbers_per_row(self) -> float:
        """As for the same rows in memory: a value, and half as much for its index."""
        return 1.5 * self.file.n_entries / self.file.n_rows

    def height_for(self, width: float) -> int:
        """Rows per block for ``width`` numbers per row."""
        return block_rows(width)

    def pieces(
        self, height: int, more: tuple[str, ...] = (), rng: np.random.Generator | None = None
    ) -> Iterator[Piece]:
        """All rows in order, later ones parsed on threads meanwhile; with ``rng``, spans of rows in a random order."""
        if rng is not None:
            spans = cut_spans(self.n_rows, height)
            for i in rng.permutation(len(spans)):
                start, stop = spans[i].start, spans[i].stop
                yield Piece(start, stop, self.file.rows_between(start, stop))
            return
        first = 0
        for rows in cut(map_in_order(self.file.parse, self.file.chunks()), height):
            yield Piece(first, first + len(rows), rows)
            first += len(rows)

    def read(self, piece: Any) -> Rows:
        """Return the rows of a piece as a CSR array."""
        return piece.rows.matrix(self.file.n_features)


@dataclass(frozen=True, eq=False)
class FileLabels:
    """Targets from the labels of the file: the code of each distinct label, -1 for one that marks unlabelled rows."""

    labels: Float
    codes: Codes
    weight: Float | None = None
    columns: tuple[str, ...] = ()

    def of(self, label: Float) -> Codes:
        """Codes of some rows."""
        found: Codes = self.codes[np.searchsorted(self.labels, label)]
        return found

    def block(self, X: Rows, piece: Piece, first: int) -> Block:
        """Return the rows of a piece with codes and weights."""
        weight = None if self.weight is None else self.weight[piece.start : piece.stop]
        return Block(X, self.of(piece.rows.label), weight, range(first + piece.start, first + piece.stop))


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


def open_libsvm(file: LibsvmFile) -> Source:
    """Open the rows of a file, in blocks like those that the same rows have in memory."""
    rows = SparseText(file)
    template = np.empty((0, file.n_features))
    height = rows.height_for(rows.numbers_per_row)
    return Source((rows,), Threads(), rows.columns, height, template, file, (Targets(),))


def label_from_file(file: LibsvmFile, sample_weight: Any, rules: LabelRules) -> Labelled:
    """Class codes from the labels of the file; weights are in memory."""
    if (broken := file.labels[file.labels % 1 != 0]).size or file.has_more_labels:
        what = f"label {broken[0]:g} is not a whole number" if broken.size else "there are too many labels"
        raise DataError(f"{file.path}: {what}, so labels are not classes. Give the classes: fit(file, y).")
    # The rules for each distinct label hold for all rows that have it.
    paired = pair(file.classes, None, len(file.classes), rules)
    targets = FileLabels(file.labels, paired.t, check_weight(sample_weight, file.n_rows))
    if targets.weight is not None and rules.known is None and not targets.weight.all():
        require_weight(targets.weight, targets.of(file.read_labels()), paired.classes)
    return Labelled((targets,), paired.classes, int(file.label_counts[paired.t < 0].sum()))
