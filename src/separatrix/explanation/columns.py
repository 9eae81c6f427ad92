# SPDX-License-Identifier: BSD-3-Clause
"""Columns of the user's table: where each one is in an encoded row, and the values to which it may change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._array import Array, Codes, Float
from separatrix.table import MISSING, Batch, CategoryPlan, DatePlan, NumberPlan, Plan, Schema, read_values

DAY_US = 86_400_000_000
SHOWN_DIGITS, MAX_WHOLE = 4, 1e9  # significant digits of numbers, unless they are whole and smaller than this
MAX_SHOWN_LETTERS = 24  # longer values are cut


@dataclass(frozen=True, eq=False)
class Column:
    """A column of the user's table.

    ``place`` (m,) are its positions in an encoded row. A number or date may change between ``low`` and ``high``, by
    multiples of ``step`` if that is not 0; dates are days since 1970. A category may change to one of ``levels``, most
    frequent first. ``encode`` returns the features (G, m) of G numbers or levels; it is None if the column cannot be
    changed, for the reason ``why``.
    """

    name: str
    place: Codes
    encode: Callable[[Any], Float] | None = None
    low: float = np.nan
    high: float = np.nan
    step: float = 0.0
    levels: tuple[str, ...] = ()
    is_date: bool = False
    why: str = ""

    @property
    def is_number(self) -> bool:
        """Whether the column has a range, and not levels."""
        return not self.levels and np.isfinite(self.low) and self.high > self.low

    @property
    def can_change(self) -> bool:
        """Whether there are values to which the column may change."""
        return self.encode is not None and (self.is_number or len(self.levels) > 1)

    def show(self, value: Any) -> str:
        """Value as text: a number with a few digits, a date, or a level."""
        if not isinstance(value, float):
            text = str(value) or "''"
            return text if len(text) <= MAX_SHOWN_LETTERS else text[: MAX_SHOWN_LETTERS - 1] + "…"
        if np.isnan(value):
            return MISSING
        if self.is_date:
            return str(np.datetime64(0, "D") + np.timedelta64(int(np.floor(value)), "D"))
        is_whole = value == np.floor(value) and abs(value) < MAX_WHOLE
        return f"{value:.0f}" if is_whole else f"{value:.{SHOWN_DIGITS}g}"


def number_columns(names: Sequence[str], low: Float, high: Float) -> tuple[Column, ...]:
    """Columns of an array of numbers, with their ranges (D,); a range is NaN if unknown."""
    ends = zip(names, low.tolist(), high.tolist(), strict=True)
    return tuple(Column(name, np.array([d]), _as_feature, *at) for d, (name, *at) in enumerate(ends))


def columns_of_schema(schema: Schema) -> tuple[Column, ...]:
    """Columns of a table, from its schema."""
    plans = {plan.column: plan for plan in schema.plans}
    new = schema.new_levels
    places = {name: np.array([*place, *([new[name]] if name in new else [])]) for name, place in schema.groups.items()}
    return tuple(_column_of(plans[name], place) for name, place in places.items())


def _column_of(plan: Plan, place: Codes) -> Column:
    """The column of a plan. Texts, hashed categories, and columns that are only ever missing or not cannot change."""
    name = plan.column
    if isinstance(plan, CategoryPlan):
        return Column(name, place, _encoder(plan, len(place)), levels=plan.levels)
    if not isinstance(plan, NumberPlan | DatePlan) or plan.constant:
        return Column(name, place, why=f"its type is {plan.kind}")
    if isinstance(plan, NumberPlan) and plan.words:
        return Column(name, place, _encoder(plan, len(place)), levels=tuple(plan.words))
    if plan.low is None or plan.high is None:
        why = "the model was saved by a version that did not keep its range"
        return Column(name, place, why=why, is_date=isinstance(plan, DatePlan))
    if isinstance(plan, DatePlan):
        return Column(name, place, _date_encoder(plan, len(place)), plan.low, plan.high, 1.0, is_date=True)
    return Column(name, place, _encoder(plan, len(place)), plan.low, plan.high, float(plan.whole))


def _as_feature(x: Any) -> Float:
    return np.asarray(x, dtype=np.float64)[:, None]


def cells_of(schema: Schema, batch: Batch) -> tuple[tuple[Any, ...], ...]:
    """Values of each row: numbers, days since 1970, or texts; missing numbers are NaN, missing texts ``(missing)``."""
    plans = {plan.column: plan for plan in schema.plans}
    found = []
    for name in schema.groups:
        plan, values = plans[name], read_values(batch.columns[name])
        if isinstance(plan, DatePlan):
            found.append(values.as_dates(name, plan.order).tolist())
        elif isinstance(plan, NumberPlan) and not plan.words:
            found.append(values.as_numbers(name, plan.spelling, plan.unit).tolist())
        else:
            texts, codes = values.as_texts(name)
            found.append([texts[code] if code >= 0 else MISSING for code in codes.tolist()])
    return tuple(zip(*found, strict=True))


def _encoder(plan: Plan, width: int) -> Callable[[Any], Float]:
    def encode(values: Any) -> Float:
        given = np.asarray(values, dtype=object if isinstance(values, tuple | list) else None)
        entries = plan.entries(read_values(given))
        features = np.zeros((len(given), width))
        features[entries.row, entries.column] = entries.value
        return features

    return encode


def _date_encoder(plan: DatePlan, width: int) -> Callable[[Any], Float]:
    encode = _encoder(plan, width)

    def of_days(days: Array) -> Float:
        ticks = np.rint(np.asarray(days) * DAY_US).astype("timedelta64[us]")
        return encode(np.datetime64(0, "us") + ticks)

    return of_days
