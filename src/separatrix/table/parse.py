# SPDX-License-Identifier: BSD-3-Clause
"""What numbers, dates and gaps in text have in common: words for a gap, days since 1970, a number as one writes it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

__all__ = ["GAP_WORDS", "days_of", "number_text", "tidied"]

# Words that stand for a gap in a column whose other texts are all numbers, or all dates; elsewhere they are words.
GAP_WORDS = frozenset({"?", "-", ".", "na", "n/a", "#n/a", "nan", "nat", "null", "none", "missing", "unknown"})
EPOCH = dt.datetime(1970, 1, 1)


def tidied(texts: Iterable[str]) -> list[str]:
    """Texts without space around them; nothing where one is a word for a gap."""
    return ["" if text.casefold() in GAP_WORDS else text for text in map(str.strip, texts)]


def days_of(date: dt.date) -> float:
    """Days since 1970, by the clock of the date's own place."""
    if not isinstance(date, dt.datetime):
        return float((date - EPOCH.date()).days)
    return (date.replace(tzinfo=None) - EPOCH) / dt.timedelta(days=1)


def number_text(number: float) -> str:
    """A whole number without a point, any other with the fewest digits that tell it from its neighbours."""
    return str(int(number)) if number.is_integer() and abs(number) < 1e16 else repr(number)
