# SPDX-License-Identifier: BSD-3-Clause
"""Row groups of Parquet: how many rows each has, which may have a row that counts, and how readers share them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from separatrix.files import FORMATS, TableFile, reading_group

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["group_rows", "possible_groups", "spans_of_groups"]

SHARE_ROWS = 2**20  # of a part of a Parquet file, at least: fewer are not worth another reading of its footer


def group_rows(table: TableFile) -> tuple[int, ...] | None:
    """Rows of each row group; None where they cannot be read one by one: another format, packed, or without names."""
    if table.format != "parquet" or table.path.suffix not in FORMATS["parquet"]:
        return None
    import pyarrow.parquet as pq

    with pq.ParquetFile(table.path) as opened:
        metadata = opened.metadata
        if tuple(opened.schema_arrow.names) != table.columns:
            return None
        return tuple(metadata.row_group(group).num_rows for group in range(metadata.num_row_groups))


def possible_groups(path: Path, n_groups: int, implied: Any, schema: pa.Schema | None) -> tuple[int, ...]:
    """Row groups whose statistics do not exclude what a condition implies (None: nothing) on columns of these types."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    every = tuple(range(n_groups))
    if implied is None or schema is None:
        return every
    with reading_group(path):
        (fragment,) = ds.dataset(path, format="parquet").get_fragments()
        stored = fragment.physical_schema
    if any(stored.field(column.name).type != column.type for column in schema):
        return every  # the condition is on what the values are widened to
    try:
        return tuple(group.id for group in fragment.subset(implied).row_groups)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        return every  # who evaluates the condition on the rows says what is wrong with it


def spans_of_groups(rows: Sequence[int], groups: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The row groups in spans, each worth a visit; ``rows`` are those of every group of the file."""
    span: list[int] = []
    for group in groups:
        span.append(group)
        if sum(rows[each] for each in span) >= SHARE_ROWS:
            yield tuple(span)
            span = []
    if span or not groups:
        yield tuple(span)
