# SPDX-License-Identifier: BSD-3-Clause
"""Anything that gives out a stream of Arrow, and gives it out again: a data set, a relation, a function that makes one.

A stream that can be read once is enough for a prediction. A second pass over it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from separatrix.exceptions import DataError
from separatrix.scanning.batches import batch_rows
from separatrix.scanning.errors import RowsChangedError
from separatrix.scanning.part import Part
from separatrix.scanning.where import Condition

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["StreamPart", "StreamRows", "open_stream"]

REMEDY = (
    "Give what can be read again: a function that makes the stream (scan(lambda: ...)), a file, a pyarrow data set, or "
    "a table in memory."
)


@dataclass(frozen=True, eq=False)
class StreamPart:
    """All rows of a stream."""

    rows: StreamRows
    columns: tuple[str, ...]
    n_rows: int | None = None

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows; cut to batches of the usual size, as one batch of a stream may hold everything."""
        rows, where = self.rows, self.rows.where
        wanted = list(dict.fromkeys([*self.columns, *(where.columns if where is not None else ())]))
        batches: Iterable[pa.RecordBatch] = rows.stream(wanted)
        for batch in batches if where is None else where.keep(batches):
            chosen, most = batch.select(list(self.columns)), batch_rows(len(wanted))
            for start in range(0, chosen.num_rows, most):
                yield chosen.slice(start, most)


@dataclass(frozen=True, eq=False)
class StreamRows:
    """A table that comes as a stream; ``first`` is one that was opened to see its columns, and not read yet."""

    title: str
    make: Callable[[Sequence[str] | None], Any]
    whole: pa.Schema
    height: int | None = None
    where: Condition | None = None
    first: list[Any] = field(default_factory=list)
    reads_ahead: bool = True
    may_change: bool = True

    @property
    def n_rows(self) -> int | None:
        """Where the stream comes from a table, all rows of which count."""
        return self.height if self.where is None else None

    @property
    def columns(self) -> tuple[str, ...]:
        """In the order of the stream."""
        return tuple(self.whole.names)

    def schema(self, columns: Sequence[str]) -> pa.Schema:
        """As the stream says."""
        import pyarrow as pa

        return pa.schema([self.whole.field(name) for name in columns])

    def parts(self, columns: Sequence[str]) -> tuple[Part, ...]:
        """One part."""
        return (StreamPart(self, tuple(columns), self.n_rows),)

    shares = parts

    def stream(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Batches with at least these columns."""
        import pyarrow as pa

        try:
            yield from self.first.pop() if self.first else self.make(columns)
        except (pa.ArrowInvalid, ValueError) as error:
            if isinstance(error, DataError):
                raise
            raise DataError(f"{self.title} could not be read: {error}. {REMEDY}") from error


def open_stream(source: Any) -> StreamRows:
    """A pyarrow table, reader or data set, a polars frame, a DuckDB relation, or a function that returns one of them.

    Raises
    ------
    DataError
        Where it gives out no Arrow.
    """
    import pyarrow as pa
    import pyarrow.dataset as ds

    title = f"the {type(source).__name__} that was given"
    if isinstance(source, ds.Dataset):
        return StreamRows(title, lambda columns: _of_dataset(source, columns), source.schema)
    if isinstance(source, pa.RecordBatchReader):
        return StreamRows(title, _refuse, source.schema, first=[source])
    if callable(source):
        first, title = _reader(source()), "the stream of the function that was given"
        return StreamRows(title, lambda _: _reader(source()), first.schema, first=[first])
    known = len(source) if isinstance(source, pa.Table) else None
    first = _reader(source)
    is_fixed = isinstance(source, pa.Table)
    return StreamRows(title, lambda _: _reader(source), first.schema, known, first=[first], may_change=not is_fixed)


def _of_dataset(dataset: Any, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
    names = list(columns) if columns is not None else dataset.schema.names
    return iter(dataset.to_batches(columns=names, batch_size=batch_rows(len(names))))


def _refuse(columns: Sequence[str] | None) -> Any:
    raise RowsChangedError(f"The stream was read to its end by the first pass, and another is needed. {REMEDY}")


def _reader(source: Any) -> Any:
    """A new reader of what can be read again; a LazyFrame of polars is asked for its rows first."""
    import pyarrow as pa

    if "collect" in dir(source) and "__arrow_c_stream__" not in dir(source):
        source = source.collect()
    if "__arrow_c_stream__" not in dir(source):
        raise DataError(
            f"A {type(source).__name__} cannot be scanned. Give a path, a list of paths, a query with connection=, or "
            "an object with the Arrow stream interface."
        )
    return pa.RecordBatchReader.from_stream(source)
