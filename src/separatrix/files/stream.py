# SPDX-License-Identifier: BSD-3-Clause
"""Streams of Arrow batches as a table: a data set, a DuckDB relation, a reader, or a function that returns one."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any

from separatrix.exceptions import DataError
from separatrix.files.spool import SpooledRows
from separatrix.files.where import Condition

if TYPE_CHECKING:
    import pyarrow as pa


class StreamRows(SpooledRows):
    """A table that comes as a stream; ``make(columns)`` opens it again, and is None if it can be read only once."""

    def __init__(
        self, title: str, make: Callable[[tuple[str, ...]], Any] | None, schema: pa.Schema, first: Any = None
    ) -> None:
        self.title, self._make, self._schema, self._first = title, make, schema, first
        self.columns = tuple(schema.names)
        self.is_fixed = False  # whether it gives the same rows each time, so that no copy is needed
        self.where: Condition | None = None

    def filtered(self, where: Condition) -> StreamRows:
        """The rows that meet a condition."""
        self.where, self.known_rows = where, None
        return self

    def schema(self, columns: Sequence[str]) -> pa.Schema:
        """Types as the stream declares them."""
        import pyarrow as pa

        return pa.schema([self._schema.field(name) for name in columns])

    def prepare(self, columns: tuple[str, ...]) -> None:
        """Copy the rows, unless they are a table in memory."""
        if not self.is_fixed:
            super().prepare(columns)

    def read_origin(self, columns: tuple[str, ...], rows: int) -> Generator[pa.RecordBatch]:
        """Read the stream; a large batch is cut."""
        import pyarrow as pa

        where = self.where
        wanted = tuple(dict.fromkeys([*columns, *(where.columns if where is not None else ())]))
        first, self._first = self._first, None
        if first is None and self._make is None:
            raise DataError(
                f"{self.title} has been read to its end and cannot be read again. Give a function that opens the "
                "stream (scan(lambda: ...)), a file, a pyarrow data set, or a table in memory."
            )
        try:
            batches = iter(first if first is not None else self._make(wanted))  # type: ignore[misc]
            for batch in batches if where is None else where.keep(batches):
                chosen = batch.select(list(columns))
                for start in range(0, chosen.num_rows, rows):
                    yield chosen.slice(start, rows)
        except (pa.ArrowInvalid, ValueError) as error:
            if isinstance(error, DataError):
                raise
            raise DataError(f"{self.title} could not be read: {error}.") from error


def open_stream(source: Any) -> StreamRows:
    """A pyarrow table, reader or data set, a polars frame, a DuckDB relation, or a function that returns one of them.

    Raises
    ------
    DataError
        If it has no Arrow stream interface.
    """
    import pyarrow as pa
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
    """A new reader; the rows of a polars LazyFrame are collected first."""
    import pyarrow as pa

    if "collect" in dir(source) and "__arrow_c_stream__" not in dir(source):
        source = source.collect()
    if "__arrow_c_stream__" not in dir(source):
        raise DataError(
            f"A {type(source).__name__} cannot be scanned. Give a path, a list of paths, a query with connection=, or "
            "an object with the Arrow stream interface."
        )
    return pa.RecordBatchReader.from_stream(source)
