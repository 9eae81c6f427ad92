# SPDX-License-Identifier: BSD-3-Clause
"""Some rows of a table of any kind, in the kind it came in: nothing is converted, nothing made dense."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw

from separatrix._array import Codes

__all__ = ["take_rows"]


def take_rows(X: Any, rows: Codes) -> Any:
    """Rows of an array, CSR matrix, data frame, Arrow table or list, by number and in that order."""
    if _is_frame(X):
        return nw.from_native(X, eager_only=True, allow_series=True)[rows].to_native()
    return [X[n] for n in rows] if isinstance(X, Sequence) else X[rows]


def _is_frame(X: Any) -> bool:
    return bool(nw.dependencies.is_into_dataframe(X) or nw.dependencies.is_into_series(X))
