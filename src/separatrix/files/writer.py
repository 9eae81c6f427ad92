# SPDX-License-Identifier: BSD-3-Clause
"""Writing a table, completely or not at all.

The file is written as a draft. If the block ends without an exception, the draft becomes the file in one step;
otherwise it is removed. A sink writes batches in one format; it is closed at the end, or dropped after an error.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from separatrix._lazy import pa, pc, pq
from separatrix._output import draft_of
from separatrix._text import counted, visible
from separatrix.files.location import READ_BYTES, STANDARD, FileWriteError, Location, open_output
from separatrix.files.table import Sink

STREAMED = ("csv", "tsv", "jsonl")  # formats that are compressed while they are written
NESTED = ("jsonl", "parquet", "arrow", "duckdb")  # formats that can hold nested columns
DISK_FULL = ("no space left", "disk is full", "disk full")  # messages of Arrow, DuckDB and SQLite
PARQUET_GROUP_ROWS = 65_536
FORMULA = r"^[=+\-@\t\r\n]"  # start of text that spreadsheets run as a formula
MakeSink = Callable[[Any, Any, Location], Sink]  # opens a sink for a file or stream, a schema and a location


class TableWriter:
    """Context manager that writes a table to a file, as `open_writer` returns it.

    The file appears at ``path`` if the block ends without an error; ``n_rows`` rows were written so far.
    """

    def __init__(self, where: Location, make_sink: MakeSink, *, force: bool) -> None:
        self.path, self.n_rows = where.path, 0
        self._where, self._make_sink, self._force = where, make_sink, force
        self._sink: Sink | None = None
        self._schema: pa.Schema | None = None
        self._stack = ExitStack()
        self._draft: Path | None = None
        self._placed = draft_of(self.path, exclusive=not force)
        self._refuse_existing()

    def write(self, table: Any) -> None:
        """Write a record batch, or any table that Arrow can convert; the first table determines the columns.

        Raises FileWriteError if the columns differ from those of the first table, or the disk is full.
        """
        if isinstance(table, pa.RecordBatch):
            table = pa.Table.from_batches([table])
        table = table if isinstance(table, pa.Table) else pa.table(table)
        for given in table.to_batches() or [pa.RecordBatch.from_pylist([], schema=table.schema)]:
            batch, self._schema = given, self._schema or given.schema
            if not batch.schema.equals(self._schema):
                try:
                    batch = batch.select(self._schema.names).cast(self._schema)
                except (KeyError, pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
                    raise FileWriteError(
                        f"{self.path}: a batch has other columns than the first ({error}). Write the same columns each "
                        "time."
                    ) from error
            self._write(batch)
            self.n_rows += batch.num_rows

    def _refuse_existing(self) -> None:
        if os.path.lexists(self.path) and not self._force:
            raise FileWriteError(
                f"{self.path} exists and is not replaced. Choose another name, or replace it: --force (force=True)."
            )

    def __enter__(self) -> Self:
        """Create the draft."""
        try:
            self._draft = self._placed.__enter__()
        except OSError as error:
            raise FileWriteError(f"{self.path} cannot be written: {error.strerror}. Choose another folder.") from error
        return self

    def _write(self, batch: pa.RecordBatch) -> None:
        with self._explaining_full_disk():
            if self._sink is None:
                for field in () if self._where.format in NESTED else batch.schema:
                    kind = field.type
                    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_duration(kind):
                        raise FileWriteError(
                            f"{self.path}: column {field.name!r} has type {kind}, which {self._where.format} cannot "
                            "hold. Write Parquet, or leave the column out."
                        )
                self._sink = self._make_sink(self._target(), batch.schema, self._where)
            self._sink.write(batch)

    def _target(self) -> Any:
        """Path or stream to which the sink writes."""
        where, draft = self._where, self._draft
        if draft is None:
            raise FileWriteError(f"{self.path}: call write inside a with block, which completes the file at its end.")
        if where.format not in STREAMED:
            return draft
        return self._stack.enter_context(open_output(draft, where.compression, where.path.with_suffix("").name))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Move the file to its final path, or remove it after an error."""
        assert self._draft is not None
        try:
            if kind is None:
                self._finish(self._draft)
        except BaseException as failure:
            kind, error, trace = type(failure), failure, failure.__traceback__
            raise
        finally:
            # If the disk is full, closing may fail again; only the first error is reported.
            with suppress(Exception):
                if self._sink is not None:
                    self._sink.drop()
            with suppress(Exception):
                self._stack.close()
            self._draft = None
            try:
                self._placed.__exit__(kind, error, trace)
            except FileExistsError as taken:  # created after the check in _finish
                raise FileWriteError(
                    f"{self.path} could not be written: {taken.strerror}. Choose another name."
                ) from taken

    def _finish(self, draft: Path) -> None:
        if self._sink is None:
            raise FileWriteError(f"{self.path}: nothing was written, not even column names. Write a table first.")
        with self._explaining_full_disk():
            self._sink.close()
            self._sink = None
            self._stack.close()
            where = self._where
            if where.compression and where.format not in STREAMED:
                packed, member = draft.with_name("packed"), where.path.with_suffix("").name
                with draft.open("rb") as source, open_output(packed, where.compression, member) as stream:
                    shutil.copyfileobj(source, stream, READ_BYTES)
                os.replace(packed, draft)
            self._refuse_existing()  # another program may have created the file in the meantime

    @contextmanager
    def _explaining_full_disk(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            message = str(error).lower()
            is_full = getattr(error, "errno", None) == errno.ENOSPC or any(word in message for word in DISK_FULL)
            if isinstance(error, FileWriteError) or not is_full or self._draft is None:
                raise
            size = sum(file.stat().st_size for file in self._draft.parent.iterdir())
            raise FileWriteError(
                f"{self.path} could not be written: the disk is full after {counted(self.n_rows, 'row')} "
                f"({size / 1e6:.1f} MB). "
                f"The incomplete file was removed. Free space on {self.path.parent.absolute()}, or write elsewhere."
            ) from error


class StandardOutput(TableWriter):
    """Writes CSV to standard output, batch by batch. Rows written before an error remain."""

    def __init__(self, make_sink: MakeSink) -> None:
        super().__init__(Location(Path(STANDARD), "csv"), make_sink, force=True)

    def __enter__(self) -> Self:
        return self

    def _target(self) -> Any:
        return TerminalStream(sys.stdout.buffer) if sys.stdout.isatty() else sys.stdout.buffer

    def __exit__(self, *_: object) -> None:
        sys.stdout.buffer.flush()


class TerminalStream:
    """Writes lines of a table to a terminal; control characters, which would change its state, appear as escapes."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def write(self, lines: bytes) -> int:
        return self._stream.write(visible(lines.decode(), keep="\n").encode())


class CsvSink(Sink):
    """Writes CSV and TSV. Cells are quoted only if necessary, missing values are empty, dates are ISO 8601.

    With ``escape_formulas``, an apostrophe precedes text that a spreadsheet would run as a formula.
    """

    def __init__(self, stream: IO[bytes], schema: pa.Schema, where: Location, *, escape_formulas: bool = False) -> None:
        self.stream, self.delimiter = stream, "\t" if where.format == "tsv" else ","
        self.special, self.escapes = rf'["\r\n{self.delimiter}]', escape_formulas
        self._write_lines([pa.array([name]) for name in schema.names])

    def write(self, batch: pa.RecordBatch) -> None:
        self._write_lines(batch.columns)

    def _write_lines(self, columns: list[pa.Array]) -> None:
        if not len(columns[0]):
            return
        cells = []
        for column in columns:
            # Times have no more digits than necessary, and NaN is a missing value.
            values = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
            kind = values.type
            if pa.types.is_floating(kind):
                values = pc.if_else(pc.is_nan(values), pa.scalar(None, kind), values)
            elif pa.types.is_timestamp(kind):
                for unit in ("s", "us"):
                    with suppress(pa.ArrowInvalid):  # the unit is too coarse for a value
                        values = values.cast(pa.timestamp(unit, kind.tz))
                        break
            texts = values.cast(pa.string())
            if self.escapes and (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
                escaped = pc.binary_join_element_wise("'", texts, "")
                texts = pc.if_else(pc.match_substring_regex(texts, FORMULA), escaped, texts)
            special = pc.match_substring_regex(texts, self.special)
            quoted = texts
            if pc.any(special).as_py():
                doubled = pc.replace_substring(texts, '"', '""')
                quoted = pc.if_else(special, pc.binary_join_element_wise('"', doubled, '"', ""), texts)
            cells.append(pc.fill_null(quoted, ""))
        lines = pc.binary_join_element_wise(*cells, self.delimiter)
        if len(columns) == 1:  # quote an empty cell, because readers skip empty lines
            lines = pc.if_else(pc.equal(lines, ""), '""', lines)
        self.stream.write(("\n".join(lines.to_pylist()) + "\n").encode())


class JsonSink(Sink):
    """Writes one JSON record per line. Dates are ISO 8601, and NaN is null."""

    def __init__(self, stream: IO[bytes], schema: pa.Schema, where: Location) -> None:
        self.stream = stream

    def write(self, batch: pa.RecordBatch) -> None:
        """Write one record per row."""
        lines = []
        for record in batch.to_pylist():
            plain = {
                name: None if isinstance(value, float) and value != value else value  # noqa: PLR0124
                for name, value in record.items()
            }
            lines.append(json.dumps(plain, ensure_ascii=False, default=str) + "\n")
        self.stream.write("".join(lines).encode())


class ParquetSink(Sink):
    """Writes Parquet, compressed with zstd."""

    def __init__(self, path: Path, schema: pa.Schema, where: Location) -> None:
        self.writer = pq.ParquetWriter(path, schema, compression="zstd")
        self.kept: list[pa.RecordBatch] = []

    def write(self, batch: pa.RecordBatch) -> None:
        """Collect rows, and write a row group when there are `PARQUET_GROUP_ROWS`."""
        self.kept.append(batch)
        if sum(kept.num_rows for kept in self.kept) >= PARQUET_GROUP_ROWS:
            self._flush()

    def _flush(self) -> None:
        if self.kept:
            self.writer.write_table(pa.Table.from_batches(self.kept))
            self.kept = []

    def close(self) -> None:
        self._flush()
        self.writer.close()

    def drop(self) -> None:
        """Close the writer, which writes a footer."""
        self.writer.close()


class ArrowSink(Sink):
    """Writes Arrow's stream format for .arrows, and its file format for other suffixes.

    Categories are written as text, because a file has one dictionary per column and batches may have different ones.
    """

    def __init__(self, path: Path, schema: pa.Schema, where: Location) -> None:
        is_stream = ".arrows" in where.path.suffixes
        kinds = [field.type.value_type if pa.types.is_dictionary(field.type) else field.type for field in schema]
        self.schema = pa.schema(list(zip(schema.names, kinds, strict=True)))
        self.file = pa.OSFile(str(path), "w")
        self.writer = (pa.ipc.new_stream if is_stream else pa.ipc.new_file)(self.file, self.schema)

    def write(self, batch: pa.RecordBatch) -> None:
        self.writer.write_batch(batch.cast(self.schema))

    def close(self) -> None:
        self.writer.close()
        self.file.close()
