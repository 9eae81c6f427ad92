# SPDX-License-Identifier: BSD-3-Clause
"""DuckDB: a table of a database file, which hands out Arrow by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from separatrix.files.dialect import name_columns
from separatrix.files.errors import FileReadError
from separatrix.files.packing import unpacked
from separatrix.files.sqlite import choose_table, quoted
from separatrix.files.table import AbstractTable

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from separatrix.files.location import Location

__all__ = ["DuckSink", "DuckTable"]

# What Arrow has no type for, or libraries that take Arrow from us do not know: as numbers and as text.
AS_NUMBER = ("DECIMAL", "HUGEINT", "UHUGEINT")
AS_TEXT = ("UUID", "JSON", "BIT", "INTERVAL", "TIME", "ENUM")


class DuckTable(AbstractTable):
    """A table or a view of a database."""

    def __init__(self, where: Location, types: Mapping[str, Any]) -> None:
        del types  # the table has its own
        super().__init__(where)
        self._file = unpacked(where, self)
        with self._connected() as database:
            found = database.execute(
                "SELECT table_name FROM information_schema.tables WHERE table_schema = 'main' ORDER BY table_name"
            ).fetchall()
            table = quoted(choose_table([name for (name,) in found], where, "table"))
            described = database.execute(f"DESCRIBE {table}").fetchall()
            self.n_rows = int(database.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
        self.columns, notes = name_columns([column[0] for column in described], f"{self.path}::{where.table or ''}")
        self._notes += notes
        self._table = table
        self._selected = {
            name: f"{_cast(quoted(column[0]), str(column[1]))} AS {quoted(name)}"
            for name, column in zip(self.columns, described, strict=True)
        }

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        import duckdb

        try:
            with closing(duckdb.connect(str(self._file), read_only=True)) as database:
                yield database
        except duckdb.Error as error:
            raise FileReadError(
                f"{self.path} cannot be read: {str(error).splitlines()[0]}. It is damaged, locked by another "
                "program, of another version, or no DuckDB database."
            ) from error

    def _query(self, columns: tuple[str, ...]) -> str:
        return f"SELECT {', '.join(self._selected[name] for name in columns)} FROM {self._table}"

    def _schema(self, columns: tuple[str, ...]) -> pa.Schema:
        with self._connected() as database:
            return database.sql(f"{self._query(columns)} LIMIT 0").to_arrow_reader().schema

    def _stream(self, columns: tuple[str, ...], rows: int) -> Iterator[pa.RecordBatch]:
        with self._connected() as database:
            yield from database.sql(self._query(columns)).to_arrow_reader(rows)


def _cast(column: str, kind: str) -> str:
    if kind.startswith(AS_NUMBER):
        return f"CAST({column} AS DOUBLE)"
    if kind.startswith(AS_TEXT) and not kind.startswith("TIMESTAMP"):
        return f"CAST({column} AS VARCHAR)"
    return column


class DuckSink:
    """A table in a new database."""

    def __init__(self, path: Path, schema: pa.Schema, where: Location) -> None:
        import duckdb

        self.database = duckdb.connect(str(path))
        self.table = quoted(where.table or "data")
        self.database.register("batch", schema.empty_table())
        self.database.execute(f"CREATE TABLE {self.table} AS SELECT * FROM batch")

    def write(self, batch: pa.RecordBatch) -> None:
        """Straight from Arrow."""
        import pyarrow as pa

        self.database.register("batch", pa.Table.from_batches([batch]))
        self.database.execute(f"INSERT INTO {self.table} SELECT * FROM batch")

    def close(self) -> None:
        """Write everything to the one file."""
        self.database.close()

    drop = close
