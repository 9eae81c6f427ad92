# SPDX-License-Identifier: BSD-3-Clause
"""Counts and ranges of the rows, and the checks that explain why a sum is not finite.

`Tally` is an array of counts. `Extent` is the range of each column and the length of the longest row. `require_finite`
and `require_squares` take another pass over the rows, so they run only after a sum overflowed or became NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from separatrix._array import Array, Codes, Float, Rows, bincount, device_aware, is_sparse
from separatrix._text import counted
from separatrix.exceptions import DataError
from separatrix.rows import Block, DeviceRows, Source, Summed
from separatrix.stats.device import extents

MIN_COMPILED_ENTRIES = 50_000  # entries of a block above which compiled loops save more time than importing Numba takes
GRAM_BYTES, MAX_GRAM_ROWS = 2**19, 1024  # rows that are multiplied at a time: a part of a second-level cache
MAX_COLUMNS_NAMED = 8  # names of columns in one error message
MAX_MAGNITUDE = 1e125  # sums of squares of larger values overflow, if they are weighted or multiplied


@dataclass(frozen=True, slots=True)
class Tally(Summed):
    """An array of counts."""

    count: Array


def confusion(block: Block, predicted: Codes, n_classes: int) -> Tally:
    """Confusion matrix (K, K): total weight of the rows by true class and predicted class."""
    cell = block.codes * n_classes + predicted
    return Tally(bincount(cell, block.weight, n_classes**2).reshape(n_classes, n_classes))


def nonfinite(block: Block, allow_nan: bool = False) -> Tally:
    """Number of NaN and infinite values per column; ``allow_nan`` ignores NaN."""
    X = block.X
    values = X.data if is_sparse(X) else X
    wrong = np.isinf(values) if allow_nan else ~np.isfinite(values)
    return Tally(np.bincount(X.indices[wrong], minlength=X.shape[1]) if is_sparse(X) else wrong.sum(axis=0))


@dataclass(frozen=True, slots=True)
class Extent:
    """Range ``low`` to ``high`` of each column (M,), and the length ``radius`` of the longest row, max_n |x_n|.

    ``+`` is the extent of both sets of rows. NaN values propagate.
    """

    low: Float
    high: Float
    radius: float

    def __add__(self, other: Extent) -> Extent:
        return Extent(
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            float(np.maximum(self.radius, other.radius)),
        )


@device_aware
def extent(block: Block, *, with_radius: bool = True) -> Extent:
    """Extent of one block; without the radius, which is then infinite, it takes less time."""
    X = block.X
    if isinstance(X, DeviceRows):
        return Extent(*extents(X, with_radius=with_radius))
    if not is_sparse(X) and X.size >= MIN_COMPILED_ENTRIES and X.flags.c_contiguous:
        from separatrix.stats._kernels import row_extent

        low, high = np.full(X.shape[1], np.inf), np.full(X.shape[1], -np.inf)
        largest = row_extent(X, low, high)
        if not np.isnan(largest):
            return Extent(low, high, float(np.sqrt(largest)))
    low, high, radius = X.min(axis=0), X.max(axis=0), np.inf
    if with_radius:
        squared = np.asarray(X.multiply(X).sum(axis=1)) if is_sparse(X) else np.einsum("nm,nm->n", X, X)
        radius = float(np.sqrt(squared.max()))
    if is_sparse(X):
        low, high = low.toarray(), high.toarray()
    return Extent(low.astype(np.float64), high.astype(np.float64), radius)


def has_missing(X: Rows) -> Array:
    """Whether each row has a missing value (NaN), (n,)."""
    if not is_sparse(X):
        return np.asarray(np.isnan(X).any(axis=1))
    owner = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    missing = np.zeros(X.shape[0], dtype=bool)
    missing[owner[np.isnan(X.data)]] = True
    return missing


def require_finite(source: Source, *, allow_nan: bool = False) -> None:
    """Raise if any value is NaN or infinite, naming the columns and counts; ``allow_nan`` ignores NaN.

    If rows have a basis, X is checked first, then the basis functions, which may overflow.
    """
    if source.has_basis:
        require_finite(source.raw, allow_nan=allow_nan)
    count = source.reduce(partial(nonfinite, allow_nan=allow_nan)).count
    bad = np.flatnonzero(count)
    if len(bad) == 0:
        return
    named = _named(source, bad, [f"{count[d]} of {source.n_rows} rows" for d in bad])
    if source.has_basis:
        raise DataError(
            f"The basis overflows or is undefined: {named} are NaN or infinite, although X is finite. "
            "Scale the columns of X to unit variance first (for example with sklearn.preprocessing.StandardScaler), "
            "or choose another basis."
        )
    column = '"' + source.columns[bad[0]].replace('"', '""') + '"'
    what, remedy = "NaN or infinity", "or wrap a classifier: sx.TableClassifier(model).fit(X, y) accepts missing values"
    condition = f"isfinite({column})"
    if allow_nan:
        what, remedy = "infinity", "or replace these values by NaN"
        condition = f"{column} IS NULL OR NOT isinf({column})"
    raise DataError(
        f"Input X contains {what} in {named}. Drop those rows (for a scan, with where={condition!r}), {remedy}."
    )


def require_squares(source: Source) -> None:
    """Raise because sums of squares overflow although every value is finite; the message names the columns."""
    with np.errstate(over="ignore"):
        reach = source.reduce(partial(extent, with_radius=False))
    largest = np.maximum(np.abs(reach.low), np.abs(reach.high))
    for limit, where, remedy in (
        (MAX_MAGNITUDE, "", "Correct these values. Divide the columns by a constant if they are correct."),
        (np.sqrt(float(np.finfo(np.float32).max) / source.n_rows) / 2, " in float32", "Convert the table to float64."),
    ):
        bad = np.flatnonzero(largest > limit)
        if len(bad):
            named = _named(source, bad, [f"up to {largest[d]:.3g}" for d in bad])
            raise DataError(f"Values are too large to square{where}: {named}. {remedy}")
    raise DataError("Sums over the rows overflow. Divide the columns, or the sample weights, by a constant first.")


def _named(source: Source, columns: Codes, remarks: list[str]) -> str:
    names = [f"column {source.columns[d]!r} ({remark})" for d, remark in zip(columns, remarks, strict=True)]
    more = len(names) - MAX_COLUMNS_NAMED
    return ", ".join(names[:MAX_COLUMNS_NAMED]) + (f" and {counted(more, 'more column')}" if more > 0 else "")
