# SPDX-License-Identifier: BSD-3-Clause
"""Numbers, dates and missing values written as text.

Numbers: 1234.5, 1,234.5, 1.234,5, 1 234,5 or 1'234.5, perhaps with a unit (12 %, € 1.234,50). The whole text must match
a spelling. A number with a superfluous leading zero is text, because it may be a postal code. Thousands are grouped in
threes or not at all.

Dates: ISO 8601 with the year first, with dashes, slashes or points; or the year last. With points, the day comes first;
with slashes or dashes, the day or the month comes first. A UTC offset is ignored: the hour is the local hour. In years
of two digits, 69 to 99 are 1969 to 1999 and 00 to 68 are 2000 to 2068, as in POSIX. Dates with points and such years
need two-digit days and months, since 1.2.24 may be a version; with dashes, the year may come first (99-12-31).

A single text may match several spellings (1,234) or several orders (03/04/2024), which only the whole column can
resolve. Every function here therefore takes one spelling or one order.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from separatrix._array import Array, Codes, Float

# Words for a missing value in a column whose other texts are all numbers or all dates. In a column of words they are
# ordinary words.
MISSING_WORDS = frozenset({"?", "-", ".", "na", "n/a", "#n/a", "nan", "nat", "null", "none", "missing", "unknown"})
EPOCH = dt.datetime(1970, 1, 1)
US_PER_DAY = 86_400_000_000

SPACES = " \u00a0\u2009\u202f"
APOSTROPHES = "'\u2019"
MINUS_SIGN = "\u2212"
CURRENCIES = "€ $ £ ¥ ₹ ₽ ₩ ₪ ₺ zł Kč Ft kr. kr Fr. EUR USD GBP CHF JPY CNY INR SEK NOK DKK PLN CZK HUF CAD AUD NZD BRL"
UNIT = "|".join(map(re.escape, [*CURRENCIES.split(), "%", "\u2030"]))
HAS_UNIT = re.compile(UNIT)
BODY = rf"[\d.,{SPACES}{APOSTROPHES}]*\d[.,]?"
WITH_UNIT = re.compile(rf"([+\-{MINUS_SIGN}]?)\s*(?:({UNIT})\s*([+\-{MINUS_SIGN}]?{BODY})|({BODY})\s*({UNIT}))")


class Spelling(NamedTuple):
    """Decimal mark and allowed thousands separators, and a pattern that matches a complete number."""

    point: str
    groups: str
    pattern: re.Pattern[str]


def _spelling(point: str, groups: str = "") -> Spelling:
    mark = re.escape(point)
    number = rf"(?:(?:0|[1-9]\d*)(?:{mark}\d*)?|{mark}\d+)(?:[eE][+-]?\d+)?"
    if groups:
        number = rf"[1-9]\d{{0,2}}([{groups}])\d{{3}}(?:\1\d{{3}})*(?:{mark}\d*)?|{number}"
    return Spelling(point, groups, re.compile(rf"[+\-{MINUS_SIGN}]?(?:{number})"))


PLAIN = "1234.5"
#: Spellings by example. If a column matches several, the first one is preferred.
SPELLINGS = {
    PLAIN: _spelling("."),
    "1,234.5": _spelling(".", ","),
    "1234,5": _spelling(","),
    "1.234,5": _spelling(",", "."),
    "1 234.5": _spelling(".", SPACES),
    "1 234,5": _spelling(",", SPACES),
    "1'234.5": _spelling(".", APOSTROPHES),
    "1'234,5": _spelling(",", APOSTROPHES),
}
NUMBER_MARKS = frozenset(f".,{SPACES}{APOSTROPHES}")

YEAR_FIRST, DAY_FIRST, MONTH_FIRST = "year first", "day first", "month first"
SHORT_YEARS = tuple(f"{order}, years of two digits" for order in (DAY_FIRST, MONTH_FIRST, YEAR_FIRST))
FIRST_YEAR_OF_1900S = 69

CLOCK = (
    r"(?:(?:T|,? +)(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?"
    r"(?: ?([AaPp])\.?[Mm]\.?)?(?: ?(?:Z|[+-]\d{2}(?::?\d{2})?))?)?"
)


class DateOrder(NamedTuple):
    """Pattern of a date, an example for messages, and the pattern's groups of year, month and day."""

    pattern: re.Pattern[str]
    example: str
    groups: tuple[int, int, int]


def _order(pattern: str, example: str, *groups: int) -> DateOrder:
    year, month, day = groups
    return DateOrder(re.compile(pattern + CLOCK, re.ASCII), example, (year, month, day))


#: Orders of day, month and year. If a column matches several, the first one is preferred.
ORDERS = {
    YEAR_FIRST: _order(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})", "2024-12-31", 0, 2, 3),
    DAY_FIRST: _order(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})", "31.12.2024", 3, 2, 0),
    MONTH_FIRST: _order(r"(\d{1,2})([-/])(\d{1,2})\2(\d{4})", "12/31/2024", 3, 0, 2),
    SHORT_YEARS[0]: _order(r"(\d{1,2}(?=[-/])|\d\d)([-/.])(\d{1,2}(?=[-/])|\d\d)\2(\d\d)", "31.12.99", 3, 2, 0),
    SHORT_YEARS[1]: _order(r"(\d{1,2})([-/])(\d{1,2})\2(\d\d)", "12/31/99", 3, 0, 2),
    SHORT_YEARS[2]: _order(r"(\d\d)(-)(\d\d)-(\d\d)", "99-12-31", 0, 2, 3),
}
# Dates that NumPy can parse, which is faster than matching the patterns above.
NUMPY_DATE = re.compile(
    r"(?!0000)\d{4}-\d{2}-\d{2}(?:[ T](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,6})?)?)?", re.ASCII
)


def tidy(texts: Iterable[str]) -> list[str]:
    """Strip white space, and replace words for a missing value by empty text."""
    cells = list(map(str.strip, texts))
    for i, cell in enumerate(cells):
        if cell.casefold() in MISSING_WORDS:
            cells[i] = ""
    return cells


def format_number(number: float) -> str:
    """Format whole numbers without a decimal point, other numbers with the fewest digits that identify them."""
    return str(int(number)) if number.is_integer() and abs(number) < 1e16 else repr(number)


def days_since_1970(date: dt.date) -> float:
    """Days since 1970-01-01 in local time."""
    if not isinstance(date, dt.datetime):
        return float((date - EPOCH.date()).days)
    return (date.replace(tzinfo=None) - EPOCH) / dt.timedelta(days=1)


def read_numbers(texts: Sequence[str], spelling: str = PLAIN, unit: str = "") -> Float | None:
    """Parse numbers with an optional unit; NaN for missing values. Returns None if a text is not such a number."""
    units, cells = split_units(tidy(texts))
    return parse_numbers(cells, SPELLINGS[spelling]) if units <= {"", unit} else None


def split_units(cells: list[str]) -> tuple[set[str], list[str]]:
    """Return the units in the non-empty cells ("" if a cell has no unit), and the cells without units."""
    if not HAS_UNIT.search("\n".join(cells)):  # nearly all columns have no unit
        return ({""} if any(cells) else set()), cells
    units, bare = set(), []
    for cell in cells:
        found = WITH_UNIT.fullmatch(cell)
        if cell:
            units.add("" if found is None else found[2] or found[5])
        bare.append(cell if found is None else found[1] + (found[3] or found[4]))
    return units, bare


def parse_numbers(cells: list[str], spelling: Spelling) -> Float | None:
    """Parse tidy cells; NaN for empty cells. Returns None if a cell is not a number in this spelling, or overflows."""
    written = list(filter(None, cells))
    if not all(map(spelling.pattern.fullmatch, written)):
        return None
    together = "\n".join(written)
    for mark in spelling.groups:
        together = together.replace(mark, "")
    together = together.replace(spelling.point, ".").replace(MINUS_SIGN, "-")
    found = np.fromiter(map(float, together.split("\n") if written else ()), np.float64)
    return None if np.isinf(found).any() else _with_missing(found, cells)


def parse_dates(cells: list[str], order: str) -> Float | None:
    """Days since 1970 of tidy cells; NaN for empty cells. Returns None if a cell is not a date in this order."""
    written = list(filter(None, cells))
    if order == YEAR_FIRST and all(map(NUMPY_DATE.fullmatch, written)):
        try:
            return _with_missing(np.array(written, dtype="datetime64[us]").astype(np.int64) / US_PER_DAY, cells)
        except ValueError:  # a date that does not exist, such as February 30
            return None
    if not written:
        return np.full(len(cells), np.nan)
    pattern, _, (year, month, day) = ORDERS[order]
    rows = []
    for cell in written:
        found = pattern.fullmatch(cell)
        if found is None:
            return None
        rows.append(found.groups("0"))
    columns = list(zip(*rows, strict=True))
    y, m, d, hour, minute, second = (_integers(columns[at]) for at in (year, month, day, 4, 5, 6))
    if order in SHORT_YEARS:
        y = y + np.where(y < FIRST_YEAR_OF_1900S, 2000, 1900)
    microsecond = _integers([f"{fraction:0<6.6}" for fraction in columns[7]])
    half: Array = np.array(columns[8])
    is_time = (hour < 24) & (minute < 60) & (second < 60) & ((half == "0") | ((hour > 0) & (hour < 13)))
    start = _month_start(y, m)
    is_date = (y > 0) & (m >= 1) & (m <= 12) & (d >= 1) & (d <= _month_start(y, m + 1) - start)
    if not (is_time & is_date).all():
        return None
    hour = np.where(half == "0", hour, hour % 12 + 12 * np.isin(half, ["p", "P"]))
    of_day = ((hour * 60 + minute) * 60 + second) * 1_000_000 + microsecond
    return _with_missing(((start + d - 1) * US_PER_DAY + of_day) / US_PER_DAY, cells)


def _integers(texts: Sequence[str]) -> Codes:
    return np.fromiter(map(int, texts), np.int64, len(texts))


def _month_start(year: Array, month: Array) -> Array:
    """Days from 1970-01-01 to the first day of a month."""
    months = (year - 1970) * 12 + month - 1
    return months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)


def _with_missing(found: Float, cells: list[str]) -> Float:
    """Insert NaN at the empty cells."""
    if len(found) == len(cells):
        return found
    numbers: Float = np.full(len(cells), np.nan)
    numbers[[bool(cell) for cell in cells]] = found
    return numbers
