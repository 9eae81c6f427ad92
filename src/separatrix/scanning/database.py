# SPDX-License-Identifier: BSD-3-Clause
"""Databases that answer in Arrow: DuckDB, ADBC (PostgreSQL, SQLite and others), and Python's own SQLite."""

from __future__ import annotations

import importlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from separatrix.exceptions import DataError
from separatrix.files import STORED, Kind, join, quoted, values_to_arrow
from separatrix.scanning.errors import QueryError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Answer", "Database", "open_database"]

URIS = ("postgresql://", "postgres://")
SQLITE_ROWS = 2**14  # cells are Python objects on their way, which are large


class Answer(NamedTuple):
    """What a query returns."""

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]


class Database(Protocol):
    """Somewhere that answers SQL."""

    @property
    def reads_ahead(self) -> bool:
        """Whether a thread other than the one that fits may ask."""

    def answer(self, sql: str, rows: int) -> AbstractContextManager[Answer]:
        """The answer to a query in batches of about so many rows; a failure is a `QueryError`."""

    def types(self, sql: str, known: pa.Schema, columns: Sequence[str]) -> pa.Schema:
        """The types of some columns of a query, of which the database has said ``known``."""


def open_database(connection: Any) -> Database:
    """The database behind a connection or an address.

    Raises
    ------
    DataError
        Where it is neither.
    """
    if connection is None:
        raise DataError(
            "A query needs connection=: a DuckDB, sqlite3 or ADBC connection, or an address such as "
            "postgresql://user@host/name."
        )
    if isinstance(connection, sqlite3.Connection):
        return Sqlite(connection)
    if isinstance(connection, str):
        if connection.startswith(URIS):
            return Postgres(connection)
        raise DataError(
            f"connection={connection!r} is no address that is known ({', '.join(URIS)}...). Open a connection to that "
            "database, and give it instead."
        )
    library = type(connection).__module__.partition(".")[0]
    if library in ("duckdb", "_duckdb"):
        return Duck(connection)
    if library.startswith("adbc_driver"):
        return Adbc(connection)
    raise DataError(
        f"connection is a {type(connection).__module__}.{type(connection).__name__}; DuckDB, sqlite3 and ADBC "
        "connections are known, and addresses such as postgresql://user@host/name."
    )


class _Typed:
    """A database whose answers have types of their own."""

    reads_ahead = True

    def types(self, sql: str, known: pa.Schema, columns: Sequence[str]) -> pa.Schema:
        """As the database says."""
        import pyarrow as pa

        del sql
        return pa.schema([known.field(name) for name in columns])


@dataclass(frozen=True, eq=False)
class Duck(_Typed):
    """The connection itself, and no copy of it: its temporary tables and its transaction are part of what one sees."""

    connection: Any

    @contextmanager
    def answer(self, sql: str, rows: int) -> Iterator[Answer]:
        """A stream of DuckDB's."""
        import duckdb

        with _failing(duckdb.Error, "DuckDB"):
            reader = self.connection.sql(sql).to_arrow_reader(rows)
            with closing(reader):  # a result that is left open would block the connection
                yield Answer(reader.schema, reader)

    def __getstate__(self) -> Any:
        raise _not_sent("DuckDB", "Write the query's result to Parquet files, and scan those.")


@dataclass(frozen=True, eq=False)
class Adbc(_Typed):
    """An open ADBC connection; ``who`` is at its other end."""

    connection: Any
    who: str = "The database"

    @contextmanager
    def answer(self, sql: str, rows: int) -> Iterator[Answer]:
        """A stream of the driver's; it chooses how many rows come at a time."""
        del rows
        import adbc_driver_manager as adbc

        with _failing(adbc.Error, self.who), closing(self.connection.cursor()) as cursor:
            cursor.execute(sql)
            reader = cursor.fetch_record_batch()
            yield Answer(_numeric_schema(reader.schema), map(_numeric, reader))

    def __getstate__(self) -> Any:
        raise _not_sent("ADBC", "Give the address instead: postgresql://user@host/name.")


@dataclass(frozen=True)
class Postgres(_Typed):
    """An address: every pass has a connection of its own, so that one which drops can be opened again."""

    uri: str

    @contextmanager
    def answer(self, sql: str, rows: int) -> Iterator[Answer]:
        """As through a connection."""
        import adbc_driver_manager as adbc

        dbapi = _postgres_driver()
        with (
            _failing(adbc.Error, "PostgreSQL"),
            closing(dbapi.connect(self.uri)) as connection,
            Adbc(connection, "PostgreSQL").answer(sql, rows) as answer,
        ):
            yield answer


@dataclass(frozen=True, eq=False)
class Sqlite:
    """Python's own SQLite: a connection belongs to the thread that made it, and every cell has a type of its own.

    ``found`` has the kinds of the columns of queries that were asked before.
    """

    connection: sqlite3.Connection
    found: dict[str, dict[str, Kind]] = field(default_factory=dict)
    reads_ahead: bool = False

    @contextmanager
    def answer(self, sql: str, rows: int) -> Iterator[Answer]:
        """Batches whose columns have the types that all of their values fit."""
        with _failing(sqlite3.Error, "SQLite"):
            kinds = self._kinds(sql)
            with closing(self.connection.execute(sql)) as cursor:
                yield Answer(_schema(kinds), _fetched(cursor, kinds, min(rows, SQLITE_ROWS)))

    def types(self, sql: str, known: pa.Schema, columns: Sequence[str]) -> pa.Schema:
        """By what the rows of the query hold."""
        del known
        with _failing(sqlite3.Error, "SQLite"):
            kinds = self._kinds(sql)
        return _schema({name: kinds[name] for name in columns})

    def _kinds(self, sql: str) -> dict[str, Kind]:
        if sql not in self.found:
            with closing(self.connection.execute(f"SELECT * FROM ({sql}\n) LIMIT 0")) as cursor:
                names = [column[0] for column in cursor.description]
            self.found[sql] = {name: self._kind(sql, name) for name in names}
        return self.found[sql]

    def _kind(self, sql: str, name: str) -> Kind:
        stored = self.connection.execute(f"SELECT DISTINCT typeof({quoted(name)}) FROM ({sql}\n)").fetchall()
        kinds = [STORED[found] for (found,) in stored if found != "null"]
        return reduce(join, kinds, Kind.NOTHING)

    def __getstate__(self) -> Any:
        raise _not_sent("SQLite", "Scan the file of the database: scan('shop.db::orders').")


def _schema(kinds: dict[str, Kind]) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([(name, kind.type) for name, kind in kinds.items()])


def _fetched(cursor: sqlite3.Cursor, kinds: dict[str, Kind], rows: int) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    while found := cursor.fetchmany(rows):
        columns = zip(kinds.values(), zip(*found, strict=True), strict=True)
        yield pa.RecordBatch.from_arrays([values_to_arrow(v, kind) for kind, v in columns], schema=_schema(kinds))


def _numeric_schema(schema: pa.Schema) -> pa.Schema:
    """PostgreSQL sends NUMERIC as text, which keeps every digit; a model wants the number."""
    import pyarrow as pa

    return pa.schema([f.with_type(pa.float64()) if _is_numeric(f) else f.remove_metadata() for f in schema])


def _numeric(batch: pa.RecordBatch) -> pa.RecordBatch:
    import pyarrow as pa

    if not any(map(_is_numeric, batch.schema)):
        return batch
    columns = [
        column.cast(pa.string()).cast(pa.float64()) if _is_numeric(kind) else column
        for kind, column in zip(batch.schema, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=_numeric_schema(batch.schema))


def _is_numeric(column: pa.Field) -> bool:
    told = column.metadata or {}
    return bool(told.get(b"ADBC:postgresql:typname") == b"numeric" or "type_name=numeric" in str(column.type))


def _postgres_driver() -> Any:
    try:
        dbapi = importlib.import_module("adbc_driver_postgresql.dbapi")
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(
            "Queries to PostgreSQL need its ADBC driver, which is not installed: pip install 'separatrix[data]'"
        ) from missing
    return dbapi


@contextmanager
def _failing(kind: type[Exception], who: str) -> Iterator[None]:
    """What a driver raises, as one kind of error; what breaks off in mid-stream comes through Arrow, as its error."""
    import pyarrow as pa

    try:
        yield
    except (kind, OSError, pa.ArrowException) as error:
        if isinstance(error, DataError):  # of whoever reads the rows
            raise
        said = " ".join(str(error).split()).rstrip(".?")
        raise QueryError(f"{who} did not answer the query: {said}. Look at the query and at the connection.") from error


def _not_sent(who: str, remedy: str) -> DataError:
    return DataError(f"A query through an open {who} connection cannot be sent to another process. {remedy}")
