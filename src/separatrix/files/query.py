# SPDX-License-Identifier: BSD-3-Clause
"""Results of queries as tables, from DuckDB, ADBC (PostgreSQL and others) and Python's sqlite3."""

from __future__ import annotations

import importlib
import sqlite3
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from separatrix.exceptions import DataError
from separatrix.files.database import fetch_batches, quoted, stored_kinds
from separatrix.files.stream import SpooledRows
from separatrix.files.table import kinds_to_schema
from separatrix.files.where import make_condition, require_one_expression
from separatrix.table import Kind

if TYPE_CHECKING:
    import pyarrow as pa

URIS = ("postgresql://", "postgres://")


class QueryError(DataError):
    """A query failed, or the connection broke."""


class QueryRows(SpooledRows):
    """The result of a query as a table.

    If the query is put into another query, a line break follows it, because it may end in a comment.
    """

    def __init__(self, database: Database, sql: str) -> None:
        super().__init__()
        self._database, self._sql = database, sql
        line = " ".join(sql.split())
        self.title = f"the query {line if len(line) <= 60 else line[:57] + '...'!r}"
        self.reads_ahead = database.reads_ahead
        self._schema = database.schema(sql)
        self.columns = tuple(self._schema.names)

    def read_source(self, columns: tuple[str, ...], rows: int) -> Generator[pa.RecordBatch]:
        """Run the query; rows keep the order in which the database returns them.

        Raises
        ------
        QueryError
            If the query fails, or the connection breaks.
        """
        with self._database.run_query(self._select(columns), rows) as (schema, batches):
            _require_distinct(schema.names, self.title)  # DuckDB renames duplicate columns in a subquery
            for batch in batches if self.where is None else self.where.keep(batches):
                yield batch.select(list(columns))

    def _select(self, columns: Sequence[str]) -> str:
        """Query for these columns. If all are needed, it is the original query, which keeps its order of rows."""
        wanted = [*columns, *(self.where.columns if self.where is not None else ())]
        if set(wanted) == set(self.columns):
            return self._sql
        names = ", ".join(map(quoted, dict.fromkeys(wanted)))
        return f"SELECT {names} FROM ({self._sql}\n) AS scanned"


def open_query(sql: str, connection: Any, where: Any) -> QueryRows:
    """Open a query through a connection; a condition in SQL becomes part of the query.

    Raises
    ------
    DataError
        If the connection is not supported, or the condition is not one expression.
    QueryError
        If the database rejects the query.
    """
    sql = sql.strip().rstrip(";")
    if isinstance(where, str):
        require_one_expression(where)
        sql, where = f"SELECT * FROM ({sql}\n) AS scanned WHERE ({where}\n)", None
    rows = QueryRows(open_database(connection), sql)
    if not rows.columns:
        raise DataError(f"{rows.title} returns no columns. Give a SELECT.")
    _require_distinct(rows.columns, rows.title)
    if where is not None:
        rows.where = make_condition(where, rows.columns)
    return rows


def _require_distinct(names: Sequence[str], title: str) -> None:
    if len(set(names)) < len(names):
        name, count = Counter(names).most_common(1)[0]
        raise DataError(
            f"{title} returns {count} columns named {name!r}. Rename them: SELECT ... AS {quoted(name + '_2')}."
        )


# Databases


QueryResult = tuple[Any, Iterator[Any]]  # the schema of a query, and its rows as record batches


class Database(ABC):
    """A database that executes SQL; ``reads_ahead`` is True if queries may run on another thread."""

    reads_ahead = True

    @abstractmethod
    def run_query(self, sql: str, rows: int) -> AbstractContextManager[QueryResult]:
        """Run a query and read its result in batches of about ``rows`` rows; raises `QueryError` if it fails."""

    def schema(self, sql: str) -> pa.Schema:
        """Types of all columns of a query."""
        with self.run_query(f"SELECT * FROM ({sql}\n) AS scanned LIMIT 0", 1) as (schema, _):
            return schema


def open_database(connection: Any) -> Database:
    """Return the database for a connection or an address; raises if it is not supported."""
    library = type(connection).__module__.partition(".")[0]
    if isinstance(connection, sqlite3.Connection):
        return Sqlite(connection)
    if library in ("duckdb", "_duckdb"):
        return Duck(connection)
    if library.startswith("adbc_driver") or (isinstance(connection, str) and connection.startswith(URIS)):
        return Adbc(connection)
    given = repr(connection) if isinstance(connection, str) else f"a {library}.{type(connection).__name__}"
    raise DataError(
        f"connection is {given}. Supported: DuckDB, sqlite3 and ADBC connections, and addresses such as "
        "postgresql://user@host/name."
    )


@dataclass(frozen=True, eq=False)
class Duck(Database):
    """An open DuckDB connection. Queries see its temporary tables and its open transaction."""

    connection: Any

    @contextmanager
    def run_query(self, sql: str, rows: int) -> Iterator[QueryResult]:
        """Stream the result."""
        import duckdb

        with _failing(duckdb.Error, "DuckDB"):
            reader = self.connection.sql(sql).to_arrow_reader(rows)
            with closing(reader):  # a result that stays open would block the connection
                yield reader.schema, reader


@dataclass(frozen=True, eq=False)
class Adbc(Database):
    """An open ADBC connection, or an address of PostgreSQL, for which each query opens a connection."""

    connection: Any

    @contextmanager
    def run_query(self, sql: str, rows: int) -> Iterator[QueryResult]:
        """Stream the result; the driver chooses the number of rows per batch."""
        import adbc_driver_manager as adbc

        is_address = isinstance(self.connection, str)
        with _failing(adbc.Error, "PostgreSQL" if is_address else "The database"), ExitStack() as stack:
            connection = self.connection
            if is_address:
                try:
                    dbapi = importlib.import_module("adbc_driver_postgresql.dbapi")
                except ModuleNotFoundError as missing:
                    raise ModuleNotFoundError(
                        "Queries to PostgreSQL need its ADBC driver, which is not installed: "
                        "pip install 'separatrix[data]'"
                    ) from missing
                connection = stack.enter_context(closing(dbapi.connect(self.connection)))
            cursor = stack.enter_context(closing(connection.cursor()))
            cursor.execute(sql)
            yield _numeric_as_numbers(cursor.fetch_record_batch())


def _numeric_as_numbers(reader: pa.RecordBatchReader) -> QueryResult:
    """Convert columns of type NUMERIC, which PostgreSQL sends as text, to float64."""
    import pyarrow as pa

    is_numeric = [
        (field.metadata or {}).get(b"ADBC:postgresql:typname") == b"numeric" or "type_name=numeric" in str(field.type)
        for field in reader.schema
    ]
    schema = pa.schema(
        [
            field.with_type(pa.float64()) if numeric else field.remove_metadata()
            for field, numeric in zip(reader.schema, is_numeric, strict=True)
        ]
    )

    def convert(batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = [
            column.cast(pa.string()).cast(pa.float64()) if numeric else column
            for column, numeric in zip(batch.columns, is_numeric, strict=True)
        ]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    return schema, map(convert, reader)


@dataclass(frozen=True, eq=False)
class Sqlite(Database):
    """A connection of Python's sqlite3, which only the thread that made it may use. Every cell has its own type.

    ``kinds`` has the kind of each column of the query, inferred from all rows.
    """

    connection: sqlite3.Connection
    kinds: dict[str, Kind] = field(default_factory=dict)
    reads_ahead = False

    def schema(self, sql: str) -> pa.Schema:
        """Types that fit all values of each column; finding them takes one pass over the rows."""
        with _failing(sqlite3.Error, "SQLite"):
            with closing(self.connection.execute(f"SELECT * FROM ({sql}\n) LIMIT 0")) as cursor:
                names = [column[0] for column in cursor.description]
            found = stored_kinds(self.connection, [quoted(name) for name in names], f"({sql}\n)")
        self.kinds.update(zip(names, found, strict=True))
        return kinds_to_schema(self.kinds)

    @contextmanager
    def run_query(self, sql: str, rows: int) -> Iterator[QueryResult]:
        """Run a query; columns have the types that `schema` found."""
        with _failing(sqlite3.Error, "SQLite"), closing(self.connection.execute(sql)) as cursor:
            names = [column[0] for column in cursor.description]
            _require_distinct(names, "the query")
            kinds = {name: self.kinds[name] for name in names}
            yield kinds_to_schema(kinds), fetch_batches(cursor, kinds, rows)


@contextmanager
def _failing(kind: type[Exception], name: str) -> Iterator[None]:
    """Convert errors of a driver to `QueryError`; errors while rows are read are Arrow exceptions."""
    import pyarrow as pa

    try:
        yield
    except (kind, OSError, pa.ArrowException) as error:
        if isinstance(error, DataError):  # raised by the code that reads the rows
            raise
        said = " ".join(str(error).split()).rstrip(".?")
        raise QueryError(f"{name} did not answer the query: {said}. Check the query and the connection.") from error
