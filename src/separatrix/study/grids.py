# SPDX-License-Identifier: BSD-3-Clause
"""Values of one column of a table at which a model is asked, the numbers they become, and how many rows are near.

Numbers are asked for at quantiles, close together where rows are many and in both tails, and at even steps over the
range, so that a curve is followed to its ends. Dates are asked for at even steps: those of a cycle that the steps could
not follow, such as the week over a year, are whole turns of it, so that it stands still and the curve does not zigzag.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._array import Array, Float
from separatrix.table import MISSING, OTHER, CategoryPlan, DatePlan, NumberPlan, Plan, read_values

__all__ = ["Grid", "grid_of"]

LEVELS = (0, 0.005, 0.01, 0.025, 0.05, *np.arange(0.1, 0.91, 0.1).tolist(), 0.95, 0.975, 0.99, 0.995, 1)  # quantiles
N_EVEN = 16
POINTS = len(LEVELS) + N_EVEN - 2
WEEK = 7.0
TURNS = {"hour": 1.0, "weekday": WEEK, "month": 365.25}  # days of each cycle, short ones first
FOLLOWED = 4  # steps to a turn, with which a cycle is seen as one
DAY = np.timedelta64(86_400_000_000, "us")


@dataclass(frozen=True, eq=False)
class Grid:
    """``values`` (G,) of a column, the ``numbers`` (G, m) that they become, and the ``share`` (G,) of rows at each."""

    plan: Plan
    values: Array
    numbers: Float
    share: Float

    @property
    def is_varied(self) -> bool:
        """Whether there are two values to compare."""
        return len(self.values) > 1


def grid_of(plan: Plan, numbers: Float) -> Grid:
    """The grid of a column whose rows became ``numbers`` (N, m): numbers, dates, or levels of a category."""
    if isinstance(plan, CategoryPlan):
        return _levels(plan, numbers)
    if isinstance(plan, NumberPlan | DatePlan) and plan.constant:
        return _of(plan, np.empty(0), np.empty(0))
    seen = numbers[:, 0] if not _gaps(plan) else numbers[numbers[:, -1] == 0, 0]
    at = _days(plan, seen) if isinstance(plan, DatePlan) else _points(seen)
    share = _nearest(seen, at)
    if isinstance(plan, DatePlan):
        ticks = np.rint((plan.origin + at) * DAY.astype(float))  # cut off, ten o'clock could become a tick before it
        return _of(plan, np.datetime64(0, "us") + ticks.astype("timedelta64[us]"), share)
    words = {value: word for word, value in plan.words.items()} if isinstance(plan, NumberPlan) else {}
    return _of(plan, np.array([words[value] for value in at.tolist()], dtype=object) if words else at, share)


def _points(x: Float) -> Float:
    """Every value, of few; of many, quantiles and even steps. Whole numbers stay whole."""
    values = np.unique(x)
    if len(values) <= POINTS:
        return values
    even = np.linspace(values[0], values[-1], N_EVEN)
    if (values == np.rint(values)).all():
        even = np.rint(even)
    return np.union1d(np.quantile(x, LEVELS, method="closest_observation"), even)


def _days(plan: DatePlan, x: Float) -> Float:
    """Even steps from the date in the middle, whose hour, weekday and season are those of all, if not followed."""
    low, middle, high = np.quantile(x, [0.0, 0.5, 1.0], method="closest_observation") if len(x) else np.zeros(3)
    step = (high - low) / (POINTS - 1)
    turns = [turn for cycle, turn in TURNS.items() if cycle in plan.cycles]
    for turn in turns:
        if step > turn / FOLLOWED:
            step = np.ceil(step / turn) * turn
    if not step > 0:
        return np.unique(x)
    days = step * np.arange(np.ceil((low - middle) / step - 1e-9), np.floor((high - middle) / step + 1e-9) + 1)
    whole = [turn for turn in turns if turn <= WEEK and step >= turn]
    if whole:  # a year is no whole number of weeks, nor of days
        days = np.rint(days / whole[-1]) * whole[-1]
    return np.asarray(middle + days[(middle + days >= low - 1e-9) & (middle + days <= high + 1e-9)])


def _gaps(plan: Plan) -> bool:
    return isinstance(plan, NumberPlan | DatePlan) and plan.indicator


def _levels(plan: CategoryPlan, numbers: Float) -> Grid:
    """The most frequent levels; those that share an indicator stand together, and a gap is one of them."""
    names = [*plan.levels, *[OTHER] * bool(plan.pooled), *[MISSING] * plan.missing]
    share = dict.fromkeys(names, 1.0 - float(numbers.sum(axis=1).mean()))  # of the reference, which has no indicator
    indicators = [name for name in names if name != plan.reference]
    share |= dict(zip(indicators, numbers.mean(axis=0).tolist(), strict=True))
    kept = sorted(names, key=lambda name: -share[name])[:POINTS]
    return _of(plan, np.array(kept, dtype=object), np.array([share[name] for name in kept]))


def _of(plan: Plan, values: Array, share: Float) -> Grid:
    given: Any = values
    if isinstance(plan, CategoryPlan) and plan.missing:
        given = np.array([None if value == MISSING else value for value in values], dtype=object)
    entries = plan.entries(read_values(given, plan.column))
    numbers = np.zeros((len(values), len(plan.names)))
    numbers[entries.row, entries.column] = entries.value
    return Grid(plan, values, numbers, share)


def _nearest(x: Float, at: Float) -> Float:
    """The share of x nearest to each of the values."""
    code = np.searchsorted((at[1:] + at[:-1]) / 2, x)
    return np.asarray(np.bincount(code, minlength=len(at)) / max(len(x), 1))
