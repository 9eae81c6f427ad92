# SPDX-License-Identifier: BSD-3-Clause
"""A table in a file, which can be read any number of times as record batches, without loading it into memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

from separatrix._arguments import check_count
from separatrix._array import Array
from separatrix._lazy import pa
from separatrix._text import did_you_mean
from separatrix.files.location import FileReadError, Location
from separatrix.rows import cut_batches, join_batches
from separatrix.table import Kind, values_to_arrow

READ_BATCH_ROWS = 65_536
MAX_BATCH_BYTES = 2**26  # a batch that reaches this size has fewer rows
ValueCounts = tuple[Any, Array, Array]  # values as an Arrow array, the number of rows of each, and its first row


class TableFile(ABC):
    """A table in a file, as `open_table` returns it.

    Subclasses set ``columns``, and ``types`` (an Arrow schema) or, if cells have no Arrow types, ``kinds``; they
    implement `stream`.
    """

    columns: tuple[str, ...]  # in the order of the file
    n_rows: int | None = None  # None if only a pass can count them
    types: pa.Schema
    target: str | None = None  # column of labels, whose values may be counted while types are inferred
    travels = False  # whether an open table can be sent to another process
    is_plain = False  # True for a Parquet file that DuckDB and pyarrow can read directly

    def __init__(self, where: Location) -> None:
        self.path: Path = where.title  # file or folder, "-" for standard input, or a pipe (where.path is its copy)
        self.format = where.format  # one of `FORMATS`
        self.where = where
        self.kinds: dict[str, Kind] = {}
        self._notes: list[str] = []
        self.fingerprint = where.fingerprint()
        self.n_bytes = sum(size for size, *_ in self.fingerprint)

    @abstractmethod
    def stream(self, columns: tuple[str, ...], rows: int) -> Generator[pa.RecordBatch]:
        """Yield batches of at most about ``rows`` rows, with these columns in the types of `schema`."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about anything that was guessed, such as the encoding."""
        return tuple(dict.fromkeys(self._notes))

    def schema(self, columns: Sequence[str] | None = None) -> pa.Schema:
        """Types of the columns, the same in every batch."""
        chosen = self._chosen(columns)
        if self.kinds:
            return pa.schema([(name, self.kinds[name].type) for name in chosen])
        return pa.schema([self.types.field(name).with_nullable(True) for name in chosen])

    def value_counts(self) -> ValueCounts | None:
        """Values of the target with their counts, if a previous pass counted them."""
        return None

    def _batch(self, columns: tuple[str, ...], cells: Iterable[Sequence[Any]]) -> pa.RecordBatch:
        """Batch of Python values, column by column, in the kinds of the table."""
        arrays = [values_to_arrow(values, self.kinds[name]) for name, values in zip(columns, cells, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema(columns))

    def place(self, row: int) -> str:
        """Row of the file, counted from 1, and its line in a text file."""
        return f"row {row + 1:,}{self.line(row)}"

    def line(self, row: int) -> str:
        """Line of a text file in which a row (counted from 0) begins, for messages: " (line 9)", or "" if unknown."""
        del row
        return ""

    def batches(
        self, *, columns: Sequence[str] | None = None, rows: int = READ_BATCH_ROWS
    ) -> Generator[pa.RecordBatch]:
        """Read batches of ``rows`` rows in the order of the file; batches of wide rows have fewer rows.

        Raises FileReadError if there is no such column, or the file cannot be read or has changed since it was opened.
        """
        chosen, most = self._chosen(columns), check_count("batches", "rows", rows)
        self.where.require_unchanged(self.fingerprint)
        groups = cut_batches(self.stream(chosen, most), most, MAX_BATCH_BYTES)
        return (join_batches(batches) for batches in groups)

    def read(self, *, columns: Sequence[str] | None = None) -> pa.Table:
        """Read the whole table into memory."""
        self.where.require_unchanged(self.fingerprint)
        batches = self.stream(self._chosen(columns), READ_BATCH_ROWS)
        return pa.Table.from_batches(list(batches), schema=self.schema(columns))

    def _chosen(self, columns: Sequence[str] | None) -> tuple[str, ...]:
        chosen = self.columns if columns is None else tuple(columns)
        known = set(self.columns)
        for name in chosen:
            if name not in known:
                raise FileReadError(f"{self.path} has no column {name!r}.{did_you_mean(name, self.columns)}")
        return chosen


def kinds_to_schema(kinds: Mapping[str, Kind]) -> pa.Schema:
    """Arrow schema of columns with these kinds."""
    return pa.schema([(name, kind.type) for name, kind in kinds.items()])


class Sink(ABC):
    """Writes batches of one schema to a file in one format."""

    @abstractmethod
    def write(self, batch: pa.RecordBatch) -> None:
        """Write a batch."""

    def close(self) -> None:  # noqa: B027  # not abstract: a sink that writes to a stream has nothing to do
        """Complete the file."""

    def drop(self) -> None:
        """Close an incomplete file."""
        self.close()


def choose_table(names: list[str], where: Location, what: str) -> str:
    """Name of the requested table or sheet, or of the only one; raises FileReadError if the choice is not unique."""
    path = where.title
    if not names:
        raise FileReadError(f"{path} has no {what}s. Is it the correct file?")
    if where.table is not None:
        if where.table not in names:
            raise FileReadError(f"{path} has no {what} {where.table!r}.{did_you_mean(where.table, names)}")
        return where.table
    if len(names) > 1:
        listed = ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "")
        raise FileReadError(
            f"{path} has {len(names)} {what}s: {listed}. Choose one, as in {quote(f'{path}::{names[0]}')}."
        )
    return names[0]
