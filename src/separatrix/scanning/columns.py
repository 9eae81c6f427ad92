# SPDX-License-Identifier: BSD-3-Clause
"""Columns beside the rows: weights, checked as they come, and columns small enough to be kept in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from separatrix._array import Array, Float
from separatrix.exceptions import DataError
from separatrix.rows import Progress
from separatrix.scanning.batches import WHOLE
from separatrix.scanning.labels import plain
from separatrix.scanning.matrix import is_number, numbers
from separatrix.scanning.part import Piece
from separatrix.scanning.passes import Passes

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["column_in_memory", "weights_of"]


def weights_of(column: pa.Array, row: int, name: str) -> Float:
    """The weights of some rows, the first of which has number ``row``.

    Raises
    ------
    DataError
        Naming the row, where a weight is missing, infinite, negative or no number.
    """
    if not is_number(column.type):
        raise DataError(f"The weights in column {name!r} are of type {column.type}; they must be numbers.")
    weight = numbers(column).astype(np.float64, copy=False)
    with np.errstate(invalid="ignore"):
        wrong = np.flatnonzero(~((weight >= 0) & (weight < np.inf)))
    if len(wrong):
        raise DataError(
            f"The weight in column {name!r} is {weight[wrong[0]]:g} in row {row + wrong[0]}; weights must be finite "
            "and not negative. Use 0 to leave a row out."
        )
    return np.asarray(weight)


def column_in_memory(passes: Passes, name: str) -> Array:
    """All values of a column, in the order of the rows: numbers with NaN for gaps, or words with None."""

    def consume(pieces: Iterator[Piece], progress: Progress) -> Array:
        values = []
        for piece in pieces:
            values.append(_values(plain(piece.batch.column(name))))
            progress.advance(piece.batch.num_rows)
        return np.concatenate(values)

    return passes.run(consume, WHOLE)


def _values(column: pa.Array) -> Array:
    import pyarrow as pa

    if pa.types.is_boolean(column.type) and not column.null_count:
        return np.asarray(column.to_numpy(zero_copy_only=False))
    if is_number(column.type):
        return np.array(numbers(column))  # a copy: the batch it may lie in is not kept
    coded = column.dictionary_encode()
    words = np.array([*coded.dictionary.to_pylist(), None], dtype=object)
    return np.asarray(words[coded.indices.fill_null(len(words) - 1).to_numpy(zero_copy_only=False)])
