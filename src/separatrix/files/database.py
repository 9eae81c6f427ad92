# SPDX-License-Identifier: BSD-3-Clause
"""Tables of SQLite and DuckDB databases.

In SQLite every cell has its own type, so a query over all rows is needed to find the kind of each column. DuckDB has
column types and returns Arrow batches.
"""

from __future__ import annotations

import datetime as dt
import sqlite3
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import reduce
from pathlib import Path
from typing import Any

from separatrix._lazy import duckdb, pa
from separatrix.files.dialect import name_columns
from separatrix.files.location import FileReadError, Location, unpacked
from separatrix.files.table import Sink, TableFile, choose_table, kinds_to_schema
from separatrix.table import Kind, join, kind_of_values, values_to_arrow

FETCH_ROWS = 16_384  # rows that are in memory as Python objects at a time
STORED = {"integer": Kind.INTEGER, "real": Kind.NUMBER, "text": Kind.TEXT, "blob": Kind.TEXT}
DECLARED_DATES = ("DATE", "TIMESTAMP", "DATETIME")
# DuckDB types without a suitable Arrow type, which are converted to numbers or to text.
AS_NUMBER = ("DECIMAL", "HUGEINT", "UHUGEINT")
AS_TEXT = ("UUID", "JSON", "BIT", "INTERVAL", "TIME", "ENUM")


def quoted(name: str) -> str:
    """Quote a name for SQL."""
    return '"' + name.replace('"', '""') + '"'


@contextmanager
def closed_duckdb(path: str = ":memory:", *, allowed: str | None = None, read_only: bool = False) -> Iterator[Any]:
    """Open a DuckDB database whose SQL (conditions, views of the file) can read no file but ``allowed``."""
    with closing(duckdb.connect(path, read_only=read_only)) as database:
        if allowed is not None:
            database.execute("SET allowed_paths = ['" + allowed.replace("'", "''") + "']")
        database.execute("SET enable_external_access = false; SET lock_configuration = true")
        yield database


class SqliteTable(TableFile):
    """A table or view of an SQLite database."""

    def __init__(self, where: Location, types: Mapping[str, Any]) -> None:
        super().__init__(where)
        self._file = unpacked(where, self)
        with self._connected() as database:
            found = database.execute("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY name")
            names = [name for (name,) in found if not name.startswith("sqlite_")]
            table = choose_table(names, where, "table")
            self._table = quoted(table)
            declared = database.execute(f"PRAGMA table_info({self._table})").fetchall()
            self.columns, notes = name_columns([column[1] for column in declared], f"{self.path}::{table}")
            self._notes += notes
            self._sources = {name: quoted(column[1]) for name, column in zip(self.columns, declared, strict=True)}
            self.n_rows = int(database.execute(f"SELECT count(*) FROM {self._table}").fetchone()[0])
            kinds = dict(zip(self.columns, stored_kinds(database, self._sources.values(), self._table), strict=True))
            for name, column in zip(self.columns, declared, strict=True):
                # Boolean or date if the column is declared as such and all values fit.
                kind, cells, declared_type = kinds[name], self._sources[name], str(column[2]).upper()
                if declared_type == "BOOLEAN" and kind is Kind.INTEGER:
                    query = f"SELECT 1 FROM {self._table} WHERE {cells} NOT IN (0, 1) LIMIT 1"
                    kinds[name] = kind if database.execute(query).fetchone() else Kind.BOOLEAN
                elif declared_type in ("BOOLEAN", *DECLARED_DATES) and kind is Kind.TEXT:
                    cursor, kinds[name] = database.execute(f"SELECT {cells} FROM {self._table}"), Kind.NOTHING
                    while rows := cursor.fetchmany(FETCH_ROWS):
                        kinds[name] = kind_of_values([value for (value,) in rows], kinds[name], iso=True)
        self.columns, self.kinds = tuple(kinds), kinds

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(f"{self._file.absolute().as_uri()}?mode=ro", uri=True)) as database:
                yield database
        except sqlite3.Error as error:
            raise FileReadError(
                f"{self.path} cannot be read: {error}. It is damaged, locked by another program, or not an SQLite "
                "database."
            ) from error

    def stream(self, columns: tuple[str, ...], rows: int) -> Generator[pa.RecordBatch]:
        names = ", ".join(self._sources[name] for name in columns)
        with self._connected() as database:
            cursor = database.execute(f"SELECT {names} FROM {self._table}")
            yield from fetch_batches(cursor, {name: self.kinds[name] for name in columns}, rows)


def stored_kinds(database: sqlite3.Connection, columns: Iterable[str], table: str) -> list[Kind]:
    """Kind that fits all values, for each column (an SQL expression); takes one pass over the rows."""
    types = ", ".join(f"group_concat(DISTINCT typeof({column}))" for column in columns)
    found = database.execute(f"SELECT {types} FROM {table}").fetchone()
    names = [(text or "").split(",") for text in found]
    return [reduce(join, [STORED[name] for name in some if name in STORED], Kind.NOTHING) for some in names]


def fetch_batches(cursor: sqlite3.Cursor, kinds: Mapping[str, Kind], rows: int) -> Iterator[pa.RecordBatch]:
    """Read the rows of a query as batches whose columns have these kinds."""
    while found := cursor.fetchmany(min(rows, FETCH_ROWS)):
        arrays = []
        for kind, cells in zip(kinds.values(), zip(*found, strict=True), strict=True):
            # SQLite stores booleans as 0 and 1.
            values = [None if cell is None else bool(cell) for cell in cells] if kind is Kind.BOOLEAN else cells
            arrays.append(values_to_arrow(values, kind))
        yield pa.RecordBatch.from_arrays(arrays, schema=kinds_to_schema(kinds))


class SqliteSink(Sink):
    """Writes a table to a new database in one transaction."""

    def __init__(self, path: Path, schema: pa.Schema, where: Location) -> None:
        self.database = sqlite3.connect(path, isolation_level=None)
        table = quoted(where.table or "data")
        declared = [
            (pa.types.is_boolean, "BOOLEAN"),
            (pa.types.is_integer, "INTEGER"),
            (pa.types.is_floating, "REAL"),
            (pa.types.is_decimal, "REAL"),
            (pa.types.is_date, "DATE"),
            (pa.types.is_timestamp, "TIMESTAMP"),
        ]
        types = [next((name for is_type, name in declared if is_type(kind)), "TEXT") for kind in schema.types]
        columns = ", ".join(f"{quoted(name)} {kind}" for name, kind in zip(schema.names, types, strict=True))
        self.database.execute("PRAGMA journal_mode = OFF")  # an incomplete file is discarded
        self.database.execute("BEGIN")
        self.database.execute(f"CREATE TABLE {table} ({columns})")
        self.insert = f"INSERT INTO {table} VALUES ({', '.join('?' * len(schema))})"

    def write(self, batch: pa.RecordBatch) -> None:
        """Insert rows. Dates are written as ISO 8601 text, as usual in SQLite."""
        columns = [map(_storable, column.to_pylist()) for column in batch.columns]
        self.database.executemany(self.insert, zip(*columns, strict=True))

    def close(self) -> None:
        self.database.execute("COMMIT")
        self.database.close()

    def drop(self) -> None:
        self.database.close()


def _storable(value: Any) -> Any:
    if value is None or isinstance(value, int | float | str):
        return value
    return value.isoformat(" ") if isinstance(value, dt.datetime) else str(value)


class DuckTable(TableFile):
    """A table or view of a DuckDB database."""

    def __init__(self, where: Location, types: Mapping[str, Any]) -> None:
        super().__init__(where)
        self._file = unpacked(where, self)
        with self._connected() as database:
            found = database.execute(
                "SELECT table_name FROM information_schema.tables WHERE table_schema = 'main' ORDER BY table_name"
            ).fetchall()
            table = choose_table([name for (name,) in found], where, "table")
            self._table = quoted(table)
            described = database.execute(f"DESCRIBE {self._table}").fetchall()
            self.n_rows = int(database.execute(f"SELECT count(*) FROM {self._table}").fetchall()[0][0])
            self.columns, notes = name_columns([column[0] for column in described], f"{self.path}::{table}")
            self._notes += notes
            self._selected = {}
            for name, column in zip(self.columns, described, strict=True):
                source, kind = quoted(column[0]), str(column[1])
                if kind.startswith(AS_NUMBER):
                    source = f"CAST({source} AS DOUBLE)"
                elif kind.startswith(AS_TEXT) and not kind.startswith("TIMESTAMP"):
                    source = f"CAST({source} AS VARCHAR)"
                self._selected[name] = f"{source} AS {quoted(name)}"
            self.types = database.sql(f"{self._query(self.columns)} LIMIT 0").to_arrow_reader().schema

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        try:
            with closed_duckdb(str(self._file), read_only=True) as database:
                yield database
        except duckdb.Error as error:
            raise FileReadError(
                f"{self.path} cannot be read: {str(error).splitlines()[0]}. It is damaged, locked by another "
                "program, of another version, or not a DuckDB database."
            ) from error

    def _query(self, columns: tuple[str, ...]) -> str:
        return f"SELECT {', '.join(self._selected[name] for name in columns)} FROM {self._table}"

    def stream(self, columns: tuple[str, ...], rows: int) -> Generator[pa.RecordBatch]:
        with self._connected() as database:
            yield from database.sql(self._query(columns)).to_arrow_reader(rows)


class DuckSink(Sink):
    """Writes a table to a new database."""

    def __init__(self, path: Path, schema: pa.Schema, where: Location) -> None:
        self.database = duckdb.connect(str(path))
        self.table = quoted(where.table or "data")
        self.database.register("batch", schema.empty_table())
        self.database.execute(f"CREATE TABLE {self.table} AS SELECT * FROM batch")

    def write(self, batch: pa.RecordBatch) -> None:
        self.database.register("batch", pa.Table.from_batches([batch]))
        self.database.execute(f"INSERT INTO {self.table} SELECT * FROM batch")

    def close(self) -> None:
        self.database.close()
