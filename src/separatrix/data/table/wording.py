# SPDX-License-Identifier: BSD-3-Clause
"""Facts about a column in a few words, for its line in the report."""

from __future__ import annotations

from separatrix.data.table.facts import ColumnFacts
from separatrix.data.table.levels import Level
from separatrix.data.table.parse import number_text
from separatrix.data.table.values import Kind

__all__ = ["brief", "how_many", "of_what", "only_value", "share_missing", "written"]

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


def share_missing(n_gaps: int, n_rows: int) -> str:
    """How many rows have no value, and which share of all."""
    percent = 100 * n_gaps / n_rows
    return f"{n_gaps} missing ({percent:.2g} %)" if percent < 10 else f"{n_gaps} missing ({percent:.0f} %)"


def how_many(facts: ColumnFacts) -> str:
    """Distinct values, exactly or about, of all that there are."""
    about = "about " if facts.levels.overflowed else ""
    return f"{about}{facts.levels.n_distinct} of {facts.count}"


def of_what(facts: ColumnFacts) -> str:
    """What the levels of a category were."""
    return "text, " if facts.kind is Kind.TEXT else "numbers taken as names, "
