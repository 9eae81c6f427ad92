# SPDX-License-Identifier: BSD-3-Clause
"""Whole numbers that were given out one by one: they name the rows and say nothing about them.

The rule needs no order of the rows, so that its facts add. Of R whole numbers from the lowest to the highest, n rows
that were drawn independently, by whatever law, have at most R (1 - (1 - 1/R)^n) different ones on average: the uniform
law has the most, and of two thirds of R or more rows it has a quarter of them twice. So values that are nearly all
different and yet fill half of their range were not measured but counted off. This holds for a random part of the rows,
too: four fifths of the customers 10001 to 11000 fill four fifths of the range.

Time is counted off as well, and is no id: years, days as 20241231, seconds since 1970, and columns with such a name.
A name like an id's suffices where nine values in ten are different, however far apart.
"""

from __future__ import annotations

import re

from separatrix.table.facts import ColumnFacts
from separatrix.table.moments import NumberFacts
from separatrix.table.wording import brief, how_many

__all__ = ["reason_for_id"]

LEAST_ROWS = 20
FILLED = 0.5  # of the range from the lowest to the highest
# Of the values this share is different: where it is estimated, or the name is that of an id, less will do.
NEARLY_ALL, MOST = 0.98, 0.9
# The last word of a name; German ones are often one word with what they number.
ID_WORDS = frozenset({"id", "ids", "uuid", "guid", "key", "index", "idx", "nr", "no", "num", "number", "phone", "tel"})
ID_ENDINGS = ("nr", "nummer")
# fmt: off
TIME_WORDS = frozenset({
    "date", "datetime", "day", "days", "week", "month", "year", "years", "hour", "hours", "minute", "second", "seconds",
    "time", "timestamp", "epoch", "age", "datum", "tag", "woche", "monat", "jahr", "stunde", "zeit",
})
# fmt: on
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
WORD = re.compile(r"[^\W\d_]+")
CALENDARS = [(1500.0, 2199.0), (15_000_101.0, 21_991_231.0), (1e8, 4.2e9), (1e11, 4.2e12)]  # years, days, s, ms


def reason_for_id(name: str, facts: ColumnFacts) -> str:
    """Why a column of numbers is an id, for a message; "" where it is none."""
    numbers = facts.numbers
    if numbers is None or not numbers.whole or numbers.count < LEAST_ROWS:
        return ""
    levels, is_named = facts.levels, _is_named(name)
    if levels.n_distinct < (MOST if levels.overflowed or is_named else NEARLY_ALL) * numbers.count:
        return ""
    extent = numbers.high - numbers.low + 1
    if levels.n_distinct >= FILLED * extent and (is_named or not _is_time(name, numbers)):
        gaps = "" if extent == numbers.count else f", with gaps ({how_many(facts)} are different)"
        return f"it numbers the rows{gaps}, from {brief(numbers.low)} to {brief(numbers.high)}"
    nearly = "" if levels.n_distinct == numbers.count else "nearly "
    return f"whole numbers, {nearly}all different ({how_many(facts)}), with the name of an id" if is_named else ""


def _is_time(name: str, numbers: NumberFacts) -> bool:
    """Whether numbers that rise in steps may be a point in time."""
    dated = any(low <= numbers.low and numbers.high <= high for low, high in CALENDARS)
    return dated or not TIME_WORDS.isdisjoint(_words(name))


def _is_named(name: str) -> bool:
    words = _words(name)
    return bool(words) and (words[-1] in ID_WORDS or words[-1].endswith(ID_ENDINGS))


def _words(name: str) -> list[str]:
    """The words of customer_id, customerId or Kunden-Nr."""
    return WORD.findall(CAMEL.sub(" ", name).casefold())
