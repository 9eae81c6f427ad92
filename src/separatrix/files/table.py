# SPDX-License-Identifier: BSD-3-Clause
"""A table in a file: read in batches, any number of times, in memory that does not grow with the file."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from separatrix._arguments import check_count
from separatrix._text import did_you_mean
from separatrix.files.errors import FileReadError
from separatrix.files.location import Location

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["AbstractTable", "TableFile", "TableWriter", "rebatch"]

ROWS = 65_536
MOST_BYTES = 2**26  # of one batch: rows that are wide come in fewer at a time


class TableFile(Protocol):
    """A table in a file, as `open_table` returns it.

    Attributes
    ----------
    path : Path
        The file, the folder, or ``-``.
    format : str
        One of `FORMATS`.
    columns : tuple of str
        In the order of the file.
    n_rows : int or None
        Where the file says so without being read.
    n_bytes : int
        Size on disk, of all its parts.
    notes : tuple of str
        Sentences on what had to be guessed, such as an encoding.
    """

    path: Path
    format: str
    columns: tuple[str, ...]
    n_rows: int | None
    n_bytes: int

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on what had to be guessed."""

    def schema(self, columns: Sequence[str] | None = None) -> pa.Schema:
        """The types of the columns, the same in every batch."""

    def batches(self, *, columns: Sequence[str] | None = None, rows: int = ROWS) -> Iterator[pa.RecordBatch]:
        """Batches of at most so many rows, fewer where rows are wide, in the order of the file."""

    def read(self, *, columns: Sequence[str] | None = None) -> pa.Table:
        """The whole table in memory."""

    def fingerprint(self) -> tuple[tuple[int, ...], ...]:
        """Size, time of change and identity of each part now: unequal where the file was changed in between."""


class TableWriter(Protocol):
    """Where `open_writer` writes to: a context manager.

    Attributes
    ----------
    path : Path
        Where the table will be, once the block has ended well.
    n_rows : int
        Written so far.
    """

    path: Path
    n_rows: int

    def write(self, table: object) -> None:
        """Write a record batch, or any table that Arrow understands; the first decides on the columns."""

    def __enter__(self) -> TableWriter:
        """Begin."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        """Put the file in its place, or leave nothing behind."""


class AbstractTable(ABC):
    """What all formats share: which columns, how many rows at a time, and whether the file is still the same."""

    columns: tuple[str, ...]
    n_rows: int | None = None

    def __init__(self, where: Location) -> None:
        self.path, self.format = where.path, where.format
        self.where = where
        self._notes: list[str] = []
        self._opened = self.fingerprint()
        self.n_bytes = sum(part[0] for part in self._opened)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on what had to be guessed."""
        return tuple(dict.fromkeys(self._notes))

    @abstractmethod
    def _schema(self, columns: tuple[str, ...]) -> pa.Schema:
        """The types of these columns."""

    @abstractmethod
    def _stream(self, columns: tuple[str, ...], rows: int) -> Iterator[pa.RecordBatch]:
        """Batches of any number of rows, with exactly these columns and the types of `_schema`."""

    def schema(self, columns: Sequence[str] | None = None) -> pa.Schema:
        """The types of the columns, the same in every batch."""
        return self._schema(self._chosen(columns))

    def batches(self, *, columns: Sequence[str] | None = None, rows: int = ROWS) -> Iterator[pa.RecordBatch]:
        """Batches of at most so many rows, fewer where rows are wide, in the order of the file.

        Raises
        ------
        FileReadError
            Where there is no such column, the file cannot be read, or has changed since it was opened.
        """
        chosen, most = self._chosen(columns), check_count("batches", "rows", rows)
        if self.fingerprint() != self._opened:
            raise FileReadError(
                f"{self.path} has changed since it was opened: what was learned about its columns may be wrong now. "
                "Wait until it is complete, and open it again."
            )
        return rebatch(self._stream(chosen, most), most)

    def read(self, *, columns: Sequence[str] | None = None) -> pa.Table:
        """The whole table in memory."""
        import pyarrow as pa

        batches = list(self.batches(columns=columns))
        return pa.Table.from_batches(batches, schema=self.schema(columns))

    def fingerprint(self) -> tuple[tuple[int, ...], ...]:
        """Size, time of change and identity of each part now."""
        try:
            states = [os.stat(file) for file in self.where.files]
        except FileNotFoundError as error:
            raise FileReadError(f"{error.filename} is gone: it was there when it was opened. Restore it.") from error
        return tuple((state.st_size, state.st_mtime_ns, state.st_ino) for state in states)

    def _chosen(self, columns: Sequence[str] | None) -> tuple[str, ...]:
        chosen = self.columns if columns is None else tuple(columns)
        for name in chosen:
            if name not in self.columns:
                raise FileReadError(f"{self.path} has no column {name!r}.{did_you_mean(name, self.columns)}")
        return chosen


def rebatch(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of ``rows``, the last one shorter; fewer where that would be much memory."""
    kept: list[pa.RecordBatch] = []
    n_kept = n_bytes = 0
    for batch in batches:
        start = 0
        while start < batch.num_rows:
            piece = batch.slice(start, rows - n_kept)
            start += piece.num_rows
            kept.append(piece)
            n_kept, n_bytes = n_kept + piece.num_rows, n_bytes + piece.nbytes
            if n_kept == rows or n_bytes >= MOST_BYTES:
                yield _together(kept)
                kept, n_kept, n_bytes = [], 0, 0
    if kept:
        yield _together(kept)


def _together(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """One batch; categories of each become those of all."""
    import pyarrow as pa

    if len(batches) == 1:
        return batches[0]
    return pa.Table.from_batches(batches).unify_dictionaries().combine_chunks().to_batches()[0]
