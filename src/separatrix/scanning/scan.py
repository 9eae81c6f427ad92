# SPDX-License-Identifier: BSD-3-Clause
"""`scan`: a table that stays where it is, for every model of the package to fit and to predict."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from separatrix._array import Array
from separatrix._text import did_you_mean
from separatrix.exceptions import DataError
from separatrix.rows import Opened, TargetStore
from separatrix.scanning.files import FileRows, open_files
from separatrix.scanning.matrix import is_number
from separatrix.scanning.opened import OpenedScan
from separatrix.scanning.part import Part
from separatrix.scanning.passes import Ledger, Origin, Passes
from separatrix.scanning.query import open_query
from separatrix.scanning.stream import StreamRows, open_stream
from separatrix.scanning.where import make_condition
from separatrix.table import Schema, TableFacts

if TYPE_CHECKING:
    import pyarrow as pa

    from separatrix.files import LibsvmFile

__all__ = ["EncodedScan", "Scan", "scan"]


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
    r"""Rows in files or a database, read anew for every pass, in memory that does not grow with their number.

    Parameters
    ----------
    source : path, list of paths, SQL text or object
        A file, folder or pattern (``data/*.parquet``) of any format that `open_table` reads; with ``connection``, a
        query; or an object with the Arrow stream interface that can be read again, or a function that returns one.
        A sparse text file (.svm, .libsvm, .svmlight) is a `LibsvmFile`, which has labels but no names of columns.
    target : str, optional
        The column of the labels, for ``model.fit(scan)``. It may be left out where ``y`` is given, or for prediction.
    columns : sequence of str, optional
        Those the model is fitted to; all but the target and the weight by default. A fitted model finds its own.
    weight : str, optional
        A column of weights.
    where : str or pyarrow.compute.Expression, optional
        Which rows count: a condition in SQL, such as ``"age > 30"``, or an expression of Arrow.
    connection : optional
        Of DuckDB, sqlite3 or ADBC; or an address such as ``postgresql://user@host/name``.
    types : mapping from column to type, optional
        For CSV, whose types are found by one more pass over the text otherwise; see `open_table`.

    client : dask.distributed.Client or True, optional
        Whose workers read the rows, one task for each file or group of rows; True for the scheduler that Dask uses.
        A path must mean the same to them as it does here.

    Returns
    -------
    Scan
        Which takes the place of X.

    Raises
    ------
    DataError
        Where a file, a column or a table is not there, with the nearest names.

    Notes
    -----
    A fit reads the target first, to find the classes, and then all columns as often as its method needs
    (``n_passes_``). The next batch is read while the current one is reduced. Rows come in the order of the source,
    blocks and additions are the same in each run, and so is the result, to the last bit. A file that changes between
    two passes is an error.

    Columns must be numbers (or true and false); `TableClassifier` takes any others.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from separatrix import LogisticRegression
    >>> from separatrix.scanning import scan
    >>> path = pathlib.Path(tempfile.mkdtemp(), "iris.csv")
    >>> _ = path.write_text("length,width,kind\n4.7,1.4,a\n4.5,1.5,a\n6.0,2.5,b\n5.1,1.9,b\n4.9,1.5,a\n5.9,2.1,b\n")
    >>> model = LogisticRegression(alpha=0.01).fit(scan(path, target="kind"))
    >>> model.predict(scan(path, where="width > 1.8"))
    array(['b', 'b', 'b'], dtype='<U1')
    """
    from separatrix.files import LibsvmFile, is_libsvm

    if connection is None and is_libsvm(source):
        _require_nothing_else(
            source, target=target, columns=columns, weight=weight, where=where, types=types, client=client
        )
        return LibsvmFile(source)
    origin = _open(source, connection, where, types)
    chosen = tuple(origin.columns) if columns is None else tuple(columns)
    for name in [*chosen, *(name for name in (target, weight) if name is not None)]:
        _require_column(name, origin)
    apart = {target, weight} if columns is None else {weight}
    _require_apart(columns or (), target, weight)
    features = tuple(name for name in chosen if name not in apart)
    if not features:
        raise DataError(f"{origin.title} has no column for a model to see, apart from the target and the weight.")
    return Scan(origin, features, target, weight, Ledger(origin.n_rows), client)


def _require_apart(columns: Sequence[str], target: str | None, weight: str | None) -> None:
    """Every column has one part to play."""
    if target is not None and target == weight:
        raise DataError(f"Column {target!r} is both the target and the weight. Leave one of them out.")
    if target in columns:
        raise DataError(f"The target {target!r} is among columns=: a model must not see the answer. Leave it out.")
    for name in columns:
        if list(columns).count(name) > 1:
            raise DataError(f"columns= names {name!r} {list(columns).count(name)} times. Name each column once.")


def _require_nothing_else(path: object, **given: Any) -> None:
    """A sparse file has no names to speak of."""
    for name, value in given.items():
        if value is not None:
            raise DataError(
                f"{path} is a sparse text file, whose columns have no names: {name}={value!r} means nothing there. "
                "Labels stand first in each line; others, and weights, are given to fit(...)."
            )


def _open(source: Any, connection: Any, where: Any, types: Mapping[str, Any] | None) -> Origin:
    if connection is not None:
        if not isinstance(source, str):
            raise DataError(f"With connection= the source is a query in SQL, not a {type(source).__name__}.")
        return open_query(source, connection, where)
    if isinstance(source, str | os.PathLike) or _is_paths(source):
        return _where(open_files(source, types), where)
    if types is not None:
        raise DataError("types= is for CSV files; this source has types of its own. Leave it out.")
    return _where(open_stream(source), where)


def _is_paths(source: Any) -> bool:
    return isinstance(source, list | tuple) and all(isinstance(path, str | os.PathLike) for path in source)


def _where(origin: FileRows | StreamRows, where: Any) -> Origin:
    return origin if where is None else replace(origin, where=make_condition(where, origin))


def _require_column(name: str, origin: Origin) -> None:
    if name not in origin.columns:
        raise DataError(f"{origin.title} has no column {name!r}.{did_you_mean(name, origin.columns)}")


@dataclass(frozen=True, eq=False)
class Scan(TargetStore):
    """A table that stays where it is: see `scan`, which makes one.

    Attributes
    ----------
    features : tuple of str
        The columns that a model sees.
    target, weight : str or None
        The columns of the labels and of the weights.
    """

    origin: Origin
    features: tuple[str, ...]
    target: str | None = None
    weight: str | None = None
    ledger: Ledger = field(default_factory=Ledger, repr=False)
    client: Any = None

    def __repr__(self) -> str:
        count = "" if self.ledger.n_rows is None else f"{self.ledger.n_rows} rows x "
        named = ", ".join(self.features[:6]) + (", ..." if len(self.features) > 6 else "")
        beside = [f"{what} {name!r}" for what, name in (("target", self.target), ("weight", self.weight)) if name]
        return (
            f"<Scan of {self.origin.title}: {'; '.join([f'{count}{len(self.features)} columns ({named})', *beside])}>"
        )

    @property
    def n_rows(self) -> int:
        """N; counted by a pass where the source does not say."""
        return Passes(self.origin, self.features[:1], self.ledger).count()

    @property
    def shape(self) -> tuple[int, int]:
        """(N, D)."""
        return self.n_rows, len(self.features)

    def open_rows(self, columns: Sequence[str] | None) -> Opened:
        """The rows, of the ``columns`` that a fitted model knows; of all features where None.

        Raises
        ------
        DataError
            Where a column is not there, or is not of numbers.
        """
        wanted = self.features if columns is None else tuple(columns)
        for name in wanted:
            _require_column(name, self.origin)
        wrong = [f"{c.name!r} ({c.type})" for c in self.origin.schema(wanted) if not is_number(c.type)]
        if wrong:
            self._require_rows()
            raise DataError(
                f"Columns of {self.origin.title} that are not numbers: {', '.join(wrong[:8])}"
                f"{', ...' if len(wrong) > 8 else ''}. Put the model into TableClassifier, which encodes them, or "
                "leave them out with columns=."
            )
        return OpenedScan(self.origin, wanted, self.target, self.weight, self.ledger, client=self.client)

    def _require_rows(self) -> None:
        """Raise where there is none: columns of text without a value are of no type that is worth a word."""
        with closing(self.batches()) as batches:
            next((batch for batch in batches if batch.num_rows), None)

    def encoded(self, schema: Schema, *, sparse: bool = False) -> EncodedScan:
        """The same rows with the numbers that a schema makes of the columns."""
        for name in schema.inputs:
            _require_column(name, self.origin)
        return EncodedScan(self, schema, sparse)

    def facts(self, unread: Sequence[str] = ()) -> TableFacts:
        """What there is to know about the columns before they have types, for `TableEncoder`: one pass."""
        return OpenedScan(self.origin, self.features, None, None, self.ledger, client=self.client).facts(unread)

    def likeness(self) -> pa.Table:
        """The columns, and no rows."""
        return self.origin.schema(self.features).empty_table()

    def column(self, name: str) -> Array:
        """One column in memory: numbers with NaN for gaps, or words with None."""
        _require_column(name, self.origin)
        return OpenedScan(self.origin, self.features, None, None, self.ledger).column(name)

    def beside(self, y: Any, sample_weight: Any) -> tuple[Any, Any]:
        """Labels and weights in memory: those given, or the columns that hold them."""
        opened = OpenedScan(self.origin, self.features, self.target, self.weight, self.ledger)
        weight = opened.weights(sample_weight)
        return opened.column(opened.require_target()) if y is None else y, weight

    def alone(self) -> Scan:
        """Without target and weight."""
        return replace(self, target=None, weight=None)

    def batches(self) -> Generator[pa.RecordBatch]:
        """The features, batch by batch, read ahead where the source allows it."""
        return Passes(self.origin, self.features, self.ledger).batches()

    def parts(self) -> tuple[Part, ...]:
        """Independent pieces of the table, for several readers: files, row groups of Parquet, or all of it."""
        beside = tuple(name for name in (self.target, self.weight) if name is not None)
        return self.origin.shares((*self.features, *beside))


@dataclass(frozen=True, eq=False)
class EncodedScan(TargetStore):
    """A scan seen through a schema."""

    scan: Scan
    schema: Schema
    sparse: bool = False

    def open_rows(self, columns: Sequence[str] | None) -> Opened:
        """The rows as numbers; a model fitted to them remembers no names."""
        del columns
        scan = self.scan
        return OpenedScan(
            scan.origin,
            self.schema.inputs,
            scan.target,
            scan.weight,
            scan.ledger,
            self.schema,
            self.sparse,
            scan.client,
        )

    def beside(self, y: Any, sample_weight: Any) -> tuple[Any, Any]:
        """Labels and weights in memory."""
        return self.scan.beside(y, sample_weight)

    def alone(self) -> EncodedScan:
        """Without target and weight."""
        return replace(self, scan=self.scan.alone())
