# SPDX-License-Identifier: BSD-3-Clause
"""Rows outside memory, read as Arrow record batches: files, and queries and streams copied to temporary files.

Blocks are cut by row number, not at the ends of the reader's batches, so sums do not depend on the reader.
A column of labels is never in memory as a whole: one cheap pass counts its labels, and each block looks up its codes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from separatrix._array import Array, Codes, Float, Rows, working_dtype
from separatrix._lazy import pa, pc
from separatrix._text import counted
from separatrix.exceptions import DataError, RowsChangedError
from separatrix.rows.block import Block
from separatrix.rows.labels import (
    UNLABELLED,
    Labelled,
    LabelRules,
    encode_labels,
    require_classes,
    require_known,
    require_weight,
)
from separatrix.rows.memory import block_rows
from separatrix.rows.source import Source
from separatrix.rows.threads import Threads, read_ahead

BATCH_BYTES = 2**24  # size of one batch; a few batches are in memory at a time
MIN_BATCH_ROWS, MAX_BATCH_ROWS = 2**10, 2**18
MAX_LABELS = 2**16  # largest number of classes; a column with more distinct values is not a class label


def batch_rows(width: int) -> int:
    """Number of rows per batch of ``width`` columns."""
    return max(MIN_BATCH_ROWS, min(BATCH_BYTES // (8 * max(width, 1)), MAX_BATCH_ROWS))


class ArrowRows(ABC):
    """A table that is read as Arrow record batches, any number of times, always with the same rows."""

    title: str  # name of the table in messages
    columns: tuple[str, ...]
    reads_ahead: bool = True  # False if its database connection is bound to one thread
    known_rows: int | None = None  # None if the rows have not been counted
    may_be_empty = False  # True if this is one of several parts of a table

    @abstractmethod
    def schema(self, columns: Sequence[str]) -> pa.Schema:
        """Arrow types of the named columns."""

    @abstractmethod
    def batches(self, columns: tuple[str, ...], rows: int) -> Iterator[pa.RecordBatch]:
        """Read these columns in batches of about ``rows`` rows."""

    @property
    def described(self) -> str:
        """Name of the table in its representation."""
        return self.title

    def prepare(self) -> None:
        """Make sure that every pass reads the same rows; called before a fit, and before several passes."""
        return

    def parts(self, columns: tuple[str, ...]) -> tuple[ArrowRows, ...]:
        """Split the table into independent parts for several workers: files, or row groups of Parquet files."""
        del columns
        return (self,)

    def place(self, row: int) -> str:
        """Name of a row, counted from 0, in messages."""
        return f"row {row + 1:,} (counted from 1)"

    def label_counts(self, target: str, clean: Callable[[pa.Array], pa.Array] | None = None) -> LabelCounts | None:
        """Counts of the labels in a column, if they are known without another pass."""
        del target, clean
        return None

    def settle(self, n_rows: int) -> None:
        """Record the number of rows that a pass has read; raise if it is zero or differs from the previous pass."""
        if not n_rows and not self.may_be_empty:
            raise DataError(f"{self.title} has no rows to fit or predict. Check where= and the table itself.")
        if self.known_rows not in (None, n_rows):
            raise RowsChangedError(
                f"{self.title} had {counted(self.known_rows, 'row')} before and has {n_rows} now: the table changed "
                "between two "
                "passes. Scan a copy that does not change."
            )
        self.known_rows = n_rows


class Piece(NamedTuple):
    """Rows ``start`` to ``stop`` of a partition, as slices of the record batches that a reader returned."""

    start: int
    stop: int
    parts: Sequence[pa.RecordBatch]

    @property
    def batch(self) -> pa.RecordBatch:
        """All columns and rows of the piece as one batch."""
        return join_batches(self.parts)

    def column(self, name: str) -> pa.Array:
        return join_batches([part.select([name]) for part in self.parts]).column(0)


@dataclass(frozen=True, eq=False)
class BatchPlan:
    """How a batch is converted to a matrix of features.

    ``features`` are the columns that are read, ``columns`` the names of the encoded features. ``encode`` converts a
    batch to a matrix. It is None if all columns are numeric: they then become a matrix of type ``dtype``.
    """

    features: tuple[str, ...]
    columns: tuple[str, ...]
    dtype: Any = np.float64
    encode: Callable[[Any], Rows] | None = None


@dataclass(frozen=True, eq=False)
class Batches:
    """A partition of rows outside memory."""

    rows: ArrowRows
    plan: BatchPlan
    value = None  # no lazy table: a worker opens this partition itself

    @property
    def columns(self) -> tuple[str, ...]:
        return self.plan.columns

    @property
    def known_rows(self) -> int | None:
        return self.rows.known_rows

    @property
    def n_rows(self) -> int:
        """Number of rows, counted by a pass over one column if necessary."""
        n_rows = self.rows.known_rows
        if n_rows is None:
            for piece in self.batches(self.plan.features[:1]):
                n_rows = piece.stop
        return n_rows or 0

    def height_for(self, width: float) -> int:
        return block_rows(width)

    def pieces(
        self, height: int, more: tuple[str, ...] = (), rng: np.random.Generator | None = None
    ) -> Generator[Piece]:
        """Yield ``height`` rows at a time, in order. With ``rng``, yield whole batches, whose rows the caller shuffles.

        A file is always read from start to end: if its rows are sorted by class, shuffle the file first.
        """
        columns = tuple(dict.fromkeys([*self.plan.features, *more]))
        rows = batch_rows(len(columns))
        height = height if rng is None else rows
        return self._numbered(cut_batches(self._read(columns, max(1, rows // height) * height), height))

    def batches(self, columns: tuple[str, ...]) -> Generator[Piece]:
        """Yield all rows of the named columns, in large batches."""
        rows = batch_rows(len(columns))
        return self._numbered(cut_batches(self._read(columns, rows), rows))

    def _read(self, columns: tuple[str, ...], rows: int) -> Generator[pa.RecordBatch]:
        batches = self.rows.batches(columns, rows)
        reader = read_ahead(batches) if self.rows.reads_ahead else batches
        with closing(reader):  # type: ignore[type-var]  # a generator
            yield from reader

    def _numbered(self, groups: Generator[list[pa.RecordBatch]]) -> Generator[Piece]:
        row = 0
        with closing(groups):
            for parts in groups:
                first, row = row, row + sum(part.num_rows for part in parts)
                yield Piece(first, row, parts)
        self.rows.settle(row)

    def read(self, piece: Any) -> Rows:
        """Convert the columns of a piece to a matrix (n, D). This is the only copy that a pass over a file makes.

        The matrix is column-major. A row-major one takes four times as long to fill, and its products are no faster.
        """
        plan, start = self.plan, 0
        if plan.encode is not None:
            return plan.encode(piece.batch)
        X = np.empty((len(plan.features), piece.stop - piece.start), plan.dtype)
        for part in piece.parts:
            stop = start + part.num_rows
            for d, name in enumerate(plan.features):
                X[d, start:stop] = numbers(part.column(name))
            start = stop
        return X.T

    # If workers read the partitions, the plan is sent to each worker once, and a partition with each task.

    @property
    def shared_plan(self) -> Any:
        """The read plan, which all partitions of a source share."""
        return self.plan

    def without_shared_plan(self) -> Batches:
        """Return the partition without the shared plan."""
        return replace(self, plan=None)  # type: ignore[arg-type]  # `opened` sets it again

    def opened(self, value: Any, common: Any) -> Batches:
        """Return the partition with its plan, inside a task."""
        return replace(self, plan=common)


def cut_batches(
    batches: Generator[pa.RecordBatch], height: int, max_bytes: int | None = None
) -> Generator[list[pa.RecordBatch]]:
    """Regroup the rows into groups of ``height`` rows; the last may be shorter. A group is a list of uncopied slices.

    With ``max_bytes``, a group ends early when it reaches that size.
    """
    kept: list[pa.RecordBatch] = []
    n_kept = n_bytes = 0
    with closing(batches):
        for batch in batches:
            start = 0
            while start < batch.num_rows:
                kept.append(batch.slice(start, height - n_kept))
                start, n_kept = start + kept[-1].num_rows, n_kept + kept[-1].num_rows
                n_bytes += 0 if max_bytes is None else kept[-1].nbytes
                if n_kept == height or (max_bytes is not None and n_bytes >= max_bytes):
                    yield kept
                    kept, n_kept, n_bytes = [], 0, 0
    if kept:
        yield kept


def join_batches(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Concatenate batches; a single batch is not copied."""
    if len(batches) == 1:
        return batches[0]
    return pa.Table.from_batches(batches).unify_dictionaries().combine_chunks().to_batches()[0]


def open_batches(
    tables: Sequence[ArrowRows], plan: BatchPlan, template: Any, store: Any = None, runner: Any = None
) -> Source:
    """Open a table outside memory for this process, or its parts for the workers of a Dask ``runner``."""
    partitions = tuple(Batches(table, plan) for table in tables)
    height = block_rows(len(plan.columns))
    return Source(partitions, runner or Threads(), plan.columns, height, template, store, (NO_TARGETS,) * len(tables))


def is_number(kind: pa.DataType) -> bool:
    """Whether a column of this type can be read as numbers. Booleans can, as 0 and 1."""
    t = pa.types
    return bool(
        t.is_integer(kind) or t.is_floating(kind) or t.is_boolean(kind) or t.is_decimal(kind) or t.is_null(kind)
    )


def precision(kinds: Iterable[pa.DataType]) -> np.dtype[Any]:
    """Type of the matrix: float32 if all columns are float32 or float16, as for tables in memory; else float64."""
    single = [pa.types.is_float32(kind) or pa.types.is_float16(kind) for kind in kinds]
    return working_dtype(np.float32 if single and all(single) else np.float64)


def numbers(column: pa.Array) -> Array:
    """Convert a column to numbers, without a copy if no value is missing; missing values become NaN."""
    if pa.types.is_floating(column.type) or (pa.types.is_integer(column.type) and not column.null_count):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    # safe=False: integers beyond 2**53 are rounded, as in NumPy.
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))


def column_in_memory(rows: Batches, name: str) -> Array:
    """Read all values of a column. Missing values are NaN among numbers and None among texts."""
    return np.concatenate([_values(plain(piece.column(name))) for piece in rows.batches((name,))])


def _values(column: pa.Array) -> Array:
    if pa.types.is_boolean(column.type) and not column.null_count:
        return np.asarray(column.to_numpy(zero_copy_only=False))
    if is_number(column.type):
        return np.array(numbers(column))  # a copy, so that the batch can be freed
    coded = column.dictionary_encode()
    words = np.array([*coded.dictionary.to_pylist(), None], dtype=object)
    return np.asarray(words[coded.indices.fill_null(len(words) - 1).to_numpy(zero_copy_only=False)])


def _weights(column: pa.Array, row: int, name: str) -> Float:
    """Return checked weights: finite and >= 0. ``row`` is the number of the first row, for the message."""
    if not is_number(column.type):
        raise DataError(f"The weights in column {name!r} are of type {column.type}; they must be numbers.")
    weight = numbers(column).astype(np.float64, copy=False)
    with np.errstate(invalid="ignore"):
        wrong = np.flatnonzero(~((weight >= 0) & (weight < np.inf)))
    if len(wrong):
        raise DataError(
            f"The weight in column {name!r} is {weight[wrong[0]]:g} in row {row + wrong[0] + 1} (counted from 1); "
            "weights must be finite and not negative. Use 0 to leave a row out."
        )
    return np.asarray(weight)


@dataclass(frozen=True, eq=False)
class ColumnTargets:
    """Targets that are read from a column of labels, and weights from another column; both may be None.

    ``clean`` converts the column of labels before they are looked up.
    """

    target: str | None = None
    classes: Any = None
    unlabelled: Any = "error"
    weight: str | None = None
    clean: Callable[[pa.Array], pa.Array] | None = None
    known: dict[Any, Any] = field(default_factory=dict, repr=False)  # the classes as Arrow array, by type

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that must be read."""
        return tuple(name for name in (self.target, self.weight) if name is not None)

    def block(self, X: Rows, piece: Piece, first: int) -> Block:
        """Return the block of rows of a piece, with class codes and weights."""
        codes = weight = None
        if self.target is not None:
            labels = piece.column(self.target)
            labels = labels if self.clean is None else self.clean(plain(labels))
            codes = codes_of(labels, self.classes, self.unlabelled, self.known)
        if self.weight is not None:
            weight = numbers(piece.column(self.weight)).astype(np.float64, copy=False)
        return Block(X, codes, weight, range(first + piece.start, first + piece.stop))


NO_TARGETS = ColumnTargets()


@dataclass(frozen=True)
class LabelCounts:
    """Number of rows and sum of weights for each label. Rows with a missing label are counted separately.

    ``name`` is the column. ``dtype`` is the NumPy type of the classes; None if the column's type has no equivalent.
    """

    seen: Mapping[Any, tuple[int, float]] = field(default_factory=dict)
    n_rows: int = 0
    n_missing: int = 0
    first_missing: int | None = None
    name: str = ""
    dtype: np.dtype[Any] | None = None

    def __add__(self, other: LabelCounts) -> LabelCounts:
        both = dict(self.seen)
        for label, (count, weight) in other.seen.items():
            before = both.get(label, (0, 0.0))
            both[label] = (before[0] + count, before[1] + weight)
        _require_few(len(both), self.name or other.name)
        firsts = [first for first in (self.first_missing, other.first_missing) if first is not None]
        return LabelCounts(
            both,
            self.n_rows + other.n_rows,
            self.n_missing + other.n_missing,
            min(firsts, default=None),
            self.name or other.name,
            self.dtype if self.dtype is not None else other.dtype,
        )

    def classes(self, unlabelled: Any, place: Callable[[int], str] = lambda row: f"row {row + 1:,}") -> Array:
        """Sorted classes, without the label that marks unlabelled rows. ``place`` names a row in messages.

        Raises DataError if labels are missing and ``unlabelled`` does not allow it, or no row has a label.
        """
        if self.n_missing and unlabelled != "missing":
            column = '"' + self.name.replace('"', '""') + '"'
            is_real = self.dtype is not None and self.dtype.kind == "f"
            # NaN and infinity are not NULL but are no labels either; x - x = 0 is false for them.
            present = f"{column} - {column} = 0" if is_real else f"{column} IS NOT NULL"
            raise DataError(
                f"{self.n_missing} of {self.n_rows} labels in column {self.name!r} are missing, the first in "
                f"{place(self.first_missing or 0)}. Give them a label, or leave those rows out: "
                f"scan(..., where='{present}')."
            )
        labels = [label for label in self.seen if not _marks(label, unlabelled)]
        if not labels:
            raise DataError(f"None of {self.n_rows} rows has a label in column {self.name!r}.")
        return encode_labels(labels if self.dtype is None else np.array(labels, self.dtype))[0]

    def n_unlabelled(self, unlabelled: Any) -> int:
        """Number of rows with a missing label or the label that marks unlabelled rows."""
        return self.n_missing + sum(count for label, (count, _) in self.seen.items() if _marks(label, unlabelled))

    def weights(self, classes: Array) -> Float:
        """Sum of weights of each class."""
        return np.array([self.seen.get(label, (0, 0.0))[1] for label in classes.tolist()])


def _marks(label: Any, unlabelled: Any) -> bool:
    is_rule = isinstance(unlabelled, str) and unlabelled in ("error", "missing")
    return not is_rule and bool(label == unlabelled)


def count_labels(piece: Piece, target: str, weight: str | None = None, clean: Any = None) -> LabelCounts:
    """Count the rows, and add up the weights, of each label in a piece; ``clean`` first converts the labels."""
    share = None if weight is None else _weights(piece.column(weight), piece.start, weight)
    rows = np.arange(piece.start, piece.stop)
    labels = piece.column(target)
    return tally_labels(clean(plain(labels)) if clean else labels, np.ones(len(rows), np.intp), rows, target, share)


def tally_labels(column: pa.Array, counts: Array, rows: Array, target: str, weights: Any = None) -> LabelCounts:
    """Add up the counts and weights of values that are the same label; ``rows`` has the first row of each value."""
    labels = plain(column)
    if pa.types.is_temporal(labels.type) or pa.types.is_nested(labels.type):
        raise DataError(f"The target {target!r} holds values of type {column.type}, which are not classes.")
    coded = _without_nan(labels).dictionary_encode()
    n = len(coded.dictionary)
    _require_few(n, target)
    codes = np.asarray(coded.indices.fill_null(-1).to_numpy(zero_copy_only=False))
    has = codes >= 0
    sums = np.bincount(codes[has], counts[has], minlength=n)
    weights = sums if weights is None else np.bincount(codes[has], weights[has], minlength=n)
    found = zip(coded.dictionary.to_pylist(), sums.tolist(), weights.tolist(), strict=True)
    return LabelCounts(
        {label: (int(count), total) for label, count, total in found},
        int(counts.sum()),
        int(counts[~has].sum()),
        int(rows[~has].min()) if not has.all() else None,
        target,
        _numpy_type(column.type),
    )


def label_from_column(
    source: Source,
    target: str,
    weight: str | None,
    rules: LabelRules,
    counts: LabelCounts,
    clean: Callable[[pa.Array], pa.Array] | None = None,
) -> Labelled:
    """Encode a column whose labels were counted; blocks look up their codes."""
    classes = counts.classes(rules.unlabelled, source.store.rows.place)
    if rules.known is not None:
        require_known(classes, rules.known)
        classes = rules.known
    require_classes(classes, rules.least, f" in column {target!r} of {source.partitions[0].rows.title}")
    if weight is not None:
        require_weight(counts.weights(classes))
    targets = (ColumnTargets(target, classes, rules.unlabelled, weight, clean),) * len(source.partitions)
    return Labelled(targets, classes, counts.n_unlabelled(rules.unlabelled))


def _require_few(n_labels: int, name: str) -> None:
    if n_labels > MAX_LABELS:
        raise DataError(
            f"The target {name!r} has more than {MAX_LABELS} different values: it looks like a measurement, an id or "
            "free text. Choose another column, or cut it into classes."
        )


def _numpy_type(kind: pa.DataType) -> np.dtype[Any] | None:
    """NumPy type of a column in memory; None for text and other types, for which `encode_labels` finds the type."""
    types = pa.types
    if types.is_dictionary(kind):
        return _numpy_type(kind.value_type)
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        found: np.dtype[Any] = np.dtype(kind.to_pandas_dtype())
        return found
    return np.dtype(np.bytes_) if types.is_binary(kind) or types.is_large_binary(kind) else None


def codes_of(column: pa.Array, classes: Array, unlabelled: Any = "error", known: dict[Any, Any] | None = None) -> Codes:
    """Class code of each label; -1 for unlabelled rows, if they are allowed. ``known`` caches the converted classes.

    Raises DataError if a label is not one of the classes.
    """
    labels = plain(column)
    codes = _codes_of_integers(labels, classes)
    if codes is not None:
        return codes
    known = {} if known is None else known
    if labels.type not in known:
        known[labels.type] = pa.array(classes.tolist(), labels.type)
    codes = pc.index_in(labels, value_set=known[labels.type]).fill_null(UNLABELLED).to_numpy(zero_copy_only=False)
    lost = np.flatnonzero(codes < 0)
    allowed = isinstance(unlabelled, str) and unlabelled == "missing"
    for label in set(_without_nan(labels).take(pa.array(lost)).to_pylist()) if len(lost) else ():
        if label != unlabelled and not (label is None and allowed):
            raise DataError(
                f"Label {label!r} is not one of the classes: {', '.join(map(repr, classes[:8].tolist()))}. "
                "Did the rows change since the classes were counted?"
            )
    return np.asarray(codes, dtype=np.intp)


def _codes_of_integers(labels: pa.Array, classes: Array) -> Codes | None:
    """Codes of integer labels, from a lookup table (ten times as fast as a search); None if it cannot be used."""
    is_whole = pa.types.is_integer(labels.type) or pa.types.is_boolean(labels.type)
    if not is_whole or labels.null_count or classes.dtype.kind not in "bui":
        return None
    low, high = int(classes.min()), int(classes.max())
    if high - low > MAX_LABELS or high > np.iinfo(np.intp).max:
        return None
    values = labels.to_numpy(zero_copy_only=False)
    if not (values >= low).all() or not (values <= high).all():
        return None
    table = np.full(high - low + 1, UNLABELLED, np.intp)
    table[classes.astype(np.intp) - low] = np.arange(len(classes))
    codes: Codes = table[values.astype(np.intp, copy=False) - low]
    return codes if (codes >= 0).all() else None


def plain(column: pa.Array) -> pa.Array:
    """Decode dictionaries, convert decimals to floats, and -0.0 to 0.0 (equal in NumPy but distinct in Arrow)."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    if pa.types.is_float16(column.type):  # Arrow has no float16 arithmetic
        column = column.cast(pa.float32())
    if pa.types.is_floating(column.type):
        return pc.add(column, pa.scalar(0, column.type))
    return column.cast(pa.large_string()) if pa.types.is_string_view(column.type) else column


def has_label(column: pa.Array, clean: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """Mask of the rows whose label, converted by ``clean``, is neither missing, NaN nor infinite."""
    return _without_nan(clean(plain(column))).is_valid()


def _without_nan(labels: pa.Array) -> pa.Array:
    """Replace NaN and infinity by missing values, as for labels in memory."""
    if not pa.types.is_floating(labels.type):
        return labels
    return pc.if_else(pc.is_finite(labels), labels, None)
