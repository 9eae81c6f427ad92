# SPDX-License-Identifier: BSD-3-Clause
"""How each format writes batches. A sink is closed, or dropped; what becomes of the file is not its care."""

from __future__ import annotations

import json
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from separatrix.files.errors import FileWriteError
from separatrix.files.location import Location

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ArrowSink", "CsvSink", "JsonSink", "ParquetSink", "Sink", "refuse_nested"]


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
        refuse_nested(schema, where)
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


def refuse_nested(schema: pa.Schema, where: Location) -> None:
    """Columns that a flat format has no place for are an error that names them."""
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
