# SPDX-License-Identifier: BSD-3-Clause
"""Sparse text files of LIBSVM and SVMlight: ``label index:value index:value ...  # comment``, one row per line.

Chunks of whole lines are parsed on threads. Blank lines, comments and ``qid:`` (queries of ranking problems) are
skipped. Numbers are parsed exactly as Python does.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from separatrix._arguments import check_count, check_option
from separatrix._array import Array, Codes, Float, Rows
from separatrix._text import counted
from separatrix._threads import map_in_order
from separatrix.exceptions import DataError
from separatrix.files.location import COMPRESSIONS, FileReadError, Location, open_input, reading
from separatrix.rows import (
    MAX_LABELS,
    Block,
    Labelled,
    LabelRules,
    RowStore,
    Source,
    Targets,
    Threads,
    batch_rows,
    block_rows,
    check_weight,
    cut_batches,
    pair,
    require_weight,
)

SUFFIXES = (".svm", ".libsvm", ".svmlight")
CHUNK_BYTES = 2**20  # large enough to keep a thread busy, small enough for its cache
MAX_INDEX = 2**31 - 2
MAX_NUMBER_CHARACTERS = 64  # no program writes longer numbers
MAX_SHOWN_CHARACTERS = 40
ROW_FORMAT = "Write each row as: label index:value index:value ..."


class Chunk(NamedTuple):
    """Complete lines of text, and the line number of the first (starting at 1)."""

    text: bytes
    line: int


class IndexRange(NamedTuple):
    """Smallest and largest allowed index; the first column has index ``low``."""

    low: int = 0
    high: int = MAX_INDEX

    @property
    def width(self) -> int:
        return self.high - self.low + 1


@dataclass(frozen=True, eq=False, slots=True)
class SparseRows:
    """n rows, stored as in a CSR matrix: row i has the columns ``column[start[i] : start[i + 1]]``, sorted."""

    label: Float
    start: Array
    column: Array
    value: Float
    queries: int = 0

    @property
    def num_rows(self) -> int:
        return len(self.label)

    def slice(self, first: int, length: int) -> SparseRows:
        """At most ``length`` rows from row ``first`` on, as views; like `num_rows`, named as in record batches."""
        label, start = self.label[first : first + length], self.start[first : first + length + 1]
        low, high = start[0], start[-1]
        return SparseRows(label, start - low, self.column[low:high], self.value[low:high])

    def matrix(self, width: int) -> Any:
        """CSR array (n, width). Its attributes are set directly, because the constructor would check every index."""
        X = sparse.csr_array((self.num_rows, width), dtype=np.float64)
        X.data, X.indices, X.indptr = self.value, self.column, self.start
        return X


def join_rows(parts: list[SparseRows]) -> SparseRows:
    """Concatenate rows."""
    if len(parts) == 1:
        return parts[0]
    ends = np.cumsum([0, *(len(part.value) for part in parts)])
    dtype = np.int64 if ends[-1] > np.iinfo(np.int32).max else np.int32
    starts = [part.start[:-1].astype(dtype) + end for part, end in zip(parts, ends[:-1].astype(dtype), strict=True)]
    return SparseRows(
        np.concatenate([part.label for part in parts]),
        np.append(np.concatenate(starts), ends[-1:].astype(dtype)),
        np.concatenate([part.column for part in parts]).astype(dtype, copy=False),
        np.concatenate([part.value for part in parts]),
    )


def parse(chunk: Chunk, indices: IndexRange, path: Path) -> SparseRows:
    """Parse the rows of a chunk; raises FileReadError if a line does not have the form ``label index:value ...``."""
    from separatrix.files import _kernels as kernel

    text = np.frombuffer(chunk.text, dtype=np.uint8)
    n_rows, n_entries = chunk.text.count(b"\n") + 1, chunk.text.count(b":")
    label, start = np.empty(n_rows), np.empty(n_rows + 1, dtype=np.int32)
    column, value = np.empty(n_entries, dtype=np.int32), np.empty(n_entries)
    hard = np.empty((n_rows + n_entries, 3), dtype=np.int64)
    counts = np.zeros(4, dtype=np.int64)
    end, at = kernel.read_rows(text, *indices, (label, start, column, value, hard, counts))
    n, n_entries, queries, n_hard = counts.tolist()
    if n_hard:  # numbers with too many digits for the compiled loop, and tokens that are not numbers
        begin, place = hard[:n_hard, 0], hard[:n_hard, 2]
        numbers = _parse_numbers(hard[:n_hard], text, chunk, path)
        is_label = place < 0
        if (infinite := begin[is_label & ~np.isfinite(numbers)]).size:
            raise _token_error(int(infinite[0]), chunk, path, "{!r} is not a finite number, as a label must be.")
        label[-1 - place[is_label]] = numbers[is_label]
        value[place[~is_label]] = numbers[~is_label]
    if end != kernel.READ:
        low, width = indices.low, indices.width
        remarks = {
            kernel.NO_LABEL: "the label is missing: the line begins with {0!r}. Write a label first; use 0 if it is "
            "unknown, as in rows to predict.",
            kernel.SEVERAL_LABELS: "{0!r} contains several labels, but a row has one class. Write a file for each "
            "label, with 1 if a row has it and 0 if not.",
            kernel.NO_INDEX: f"{{0!r}} is not index:value with a whole number as index. {ROW_FORMAT}",
            kernel.LARGE_INDEX: f"index {{1}} is larger than the maximum, {MAX_INDEX}. Renumber the features.",
            kernel.LOW_INDEX: f"index {{1}} is below {low}, the first allowed index. Use zero_based=True or 'auto'.",
            kernel.HIGH_INDEX: f"index {{1}} exceeds n_features={width} (indices start at {low}). Pass the number of "
            "features of the model, or leave it out.",
            kernel.UNSORTED: "index {1} follows an index that is not smaller. Write the entries of a row in ascending "
            "order, each once.",
        }
        raise _token_error(at, chunk, path, remarks[end])
    return SparseRows(label[:n], start[: n + 1], column[:n_entries], value[:n_entries], queries)


def _parse_numbers(tokens: Codes, text: Array, chunk: Chunk, path: Path) -> Float:
    """Numbers of tokens, given by their first and last position; raises if a token is not a number."""
    begin, end, _ = tokens.T
    longest = int((end - begin).max())
    wrong = begin[(end - begin > MAX_NUMBER_CHARACTERS) | (end == begin)].tolist()
    if not wrong:
        at = begin[:, None] + np.arange(longest)
        letters = np.where(at < end[:, None], text[np.minimum(at, len(text) - 1)], 0).astype(np.uint8)
        try:
            with np.errstate(over="ignore"):  # 1e999 becomes infinity, for which models report the column
                return np.asarray(letters.view(f"S{longest}")[:, 0].astype(np.float64))
        except ValueError:
            for first, last in zip(begin.tolist(), end.tolist(), strict=True):
                try:
                    float(chunk.text[first:last])
                except ValueError:
                    wrong.append(first)
    raise _token_error(wrong[0], chunk, path, f"{{!r}} is not a number. {ROW_FORMAT}")


def _token_error(at: int, chunk: Chunk, path: Path, remark: str) -> FileReadError:
    """Error for the token at a position: ``remark`` may contain the token ({0}) and its index ({1})."""
    start, line = chunk.text[at : at + MAX_SHOWN_CHARACTERS], chunk.line + chunk.text.count(b"\n", 0, at)
    if not start or start[:1].isspace():
        remark = f"a value is missing after the colon. {ROW_FORMAT}"
    token = start.split(None, 1)[0].decode("utf-8", "replace") if start.strip() else ""
    return FileReadError(f"{path}, line {line}: {remark.format(token, token.partition(':')[0])}")


class LibsvmFile(RowStore):
    r"""A text file of sparse rows, ``label index:value index:value ...``, which models read without loading it.

    Opening reads the file once: every line is checked (FileReadError names a wrong one), and rows, features and classes
    are counted. Each pass of a fit reads the file again, one block at a time, in parallel with the computation.

    Parameters
    ----------
    path : str or path
        The file, plain or compressed as in `open_table`.
    n_features : int, optional
        Number of columns; by default the largest index. For predictions pass the model's number of features: the last
        features may not occur in these rows.
    zero_based : bool or "auto", default "auto"
        Whether the first feature has index 0 instead of 1; "auto" means True if there is an index 0.

    Attributes
    ----------
    path : Path
        The file.
    n_rows, n_features, n_entries : int
        Number of rows, columns and stored values.
    zero_based : bool
        Whether the first column has the index 0.
    classes : ndarray of shape (K,)
        Distinct labels, as integers if all are whole numbers.
    label_counts : ndarray of shape (K,)
        Number of rows of each label.
    notes : tuple of str
        Sentences about parts of the file that were skipped.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import separatrix as sx
    >>> from separatrix.files import LibsvmFile
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
        if isinstance(path, list | tuple) or (glob.has_magic(os.fspath(path)) and not Path(path).exists()):
            raise FileReadError(
                f"{path} names several sparse files, which cannot be read together, since each has its own largest "
                "index. Join them first: cat part-*.svm > all.svm."
            )
        self.path = Path(path).expanduser()
        if not self.path.is_file():
            what = "is a folder" if self.path.is_dir() else "does not exist"
            raise FileReadError(f"{self.path} {what}. Give the path of a text file: label index:value ...")
        self._where = Location(self.path, "libsvm", COMPRESSIONS.get(self.path.suffix.lower()))
        self._opened = self._where.fingerprint()
        # If the first index is unknown before the first pass, allow both 0 and n_features as indices.
        self._indices = IndexRange(
            int(zero_based is False), MAX_INDEX if width is None else width - 1 + (zero_based is not True)
        )
        first, low, high, self.n_entries, n_queries = self._indices.low, MAX_INDEX, -1, 0, 0
        self.labels, self.label_counts = np.empty(0), np.empty(0, dtype=np.intp)
        self.has_more_labels = False
        self.n_rows = 0
        for rows in map_in_order(self.parse, self.chunks()):
            self.n_rows += rows.num_rows
            self.n_entries, n_queries = self.n_entries + len(rows.column), n_queries + rows.queries
            if len(rows.column):
                low, high = min(low, first + int(rows.column.min())), max(high, first + int(rows.column.max()))
            labels, codes = np.unique(np.append(self.labels, rows.label), return_inverse=True)
            counts = np.bincount(codes, np.append(self.label_counts, np.ones(rows.num_rows))).astype(np.intp)
            self.has_more_labels = self.has_more_labels or len(labels) > MAX_LABELS
            self.labels, self.label_counts = labels[:MAX_LABELS], counts[:MAX_LABELS]  # the smallest labels
        if not self.n_rows:
            raise FileReadError(f"{self.path} has no rows. {ROW_FORMAT}")
        base = int(low > 0) if zero_based == "auto" else int(not zero_based)
        if width is not None and high >= base + width:
            raise FileReadError(
                f"{self.path} has the indices {low} to {high}, one more than n_features={width}. Use "
                f"n_features={high - base + 1}, or leave it out."
            )
        self._indices = IndexRange(base, max(high, base) if width is None else base + width - 1)
        self.n_features, self.zero_based = self._indices.width, base == 0
        self.notes: tuple[str, ...] = ()
        if n_queries:
            have = f"{counted(n_queries, 'row')} {'has' if n_queries == 1 else 'have'}"
            self.notes = (f"{have} a query (qid:), which classifiers do not use; it was skipped.",)

    def __repr__(self) -> str:
        return f"LibsvmFile({str(self.path)!r}, n_features={self.n_features}, zero_based={self.zero_based})"

    @property
    def classes(self) -> Array:
        """Distinct labels, as integers if all are whole numbers."""
        return _as_classes(self.labels)

    @property
    def shape(self) -> tuple[int, int]:
        """(N, D)."""
        return self.n_rows, self.n_features

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names x0, x1, ..., because features have no names."""
        return tuple(f"x{d}" for d in range(self.n_features))

    def blocks(self, rows_per_block: int = 4096) -> Iterator[Block]:
        """Read all rows in order: ``X`` is a CSR array of float64, and ``classes[t]`` are the labels."""
        size = check_count("blocks", "rows_per_block", rows_per_block)
        rows = SparseText(self)
        codes = Targets() if self.has_more_labels else FileLabels(self.labels, np.arange(len(self.labels)))
        return (codes.block(rows.read(piece), piece, 0) for piece in rows.pieces(size))

    def read(self) -> tuple[Any, Array]:
        """Read all rows into memory, as a CSR array (N, D), and their labels (N,)."""
        rows = join_rows(list(map_in_order(self.parse, self.chunks())))
        return rows.matrix(self.n_features), _as_classes(rows.label)

    def read_labels(self) -> Array:
        """Read the labels of all rows (N,), in one pass."""
        return _as_classes(np.concatenate([rows.label for rows in map_in_order(self.parse, self.chunks())]))

    def open_rows(self, columns: Sequence[str] | None) -> Source:
        """Open the rows; ``columns`` is ignored. Blocks are as large as those of the same rows in memory."""
        rows = SparseText(self)
        template = np.empty((0, self.n_features))
        return Source(
            (rows,), Threads(), rows.columns, rows.height_for(rows.numbers_per_row), template, self, (Targets(),)
        )

    def label(self, source: Source, sample_weight: Any, rules: LabelRules) -> Labelled:
        """Encode the labels of the file as class codes; weights are in memory."""
        if (broken := self.labels[self.labels % 1 != 0]).size or self.has_more_labels:
            what = f"label {broken[0]:g} is not a whole number" if broken.size else "there are too many labels"
            raise DataError(f"{self.path}: {what}, so labels are not classes. Pass the classes: fit(file, y).")
        # It is enough to encode each distinct label once.
        paired = pair(self.classes, None, len(self.classes), rules)
        codes = paired.targets[0].t
        targets = FileLabels(self.labels, codes, check_weight(sample_weight, self.n_rows))
        require_weight(targets.weight)
        return Labelled((targets,), paired.classes, int(self.label_counts[codes < 0].sum()))

    def targets_in_memory(self, y: Any, sample_weight: Any) -> tuple[Any, Any]:
        """Return targets and weights in memory; if ``y`` is None, the labels of the file are read."""
        return self.read_labels() if y is None else y, sample_weight

    def chunks(self) -> Iterator[Chunk]:
        """Yield all lines in order, in chunks of about `CHUNK_BYTES`; a longer line is a chunk of its own."""
        self._where.require_unchanged(self._opened)
        line, rest = 1, [b""]
        with reading(self._where), open_input(self._where) as file:
            while more := file.read(CHUNK_BYTES):
                cut = more.rfind(b"\n") + 1
                if not cut:
                    rest.append(more)
                    continue
                text = b"".join([*rest, more[:cut]])
                yield Chunk(text, line)
                line, rest = line + text.count(b"\n"), [more[cut:]]
            if text := b"".join(rest):
                yield Chunk(text, line)
        self._where.require_unchanged(self._opened)

    def parse(self, chunk: Chunk) -> SparseRows:
        """Parse the lines of a chunk."""
        return parse(chunk, self._indices, self.path)


def is_libsvm(source: object) -> bool:
    """Whether a path, or the first of several paths, has the suffix of a sparse text file, compressed or not."""
    path = source[0] if isinstance(source, list | tuple) and source else source
    if not isinstance(path, str | os.PathLike):
        return False
    suffixes = [suffix.lower() for suffix in Path(path).suffixes if suffix.lower() not in COMPRESSIONS]
    return bool(suffixes) and suffixes[-1] in SUFFIXES


def _as_classes(labels: Float) -> Array:
    """Convert labels to integers if all are whole numbers."""
    return labels.astype(np.int64) if (labels % 1 == 0).all() and (np.abs(labels) < 2**53).all() else labels


class Piece(NamedTuple):
    """Parsed rows ``start`` to ``stop`` of a file."""

    start: int
    stop: int
    rows: SparseRows


class SparseText:
    """All rows of a file as a partition. Blocks are cut by row number, not at the ends of chunks."""

    copies = False

    def __init__(self, file: LibsvmFile) -> None:
        self.file, self.columns = file, file.columns
        self.n_rows = self.known_rows = file.n_rows
        # Average memory per row, in float64 values: 1 for each entry, and half as much for its index.
        self.numbers_per_row = 1.5 * file.n_entries / file.n_rows

    def height_for(self, width: float) -> int:
        return block_rows(width)

    def pieces(
        self, height: int, more: tuple[str, ...] = (), rng: np.random.Generator | None = None
    ) -> Iterator[Piece]:
        """Parse the file on threads and yield ``height`` rows at a time, in order.

        With ``rng``, it yields more rows at a time, for the caller to shuffle. If lines are sorted by class, shuffle
        the file first, because it is always read from start to end.
        """
        height = height if rng is None else batch_rows(round(self.numbers_per_row))
        first = 0
        for parts in cut_batches(map_in_order(self.file.parse, self.file.chunks()), height):
            rows = join_rows(parts)
            yield Piece(first, first + rows.num_rows, rows)
            first += rows.num_rows

    def read(self, piece: Any) -> Rows:
        return piece.rows.matrix(self.file.n_features)


@dataclass(frozen=True, eq=False)
class FileLabels:
    """Targets from the labels of the file. ``codes`` has a class code for each of ``labels``; -1 means unlabelled."""

    labels: Float
    codes: Codes
    weight: Float | None = None
    columns: tuple[str, ...] = ()

    def of(self, label: Float) -> Codes:
        found: Codes = self.codes[np.searchsorted(self.labels, label)]
        return found

    def block(self, X: Rows, piece: Piece, first: int) -> Block:
        weight = None if self.weight is None else self.weight[piece.start : piece.stop]
        return Block(X, self.of(piece.rows.label), weight, range(first + piece.start, first + piece.stop))
