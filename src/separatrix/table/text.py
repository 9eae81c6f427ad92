# SPDX-License-Identifier: BSD-3-Clause
"""Numbers, dates and missing values written as text.

Numbers: 1234.5, 1,234.5, 1.234,5, 1 234,5 or 1'234.5, perhaps with a unit (12 %, € 1.234,50). The whole text must match
a spelling. A number with a superfluous leading zero is text, because it may be a postal code. Thousands are grouped in
threes or not at all, or as in India (12,34,567). In accounts, negative numbers are written (1,234.50) or 1,234.50-.

Dates: ISO 8601 with the year first, with dashes, slashes or points; or the year last. With points, the day comes first;
with slashes or dashes, the day or the month comes first. A UTC offset is ignored: the hour is the local hour. In years
of two digits, 69 to 99 are 1969 to 1999 and 00 to 68 are 2000 to 2068, as in POSIX. Dates with points and such years
need two-digit days and months, since 1.2.24 may be a version; with dashes, the year may come first (99-12-31).

A single text may match several spellings (1,234) or several orders (03/04/2024), which only the whole column can
resolve. Every function here therefore takes one spelling or one order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import compress
from typing import NamedTuple

import numpy as np

from separatrix._array import Array, Codes, Float

# Words for a missing value in a column whose other texts are all numbers or all dates. In a column of words they are
# ordinary words.
MISSING_WORDS = frozenset({"?", "-", ".", "na", "n/a", "#n/a", "nan", "nat", "null", "none", "missing", "unknown"})
US_PER_DAY = 86_400_000_000

SPACES = " \u00a0\u2009\u202f"
APOSTROPHES = "'\u2019"
MINUS_SIGN = "\u2212"
CURRENCIES = "€ $ £ ¥ ₹ ₽ ₩ ₪ ₺ zł Kč Ft kr. kr Fr. EUR USD GBP CHF JPY CNY INR SEK NOK DKK PLN CZK HUF CAD AUD NZD BRL"
UNIT = "|".join(map(re.escape, [*CURRENCIES.split(), "%", "\u2030"]))
HAS_UNIT = re.compile(UNIT)
SIGN, MINUS = rf"[+\-{MINUS_SIGN}]", rf"[\-{MINUS_SIGN}]"
OPENED, CLOSED = rf"(?:\(|{SIGN})?", rf"(?:\)|{MINUS})?"
# Every number and every date begins like this.
BEGINNING = re.compile(rf"{OPENED}\s*(?:{UNIT})?\s*{OPENED}[.,]?\d")
PADDED = re.compile(rf"{OPENED}0\d+(?:[.,]\d*)?{CLOSED}")  # a superfluous leading zero, as in a postal code
BODY = rf"[\d.,{SPACES}{APOSTROPHES}]*\d[.,]?"
WITH_UNIT = re.compile(rf"({OPENED})\s*(?:({UNIT})\s*({OPENED}{BODY}{CLOSED})|({BODY}{MINUS}?)\s*({UNIT})({CLOSED}))")
LAST_MINUS = re.compile("^(.+)-$", re.MULTILINE)

# Patterns before and after a negative number, by how it is written.
NEGATIVES = {
    "-1": (rf"{SIGN}?", ""),
    "(1)": (rf"(?:(?P<open>\()|{SIGN}?)", r"(?(open)\))"),
    "1-": (rf"(?P<sign>{SIGN})?", rf"(?(sign)|{MINUS}?)"),
}


class Spelling(NamedTuple):
    """Decimal mark, allowed thousands separators, kind of negative numbers, and a pattern of a complete number.

    ``head`` matches the digits before the last separator.
    """

    point: str
    groups: str
    head: str
    negative: str
    pattern: re.Pattern[str]


def _spelling(point: str, groups: str = "", head: str = r"[1-9]\d{0,2}(?:(?P=mark)\d{3})*") -> dict[str, Spelling]:
    """Spellings that differ in how a negative number is written."""
    mark = re.escape(point)
    number = rf"(?:(?:0|[1-9]\d*)(?:{mark}\d*)?|{mark}\d+)(?:[eE][+-]?\d+)?"
    if groups:
        number = rf"(?=\d+(?P<mark>[{groups}])){head}(?P=mark)\d{{3}}(?:{mark}\d*)?|{number}"
    return {
        negative: Spelling(point, groups, head, negative, re.compile(rf"{before}(?:{number}){after}"))
        for negative, (before, after) in NEGATIVES.items()
    }


PLAIN = "1234.5"
_BY_EXAMPLE = {
    PLAIN: _spelling("."),
    "1,234.5": _spelling(".", ","),
    "1234,5": _spelling(","),
    "1.234,5": _spelling(",", "."),
    "1 234.5": _spelling(".", SPACES),
    "1 234,5": _spelling(",", SPACES),
    "1'234.5": _spelling(".", APOSTROPHES),
    "1'234,5": _spelling(",", APOSTROPHES),
    "12,34,567.5": _spelling(".", ",", head=r"[1-9]\d?(?:,\d\d)*"),
}
#: Spellings by example, those with a leading minus first. If a column matches several, the first one is preferred.
SPELLINGS = {
    example if negative == "-1" else negative.replace("1", example): spellings[negative]
    for negative in NEGATIVES
    for example, spellings in _BY_EXAMPLE.items()
}
NUMBER_MARKS = frozenset(f".,{SPACES}{APOSTROPHES}")

YEAR_FIRST, DAY_FIRST, MONTH_FIRST = "year first", "day first", "month first"
SHORT_YEARS = tuple(f"{order}, years of two digits" for order in (DAY_FIRST, MONTH_FIRST, YEAR_FIRST))
FIRST_YEAR_OF_1900S = 69

CLOCK = (
    r"(?:(?:T|,? +)(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?"
    r"(?: ?([AaPp])\.?[Mm]\.?)?(?: ?(?:Z|[+-]\d{2}(?::?\d{2})?))?)?"
)


#: Orders of day, month and year, each with its pattern and the pattern's groups of year, month and day. If a column
#: matches several orders, the first one is preferred.
ORDERS = {
    order: (re.compile(pattern + CLOCK, re.ASCII), groups)
    for order, pattern, groups in (
        (YEAR_FIRST, r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})", (0, 2, 3)),  # 2024-12-31
        (DAY_FIRST, r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})", (3, 2, 0)),  # 31.12.2024
        (MONTH_FIRST, r"(\d{1,2})([-/])(\d{1,2})\2(\d{4})", (3, 0, 2)),  # 12/31/2024
        (SHORT_YEARS[0], r"(\d{1,2}(?=[-/])|\d\d)([-/.])(\d{1,2}(?=[-/])|\d\d)\2(\d\d)", (3, 2, 0)),  # 31.12.99
        (SHORT_YEARS[1], r"(\d{1,2})([-/])(\d{1,2})\2(\d\d)", (3, 0, 2)),  # 12/31/99
        (SHORT_YEARS[2], r"(\d\d)(-)(\d\d)-(\d\d)", (0, 2, 3)),  # 99-12-31
    )
}
# Dates that NumPy can parse, which is faster than matching the patterns above.
NUMPY_DATE = re.compile(
    r"(?!0000)\d{4}-\d{2}-\d{2}(?:[ T](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,6})?)?)?", re.ASCII
)


def tidy(texts: Iterable[str]) -> list[str]:
    """Strip white space, also inside of parentheses, and replace words for a missing value by empty text."""
    cells = list(map(str.strip, texts))
    for i, cell in enumerate(cells):
        if cell[:1] == "(" and cell[-1:] == ")":
            cells[i] = f"({cell[1:-1].strip()})"
        if cell.casefold() in MISSING_WORDS:
            cells[i] = ""
    return cells


def format_number(number: float) -> str:
    """Format whole numbers without a decimal point, other numbers with the fewest digits that identify them."""
    return str(int(number)) if number.is_integer() and abs(number) < 1e16 else repr(number)


def read_numbers(texts: Sequence[str], spelling: str = PLAIN, unit: str = "") -> Float:
    """Parse numbers with an optional unit; NaN for missing values and for texts that are not such numbers."""
    units, cells = split_units(tidy(texts))
    allowed = [cell if found in ("", unit) else "" for cell, found in zip(cells, units, strict=True)]
    return parse_numbers(allowed, SPELLINGS[spelling])


def split_units(cells: list[str]) -> tuple[list[str], list[str]]:
    """Return the unit of each cell ("" if it has none), and the cells without units."""
    if not HAS_UNIT.search("\n".join(cells)):  # nearly all columns have no unit
        return [""] * len(cells), cells
    units, bare = [], []
    for cell in cells:
        found = WITH_UNIT.fullmatch(cell)
        units.append("" if found is None else found[2] or found[5])
        bare.append(cell if found is None else found[1] + (found[3] or found[4] + found[6]))
    return units, bare


def parse_numbers(cells: list[str], spelling: Spelling) -> Float:
    """Parse tidy cells; NaN for empty cells and for cells that are not a number in this spelling, or overflow."""
    is_number = np.fromiter(map(bool, map(spelling.pattern.fullmatch, cells)), bool, len(cells))
    written = list(compress(cells, is_number))
    together = "\n".join(written)
    for mark in spelling.groups:
        together = together.replace(mark, "")
    together = together.replace(spelling.point, ".").replace(MINUS_SIGN, "-")
    if spelling.negative == "(1)":
        together = together.replace("(", "-").replace(")", "")
    elif spelling.negative == "1-":
        together = LAST_MINUS.sub(r"-\1", together)
    found = np.fromiter(map(float, together.split("\n") if written else ()), np.float64)
    numbers: Float = np.full(len(cells), np.nan)
    numbers[is_number] = np.where(np.isinf(found), np.nan, found)
    return numbers


def parse_dates(cells: list[str], order: str) -> Float:
    """Days since 1970 of tidy cells; NaN for empty cells and for cells that are not a date in this order."""
    days: Float = np.full(len(cells), np.nan)
    if order == YEAR_FIRST and all(map(NUMPY_DATE.fullmatch, filter(None, cells))):
        is_written = np.fromiter(map(bool, cells), bool, len(cells))
        try:
            moments = np.array(list(compress(cells, is_written)), dtype="datetime64[us]")
        except ValueError:  # a date that does not exist, such as February 30
            moments = None
        if moments is not None:
            days[is_written] = moments.astype(np.int64) / US_PER_DAY
            return days
    pattern, (year, month, day) = ORDERS[order]
    matches = list(map(pattern.fullmatch, cells))
    if not any(matches):
        return days
    rows = [found.groups("0") for found in matches if found is not None]
    columns = list(zip(*rows, strict=True))
    y, m, d, hour, minute, second = (_integers(columns[at]) for at in (year, month, day, 4, 5, 6))
    if order in SHORT_YEARS:
        y = y + np.where(y < FIRST_YEAR_OF_1900S, 2000, 1900)
    microsecond = _integers([f"{fraction:0<6.6}" for fraction in columns[7]])
    half: Array = np.array(columns[8])
    is_time = (hour < 24) & (minute < 60) & (second < 60) & ((half == "0") | ((hour > 0) & (hour < 13)))
    start = _month_start(y, m)
    is_date = (y > 0) & (m >= 1) & (m <= 12) & (d >= 1) & (d <= _month_start(y, m + 1) - start)
    hour = np.where(half == "0", hour, hour % 12 + 12 * np.isin(half, ["p", "P"]))
    of_day = ((hour * 60 + minute) * 60 + second) * 1_000_000 + microsecond
    found_days = ((start + d - 1) * US_PER_DAY + of_day) / US_PER_DAY
    days[np.fromiter(map(bool, matches), bool)] = np.where(is_time & is_date, found_days, np.nan)
    return days


def _integers(texts: Sequence[str]) -> Codes:
    return np.fromiter(map(int, texts), np.int64, len(texts))


def _month_start(year: Array, month: Array) -> Array:
    """Days from 1970-01-01 to the first day of a month."""
    months = (year - 1970) * 12 + month - 1
    return months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
