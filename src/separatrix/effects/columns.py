# SPDX-License-Identifier: BSD-3-Clause
"""Columns of the user's table, and changes of their values whose effect on predictions is computed.

A model sees numbers: the columns themselves, or the features in which `TableClassifier` encodes them. A `Column` knows
its features, encodes new values, and reads numbers and dates back from the features. A change of one column therefore
changes all of its features at once: the indicators of all levels, and the functions of a basis that depend on them.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from separatrix._arguments import as_float
from separatrix._array import Array, Codes, Float, to_dense
from separatrix._output import label_text
from separatrix._text import did_you_mean, option
from separatrix.exceptions import DataError
from separatrix.rows import Block
from separatrix.stats import ClassMoments, column_moments
from separatrix.table import (
    MISSING,
    OTHER,
    CategoryPlan,
    DatePlan,
    HashPlan,
    Kind,
    NumberPlan,
    Plan,
    Schema,
    TextPlan,
    Values,
    as_text,
    read_values,
)

DATE_STEPS = (1.0, 7.0, 30.0, 365.0)  # days; the default step is the largest that does not exceed the deviation
LEVEL_PAIRS = ("reference", "pairwise", "sequential")
NUMBER_STEPS = ("sd",)


def round_step(step: float) -> float:
    """1, 2 or 5 times a power of ten, whichever is nearest in ratio.

    >>> round_step(37.0), round_step(0.13)
    (50.0, 0.1)
    """
    power = 10.0 ** math.floor(math.log10(step))
    return min((power * m for m in (1, 2, 5, 10)), key=lambda s: abs(math.log(s / step)))


@dataclass(frozen=True, eq=False)
class Survey:
    """What default steps depend on: moments, range, and whether all values are whole numbers, of each feature."""

    moments: ClassMoments[Any]
    low: Float
    high: Float
    is_whole: Array

    def __add__(self, other: Survey) -> Survey:
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return Survey(self.moments + other.moments, low, high, self.is_whole & other.is_whole)

    @property
    def std(self) -> Float:
        """Standard deviation of each feature."""
        return np.asarray(np.sqrt(self.moments.scatter.squares[0] / self.moments.count[0]))

    @property
    def is_binary(self) -> Array:
        """Whether a feature has the values 0 and 1."""
        return np.asarray(self.is_whole & (self.low == 0.0) & (self.high == 1.0))


def survey_block(block: Block) -> Survey:
    """Survey of one block."""
    X = to_dense(block.X)
    with np.errstate(invalid="ignore"):
        is_whole = (np.rint(X) == X).all(axis=0)
    return Survey(column_moments(replace(block, X=X)), X.min(axis=0), X.max(axis=0), is_whole)


@dataclass(frozen=True, eq=False)
class Column:
    """A column of the user's table, and the positions ``place`` of its features among those that the model sees.

    The last position is that of the indicator of new levels, if there is one. ``order`` are the levels of an ordered
    category in the user's table, lowest first.
    """

    plan: Plan
    place: Codes
    order: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.plan.column

    @property
    def is_numeric(self) -> bool:
        """Whether the column has steps and slopes: it contains numbers other than 0 and 1, or dates."""
        plan = self.plan
        return isinstance(plan, NumberPlan | DatePlan) and plan.kind in ("number", "date") and not plan.constant

    @property
    def has_gaps(self) -> bool:
        """Whether missing numbers or dates are flagged."""
        return isinstance(self.plan, NumberPlan | DatePlan) and self.plan.indicator

    @property
    def levels(self) -> tuple[Any, ...]:
        """Values that are compared by default, in their order or sorted; empty if they are not known."""
        plan = self.plan
        if isinstance(plan, CategoryPlan):
            place = {level: i for i, level in enumerate(self.order)}
            return tuple(sorted(plan.levels, key=lambda level: (place.get(level, len(place)), _sorted_as(level))))
        if not isinstance(plan, NumberPlan) or self.is_numeric or plan.constant:
            return ()
        if plan.words:
            return tuple(sorted(plan.words, key=plan.words.__getitem__))
        return (False, True) if plan.why.startswith(Kind.BOOLEAN.value) else (0, 1)

    def encode(self, values: Values) -> Float:
        """Features of some values, (n, m)."""
        row, column, value, *_ = self.plan.entries(values)
        features = np.zeros((len(values.codes) or len(values.numbers), len(self.place)))
        features[row, column] = value
        return features

    def features_of(self, owner: str, value: Any) -> Float:
        """Features of a value that the user gives, (m,); raises if the model does not know the value."""
        plan, given = self.plan, value
        if isinstance(plan, CategoryPlan) and value in (OTHER, MISSING):
            given = plan.pooled[0] if value == OTHER and plan.pooled else None if value == MISSING else value
        cell = np.empty(1, dtype=object)
        cell[0] = None if given == MISSING else given
        values = read_values(cell)
        if plan.entries(values).unseen:
            if values.missing[0]:  # the prior alone would decide
                hint = " It had no missing values in training."
            elif isinstance(plan, CategoryPlan):
                hint = did_you_mean(as_text(value), plan.levels)
            elif self.levels:
                hint = f" Its values are {' and '.join(map(repr, self.levels))}."
            else:
                hint = f" It contains {plan.type}s."
            raise DataError(f"{owner}: {value!r} is not a value of column {self.name!r}.{hint}")
        return np.asarray(self.encode(values)[0])

    @property
    def range(self) -> tuple[float, float] | None:
        """Smallest and largest first feature in training; None if the model does not contain them."""
        plan = self.plan
        if not isinstance(plan, NumberPlan | DatePlan) or plan.low is None or plan.high is None:
            return None
        origin = plan.origin if isinstance(plan, DatePlan) else 0.0
        return plan.low - origin, plan.high - origin

    def is_whole(self, survey: Survey) -> bool:
        """Whether the numbers are whole; missing ones are filled with a mean, which need not be."""
        return bool(survey.is_whole[self.place[0]]) or (isinstance(self.plan, NumberPlan) and self.plan.whole)

    def value_of(self, features: Float) -> Any:
        """The number or the date with these features, (m,)."""
        x = float(features[0])
        if isinstance(self.plan, DatePlan):
            return dt.datetime(1970, 1, 1) + dt.timedelta(days=x + self.plan.origin)
        return int(x) if x.is_integer() else x

    def numbers(self, X: Float) -> Float:
        """The numbers, or the days since 1970, in rows of features (n, D); NaN if missing."""
        plan, x = self.plan, X[:, self.place[0]]
        assert isinstance(plan, NumberPlan | DatePlan), "a column of numbers or dates"
        if plan.indicator:
            x = np.where(X[:, self.place[len(plan.names) - 1]] == 1.0, np.nan, x)
        return x + plan.origin if isinstance(plan, DatePlan) else x

    def moved(self, X: Float, step: float) -> Float:
        """Features (n, m) of all values plus a step; missing values stay missing."""
        kind = Kind.DATE if isinstance(self.plan, DatePlan) else Kind.NUMBER
        return self.encode(Values(kind, self.numbers(X) + step))


def plain_columns(names: Sequence[str]) -> tuple[Column, ...]:
    """Columns that a model uses as they are. Missing values stay NaN, so that an error names them."""
    plans = (NumberPlan(name, "number", "", math.nan, False, False, {}) for name in names)
    return tuple(Column(plan, np.array([d])) for d, plan in enumerate(plans))


def encoded_columns(schema: Schema, orders: Mapping[str, tuple[str, ...]] | None = None) -> tuple[Column, ...]:
    """Columns of a table that an encoder turns into features, with the ``orders`` of ordered categories."""
    found = []
    for plan in schema.plans:
        if plan.width:
            place = [*schema.groups[plan.column], *[schema.new_levels.get(plan.column, -1)]]
            order = (orders or {}).get(plan.column, ())
            found.append(Column(plan, np.array([at for at in place if at >= 0]), order))
    return tuple(found)


def level_orders(data: Any) -> dict[str, tuple[str, ...]]:
    """Levels of each ordered category of a table in memory, lowest first."""
    if not nw.dependencies.is_into_dataframe(data):
        return {}
    types = nw.from_native(data, eager_only=True).schema
    ordered = {name: kind.categories for name, kind in types.items() if isinstance(kind, nw.Enum)}
    return {name: tuple(as_text(level) or MISSING for level in levels) for name, levels in ordered.items()}


def _sorted_as(level: str) -> tuple[float, str]:
    """Numbers come first, in their order."""
    return (int(level), "") if level.isdecimal() else (math.inf, level)


def with_levels(column: Column, survey: Survey) -> Column:
    """The column; as a boolean if a model uses it as it is and its values are 0 and 1, which are then compared."""
    plan = column.plan
    is_binary = isinstance(plan, NumberPlan) and not plan.why and survey.is_binary[column.place[0]]
    return Column(replace(plan, kind="boolean"), column.place) if is_binary else column


class Edit(NamedTuple):
    """A change of one column in all rows: to the ``features`` of a value, or by a ``step``."""

    column: Column
    value: Any
    features: Float | None = None
    step: float = 0.0

    @property
    def label(self) -> str:
        """The value in words."""
        return value_text(self.value)

    def apply(self, X: Float) -> None:
        """Change rows of features (n, D) in place."""
        X[:, self.column.place] = self.column.moved(X, self.step) if self.features is None else self.features

    @property
    def key(self) -> tuple[Any, ...]:
        """Edits with equal keys are equal."""
        return self.column.name, None if self.features is None else self.features.tobytes(), self.step


class Contrast(NamedTuple):
    """Two settings of a column that are compared; no edit means the observed values."""

    label: str
    low: Edit | None
    high: Edit


def edit_to(owner: str, column: Column, value: Any) -> Edit:
    """Set a column to a value in all rows."""
    features = column.features_of(owner, value)
    is_gap = value in (None, MISSING) or (isinstance(value, float) and math.isnan(value))
    if isinstance(value, str) and column.is_numeric and not is_gap:
        value = column.value_of(features)
    return Edit(column, MISSING if is_gap else value, features)


def contrasts_of(owner: str, column: Column, wanted: Any, survey: Survey) -> list[Contrast]:
    """Contrasts of a column, as the user wants them: a step, the name of a rule, or a list of values.

    None is the default: levels against the first, numbers for a round step near one standard deviation.
    """
    name = column.name
    rules = (*LEVEL_PAIRS, *NUMBER_STEPS)
    remedy = {
        "remedy": f"List the values to compare: variables={{{name!r}: [value, other value]}}.",
        "option": f"List the values to compare: {option('--variable', name)} --values VALUE,VALUE",
    }
    if isinstance(wanted, str) and wanted not in rules:
        hint = did_you_mean(wanted, rules)
        raise DataError(f"{owner}: {wanted!r} is not a comparison for {name!r}.{hint}", **remedy)
    if isinstance(wanted, Sequence | np.ndarray) and not isinstance(wanted, str):
        if len(wanted) < 2:
            raise DataError(f"{owner}: variables={{{name!r}: {wanted!r}}} needs two values or more to compare.")
        return _between(owner, column, list(wanted), "reference")
    if column.levels and (wanted is None or wanted in LEVEL_PAIRS):
        return _between(owner, column, list(column.levels), wanted or "reference")
    if not column.is_numeric:
        kind = {TextPlan: "text", HashPlan: "a hashed category"}.get(type(column.plan), f"of type {column.plan.kind}")
        what = "step" if column.levels else "default comparison"
        raise DataError(f"{owner}: column {name!r} is {kind}, so it has no {what}.", **remedy)
    if wanted in LEVEL_PAIRS:
        raise DataError(f"{owner}: column {name!r} has no levels, so {wanted!r} does not apply.", **remedy)
    step = default_step(column, survey) if wanted is None else _step(owner, column, wanted, survey)
    unit = "" if not isinstance(column.plan, DatePlan) else " day" if abs(step) == 1 else " days"
    return [Contrast(f"{step:+g}{unit}", None, Edit(column, step, None, step))]


def default_step(column: Column, survey: Survey) -> float:
    """A round step near one standard deviation of the column; at least 1 for whole numbers."""
    std = float(survey.std[column.place[0]])
    if not std > 0:
        return 1.0
    if isinstance(column.plan, DatePlan):
        return max((days for days in DATE_STEPS if days <= std), default=round_step(std))
    return max(1.0, round_step(std)) if column.is_whole(survey) else round_step(std)


def _step(owner: str, column: Column, wanted: Any, survey: Survey) -> float:
    if isinstance(wanted, str):
        std = float(survey.std[column.place[0]])
        return max(1.0, round(std)) if isinstance(column.plan, DatePlan) else std
    if isinstance(wanted, dt.timedelta | np.timedelta64) and isinstance(column.plan, DatePlan):
        return float(np.timedelta64(wanted) / np.timedelta64(1, "D"))
    step = as_float(wanted)
    if not (math.isfinite(step) and step):
        raise DataError(
            f"{owner}: variables={{{column.name!r}: {wanted!r}}} is not a step. Give a number other than 0, 'sd', or a "
            "list of the values to compare."
        )
    return step


def _between(owner: str, column: Column, values: list[Any], rule: str) -> list[Contrast]:
    edits = [edit_to(owner, column, value) for value in values]
    if rule == "pairwise":
        pairs = list(combinations(edits, 2))
    else:
        pairs = list(pairwise(edits)) if rule == "sequential" else [(edits[0], other) for other in edits[1:]]
    return [Contrast(f"{high.label} vs. {low.label}", low, high) for low, high in pairs]


def grid_values(column: Column, survey: Survey, n_points: int) -> list[Any]:
    """Values at which predictions are computed: all levels, or round numbers from the smallest to the largest."""
    if column.levels:
        return list(column.levels)
    if not column.is_numeric:
        return []
    low, high = float(survey.low[column.place[0]]), float(survey.high[column.place[0]])
    if isinstance(column.plan, DatePlan):
        origin = np.datetime64(0, "D") + np.timedelta64(round(column.plan.origin), "D")
        days = np.unique(np.rint(np.linspace(low, high, n_points)))
        return [(origin + np.timedelta64(int(day), "D")).item() for day in days]
    if not high > low:
        return [low]
    step = round_step((high - low) / n_points)
    if column.is_whole(survey):
        step = max(step, 1.0)
    inside = range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    return sorted({low, high, *(float(f"{step * i:.12g}") for i in inside)})


def value_text(value: Any) -> str:
    """A value in a label."""
    return f"{value:g}" if isinstance(value, float | np.floating) else label_text(value)


def wanted_columns(
    owner: str, columns: Sequence[Column], wanted: Any, dropped: Mapping[str, str]
) -> dict[str, tuple[Column, Any]]:
    """The columns that the user names in ``variables``, with what is wanted of each; None stands for all columns."""
    if wanted is None:
        return {column.name: (column, None) for column in columns}
    if isinstance(wanted, str):
        wanted = [wanted]
    if isinstance(wanted, Mapping):
        items = list(wanted.items())
    elif isinstance(wanted, Iterable):
        items = [(name, None) for name in wanted]
    else:
        raise DataError(
            f"{owner}(variables={wanted!r}): name a column, list columns, or map columns to steps or values."
        )
    return {column.name: (column, what) for name, what in items for column in [find(owner, columns, name, dropped)]}


def find(owner: str, columns: Sequence[Column], name: Any, dropped: Mapping[str, str]) -> Column:
    """The column with this name; raises if the model does not use it."""
    by_name = {column.name: column for column in columns}
    if isinstance(name, str) and name in dropped:
        raise DataError(f"{owner}: the model does not use column {name!r}: {dropped[name]}.")
    if name not in by_name:
        raise DataError(f"{owner}: the model has no column {name!r}.{did_you_mean(str(name), by_name)}")
    return by_name[name]
