# SPDX-License-Identifier: BSD-3-Clause
"""Rows in memory: NumPy arrays, SciPy sparse matrices, and data frames of any library.

A block is a view or a converted copy of some rows. The whole table is copied only if it is a data frame of several
types that is read more than once: it is then converted once, if memory allows.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass
from functools import cache, cached_property
from math import ceil
from numbers import Real
from threading import Lock
from typing import Any

import narwhals as nw
import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array

from separatrix._array import Array, Rows, is_sparse, working_dtype
from separatrix.exceptions import DataError

BLOCK_BYTES = 2**21  # about the size of one core's second-level cache
MIN_BLOCK_ROWS, MAX_BLOCK_ROWS = 256, 2**16
TALL = 8  # blocks whose values are read once have this many times more rows, because each task takes time, too
MIN_TALL_BLOCKS = 8  # smallest number of such blocks, which keeps all threads busy
MIN_THREADED_ENTRIES = 800_000  # fewer sparse entries are read in a millisecond, and waking threads would take as long
ENTRIES_PER_COLUMN = 64  # entries per column of a tall sparse block: each block takes a dozen operations per column
SINGLE_COLUMN = "X is a single column (a Series or an Arrow array); give a table, such as X.to_frame()."
TO_ENCODE = (
    "For a classifier, sx.TableClassifier(model).fit(X, y) encodes text and dates; for other models, "
    "separatrix.table.TableEncoder does. Or drop these columns."
)
NOT_A_TABLE = "Pass an array, a data frame, or a list of rows of equal length."
CONVERTED_AT_ONCE = 2**20  # values of a data frame that are converted at a time


def block_rows(width: float) -> int:
    """Number of rows per block if each row needs ``width`` float64 values.

    The block fits the cache. A wide table gets at least as many rows per block as it has columns (up to 4096), because
    the M x M statistic of a block should not be larger than the block.
    """
    fit = int(BLOCK_BYTES / (8 * max(width, 1)))
    return max(MIN_BLOCK_ROWS, min(fit, MAX_BLOCK_ROWS), min(int(width), 4096))


def cut_spans(n_rows: int, height: int, rng: np.random.Generator | None = None) -> list[slice]:
    """Cut all rows into spans of ``height`` rows; the last one may be shorter. With ``rng``, spans are shuffled."""
    starts = range(0, n_rows, height)
    spans = list(map(slice, starts, [*starts[1:], n_rows]))
    return spans if rng is None else [spans[i] for i in rng.permutation(len(spans))]


class Memory:
    """A partition of rows in memory. Each kind of table is a subclass with its own ``read``."""

    n_rows: int
    columns: tuple[str, ...]  # x0, x1, ... if the table has no names
    numbers_per_row: float  # average memory per row, in values: the number of columns, or less for a sparse table

    @property
    def known_rows(self) -> int:
        return self.n_rows

    def height_for(self, width: float) -> int:
        return block_rows(width)

    def tall_height(self, height: int) -> int:
        """Number of rows per block if each value is read once, so that blocks need not fit the cache."""
        tall = max(height, min(TALL * height, self.n_rows // MIN_TALL_BLOCKS))
        return ceil(self.n_rows / ceil(self.n_rows / tall)) if self.n_rows else tall  # blocks of equal size

    def pieces(self, height: int, more: tuple[str, ...] = (), rng: np.random.Generator | None = None) -> list[slice]:
        return cut_spans(self.n_rows, height, rng)

    def read(self, piece: Any) -> Rows:
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class NamedRows:
    """Array (N, D), dense or sparse, with column names; needs no data frame library."""

    array: Any
    columns: tuple[str, ...]

    @property
    def shape(self) -> tuple[int, int]:
        n, d = self.array.shape
        return int(n), int(d)

    def __len__(self) -> int:
        return int(self.array.shape[0])


def as_table(X: Any) -> Any:
    """Convert an Arrow stream or record batch to an Arrow table, which can be read twice; return other tables as is."""
    if is_sparse(X) and X.ndim != 2:
        raise DataError(f"X is a sparse array of shape {X.shape}. Expected 2 dimensions: a row for each sample.")
    if isinstance(X, memoryview):
        return np.asarray(X)
    if isinstance(X, np.ndarray | list | NamedRows) or is_sparse(X) or nw.dependencies.is_into_dataframe(X):
        return X
    if nw.dependencies.is_into_series(X):
        return X
    if isinstance(X, type):
        raise DataError(f"X is the class {X.__name__}. Pass a table of it, with a row for each sample.")
    if not {"__arrow_c_stream__", "__arrow_c_array__"} & set(dir(X)):
        return X
    import pyarrow as pa

    if isinstance(X, pa.Array):
        raise DataError(SINGLE_COLUMN)
    return pa.table(X)


def unmasked(X: Any) -> Any:
    """Return a masked array as a plain array, whose masked values are NaN; return other tables as they are."""
    if not np.ma.isMaskedArray(X):
        return X
    if X.dtype.kind in "biuf":
        return np.ma.filled(X.astype(np.float64), np.nan)
    return np.ma.filled(X.astype(object), np.nan) if np.ma.is_masked(X) else np.asarray(X.data)


def as_frame(X: Any) -> Any:
    """Wrap a data frame or series of any library for narwhals; raises DataError if two columns have the same name."""
    try:
        return nw.from_native(X, eager_only=True, allow_series=True)
    except nw.exceptions.DuplicateError:
        require_distinct(getattr(X, "column_names", X.columns))
        raise


def require_distinct(names: Iterable[Any]) -> None:
    """Raise if two columns have the same name."""
    (twice, count), *_ = [*Counter(names).most_common(1), ("", 0)]
    if count > 1:
        raise DataError(f"Column {twice!r} is in the table more than once. Rename one of them.")


def open_memory(X: Any) -> Memory:
    """Open a NumPy array, sparse matrix, data frame, Arrow table or nested list."""
    columns: tuple[str, ...] | None = None
    if isinstance(X, NamedRows):
        X, columns = X.array, X.columns
    elif type(X) is not np.ndarray:  # arrays skip the checks for other types, which take longer than a small fit
        X = as_table(X)
        if nw.dependencies.is_into_series(X):
            raise DataError(SINGLE_COLUMN)
        if nw.dependencies.is_polars_lazyframe(X):
            raise DataError("X is a LazyFrame, which has no rows yet; give X.collect().")
        if isinstance(X, str | os.PathLike):
            raise DataError(
                f"X is a path, {os.fspath(X)!r}. Use sx.scan(path, target=...), which reads the rows of a file: "
                "model.fit(sx.scan(path, target='column'))."
            )
        X = unmasked(X)
        if nw.dependencies.is_into_dataframe(X):
            columns = tuple(map(str, as_frame(X).columns))
            X = _plain_values(X)
            if isinstance(X, nw.DataFrame):
                return _open_frame(X)
        if not isinstance(X, np.ndarray) and not is_sparse(X):
            X = as_array(X)
    if X.dtype.kind in "mM":
        raise DataError(f"X has dates or durations ({X.dtype}), which are not numbers. {TO_ENCODE}")
    if X.ndim == 2:
        require_cells(X.shape)
    X = X.astype(object) if X.dtype.kind == "T" else X  # scikit-learn's check knows no other kind of text
    is_valid = type(X) is np.ndarray and X.ndim == 2 and X.size > 0 and X.dtype.kind in "biuf"
    try:  # scikit-learn's checks of shape and type; NaN and infinity are found during the first pass
        array = X if is_valid else check_array(X, accept_sparse="csr", dtype="numeric", ensure_all_finite=False)
    except (ValueError, TypeError, OverflowError) as error:
        raise _naming_the_column(error, X, columns) from error
    columns = columns or default_names(array.shape[1])
    return Sparse(sparse.csr_array(array), columns) if is_sparse(array) else Dense(array, columns)


class Dense(Memory):
    """An array (N, D)."""

    def __init__(self, array: Array, columns: tuple[str, ...]) -> None:
        self.array, self.columns = array, columns
        self.n_rows, self.numbers_per_row = int(array.shape[0]), float(array.shape[1])
        self.dtype = working_dtype(array.dtype)

    def read(self, piece: Any) -> Rows:
        """Return a view of the rows, or a copy if the array is not float32 or float64."""
        X = self.array[piece]
        if X.dtype != self.dtype:
            with np.errstate(over="ignore"):  # long doubles; infinity is found during the first pass
                X = X.astype(self.dtype)
        return X if X.flags.aligned else aligned(X)


class Sparse(Memory):
    """A CSR array (N, D)."""

    def __init__(self, array: Any, columns: tuple[str, ...]) -> None:
        self.array, self.columns, self.n_rows = array, columns, int(array.shape[0])
        self.numbers_per_row = float(1.5 * array.nnz / array.shape[0])  # an index takes half the memory of its value
        self._passes = 0
        self._views: dict[tuple[int, int], Any] = {}  # making a view of a few rows takes as long as a product with them

    def tall_height(self, height: int) -> int:
        if self.n_rows <= max(height, MAX_BLOCK_ROWS if self.array.nnz < MIN_THREADED_ENTRIES else 0):
            return self.n_rows
        wanted = int(self.array.nnz) / (ENTRIES_PER_COLUMN * len(self.columns))
        n_pairs = max(1, ceil(min(wanted, self.n_rows / height, 2 * MIN_TALL_BLOCKS) / 2))  # an even number of blocks
        return min(ceil(self.n_rows / (2 * n_pairs)), TALL * MAX_BLOCK_ROWS)  # activations of a block need memory

    @cached_property
    def has_duplicates(self) -> bool:
        """Whether entries may be duplicated or unsorted."""
        return not self.array.has_canonical_format

    def pieces(self, height: int, more: tuple[str, ...] = (), rng: np.random.Generator | None = None) -> list[slice]:
        """Cut the rows into spans. The second pass sorts and sums the entries of all rows once, if memory allows."""
        self._passes += 1
        if self._passes == 2 and self.has_duplicates and 12 * self.array.nnz < _spare_bytes():
            self.array = self.array.copy()  # the matrix belongs to the caller
            self.array.sum_duplicates()
            self.has_duplicates = False
        if rng is None and height < self.n_rows:  # an even number of equal blocks keeps two threads busy
            height = ceil(self.n_rows / (2 * ceil(self.n_rows / (2 * height))))
        return super().pieces(height, more, rng)

    def read(self, piece: Any) -> Rows:
        """Return the rows without copying their entries, unless they must be converted."""
        start, stop, _ = piece.indices(self.n_rows)
        if (start, stop) in self._views:
            return self._views[start, stop]
        X, low, high = self.array, self.array.indptr[start], self.array.indptr[stop]
        # Slicing a CSR matrix copies its entries; assigning three views does not.
        rows = sparse.csr_array((stop - start, X.shape[1]), dtype=X.dtype)
        rows.data, rows.indices, rows.indptr = X.data[low:high], X.indices[low:high], X.indptr[start : stop + 1] - low
        if self.has_duplicates:  # sum them in a copy, because the matrix belongs to the caller
            rows = rows.copy()
            rows.sum_duplicates()
        elif X.dtype == working_dtype(X.dtype):
            self._views[start, stop] = rows
        with np.errstate(over="ignore"):
            return rows.astype(working_dtype(X.dtype), copy=False)


class Frame(Memory):
    """A data frame whose columns are all float32 or all float64."""

    def __init__(self, frame: Any) -> None:
        self.frame, self.columns = frame, tuple(map(str, frame.columns))
        self.n_rows, self.numbers_per_row = int(frame.shape[0]), float(frame.shape[1])

    def read(self, piece: Any) -> Rows:
        values = self.frame[piece].to_numpy()
        if values.dtype == object:  # pandas' Arrow columns with missing values
            values = _by_column(self.frame[piece])
        return aligned(np.asarray(values, dtype=working_dtype(values.dtype)))


class MixedFrame(Frame):
    """A data frame of several types. Converting its rows takes longer than reading them.

    The first pass converts block by block and keeps nothing. The second pass converts the whole frame once, for itself
    and all later passes, unless that takes more than a quarter of the machine's memory.
    """

    def __init__(self, frame: Any) -> None:
        super().__init__(frame)
        self._lock, self._passes, self._whole = Lock(), 0, np.empty((0, frame.shape[1]))

    def read(self, piece: Any) -> Rows:
        with self._lock:  # blocks are read on threads: one converts the frame while the others wait
            self._passes += piece.start == 0
            if self._passes > 1 and not len(self._whole) and 8 * self.n_rows * self.numbers_per_row < _spare_bytes():
                whole = np.empty(self.frame.shape)
                for span in cut_spans(self.n_rows, max(1, CONVERTED_AT_ONCE // whole.shape[1])):
                    whole[span] = self._convert(span)
                self._whole = whole
        return self._whole[piece] if len(self._whole) else self._convert(piece)

    def _convert(self, span: slice) -> Array:
        return _by_column(self.frame[span].select(nw.all().cast(nw.Float64)))


def _by_column(frame: Any) -> Array:
    """Values of a data frame of numbers. Single columns are converted, whose missing values become NaN."""
    return np.column_stack([column.to_numpy() for column in frame.iter_columns()])


@cache
def _spare_bytes() -> float:
    """Largest size of a table's copy: a quarter of the memory, or 1 GiB if the memory's size is unknown."""
    try:
        return 0.25 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 2.0**30


def aligned(X: Array) -> Array:
    """Return X at an aligned address, copied if necessary. Arrays received over a network may start at any byte.

    BLAS copies unaligned arrays at each use, and Numba compiles its functions again for them.
    """
    if X.flags.aligned or not X.flags.c_contiguous:
        return np.require(X, requirements="A")
    copy = np.empty_like(X)
    copy.view(np.uint8)[...] = X.view(np.uint8)  # copying bytes is three times as fast as copying values
    return copy


def _open_frame(frame: Any) -> Memory:
    kinds = frame.schema.dtypes()
    wrong = [
        f"{name!r} ({kind})"
        for name, kind in zip(frame.columns, kinds, strict=True)
        if not (kind.is_numeric() or kind == nw.Boolean)
    ]
    if wrong:
        raise DataError(f"These columns are not numbers: {', '.join(wrong)}. {TO_ENCODE}")
    require_cells(frame.shape)
    uniform = len(set(kinds)) == 1 and kinds[0] in (nw.Float32, nw.Float64)
    return Frame(frame) if uniform else MixedFrame(frame)


def require_cells(shape: Sequence[int]) -> None:
    """Raise if a table has no columns, or no rows."""
    for count, what, remedy in (
        (shape[1], "columns: Found 0 feature(s)", "Pass a table with at least one column of features."),
        (shape[0], "rows: Found 0 sample(s)", "Check the file, or the condition that selects the rows."),
    ):
        if count == 0:
            raise DataError(f"X has no {what} (shape={tuple(shape)}) while a minimum of 1 is required. {remedy}")


def _plain_values(X: Any) -> Any:
    """Values of a data frame: a SciPy matrix if pandas stores only entries that are not 0, else an array or a frame."""
    if nw.dependencies.is_pandas_dataframe(X):
        stored = {name: kind for name, kind in X.dtypes.items() if hasattr(kind, "fill_value")}
        if stored and len(stored) == X.shape[1] and all(kind.fill_value == 0 for kind in stored.values()):
            return X.sparse.to_coo()
        if stored:  # some columns are dense, or the value that is not stored is NaN
            X = X.astype({name: kind.subtype for name, kind in stored.items()})
    frame = as_frame(X)
    is_object = any(kind == nw.Object for kind in frame.schema.dtypes())  # pandas columns of objects may be numbers
    return frame.to_numpy() if is_object else frame


@cache
def default_names(n_columns: int) -> tuple[str, ...]:
    """Names x0, x1, ... They are cached, because building thousands takes longer than a small prediction."""
    return tuple(f"x{d}" for d in range(n_columns))


def as_array(X: Any) -> Array:
    """Convert a nested list, or an object of another library; raise if its rows have different lengths."""
    try:
        array = np.asarray(X)
        if array.ndim == 0:
            raise TypeError("it has no rows")
        return array
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(X, list | tuple) and len(lengths := {len(row) if isinstance(row, Sized) else 1 for row in X}) > 1:
            reason = f"The rows of X have different lengths, from {min(lengths)} to {max(lengths)} values."
        else:
            reason = f"X is of type {type(X).__name__}, not a table of numbers ({error})."
        raise DataError(f"{reason} {NOT_A_TABLE}") from error


def _naming_the_column(error: Exception, X: Any, columns: tuple[str, ...] | None) -> Exception:
    """Return an error that names the first value that is not a number; the original error if all are."""
    if is_sparse(X) or np.iscomplexobj(X):
        return error
    values = np.asarray(X, dtype=object)
    if X.ndim != 2:  # scikit-learn's check converts the values before it checks the shape
        strange = [type(value).__name__ for value in values.flat if not isinstance(value, Real | str)][:1]
        return DataError(f"X has values of type {strange[0]} and shape {X.shape}. {NOT_A_TABLE}") if strange else error
    for d, column in enumerate(values.T):
        for n, value in enumerate(column):
            try:
                float(value)
            except (TypeError, ValueError, OverflowError) as why:
                name = columns[d] if columns else f"x{d}"
                return (TypeError if isinstance(why, TypeError) else ValueError)(
                    f"Column {name!r} holds {value!r} in row {n + 1} (counted from 1), which is not a number "
                    f"({why}). {TO_ENCODE}"
                )
    return error
