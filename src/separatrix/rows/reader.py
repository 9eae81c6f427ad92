# SPDX-License-Identifier: BSD-3-Clause
"""How a span of rows is read from each kind of table. A new kind of table is one class here."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache, cached_property
from threading import Lock
from typing import Any, Protocol

import narwhals as nw
import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array

from separatrix._array import Array, Rows, is_sparse, working_dtype
from separatrix.exceptions import DataError

__all__ = ["NamedRows", "Reader", "as_table", "open_reader"]

CHUNK = 2**20  # numbers that are converted at a time


class Reader(Protocol):
    """A table of N rows with named columns."""

    @property
    def n_rows(self) -> int:
        """N."""

    @property
    def columns(self) -> tuple[str, ...]:
        """D names."""

    @property
    def row_numbers(self) -> float:
        """Numbers stored per row, on average: D unless sparse."""

    def read(self, span: slice) -> Rows:
        """The rows of the span, float32 or float64."""


@dataclass(frozen=True, eq=False)
class NamedRows:
    """Numbers (N, D), dense or sparse, and a name for each column, without a data frame library."""

    array: Any
    columns: tuple[str, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """(N, D)."""
        n, d = self.array.shape
        return int(n), int(d)

    def __len__(self) -> int:
        return int(self.array.shape[0])


def as_table(X: Any) -> Any:
    """The table itself; an Arrow stream or record batch as an Arrow table, which has names and can be read twice."""
    if isinstance(X, np.ndarray | list | NamedRows) or is_sparse(X) or nw.dependencies.is_into_dataframe(X):
        return X
    if nw.dependencies.is_into_series(X):
        return X
    arrow = {"__arrow_c_stream__", "__arrow_c_array__"} & set(dir(X))
    return nw.from_arrow(X, backend="pyarrow").to_native() if arrow else X


def open_reader(X: Any) -> Reader:
    """The reader for a NumPy array, sparse matrix, data frame, Arrow table or nested list."""
    if type(X) is np.ndarray:  # most tables are: asking what else it might be takes longer than a small fit
        return _open_array(X)
    if isinstance(X, NamedRows):
        return _open_array(X.array, X.columns)
    X = as_table(X)
    if nw.dependencies.is_into_series(X):
        raise DataError("X is a single column (a Series or an Arrow array); give a table, for example X.to_frame().")
    if nw.dependencies.is_polars_lazyframe(X):
        raise DataError("X is a LazyFrame, which has no rows yet; give X.collect().")
    if np.ma.isMaskedArray(X):
        return _open_array(np.ma.filled(X.astype(float), np.nan))
    if nw.dependencies.is_into_dataframe(X):
        return _open_frame(nw.from_native(X, eager_only=True))
    return _open_array(X)


@dataclass(frozen=True)
class _Dense:
    array: Array
    columns: tuple[str, ...]

    @property
    def n_rows(self) -> int:
        return int(self.array.shape[0])

    @property
    def row_numbers(self) -> float:
        return float(self.array.shape[1])

    def read(self, span: slice) -> Rows:
        return np.asarray(self.array[span], dtype=working_dtype(self.array.dtype))


@dataclass(frozen=True)
class _Sparse:
    array: Any
    columns: tuple[str, ...]

    @property
    def n_rows(self) -> int:
        return int(self.array.shape[0])

    @property
    def row_numbers(self) -> float:
        return float(1.5 * self.array.nnz / self.array.shape[0])  # a value and half as much for its index

    @cached_property
    def is_summed(self) -> bool:
        """Whether every entry is stored once, and in order."""
        return bool(self.array.has_canonical_format)

    def read(self, span: slice) -> Rows:
        start, stop, _ = span.indices(self.n_rows)
        X, low, high = self.array, self.array.indptr[start], self.array.indptr[stop]
        # Slicing a CSR matrix copies, and so does building one from small parts of arrays; three views do not.
        rows = sparse.csr_array((stop - start, X.shape[1]), dtype=X.dtype)
        rows.data, rows.indices, rows.indptr = X.data[low:high], X.indices[low:high], X.indptr[start : stop + 1] - low
        if not self.is_summed:  # an entry that is stored twice is their sum; in a copy, for the matrix is the caller's
            rows = rows.copy()
            rows.sum_duplicates()
        return rows.astype(working_dtype(X.dtype), copy=False)


@dataclass(frozen=True)
class _Frame:
    """A data frame in which every column has the same working precision."""

    frame: Any

    @property
    def n_rows(self) -> int:
        return int(self.frame.shape[0])

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(map(str, self.frame.columns))

    @property
    def row_numbers(self) -> float:
        return float(self.frame.shape[1])

    def read(self, span: slice) -> Rows:
        values = self.frame[span].to_numpy()
        return np.asarray(values, dtype=working_dtype(values.dtype))


class _MixedFrame:
    """A data frame of several types, which takes longer to convert than to read.

    A first pass converts block by block and keeps nothing. Who comes for a second will come for a third: then all of it
    is converted, once, unless that takes more than a quarter of the memory of the machine.
    """

    def __init__(self, frame: Any) -> None:
        self.n_rows, width = map(int, frame.shape)
        self.columns = tuple(map(str, frame.columns))
        self.row_numbers = float(width)
        self._frame, self._lock = frame, Lock()
        self._passes, self._whole = 0, np.empty((0, width))

    def read(self, span: slice) -> Rows:
        with self._lock:  # blocks are read on threads; the others wait rather than convert everything as well
            self._passes += span.start == 0
            if self._passes > 1 and not len(self._whole) and 8 * self._frame.shape[0] * self.row_numbers < _spare():
                self._whole = self._converted()
        return self._whole[span] if len(self._whole) else self._convert(span)

    def _convert(self, span: slice) -> Array:
        return np.ascontiguousarray(self._frame[span].select(nw.all().cast(nw.Float64)).to_numpy())

    def _converted(self) -> Array:
        whole = np.empty(self._frame.shape)
        rows = max(1, CHUNK // whole.shape[1])
        for start in range(0, len(whole), rows):
            whole[start : start + rows] = self._convert(slice(start, start + rows))
        return whole


@cache
def _spare() -> float:
    """Bytes that one copy of a table may take: a quarter of the memory, or of 4 GiB where the system does not tell."""
    try:
        return 0.25 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 2.0**30


def _open_frame(frame: Any) -> Reader:
    if nw.dependencies.is_pandas_dataframe(frame.to_native()) and _is_sparse_frame(frame.to_native()):
        return _open_array(frame.to_native().sparse.to_coo(), tuple(map(str, frame.columns)))
    kinds = frame.schema.dtypes()
    if any(kind == nw.Object for kind in kinds):  # a pandas column of Python objects: numbers, perhaps
        return _open_array(frame.to_numpy(), tuple(map(str, frame.columns)))
    wrong = [
        f"{name!r} ({kind})"
        for name, kind in zip(frame.columns, kinds, strict=True)
        if not (kind.is_numeric() or kind == nw.Boolean)
    ]
    if wrong:
        raise DataError(
            f"Columns that are not numbers: {', '.join(wrong)}. Encode them (for example with "
            "sklearn.preprocessing.OneHotEncoder) or drop them before fitting."
        )
    _check_shape(frame.shape)
    uniform = len(set(kinds)) == 1 and kinds[0] in (nw.Float32, nw.Float64)
    return _Frame(frame) if uniform else _MixedFrame(frame)


@cache
def _default_names(n_columns: int) -> tuple[str, ...]:
    """x0, x1, ...: making thousands of them for every small prediction would take longer than the prediction."""
    return tuple(f"x{d}" for d in range(n_columns))


def _is_sparse_frame(frame: Any) -> bool:
    """Whether every column of a pandas frame is stored sparse."""
    return all(str(dtype).startswith("Sparse") for dtype in frame.dtypes)


def _open_array(X: Any, columns: tuple[str, ...] | None = None) -> Reader:
    array = _numbers(X, columns)
    columns = columns or _default_names(array.shape[1])
    return _Sparse(sparse.csr_array(array), columns) if is_sparse(array) else _Dense(array, columns)


def _numbers(X: Any, columns: tuple[str, ...] | None) -> Any:
    """scikit-learn's own checks of shape and type; NaN and infinity are found during the first pass."""
    try:
        return check_array(X, accept_sparse="csr", dtype="numeric", ensure_all_finite=False)
    except (ValueError, TypeError) as error:
        raise _naming_the_column(error, X, columns) from error


def _naming_the_column(error: Exception, X: Any, columns: tuple[str, ...] | None) -> Exception:
    """The same error, with the first column and value that is not a number, if that is the trouble."""
    if np.iscomplexobj(X) or np.ndim(X) != 2:
        return error
    values = np.asarray(X, dtype=object)
    for d, column in enumerate(values.T):
        for n, value in enumerate(column):
            try:
                float(value)
            except (TypeError, ValueError) as why:
                name = columns[d] if columns else f"x{d}"
                return type(why)(
                    f"Column {name!r} holds {value!r} at row {n}, which is not a number ({why}). "
                    "Encode the column (for example with sklearn.preprocessing.OneHotEncoder) or drop it."
                )
    return error


def _check_shape(shape: tuple[int, int]) -> None:
    for count, what in zip(shape, ("sample(s)", "feature(s)"), strict=True):
        if count == 0:
            raise DataError(f"Found a table with 0 {what} (shape={shape}) while a minimum of 1 is required.")
