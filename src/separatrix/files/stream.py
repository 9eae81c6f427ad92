# SPDX-License-Identifier: BSD-3-Clause
"""Streams of Arrow batches as a table, and temporary copies of queries and streams.

A fit reads its rows several times. A database may return other rows the next time, and a stream may not be readable
again. Before the first pass of a fit, all columns are therefore copied to an Arrow file in the folder for temporary
files. From then on the scan reads this copy only, which is also faster. The file is removed when the scan is no longer
used. A prediction that reads its rows once needs no copy.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from itertools import chain
from typing import Any

from separatrix._lazy import pa
from separatrix._text import counted
from separatrix.exceptions import DataError, StreamEndedError
from separatrix.files.columnar import plain_batch, plain_schema
from separatrix.files.location import temporary_file
from separatrix.files.where import Condition
from separatrix.rows import ArrowRows, batch_rows, require_distinct

MIN_FREE_BYTES = 2**28  # disk space that must remain free after a copy


class SpooledRows(ArrowRows):
    """Rows that are read from their source (a query or stream) until a copy is made. Subclasses read the source."""

    columns: tuple[str, ...]
    where: Condition | None = None
    _schema: pa.Schema
    _copy: str | None = None
    _copied_at = ""
    is_fixed = False  # whether the rows cannot change, so that no copy is needed

    def __init__(self) -> None:
        self._lock = threading.Lock()

    @property
    def described(self) -> str:
        return f"{self.title}{self._copied_at}"

    def read_source(self, columns: tuple[str, ...], rows: int) -> Generator[pa.RecordBatch]:
        """Read these columns once from the source."""
        raise NotImplementedError

    def schema(self, columns: Sequence[str]) -> pa.Schema:
        return pa.schema([self._schema.field(name) for name in columns])

    def prepare(self) -> None:
        """Copy the rows, so that all passes read the same ones, unless they cannot change."""
        if not self.is_fixed:
            self._make_copy()

    def _make_copy(self) -> None:
        """Copy all columns in one pass, unless there is a copy; other threads wait."""
        with self._lock:
            if self._copy is not None:
                return
            path, n_rows = temporary_file(self, "copy.arrow"), 0
            try:
                with closing(self.read_source(self.columns, batch_rows(len(self.columns)))) as batches:
                    first = next(batches, None)
                    # The first batch has the final types, which some databases find only from rows.
                    schema = self._schema if first is None else first.schema
                    with pa.ipc.new_stream(path, schema) as writer:
                        for batch in chain([] if first is None else [first], batches):
                            if shutil.disk_usage(path.parent).free < batch.get_total_buffer_size() + MIN_FREE_BYTES:
                                raise DataError(
                                    f"{self.title} must be copied to {path}, but the disk is nearly full after "
                                    f"{counted(n_rows, 'row')}. Free space, set TMPDIR to a folder on a larger disk, "
                                    "or select "
                                    "fewer columns or rows."
                                )
                            writer.write_batch(batch.cast(schema))
                            n_rows += batch.num_rows
            except BaseException:
                shutil.rmtree(path.parent)
                raise
            self.known_rows, self.reads_ahead = n_rows, True
            self._copied_at = f" (copied at {time.strftime('%H:%M:%S')})"
            self._copy = str(path)  # last: from now on other threads read the copy

    def settle(self, n_rows: int) -> None:
        """Keep the number of rows only if the next pass reads the same rows."""
        super().settle(n_rows)
        if self._copy is None and not self.is_fixed:
            self.known_rows = None

    def parts(self, columns: tuple[str, ...]) -> tuple[ArrowRows, ...]:
        """Make a copy, which is the only part. Workers must have access to the folder for temporary files."""
        del columns
        self._make_copy()
        return (self,)

    def __getstate__(self) -> dict[str, Any]:
        if self._copy is None:
            raise DataError(
                f"{self.title} cannot be sent to another process. Leave client= out, or write the rows to Parquet "
                "files and scan those."
            )
        return {name: getattr(self, name) for name in ("title", "columns", "known_rows", "reads_ahead", "_copy")}

    def batches(self, columns: tuple[str, ...], rows: int) -> Iterator[pa.RecordBatch]:
        """Read the copy if there is one, otherwise the source."""
        if self._copy is None:
            yield from self.read_source(columns, rows)
            return
        with pa.memory_map(self._copy) as file, pa.ipc.open_stream(file) as reader:
            for batch in reader:
                chosen = batch.select(list(columns))
                for start in range(0, chosen.num_rows, rows):
                    yield chosen.slice(start, rows)


class StreamRows(SpooledRows):
    """A table that is read from a stream. ``make(columns)`` opens it again; None if it can be read only once."""

    def __init__(
        self, title: str, make: Callable[[tuple[str, ...]], Any] | None, schema: pa.Schema, first: Any = None
    ) -> None:
        super().__init__()
        self.title, self._make, self._schema, self._first = title, make, plain_schema(schema), first
        self.columns = tuple(schema.names)
        require_distinct(self.columns)

    def read_source(self, columns: tuple[str, ...], rows: int) -> Generator[pa.RecordBatch]:
        """Read the stream; large batches are split."""
        where = self.where
        wanted = tuple(dict.fromkeys([*columns, *(where.columns if where is not None else ())]))
        first, self._first = self._first, None
        if first is None and self._make is None:
            raise StreamEndedError(
                f"{self.title} has been read to its end and cannot be read again. Give a function that opens the "
                "stream (scan(lambda: ...)), a file, a pyarrow data set, or a table in memory."
            )
        try:
            batches = map(plain_batch, first if first is not None else self._make(wanted))  # type: ignore[misc]
            for batch in batches if where is None else where.keep(batches):
                chosen = batch.select(list(columns))
                for start in range(0, chosen.num_rows, rows):
                    yield chosen.slice(start, rows)
        except (pa.ArrowInvalid, ValueError) as error:
            if isinstance(error, DataError):
                raise
            raise DataError(f"{self.title} could not be read: {error}.") from error


def open_stream(source: Any) -> StreamRows:
    """Open a pyarrow table, reader or data set, a polars frame, a DuckDB relation, or a function that returns one."""
    import pyarrow.dataset as ds

    title = f"the {type(source).__name__} that was given"
    if isinstance(source, ds.Dataset):
        return StreamRows(title, lambda columns: source.to_batches(columns=list(columns)), source.schema)
    if isinstance(source, pa.RecordBatchReader):
        return StreamRows(title, None, source.schema, source)
    if callable(source):
        first = _reader(source())
        return StreamRows("the stream of the function that was given", lambda _: _reader(source()), first.schema, first)
    first = _reader(source)
    rows = StreamRows(title, lambda _: _reader(source), first.schema, first)
    if isinstance(source, pa.Table):
        rows.is_fixed, rows.known_rows = True, len(source)
    return rows


def _reader(source: Any) -> Any:
    """Return a new reader of record batches; a polars LazyFrame is collected first."""
    if "collect" in dir(source) and "__arrow_c_stream__" not in dir(source):
        source = source.collect()
    if "__arrow_c_stream__" not in dir(source):
        raise DataError(
            f"A {type(source).__name__} cannot be scanned. Give a path, a list of paths, a query with connection=, or "
            "an object with the Arrow stream interface."
        )
    try:
        return pa.RecordBatchReader.from_stream(source)
    except ValueError:  # pandas does not export two columns with the same name
        require_distinct(getattr(source, "columns", ()))
        raise
