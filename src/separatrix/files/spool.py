# SPDX-License-Identifier: BSD-3-Clause
"""A temporary copy of rows that cannot be read twice in the same way: query results and streams.

A fit reads its rows several times. A database may return other rows the next time, and a stream may not be readable
again. Before the first pass of a fit the rows are copied once to an Arrow file in the folder for temporary files
(`tempfile.gettempdir`, set by TMPDIR): a consistent snapshot, which is faster to read from the second pass on. The file
is removed when the scan is no longer used. A prediction is one pass and needs no copy.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Generator, Iterator
from contextlib import closing
from itertools import chain
from typing import TYPE_CHECKING, Any

from separatrix.exceptions import DataError
from separatrix.rows import ArrowRows, batch_rows

if TYPE_CHECKING:
    import pyarrow as pa

MIN_FREE_BYTES = 2**28  # of the disk, that a copy leaves free


class SpooledRows(ArrowRows):
    """Rows that are read from their origin until a copy is made. Derived classes read the origin."""

    columns: tuple[str, ...]
    _copy: str | None = None
    _copied: tuple[str, ...] = ()

    def read_origin(self, columns: tuple[str, ...], rows: int) -> Generator[pa.RecordBatch]:
        """Read these columns once from the origin."""
        raise NotImplementedError

    def prepare(self, columns: tuple[str, ...]) -> None:
        """Copy these columns, unless a copy has them already."""
        if self._copy is not None and set(columns) <= set(self._copied):
            return
        wanted = tuple(dict.fromkeys([*self._copied, *columns]))
        path = _write_copy(self.read_origin(wanted, batch_rows(len(wanted))), self.schema(wanted), self.title)
        self._copy, self._copied, self.reads_ahead = path, wanted, True
        weakref.finalize(self, _remove, path)

    def __getstate__(self) -> dict[str, Any]:
        if self._copy is None:
            raise DataError(
                f"{self.title} cannot be sent to another process. Leave client= out, or write the rows to Parquet "
                "files and scan those."
            )
        names = ("title", "columns", "known_rows", "reads_ahead", "_copy", "_copied")
        return {name: getattr(self, name) for name in names}

    def batches(self, columns: tuple[str, ...], rows: int) -> Iterator[pa.RecordBatch]:
        """Read the copy if there is one, otherwise the origin."""
        import pyarrow as pa

        if self._copy is None or not set(columns) <= set(self._copied):
            yield from self.read_origin(columns, rows)
            return
        with pa.memory_map(self._copy) as file, pa.ipc.open_stream(file) as reader:
            for batch in reader:
                chosen = batch.select(list(columns))
                for start in range(0, chosen.num_rows, rows):
                    yield chosen.slice(start, rows)


def _write_copy(batches: Generator[pa.RecordBatch], schema: pa.Schema, title: str) -> str:
    import pyarrow as pa

    handle, path = tempfile.mkstemp(prefix="separatrix-", suffix=".arrow")
    os.close(handle)
    try:
        first = next(batches, None)  # a database may learn its types from the rows: the first batch decides
        schema = schema if first is None else first.schema
        with closing(batches), pa.ipc.new_stream(path, schema) as writer:
            for batch in chain([] if first is None else [first], batches):
                if shutil.disk_usage(path).free < batch.nbytes + MIN_FREE_BYTES:
                    raise DataError(
                        f"{title} is copied to {path} for a fit, and the disk is nearly full. Free some space, or set "
                        "TMPDIR to a folder on a larger disk."
                    )
                writer.write_batch(batch.cast(schema))
    except BaseException:
        _remove(path)
        raise
    return path


def _remove(path: str) -> None:
    if os.path.exists(path):
        os.unlink(path)
