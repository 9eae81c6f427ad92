# SPDX-License-Identifier: BSD-3-Clause
"""Some rows of a table of any kind, in the kind it came in: nothing is converted, nothing made dense."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw

from separatrix._array import Codes

__all__ = ["readable", "take_rows"]


def readable(X: Any) -> Any:
    """The table itself; an Arrow stream, which may be read but once, as an Arrow table.

    A reduction hands the same rows to many classifiers, the first of which would drain the stream.
    """
    is_stream = "__arrow_c_stream__" in dir(X) and not _is_frame(X)
    return nw.from_arrow(X, backend="pyarrow").to_native() if is_stream else X


def take_rows(X: Any, rows: Codes) -> Any:
    """Rows of an array, CSR matrix, data frame, Arrow table or list, by number and in that order."""
    if _is_frame(X):
        return nw.from_native(X, eager_only=True, allow_series=True)[rows].to_native()
    return [X[n] for n in rows] if isinstance(X, Sequence) else X[rows]


def _is_frame(X: Any) -> bool:
    return bool(nw.dependencies.is_into_dataframe(X) or nw.dependencies.is_into_series(X))
