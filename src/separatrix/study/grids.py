# SPDX-License-Identifier: BSD-3-Clause
"""Values of one column of a table at which a model is asked, the numbers they become, and how many rows are near."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._array import Array, Float
from separatrix.data.table.plans import MISSING, OTHER, CategoryPlan, DatePlan, NumberPlan, Plan
from separatrix.data.table.values import read_values
from separatrix.tables.ramps import marks

__all__ = ["Grid", "grid_of"]

POINTS = 25
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
    """The grid of a column whose rows became ``numbers`` (N, m): quantiles of numbers, levels of categories."""
    if isinstance(plan, CategoryPlan):
        return _levels(plan, numbers)
    if isinstance(plan, NumberPlan | DatePlan) and plan.constant:
        return _of(plan, np.empty(0), np.empty(0))
    seen = numbers[:, 0] if not _gaps(plan) else numbers[numbers[:, -1] == 0, 0]
    at = marks(seen, POINTS)
    share = _nearest(seen, at)
    if isinstance(plan, DatePlan):
        return _of(
            plan, np.datetime64(0, "us") + ((plan.origin + at) * DAY.astype(float)).astype("timedelta64[us]"), share
        )
    words = {value: word for word, value in plan.words.items()} if isinstance(plan, NumberPlan) else {}
    return _of(plan, np.array([words[value] for value in at.tolist()], dtype=object) if words else at, share)


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
