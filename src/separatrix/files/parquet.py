# SPDX-License-Identifier: BSD-3-Clause
"""Parquet: a file, or many that make one table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from separatrix.files.dialect import name_columns
from separatrix.files.errors import FileReadError
from separatrix.files.packing import unpacked
from separatrix.files.table import AbstractTable

if TYPE_CHECKING:
    import pyarrow as pa

    from separatrix.files.location import Location

__all__ = ["ParquetTable", "read_groups", "reading_group"]


class ParquetTable(AbstractTable):
    """One Parquet file or several, with the same columns in each; types are widened to what all have in common."""

    def __init__(self, where: Location, types: Mapping[str, Any]) -> None:
        del types  # the file has its own
        super().__init__(where)
        import pyarrow.parquet as pq

        self._files = where.parts or (unpacked(where, self),)
        schemas, self.n_rows = [], 0
        for file in self._files:
            with reading_group(self._called(file)), pq.ParquetFile(file) as opened:
                schemas.append(opened.schema_arrow.remove_metadata())
                self.n_rows += opened.metadata.num_rows
        self.columns, notes = name_columns(schemas[0].names, self._called(self._files[0]))
        self._notes += notes
        self._types = self._unified(schemas)
        if any("=" in file.parent.name for file in where.parts):
            self._notes.append("Folders named like column=value hold parts of a table; those columns were not read.")

    def _called(self, file: Path) -> Path:
        """The name of a part, and not of the temporary file that it was unpacked to."""
        return file if self.where.parts else self.path

    def _unified(self, schemas: list[pa.Schema]) -> pa.Schema:
        import pyarrow as pa

        for file, schema in zip(self._files, schemas, strict=True):
            odd = set(self.columns) ^ set(schema.names)
            if odd:
                name = sorted(odd)[0]
                have, lack = (file, self._files[0]) if name in schema.names else (self._files[0], file)
                raise FileReadError(
                    f"Column {name!r} is in {have} but not in {lack}. Give every part the same columns, or read fewer."
                )
        try:
            return pa.unify_schemas(schemas, promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise FileReadError(f"The parts of {self.path} have columns of different types: {error}.") from error

    def _schema(self, columns: tuple[str, ...]) -> pa.Schema:
        import pyarrow as pa

        return pa.schema([self._types.field(name).with_nullable(True) for name in columns])

    def _stream(self, columns: tuple[str, ...], rows: int) -> Iterator[pa.RecordBatch]:
        schema = self._schema(columns)
        for file in self._files:
            for batch in read_groups(file, columns, rows, called=self._called(file)):
                yield batch.cast(schema)


def read_groups(
    file: Path, columns: tuple[str, ...], rows: int, *, groups: Sequence[int] | None = None, called: Path | None = None
) -> Iterator[pa.RecordBatch]:
    """Batches of some row groups of one file, of all of them where None; errors call the file what the user did."""
    import pyarrow.parquet as pq

    name = called or file
    with reading_group(name), pq.ParquetFile(file) as opened:
        for group in range(opened.metadata.num_row_groups) if groups is None else groups:
            with reading_group(name, group):
                for batch in opened.iter_batches(rows, row_groups=[group], columns=list(columns)):
                    yield batch.select(list(columns))


@contextmanager
def reading_group(file: Path, group: int | None = None) -> Iterator[None]:
    """Name the file, and the part of it, where Arrow finds it damaged."""
    import pyarrow as pa

    try:
        yield
    except FileReadError:
        raise
    except (pa.ArrowException, OSError) as error:
        place = "" if group is None else f" in row group {group}"
        raise FileReadError(
            f"{file} is damaged{place}, or no Parquet file ({error}). Write, copy or download it again."
        ) from error
