# SPDX-License-Identifier: BSD-3-Clause
"""`scan`: a table outside memory, on which every model can be fitted and can predict."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from separatrix._array import Array, Codes
from separatrix._lazy import pa
from separatrix._text import counted, did_you_mean
from separatrix.exceptions import DataError
from separatrix.files.libsvm import LibsvmFile, is_libsvm
from separatrix.files.many import FileRows, open_files
from separatrix.files.query import open_query
from separatrix.files.stream import StreamRows, open_stream
from separatrix.files.table import READ_BATCH_ROWS, TableFile
from separatrix.files.where import make_condition
from separatrix.rows import (
    ArrowRows,
    Batches,
    BatchPlan,
    LabelCounts,
    Labelled,
    LabelRules,
    NamedRows,
    RowStore,
    Source,
    batch_rows,
    check_weight,
    column_in_memory,
    count_labels,
    dask_runner,
    has_label,
    is_number,
    label_from_column,
    open_batches,
    precision,
)
from separatrix.table import Schema, TableStatistics, clean_labels, open_batch, table_statistics


def scan(
    source: Any,
    *,
    target: str | None = None,
    columns: Sequence[str] | None = None,
    weight: str | None = None,
    where: Any = None,
    connection: Any = None,
    types: Mapping[str, Any] | None = None,
    client: Any = None,
) -> Scan | LibsvmFile:
    r"""Use rows in files or a database as X. Every pass reads them again, with memory that does not grow with N.

    Parameters
    ----------
    source : path, list of paths, table, SQL text or object
        A file, folder or pattern (``data/*.parquet``) of any format that `open_table` reads; an open table, with the
        types it has; a query, if ``connection`` is given; an object with the Arrow stream interface, or a function that
        returns such an object. A sparse text file (.svm, .libsvm, .svmlight) becomes a `LibsvmFile`,
        which has labels but no column names.
    target : str, optional
        The column of labels, for ``model.fit(scan)``. Not needed if ``y`` is given, or for prediction.
    columns : sequence of str, optional
        The features; by default all columns except target and weight. A fitted model selects the columns it needs.
    weight : str, optional
        A column of weights.
    where : str or pyarrow.compute.Expression, optional
        The rows to use: a condition in SQL, such as ``"age > 30"``, or an Arrow expression. A query and a condition are
        code: do not take them from untrusted sources. A condition is one expression, and can read other files only
        through a ``connection`` that allows it.
    connection : optional
        A connection of DuckDB, sqlite3 or ADBC, or an address such as ``postgresql://user@host/name``.
    types : mapping from column to type, optional
        Types of CSV columns, as in `open_table`; they save the pass that infers types from the text.
    client : dask.distributed.Client or True, optional
        Client whose workers read the files, with one task for each file or group of rows. True selects Dask's current
        scheduler. Workers must find the files under the same paths.

    Returns
    -------
    Scan
        An object that a model accepts as X.

    Raises
    ------
    DataError
        If a file, a column or a table does not exist.

    Notes
    -----
    A fit reads the target once to find the classes, and then all columns once per pass (``n_passes_``). Repeated runs
    are bit-identical. An error is raised if a file changes between two passes. Queries and streams are copied to a
    temporary file before the first pass of a fit; scan again to see rows that were added later.

    Columns must be numbers or booleans; `TableClassifier` encodes columns of other types.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import separatrix as sx
    >>> path = pathlib.Path(tempfile.mkdtemp(), "iris.csv")
    >>> _ = path.write_text("length,width,kind\n4.7,1.4,a\n4.5,1.5,a\n6.0,2.5,b\n5.1,1.9,b\n4.9,1.5,a\n5.9,2.1,b\n")
    >>> model = sx.LogisticRegression(alpha=0.01).fit(sx.scan(path, target="kind"))
    >>> model.predict(sx.scan(path, where="width > 1.8"))
    array(['b', 'b', 'b'], dtype='<U1')
    """
    if connection is None and is_libsvm(source):
        given = {"target": target, "columns": columns, "weight": weight, "where": where, "types": types}
        for name, value in {**given, "client": client}.items():
            if value is not None:
                raise DataError(
                    f"{source} is a sparse text file, whose columns have no names: {name}={value!r} does not apply. "
                    "The first number of each line is its label; pass other labels, and weights, to fit(...)."
                )
        return LibsvmFile(source)
    rows = _open(source, connection, where, types)
    chosen = tuple(rows.columns if columns is None else columns)
    _require_columns([*chosen, *(name for name in (target, weight) if name is not None)], rows)
    if target is not None and target == weight:
        raise DataError(f"Column {target!r} is both the target and the weight. Leave one of them out.")
    if columns is not None and target in columns:
        raise DataError(f"The target {target!r} is among columns=: the model would see the answer. Leave it out.")
    for name, count in Counter(columns or ()).items():
        if count > 1:
            raise DataError(f"columns= names {name!r} {count} times. Name each column once.")
    apart = {target, weight} if columns is None else {weight}
    features = tuple(name for name in chosen if name not in apart)
    if not features:
        raise DataError(f"No features of {rows.title} are left. Choose columns= other than the target and the weight.")
    if isinstance(rows, FileRows):
        rows.target = target
    return Scan(rows, features, target, weight, client)


def _open(source: Any, connection: Any, where: Any, types: Mapping[str, Any] | None) -> ArrowRows:
    if connection is not None:
        if not isinstance(source, str):
            raise DataError(f"With connection= the source is a query in SQL, not a {type(source).__name__}.")
        return open_query(source, connection, where)
    is_paths = isinstance(source, list | tuple) and all(isinstance(path, str | os.PathLike) for path in source)
    is_files = is_paths or isinstance(source, str | os.PathLike)
    if types is not None and not is_files:
        raise DataError("types= is for CSV files; this source has types of its own. Leave it out.")
    rows: FileRows | StreamRows
    if isinstance(source, TableFile):
        rows = FileRows([str(source.path)], [source])
    else:
        rows = open_files(source, types) if is_files else open_stream(source)
    if where is not None:
        rows.where, rows.known_rows = make_condition(where, rows.columns), None
    return rows


def _require_columns(names: Iterable[str], rows: ArrowRows) -> None:
    known = set(rows.columns)
    for name in names:
        if name not in known:
            raise DataError(f"{rows.title} has no column {name!r}.{did_you_mean(name, rows.columns)}")


@dataclass(eq=False)
class LabelledRows(ArrowRows):
    """The rows of a table that have a label in the column ``target``, after ``clean`` has converted the labels."""

    rows: ArrowRows
    target: str
    clean: Callable[[pa.Array], pa.Array]
    known_rows: int | None = None

    def __post_init__(self) -> None:
        self.title, self.columns = self.rows.title, self.rows.columns
        self.reads_ahead, self.may_be_empty = self.rows.reads_ahead, self.rows.may_be_empty

    def schema(self, columns: Sequence[str]) -> pa.Schema:
        return self.rows.schema(columns)

    def batches(self, columns: tuple[str, ...], rows: int) -> Iterator[pa.RecordBatch]:
        for batch in self.rows.batches(tuple(dict.fromkeys([*columns, self.target])), rows):
            yield batch.filter(has_label(batch.column(self.target), self.clean)).select(list(columns))

    def place(self, row: int) -> str:
        """Place of a row with a label in the whole table, from a pass over the labels."""
        start = 0
        for batch in self.rows.batches((self.target,), READ_BATCH_ROWS):
            labelled = np.flatnonzero(has_label(batch.column(0), self.clean))
            if row < len(labelled):
                return self.rows.place(start + int(labelled[row]))
            start, row = start + batch.num_rows, row - len(labelled)
        return super().place(row)

    def parts(self, columns: tuple[str, ...]) -> tuple[ArrowRows, ...]:
        """Split the table; the columns include the target."""
        return tuple(LabelledRows(part, self.target, self.clean) for part in self.rows.parts(columns))


@dataclass(frozen=True, eq=False)
class Scan(RowStore):
    """A table outside memory, as `scan` returns it.

    Attributes
    ----------
    features : tuple of str
        The columns that a model is fitted on.
    target, weight : str or None
        The columns of labels and weights.
    encoding : Schema or None
        Encoding of the columns as numbers, if needed. Labels of encoded tables are cleaned by `clean_labels`; with
        ``categorical``, numbers become text, as in `encode_target`.
    counts : LabelCounts or None
        Counts of the labels, if a pass has counted them.
    alongside : tuple of str
        Other columns that are read with the features, such as those that divide the rows into groups.
    """

    rows: ArrowRows
    features: tuple[str, ...]
    target: str | None = None
    weight: str | None = None
    client: Any = None
    encoding: Schema | None = None
    categorical: bool = False
    counts: LabelCounts | None = field(default=None, repr=False)
    alongside: tuple[str, ...] = ()

    def __repr__(self) -> str:
        count = "" if self.rows.known_rows is None else f"{counted(self.rows.known_rows, 'row')} x "
        named = ", ".join(self.features[:6]) + (", ..." if len(self.features) > 6 else "")
        roles = [f"{what} {name!r}" for what, name in (("target", self.target), ("weight", self.weight)) if name]
        columns = f"{count}{counted(len(self.features), 'column')} ({named})"
        return f"<Scan of {self.rows.described}: {'; '.join([columns, *roles])}>"

    @property
    def n_rows(self) -> int:
        """Number of rows; a pass counts them if the table does not store their number."""
        self.prepare()
        return self._open(BatchPlan(self.features, self.features)).n_rows

    @property
    def shape(self) -> tuple[int, int]:
        """(N, D)."""
        return self.n_rows, len(self.features)

    def open_rows(self, columns: Sequence[str] | None) -> Source:
        """Open the rows with these columns, which must be numbers; None opens all features."""
        if self.encoding is not None:  # models fitted on encoded columns do not store column names
            names = self.encoding.columns
            template = NamedRows(np.empty((0, len(names))), names)
            return self._open(BatchPlan(self.encoding.inputs, names, encode=self.encoding.encode), template)
        wanted = self.features if columns is None else tuple(columns)
        _require_columns(wanted, self.rows)
        schema = self._schema(wanted)
        wrong = [f"{c.name!r} ({c.type})" for c in schema if not is_number(c.type)]
        if wrong:
            for _ in self.batches():  # raises if the table has no rows; its types are then unknown
                break
            raise DataError(
                f"These columns of {self.rows.title} are not numbers: {', '.join(wrong[:8])}"
                f"{', ...' if len(wrong) > 8 else ''}. Wrap the model in TableClassifier, which encodes them, or "
                "leave them out with columns=."
            )
        return self._open(BatchPlan(wanted, wanted, precision(schema.types)), schema.empty_table())

    def encoded(self, schema: Schema) -> Scan:
        """Return a scan whose columns are encoded as numbers, sparse or dense as `Schema.encode` does by default."""
        _require_columns(schema.inputs, self.rows)
        return replace(self, encoding=schema)

    def statistics(self, unread: Sequence[str] = (), times: Codes | None = None) -> TableStatistics:
        """Compute, in one pass, the statistics from which `TableEncoder` infers the types of columns.

        Row i counts ``times[i]`` times.
        """

        def statistic(piece: Any) -> TableStatistics:
            name, batch = f"rows {piece.start + 1} to {piece.stop}", piece.batch
            if times is not None:
                batch = open_batch(batch)
                batch = batch.take(np.repeat(np.arange(batch.n_rows), times[piece.start : piece.stop]))
            return table_statistics(batch, name=name, unread=unread, first_row=piece.start)

        self.prepare()
        source = self._open(BatchPlan(self.features, self.features))
        return replace(source.reduce_batches(statistic, self.features, TableStatistics()), place=self.rows.place)

    def template(self) -> pa.Table:
        """Return an empty table with the columns of the features."""
        return self._schema(self.features).empty_table()

    def column(self, name: str) -> Array:
        """Read a column into memory. Missing values are NaN among numbers and None among texts."""
        _require_columns([name], self.rows)
        self.prepare()
        return column_in_memory(Batches(self.rows, BatchPlan((name,), (name,))), name)

    def label(self, source: Source, sample_weight: Any, rules: LabelRules) -> Labelled:
        """Encode the target column as class codes."""
        self._require_one_weight(sample_weight)
        target, clean = self._require_target(), None
        if self.encoding is not None:
            clean = partial(clean_labels, unlabelled=rules.unlabelled, categorical=self.categorical)
        if sample_weight is not None:  # if the weights fit in memory, so do the labels
            weight, labels = check_weight(sample_weight, source.n_rows), self.column(target)
            found: Labelled = source.runner.label(source, clean(labels) if clean else labels, weight, rules)
            return found
        counts = self._label_counts(source, target, clean)
        return label_from_column(source, target, self.weight, rules, counts, clean)

    def labelled(self) -> tuple[Scan, str]:
        """Return the scan without the rows whose label is missing, and a note on these rows ("" if there are none)."""
        if self.target is None:
            return self, ""
        self.prepare()
        clean = partial(clean_labels, categorical=self.categorical)
        counts = self._label_counts(self._open(BatchPlan(self.features, self.features)), self.target, clean)
        if counts.first_missing is None or not counts.seen:
            return replace(self, counts=counts), ""
        note = (
            f"{counts.n_missing:,} of {counts.n_rows:,} labels in column {self.target!r} are missing, the first in "
            f"{self.rows.place(counts.first_missing)}. These rows are left out."
        )
        n_rows = counts.n_rows - counts.n_missing
        counts = replace(counts, n_rows=n_rows, n_missing=0, first_missing=None)
        return replace(self, rows=LabelledRows(self.rows, self.target, clean, n_rows), counts=counts), note

    def _label_counts(self, source: Source, target: str, clean: Any) -> LabelCounts:
        """Counts of the labels, converted by ``clean``, from one pass over their column unless they are known."""
        counts = self.counts or (self.rows.label_counts(target, clean) if self.weight is None else None)
        if counts is None:
            columns = (target,) if self.weight is None else (target, self.weight)
            count = partial(count_labels, target=target, weight=self.weight, clean=clean)
            counts = source.reduce_batches(count, columns, LabelCounts())
        return counts

    def weights(self, sample_weight: Any) -> Any:
        """Return weights in memory: as given, or read from their column; raises if there are both."""
        self._require_one_weight(sample_weight)
        self.prepare()
        return sample_weight if self.weight is None else self.column(self.weight)

    def targets_in_memory(self, y: Any, sample_weight: Any) -> tuple[Any, Any]:
        """Return labels and weights in memory: as given, or read from their columns."""
        weight = self.weights(sample_weight)
        return self.column(self._require_target()) if y is None else y, weight

    def without_targets(self) -> Scan:
        """Return the scan without its target and weight."""
        return replace(self, target=None, weight=None)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the features as Arrow record batches."""
        plan = BatchPlan(self.features, self.features)
        for piece in Batches(self.rows, plan).pieces(batch_rows(len(self.features))):
            yield piece.batch

    def _open(self, plan: BatchPlan, template: Any = None) -> Source:
        columns = tuple(dict.fromkeys([*plan.features, *self._roles()]))
        self.rows.schema(columns)  # infers all types of a text file in one pass
        if self.client is None:
            return open_batches((self.rows,), plan, template, self)
        parts = self.rows.parts(columns)
        return open_batches(parts, plan, template, self, dask_runner(None if self.client is True else self.client))

    def prepare(self) -> None:
        """Copy the rows of a query or a stream, so that all passes read the same rows."""
        self.rows.prepare()

    def _schema(self, columns: Sequence[str]) -> pa.Schema:
        """Types of columns; one pass over text infers them together with those of the target and the weight."""
        self.rows.schema(tuple(dict.fromkeys([*columns, *self._roles()])))
        return self.rows.schema(columns)

    def _roles(self) -> list[str]:
        return [name for name in (self.target, self.weight, *self.alongside) if name is not None]

    def _require_target(self) -> str:
        if self.target is None:
            raise DataError(
                f"{self.rows.title} has no target: name the column of labels, scan(..., target='column'), or give y."
            )
        return self.target

    def _require_one_weight(self, sample_weight: Any) -> None:
        if self.weight is not None and sample_weight is not None:
            raise DataError(f"Weights were given twice: the column {self.weight!r} of the scan, and sample_weight.")
