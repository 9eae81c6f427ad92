# SPDX-License-Identifier: BSD-3-Clause
"""Several files as one table. All files must have the same columns; a column has one type, which fits all files.

Several workers can read one Parquet file, each its own row groups.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from glob import has_magic
from pathlib import Path
from typing import Any

import numpy as np

from separatrix._lazy import pa, pq
from separatrix.files.columnar import read_groups, require_same_columns, unify_types
from separatrix.files.location import STANDARD, FileReadError, expand
from separatrix.files.open import open_table
from separatrix.files.table import TableFile
from separatrix.files.where import Condition, SqlCondition
from separatrix.rows import ArrowRows, LabelCounts, tally_labels
from separatrix.table import Kind, join

PART_ROWS = 2**20  # rows of a part of a Parquet file; reading each part reads the footer again


@dataclass(eq=False)
class FilePart(ArrowRows):
    """One file, or some row groups of a Parquet file.

    ``types`` has the Arrow type of each column that is read, common to all files. ``stamp`` is the fingerprint of the
    file when it was opened; it is compared before and after each pass. The open ``table`` is sent to workers if it is
    small: they need not find encoding, dialect and types again.
    """

    path: str
    stamp: Any
    types: Mapping[str, Any]
    where: Condition | None = None
    groups: tuple[int, ...] | None = None
    known_rows: int | None = None
    table: TableFile | None = field(default=None, repr=False)
    may_be_empty = True

    def __post_init__(self) -> None:
        self.title, self.columns = self.path, tuple(self.types)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "table": self.table if self.table is not None and self.table.travels else None}

    def schema(self, columns: Sequence[str]) -> pa.Schema:
        return pa.schema([(name, self.types[name]) for name in columns])

    def batches(self, columns: tuple[str, ...], rows: int) -> Iterator[pa.RecordBatch]:
        """Read the file; raises `FileReadError` if it cannot be read, or has changed since it was opened."""
        table = self.table or open_table(self.path, types=self.types)
        table.where.require_unchanged(self.stamp)
        where = self.where
        used = () if where is None else where.columns
        # DuckDB orders NaN above every number, but the statistics of row groups ignore NaN. With a condition on
        # floating-point columns, it would skip row groups that contain matching rows.
        may_skip = self.groups is None and not any(pa.types.is_floating(self.types[name]) for name in used)
        if isinstance(where, SqlCondition) and may_skip and table.is_plain:
            batches = self._cast(where.read_parquet(self.path, columns, rows), columns)
        else:
            wanted = tuple(dict.fromkeys([*columns, *used]))
            read = table.stream(wanted, rows)
            if self.groups is not None:
                read = read_groups(Path(self.path), wanted, rows, groups=self.groups)
            batches = self._cast(read, wanted) if where is None else where.keep(self._cast(read, wanted))
        for batch in batches:
            yield batch if batch.num_columns == len(columns) else batch.select(list(columns))
        table.where.require_unchanged(self.stamp)

    def _cast(self, batches: Iterator[pa.RecordBatch], columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        schema = self.schema(columns)
        for batch in batches:
            if batch.schema.equals(schema):
                yield batch
            else:  # safe=False: integers beyond 2**53 are rounded, as in NumPy
                arrays = [batch.column(f.name).cast(f.type, safe=not pa.types.is_floating(f.type)) for f in schema]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)


class FileRows(ArrowRows):
    """A table in one or several files. ``target`` is the column of labels, if there is one."""

    target: str | None = None
    where: Condition | None = None

    def __init__(self, paths: Sequence[str], tables: Sequence[TableFile]) -> None:
        self._paths, self._tables = paths, tables
        self._types: dict[str, pa.DataType] = {}  # types inferred so far; inferring them may take a pass over text
        self.columns = tables[0].columns
        self.title = paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
        self._count_rows()

    def _count_rows(self) -> None:
        counts = [table.n_rows for table in self._tables]
        self.known_rows = None if self.where is not None or None in counts else sum(n or 0 for n in counts)

    def label_counts(self, target: str, clean: Callable[[pa.Array], pa.Array] | None = None) -> LabelCounts | None:
        """Labels that the pass over the text counted when it inferred the type of the target."""
        found, n_rows = LabelCounts(), 0
        for table in self._tables:
            tally = table.value_counts() if table.target == target else None
            if tally is None or not table.n_rows or self.where is not None:
                return None
            labels, counts, rows = tally
            labels = labels if clean is None else clean(labels)
            found, n_rows = found + tally_labels(labels, counts, rows + n_rows, target), n_rows + table.n_rows
        return found

    def place(self, row: int) -> str:
        """Row of a file, counted from 1, and its line in a text file."""
        if self.where is not None or self.known_rows is None:
            return super().place(row)
        file = 0
        while row >= (n_rows := self._tables[file].n_rows or 0):
            file, row = file + 1, row - n_rows
        of = f" of {self._paths[file]}" if len(self._paths) > 1 else ""
        return f"row {row + 1:,}{of}{self._tables[file].line(row)}"

    def schema(self, columns: Sequence[str]) -> pa.Schema:
        """Types of the columns, the same in every batch of every file."""
        used = () if self.where is None else self.where.columns
        unknown = [name for name in dict.fromkeys([*columns, *used]) if name not in self._types]
        if unknown:
            for table in self._tables:
                table.target = self.target
                table.schema(unknown)  # infers the kinds of columns of text
            untyped = [table for table in self._tables if table.kinds]
            for name in unknown:
                # Use the kind of the column if all files were one table. Decimal marks may differ between files.
                found = (Kind.NUMBER if table.kinds[name] is Kind.COMMA else table.kinds[name] for table in untyped)
                kind = reduce(join, found, Kind.NOTHING)
                for table in untyped:
                    table.kinds[name] = table.kinds[name] if table.kinds[name].type == kind.type else kind
            schemas = {
                path: pa.schema([(field.name, _common_type(field.type)) for field in table.schema(unknown)])
                for path, table in zip(self._paths, self._tables, strict=True)
            }
            common = unify_types(schemas)
            self._types.update(zip(common.names, common.types, strict=True))
            if self.known_rows is None:
                self._count_rows()  # a pass over text that inferred types has counted the rows
        return pa.schema([(name, self._types[name]) for name in columns])

    def batches(self, columns: tuple[str, ...], rows: int) -> Iterator[pa.RecordBatch]:
        for part in self._parts(columns):
            yield from part.batches(columns, rows)

    def parts(self, columns: tuple[str, ...]) -> tuple[ArrowRows, ...]:
        """Split the table into files, and Parquet files into row groups of about `PART_ROWS` rows together."""
        found: list[ArrowRows] = []
        for part, table in zip(self._parts(columns), self._tables, strict=True):
            if not table.is_plain or not table.n_rows:
                found.append(part)
                continue
            metadata = pq.read_metadata(table.path)
            n_rows = np.array([metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)])
            part_of_group = (np.cumsum(n_rows) - n_rows) // PART_ROWS
            for number in np.unique(part_of_group):
                groups = np.flatnonzero(part_of_group == number)
                known = None if self.where else int(n_rows[groups].sum())
                found.append(replace(part, groups=tuple(groups.tolist()), known_rows=known))
        return tuple(found)

    def _parts(self, columns: tuple[str, ...]) -> list[FilePart]:
        used = () if self.where is None else self.where.columns
        schema = self.schema(tuple(dict.fromkeys([*columns, *used])))
        types = dict(zip(schema.names, schema.types, strict=True))
        return [
            FilePart(path, table.fingerprint, types, self.where, None, None if self.where else table.n_rows, table)
            for path, table in zip(self._paths, self._tables, strict=True)
        ]


def open_files(source: Any, types: Mapping[str, Any] | None) -> FileRows:
    """Open a path, a pattern, a folder of Parquet files, or a list of paths, as one table."""
    given = [source] if isinstance(source, str | os.PathLike) else list(source)
    if not given:
        raise FileReadError("There are no files to scan: the list of paths is empty.")
    paths: list[str] = []
    for path in [os.fspath(one) for one in given]:
        is_file = path == STANDARD or os.path.isfile(path) or not (os.path.isdir(path) or has_magic(path))
        paths += [path] if is_file else map(str, expand(path))  # for a missing file, open_table raises
    tables = [open_table(path, types=types) for path in paths]
    require_same_columns({path: table.columns for path, table in zip(paths, tables, strict=True)})
    return FileRows(paths, tables)


def _common_type(kind: pa.DataType) -> pa.DataType:
    """Type that is the same in all files: dictionaries differ between files."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind
