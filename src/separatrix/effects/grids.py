# SPDX-License-Identifier: BSD-3-Clause
"""Values at which the effect of a column is evaluated, with the encoded features of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._array import Array, Float
from separatrix.table import MISSING, OTHER, CategoryPlan, DatePlan, NumberPlan, Plan, TextPlan, read_values
from separatrix.table_model import TableClassifier, has_contrasts

N_SHOWN_WORDS = 20
QUANTILES = (0, 0.005, 0.01, 0.025, 0.05, *np.arange(0.1, 0.91, 0.1).tolist(), 0.95, 0.975, 0.99, 0.995, 1)
N_EVEN_STEPS = 16
MAX_POINTS = len(QUANTILES) + N_EVEN_STEPS - 2
CYCLE_DAYS = {"hour": 1.0, "weekday": 7.0, "month": 365.25}  # from short to long
MIN_STEPS_PER_CYCLE = 4  # with fewer, the curve cannot follow the cycle
DAY_US = 86_400_000_000
PRESENT = "(present)"  # level of a column that is constant apart from missing values


@dataclass(frozen=True, eq=False)
class Grid:
    """``values`` (G,) of a column, their encoded ``features`` (G, m), and the ``share`` (G,) of rows near each."""

    plan: Plan
    values: Array
    features: Float
    share: Float


def grid_of(plan: Plan, features: Float) -> Grid:
    """Values at which the effect of a column is evaluated, from its encoded rows (N, m).

    Numbers are evaluated at quantiles, which are dense in both tails, and at equal steps over their range. Dates are
    evaluated at equal steps. Categories are evaluated at their most frequent levels, including missing values. A column
    that is constant apart from missing values has the levels (present) and (missing).
    """
    given: Any = None
    if isinstance(plan, CategoryPlan):
        names = [*plan.levels, *[OTHER] * bool(plan.pooled), *[MISSING] * plan.missing]
        fraction = dict.fromkeys(names, 1.0 - float(features.sum(axis=1).mean()))  # the reference has no indicator
        indicators = [name for name in names if name != plan.reference]
        fraction |= dict(zip(indicators, features.mean(axis=0).tolist(), strict=True))
        kept = sorted(names, key=lambda name: -fraction[name])[:MAX_POINTS]
        values, share = np.array(kept, dtype=object), np.array([fraction[name] for name in kept])
        texts = dict.fromkeys([MISSING] * plan.missing) | ({OTHER: plan.pooled[0]} if plan.pooled else {})
        given = np.array([texts.get(name, name) for name in kept], dtype=object)  # the text "(other)" is a new level
    elif isinstance(plan, NumberPlan | DatePlan) and plan.constant:
        values, fraction_missing = np.array([PRESENT, MISSING], dtype=object), float(features[:, -1].mean())
        return Grid(plan, values, np.array([[0.0], [1.0]]), np.array([1 - fraction_missing, fraction_missing]))
    else:
        is_flagged = isinstance(plan, NumberPlan | DatePlan) and plan.indicator
        seen = features[features[:, -1] == 0, 0] if is_flagged else features[:, 0]
        values = at = _days(plan, seen) if isinstance(plan, DatePlan) else np.unique(seen)
        if len(at) > MAX_POINTS:  # quantiles and equal steps, whole numbers if all values are
            even = np.linspace(at[0], at[-1], N_EVEN_STEPS)
            even = np.rint(even) if (at == np.rint(at)).all() else even
            values = at = np.union1d(np.quantile(seen, QUANTILES, method="closest_observation"), even)
        nearest = np.searchsorted((at[1:] + at[:-1]) / 2, seen)
        share = np.asarray(np.bincount(nearest, minlength=len(at)) / max(len(seen), 1))
        if isinstance(plan, DatePlan):
            ticks = np.rint((plan.origin + at) * DAY_US)  # truncation could turn 10:00 into a microsecond before 10:00
            values = np.datetime64(0, "us") + ticks.astype("timedelta64[us]")
        elif isinstance(plan, NumberPlan) and plan.words:
            words = {value: word for word, value in plan.words.items()}
            values = np.array([words[value] for value in at.tolist()], dtype=object)
    entries = plan.entries(read_values(values if given is None else given))
    encoded = np.zeros((len(values), len(plan.names)))
    encoded[entries.row, entries.column] = entries.value
    return Grid(plan, values, encoded, share)


def words_of_text(model: TableClassifier, plan: TextPlan, rows: Any) -> Grid:
    """The words and pairs with the largest weights per standard deviation, each as a text of its own.

    Without weights, these are the most frequent ones. ``share`` is the fraction of rows with the word.
    """
    schema, n_terms = model.encoder_.schema_, len(plan.terms)
    at = schema.groups[plan.column]
    shown = np.arange(min(N_SHOWN_WORDS, n_terms))
    if has_contrasts(model.estimator_):
        W = np.atleast_2d(model.coef_)
        size = np.abs((W - W.mean(axis=0) if len(W) > 1 else W) * model.spread_).max(axis=0)
        place = {name: i for i, name in enumerate(model.get_feature_names_out().tolist())}
        of_term = np.array([size[place[name]] if name in place else 0.0 for name in plan.names[:n_terms]])
        shown = np.argsort(-of_term, kind="stable")[:N_SHOWN_WORDS]
    values = np.array([plan.terms[t] for t in shown], dtype=object)
    entries = plan.entries(read_values(values))
    encoded = np.zeros((len(values), len(at)))
    encoded[entries.row, entries.column] = entries.value
    share = np.array([(rows[:, [at.start + t]] != 0).sum() / rows.shape[0] for t in shown])
    return Grid(plan, values, encoded, share)


def with_missing(grid: Grid, features: Float) -> Grid:
    """Grid with a missing value at the end, if some of the numbers or dates, encoded as (N, m), are missing."""
    plan = grid.plan
    is_flagged = isinstance(plan, NumberPlan | DatePlan) and plan.indicator and not plan.constant
    is_missing = features[:, -1] == 1
    if not is_flagged or not is_missing.any():
        return grid
    fraction = float(is_missing.mean())
    return Grid(
        plan,
        np.append(grid.values.astype(object), MISSING),
        np.vstack([grid.features, features[is_missing][:1]]),  # all missing values have the same features
        np.append((1 - fraction) * grid.share, fraction),
    )


def _days(plan: DatePlan, x: Float) -> Float:
    """Days at equal steps from the median date.

    If steps are too long to follow a cycle, such as weeks within a year, they are set to a multiple of that cycle. The
    phase of the cycle is then the same at every step, and the curve does not zigzag.
    """
    low, middle, high = np.quantile(x, [0.0, 0.5, 1.0], method="closest_observation") if len(x) else np.zeros(3)
    step = (high - low) / (MAX_POINTS - 1)
    cycles = [days for cycle, days in CYCLE_DAYS.items() if cycle in plan.cycles]
    for days in cycles:
        if step > days / MIN_STEPS_PER_CYCLE:
            step = np.ceil(step / days) * days
    if not step > 0:
        return np.unique(x)
    at = step * np.arange(np.ceil((low - middle) / step - 1e-9), np.floor((high - middle) / step + 1e-9) + 1)
    whole = [days for days in cycles if days <= CYCLE_DAYS["weekday"] and step >= days]
    if whole:  # a year is not a whole number of weeks, nor of days
        at = np.rint(at / whole[-1]) * whole[-1]
    return np.asarray(middle + at[(middle + at >= low - 1e-9) & (middle + at <= high + 1e-9)])
