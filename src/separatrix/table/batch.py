# SPDX-License-Identifier: BSD-3-Clause
"""A batch: named columns of any library, or of an array, to be read one at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from sklearn.utils.validation import check_array

from separatrix._text import did_you_mean
from separatrix.exceptions import DataError
from separatrix.rows import as_table, is_dask
from separatrix.table.values import Values, read_values

__all__ = ["Batch", "open_batch"]


class Batch(NamedTuple):
    """Names of the columns and, in the same order, a Series or an array for each."""

    columns: dict[str, Any]
    n_rows: int

    @property
    def names(self) -> tuple[str, ...]:
        """In the order of the table."""
        return tuple(self.columns)

    def read(self, name: str) -> Values:
        """The values of one column.

        Raises
        ------
        DataError
            Where there is no such column; with the nearest name.
        """
        self.require([name])
        return read_values(self.columns[name], name)

    def require(self, names: Iterable[str]) -> frozenset[str]:
        """The names, if there are columns of all of them; errors as in `read`."""
        for name in (wanted := list(names)):
            if name not in self.columns:
                raise DataError(f"The table has no column {name!r}.{did_you_mean(name, self.columns)}")
        return frozenset(wanted)


def open_batch(table: Any) -> Batch:
    """The batch that a pandas, polars or pyarrow table, a record batch, or a two-dimensional array is.

    Raises
    ------
    DataError
        Where the table is a single column or a Dask collection, has no rows yet, or has two columns of one name.
    """
    if isinstance(table, Batch):
        return table
    if is_dask(table):
        raise DataError(
            "The table is a Dask collection, which an encoder would bring into memory whole. Write it to Parquet and "
            "give scan('*.parquet', target=..., client=...), which is encoded as workers read it; or table.compute()."
        )
    table = as_table(table)
    if nw.dependencies.is_into_series(table):
        raise DataError(
            "The table is a single column (a Series or an Arrow array); give a table, for example column.to_frame()."
        )
    if nw.dependencies.is_polars_lazyframe(table):
        raise DataError("The table is a LazyFrame, which has no rows yet; give table.collect().")
    if not nw.dependencies.is_into_dataframe(table):
        return _open_array(table)
    try:
        frame = nw.from_native(table, eager_only=True)
    except nw.exceptions.DuplicateError as error:
        raise DataError(f"Two columns have the same name. {error}. Rename one of them.") from error
    names = tuple(map(str, frame.columns))
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(f"Column {twice[0]!r} is in the table more than once. Rename one of them.")
    return Batch(dict(zip(names, frame.iter_columns(), strict=True)), int(frame.shape[0]))


def _open_array(table: Any) -> Batch:
    """Columns x0, x1, ... of an array or of nested lists, whose numbers must not become text beside text."""
    if np.ma.isMaskedArray(table):
        table = np.ma.filled(table.astype(float), np.nan)
    if isinstance(table, list | tuple):
        table = np.array(table, dtype=object)
    array = check_array(table, dtype=None, ensure_all_finite=False, ensure_min_samples=0)
    return Batch({f"x{d}": column for d, column in enumerate(array.T)}, int(array.shape[0]))
