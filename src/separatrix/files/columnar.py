# SPDX-License-Identifier: BSD-3-Clause
"""Parquet files, one or many that form a table; Arrow files and streams, including Feather."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from separatrix.files.dialect import name_columns
from separatrix.files.location import FileReadError, Location, unpacked
from separatrix.files.table import TableFile

if TYPE_CHECKING:
    import pyarrow as pa


class ParquetTable(TableFile):
    """One Parquet file, or several with the same columns; types are widened to a common type."""

    def __init__(self, where: Location, types: Mapping[str, Any]) -> None:
        super().__init__(where)
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._files = where.parts or (unpacked(where, self),)
        schemas, self.n_rows = [], 0
        for file in self._files:
            with reading_group(self._name(file)), pq.ParquetFile(file) as opened:
                schemas.append(opened.schema_arrow.remove_metadata())
                self.n_rows += opened.metadata.num_rows
        self.columns, notes = name_columns(schemas[0].names, self._name(self._files[0]))
        self._notes += notes
        for file, schema in zip(self._files, schemas, strict=True):
            odd = set(self.columns) ^ set(schema.names)
            if odd:
                name = sorted(odd)[0]
                have, lack = (file, self._files[0]) if name in schema.names else (self._files[0], file)
                raise FileReadError(
                    f"Column {name!r} is in {have} but not in {lack}. Use parts with the same columns, or fewer parts."
                )
        try:
            self.types = pa.unify_schemas(schemas, promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise FileReadError(f"The parts of {self.path} have columns of different types: {error}.") from error
        if any("=" in file.parent.name for file in where.parts):
            self._notes.append("Folders named column=value contain parts of the table; those columns were not read.")

    def _name(self, file: Path) -> Path:
        """Name of a part for messages, instead of a temporary decompressed file."""
        return file if self.where.parts else self.path

    def _stream(self, columns: tuple[str, ...], rows: int) -> Iterator[pa.RecordBatch]:
        schema = self.schema(columns)
        for file in self._files:
            for batch in read_groups(file, columns, rows, called=self._name(file)):
                yield batch.cast(schema)


def read_groups(
    file: Path, columns: tuple[str, ...], rows: int, *, groups: Sequence[int] | None = None, called: Path | None = None
) -> Iterator[pa.RecordBatch]:
    """Read batches of some row groups of one file, or of all; messages name the file ``called``."""
    import pyarrow.parquet as pq

    name = called or file
    with reading_group(name), pq.ParquetFile(file) as opened:
        for group in range(opened.metadata.num_row_groups) if groups is None else groups:
            with reading_group(name, group):
                for batch in opened.iter_batches(rows, row_groups=[group], columns=list(columns)):
                    yield batch.select(list(columns))


@contextmanager
def reading_group(file: Path, group: int | None = None) -> Iterator[None]:
    """Convert errors of Arrow to a FileReadError that names the file and the row group."""
    import pyarrow as pa

    try:
        yield
    except FileReadError:
        raise
    except (pa.ArrowException, OSError) as error:
        place = "" if group is None else f" in row group {group}"
        raise FileReadError(
            f"{file} is damaged{place}, or not a Parquet file ({error}). Write, copy or download it again."
        ) from error


class ArrowFile(TableFile):
    """A file or a stream of record batches, distinguished by the first bytes."""

    def __init__(self, where: Location, types: Mapping[str, Any]) -> None:
        super().__init__(where)
        from pyarrow.dataset import dataset

        self._file = unpacked(where, self)
        with self._file.open("rb") as file:
            head = file.read(6)
        if head[:4] == b"FEA1":
            raise FileReadError(
                f"{self.path} is a Feather file of version 1, which is obsolete. Read it with "
                "pyarrow.feather.read_table, and write it again."
            )
        self._is_stream = head != b"ARROW1"
        with self._opened_file() as reader:
            self.types = reader.schema.remove_metadata()
            if not self._is_stream:
                self.n_rows = int(dataset(str(self._file), format="ipc").count_rows())
        self.columns, notes = name_columns(self.types.names, self.path)
        self._notes += notes

    @contextmanager
    def _opened_file(self) -> Iterator[Any]:
        import pyarrow as pa

        try:
            with pa.memory_map(str(self._file)) as mapped:
                yield pa.ipc.open_stream(mapped) if self._is_stream else pa.ipc.open_file(mapped)
        except FileReadError:
            raise
        except (pa.ArrowException, OSError, ValueError) as error:
            raise FileReadError(
                f"{self.path} is damaged or not an Arrow file ({error}). Write, copy or download it again."
            ) from error

    def _stream(self, columns: tuple[str, ...], rows: int) -> Iterator[pa.RecordBatch]:
        schema = self.schema(columns)
        with self._opened_file() as reader:
            batches = reader if self._is_stream else map(reader.get_batch, range(reader.num_record_batches))
            for batch in batches:
                yield batch.select(list(columns)).cast(schema)
