# SPDX-License-Identifier: BSD-3-Clause
"""Results of queries as tables, from DuckDB, ADBC (PostgreSQL and others) and Python's sqlite3."""

from __future__ import annotations

import importlib
import sqlite3
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from functools import partial
from typing import Any

from separatrix._lazy import duckdb, pa
from separatrix._text import counted, masked
from separatrix.exceptions import DataError, optional_import
from separatrix.files.database import fetch_batches, quoted, stored_kinds
from separatrix.files.stream import SpooledRows
from separatrix.files.table import kinds_to_schema
from separatrix.files.where import make_condition, require_one_expression
from separatrix.table import Kind

URIS = ("postgresql://", "postgres://")
QueryResult = tuple[Any, Iterator[Any]]  # the schema of a query, and its rows as record batches


class QueryError(DataError):
    """A query failed, or the connection broke."""


class QueryRows(SpooledRows):
    """The result of a query as a table.

    If the query is put into another query, a line break follows it, because it may end in a comment.
    """

    def __init__(self, connection: Any, sql: str) -> None:
        super().__init__()
        self._run, self._sql = query_function(connection), sql
        line = " ".join(sql.split())
        self.title = f"the query {line if len(line) <= 60 else line[:57] + '...'!r}"
        is_sqlite = isinstance(connection, sqlite3.Connection)
        self.reads_ahead = not is_sqlite  # only the thread that opened such a connection may use it
        limit = "" if is_sqlite else "LIMIT 0"  # SQLite finds the types from all rows
        with self._run(f"SELECT * FROM ({sql}\n) AS scanned {limit}", 1) as (schema, _):
            self._schema, self.columns = schema, tuple(schema.names)

    def read_source(self, columns: tuple[str, ...], rows: int) -> Generator[pa.RecordBatch]:
        """Run the query; rows keep the order in which the database returns them."""
        wanted, sql = {*columns, *(self.where.columns if self.where is not None else ())}, self._sql
        if wanted != set(self.columns):  # the original query keeps its order of rows
            sql = f"SELECT {', '.join(map(quoted, sorted(wanted)))} FROM ({sql}\n) AS scanned"
        with self._run(sql, rows) as (schema, batches):
            _require_distinct(schema.names, self.title)  # DuckDB renames duplicate columns in a subquery
            for batch in batches if self.where is None else self.where.keep(batches):
                yield batch.select(list(columns))


def open_query(sql: str, connection: Any, where: Any) -> QueryRows:
    """Open a query through a connection; a condition in SQL becomes part of the query.

    Raises DataError if the connection is not supported or the condition is not one expression, and QueryError if the
    database rejects the query.
    """
    sql = sql.strip().rstrip(";")
    if isinstance(where, str):
        require_one_expression(where)
        sql, where = f"SELECT * FROM ({sql}\n) AS scanned WHERE ({where}\n)", None
    rows = QueryRows(connection, sql)
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
            f"{title} returns {counted(count, 'column')} named {name!r}. Rename them: SELECT ... AS "
            f"{quoted(name + '_2')}."
        )


def query_function(connection: Any) -> Callable[[str, int], AbstractContextManager[QueryResult]]:
    """Function (SQL, rows per batch) that runs a query on this connection or address; raises if it is not supported."""
    library = type(connection).__module__.partition(".")[0]
    if isinstance(connection, sqlite3.Connection):
        return partial(run_sqlite, connection, {})
    if library in ("duckdb", "_duckdb"):
        return partial(run_duckdb, connection)
    if library.startswith("adbc_driver") or (isinstance(connection, str) and connection.startswith(URIS)):
        return partial(run_adbc, connection)
    given = masked(repr(connection)) if isinstance(connection, str) else f"a {library}.{type(connection).__name__}"
    raise DataError(
        f"connection is {given}. Supported: DuckDB, sqlite3 and ADBC connections, and addresses such as "
        "postgresql://user@host/name."
    )


@contextmanager
def run_duckdb(connection: Any, sql: str, rows: int) -> Iterator[QueryResult]:
    """Stream the result of a query, which sees the connection's temporary tables and its open transaction."""
    with _failing(duckdb.Error, "DuckDB"):
        reader = connection.sql(sql).to_arrow_reader(rows)
        with closing(reader):  # a result that stays open would block the connection
            yield reader.schema, reader


@contextmanager
def run_adbc(connection: Any, sql: str, rows: int) -> Iterator[QueryResult]:
    """Stream the result of a query; the driver chooses the number of rows per batch.

    ``connection`` is open, or the address of a PostgreSQL database, to which each query opens a connection. Columns of
    type NUMERIC, which PostgreSQL sends as text, become float64.
    """
    import adbc_driver_manager as adbc

    is_address = isinstance(connection, str)
    database, address = ("PostgreSQL", str(connection)) if is_address else ("The database", "")
    with _failing(adbc.Error, database, address), ExitStack() as stack:
        if is_address:
            with optional_import("Queries to PostgreSQL need its ADBC driver", "data"):
                dbapi = importlib.import_module("adbc_driver_postgresql.dbapi")
            connection = stack.enter_context(closing(dbapi.connect(connection)))
        cursor = stack.enter_context(closing(connection.cursor()))
        cursor.execute(sql)
        reader, fields = cursor.fetch_record_batch(), []
        for field in reader.schema:
            name = (field.metadata or {}).get(b"ADBC:postgresql:typname")
            is_numeric = name == b"numeric" or "type_name=numeric" in str(field.type)
            fields.append(field.with_type(pa.float64()) if is_numeric else field.remove_metadata())
        schema = pa.schema(fields)
        yield schema, reader.cast(schema)


@contextmanager
def run_sqlite(connection: Any, kinds: dict[str, Kind], sql: str, rows: int) -> Iterator[QueryResult]:
    """Run a query. Every cell has its own type, so the first query, of all columns, finds ``kinds`` in a pass."""
    with _failing(sqlite3.Error, "SQLite"), closing(connection.execute(sql)) as cursor:
        names = [column[0] for column in cursor.description]
        _require_distinct(names, "the query")
        if not kinds:
            kinds.update(zip(names, stored_kinds(connection, map(quoted, names), f"({sql}\n)"), strict=True))
        chosen = {name: kinds[name] for name in names}
        yield kinds_to_schema(chosen), fetch_batches(cursor, chosen, rows)


@contextmanager
def _failing(kind: type[Exception], name: str, address: str = "") -> Iterator[None]:
    """Convert errors of a driver to `QueryError`; errors while rows are read are Arrow exceptions."""
    try:
        yield
    except (kind, OSError, pa.ArrowException) as error:
        if isinstance(error, DataError):  # raised by the code that reads the rows
            raise
        said = masked(" ".join(str(error).split()), address).rstrip(".?")
        raise QueryError(f"{name} did not answer the query: {said}. Check the query and the connection.") from error
