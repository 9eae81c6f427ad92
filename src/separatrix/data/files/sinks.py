# SPDX-License-Identifier: BSD-3-Clause
"""How each format writes batches. A sink is closed, or dropped; what becomes of the file is not its care."""

from __future__ import annotations

import datetime as dt
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from separatrix.data.files.errors import FileWriteError
from separatrix.data.files.location import Location
from separatrix.data.files.sqlite import quoted

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SINKS", "CsvSink", "Sink"]


class Sink(Protocol):
    """Where batches of one schema go."""

    def write(self, batch: pa.RecordBatch) -> None:
        """One more batch."""

    def close(self) -> None:
        """No more: complete the file."""

    def drop(self) -> None:
        """No more: let go of a file that nobody wants."""


class CsvSink:
    """CSV and TSV: quotes only where they are needed, nothing for a gap, dates as ISO 8601."""

    def __init__(self, stream: IO[bytes], schema: pa.Schema, where: Location) -> None:
        self.stream, self.delimiter = stream, "\t" if where.format == "tsv" else ","
        self.special = rf'["\r\n{self.delimiter}]'
        _refuse_nested(schema, where)
        self._lines([_text([name]) for name in schema.names])

    def write(self, batch: pa.RecordBatch) -> None:
        """One line a row."""
        self._lines([_text(column) for column in batch.columns])

    def _lines(self, columns: list[pa.Array]) -> None:
        import pyarrow.compute as pc

        if len(columns[0]):
            blank = '""' if len(columns) == 1 else ""  # a line that is empty would be no row
            cells = [pc.fill_null(self._quoted(column), "") for column in columns]
            lines = pc.binary_join_element_wise(*cells, self.delimiter)
            if blank:
                lines = pc.if_else(pc.equal(lines, ""), blank, lines)
            self.stream.write(("\n".join(lines.to_pylist()) + "\n").encode())

    def _quoted(self, texts: pa.Array) -> pa.Array:
        import pyarrow.compute as pc

        special = pc.match_substring_regex(texts, self.special)
        if not pc.any(special).as_py():
            return texts
        doubled = pc.replace_substring(texts, '"', '""')
        return pc.if_else(special, pc.binary_join_element_wise('"', doubled, '"', ""), texts)

    def close(self) -> None:
        """The stream is closed by who opened it."""

    drop = close


def _text(column: Any) -> pa.Array:
    """Values as text; fractions of a second no finer than they need to be, NaN as a gap."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = column if isinstance(column, pa.Array) else pa.array(column)
    kind = values.type
    if pa.types.is_dictionary(kind):
        values = values.dictionary_decode()
    elif pa.types.is_floating(kind):
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, kind), values)
    elif pa.types.is_timestamp(kind):
        for unit in ("s", "us"):
            try:
                values = values.cast(pa.timestamp(unit, kind.tz))
                break
            except pa.ArrowInvalid:  # would lose some: a finer unit
                continue
    return values.cast(pa.string())


def _refuse_nested(schema: pa.Schema, where: Location) -> None:
    import pyarrow as pa

    for field in schema:
        if pa.types.is_nested(field.type) or pa.types.is_binary(field.type) or pa.types.is_duration(field.type):
            raise FileWriteError(
                f"{where.path}: column {field.name!r} holds {field.type}, which {where.format} has no place for. Write "
                "Parquet, or leave the column out."
            )


class JsonSink:
    """One record a line."""

    def __init__(self, stream: IO[bytes], schema: pa.Schema, where: Location) -> None:
        self.stream = stream

    def write(self, batch: pa.RecordBatch) -> None:
        """Dates as text in ISO 8601."""
        lines = [json.dumps(_plain(record), ensure_ascii=False, default=str) for record in batch.to_pylist()]
        self.stream.write("".join(f"{line}\n" for line in lines).encode())

    def close(self) -> None:
        """The stream is closed by who opened it."""

    drop = close


def _plain(record: dict[str, Any]) -> dict[str, Any]:
    """Without NaN, which JSON has no word for."""
    return {name: None if isinstance(value, float) and value != value else value for name, value in record.items()}  # noqa: PLR0124


class ParquetSink:
    """Parquet, packed with zstd."""

    group = 65_536  # rows of a group at least, but for the last

    def __init__(self, path: Path, schema: pa.Schema, where: Location) -> None:
        import pyarrow.parquet as pq

        self.writer = pq.ParquetWriter(path, schema, compression="zstd")
        self.kept: list[pa.RecordBatch] = []

    def write(self, batch: pa.RecordBatch) -> None:
        """A row group, once there are enough for one."""
        self.kept.append(batch)
        if sum(kept.num_rows for kept in self.kept) >= self.group:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa

        if self.kept:
            self.writer.write_table(pa.Table.from_batches(self.kept))
            self.kept = []

    def close(self) -> None:
        """Write the footer."""
        self._flush()
        self.writer.close()

    def drop(self) -> None:
        """A footer is the only way to close it."""
        self.writer.close()


class ArrowSink:
    """Arrow: a stream for .arrows, a file for all other suffixes."""

    def __init__(self, path: Path, schema: pa.Schema, where: Location) -> None:
        import pyarrow as pa

        is_stream = ".arrows" in where.path.suffixes
        self.schema = pa.schema([(field.name, _decoded(field.type)) for field in schema])
        self.file = pa.OSFile(str(path), "w")
        self.writer = (pa.ipc.new_stream if is_stream else pa.ipc.new_file)(self.file, self.schema)

    def write(self, batch: pa.RecordBatch) -> None:
        """A record batch; categories as text, for a file holds one list of them and batches may have many."""
        self.writer.write_batch(batch.cast(self.schema))

    def close(self) -> None:
        """Write the footer."""
        self.writer.close()
        self.file.close()

    drop = close


def _decoded(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    return kind.value_type if pa.types.is_dictionary(kind) else kind


class ExcelSink:
    """A sheet, row by row."""

    most_rows, most_text = 1_048_575, 32_767

    def __init__(self, path: Path, schema: pa.Schema, where: Location) -> None:
        from openpyxl import Workbook

        _refuse_nested(schema, where)
        self.path, self.where, self.n_rows = path, where, 0
        self.book = Workbook(write_only=True)
        self.sheet = self.book.create_sheet(where.table or "Sheet1")
        self.sheet.append([self._cell(name) for name in schema.names])

    def write(self, batch: pa.RecordBatch) -> None:
        """Cells of their types."""
        self.n_rows += batch.num_rows
        if self.n_rows > self.most_rows:
            raise FileWriteError(
                f"{self.where.path}: a sheet holds {self.most_rows} rows, and these are more. Write CSV or Parquet."
            )
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            self.sheet.append([self._cell(value) for value in row])

    def _cell(self, value: Any) -> Any:
        from openpyxl.cell import WriteOnlyCell
        from openpyxl.utils.exceptions import IllegalCharacterError

        if isinstance(value, float) and not abs(value) < float("inf"):
            return None  # no spreadsheet has these
        if isinstance(value, dt.datetime):
            return value.replace(tzinfo=None)
        if not isinstance(value, str):
            return value
        if len(value) > self.most_text:
            raise FileWriteError(
                f"{self.where.path}: a cell holds {self.most_text} characters, and a text has {len(value)}. Write CSV "
                "or Parquet."
            )
        try:
            cell = WriteOnlyCell(self.sheet, value)
        except IllegalCharacterError as error:
            raise FileWriteError(
                f"{self.where.path}: {value[:40]!r} holds a control character, which no workbook may. Write CSV."
            ) from error
        cell.data_type = "s"  # text that starts with = is text, and never a formula
        return cell

    def close(self) -> None:
        """Put the workbook together."""
        self.book.save(self.path)

    def drop(self) -> None:
        """Close the sheet; there is no workbook yet."""
        self.sheet.close()


class SqliteSink:
    """A table in a new database, in one transaction."""

    def __init__(self, path: Path, schema: pa.Schema, where: Location) -> None:
        _refuse_nested(schema, where)
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


SINKS: dict[str, Callable[[Any, Any, Location], Sink]] = {
    "csv": CsvSink,
    "tsv": CsvSink,
    "jsonl": JsonSink,
    "parquet": ParquetSink,
    "arrow": ArrowSink,
    "excel": ExcelSink,
    "sqlite": SqliteSink,
    "duckdb": DuckSink,
}
