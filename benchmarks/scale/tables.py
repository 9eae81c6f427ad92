# SPDX-License-Identifier: BSD-3-Clause
"""Tables of any length, made piece by piece from a seed: in memory, as Parquet files, or on the workers of Dask.

Columns are normal and independent, and labels follow a logistic model with weights of length two. No rule errs on fewer
than a quarter of the rows; none is done early because the classes are separated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["TARGET", "Shape", "make", "make_dask", "make_piece", "partition_sizes", "write_parquet"]

Floats = NDArray[np.float64]
Labels = NDArray[np.int8]

PIECE = 2**18  # rows that are made at a time, and of a row group of Parquet
TARGET = "label"


@dataclass(frozen=True)
class Shape:
    """N rows of M columns; ``seed`` tells one table from another of its size."""

    rows: int
    columns: int
    seed: int = 7

    @property
    def pieces(self) -> list[int]:
        """The rows of each piece."""
        return [min(PIECE, self.rows - start) for start in range(0, self.rows, PIECE)]


def make_piece(shape: Shape, piece: int, rows: int) -> tuple[Floats, Labels]:
    """The same rows wherever and in whatever order they are made."""
    rng = np.random.default_rng([shape.seed, piece])
    direction = np.random.default_rng(shape.seed).standard_normal(shape.columns)
    X = rng.standard_normal((rows, shape.columns))
    p = 1 / (1 + np.exp(-X @ (2 * direction / np.linalg.norm(direction))))
    return X, (rng.random(rows) < p).astype(np.int8)


def make(shape: Shape, sizes: Sequence[int] | None = None) -> tuple[Floats, Labels]:
    """In memory, without a second copy; ``sizes`` are the rows of each piece where they are not the usual ones."""
    X, y = np.empty((shape.rows, shape.columns)), np.empty(shape.rows, np.int8)
    start = 0
    for piece, rows in enumerate(shape.pieces if sizes is None else sizes):
        X[start : start + rows], y[start : start + rows] = make_piece(shape, piece, rows)
        start += rows
    return X, y


def partition_sizes(rows: int, partitions: int) -> list[int]:
    """The rows of each partition, as equal as can be."""
    ends = [rows * (i + 1) // partitions for i in range(partitions)]
    return [end - start for start, end in zip([0, *ends], ends, strict=False)]


def make_dask(shape: Shape, partitions: int) -> tuple[Any, Any]:
    """Dask arrays whose chunks are made by the workers: the rows of ``make(shape, partition_sizes(...))``."""
    dask, da = import_module("dask"), import_module("dask.array")
    sizes = partition_sizes(shape.rows, partitions)
    made = [dask.delayed(make_piece, nout=2)(shape, piece, rows) for piece, rows in enumerate(sizes)]
    X = [da.from_delayed(x, (n, shape.columns), np.float64) for (x, _), n in zip(made, sizes, strict=True)]
    y = [da.from_delayed(t, (n,), np.int8) for (_, t), n in zip(made, sizes, strict=True)]
    return da.concatenate(X), da.concatenate(y)


def write_parquet(shape: Shape, folder: Path, files: int) -> int:
    """Parquet files of about equal length, one piece in memory at a time; returns their bytes.

    Normal numbers neither repeat nor compress: they are stored plain, as most measurements would be.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [f"x{m}" for m in range(shape.columns)]
    schema = pa.schema([(name, pa.float64()) for name in names] + [(TARGET, pa.int8())])
    folder.mkdir(parents=True, exist_ok=True)
    for number, pieces in enumerate(np.array_split(np.arange(len(shape.pieces)), files)):
        path = folder / f"part-{number:03}.parquet"
        with pq.ParquetWriter(path, schema, use_dictionary=[TARGET], compression="snappy") as writer:
            for piece in pieces:
                X, y = make_piece(shape, int(piece), shape.pieces[piece])
                writer.write_batch(pa.record_batch([*X.T.copy(), y], schema=schema), row_group_size=PIECE)
    return sum(path.stat().st_size for path in folder.glob("*.parquet"))
