# SPDX-License-Identifier: BSD-3-Clause
"""Columns of Arrow become a matrix of rows: the one copy that every pass over a file makes.

Columns stay one after another in memory. Dealing them out to rows would take four times as long as laying them side by
side, and products with vectors are as fast on columns.
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
    # Whole numbers beyond 2**53 are rounded, as NumPy rounds them.
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))


def to_matrix(columns: list[pa.Array], n_rows: int, dtype: DTypeLike) -> Array:
    """The columns side by side, (n, D), column after column in memory."""
    X = np.empty((len(columns), n_rows), dtype)
    for d, column in enumerate(columns):
        X[d] = numbers(column)
    return X.T
