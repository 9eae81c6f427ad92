# SPDX-License-Identifier: BSD-3-Clause
"""Dates as they are written: 2024-12-31, 31.12.2024, 31/12/2024 or 12/31/2024, with or without a time of day.

With the year first they are ISO 8601, also with slashes or points. With the year last, points mean that the day comes
first; slashes and dashes do not say, and so every function here is asked about one order. An offset from UTC is left
aside: the hour is the one that the clock showed.

Years of two digits, 31.12.99 or 12/31/99, are orders of their own: 69 to 99 are of the last century, 00 to 68 of this
one, as POSIX has it. With points, day and month have two digits too, since 1.2.24 is a version as well as a date; with
dashes the year may come first, as in 99-12-31.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from separatrix._array import Array, Float
from separatrix.table.parse import tidied

__all__ = ["DAY_FIRST", "MONTH_FIRST", "ORDERS", "PIVOT", "SHORT", "YEAR_FIRST", "dates_of", "read_dates"]

YEAR_FIRST, DAY_FIRST, MONTH_FIRST = "year first", "day first", "month first"
SHORT = tuple(f"{order}, years of two digits" for order in (DAY_FIRST, MONTH_FIRST, YEAR_FIRST))
PIVOT = 69  # the first year of two digits that is of the last century
DAY_US = 86_400_000_000

CLOCK = (
    r"(?:(?:T|,? +)(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?"
    r"(?: ?([AaPp])\.?[Mm]\.?)?(?: ?(?:Z|[+-]\d{2}(?::?\d{2})?))?)?"
)
#: By their order, in which they are preferred where a column fits several: the pattern, and where year, month, day are.
ORDERS = {
    YEAR_FIRST: (re.compile(rf"(\d{{4}})([-/.])(\d{{1,2}})\2(\d{{1,2}}){CLOCK}", re.ASCII), (0, 2, 3)),
    DAY_FIRST: (re.compile(rf"(\d{{1,2}})([-/.])(\d{{1,2}})\2(\d{{4}}){CLOCK}", re.ASCII), (3, 2, 0)),
    MONTH_FIRST: (re.compile(rf"(\d{{1,2}})([-/])(\d{{1,2}})\2(\d{{4}}){CLOCK}", re.ASCII), (3, 0, 2)),
    SHORT[0]: (
        re.compile(rf"(\d{{1,2}}(?=[-/])|\d\d)([-/.])(\d{{1,2}}(?=[-/])|\d\d)\2(\d\d){CLOCK}", re.ASCII),
        (3, 2, 0),
    ),
    SHORT[1]: (re.compile(rf"(\d{{1,2}})([-/])(\d{{1,2}})\2(\d\d){CLOCK}", re.ASCII), (3, 0, 2)),
    SHORT[2]: (re.compile(rf"(\d\d)(-)(\d\d)-(\d\d){CLOCK}", re.ASCII), (0, 2, 3)),
}
# What NumPy reads by itself, and faster.
NUMPY = re.compile(r"(?!0000)\d{4}-\d{2}-\d{2}(?:[ T](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,6})?)?)?", re.ASCII)


def read_dates(texts: Sequence[str], order: str = YEAR_FIRST) -> Float | None:
    """Days since 1970 of the dates that texts are, NaN for gaps; None where one is none."""
    return dates_of(tidied(texts), order)


def dates_of(cells: list[str], order: str) -> Float | None:
    """As `read_dates`, of cells that are tidy."""
    written = [cell for cell in cells if cell]
    if order == YEAR_FIRST and all(map(NUMPY.fullmatch, written)):
        moments = _by_numpy(written)
    else:
        moments = _by_parts(written, order) if written else np.empty(0)
    if moments is None:
        return None
    days: Float = np.full(len(cells), np.nan)
    days[[bool(cell) for cell in cells]] = moments / DAY_US
    return days


def _by_numpy(written: list[str]) -> Array | None:
    """Microseconds since 1970; None where one is not on the calendar."""
    try:
        return np.array(written, dtype="datetime64[us]").astype(np.int64)
    except ValueError:
        return None


def _by_parts(written: list[str], order: str) -> Array | None:
    """Likewise, of dates and times in all other forms."""
    pattern, (year, month, day) = ORDERS[order]
    rows = []
    for cell in written:
        found = pattern.fullmatch(cell)
        if found is None:
            return None
        rows.append(found.groups("0"))
    columns = list(zip(*rows, strict=True))
    y, m, d, hour, minute, second = (_whole(columns[at]) for at in (year, month, day, 4, 5, 6))
    if order in SHORT:
        y = y + np.where(y < PIVOT, 2000, 1900)
    microsecond = _whole([f"{fraction:0<6.6}" for fraction in columns[7]])
    half: Array = np.array(columns[8])
    is_clock = (hour < 24) & (minute < 60) & (second < 60) & ((half == "0") | ((hour > 0) & (hour < 13)))
    if not (is_clock & _on_calendar(y, m, d)).all():
        return None
    hour = np.where(half == "0", hour, hour % 12 + 12 * np.isin(half, ["p", "P"]))
    of_day = ((hour * 60 + minute) * 60 + second) * 1_000_000 + microsecond
    moments: Array = (_month_start(y, m) + d - 1) * DAY_US + of_day
    return moments


def _whole(texts: Sequence[str]) -> Array:
    return np.fromiter(map(int, texts), np.int64, len(texts))


def _month_start(year: Array, month: Array) -> Array:
    """Days from 1970 to the first of a month."""
    months = (year - 1970) * 12 + month - 1
    return months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)


def _on_calendar(year: Array, month: Array, day: Array) -> Array:
    length = _month_start(year, month + 1) - _month_start(year, month)
    return (year > 0) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= length)
