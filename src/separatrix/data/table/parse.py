# SPDX-License-Identifier: BSD-3-Clause
"""Text that is a number, a date, or a word for a gap; and numbers as the text one would write.

Files without types (CSV above all) bring numbers and dates as text as soon as one cell is blank. A text is a number if
it reads as one; not if it starts with a zero that no number needs, as a postal code may. Dates are ISO 8601 only:
nobody can know whether 03/04/2024 is in March.
"""

from __future__ import annotations

import datetime as dt
import math
import re

__all__ = ["GAP_WORDS", "days_of", "number_text", "parse_date", "parse_number"]

# Words that stand for a gap in a column whose other texts are all numbers, or all dates; elsewhere they are words.
GAP_WORDS = frozenset({"?", "-", ".", "na", "n/a", "#n/a", "nan", "nat", "null", "none", "missing", "unknown"})
EPOCH = dt.datetime(1970, 1, 1)
DATE = re.compile(r"\d{4}[-/]\d{2}[-/]\d{2}([ T]\d{2}:\d{2}.*)?")
PADDED = re.compile(r"[+-]?0\d")


def parse_number(text: str) -> float | None:
    """The number that the text is, NaN for a word that stands for a gap, None for any other text."""
    text = text.strip()
    if text.casefold() in GAP_WORDS:
        return math.nan
    if "_" in text or PADDED.match(text):
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def parse_date(text: str) -> float | None:
    """Days since 1970 of an ISO date, NaN for a word that stands for a gap, None for any other text.

    An offset from UTC is left aside: the hour is the one that the clock showed.
    """
    text = text.strip()
    if text.casefold() in GAP_WORDS:
        return math.nan
    if not DATE.fullmatch(text):
        return None
    try:
        return days_of(dt.datetime.fromisoformat(text.replace("/", "-")))
    except ValueError:
        return None


def days_of(date: dt.date) -> float:
    """Days since 1970, by the clock of the date's own place."""
    if not isinstance(date, dt.datetime):
        return float((date - EPOCH.date()).days)
    return (date.replace(tzinfo=None) - EPOCH) / dt.timedelta(days=1)


def number_text(number: float) -> str:
    """A whole number without a point, any other with the fewest digits that tell it from its neighbours."""
    return str(int(number)) if number.is_integer() and abs(number) < 1e16 else repr(number)
