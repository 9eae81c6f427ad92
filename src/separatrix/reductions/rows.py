# SPDX-License-Identifier: BSD-3-Clause
"""Some rows of a table of any kind, in the kind it came in: nothing is converted, nothing made dense."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw

from separatrix._array import Codes
from separatrix.exceptions import DataError
from separatrix.rows import is_dask

__all__ = ["take_rows"]


def take_rows(X: Any, rows: Codes) -> Any:
    """Rows of an array, CSR matrix, data frame, Arrow table or list, by number and in that order."""
    if is_dask(X) and not isinstance(X.shape[0], int):
        raise DataError(
            "Rows are wanted by number, and this Dask collection does not know how many it has. Give an array that "
            "does: X.to_dask_array(lengths=True), or X.compute_chunk_sizes(). OneVsRest takes any."
        )
    if _is_frame(X):
        return nw.from_native(X, eager_only=True, allow_series=True)[rows].to_native()
    return [X[n] for n in rows] if isinstance(X, Sequence) else X[rows]


def _is_frame(X: Any) -> bool:
    return bool(nw.dependencies.is_into_dataframe(X) or nw.dependencies.is_into_series(X))
