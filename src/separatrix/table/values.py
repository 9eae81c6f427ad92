# SPDX-License-Identifier: BSD-3-Clause
"""One column of one batch, read by its values and not by its type.

Whatever the library, a column is one of a few kinds: numbers (dates and durations too, counted in days) as float64
with NaN for a gap, or text as codes into its distinct texts with -1 for a gap. None, NaN, NA, NaT and blank text are
gaps; a column that holds nothing else has no kind yet, and agrees with any.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np

from separatrix._array import Array, Codes, Float
from separatrix.exceptions import DataError
from separatrix.table.dates import DAY_FIRST, MONTH_FIRST, SHORT, YEAR_FIRST, read_dates
from separatrix.table.parse import days_of, number_text
from separatrix.table.spelling import PLAIN, read_numbers

__all__ = ["CellError", "Kind", "Values", "as_text", "join", "read_values"]

DAY_US = 86_400_000_000.0
LIKE = {YEAR_FIRST: "2024-12-31", DAY_FIRST: "31.12.2024", MONTH_FIRST: "12/31/2024"}
LIKE |= dict(zip(SHORT, ("31.12.99", "12/31/99", "99-12-31"), strict=True))


class CellError(DataError):
    """A value that cannot be used, in a row that the message gives; rows are counted from 1 for those who read it.

    A batch does not know how many rows were before it: whoever does raises the error again, moved.
    """

    def __init__(self, start: str, row: int, end: str) -> None:
        super().__init__(f"{start} in row {row + 1:,} (the first is row 1){end}")
        self._start, self.row, self._end = start, row, end

    def moved(self, rows: int) -> CellError:
        """The same error, so many rows further down."""
        return CellError(self._start, self.row + rows, self._end)


class Kind(Enum):
    """What a column holds, in words for messages."""

    NOTHING = "nothing but gaps"
    BOOLEAN = "true and false"
    NUMBER = "numbers"
    TEXT = "text"
    DATE = "dates"
    DURATION = "durations"
    OTHER = "values that are neither numbers, text nor dates"


def join(a: Kind, b: Kind) -> Kind | None:
    """The kind of two columns put together; None where they do not go together."""
    if a is b or b is Kind.NOTHING:
        return a
    if a is Kind.NOTHING:
        return b
    return Kind.NUMBER if {a, b} == {Kind.BOOLEAN, Kind.NUMBER} else None


@dataclass(frozen=True, slots=True)
class Values:
    """The values of n rows: ``numbers`` (n,) of every kind but text; ``texts[codes]`` of text.

    ``declared`` says that the column's type names it a category; ``example`` shows a value of kind OTHER.
    """

    kind: Kind
    numbers: Float = field(default_factory=lambda: np.empty(0))
    texts: tuple[str, ...] = ()
    codes: Codes = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    declared: bool = False
    example: str = ""

    @property
    def missing(self) -> Array:
        """Which rows are gaps."""
        return self.codes < 0 if self.kind is Kind.TEXT else np.isnan(self.numbers)

    def counted(self) -> Codes:
        """How many rows have each of ``texts``."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.texts))

    def as_texts(self, column: str) -> tuple[tuple[str, ...], Codes]:
        """Distinct texts, and each row's code among them; a number is the text it is written as.

        Raises
        ------
        DataError
            Naming the column, where it holds something that is neither.
        """
        if self.kind is Kind.TEXT:
            return self.texts, self.codes
        if self.kind in (Kind.DATE, Kind.DURATION, Kind.OTHER):
            raise _drifted(column, "categories", self.kind)
        distinct, codes = np.unique(self.numbers, return_inverse=True)
        gap = np.isnan(distinct[codes])
        return tuple(map(number_text, distinct[~np.isnan(distinct)].tolist())), np.where(gap, -1, codes)

    def as_numbers(self, column: str, spelling: str = PLAIN, unit: str = "") -> Float:
        """Numbers, read from text where that is what the column holds.

        Parameters
        ----------
        column : str
            Its name, for messages.
        spelling : str
            How numbers are written in text: one of `SPELLINGS`.
        unit : str
            What may stand beside them, such as "%".

        Raises
        ------
        DataError
            Naming the column, the value and its row, where there is something else.
        """
        if self.kind is Kind.TEXT:
            beside = f" {unit}" if unit else ""
            what = "a number" if spelling == PLAIN and not unit else f"a number like {spelling}{beside}"
            return self._parsed(column, lambda texts: read_numbers(texts, spelling, unit), what)
        if self.kind in (Kind.DATE, Kind.OTHER):
            raise _drifted(column, "numbers", self.kind)
        return self.numbers

    def as_dates(self, column: str, order: str = YEAR_FIRST) -> Float:
        """Days since 1970, read from text by one of `ORDERS` where that is what the column holds; errors as above."""
        if self.kind is Kind.TEXT:
            return self._parsed(column, lambda texts: read_dates(texts, order), f"a date like {LIKE[order]}")
        if self.kind not in (Kind.DATE, Kind.NOTHING):
            raise _drifted(column, "dates", self.kind)
        return self.numbers

    def _parsed(self, column: str, read: Callable[[Sequence[str]], Float | None], what: str) -> Float:
        parsed = read(self.texts)
        if parsed is None:
            wrong = next(i for i, text in enumerate(self.texts) if read([text]) is None)
            raise CellError(
                f"Column {column!r} holds {self.texts[wrong]!r}",
                int(np.flatnonzero(self.codes == wrong)[0]),
                f", which is not {what} as in training. Correct it, or leave it blank, which is a missing value; if it "
                "belongs there, train again with such rows.",
            )
        return np.append(parsed, np.nan)[self.codes]  # -1, a gap, is the last


def _drifted(column: str, before: str, now: Kind) -> DataError:
    return DataError(
        f"Column {column!r} held {before} when its type was inferred, and now it holds {now.value}. "
        "Give it as it was, or infer the types again."
    )


def read_values(column: Any, name: str) -> Values:
    """The values of a narwhals Series or of a one-dimensional array."""
    if isinstance(column, np.ndarray):
        return _read_array(column, name)
    kind = column.dtype
    if kind.is_numeric() or kind == nw.Boolean:
        return _numeric(column.cast(nw.Float64).to_numpy(), name, is_boolean=kind == nw.Boolean)
    if kind in (nw.Date, nw.Datetime):
        local = column if kind == nw.Date else column.dt.replace_time_zone(None)  # the hour that the clock showed
        return _dated(local.dt.timestamp("us").cast(nw.Float64).to_numpy())
    if kind == nw.Duration:
        return _lasting(column.dt.total_microseconds().cast(nw.Float64).to_numpy())
    if kind in (nw.Categorical, nw.Enum):
        return _texts(map(as_text, column.to_list()), declared=True)
    return _texts(column.to_list()) if kind == nw.String else _read_objects(column.to_list(), name)


def _read_array(column: Array, name: str) -> Values:
    match column.dtype.kind:
        case "b" | "i" | "u" | "f":
            return _numeric(column.astype(np.float64), name, is_boolean=column.dtype.kind == "b")
        case "M":
            return _dated(_microseconds(column, "datetime64[us]"))
        case "m":
            return _lasting(_microseconds(column, "timedelta64[us]"))
        case _:
            return _read_objects(column.tolist(), name)


def _microseconds(column: Array, dtype: str) -> Float:
    counted = column.astype(dtype).astype(np.int64).astype(np.float64)
    return np.where(np.isnat(column), np.nan, counted)


def _numeric(numbers: Array, name: str, *, is_boolean: bool) -> Values:
    numbers = np.asarray(numbers, dtype=np.float64)
    endless = np.isinf(numbers)
    if endless.any():
        raise CellError(
            f"Column {name!r} holds infinity in {int(endless.sum())} of {len(numbers)} rows, the first",
            int(endless.argmax()),
            ". Make it a missing value, or a finite number.",
        )
    return _of_kind(Kind.BOOLEAN if is_boolean else Kind.NUMBER, numbers)


def _dated(microseconds: Array) -> Values:
    return _of_kind(Kind.DATE, np.asarray(microseconds, dtype=np.float64) / DAY_US)


def _lasting(microseconds: Array) -> Values:
    return _of_kind(Kind.DURATION, np.asarray(microseconds, dtype=np.float64) / DAY_US)


def _of_kind(kind: Kind, numbers: Float) -> Values:
    return Values(Kind.NOTHING if np.isnan(numbers).all() else kind, numbers)


def _texts(column: Iterable[Any], *, declared: bool = False) -> Values:
    """Codes in the order of first appearance: a dictionary does it faster than any sort."""
    codes_of: dict[Any, int] = {}
    raw = np.fromiter((codes_of.setdefault(text, len(codes_of)) for text in column), np.intp)
    is_text = [isinstance(text, str) and not text.isspace() and text != "" for text in codes_of]
    if not any(is_text):
        return Values(Kind.NOTHING, np.full(len(raw), np.nan), declared=declared)
    code = np.where(is_text, np.cumsum(is_text) - 1, -1)
    kept = tuple(text for text, so in zip(codes_of, is_text, strict=True) if so)
    return Values(Kind.TEXT, texts=kept, codes=code[raw], declared=declared)


def as_text(value: Any) -> Any:
    """A category as text: pandas has categories of numbers, and of anything else."""
    if value is None or isinstance(value, str) or is_missing(value):
        return value
    return number_text(float(value)) if isinstance(value, Real) and not isinstance(value, bool) else str(value)


def _read_objects(column: list[Any], name: str) -> Values:
    """A column of Python objects: of one kind, or an error that shows two values that are not."""
    gap = np.fromiter(map(is_missing, column), bool, len(column))
    present = [value for value, so in zip(column, gap, strict=True) if not so]
    seen: dict[type, Any] = {}
    for value in present:
        seen.setdefault(type(value), value)
    kind, first = Kind.NOTHING, None
    for value in seen.values():
        joined = join(kind, _kind_of(value))
        if joined is None:
            raise DataError(
                f"Column {name!r} mixes {kind.value} ({first!r}) with {_kind_of(value).value} ({value!r}). "
                "Make it one of them (for example all text), or leave the column out."
            )
        kind, first = joined, value if first is None else first
    if kind is Kind.TEXT:
        return _texts(None if so else value for value, so in zip(column, gap, strict=True))
    numbers = np.full(len(column), np.nan)
    numbers[~gap] = [_number_of(value, name) for value in present] if kind is not Kind.OTHER else 0.0
    if kind in (Kind.NUMBER, Kind.BOOLEAN):
        return _numeric(numbers, name, is_boolean=kind is Kind.BOOLEAN)
    return Values(kind, numbers, example=repr(first)[:60] if kind is Kind.OTHER else "")


def is_missing(value: object) -> bool:
    """None, NaN, NaT, or pandas' NA, which answers neither True nor False to ``value != value``."""
    if value is None or type(value).__name__ == "NAType":
        return True
    unequal: object = value != value  # noqa: PLR0124  # of an array, say, an array
    return isinstance(unequal, bool | np.bool_) and bool(unequal)


def _kind_of(value: object) -> Kind:
    kinds: list[tuple[Any, Kind]] = [
        ((bool, np.bool_), Kind.BOOLEAN),
        ((Real, Decimal), Kind.NUMBER),
        (str, Kind.TEXT),
        ((dt.date, np.datetime64), Kind.DATE),
        ((dt.timedelta, np.timedelta64), Kind.DURATION),
    ]
    return next((kind for types, kind in kinds if isinstance(value, types)), Kind.OTHER)


def _number_of(value: Any, name: str) -> float:
    """A number, or a date or duration in days."""
    if isinstance(value, dt.date):
        return days_of(value)
    if isinstance(value, dt.timedelta):
        return value / dt.timedelta(days=1)
    if isinstance(value, np.datetime64 | np.timedelta64):
        unit = "datetime64[us]" if isinstance(value, np.datetime64) else "timedelta64[us]"
        return float(value.astype(unit).astype(np.int64)) / DAY_US
    try:
        return float(value)
    except OverflowError as error:
        raise DataError(
            f"Column {name!r} holds a number of {len(str(value))} digits, more than arithmetic has room for "
            "(about 308). If it is an id, give it as text."
        ) from error
