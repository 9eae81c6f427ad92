# SPDX-License-Identifier: BSD-3-Clause
"""Files of LIBSVM and SVMlight, larger than memory or not: one pass learns what is in them, others read the rows."""

from __future__ import annotations

import functools
import glob
import operator
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from separatrix._arguments import check_count, check_option
from separatrix._array import Array, Codes, Float
from separatrix._threads import map_in_order
from separatrix.files.errors import FileReadError
from separatrix.files.location import COMPRESSIONS
from separatrix.files.sparse.lines import Chunk, LineFile
from separatrix.files.sparse.parsing import LARGEST_INDEX, IndexRange, SparseRows, joined, parse
from separatrix.files.sparse.rows import FileLabels, SparseText, label_from_file, open_libsvm
from separatrix.rows import Block, Labelled, LabelRules, RowStore, Source, Targets

__all__ = ["LibsvmFile", "is_libsvm"]

SUFFIXES = (".svm", ".libsvm", ".svmlight")
MOST_LABELS = 2**16  # that are kept apart: beyond that they are no classes


@dataclass(frozen=True, eq=False, slots=True)
class Extent:
    """What some chunks of a file hold: a statistic. ``chunks`` has where each begins: byte, line, and number of rows.

    ``labels`` are sorted and ``counts`` says how many rows have each; of more than `MOST_LABELS`, the first of them.
    """

    n_rows: int
    n_entries: int
    low: int
    high: int
    queries: int
    labels: Float
    counts: Codes
    chunks: tuple[tuple[int, int, int], ...] = field(repr=False)

    @classmethod
    def of(cls, chunk: Chunk, rows: SparseRows, indices: IndexRange) -> Extent:
        """Of one chunk."""
        some = len(rows.column) > 0
        low, high = (int(rows.column.min()), int(rows.column.max())) if some else (LARGEST_INDEX, -1)
        labels, counts = np.unique(rows.label, return_counts=True)
        place = (chunk.offset, chunk.line, len(rows))
        shift = indices.low
        return cls(len(rows), len(rows.column), low + shift, high + shift, rows.queries, labels, counts, (place,))

    def __add__(self, other: Extent) -> Extent:
        labels = np.union1d(self.labels, other.labels)[: MOST_LABELS + 1]
        counts = np.zeros(len(labels), dtype=np.intp)
        for part in (self, other):
            kept = np.isin(part.labels, labels)
            counts[np.searchsorted(labels, part.labels[kept])] += part.counts[kept]
        return Extent(
            self.n_rows + other.n_rows,
            self.n_entries + other.n_entries,
            min(self.low, other.low),
            max(self.high, other.high),
            self.queries + other.queries,
            labels,
            counts,
            self.chunks + other.chunks,
        )


class LibsvmFile(RowStore):
    r"""Sparse rows in a text file, ``label index:value index:value ...``, to fit and predict from without loading it.

    Opening reads the file once: every line is checked, and rows, features and classes are counted. Each pass of a fit
    reads it again, a block at a time, while the rows before are worked on.

    Parameters
    ----------
    path : str or path
        Plain, or packed as .gz, .bz2 or .xz.
    n_features : int, optional
        How many columns there are; by default the largest index decides. Rows to predict need not have every feature
        of the training rows: give the number that the model knows.
    zero_based : bool or "auto", default "auto"
        Whether the first feature has index 0, or else 1; "auto" looks whether there is an index 0.

    Attributes
    ----------
    path : Path
    n_rows, n_features, n_entries : int
        Rows, columns, and numbers that are written down.
    zero_based : bool
    classes : ndarray of shape (K,)
        The distinct labels; whole numbers as integers.
    label_counts : ndarray of shape (K,)
        How many rows have each.
    notes : tuple of str
        A sentence on what was left out.

    Raises
    ------
    FileReadError
        Naming the file and the line, where something is not as it should be.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import separatrix as sx
    >>> from separatrix.files.sparse import LibsvmFile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "train.svm")
    >>> _ = path.write_text("+1 1:0.5 4:2  # a comment\n-1 2:1\n+1 1:1 3:0.25\n-1 2:3 3:1\n")
    >>> file = LibsvmFile(path)
    >>> file.n_rows, file.n_features, file.classes.tolist()
    (4, 4, [-1, 1])
    >>> sx.LogisticRegression(alpha=1.0).fit(file).predict(file)
    array([ 1, -1,  1, -1])
    """

    def __init__(
        self, path: str | os.PathLike[str], *, n_features: int | None = None, zero_based: bool | str = "auto"
    ) -> None:
        if not isinstance(zero_based, bool):
            check_option("LibsvmFile", "zero_based", zero_based, ("auto",))
        width = None if n_features is None else check_count("LibsvmFile", "n_features", n_features)
        self._lines = LineFile(_one_path(path))
        self.path = self._lines.path
        self._indices = _allowed(width, zero_based)
        extent = self._scan()
        self._indices = _found(extent, width, zero_based, self.path)
        self.n_rows, self.n_entries, self.n_features = extent.n_rows, extent.n_entries, self._indices.width
        self.zero_based = self._indices.low == 0
        self.labels, self.label_counts = extent.labels[:MOST_LABELS], extent.counts[:MOST_LABELS]
        self.has_more_labels = len(extent.labels) > MOST_LABELS
        places = np.array(extent.chunks)
        self._offsets, self._first_lines = places[:, 0], places[:, 1]
        self._first_rows = np.append(0, np.cumsum(places[:, 2]))
        self.notes = _notes(extent)

    def __repr__(self) -> str:
        return f"LibsvmFile({str(self.path)!r}, n_features={self.n_features}, zero_based={self.zero_based})"

    @property
    def classes(self) -> Array:
        """The distinct labels; whole numbers as integers."""
        return _as_classes(self.labels)

    @property
    def shape(self) -> tuple[int, int]:
        """(N, D)."""
        return self.n_rows, self.n_features

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """x0, x1, ...: features have numbers, not names."""
        return tuple(f"x{d}" for d in range(self.n_features))

    def blocks(self, rows_per_block: int = 4096) -> Iterator[Block]:
        """All rows, in order: ``X`` CSR float64, ``t`` positions of the labels in ``classes``, ``row`` numbers."""
        size = check_count("blocks", "rows_per_block", rows_per_block)
        rows = SparseText(self)
        codes = Targets() if self.has_more_labels else FileLabels(self.labels, np.arange(len(self.labels)))
        return (codes.block(rows.read(piece), piece, 0) for piece in rows.pieces(size))

    def read(self) -> tuple[Any, Array]:
        """All rows in memory, a CSR array (N, D), and their labels (N,): for files that fit, and are read often."""
        rows = joined(list(map_in_order(self.parse, self.chunks())))
        return rows.matrix(self.n_features), _as_classes(rows.label)

    def read_labels(self) -> Array:
        """The labels of all rows (N,), for scores: one pass."""
        return _as_classes(np.concatenate([rows.label for rows in map_in_order(self.parse, self.chunks())]))

    def open_rows(self, columns: Sequence[str] | None) -> Source:
        """Open the rows; columns have no names."""
        return open_libsvm(self)

    def label(self, source: Source, sample_weight: Any, rules: LabelRules) -> Labelled:
        """Class codes from the labels of the file."""
        return label_from_file(self, sample_weight, rules)

    def targets_in_memory(self, y: Any, sample_weight: Any) -> tuple[Any, Any]:
        """Targets and weights in memory: as given, or the first number of each line."""
        return self.read_labels() if y is None else y, sample_weight

    def chunks(self) -> Iterator[Chunk]:
        """The lines of the file."""
        return self._lines.chunks()

    def parse(self, chunk: Chunk) -> SparseRows:
        """The rows of some lines."""
        return parse(chunk, self._indices, self.path)

    def rows_between(self, first: int, last: int) -> SparseRows:
        """Rows ``first`` up to ``last``, without what comes before.

        Raises
        ------
        FileReadError
            Where the file is packed, and can only be read from its beginning.
        """
        if self._lines.is_packed:
            raise FileReadError(
                f"{self.path} is packed, so that rows cannot be taken in a random order. Unpack it, or choose a fit "
                "that takes rows as they come (shuffle=False)."
            )
        begin = int(np.searchsorted(self._first_rows, first, side="right")) - 1
        end = int(np.searchsorted(self._first_rows, last, side="left"))
        stop = int(self._offsets[end]) if end < len(self._offsets) else self.path.stat().st_size
        chunk = self._lines.part(int(self._offsets[begin]), stop, int(self._first_lines[begin]))
        skipped = int(self._first_rows[begin])
        return self.parse(chunk).span(first - skipped, last - skipped)

    def _scan(self) -> Extent:
        found = list(map_in_order(partial(_extent, self.path, self._indices), self.chunks()))
        if not sum(part.n_rows for part in found):
            raise FileReadError(f"{self.path} has no rows. Write each row as: label index:value index:value ...")
        return functools.reduce(operator.add, found)


def is_libsvm(source: object) -> bool:
    """Whether the name of a file, packed or not, says that it holds such rows; or the first of several names."""
    if isinstance(source, list | tuple) and source:
        return is_libsvm(source[0])
    if not isinstance(source, str | os.PathLike):
        return False
    suffixes = [suffix.lower() for suffix in Path(source).suffixes]
    while suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    return bool(suffixes) and suffixes[-1] in SUFFIXES


def _one_path(path: Any) -> str | os.PathLike[str]:
    """The path; raise where there are several, or it is a pattern that may stand for several."""
    several = isinstance(path, list | tuple)
    if several or (glob.has_magic(os.fspath(path)) and not Path(path).exists()):
        what = f"{len(path)} sparse files" if several else f"{path} is a pattern, which stands for sparse files that"
        raise FileReadError(
            f"{what}{' were given, which' if several else ''} are not read together: each has its own largest index. "
            "Give one file. They can be joined as they are: cat part-*.svm > all.svm."
        )
    return path  # type: ignore[no-any-return]


def _extent(path: Path, indices: IndexRange, chunk: Chunk) -> Extent:
    return Extent.of(chunk, parse(chunk, indices, path), indices)


def _allowed(width: int | None, zero_based: bool | str) -> IndexRange:
    """What indices may be before the file was read: where they start may still be open."""
    low = int(zero_based is False)
    # Where the start is open, the index n_features may be the last one; `_found` looks again.
    last = LARGEST_INDEX if width is None else width - 1 + (zero_based is not True)
    return IndexRange(low, last)


def _found(extent: Extent, width: int | None, zero_based: bool | str, path: Path) -> IndexRange:
    """What indices are. A file without an index 0 starts at 1: almost every file does."""
    low = int(extent.low > 0) if zero_based == "auto" else int(not zero_based)
    if width is not None and extent.high >= low + width:
        raise FileReadError(
            f"{path} has the indices {extent.low} to {extent.high}, one more than n_features={width}. Give "
            f"n_features={extent.high - low + 1}, or leave it out."
        )
    return IndexRange(low, max(extent.high, low) if width is None else low + width - 1)


def _as_classes(labels: Float) -> Array:
    """Whole numbers as integers."""
    return labels.astype(np.int64) if (labels % 1 == 0).all() and (np.abs(labels) < 2**53).all() else labels


def _notes(extent: Extent) -> tuple[str, ...]:
    if not extent.queries:
        return ()
    return (f"{extent.queries} rows have a query (qid:), which classifiers have no use for: it was left out.",)
