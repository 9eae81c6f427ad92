# SPDX-License-Identifier: BSD-3-Clause
"""From facts to opinions: what each column is, why, and what it becomes. Rules, in the order they are asked:

1. every value missing, or every value the same: nothing to learn, dropped
2. numbers, also written as text: a number (0 and 1: boolean); whole numbers that only number the rows: an id, dropped
3. dates, also written as text: a date
4. text, two words that mean yes and no: boolean
5. text of which more than half is different: ids or free text, dropped
6. other text: categories; the rare ones share a level, or where there are very many and ``hashing`` says so, hashes do

A user who knows better says so in ``overrides``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from separatrix._arguments import check_count, check_option
from separatrix.data.table.batch import did_you_mean
from separatrix.data.table.facts import ColumnFacts, NumberFacts, TableFacts
from separatrix.data.table.hashing import HashPlan
from separatrix.data.table.levels import Level
from separatrix.data.table.plans import MISSING, OTHER, CategoryPlan, DatePlan, DropPlan, NumberPlan, Plan
from separatrix.data.table.schema import Schema
from separatrix.data.table.values import Kind
from separatrix.data.table.wording import brief, how_many, of_what, only_value, share_missing, written
from separatrix.exceptions import DataError

__all__ = ["KINDS", "infer_types"]

KINDS = ("number", "boolean", "categorical", "date", "drop")
MAX_LEVELS = 100
RARE_ROWS, RARE_SHARE = 10, 0.02  # a level is rare below ten rows, or below a share of rows where those are few
FEW_LEVELS = 10  # so few texts are categories, however small the table
YES_NO = [("yes", "no"), ("y", "n"), ("true", "false"), ("t", "f"), ("on", "off")]
ID_NAME = re.compile(r"(^|[^A-Za-z])(id|uuid|guid|key|index)$|[a-z](ID|Id)$", re.ASCII)


class Options(NamedTuple):
    """What `infer_types` was told about categories."""

    max_levels: int
    min_count: int
    drop: str
    hashing: int | None

    def hashes(self, facts: ColumnFacts) -> bool:
        """Whether a category has so many levels that they are hashed."""
        is_long = facts.levels.overflowed or facts.levels.n_distinct > self.max_levels
        return self.hashing is not None and is_long


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
    >>> from separatrix.data.table import infer_types, table_facts
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
        return _date(name, facts, options)
    return _text(name, facts, options)


def _number_or_id(name: str, facts: ColumnFacts, options: Options) -> Plan:
    numbers = facts.numbers
    assert numbers is not None
    all_different = numbers.count >= 20 and facts.levels.n_distinct >= _nearly_all(facts) * numbers.count
    if numbers.whole and all_different:
        if numbers.low in (0, 1) and numbers.high - numbers.low + 1 == numbers.count:
            return DropPlan(name, "id", f"it numbers the rows, from {numbers.low:.0f} to {numbers.high:.0f}")
        if ID_NAME.search(name):
            return DropPlan(name, "id", f"whole numbers, all different ({how_many(facts)}), with the name of an id")
    return _number(name, facts, options)


def _nearly_all(facts: ColumnFacts) -> float:
    """The share of different values that counts as all of them; an estimate is allowed its error."""
    return 0.9 if facts.levels.overflowed else 1.0


def _number(name: str, facts: ColumnFacts, options: Options) -> Plan:
    numbers = facts.numbers
    if numbers is None or not numbers.count:
        raise _cannot(name, facts, "number")
    if facts.kind is Kind.BOOLEAN or set(map(written, facts.levels.counts)) == {"0", "1"}:
        return _boolean(name, facts, options)
    what = "durations in days" if facts.kind is Kind.DURATION else "whole numbers" if numbers.whole else "numbers"
    what = f"text that holds {what}" if facts.kind is Kind.TEXT else what
    return _number_plan(name, "number", f"{what} from {brief(numbers.low)} to {brief(numbers.high)}", facts, numbers)


def _number_plan(
    name: str, kind: str, what: str, facts: ColumnFacts, numbers: NumberFacts, words: dict[str, float] | None = None
) -> Plan:
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
        raise _cannot(name, facts, "boolean")
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
        raise _cannot(name, facts, "date")
    span = dates.high - dates.low
    shown = {"month": span >= 365, "weekday": span >= 14, "hour": facts.timed and span >= 2}
    n_gaps = facts.n_rows - dates.count
    what = "text that holds dates" if facts.kind is Kind.TEXT else "dates"
    first, last = (np.datetime64(int(np.floor(day)), "D") for day in (dates.low, dates.high))
    if not (span or n_gaps):
        return DropPlan(name, "constant", f"every value is {first}")
    gaps = f"; {share_missing(n_gaps, facts.n_rows)}" if n_gaps else ""
    cycles = tuple(cycle for cycle, is_shown in shown.items() if is_shown)
    why = f"{what} from {first} to {last}{gaps}"
    return DatePlan(name, "date", why, float(np.floor(dates.low)), dates.mean, cycles, bool(n_gaps), span == 0)


def _text(name: str, facts: ColumnFacts, options: Options) -> Plan:
    distinct = facts.levels.n_distinct
    if _yes_no(facts.levels.counts):
        return _boolean(name, facts, options)
    if not facts.declared and distinct > max(FEW_LEVELS, facts.count / 2):
        how = "nearly all" if distinct >= 0.9 * facts.count else "most"
        return DropPlan(name, "id or text", f"{how} values are different ({how_many(facts)})")
    if facts.levels.overflowed and not options.hashes(facts):
        return DropPlan(name, "id or text", f"too many different values ({how_many(facts)})")
    return _category(name, facts, options)


def _category(name: str, facts: ColumnFacts, options: Options) -> Plan:
    if options.hashes(facts):
        return _hashed(name, facts, options)
    if facts.levels.overflowed or not facts.levels.counts:
        raise _cannot(name, facts, "categorical")
    counts = {written(level): count for level, count in facts.levels.counts.items()}
    n_gaps = facts.n_missing + counts.pop(MISSING, 0)
    ranked = sorted(counts, key=lambda level: (-counts[level], level))
    kept = [level for level in ranked[: options.max_levels] if counts[level] >= options.min_count and level != OTHER]
    pooled = [level for level in ranked if level not in set(kept)]
    if not n_gaps and len(kept) + bool(pooled) == 1:
        why = (
            f"none of its {len(pooled)} values is in {options.min_count} rows or more"
            if pooled
            else f"every value is {only_value(facts)}"
        )
        return DropPlan(name, "constant", why)
    rare = f", {len(pooled)} of them rare" if pooled else ""
    gaps = f"; {share_missing(n_gaps, facts.n_rows)}" if n_gaps else ""
    reference = kept[0] if options.drop == "first" and kept else ""
    base = f"; compared with {reference!r}" if reference else ""
    why = f"{of_what(facts)}{len(ranked)} {'level' if len(ranked) == 1 else 'levels'}{rare}{gaps}{base}"
    return CategoryPlan(name, "categorical", why, tuple(kept), tuple(pooled), bool(n_gaps), reference)


def _hashed(name: str, facts: ColumnFacts, options: Options) -> Plan:
    """Levels in the columns of their hashes; how many levels there are need not be known exactly."""
    assert options.hashing is not None
    gaps = f"; {share_missing(facts.n_missing, facts.n_rows)}" if facts.n_missing else ""
    about = "about " if facts.levels.overflowed else ""
    is_dropped = options.drop == "first"
    base = f"; compared with '{name}#0'" if is_dropped else ""
    why = f"{of_what(facts)}{about}{facts.levels.n_distinct} levels, hashed{gaps}{base}"
    return HashPlan(name, "categorical", why, options.hashing, bool(facts.n_missing), is_dropped)


def _dropped(name: str, facts: ColumnFacts, options: Options) -> Plan:
    return DropPlan(name, "dropped", "as asked")


def _cannot(name: str, facts: ColumnFacts, kind: str) -> DataError:
    example = f", such as {facts.example!r}" if facts.example and facts.kind is Kind.TEXT else ""
    holds = f"it holds {facts.kind.value}{example}, {facts.levels.n_distinct} different values"
    if kind == "categorical" and facts.levels.overflowed:
        limit = facts.levels.limit
        holds = f"{how_many(facts)} values are different, and only up to {limit} are counted (max_distinct={limit})"
    return DataError(f"Column {name!r} cannot be {kind!r}: {holds}. Drop it, or convert it first.")


_BY_KIND: dict[str, Callable[[str, ColumnFacts, Options], Plan]] = {
    "number": _number,
    "boolean": _boolean,
    "categorical": _category,
    "date": _date,
    "drop": _dropped,
}
