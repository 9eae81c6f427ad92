# SPDX-License-Identifier: BSD-3-Clause
"""Arrow's own files and streams, Feather among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from separatrix.files.dialect import name_columns
from separatrix.files.errors import FileReadError
from separatrix.files.packing import unpacked
from separatrix.files.table import AbstractTable

if TYPE_CHECKING:
    import pyarrow as pa

    from separatrix.files.location import Location

__all__ = ["ArrowFile"]


class ArrowFile(AbstractTable):
    """A file or a stream of record batches, told apart by how it begins."""

    def __init__(self, where: Location, types: Mapping[str, Any]) -> None:
        del types  # the file has its own
        super().__init__(where)
        from pyarrow.dataset import dataset

        self._file = unpacked(where, self)
        with self._file.open("rb") as file:
            head = file.read(6)
        if head[:4] == b"FEA1":
            raise FileReadError(
                f"{self.path} is a Feather file of version 1, which is no longer written. Read it with "
                "pyarrow.feather.read_table, and write it again."
            )
        self._is_stream = head != b"ARROW1"
        with self._opened_file() as reader:
            self._types = reader.schema.remove_metadata()
            if not self._is_stream:
                self.n_rows = int(dataset(str(self._file), format="ipc").count_rows())
        self.columns, notes = name_columns(self._types.names, self.path)
        self._notes += notes

    @contextmanager
    def _opened_file(self) -> Iterator[Any]:
        import pyarrow as pa

        try:
            with pa.memory_map(str(self._file)) as mapped:
                yield pa.ipc.open_stream(mapped) if self._is_stream else pa.ipc.open_file(mapped)
        except (pa.ArrowException, OSError, ValueError) as error:
            if isinstance(error, FileReadError):
                raise
            raise FileReadError(
                f"{self.path} is damaged, or no Arrow file ({error}). Write, copy or download it again."
            ) from error

    def _schema(self, columns: tuple[str, ...]) -> pa.Schema:
        import pyarrow as pa

        return pa.schema([self._types.field(name).with_nullable(True) for name in columns])

    def _stream(self, columns: tuple[str, ...], rows: int) -> Iterator[pa.RecordBatch]:
        schema = self._schema(columns)
        with self._opened_file() as reader:
            batches = reader if self._is_stream else map(reader.get_batch, range(reader.num_record_batches))
            for batch in batches:
                yield batch.select(list(columns)).cast(schema)
