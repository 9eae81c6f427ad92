# SPDX-License-Identifier: BSD-3-Clause
"""Columns of Arrow become a matrix of rows: the one copy that every pass over a file makes.

Columns lie one after another, rows of a block side by side, so the copy is a transposition. It is made for as many
rows at a time as the second-level cache keeps while one column after another is dealt out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import DTypeLike

from separatrix._array import Array, working_dtype

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["is_number", "numbers", "precision", "to_matrix"]

PIECE_BYTES = 2**21  # of the matrix, dealt out at a time


def is_number(kind: pa.DataType) -> bool:
    """Whether a column of this type can be read as numbers as it is; true and false are 1 and 0."""
    import pyarrow as pa

    types = pa.types
    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_decimal(kind)
        or types.is_null(kind)
    )


def precision(kinds: Iterable[pa.DataType]) -> np.dtype[np.floating]:
    """Of the matrix: float32 where every column is, as for tables in memory; float64 otherwise."""
    import pyarrow as pa

    single = [pa.types.is_float32(kind) or pa.types.is_float16(kind) for kind in kinds]
    return working_dtype(np.float32 if single and all(single) else np.float64)


def numbers(column: pa.Array) -> Array:
    """One column as an array of numbers, without a copy where it has no gaps; a gap is NaN."""
    import pyarrow as pa

    if pa.types.is_floating(column.type) or (pa.types.is_integer(column.type) and not column.null_count):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False))


def to_matrix(columns: list[pa.Array], n_rows: int, dtype: DTypeLike) -> Array:
    """The columns side by side, (n, D), row after row in memory."""
    X = np.empty((n_rows, len(columns)), dtype)
    rows = max(1, PIECE_BYTES // max(X.itemsize * len(columns), 1))
    values = [numbers(column) for column in columns]
    for start in range(0, n_rows, rows):
        piece = X[start : start + rows]
        for d, column in enumerate(values):
            piece[:, d] = column[start : start + rows]
    return X
