# SPDX-License-Identifier: BSD-3-Clause
"""Columns of a table in memory, in one representation for all data frame libraries.

A batch is a table, or a part of a table, with named columns. Numbers, dates and durations (in days) become float64,
with NaN for missing values. Text becomes codes that index the distinct texts, with -1 for missing values. None, NaN,
NA, NaT and blank text are missing. A column with only missing values has no kind yet, and can be joined with any kind.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from numbers import Integral, Real
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from sklearn.utils.validation import check_array

from separatrix._array import Array, Codes, Float, is_sparse
from separatrix._text import did_you_mean
from separatrix.exceptions import DataError
from separatrix.rows import as_array, as_frame, as_table, is_dask, unmasked
from separatrix.table.hashes import MAX_EXACT
from separatrix.table.kinds import Kind, as_float, join, kind_of_class
from separatrix.table.text import PLAIN, US_PER_DAY, YEAR_FIRST, format_number, parse_dates, read_numbers, tidy

NUMPY_KINDS = dict(zip("biufMm", [Kind.BOOLEAN, *[Kind.NUMBER] * 3, Kind.DATE, Kind.DURATION], strict=True))
EPOCH = dt.datetime(1970, 1, 1)
DAYS_PER = {"Y": 365.2425, "M": 365.2425 / 12, "W": 7.0, "D": 1.0, "h": 1 / 24, "m": 1 / 1440} | {
    unit: 1000.0**-k / 86_400 for k, unit in enumerate(("s", "ms", "us", "ns", "ps", "fs", "as"))
}
MAX_DAYS = 1e8  # farther dates count as infinite, because their microseconds exceed 64 bits
IN_MEMORY = {Kind.INTEGER: Kind.NUMBER, Kind.TIME: Kind.DATE}  # in memory, all numbers are float64 and so are all dates


def merge_kinds(a: Kind, b: Kind) -> Kind | None:
    """Kind of two columns in memory together; None if their kinds are incompatible."""
    if a is b or Kind.NOTHING in (a, b):
        return join(a, b)
    return Kind.NUMBER if {a, b} == {Kind.BOOLEAN, Kind.NUMBER} else None


class Values(NamedTuple):
    """Values of n rows: ``numbers`` (n,), or ``texts[codes]`` if the kind is text.

    ``declared`` is True if the column's type is categorical; ``example`` shows a value of kind OTHER. ``exact`` are the
    values that are not missing, if some are whole numbers that float64 cannot represent; otherwise it is empty.
    """

    kind: Kind
    numbers: Float = np.empty(0)
    texts: tuple[str, ...] = ()
    codes: Codes = np.empty(0, np.intp)
    declared: bool = False
    example: str = ""
    exact: Array = np.empty(0)

    @property
    def missing(self) -> Array:
        """Boolean mask (n,) of the missing values."""
        return self.codes < 0 if self.kind is Kind.TEXT else np.isnan(self.numbers)

    def as_texts(self, column: str, before: str = "categories") -> tuple[tuple[str, ...], Codes]:
        """Distinct texts, and the code of each row. Numbers are formatted as text; other values raise DataError.

        ``before`` describes the values of the training rows in the message.
        """
        if self.kind is Kind.TEXT:
            return self.texts, self.codes
        if self.kind in (Kind.DATE, Kind.DURATION, Kind.OTHER):
            raise _changed(column, before, self.kind)
        codes = np.full(len(self.numbers), -1)
        distinct, codes[np.isfinite(self.numbers)] = np.unique(self.present, return_inverse=True)
        return tuple(map(as_text, distinct.tolist())), codes

    @property
    def present(self) -> Array:
        """Finite numbers, exactly."""
        return self.exact if len(self.exact) else self.numbers[np.isfinite(self.numbers)]

    def as_numbers(self, column: str, spelling: str = PLAIN, unit: str = "") -> Float:
        """Return numbers; text is parsed in a spelling of `SPELLINGS`, with an optional unit such as "%".

        Values that are not finite numbers are NaN. Raises DataError if the column has dates or values of other kinds.
        """
        if self.kind is Kind.TEXT:
            return np.append(read_numbers(self.texts, spelling, unit), np.nan)[self.codes]  # code -1 selects NaN
        if self.kind in (Kind.DATE, Kind.OTHER):
            raise _changed(column, "numbers", self.kind)
        return np.where(np.isinf(self.numbers), np.nan, self.numbers)

    def as_dates(self, column: str, order: str = YEAR_FIRST) -> Float:
        """Days since 1970; text is parsed in one of `ORDERS`. Values that are not dates, or too far away, are NaN."""
        if self.kind is Kind.TEXT:
            return np.append(parse_dates(tidy(self.texts), order), np.nan)[self.codes]
        if self.kind not in (Kind.DATE, Kind.NOTHING):
            raise _changed(column, "dates", self.kind)
        return np.where(np.isinf(self.numbers), np.nan, self.numbers)


def _changed(column: str, before: str, now: Kind) -> DataError:
    return DataError(
        f"Column {column!r} had {before} when its type was inferred, and now it has {now.value}. "
        "Provide the same type as before, or infer the types again."
    )


def row_place(row: int) -> str:
    """Name of a row, counted from 0, in messages."""
    return f"row {row + 1:,}"


Place = Callable[[int], str]  # like `row_place`, for rows of a file or of a part of a table


class Batch(NamedTuple):
    """Columns of a table by name, each a narwhals Series or an array; ``place`` names its rows in messages."""

    columns: dict[str, Any]
    n_rows: int
    place: Place = row_place

    def take(self, rows: Codes) -> Batch:
        """Select rows by position; a row may be selected several times."""
        return Batch(
            {name: column[rows] for name, column in self.columns.items()}, len(rows), lambda row: self.place(rows[row])
        )

    def require(self, names: Iterable[str]) -> None:
        """Raise DataError if the table lacks one of these columns; the message suggests similar names."""
        for name in names:
            if not self.columns:
                raise DataError(
                    f"The table has no columns, but column {name!r} is needed. Check how the table was read, or how "
                    "its columns were selected."
                )
            if name not in self.columns:
                raise DataError(f"The table has no column {name!r}.{did_you_mean(name, self.columns)}")


def open_batch(table: Any) -> Batch:
    """Open a pandas, polars or pyarrow table, a record batch, a two-dimensional array, a dict or a list of dicts.

    A pandas Series whose index contains names is a row of a table.

    Raises DataError if it is a single column, a Dask collection or a LazyFrame, or if two columns have the same name.
    """
    if isinstance(table, Batch):
        return table
    if is_dask(table):
        raise DataError(
            "The table is a Dask collection, and an encoder would load all of it into memory. Write it to Parquet and "
            "use scan('*.parquet', target=..., client=...), which the workers encode; or pass table.compute()."
        )
    if nw.dependencies.is_pandas_series(table) and all(isinstance(name, str) for name in table.index):
        table = dict(zip(table.index, table.tolist(), strict=True))
    if is_records(table):
        rows = [table] if isinstance(table, Mapping) else table
        if len(rows) == 1 and rows[0] and all(np.ndim(values) == 1 for values in rows[0].values()):  # a dict of columns
            columns = {str(name): np.fromiter(values, object) for name, values in rows[0].items()}
            lengths = {name: len(values) for name, values in columns.items()}
            if len(set(lengths.values())) > 1:
                raise DataError(
                    f"The columns of the table have different lengths: {lengths}. Give one value for each row."
                )
            return Batch(columns, next(iter(lengths.values())))
        keys = dict.fromkeys(name for row in rows for name in row)  # a value that a row lacks is missing
        return Batch({str(key): np.fromiter((row.get(key) for row in rows), object) for key in keys}, len(rows))
    table = as_table(table)
    if nw.dependencies.is_into_series(table):
        raise DataError(
            "The table is a single column (a Series or an Arrow array). Pass a table, such as column.to_frame()."
        )
    if nw.dependencies.is_polars_lazyframe(table):
        raise DataError("The table is a LazyFrame, which has no rows yet. Pass table.collect().")
    if not nw.dependencies.is_into_dataframe(table):
        table = unmasked(table)
        if isinstance(table, list | tuple):
            table = np.array(table, dtype=object)  # otherwise NumPy would convert all cells to text if one is text
        elif not isinstance(table, np.ndarray) and not is_sparse(table):
            table = as_array(table)
        array = check_array(table, dtype=None, ensure_all_finite=False, ensure_min_samples=0)
        return Batch({f"x{d}": column for d, column in enumerate(array.T)}, int(array.shape[0]))
    frame = as_frame(table)
    names = list(map(str, frame.columns))
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise DataError(f"Column {twice!r} is in the table more than once. Rename one of them.")
    return Batch(dict(zip(names, frame.iter_columns(), strict=True)), int(frame.shape[0]))


def is_records(table: Any) -> bool:
    """Whether a table is a dict or a list of dicts; SciPy's sparse dictionaries are not."""
    first = table[0] if isinstance(table, list) and table else table
    return isinstance(first, Mapping) and not is_sparse(first)


def read_values(column: Any) -> Values:
    """Read the values of a narwhals Series or a one-dimensional array."""
    dtype, whole = column.dtype, None  # whole numbers that float64 may round
    if isinstance(column, np.ndarray):
        if dtype.kind not in NUMPY_KINDS:
            return _read_objects(column.tolist())
        kind, whole = NUMPY_KINDS[dtype.kind], column if dtype.kind in "iu" else None
        numbers = _in_days(column) if kind in (Kind.DATE, Kind.DURATION) else column
    elif dtype == nw.Boolean or dtype.is_float():
        kind = Kind.BOOLEAN if dtype == nw.Boolean else Kind.NUMBER
        numbers = column.cast(nw.Float64).to_numpy()
    elif dtype.is_numeric():
        kind, numbers, whole = Kind.NUMBER, _as_floats(column), column
    elif dtype in (nw.Date, nw.Datetime):
        local = column.cast(nw.Datetime("ms")) if dtype == nw.Date else column.dt.replace_time_zone(None)
        kind, numbers = Kind.DATE, _in_days(_with_unit(local.to_numpy(), "M8[us]"))
    elif dtype == nw.Duration:
        kind, numbers = Kind.DURATION, _in_days(_with_unit(column.to_numpy(), "m8[us]"))
    elif dtype in (nw.Categorical, nw.Enum):
        return _read_texts(map(as_text, column.to_list()), declared=True)
    else:
        return _read_texts(column.to_list()) if dtype == nw.String else _read_objects(column.to_list())
    with np.errstate(over="ignore"):  # numbers of long doubles may be too large
        numbers = np.asarray(numbers, dtype=np.float64)
    found = Values(Kind.NOTHING if np.isnan(numbers).all() else kind, numbers)
    if whole is None or not (np.abs(numbers) > MAX_EXACT).any():
        return found
    if not isinstance(whole, np.ndarray):
        present = whole.drop_nulls()
        if present.dtype in (nw.Int64, nw.UInt64):
            whole = present.to_numpy()
        else:  # decimals, which may have more than 64 bits
            whole = np.array(
                [int(value) if value == int(value) else value for value in present.to_list()], dtype=object
            )
    return found._replace(exact=whole)


def _as_floats(column: nw.Series[Any]) -> Float:
    """Round whole numbers and decimals to float64; Arrow's own cast raises an error beyond 2^53."""
    try:
        return np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)
    except ValueError:  # ArrowInvalid
        return np.array([np.nan if is_missing(value) else float(value) for value in column.to_list()])


def _with_unit(column: Array, dtype: str) -> Array:
    """Dates of NumPy, which have a unit; pandas returns objects if it stores dates in Arrow."""
    return column if column.dtype.kind in "mM" else column.astype(dtype)


def _in_days(column: Array) -> Float:
    """Convert NumPy dates to days since 1970, or durations to days. Those beyond `MAX_DAYS` are infinite."""
    unit, n_units = np.datetime_data(column.dtype)
    days = column.astype(np.int64) * (n_units * DAYS_PER.get(unit, 1.0))
    is_near = (np.abs(days) < MAX_DAYS) & ~np.isnat(column)
    near = np.where(is_near, column, np.zeros((), column.dtype))
    exact = near.astype(f"{column.dtype.kind}8[us]").astype(np.int64) / US_PER_DAY
    far: Float = np.where(np.isnat(column), np.nan, np.copysign(np.inf, days))
    return np.where(is_near, exact, far)


def _read_texts(column: Iterable[Any], *, declared: bool = False) -> Values:
    """Encode texts in the order of first appearance, with a dictionary, which is faster than sorting."""
    codes_of: defaultdict[Any, int] = defaultdict()
    codes_of.default_factory = codes_of.__len__
    raw = np.fromiter(map(codes_of.__getitem__, column), np.intp)
    kept: list[str] = []
    code = np.full(len(codes_of), -1)
    for text, first in codes_of.items():
        if isinstance(text, str) and text and not text.isspace():
            code[first] = len(kept)
            kept.append(text)
    if not kept:
        return Values(Kind.NOTHING, np.full(len(raw), np.nan), declared=declared)
    return Values(Kind.TEXT, texts=tuple(kept), codes=code[raw], declared=declared)


def as_text(value: Any) -> Any:
    """Format a category as text, because pandas allows categories of any type; missing values stay missing."""
    if value is None or isinstance(value, str) or is_missing(value):
        return value
    is_float = isinstance(value, Real) and not isinstance(value, Integral)
    return format_number(float(value)) if is_float else str(value)


def _read_objects(column: list[Any]) -> Values:
    """Read a column of Python objects; values of several kinds are read as text."""
    missing = np.fromiter(map(is_missing, column), bool, len(column))
    present = [value for value, is_gap in zip(column, missing, strict=True) if not is_gap]
    kind = Kind.NOTHING
    for found in map(kind_of_class, dict.fromkeys(map(type, present))):
        kind = merge_kinds(kind, IN_MEMORY.get(found, found)) or Kind.TEXT  # a mixture is text, as in a file
    if kind is Kind.TEXT:
        cells = (None if is_gap else cell for cell, is_gap in zip(column, missing, strict=True))
        cells = (cell.astype("datetime64[us]").item() if isinstance(cell, np.datetime64) else cell for cell in cells)
        return _read_texts(cell.isoformat() if isinstance(cell, dt.date) else as_text(cell) for cell in cells)
    numbers = np.full(len(column), np.nan)
    numbers[~missing] = list(map(_to_float, present)) if kind is not Kind.OTHER else 0.0
    if kind in (Kind.NUMBER, Kind.BOOLEAN):
        is_exact = any(isinstance(value, Integral) and abs(int(value)) > MAX_EXACT for value in present)
        finite = [value for value in present if is_exact and np.isfinite(_to_float(value))]
        return Values(kind, numbers, exact=np.array(finite, dtype=object))
    return Values(kind, numbers, example=str(present[0])[:60] if kind is Kind.OTHER else "")


def is_missing(value: object) -> bool:
    """Whether a value is None, NaN, NaT or pandas' NA, for which ``value != value`` is neither True nor False."""
    if value is None or type(value).__name__ == "NAType":
        return True
    unequal: object = value != value  # noqa: PLR0124  # this is an array if the value is an array
    return isinstance(unequal, bool | np.bool_) and bool(unequal)


def _to_float(value: Any) -> float:
    """Convert a number to float, and a date or duration to days."""
    if isinstance(value, dt.datetime):
        return (value.replace(tzinfo=None) - EPOCH) / dt.timedelta(days=1)  # in local time
    if isinstance(value, dt.date):
        return float(value.toordinal() - EPOCH.toordinal())
    if isinstance(value, dt.timedelta):
        return value / dt.timedelta(days=1)
    if isinstance(value, np.datetime64 | np.timedelta64):
        return float(_in_days(np.asarray(value)))
    return as_float(value)
