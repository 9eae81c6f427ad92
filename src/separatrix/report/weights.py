# SPDX-License-Identifier: BSD-3-Clause
"""Weights of the model: effect of each feature on the odds, for a round step in its own units.

A weight w multiplies the odds by exp(w) for each unit of its feature. Pictures show exp(w sd) on a logarithmic axis, so
that features in different units can be compared; the column next to them shows exp(w step):

× 1.28 (1.02 to 1.51) for +10                   a step of 1, 2 or 5 times a power of ten, near one std. deviation
× 0.42 (0.36 to 0.48) for Female vs. Male       a category of two levels has one weight, their difference
× 0.56 (0.48 to 0.65) vs. the average level     one of several levels, against the average over all rows
× 6.3 (4.1 to 9.8) if it occurs                 a word or a pair of words, at its typical weight in a text
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from separatrix._text import enumerated
from separatrix.effects import round_step
from separatrix.report.drawing import Mark, Scale, axis_row, whiskers
from separatrix.report.performance import Performance
from separatrix.report.words import counted, interval, number, percent, shortened
from separatrix.study import Effect, Study
from separatrix.table import CategoryPlan, DatePlan, NumberPlan, Schema, TextPlan
from separatrix.table_model import Coefficient

N_VISIBLE_WEIGHTS, N_FOLDED_WEIGHTS = 20, 180  # further weights are not in the report
MAX_NAME_LETTERS, MAX_LEVEL_LETTERS = 60, 24
GIVES_AWAY = "this column alone gives the class away"
NOT_DETERMINED = "not determined, because a column gives the class away"
MAX_STATED_FACTOR = 1e6  # a feature that changes the odds by a larger factor determines the class
MAX_LOG_FACTOR = 700.0  # larger factors are beyond the range of a float, and shown as infinite
MAX_RATE = 0.99  # fraction of the rows with a word, for its typical weight
MAX_TICKS_PER_SIDE = 4  # ticks on each side of the axis of factors
SAME_STEP_RATIO = 1.5  # features whose standard deviations are within this ratio share one step
# Tick factors of the axis: the first row that covers the range, or powers of ten if none does.
AXIS_FACTORS = ((1.02, 1.05, 1.1), (1.1, 1.2, 1.3), (1.2, 1.5, 2.0), (2.0, 5.0, 10.0))


class Step(NamedTuple):
    """Change of a feature in its units and in words; ``words`` is empty if the weight has no meaning on its own."""

    size: float
    words: str


def weights_section(study: Study, perf: Performance) -> dict[str, Any]:
    """Plot and text for each weight, the strongest first; segments of curves come after linear effects."""
    merged = merge_two_levels(study.coefficients, study.schema)
    steps = steps_of(merged, study.schema, study.effects)
    ranked = sorted(merged, key=lambda c: -abs(c.per_spread))
    straight = [c for c in ranked if c.name in study.schema.columns]
    curved = [c for c in ranked if c.name not in study.schema.columns]
    found, inputs = straight + curved, set(study.schema.inputs)
    n_visible = min(N_VISIBLE_WEIGHTS, len(straight)) or N_VISIBLE_WEIGHTS
    marks = []
    for c in found[: n_visible + N_FOLDED_WEIGHTS]:
        sd = c.per_spread / c.weight if c.weight else math.nan
        marks.append(Mark(c.per_spread, c.lower * sd, c.upper * sd))
    # A symmetric scale of the log factor covers all dots but those of features that determine the class; whiskers far
    # beyond the dots are cut.
    shown = [mark for mark in marks[:n_visible] if abs(mark.value) <= math.log(MAX_STATED_FACTOR)]
    most = max((abs(mark.value) for mark in shown), default=1.0) or 1.0
    ends = [abs(bound) for mark in shown for bound in (mark.lower, mark.upper) if math.isfinite(bound)]
    reach = 1.08 * min(max([most, *ends]), 2.5 * most)
    factors = next((row for row in AXIS_FACTORS if reach < 1.15 * math.log(row[-1])), None)
    decades = math.floor(reach / math.log(10.0))
    every = -(-decades // MAX_TICKS_PER_SIDE) or 1
    logs = map(math.log, factors) if factors else (math.log(10.0) * i for i in range(every, decades + 1, every))
    ticks = [tick for tick in logs if tick <= reach]
    scale = Scale(-reach, reach, (*(-tick for tick in reversed(ticks)), 0.0, *ticks))
    marks = [
        mark if abs(mark.value) <= reach else Mark(math.copysign(reach, mark.value), math.nan, math.nan)
        for mark in marks
    ]
    rows = []
    for c, per_sd in zip(found, marks, strict=False):
        step, name = steps[c.name], shortened(c.name, MAX_NAME_LETTERS)
        label = shortened(c.label, MAX_NAME_LETTERS) if len(perf.labels) > 2 else ""
        effect = effect_text(c, step, study.leaks)
        mark = whiskers([per_sd], scale, f"{name}{f', {label}' if label else ''}: {effect}", reference=0.0)
        rows.append({"name": name, "label": label, "mark": mark, "effect": effect})
    whole, sides = "the geometric mean of all classes", [shortened(label) for label in perf.labels]
    odds = f"the class named in each row against {whole}"
    if len(sides) == 2:
        odds = f"{sides[1]} against {whole if perf.is_one_of_many else sides[0]}"
    frequent = "Levels are compared with the average over all rows, in which frequent levels count more."
    plans = (plan for plan in study.schema.plans if isinstance(plan, CategoryPlan))
    has_average = any(len(plan.names) > 2 and not plan.reference for plan in plans)
    axis = axis_row(scale, factor_text, "factor on the odds for an increase of one standard deviation", width=300.0)
    return {
        "model": study.choice.name if study.choice is not None else type(study.model.estimator_).__name__,
        "axis": axis if found else None,
        "curved": enumerated(
            [shortened(name, 32) for name in dict.fromkeys(c.column for c in curved) if name in inputs]
        ),
        "rows": rows[:n_visible],
        "more": rows[n_visible:],
        "n_hidden": len(found) - len(rows),
        "odds": f"Odds: {odds}.{' ' + frequent if has_average else ''}",
        "has_intervals": any(math.isfinite(c.lower) for c in found),
        "evidence": _evidence_sentence(study.model.estimator_, perf.n_trained),
    }


def effect_text(c: Coefficient, step: Step | None, leaks: Collection[str] = ()) -> str:
    """Factor on the odds for a step of the feature, with its interval: ``× 1.28 (1.02 to 1.51) for +10``.

    Columns ``leaks`` give the class away, so only the prior limits their factors, which are not stated. The same holds
    for features that correct for them.
    """
    if c.column in leaks:
        return GIVES_AWAY
    if step is None or not step.words:
        return f"weight {interval(c.weight, c.lower, c.upper)}"
    if not is_stated(c, step):
        if leaks:
            return NOT_DETERMINED
        return f"determines the class ({'×' if c.weight > 0 else '÷'} over a million {step.words})"
    with np.errstate(over="ignore"):  # odds beyond the range of a float are infinite
        factor, low, high = np.exp(step.size * np.array([c.weight, c.lower, c.upper])).tolist()
    return f"× {interval(factor, low, high)} {step.words}"


def is_stated(c: Coefficient, step: Step | None, leaks: Collection[str] = ()) -> bool:
    """Whether the weight is a quantity that a table determines: its factor is at most a million."""
    size = 0.0 if step is None or not step.words else step.size
    return c.column not in leaks and abs(size * c.weight) <= math.log(MAX_STATED_FACTOR)


def factor_text(log_factor: float) -> str:
    """Factor on the odds: ``×2``, ``÷2``, ``1``."""
    if log_factor == 0:
        return "1"
    size = abs(log_factor)
    return f"{'×' if log_factor > 0 else '÷'}{number(math.exp(size) if size < MAX_LOG_FACTOR else math.inf, 3)}"


def _evidence_sentence(estimator: Any, n_rows: int | None) -> str:
    """Log evidence as the sum of log-likelihood and Occam factor; empty if the model has none."""
    names = ("log_evidence_", "log_likelihood_", "occam_factor_", "effective_parameters_")
    total, fit, occam, effective = (float(getattr(estimator, name, math.nan)) for name in names)
    if not all(map(math.isfinite, (total, fit, occam, effective))):
        return ""
    n_weights = int(estimator.coef_.size + len(estimator.coef_))
    labels = f" of the labels of all {counted(n_rows, 'training row')}" if n_rows else ""
    return (
        f"The log evidence{labels} is {number(total, 6)}: the log-likelihood of the fitted weights, {number(fit, 6)}, "
        f"minus {number(-occam, 4)} (the Occam factor), a penalty for the model's flexibility. The data determine "
        f"about {number(effective, 3)} of {n_weights:,} parameters ({percent(min(effective / n_weights, 1.0))}); the "
        "prior determines the rest."
    )


def merge_two_levels(coefficients: Iterable[Coefficient], schema: Schema) -> list[Coefficient]:
    """Replace the two weights of each category of two levels by one: the rarer level against the other.

    Both weights are relative to the average, w_1 = s_2 d and w_2 = -s_1 d with level frequencies s, so the difference
    is d = w_1 / s_2; its interval is divided by s_2 too. Level 1 is the rarer level, which has the larger weight.
    """
    two = {p.column for p in schema.plans if isinstance(p, CategoryPlan) and len(p.names) == 2 and not p.reference}
    found: list[Coefficient] = []
    first: dict[tuple[str, object], int] = {}
    for c in coefficients:
        key = (c.column, c.label)
        if c.column not in two or key not in first:
            first[key] = len(found)
            found.append(c)
            continue
        one, other = sorted([found[first[key]], c], key=lambda c: -abs(c.weight))
        difference = one.weight - other.weight
        ratio = difference / one.weight if one.weight else 1.0
        lower, upper, per_spread = (ratio * x for x in (one.lower, one.upper, one.per_spread))
        found[first[key]] = replace(one, weight=difference, lower=lower, upper=upper, per_spread=per_spread)
    return found


def steps_of(coefficients: Iterable[Coefficient], schema: Schema, effects: Iterable[Effect] = ()) -> dict[str, Step]:
    """Step of every feature that has a weight, by name; integer columns with an effect have steps of at least 1."""
    plans = {plan.column: plan for plan in schema.plans}
    by_name = {c.name: c for c in coefficients}
    spreads = {name: abs(c.per_spread / c.weight) for name, c in by_name.items() if c.weight}
    whole = {e.column for e in effects if e.kind == "number" and all(float(value).is_integer() for value in e.values)}
    sizes: dict[str, float] = {}
    group: list[str] = []
    for name in sorted((n for n, s in spreads.items() if math.isfinite(s) and s > 0), key=lambda n: spreads[n]):
        if group and spreads[name] > SAME_STEP_RATIO * spreads[group[0]]:
            group = []
        group.append(name)
        sizes |= dict.fromkeys(group, round_step(math.sqrt(spreads[group[0]] * spreads[name])))
    texts = [plan for plan in plans.values() if isinstance(plan, TextPlan)]
    rates = {
        plan.column: {
            name: min(math.exp(1.0 - rarity), MAX_RATE) for name, rarity in zip(plan.names, plan.rarity, strict=False)
        }
        for plan in texts
    }
    steps, level = {}, partial(shortened, max_letters=MAX_LEVEL_LETTERS)
    for name, c in by_name.items():
        plan = plans.get(c.column)
        is_day = isinstance(plan, DatePlan) and name.endswith(": days")
        if name not in schema.columns:  # rise of one segment of a curve, or a product of two columns
            words = "over this range" if plan is not None else ""
        elif name == f"{c.column} is missing":
            words = "if missing, vs. an average value"
        elif isinstance(plan, CategoryPlan) and (plan.reference or len(plan.names) > 2):
            words = f"vs. {level(plan.reference) if plan.reference else 'the average level'}"
        elif isinstance(plan, CategoryPlan):
            levels = (name, *(other for other in plan.names if other != name))
            words = f"for {' vs. '.join(level(text.removeprefix(f'{plan.column}=')) for text in levels)}"
        elif isinstance(plan, NumberPlan) and plan.kind == "boolean":
            values = {value: word for word, value in plan.words.items()}
            words = f"for {level(values.get(1.0, 'yes'))} vs. {level(values.get(0.0, 'no'))}"
        elif isinstance(plan, TextPlan) and name in spreads and name in rates[c.column]:
            rate = rates[c.column][
                name
            ]  # a word with weight x in a fraction p of the rows has the variance x² p (1 - p)
            steps[name] = Step(spreads[name] / math.sqrt(rate * (1.0 - rate)), "if it occurs")
            continue
        elif isinstance(plan, DatePlan) and not is_day:  # sine or cosine of a cycle, which has no meaning on its own
            words = ""
        else:
            size = max(sizes.get(name, 1.0), 1.0 if c.column in whole else 0.0)
            days = (" day" if size == 1 else " days") if is_day else ""
            steps[name] = Step(size, f"for +{number(size)}{days}")
            continue
        steps[name] = Step(1.0, words)
    return steps
