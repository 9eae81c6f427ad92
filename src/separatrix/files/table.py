# SPDX-License-Identifier: BSD-3-Clause
"""A table in a file: record batches, any number of times, in memory that does not grow with the file."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from separatrix._arguments import check_count
from separatrix._text import did_you_mean
from separatrix.files.location import FileReadError, Location
from separatrix.table import Kind

if TYPE_CHECKING:
    import pyarrow as pa

READ_BATCH_ROWS = 65_536
MAX_BATCH_BYTES = 2**26  # batches of wide rows have fewer rows


class TableFile(ABC):
    """A table in a file, as `open_table` returns it.

    Subclasses set ``columns`` and ``types`` (an Arrow schema) and implement `_stream`.

    Attributes
    ----------
    path : Path
        The file, the folder, or ``-``.
    format : str
        One of `FORMATS`.
    columns : tuple of str
        Names in the order of the file.
    n_rows : int or None
        Number of rows, if the file stores it.
    n_bytes : int
        Size on disk of all parts.
    """

    columns: tuple[str, ...]
    n_rows: int | None = None
    types: pa.Schema

    def __init__(self, where: Location) -> None:
        self.path: Path = where.path
        self.format = where.format
        self.where = where
        self._notes: list[str] = []
        self._opened = self.fingerprint()
        self.n_bytes = sum(part[0] for part in self._opened)

    @abstractmethod
    def _stream(self, columns: tuple[str, ...], rows: int) -> Iterator[pa.RecordBatch]:
        """Batches of any number of rows, with exactly these columns and the types of `schema`."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about guesses, such as the encoding."""
        return tuple(dict.fromkeys(self._notes))

    def schema(self, columns: Sequence[str] | None = None) -> pa.Schema:
        """Types of the columns, the same in every batch."""
        import pyarrow as pa

        return pa.schema([self.types.field(name).with_nullable(True) for name in self._chosen(columns)])

    def batches(self, *, columns: Sequence[str] | None = None, rows: int = READ_BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """Read batches of ``rows`` rows in the order of the file; batches of wide rows have fewer rows.

        Raises
        ------
        FileReadError
            If there is no such column, or the file cannot be read or has changed since it was opened.
        """
        chosen, most = self._chosen(columns), check_count("batches", "rows", rows)
        if self.fingerprint() != self._opened:
            raise FileReadError(
                f"{self.path} has changed since it was opened, so the types of its columns may be wrong. "
                "Wait until it is complete, and open it again."
            )
        return rebatch(self._stream(chosen, most), most)

    def read(self, *, columns: Sequence[str] | None = None) -> pa.Table:
        """Read the whole table into memory."""
        import pyarrow as pa

        return pa.Table.from_batches(list(self.batches(columns=columns)), schema=self.schema(columns))

    def fingerprint(self) -> tuple[tuple[int, ...], ...]:
        """Size, modification time and inode of each part; another value if the file has changed."""
        try:
            states = [os.stat(file) for file in self.where.files]
        except FileNotFoundError as error:
            raise FileReadError(f"{error.filename} was removed after it was opened. Restore it.") from error
        return tuple((state.st_size, state.st_mtime_ns, state.st_ino) for state in states)

    def _chosen(self, columns: Sequence[str] | None) -> tuple[str, ...]:
        chosen = self.columns if columns is None else tuple(columns)
        for name in chosen:
            if name not in self.columns:
                raise FileReadError(f"{self.path} has no column {name!r}.{did_you_mean(name, self.columns)}")
        return chosen

    def _set_kinds(self, kinds: dict[str, Kind]) -> None:
        """Set ``columns`` and ``types`` for a format whose cells have no Arrow types."""
        import pyarrow as pa

        self.columns, self.kinds = tuple(kinds), kinds
        self.types = pa.schema([(name, kind.type) for name, kind in kinds.items()])


class Sink(ABC):
    """Writes batches of one schema to a file in one format."""

    @abstractmethod
    def write(self, batch: pa.RecordBatch) -> None:
        """Write a batch."""

    def close(self) -> None:  # noqa: B027  # the caller closes streams
        """Complete the file."""

    def drop(self) -> None:
        """Close an incomplete file."""
        self.close()


def rebatch(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """Regroup rows into batches of ``rows``; fewer if the batch would exceed `MAX_BATCH_BYTES`."""
    kept: list[pa.RecordBatch] = []
    n_kept = n_bytes = 0
    for batch in batches:
        start = 0
        while start < batch.num_rows:
            piece = batch.slice(start, rows - n_kept)
            start += piece.num_rows
            kept.append(piece)
            n_kept, n_bytes = n_kept + piece.num_rows, n_bytes + piece.nbytes
            if n_kept == rows or n_bytes >= MAX_BATCH_BYTES:
                yield _concatenated(kept)
                kept, n_kept, n_bytes = [], 0, 0
    if kept:
        yield _concatenated(kept)


def _concatenated(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    import pyarrow as pa

    if len(batches) == 1:
        return batches[0]
    return pa.Table.from_batches(batches).unify_dictionaries().combine_chunks().to_batches()[0]


def choose_table(names: list[str], where: Location, what: str) -> str:
    """The requested table or sheet, or the only one.

    Raises
    ------
    FileReadError
        If there is no such table, or there are several and none was requested; lists them.
    """
    path = where.path
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
