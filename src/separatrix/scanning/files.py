# SPDX-License-Identifier: BSD-3-Clause
"""Files as one table: each read in turn, all with the same columns, types widened to what they have in common.

Parquet files come apart at their row groups, so that several machines can share one file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from glob import glob, has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from separatrix._text import did_you_mean
from separatrix.files import STANDARD, FileReadError, TableFile, find, open_table, read_groups
from separatrix.scanning.batches import batch_rows
from separatrix.scanning.groups import group_rows, possible_groups, spans_of_groups
from separatrix.scanning.part import Part
from separatrix.scanning.stamp import FileStamp
from separatrix.scanning.where import Condition

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FilePart", "FileRows", "open_files"]


@dataclass(frozen=True, eq=False)
class FilePart:
    """A file, or some row groups of a Parquet file.

    Attributes
    ----------
    path : str
        Of the file; ``shop.db::orders`` names the table too.
    columns : tuple of str
        Of every batch.
    types : mapping
        The Arrow type of each column that is read: widened to what all files have in common.
    stamp : FileStamp, optional
        What the file was when it was opened; it is looked at before and after each reading.
    where : Condition, optional
        Which rows count.
    groups : tuple of int, optional
        Row groups of a Parquet file: those that may have a row that counts.
    n_rows : int, optional
        Where known.
    table : TableFile, optional
        The open file, which stays behind when the part is sent elsewhere.
    """

    path: str
    columns: tuple[str, ...]
    types: Mapping[str, pa.DataType]
    stamp: FileStamp | None = None
    where: Condition | None = None
    groups: tuple[int, ...] | None = None
    n_rows: int | None = None
    table: TableFile | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Without the open file."""
        return {**vars(self), "table": None}

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, in the order of the file.

        Raises
        ------
        FileReadError
            Where the file cannot be read, or has changed.
        """
        import pyarrow as pa

        self._require_same()
        wanted = tuple(self.types)
        schema = pa.schema(list(self.types.items()))
        batches = (self._cast(batch, schema) for batch in self._read(wanted))
        for batch in batches if self.where is None else self.where.keep(batches):
            yield batch.select(list(self.columns))
        self._require_same()

    def _cast(self, batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
        import pyarrow as pa

        if batch.schema.equals(schema):
            return batch
        columns = [_as_type(batch.column(f.name), f, self.path) for f in schema]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def _require_same(self) -> None:
        if self.stamp is not None:
            self.stamp.require()

    def _read(self, wanted: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        rows = batch_rows(len(wanted))
        if self.groups is not None:
            return read_groups(Path(self.path), wanted, rows, groups=self.groups)
        table = self.table or open_table(self.path, types=self.types)
        return table.batches(columns=wanted, rows=rows)


class OpenFile(NamedTuple):
    """A file that was opened: what it was then, and the rows of its row groups where it has some that can be read."""

    path: str
    table: TableFile
    stamp: FileStamp | None
    groups: tuple[int, ...] | None

    def possible(self, implied: Any, wanted: pa.Schema | None) -> tuple[int, ...] | None:
        """The row groups that may have a row that counts; None of a file that has no groups."""
        if self.groups is None:
            return None
        if self.stamp is not None:
            self.stamp.require()  # statistics of another file tell nothing of this one
        return possible_groups(self.table.path, len(self.groups), implied, wanted)


@dataclass(frozen=True, eq=False)
class FileRows:
    """One table in one file or many; ``types`` are those found so far, as finding them may take a pass over text."""

    files: tuple[OpenFile, ...]
    where: Condition | None = None
    types: dict[str, pa.DataType] = field(default_factory=dict)
    reads_ahead: bool = True
    may_change: bool = False  # their stamps would tell

    @property
    def title(self) -> str:
        """For messages."""
        first = self.files[0].path
        return first if len(self.files) == 1 else f"{first} and {len(self.files) - 1} more"

    @property
    def columns(self) -> tuple[str, ...]:
        """In the order of the first file."""
        return self.files[0].table.columns

    @property
    def n_rows(self) -> int | None:
        """Where every file says so, and all of its rows count."""
        counts = [file.table.n_rows for file in self.files]
        return None if self.where is not None or None in counts else sum(n or 0 for n in counts)

    def schema(self, columns: Sequence[str]) -> pa.Schema:
        """The types of the columns, the same in every batch of every file.

        Raises
        ------
        FileReadError
            Naming the column, the files and both types, where they cannot be made the same.
        """
        import pyarrow as pa

        unknown = [name for name in columns if name not in self.types]
        if unknown:
            schemas = [(file.path, file.table.schema(unknown)) for file in self.files]
            self.types.update({name: _common_type(name, schemas) for name in unknown})
        return pa.schema([(name, self.types[name]) for name in columns])

    def parts(self, columns: Sequence[str]) -> tuple[Part, ...]:
        """A part for each file."""
        return tuple(self._part(file, columns, groups) for file, groups in zip(self.files, self._groups, strict=True))

    def shares(self, columns: Sequence[str]) -> tuple[Part, ...]:
        """Parts for several readers: files, and spans of row groups of Parquet files."""
        return tuple(
            self._part(file, columns, span)
            for file, groups in zip(self.files, self._groups, strict=True)
            for span in ([None] if groups is None or file.groups is None else spans_of_groups(file.groups, groups))
        )

    @cached_property
    def _groups(self) -> tuple[tuple[int, ...] | None, ...]:
        """Of each file the row groups that may have a row that counts; None of one that has no groups."""
        wanted = None if self.where is None else self.schema(self.where.columns)
        implied = None if self.where is None or wanted is None else self.where.implies(wanted)
        return tuple(file.possible(implied, wanted) for file in self.files)

    def _part(self, file: OpenFile, columns: Sequence[str], groups: tuple[int, ...] | None) -> FilePart:
        names = list(dict.fromkeys([*columns, *(self.where.columns if self.where else ())]))
        schema = self.schema(names)
        n_rows = file.table.n_rows if groups is None or file.groups is None else sum(file.groups[i] for i in groups)
        return FilePart(
            path=file.path,
            columns=tuple(columns),
            types=dict(zip(names, schema.types, strict=True)),
            stamp=file.stamp,
            where=self.where,
            groups=groups,
            n_rows=n_rows if self.where is None else None,
            table=file.table,
        )


def open_files(source: Any, types: Mapping[str, Any] | None) -> FileRows:
    """Open a path, a pattern, a folder of Parquet files, or a list of paths, as one table.

    Raises
    ------
    FileReadError
        Where there is no such file, it cannot be read, or files have different columns.
    """
    given = [source] if isinstance(source, str | os.PathLike) else list(source)
    if not given:
        raise FileReadError("There are no files to scan: the list of paths is empty.")
    files = tuple(_opened(path, types) for one in given for path in _expanded(os.fspath(one)))
    for file in files:
        _require_same_columns(files[0], file)
    return FileRows(files)


def _opened(path: str, types: Mapping[str, Any] | None) -> OpenFile:
    table = open_table(path, types=types)
    stamp = None if path == STANDARD else FileStamp.of(str(table.path))
    return OpenFile(path, table, stamp, group_rows(table))


def _expanded(path: str) -> tuple[str, ...]:
    if path == STANDARD or os.path.isfile(path):
        return (path,)
    if os.path.isdir(path):
        return tuple(map(str, find(path).parts))
    if not has_magic(path):
        return (path,)  # a file that is not there, or a table of a database: opening it says which
    found = sorted(name for name in glob(os.path.expanduser(path), recursive=True) if os.path.isfile(name))
    if not found:
        raise FileReadError(f"No file matches {path}. Look at where you are: {Path.cwd()}.")
    return tuple(found)


def _require_same_columns(first: OpenFile, other: OpenFile) -> None:
    for have, lack in ((first, other), (other, first)):
        odd = [name for name in have.table.columns if name not in lack.table.columns]
        if odd:
            near = did_you_mean(odd[0], lack.table.columns)
            raise FileReadError(
                f"Column {odd[0]!r} is in {have.path} but not in {lack.path}.{near} Give every file the same columns, "
                "or scan fewer files."
            )


def _common_type(name: str, schemas: list[tuple[str, pa.Schema]]) -> pa.DataType:
    """The type that holds the values of every file."""
    import pyarrow as pa

    first, common = "", pa.null()
    for path, schema in schemas:
        kind = _plain_type(schema.field(name).type)
        try:
            both = [pa.schema([(name, common)]), pa.schema([(name, kind)])]
            widened = pa.unify_schemas(both, promote_options="permissive").field(0).type
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise FileReadError(
                f"Column {name!r} is of type {common} in {first} and of type {kind} in {path}. Write it as one type in "
                f"every file, leave it out with columns=, or for CSV say what it is: types={{{name!r}: ...}}."
            ) from error
        first, common = (path, widened) if widened != common else (first, common)
    return common


def _as_type(column: pa.Array, wanted: pa.Field, path: str) -> pa.Array:
    """Of the type that all files have in common; whole numbers beyond 2**53 are rounded, as NumPy rounds them."""
    import pyarrow as pa

    try:
        return column.cast(wanted.type, safe=not pa.types.is_floating(wanted.type))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise FileReadError(
            f"Column {wanted.name!r} of {path} is of type {column.type}, and does not fit {wanted.type}, the type of "
            f"all files: {error}. Write it as one type in every file, or leave it out with columns=."
        ) from error


def _plain_type(kind: pa.DataType) -> pa.DataType:
    """The type of the values: files may keep different dictionaries of the same ones."""
    import pyarrow as pa

    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.large_string() if pa.types.is_string_view(kind) else kind
