# SPDX-License-Identifier: BSD-3-Clause
"""Dask's arrays and dataframes as lists of partitions: one lazy table for each, whole rows, in order.

Only what Dask documents is used, and nothing is computed here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._array import Array
from separatrix.exceptions import DataError
from separatrix.rows.dask.graph import arrays, compute, frames, task

__all__ = ["Collection", "is_dask", "open_table", "open_vector"]


def is_dask(X: Any) -> bool:
    """Whether X is one of Dask's collections; asking does not import Dask."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


@dataclass(frozen=True, eq=False)
class Collection:
    """Partitions as `dask.delayed` values; their lengths, None where Dask does not know them yet.

    ``likeness`` has the columns of the whole and no rows.
    """

    parts: tuple[Any, ...]
    lengths: tuple[int, ...] | None
    likeness: Any

    def measured(self) -> tuple[int, ...]:
        """The lengths; where Dask does not know them, a task looks at each partition."""
        if self.lengths is not None:
            return self.lengths
        return compute(*map(task(_n_rows), self.parts))


def open_table(X: Any) -> Collection:
    """The rows of an array of two dimensions or of a dataframe."""
    if isinstance(X, arrays().Array):
        return _open_array(X)
    dd = frames()
    if isinstance(X, dd.Series):
        raise DataError("X is a single column (a Dask Series); give a table: X.to_frame().")
    if not isinstance(X, dd.DataFrame):
        raise DataError(
            f"X is a Dask {type(X).__name__}, which has no columns. Give a Dask array or dataframe, for example "
            "bag.to_dataframe() or dask.array.from_delayed(...)."
        )
    return _open_frame(X)


def open_vector(y: Any, name: str) -> Collection:
    """Labels or weights: one value for each row, or a table of one column or several."""
    if isinstance(y, arrays().Array):
        if y.ndim not in (1, 2):
            raise DataError(f"{name} is a Dask array of {y.ndim} dimensions; give one value for each row of X.")
        return _chunks(y, np.empty((0, *y.shape[1:]), y.dtype))
    dd = frames()
    if not isinstance(y, dd.Series | dd.DataFrame):
        raise DataError(f"{name} is a Dask {type(y).__name__}; give a Dask array or series, aligned with X.")
    return Collection(tuple(y.to_delayed()), None, _no_rows(y) if isinstance(y, dd.DataFrame) else np.empty(0))


def _open_array(X: Any) -> Collection:
    if X.ndim != 2:
        raise DataError(
            f"X is a Dask array of {X.ndim} dimension{'s' * (X.ndim != 1)}; rows and columns are expected. "
            "Reshape it: one column is X.reshape(-1, 1)."
        )
    if np.isnan(X.shape[1]):
        raise DataError("X is a Dask array whose number of columns is not known. Call X.compute_chunk_sizes() first.")
    _require_columns(X.shape[1])
    if X.dtype.kind not in "biufO":
        raise DataError(f"X is a Dask array of {X.dtype}; numbers are expected. Convert it: X.astype(float).")
    return _chunks(X, np.empty((0, X.shape[1]), X.dtype))


def _chunks(X: Any, likeness: Array) -> Collection:
    """One partition for each chunk of rows; a row that is cut into pieces is put together by the worker it goes to."""
    X = X.rechunk({1: -1}) if X.ndim == 2 and X.numblocks[1] > 1 else X
    lengths = None if np.isnan(X.chunks[0]).any() else tuple(map(int, X.chunks[0]))
    return Collection(tuple(X.to_delayed().reshape(-1)), lengths, likeness)


def _open_frame(X: Any) -> Collection:
    from pandas.api.types import is_numeric_dtype

    _require_columns(len(X.columns))
    wrong = [f"{name!r} ({kind})" for name, kind in X.dtypes.items() if not is_numeric_dtype(kind)]
    if wrong:
        raise DataError(
            f"Columns that are not numbers: {', '.join(wrong[:8])}{', ...' if len(wrong) > 8 else ''}. Encode them "
            "(dask.dataframe.get_dummies after .categorize()), or drop them before fitting. TableClassifier encodes "
            "files as workers read them: scan('*.parquet', target=..., client=...)."
        )
    return Collection(tuple(X.to_delayed()), None, _no_rows(X))


def _no_rows(X: Any) -> Any:
    import pandas as pd

    return pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in X.dtypes.items()})


def _require_columns(n_columns: int) -> None:
    if n_columns == 0:
        raise DataError("Found a table with 0 feature(s) while a minimum of 1 is required.")


def _n_rows(table: Any) -> int:
    return int(table.shape[0])
