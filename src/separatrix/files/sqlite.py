# SPDX-License-Identifier: BSD-3-Clause
"""SQLite, in which every cell has a type of its own: one query finds what each column holds."""

from __future__ import annotations

import datetime as dt
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from shlex import quote
from typing import TYPE_CHECKING, Any

from separatrix._text import did_you_mean
from separatrix.files.dialect import name_columns
from separatrix.files.errors import FileReadError
from separatrix.files.packing import unpacked
from separatrix.files.sinks import refuse_nested
from separatrix.files.table import AbstractTable
from separatrix.table import Kind, join, kind_of_values, values_to_arrow

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from separatrix.files.location import Location

__all__ = ["STORED", "SqliteSink", "SqliteTable", "choose_table", "quoted"]

ROWS = 16_384  # cells are Python objects on their way, which are large
STORED = {"integer": Kind.INTEGER, "real": Kind.NUMBER, "text": Kind.TEXT, "blob": Kind.TEXT}
DECLARED = {"BOOLEAN": Kind.BOOLEAN, "DATE": Kind.DATE, "TIMESTAMP": Kind.TIME, "DATETIME": Kind.TIME}


class SqliteTable(AbstractTable):
    """A table or a view of a database."""

    def __init__(self, where: Location, types: Mapping[str, Any]) -> None:
        del types  # the values have their own
        super().__init__(where)
        self._file = unpacked(where, self)
        with self._connected() as database:
            found = database.execute("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY name")
            names = [name for (name,) in found if not name.startswith("sqlite_")]
            self._table = choose_table(names, where, "table")
            declared = database.execute(f"PRAGMA table_info({quoted(self._table)})").fetchall()
            self.columns, notes = name_columns([column[1] for column in declared], f"{self.path}::{self._table}")
            self._notes += notes
            self._sources = dict(zip(self.columns, (column[1] for column in declared), strict=True))
            self.n_rows = int(database.execute(f"SELECT count(*) FROM {quoted(self._table)}").fetchone()[0])
            self._kinds = {
                name: self._kind(database, self._sources[name], str(column[2]).upper())
                for name, column in zip(self.columns, declared, strict=True)
            }

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(f"{self._file.absolute().as_uri()}?mode=ro", uri=True)) as database:
                yield database
        except sqlite3.Error as error:
            raise FileReadError(
                f"{self.path} cannot be read: {error}. It is damaged, locked by another program, or no SQLite database."
            ) from error

    def _kind(self, database: sqlite3.Connection, column: str, declared: str) -> Kind:
        """By what is stored; a declared boolean or date where every value is one."""
        name, table = quoted(column), quoted(self._table)
        stored = database.execute(f"SELECT DISTINCT typeof({name}) FROM {table} WHERE {name} IS NOT NULL").fetchall()
        kind = Kind.NOTHING
        for (found,) in stored:
            kind = join(kind, STORED[found])
        wanted = DECLARED.get(declared)
        if wanted is Kind.BOOLEAN and kind is Kind.INTEGER:
            other = database.execute(f"SELECT 1 FROM {table} WHERE {name} NOT IN (0, 1) LIMIT 1").fetchone()
            return kind if other else wanted
        if wanted is not None and kind is Kind.TEXT:
            return self._dated(database, column)
        return kind

    def _dated(self, database: sqlite3.Connection, column: str) -> Kind:
        cursor, kind = database.execute(f"SELECT {quoted(column)} FROM {quoted(self._table)}"), Kind.NOTHING
        while rows := cursor.fetchmany(ROWS):
            kind = kind_of_values([value for (value,) in rows], kind, iso=True)
        return kind

    def _schema(self, columns: tuple[str, ...]) -> pa.Schema:
        import pyarrow as pa

        return pa.schema([(name, self._kinds[name].type) for name in columns])

    def _stream(self, columns: tuple[str, ...], rows: int) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        names = ", ".join(quoted(self._sources[name]) for name in columns)
        schema = self._schema(columns)
        with self._connected() as database:
            cursor = database.execute(f"SELECT {names} FROM {quoted(self._table)}")
            while found := cursor.fetchmany(min(rows, ROWS)):
                arrays = [
                    values_to_arrow(
                        _booleans(values) if self._kinds[name] is Kind.BOOLEAN else values, self._kinds[name]
                    )
                    for name, values in zip(columns, zip(*found, strict=True), strict=True)
                ]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _booleans(values: tuple[Any, ...]) -> list[bool | None]:
    return [None if value is None else bool(value) for value in values]


def quoted(name: str) -> str:
    """A name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def choose_table(names: list[str], where: Location, what: str) -> str:
    """The table that was asked for, or the only one.

    Raises
    ------
    FileReadError
        Where there is no such table, or several and none was named: lists them.
    """
    path: Path = where.path
    if not names:
        raise FileReadError(f"{path} has no {what}s. Is it the right file?")
    if where.table is not None:
        if where.table not in names:
            raise FileReadError(f"{path} has no {what} {where.table!r}.{did_you_mean(where.table, names)}")
        return where.table
    if len(names) > 1:
        listed = ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "")
        raise FileReadError(
            f"{path} has {len(names)} {what}s: {listed}. Name one, as in {quote(f'{path}::{names[0]}')}."
        )
    return names[0]


class SqliteSink:
    """A table in a new database, in one transaction."""

    def __init__(self, path: Path, schema: pa.Schema, where: Location) -> None:
        refuse_nested(schema, where)
        self.database = sqlite3.connect(path, isolation_level=None)
        table = quoted(where.table or "data")
        columns = ", ".join(f"{quoted(field.name)} {_declared(field.type)}" for field in schema)
        self.database.execute("PRAGMA journal_mode = OFF")  # the file counts only when it is complete
        self.database.execute("BEGIN")
        self.database.execute(f"CREATE TABLE {table} ({columns})")
        self.insert = f"INSERT INTO {table} VALUES ({', '.join('?' * len(schema))})"

    def write(self, batch: pa.RecordBatch) -> None:
        """Dates as text in ISO 8601, which is how SQLite keeps them."""
        columns = [map(_storable, column.to_pylist()) for column in batch.columns]
        self.database.executemany(self.insert, zip(*columns, strict=True))

    def close(self) -> None:
        """Commit."""
        self.database.execute("COMMIT")
        self.database.close()

    def drop(self) -> None:
        """Close without."""
        self.database.close()


def _declared(kind: pa.DataType) -> str:
    import pyarrow as pa

    names: list[tuple[Callable[[Any], bool], str]] = [
        (pa.types.is_boolean, "BOOLEAN"),
        (pa.types.is_integer, "INTEGER"),
        (pa.types.is_floating, "REAL"),
        (pa.types.is_decimal, "REAL"),
        (pa.types.is_date, "DATE"),
        (pa.types.is_timestamp, "TIMESTAMP"),
    ]
    return next((name for is_so, name in names if is_so(kind)), "TEXT")


def _storable(value: Any) -> Any:
    if value is None or isinstance(value, int | float | str):
        return value
    return value.isoformat(" ") if isinstance(value, dt.datetime) else str(value)
