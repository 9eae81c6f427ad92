# SPDX-License-Identifier: BSD-3-Clause
"""From facts to opinions: what each column is, why, and what it becomes. Rules, in the order they are asked:

1. every value missing, or every value the same: nothing to learn, dropped
2. numbers, also written as text: a number (0 and 1: boolean); whole numbers that only number the rows: an id, dropped
   (see `ids`)
3. dates, also written as text: a date
4. text, two words that mean yes and no: boolean
5. text of which more than half is different: ids or free text, dropped
6. other text: categories; the rare ones share a level, or where there are very many and ``hashing`` says so, hashes do

A user who knows better says so in ``overrides``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import islice

import numpy as np

from separatrix._arguments import check_count, check_option
from separatrix._text import did_you_mean
from separatrix.exceptions import DataError
from separatrix.table.categories import Options, cannot_be, category
from separatrix.table.dates import ORDERS, PIVOT, SHORT, YEAR_FIRST, read_dates
from separatrix.table.facts import ColumnFacts, TableFacts
from separatrix.table.ids import reason_for_id
from separatrix.table.levels import Level
from separatrix.table.moments import NumberFacts
from separatrix.table.plans import DatePlan, DropPlan, NumberPlan, Plan
from separatrix.table.schema import Schema
from separatrix.table.spelling import PLAIN
from separatrix.table.values import Kind
from separatrix.table.wording import brief, how_many, only_value, share_missing, written

__all__ = ["KINDS", "infer_types"]

KINDS = ("number", "boolean", "categorical", "date", "drop")
MAX_LEVELS = 100
RARE_ROWS, RARE_SHARE = 10, 0.02  # a level is rare below ten rows, or below a share of rows where those are few
FEW_LEVELS = 10  # so few texts are categories, however small the table
YES_NO = [("yes", "no"), ("y", "n"), ("true", "false"), ("t", "f"), ("on", "off")]


def infer_types(
    facts: TableFacts,
    overrides: Mapping[str, str] | None = None,
    *,
    target: str | None = None,
    max_levels: int = MAX_LEVELS,
    min_count: int | None = None,
    drop: str = "none",
    hashing: int | None = None,
) -> Schema:
    """Decide what each column becomes.

    Parameters
    ----------
    facts : TableFacts
        Of all batches.
    overrides : mapping from column to "number", "boolean", "categorical", "date" or "drop", optional
        Columns whose type should not be inferred.
    target : str, optional
        The column to predict, which is not encoded.
    max_levels : int, default 100
        The most frequent levels of a category that get a column each; the others share one.
    min_count : int, optional
        Levels with fewer rows share a column; 10, or 2 % of the rows where that is less.
    drop : {"none", "first"}, default "none"
        Whether the most frequent level has no column. With a prior on the weights keep them all: no level is special,
        and the prior makes the weights unique. Without a prior, columns that sum to one are collinear with the
        intercept: drop the first.
    hashing : int, optional
        A category of more than ``max_levels`` levels gets so many columns, and each level the one that its hash says;
        none is rare, or unseen. By default the levels beyond ``max_levels`` share one column.

    Raises
    ------
    DataError
        For a table without rows, and for overrides of columns that are not there or cannot be what they should.

    Examples
    --------
    >>> import pandas as pd
    >>> from separatrix.table import infer_types, table_facts
    >>> table = pd.DataFrame({"age": [40, None, 60], "colour": ["red", "blue", "red"], "planet": "earth"})
    >>> schema = infer_types(table_facts(table))
    >>> schema.columns
    ('age', 'age is missing', 'colour=red', 'colour=blue')
    >>> schema.encode(table)
    array([[40.,  0.,  1.,  0.],
           [50.,  1.,  0.,  1.],
           [60.,  0.,  1.,  0.]])
    >>> schema.notes
    ("planet was dropped: every value is 'earth'.",)
    """
    check_option("infer_types", "drop", drop, ("none", "first"))
    if not facts.n_rows:
        raise DataError("The table has no rows, so nothing is known about its columns (n_samples = 0).")
    rare = min(RARE_ROWS, math.ceil(RARE_SHARE * facts.n_rows))
    options = Options(
        check_count("infer_types", "max_levels", max_levels),
        check_count("infer_types", "min_count", rare if min_count is None else min_count),
        drop,
        None if hashing is None else check_count("infer_types", "hashing", hashing, least=2),
    )
    chosen = _checked(overrides or {}, facts, target)
    plans = [
        _BY_KIND[chosen[name]](name, column, options) if name in chosen else _inferred(name, column, options)
        for name, column in facts.columns.items()
        if name != target
    ]
    return Schema(tuple(plans), facts.n_rows)


def _checked(overrides: Mapping[str, str], facts: TableFacts, target: str | None) -> dict[str, str]:
    for name in [*overrides, *([] if target is None else [target])]:
        if name not in facts.columns:
            raise DataError(f"The table has no column {name!r}.{did_you_mean(name, facts.columns)}")
    for name, kind in overrides.items():
        if kind not in KINDS:
            raise DataError(f"Column {name!r} cannot be {kind!r}: that is no type.{did_you_mean(str(kind), KINDS)}")
    return dict(overrides)


def _inferred(name: str, facts: ColumnFacts, options: Options) -> Plan:
    if facts.count == 0:
        return DropPlan(name, "empty", "every value is missing")
    if facts.kind is Kind.OTHER:
        return DropPlan(name, "other", f"its values are neither numbers, text nor dates, such as {facts.example}")
    if facts.levels.n_distinct == 1 and not facts.n_missing:
        return DropPlan(name, "constant", f"every value is {only_value(facts)}")
    if facts.numbers and facts.numbers.count and not facts.declared:
        return _number_or_id(name, facts, options)
    if facts.dates and facts.dates.count and not facts.declared:
        return _guessed_date(name, facts, options) if facts.as_dates.way in SHORT else _date(name, facts, options)
    plan = _text(name, facts, options)
    if isinstance(plan, DropPlan) and _are_dates(facts):
        plan = replace(plan, why=f"{plan.why}; dates, but not all written alike: write them as YYYY-MM-DD")
    return plan


def _guessed_date(name: str, facts: ColumnFacts, options: Options) -> Plan:
    """Years of two digits leave so much open that days must not be months as well."""
    if not facts.as_dates.rival:
        return _date(name, facts, options)
    plan = _text(name, facts, options)
    if not isinstance(plan, DropPlan):
        return plan
    doubt = "dates with years of two digits, of which no day tells itself from a month: write them as YYYY-MM-DD"
    return replace(plan, why=f"{plan.why}; {doubt}")


def _are_dates(facts: ColumnFacts) -> bool:
    """Whether each value is a date in one way or another; by the first of them."""
    texts = [written(value) for value in islice(facts.levels.counts, 100)]
    return bool(texts) and all(any(read_dates([text], order) is not None for order in ORDERS) for text in texts)


def _number_or_id(name: str, facts: ColumnFacts, options: Options) -> Plan:
    reason = reason_for_id(name, facts)
    return DropPlan(name, "id", reason) if reason else _number(name, facts, options)


def _number(name: str, facts: ColumnFacts, options: Options) -> Plan:
    numbers = facts.numbers
    if numbers is None or not numbers.count:
        raise cannot_be(name, facts, "number")
    if facts.kind is Kind.BOOLEAN or set(map(written, facts.levels.counts)) == {"0", "1"}:
        return _boolean(name, facts, options)
    what = "durations in days" if facts.kind is Kind.DURATION else "whole numbers" if numbers.whole else "numbers"
    what = f"text that holds {what}" if facts.kind is Kind.TEXT else what
    found = facts.as_numbers
    written_as = f"{found.way} {found.unit}".strip()
    like = f", written like {written_as}" if written_as != PLAIN else ""
    plan = _number_plan(
        name, "number", f"{what} from {brief(numbers.low)} to {brief(numbers.high)}{like}", facts, numbers
    )
    if isinstance(plan, DropPlan):
        return plan
    return replace(plan, spelling=found.way, unit=found.unit or "", note=_two_ways(name, facts))


def _two_ways(name: str, facts: ColumnFacts) -> str:
    """A sentence where every number could be another one, were it written in another way."""
    found = facts.as_numbers
    rival = found.facts.get(found.rival)
    if facts.kind is not Kind.TEXT or found.best is None or rival is None:
        return ""
    return (
        f"{name} was read as numbers like {found.way}, up to {brief(found.best.high)}; every value could be one like "
        f"{found.rival} as well, up to {brief(rival.high)}. If that is meant, write them with a decimal point and "
        "nothing between thousands."
    )


def _number_plan(
    name: str, kind: str, what: str, facts: ColumnFacts, numbers: NumberFacts, words: dict[str, float] | None = None
) -> NumberPlan | DropPlan:
    n_gaps = facts.n_rows - numbers.count
    is_constant = numbers.low == numbers.high
    if is_constant and not n_gaps:
        return DropPlan(name, "constant", f"every value is {only_value(facts)}")
    gaps = f"; {share_missing(n_gaps, facts.n_rows)}, set to the mean" if n_gaps else ""
    return NumberPlan(name, kind, what + gaps, numbers.mean, bool(n_gaps), is_constant, words or {})


def _boolean(name: str, facts: ColumnFacts, options: Options) -> Plan:
    """0 and 1 as they are; of two other values the second in order is 1, and of yes and no it is yes."""
    levels = facts.levels.counts
    if facts.kind is Kind.BOOLEAN or (facts.numbers and set(map(written, levels)) <= {"0", "1"}):
        assert facts.numbers is not None
        what = Kind.BOOLEAN.value if facts.kind is Kind.BOOLEAN else "0 and 1"
        return _number_plan(name, "boolean", what, facts, facts.numbers)
    if len(levels) != 2:
        raise cannot_be(name, facts, "boolean")
    no, yes = _yes_no(levels) or sorted(levels)
    numbers = NumberFacts.of(np.array([0.0, 1.0]), np.array([levels[no], levels[yes]]))
    words = {written(no): 0.0, written(yes): 1.0}
    return _number_plan(name, "boolean", f"{written(no)!r} and {written(yes)!r}", facts, numbers, words)


def _yes_no(levels: Mapping[Level, int]) -> tuple[str, str] | None:
    """The word for no and the word for yes, if that is what the levels are."""
    spelled = {str(level).strip().casefold(): str(level) for level in levels}
    pair = next((pair for pair in YES_NO if set(pair) == set(spelled)), None)
    return None if pair is None or len(levels) != 2 else (spelled[pair[1]], spelled[pair[0]])


def _date(name: str, facts: ColumnFacts, options: Options) -> Plan:
    dates = facts.dates
    if dates is None or not dates.count:
        raise cannot_be(name, facts, "date")
    span = dates.high - dates.low
    shown = {"month": span >= 365, "weekday": span >= 14, "hour": facts.timed and span >= 2}
    n_gaps = facts.n_rows - dates.count
    what = "text that holds dates" if facts.kind is Kind.TEXT else "dates"
    first, last = (np.datetime64(int(np.floor(day)), "D") for day in (dates.low, dates.high))
    if not (span or n_gaps):
        return DropPlan(name, "constant", f"every value is {first}")
    gaps = f"; {share_missing(n_gaps, facts.n_rows)}" if n_gaps else ""
    cycles = tuple(cycle for cycle, is_shown in shown.items() if is_shown)
    order = facts.as_dates.way
    why = f"{what} from {first} to {last}{'' if order == YEAR_FIRST else f', {order}'}{gaps}"
    origin = float(np.floor(dates.low))
    note = _two_orders(name, facts)
    return DatePlan(name, "date", why, origin, dates.mean, cycles, bool(n_gaps), span == 0, order, note)


def _two_orders(name: str, facts: ColumnFacts) -> str:
    """A sentence where no day is after the twelfth, so that days could be months."""
    found = facts.as_dates
    if not found.rival:
        return _century(name, facts) if found.way in SHORT else ""
    return (
        f"{name} was read as dates with the {found.way}; every one, such as {facts.example}, could have the "
        f"{found.rival} as well. To be sure, write them as YYYY-MM-DD."
    )


def _century(name: str, facts: ColumnFacts) -> str:
    """A sentence on what years of two digits were taken for."""
    assert facts.dates is not None, "there are dates where there is an order of them"
    first, last = (str(np.datetime64(int(np.floor(day)), "D"))[:4] for day in (facts.dates.low, facts.dates.high))
    return (
        f"{name} was read as dates with the {facts.as_dates.way}, {first} to {last}: {PIVOT} to 99 are taken for "
        f"19{PIVOT} to 1999, 00 to {PIVOT - 1} for 2000 to 20{PIVOT - 1}. If not, write them as YYYY-MM-DD."
    )


def _text(name: str, facts: ColumnFacts, options: Options) -> Plan:
    distinct = facts.levels.n_distinct
    if _yes_no(facts.levels.counts):
        return _boolean(name, facts, options)
    if not facts.declared and distinct > max(FEW_LEVELS, facts.count / 2):
        how = "nearly all" if distinct >= 0.9 * facts.count else "most"
        return DropPlan(name, "id or text", f"{how} values are different ({how_many(facts)})")
    if facts.levels.overflowed and not options.hashes(facts):
        return DropPlan(name, "id or text", f"too many different values ({how_many(facts)})")
    return category(name, facts, options)


def _dropped(name: str, facts: ColumnFacts, options: Options) -> Plan:
    return DropPlan(name, "dropped", "as asked")


_BY_KIND: dict[str, Callable[[str, ColumnFacts, Options], Plan]] = {
    "number": _number,
    "boolean": _boolean,
    "categorical": category,
    "date": _date,
    "drop": _dropped,
}
