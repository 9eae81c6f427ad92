# SPDX-License-Identifier: BSD-3-Clause
"""Writing a table: whole, or not at all.

Everything goes to a folder beside the target, which is made for it and removed in any case; only at the end of a block
without an exception is the file moved to its place, in one step.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from separatrix.files.errors import FileWriteError
from separatrix.files.location import STANDARD, Location
from separatrix.files.packing import open_output, pack
from separatrix.files.sinks import CsvSink, Sink

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FileWriter", "StandardOutput"]

STREAMED = ("csv", "tsv", "jsonl")  # which are packed while they are written
FULL = ("no space left", "disk is full", "disk full")  # as Arrow, DuckDB and SQLite say it


class FileWriter:
    """A table on its way to a file."""

    def __init__(self, where: Location, make_sink: Callable[[Any, pa.Schema, Location], Sink], *, force: bool) -> None:
        self.path, self.n_rows, self._force = where.path, 0, force
        self._refuse_existing()
        self._where, self._make_sink = where, make_sink
        self._sink: Sink | None = None
        self._schema: pa.Schema | None = None
        self._stack = ExitStack()
        self._folder: Path | None = None

    def _refuse_existing(self) -> None:
        if self.path.exists() and not self._force:
            raise FileWriteError(
                f"{self.path} exists, and is left as it is. Choose another name, or replace it: --force (force=True)."
            )

    def __enter__(self) -> FileWriter:
        """Make the folder to write in."""
        try:
            self._folder = Path(tempfile.mkdtemp(dir=self.path.parent, prefix=f".{self.path.name}."))
        except OSError as error:
            raise FileWriteError(f"{self.path} cannot be written: {error.strerror}. Choose another folder.") from error
        return self

    def write(self, table: object) -> None:
        """Write a record batch, or any table that Arrow understands; the first decides on the columns.

        Raises
        ------
        FileWriteError
            Where the columns are not those of the first table, or the disk is full.
        """
        if self._folder is None:
            raise FileWriteError(f"{self.path}: write inside of a with block, where the file can be put in its place.")
        for batch in _batches(table):
            with self._explaining():
                if self._sink is None:
                    self._schema = batch.schema
                    self._sink = self._begin(batch.schema)
                self._sink.write(_aligned(batch, self._schema, self.path))
            self.n_rows += batch.num_rows

    def _begin(self, schema: pa.Schema) -> Sink:
        where, draft = self._where, self._draft
        if where.format in STREAMED:
            packed = open_output(draft, where.compression, _plain_name(where))
            return self._make_sink(self._stack.enter_context(packed), schema, where)
        return self._make_sink(draft, schema, where)

    @property
    def _draft(self) -> Path:
        assert self._folder is not None
        return self._folder / "draft"

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        """Put the file in its place, or leave nothing behind."""
        assert self._folder is not None
        try:
            if kind is None:
                self._finish()
        finally:
            self._abandon()
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _finish(self) -> None:
        if self._sink is None:
            raise FileWriteError(f"{self.path}: nothing was written, not even the names of columns.")
        with self._explaining():
            self._sink.close()
            self._sink = None
            self._stack.close()
            done = self._draft
            if self._where.compression and self._where.format not in STREAMED:
                done = done.with_name("packed")
                pack(self._draft, done, self._where.compression, _plain_name(self._where))
            self._refuse_existing()  # again: another program may have been as slow as this one
            os.replace(done, self.path)

    def _abandon(self) -> None:
        """Close what is open; a failure to do so (the disk is still full) says nothing that the first did not."""
        with suppress(Exception):
            if self._sink is not None:
                self._sink.drop()
        with suppress(Exception):
            self._stack.close()

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        """A full disk is told by how far it went; other failures pass."""
        try:
            yield
        except Exception as error:
            is_full = getattr(error, "errno", None) == errno.ENOSPC or any(word in str(error).lower() for word in FULL)
            if isinstance(error, FileWriteError) or not is_full:
                raise
            assert self._folder is not None
            size = sum(file.stat().st_size for file in self._folder.iterdir())
            raise FileWriteError(
                f"{self.path} could not be written: the disk is full after {self.n_rows} rows ({size / 1e6:.1f} MB). "
                f"Nothing was left behind. Free some space on {self.path.parent.absolute()}, or write elsewhere."
            ) from error


class StandardOutput:
    """CSV to standard output, row by row: it cannot be taken back."""

    def __init__(self) -> None:
        self.path, self.n_rows = Path(STANDARD), 0
        self._sink: CsvSink | None = None
        self._schema: pa.Schema | None = None

    def __enter__(self) -> StandardOutput:
        """Nothing yet."""
        return self

    def write(self, table: object) -> None:
        """Write a record batch, or any table that Arrow understands."""
        for batch in _batches(table):
            if self._sink is None:
                self._schema = batch.schema
                self._sink = CsvSink(sys.stdout.buffer, batch.schema, Location(self.path, "csv"))
            self._sink.write(_aligned(batch, self._schema, self.path))
            self.n_rows += batch.num_rows

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        """Send what is waiting."""
        sys.stdout.buffer.flush()


def _plain_name(where: Location) -> str:
    return where.path.with_suffix("").name


def _batches(table: Any) -> list[pa.RecordBatch]:
    """Record batches; of a table without rows, one that has its columns."""
    import pyarrow as pa

    if isinstance(table, pa.RecordBatch):
        return [table]
    table = table if isinstance(table, pa.Table) else pa.table(table)
    return table.to_batches() or [pa.RecordBatch.from_pylist([], schema=table.schema)]


def _aligned(batch: pa.RecordBatch, schema: Any, path: Path) -> pa.RecordBatch:
    """The batch with the columns and types of the first."""
    import pyarrow as pa

    if batch.schema.equals(schema):
        return batch
    try:
        return batch.select(schema.names).cast(schema)
    except (KeyError, pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
        raise FileWriteError(
            f"{path}: a batch has other columns than the first ({error}). Write the same columns each time."
        ) from error
