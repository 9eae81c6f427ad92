# SPDX-License-Identifier: BSD-3-Clause
"""Decide from its statistics what type each column has and how it is encoded. The rules, in order:

1. all values missing, or all values equal: dropped
2. numbers, including text that holds numbers: a number (boolean if 0 and 1 are the only values); ids are dropped
3. dates, including text that holds dates: a date
   In columns of text, a few values may be odd, that is, neither numbers nor dates; they are treated as missing, and so
   are the names of the columns if a header is repeated in the middle of the table
4. text whose only values are words for yes and no: boolean
5. text with more than ten distinct values that are more than half of its values, or with no value twice: free text if
   it reads like prose (`words.Prose`), otherwise an id or a name, dropped; repeated text with more levels than
   ``max_levels`` is free text if it is long
6. other text: a category; rare levels share one column, or all levels are hashed if ``hashing`` is set

``overrides`` replace the inferred type of a column.

**Ids.** Whole numbers that were assigned one by one identify the rows and carry no information about them. The rule
does not use the order of rows, so its statistics can be added over batches. If n values are drawn independently from R
whole numbers, with any distribution, the expected number of distinct values is at most R (1 - (1 - 1/R)^n), which the
uniform distribution attains; if n >= 2R/3, at least a quarter of the rows repeat a value. Values that are nearly all
distinct and fill half of their range are therefore counters, not measurements. This also holds for a random subset of
the rows: four fifths of the customers 10001 to 11000 fill four fifths of the range.

Values of time also fill their range but are not ids: years, days such as 20241231, seconds since 1970, and columns
named after a unit of time. A column named like an id is an id if nine of ten values are distinct, whatever their range
and however few the rows.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import compress, islice
from typing import Any, NamedTuple

import numpy as np

from separatrix._arguments import check_count, check_option
from separatrix._text import did_you_mean, type_setting
from separatrix.exceptions import DataError
from separatrix.table.hashes import MAX_EXACT
from separatrix.table.kinds import Kind
from separatrix.table.plans import (
    MISSING,
    NEW,
    OTHER,
    CategoryPlan,
    DatePlan,
    DropPlan,
    HashPlan,
    NumberPlan,
    OddCells,
    Plan,
    TextPlan,
)
from separatrix.table.schema import Schema
from separatrix.table.statistics import ColumnStatistics, Level, NumberStatistics, Readings, TableStatistics
from separatrix.table.text import (
    FIRST_YEAR_OF_1900S,
    ORDERS,
    PLAIN,
    SHORT_YEARS,
    SPELLINGS,
    YEAR_FIRST,
    format_number,
    parse_dates,
    read_numbers,
    tidy,
)
from separatrix.table.values import Place, as_text
from separatrix.table.words import MIN_ROWS, Prose, frequent_terms

TYPES = ("number", "boolean", "categorical", "date", "text", "drop")
MAX_LEVELS = 100
RARE_ROWS, RARE_FRACTION = 10, 0.02  # a level is rare below 10 rows, or below 2 % of the rows if that is fewer
ALWAYS_CATEGORY_LEVELS = 10  # text with at most this many distinct values is a category, however small the table
POOLED_LEVELS, POOLED_ROWS = 0.9, 0.2  # a note reports pooled levels above these fractions of the levels and rows
NO_YES = [("no", "yes"), ("n", "y"), ("false", "true"), ("f", "t"), ("off", "on")]

# Text is read as numbers or dates if at most 5 % of its values are odd (a single one is always allowed) and more than
# `ALWAYS_CATEGORY_LEVELS` distinct values are not odd, so that the sizes 1, 2 and XL remain a category.
MAX_ODD_FRACTION = 0.05
GRADE = re.compile(r"\(?(?:\d+|\d{1,2}[.,]5)\)?[-\u2212]?")  # such as 2-, 1.5- and (3), which may be negative numbers
MIN_AMOUNT = 100  # grades, lists and ages are smaller
MIN_NOTED_FRACTION = 0.5  # a note reports text in which at least this fraction of the values are numbers or dates
MIN_ID_ROWS = 20  # fewer numbers are ids only if the column is named like one, or has no name
MIN_DISTINCT_TEXTS = 5  # a column of fewer distinct texts is no id; in an id, new rows have other texts
ID_RANGE_FILLED = 0.5  # smallest number of distinct values of an id, relative to the length of their range
# Smallest fraction of distinct values of an id; the second applies to estimated counts and to columns named like ids.
ID_DISTINCT, ID_DISTINCT_IF_NAMED = 0.98, 0.9
# A column is named like an id if the last word of its name is one of these, or has one of these endings (German).
ID_WORDS = frozenset({"id", "ids", "uuid", "guid", "key", "index", "idx", "nr", "no", "num", "number", "phone", "tel"})
ID_ENDINGS = ("nr", "nummer")
# fmt: off
TIME_WORDS = frozenset({
    "date", "datetime", "day", "days", "week", "month", "year", "years", "hour", "hours", "minute", "second", "seconds",
    "time", "timestamp", "epoch", "age", "datum", "tag", "woche", "monat", "jahr", "stunde", "zeit",
})
# fmt: on
NAMELESS = re.compile(r"Unnamed: \d+|column \d+")  # the index of a data frame that was written to a file
CAMEL_CASE = re.compile(r"(?<=[a-z])(?=[A-Z])")
NAME_WORD = re.compile(r"[^\W\d_]+")
CALENDARS = [(1500.0, 2199.0), (15_000_101.0, 21_991_231.0), (1e8, 4.2e9), (1e11, 4.2e12)]  # years, days, seconds, ms


class Options(NamedTuple):
    """Options of `infer_types` for categories, and the names of rows in messages."""

    max_levels: int
    min_count: int
    drop: str
    hashing: int | None
    place: Place
    n_headers: int  # rows that repeat the names of the columns


def infer_types(
    statistics: TableStatistics,
    overrides: Mapping[str, str] | None = None,
    *,
    training: TableStatistics | None = None,
    target: str | None = None,
    max_levels: int = MAX_LEVELS,
    min_count: int | None = None,
    drop: str = "none",
    hashing: int | None = None,
) -> Schema:
    """Decide from the statistics of all batches how each column is encoded.

    ``overrides`` maps columns to types that are given instead of inferred: "number", "boolean", "categorical", "date",
    "text" or "drop". If only a part of the table are training rows, ``training`` has their statistics: types, formats
    and notes come from ``statistics``; means, levels, words and ranges of dates from ``training``. The column
    ``target`` is not encoded. See `TableEncoder` for the other options.

    Raises DataError if the table has no rows, or an override names a column that does not exist or a type that does not
    fit.
    """
    check_option("infer_types", "drop", drop, ("none", "first"))
    if statistics.columns and not statistics.n_rows:
        raise DataError("The table has no rows (n_samples = 0), so the types of its columns cannot be inferred.")
    if not any(name != target for name in statistics.columns):
        raise DataError(
            f"The table has no columns: Found 0 feature(s) (shape=({statistics.n_rows}, 0)) while a minimum of 1 is "
            "required. Pass a table with at least one column in addition to the labels."
        )
    rare = min(RARE_ROWS, math.ceil(RARE_FRACTION * (training or statistics).n_rows))
    options = Options(
        check_count("infer_types", "max_levels", max_levels),
        check_count("infer_types", "min_count", rare if min_count is None else min_count),
        drop,
        None if hashing is None else check_count("infer_types", "hashing", hashing, least=2),
        statistics.place,
        _n_headers(statistics),
    )
    overrides = overrides or {}
    for name in [*overrides, *([] if target is None else [target])]:
        if name not in statistics.columns:
            raise DataError(f"The table has no column {name!r}.{did_you_mean(name, statistics.columns)}")
    for name, kind in overrides.items():
        if kind not in TYPES:
            raise DataError(f"Column {name!r} cannot be {kind!r}: unknown type.{did_you_mean(str(kind), TYPES)}")
    plans = []
    read = {name: of if name in overrides else _without_grades(of) for name, of in statistics.columns.items()}
    for name, column in read.items():
        if name in overrides:
            plan = _PLAN_OF_TYPE[overrides[name]](name, column, options)
        elif name != target:
            plan = _noting_grades(_infer(name, column, options), statistics.columns[name], column)
        else:
            continue
        plans.append(plan if training is None else _learn(plan, column, training.columns[name], options))
    if options.n_headers:
        _note_headers(plans, statistics, options)
    schema = Schema(tuple(plans), statistics.n_rows)
    columns = schema.columns
    if len(set(columns)) < len(columns):
        twice = Counter(columns).most_common(1)[0][0]
        raise DataError(f"Two columns are encoded as features with the same name, {twice!r}. Rename one of them.")
    return schema


def _n_headers(statistics: TableStatistics) -> int:
    """Number of rows that repeat the names of the columns, as in files that were joined with their headers.

    Every column is then text and contains its own name. Values that are not counted exactly show their first odd value.
    """
    counts = []
    for name, column in statistics.columns.items():
        if column.n_missing == column.n_rows:
            continue
        n = column.levels.counts.get(name, 0)
        if column.levels.hashes:
            n = column.as_numbers.n_odd if _odd_text_is(name, column.as_numbers) else 0
            if not n and not column.as_numbers.best.count:  # text with many distinct values
                continue
        if column.kind is not Kind.TEXT or not n:
            return 0
        counts.append(n)
    return min(counts) if len(counts) > 1 else 0


def _odd_text_is(name: str, found: Readings) -> bool:
    return found.odd.get(found.key, (0, ""))[1] == name


def _note_headers(plans: list[Plan], statistics: TableStatistics, options: Options) -> None:
    """Add a note on repeated headers to the first plan that can have one."""
    n, columns = options.n_headers, statistics.columns.items()
    cells = [found.odd[found.key] for name, of in columns if _odd_text_is(name, found := of.as_numbers)]
    where = options.place(min(cells)[0]) if cells else ""
    if n == 1:
        text = f"{where or 'a row'}, a header in the middle of the table: remove it"
    else:
        text = f"{n:,} rows{where and f', first in {where}'}, headers in the middle of the table: remove them"
    for i, plan in enumerate(plans):
        if isinstance(plan, NumberPlan | DatePlan | CategoryPlan):
            note = f"The names of the columns are repeated in {text}. {plan.note}"
            plans[i] = replace(plan, note=note.strip())
            return


def _infer(name: str, column: ColumnStatistics, options: Options) -> Plan:  # noqa: PLR0911  # one return per rule
    levels, n_values = column.levels, column.n_rows - column.n_missing
    if not n_values:
        return DropPlan(name, "empty", "every value is missing")
    if column.kind is Kind.OTHER:
        return DropPlan(name, "other", f"its values are neither numbers, text nor dates, such as {column.example}")
    if levels.n_distinct == 1 and not column.n_missing:
        return DropPlan(name, "constant", f"every value is {_only_value(column)}")
    if column.kind is not Kind.TEXT and not (column.as_numbers.best.count or column.as_dates.best.count):
        return DropPlan(name, "empty", "every value is infinite or missing")
    if _are_read(name, column, column.as_numbers, options):
        reason = reason_for_id(name, column)
        return DropPlan(name, "id", reason) if reason else _number(name, column, options)
    advice = ""
    if _are_read(name, column, column.as_dates, options):
        if column.as_dates.key[0] not in SHORT_YEARS or not column.as_dates.rival:
            return _date(name, column, options)
        # With years of two digits, the order of day and month is not guessed.
        advice = "dates with years of two digits whose day and month cannot be distinguished: write them as YYYY-MM-DD"
    if len(levels.counts) == 2 and _yes_no(levels.counts):
        return _number(name, column, options, boolean=True)
    fraction = levels.n_distinct / n_values
    is_id = fraction == 1 and (n_values >= MIN_DISTINCT_TEXTS or (_is_named_id(name) and n_values > 1))
    if not column.declared and (is_id or (levels.n_distinct > ALWAYS_CATEGORY_LEVELS and fraction > 0.5)):
        many = "all" if fraction == 1 and not levels.hashes else "nearly all" if fraction >= 0.9 else "most"
        why = f"{many} values are distinct"
    elif levels.hashes and options.hashing is None:
        why = "too many distinct values"
    elif options.hashing is None and _is_long_text(column, options):
        why = "few values are frequent"
    else:
        return _category(name, column, options)
    return _distinct_text(name, column, f"{why} ({_n_distinct(column)})", advice, options)


def _is_long_text(column: ColumnStatistics, options: Options) -> bool:
    """Whether texts are long, and most rows would not have a level of their own; unless declared as a category."""
    frequent = sorted(column.levels.counts.values(), reverse=True)[: options.max_levels]
    n_kept = sum(n for n in frequent if n >= options.min_count)
    is_pooled = column.levels.n_distinct > options.max_levels and 2 * n_kept < column.n_rows - column.n_missing
    return is_pooled and not column.declared and Prose.of(column.documents).is_long


def _distinct_text(name: str, column: ColumnStatistics, why: str, advice: str, options: Options) -> Plan:
    """Plan text whose values are mostly distinct: free text, or ids and names, which are dropped with ``advice``."""
    first = list(filter(None, tidy(map(str, islice(column.levels.counts, 100)))))
    if not advice and first and not np.isnan([parse_dates(first, order) for order in ORDERS]).all(axis=0).any():
        advice = "dates in several formats: write them all as YYYY-MM-DD"
    advice = advice or _odd_text(name, column, options)
    prose = Prose.of(column.documents)
    if not advice and not prose.why_not:
        plan = _text(name, column, options)
        note = (
            f"{name!r} is read as free text: its values have {prose.n_words:.3g} words on average, and "
            f"{percent(prose.shared)} of the words occur in several values. If they are names or ids, leave the column "
            f"out: types={{{name!r}: 'drop'}} (--types {name}=drop)."
        )
        return replace(plan, note=note) if isinstance(plan, TextPlan) else plan
    if not advice and prose.n_words >= 1:
        advice = f"not free text, because {prose.why_not} (--types {name}=text uses its words)"
    return DropPlan(name, "id or name", f"{why}{advice and f'; {advice}'}")


def _are_read(name: str, column: ColumnStatistics, found: Readings, options: Options) -> bool:
    """Whether a column is read as numbers or dates."""
    if column.declared or not found.best.count:
        return False
    if column.kind is not Kind.TEXT or not found.n_odd or _is_header(name, found, options):
        return True
    n_regular = column.levels.n_distinct - found.n_odd  # lower bound on the distinct values that are not odd
    is_rare = found.n_odd <= max(1, MAX_ODD_FRACTION * found.n_values)
    return is_rare and n_regular > ALWAYS_CATEGORY_LEVELS and not found.padded


def _is_header(name: str, found: Readings, options: Options) -> bool:
    """Whether the only odd values are repeated headers."""
    return found.n_odd == options.n_headers and _odd_text_is(name, found)


def _without_grades(column: ColumnStatistics) -> ColumnStatistics:
    """The column without readings of 2- and (3) as negative numbers, if these may be grades, ranges or marks."""
    if column.kind is not Kind.TEXT or column.declared or not _may_be_grades(column):
        return column
    found = column.as_numbers
    kept = {key: numbers for key, numbers in found.formats.items() if not _is_of_accounts(key[0])}
    are_codes = _n_accounts(found) > max(1, MAX_ODD_FRACTION * found.n_values)  # like numbers with a leading zero
    return replace(column, as_numbers=replace(found, formats=kept, padded=found.padded or are_codes))


def _may_be_grades(column: ColumnStatistics) -> bool:
    """Whether the negative numbers of accounts may be something else.

    A value with thousands, a unit or decimals other than one half is an amount. Whole numbers and halves are amounts
    if both signs are frequent, few of them occur with both signs, and they reach `MIN_AMOUNT`.
    """
    found, levels = column.as_numbers, column.levels
    n_negative, n_read = _n_accounts(found), found.best.count
    if not n_negative:
        return False
    is_mixed = MAX_ODD_FRACTION * n_read < n_negative < n_read and max(-found.best.low, found.best.high) >= MIN_AMOUNT
    if levels.hashes:
        return found.best.whole and not is_mixed
    spelling, unit = found.key
    texts = list(map(str, levels.counts))
    numbers, plain = (read_numbers(texts, name, unit) for name in (spelling, _plain_spelling(spelling)))
    is_negative = np.isnan(plain) & ~np.isnan(numbers)
    if not all(GRADE.fullmatch(text.strip()) for text in compress(texts, is_negative)):
        return False
    is_few = levels.n_distinct <= ALWAYS_CATEGORY_LEVELS
    n_both = len(np.intersect1d(-numbers[is_negative], plain))
    return is_few or not is_mixed or n_both > is_negative.sum() / 2


def _is_of_accounts(spelling: str) -> bool:
    return spelling in SPELLINGS and SPELLINGS[spelling].negative != "-1"


def _plain_spelling(spelling: str) -> str:
    """The spelling with a minus sign in front of negative numbers."""
    return spelling.strip("()-")


def _n_accounts(found: Readings) -> int:
    """Number of values that are read as negative numbers although they have no minus sign in front."""
    spelling, unit = found.key
    if not _is_of_accounts(spelling):
        return 0
    return found.best.count - found.formats.get((_plain_spelling(spelling), unit), NumberStatistics()).count


def _noting_grades(plan: Plan, column: ColumnStatistics, read: ColumnStatistics) -> Plan:
    """The plan of a column of text, with a note if it was ``read`` without negative numbers of accounts."""
    if read is column:
        return plan
    name, found = plan.column, column.as_numbers
    spelling, unit = found.key
    texts = list(map(str, column.levels.counts)) or [column.example]
    plain = read_numbers(texts, _plain_spelling(spelling), unit)
    example = next(compress(texts, np.isnan(plain) & ~np.isnan(read_numbers(texts, spelling, unit))), texts[0])
    remedy = f"If {example!r} is a negative number, set the type: {type_setting(name, 'number')}"
    if isinstance(plan, CategoryPlan):
        return replace(plan, note=f"{plan.note} {name!r} is read as text. {remedy}.".strip())
    if isinstance(plan, DropPlan) and plan.kind in ("id or name", "rare levels"):
        return replace(plan, why=f"{plan.why}. {remedy}")
    return plan


def _odd_note(name: str, found: Readings, what: str, options: Options) -> str:
    """Note on values that are treated as missing."""
    row, text = found.odd[found.key]
    return str(OddCells(name, what, found.n_odd, text, row, options.place))


def _odd_text(name: str, column: ColumnStatistics, options: Options) -> str:
    """Note on text of more than `ALWAYS_CATEGORY_LEVELS` levels, many of which are numbers or dates, or ""."""
    for found, what in ((column.as_numbers, "number"), (column.as_dates, "date")):
        is_noted = found.best.count >= MIN_NOTED_FRACTION * found.n_values and not (found.padded or column.declared)
        if column.kind is Kind.TEXT and found.n_odd and is_noted:
            row, text = found.odd[found.key]
            return (
                f"{name!r} is read as text, since {found.n_odd:,} of its {found.n_values:,} values are not {what}s, "
                f"such as {text!r} in {options.place(row)}; {type_setting(name, what)} "
                "treats these values as missing"
            )
    return ""


def _learn(plan: Plan, column: ColumnStatistics, learned: ColumnStatistics, options: Options) -> Plan:
    """Plan of the same type and format, with means and levels of the training rows."""
    if isinstance(plan, DropPlan):
        return plan
    numbers, dates = (
        replace(mine, formats={whole.key: mine.formats[whole.key]} if whole.key in mine.formats else {})
        for mine, whole in ((learned.as_numbers, column.as_numbers), (learned.as_dates, column.as_dates))
    )
    learned = replace(learned, kind=column.kind, as_numbers=numbers, as_dates=dates, declared=column.declared)
    n_read = {"number": numbers.best.count, "date": dates.best.count}.get(plan.kind, learned.n_rows - learned.n_missing)
    if not n_read:
        return DropPlan(plan.column, "empty", "every value of the training rows is missing")
    if isinstance(plan, NumberPlan) and plan.words and len(learned.levels.counts) < 2:
        return DropPlan(plan.column, "constant", f"every value of the training rows is {_only_value(learned)}")
    found = _PLAN_OF_TYPE[plan.kind](plan.column, learned, options)
    if isinstance(found, NumberPlan | DatePlan | CategoryPlan | TextPlan) and type(found) is type(plan):
        return replace(found, kind=plan.kind, why=plan.why, note=plan.note)
    return found


def _words_of(name: str) -> list[str]:
    return NAME_WORD.findall(CAMEL_CASE.sub(" ", name).casefold())


def _is_named_id(name: str) -> bool:
    return any(word in ID_WORDS or word.endswith(ID_ENDINGS) for word in _words_of(name)[-1:])


def reason_for_id(name: str, column: ColumnStatistics) -> str:
    """Reason why a column of numbers is an id; "" if it is not an id."""
    numbers = column.as_numbers.best
    is_named, levels = _is_named_id(name), column.levels
    extent = numbers.high - numbers.low + 1
    is_index = NAMELESS.fullmatch(name) and numbers.low in (0, 1) and extent == levels.n_distinct
    if not numbers.whole or numbers.count < (2 if is_named or is_index else MIN_ID_ROWS):
        return ""
    if levels.n_distinct < (ID_DISTINCT_IF_NAMED if levels.hashes or is_named else ID_DISTINCT) * numbers.count:
        return ""
    in_calendar = any(low <= numbers.low and numbers.high <= high for low, high in CALENDARS)
    is_time = in_calendar or not TIME_WORDS.isdisjoint(_words_of(name))
    nearly = "" if levels.n_distinct == numbers.count else "nearly "
    if max(-numbers.low, numbers.high) > MAX_EXACT and extent < levels.n_distinct:  # float64 rounds them
        return f"whole numbers of more than 15 digits, {nearly}all distinct ({_n_distinct(column)})"
    if levels.n_distinct >= ID_RANGE_FILLED * extent and (is_named or not is_time):
        gaps = "" if extent == numbers.count else f", with gaps ({_n_distinct(column)} are distinct)"
        return f"it numbers the rows{gaps}, {from_to(numbers.low, numbers.high)}"
    return f"whole numbers, {nearly}all distinct ({_n_distinct(column)}), with the name of an id" if is_named else ""


def _number(name: str, column: ColumnStatistics, options: Options, *, boolean: bool = False) -> Plan:
    """Plan numbers. 0 and 1 are a boolean, and so is every column of two values if ``boolean`` is set.

    Of two values other than 0 and 1, 1 stands for yes or, if there is no yes, for the second in order.
    """
    found, numbers, levels = column.as_numbers, column.as_numbers.best, column.levels.counts
    values = set(map(as_text, levels)) if len(levels) <= 2 else set()
    words: dict[str, float] = {}
    form: dict[str, Any] = {}
    kind, what = "boolean", Kind.BOOLEAN.value if column.kind is Kind.BOOLEAN else "0 and 1"
    allowed = [{"0", "1"}, {"0"}, {"1"}] if boolean else [{"0", "1"}]
    is_0_or_1 = column.kind is Kind.BOOLEAN or values in allowed
    if boolean and not (numbers.count and is_0_or_1):
        if len(levels) != 2:
            raise _cannot_be(name, column, "boolean")
        no, yes = _yes_no(levels) or sorted(levels)
        numbers = NumberStatistics.of(np.array([0.0, 1.0]), np.array([levels[no], levels[yes]]))
        words = {as_text(no): 0.0, as_text(yes): 1.0}
        what = f"{as_text(no)!r} and {as_text(yes)!r}"
    elif not numbers.count:
        raise _cannot_be(name, column, "number")
    elif not is_0_or_1:
        kind, (spelling, unit) = "number", found.key
        what = "durations in days" if column.kind is Kind.DURATION else "whole numbers" if numbers.whole else "numbers"
        what = f"text that holds {what}" if column.kind is Kind.TEXT else what
        example = f"{spelling} {unit}".strip()
        like = f", written like {example}" if example != PLAIN else ""
        what = f"{what} {from_to(numbers.low, numbers.high)}{like}"
        is_noted = found.key in found.odd and not _is_header(name, found, options)
        notes = [_odd_note(name, found, "number", options)] if is_noted else []
        if n_accounts := _n_accounts(found):
            one, many = "1 value was read as a negative number", "values were read as negative numbers"
            read = one if n_accounts == 1 else f"{n_accounts:,} {many}"
            notes.append(
                f"{name!r}: {read}, written like {example}. If this is wrong, set the type: "
                f"{type_setting(name, 'categorical')}."
            )
        if column.kind is Kind.TEXT and found.rival:
            other = found.formats[found.rival, unit]
            notes.append(
                f"{name} was read as numbers like {spelling}, up to {brief(numbers.high)}; every value "
                f"could also be a number like {found.rival}, up to {brief(other.high)}. In that case write them with a "
                "decimal point and no thousands separator."
            )
        form = {"spelling": spelling, "unit": unit, "note": " ".join(notes)}
    n_missing, is_constant = column.n_rows - numbers.count, numbers.low == numbers.high
    if is_constant and not n_missing:
        return DropPlan(name, "constant", f"every value is {_only_value(column)}")
    why = f"{what}{_missing(n_missing, column.n_rows)}, set to the mean" if n_missing else what
    form |= {"low": numbers.low, "high": numbers.high, "whole": numbers.whole}
    return NumberPlan(name, kind, why, numbers.mean, bool(n_missing), is_constant, words, **form)


def _yes_no(levels: Mapping[Level, int]) -> tuple[str, str] | None:
    """The two levels as (no, yes), if they are words for no and yes; otherwise None."""
    spelled = {str(level).strip().casefold(): str(level) for level in levels}
    for no, yes in NO_YES:
        if spelled.keys() == {no, yes}:
            return spelled[no], spelled[yes]
    return None


def _date(name: str, column: ColumnStatistics, options: Options) -> Plan:
    dates, (order, _), rival = column.as_dates.best, column.as_dates.key, column.as_dates.rival
    if not dates.count:
        raise _cannot_be(name, column, "date")
    span = dates.high - dates.low
    n_missing = column.n_rows - dates.count
    first, last = (str(np.datetime64(int(np.floor(day)), "D")) for day in (dates.low, dates.high))
    if not (span or n_missing):
        return DropPlan(name, "constant", f"every value is {first}")
    what = "text that holds dates" if column.kind is Kind.TEXT else "dates"
    in_order = "" if order == YEAR_FIRST else f", {order}"
    why = f"{what} from {first} to {last}{in_order}{_missing(n_missing, column.n_rows)}"
    shown = {"month": span >= 365, "weekday": span >= 14, "hour": not dates.whole and span >= 2}
    cycles = tuple(cycle for cycle, is_shown in shown.items() if is_shown)
    found = column.as_dates
    is_noted = found.key in found.odd and not _is_header(name, found, options)
    notes = [_odd_note(name, found, "date", options)] if is_noted else []
    if rival:
        notes.append(
            f"{name} was read as dates with the {order}; every date, such as {column.example}, could "
            f"also have the {rival}. To be sure, write them as YYYY-MM-DD."
        )
    elif order in SHORT_YEARS:
        year = FIRST_YEAR_OF_1900S
        notes.append(
            f"{name} was read as dates with the {order}, {first[:4]} to {last[:4]}: {year} to 99 are read as 19{year} "
            f"to 1999, 00 to {year - 1} as 2000 to 20{year - 1}. If this is wrong, write them as YYYY-MM-DD."
        )
    origin, note = float(np.floor(dates.low)), " ".join(notes)
    has_indicator, extent = bool(n_missing), (dates.low, dates.high)
    return DatePlan(name, "date", why, origin, dates.mean, cycles, has_indicator, span == 0, order, note, *extent)


def _category(name: str, column: ColumnStatistics, options: Options) -> Plan:
    """Plan indicators of the frequent levels, or of hashes if there are many levels and ``hashing`` is set."""
    levels = column.levels
    what = "text" if column.kind is Kind.TEXT else "numbers used as names"
    if options.hashing is not None and (levels.hashes or levels.n_distinct > options.max_levels):
        about = "about " if levels.hashes else ""
        base = f"; compared with '{name}#0'" if options.drop == "first" else ""
        why = f"{what}, {about}{levels.n_distinct} levels, hashed{_missing(column.n_missing, column.n_rows)}{base}"
        return HashPlan(name, "categorical", why, options.hashing, bool(column.n_missing), options.drop == "first")
    if levels.hashes or not levels.counts:
        raise _cannot_be(name, column, "categorical")
    counts = dict(zip(map(as_text, levels.counts), levels.counts.values(), strict=True))
    n_missing = column.n_missing + counts.pop(MISSING, 0)
    ranked = sorted(sorted(counts), key=counts.__getitem__, reverse=True)  # by frequency, then by name
    kept: list[str] = []
    pooled: list[str] = []
    for rank, level in enumerate(ranked):
        is_kept = rank < options.max_levels and counts[level] >= options.min_count and level not in (OTHER, NEW)
        (kept if is_kept else pooled).append(level)
    if not n_missing and len(kept) + bool(pooled) == 1:
        if pooled:
            why = f"none of its {len(pooled)} values is in {options.min_count} rows or more"
            return DropPlan(name, "rare levels", why)
        return DropPlan(name, "constant", f"every value is {_only_value(column)}")
    reference = kept[0] if options.drop == "first" and kept else ""
    why = f"{what}, {len(ranked)} level{'s' * (len(ranked) != 1)}"
    why += f", {len(pooled)} of them rare" if pooled else ""
    why += _missing(n_missing, column.n_rows) if n_missing else ""
    why += f"; compared with {reference!r}" if reference else ""
    odd = _odd_text(name, column, options) if levels.n_distinct > ALWAYS_CATEGORY_LEVELS else ""
    notes = [f"{odd}."] if odd else []
    fraction = sum(map(counts.__getitem__, pooled)) / sum(counts.values())
    if len(pooled) >= POOLED_LEVELS * len(counts) and fraction >= POOLED_ROWS:
        notes.append(
            f"{name}: {len(pooled)} of {len(counts)} levels, with {percent(fraction)} of the rows, are rare (in fewer "
            f"than {options.min_count} rows, or not among the {options.max_levels} most frequent) and share one "
            "column. If they matter, group them into fewer levels (in Python, hashing=4096 hashes them); if they are "
            "names or ids, drop the column."
        )
    return CategoryPlan(
        name, "categorical", why, tuple(kept), tuple(pooled), bool(n_missing), reference, " ".join(notes)
    )


def _text(name: str, column: ColumnStatistics, options: Options) -> Plan:
    """Plan the weights of the words of free text."""
    documents = column.documents
    if not documents.rows:
        raise _cannot_be(name, column, "text")
    terms = frequent_terms(documents)
    if not terms.names:
        return DropPlan(name, "rare words", f"none of its words is in {MIN_ROWS} rows or more")
    sampled = f"; its words are from {len(documents.rows):,} of the distinct values" if documents.is_sample else ""
    why = f"text, {terms.n_words:.3g} words on average{_missing(column.n_missing, column.n_rows)}{sampled}"
    return TextPlan(name, "text", why, terms.names, terms.rarity, bool(column.n_missing))


_PLAN_OF_TYPE: dict[str, Callable[[str, ColumnStatistics, Options], Plan]] = {
    "number": _number,
    "boolean": partial(_number, boolean=True),
    "categorical": _category,
    "date": _date,
    "text": _text,
    "drop": lambda name, column, options: DropPlan(name, "dropped", "as requested"),
}


def _cannot_be(name: str, column: ColumnStatistics, kind: str) -> DataError:
    example = f", such as {column.example!r}" if column.example and column.kind is Kind.TEXT else ""
    reason = f"it has {column.kind.value}{example}, {column.levels.n_distinct} distinct values"
    if kind == "categorical" and column.levels.hashes:
        limit = column.levels.limit
        reason = f"{_n_distinct(column)} values are distinct, and at most {limit} are counted (max_distinct={limit})"
    return DataError(f"Column {name!r} cannot be {kind!r}: {reason}. Drop it, or convert it first.")


def _only_value(column: ColumnStatistics) -> str:
    level = next(iter(column.levels.counts))
    if isinstance(level, str) or column.kind is Kind.BOOLEAN:
        return repr(level if isinstance(level, str) else bool(level))
    return str(as_text(level))


def _n_distinct(column: ColumnStatistics) -> str:
    about = "about " if column.levels.hashes else ""
    return f"{about}{column.levels.n_distinct} of {column.n_rows - column.n_missing}"


def _missing(n_missing: int, n_rows: int) -> str:
    return f"; {n_missing} missing ({percent(n_missing / n_rows)})" if n_missing else ""


def brief(number: float, digits: int = 6) -> str:
    """Format a number with six significant digits; whole numbers below 1e9 are not rounded."""
    return format_number(number) if number.is_integer() and abs(number) < 1e9 else f"{number:.{digits}g}"


def from_to(low: float, high: float) -> str:
    """Format the ends of a range, with more than six digits if they would look equal."""
    digits = next((digits for digits in range(6, 18) if f"{low:.{digits}g}" != f"{high:.{digits}g}"), 6)
    return f"from {brief(low, digits)} to {brief(high, digits)}"


def percent(fraction: float) -> str:
    """Format a fraction in per cent, with two significant digits of the fraction or of 1 minus the fraction.

    Only 0 and 1 themselves are shown as 0 % and 100 %.

    Examples
    --------
    >>> [percent(fraction) for fraction in (0.0, 0.00156, 0.0313, 0.01, 0.27, 0.9987, 1.0)]
    ['0 %', '0.16 %', '3.1 %', '1 %', '27 %', '99.87 %', '100 %']
    """
    least = 100 * min(fraction, 1.0 - fraction)
    digits = 0 if least >= 9.95 or not 0.0 < fraction < 1.0 else 1 - math.floor(math.log10(least * 1.005))
    rounded = f"{100 * fraction:.{min(digits, 12)}f}"
    return f"{rounded.rstrip('0').rstrip('.') if digits else rounded} %"
