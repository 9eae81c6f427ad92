# SPDX-License-Identifier: BSD-3-Clause
"""Facts about a column in a few words, for its line in the report."""

from __future__ import annotations

import math

from separatrix.table.facts import ColumnFacts
from separatrix.table.levels import Level
from separatrix.table.parse import number_text
from separatrix.table.values import Kind

__all__ = ["brief", "how_many", "of_what", "only_value", "percent", "share_missing", "written"]

QUOTED = (Kind.TEXT, Kind.BOOLEAN)


def only_value(facts: ColumnFacts) -> str:
    """A value of the column, for a message."""
    level = next(iter(facts.levels.counts))
    return repr(level if isinstance(level, str) else bool(level)) if facts.kind in QUOTED else written(level)


def written(level: Level) -> str:
    """A level as text."""
    return level if isinstance(level, str) else number_text(level)


def brief(number: float) -> str:
    """Six digits, or all of a whole number."""
    return number_text(number) if number.is_integer() and abs(number) < 1e9 else f"{number:.6g}"


def percent(share: float) -> str:
    """A share of all, 0 to 1, in per cent: two digits, of what is left where that is less; 0 and 100 if that is exact.

    Examples
    --------
    >>> [percent(share) for share in (0.0, 0.00156, 0.0313, 0.01, 0.27, 0.9987, 1.0)]
    ['0 %', '0.16 %', '3.1 %', '1 %', '27 %', '99.87 %', '100 %']
    """
    least = 100 * min(share, 1.0 - share)
    digits = 0 if least >= 9.95 or not 0.0 < share < 1.0 else 1 - math.floor(math.log10(least * 1.005))
    rounded = f"{100 * share:.{min(digits, 12)}f}"
    return f"{rounded.rstrip('0').rstrip('.') if digits else rounded} %"


def share_missing(n_gaps: int, n_rows: int) -> str:
    """How many rows have no value, and which share of all."""
    return f"{n_gaps} missing ({percent(n_gaps / n_rows)})"


def how_many(facts: ColumnFacts) -> str:
    """Distinct values, exactly or about, of all that there are."""
    about = "about " if facts.levels.overflowed else ""
    return f"{about}{facts.levels.n_distinct} of {facts.count}"


def of_what(facts: ColumnFacts) -> str:
    """What the levels of a category were."""
    return "text, " if facts.kind is Kind.TEXT else "numbers taken as names, "
