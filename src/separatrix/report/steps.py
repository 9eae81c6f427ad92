# SPDX-License-Identifier: BSD-3-Clause
"""For which step of a number its weight is told, and against what: words that a person would use.

× 1.28 (1.02 to 1.51) for 10 more               numbers: 1, 2 or 5 times a power of ten, near one standard deviation
× 0.42 (0.36 to 0.48) for Female against Male   a category of two levels is one weight, the difference of its two
× 0.56 (0.48 to 0.65) against the average level         one of several levels, against their average over the rows
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from separatrix.report.svg import round_step
from separatrix.report.words import label_text, number, shortened
from separatrix.study import Coefficient, Effect
from separatrix.table import CategoryPlan, DatePlan, NumberPlan, Plan, Schema

__all__ = ["Step", "paired", "steps_of"]

LIKE = 1.5  # spreads within this ratio have the same step
LONGEST = 24  # letters of a level


@dataclass(frozen=True)
class Step:
    """Units of the number, and how to say so; without words where no one reads the weight alone."""

    size: float
    words: str


def paired(coefficients: Iterable[Coefficient], schema: Schema) -> list[Coefficient]:
    """The two weights of each category of two levels as one, of the rarer level against the other.

    Both are against the average of the two, w_1 = s_2 d and w_2 = -s_1 d with the shares s of the levels, so that the
    difference d and its interval are w_1 and its own, over s_2; and the rarer level is the one of the larger weight.
    """
    two = {p.column for p in schema.plans if isinstance(p, CategoryPlan) and len(p.names) == 2 and not p.reference}
    found: list[Coefficient] = []
    first: dict[tuple[str, object], int] = {}
    for c in coefficients:
        key = (c.column, c.label)
        if c.column in two and key in first:
            found[first[key]] = _difference(found[first[key]], c)
            continue
        first[key] = len(found)
        found.append(c)
    return found


def _difference(one: Coefficient, other: Coefficient) -> Coefficient:
    if abs(one.weight) < abs(other.weight):
        one, other = other, one
    gap = one.weight - other.weight
    grown = gap / one.weight if one.weight else 1.0
    lower, upper, per_spread = (grown * x for x in (one.lower, one.upper, one.per_spread))
    return replace(one, weight=gap, lower=lower, upper=upper, per_spread=per_spread)


def steps_of(coefficients: Iterable[Coefficient], schema: Schema, effects: Iterable[Effect]) -> dict[str, Step]:
    """The step of every number that has a weight, by its name."""
    plans = {plan.column: plan for plan in schema.plans}
    by_name = {c.name: c for c in coefficients}
    spreads = {name: abs(c.per_spread / c.weight) for name, c in by_name.items() if c.weight}
    whole = {effect.column for effect in effects if _is_whole(effect)}
    sizes = _sizes({name: s for name, s in spreads.items() if math.isfinite(s) and s > 0})
    return {
        name: _step(c, plans.get(c.column), schema, _at_least(sizes.get(name, 1.0), c.column in whole))
        for name, c in by_name.items()
    }


def _sizes(spreads: dict[str, float]) -> dict[str, float]:
    """A round size near each spread, the same for all within a ratio of `LIKE`."""
    sizes: dict[str, float] = {}
    group: list[str] = []
    for name in sorted(spreads, key=lambda name: spreads[name]):
        if group and spreads[name] > LIKE * spreads[group[0]]:
            group = []
        group.append(name)
        middle = math.sqrt(spreads[group[0]] * spreads[name])
        sizes |= dict.fromkeys(group, round_step(middle))
    return sizes


def _at_least(size: float, is_whole: bool) -> float:
    return max(size, 1.0) if is_whole else size


def _is_whole(effect: Effect) -> bool:
    """Whether a column holds whole numbers alone, as far as the values of its effect show."""
    return effect.kind == "number" and all(float(value).is_integer() for value in effect.values)


def _step(c: Coefficient, plan: Plan | None, schema: Schema, size: float) -> Step:
    if c.name not in schema.columns:  # a function of the number, of a model that bends: its rise
        return Step(1.0, "over that range")
    if c.name == f"{c.column} is missing":
        return Step(1.0, "where missing, against a value at the average")
    if isinstance(plan, CategoryPlan):
        return Step(1.0, _against(c, plan))
    if isinstance(plan, NumberPlan) and plan.kind == "boolean":
        return Step(1.0, _yes_against_no(plan))
    if isinstance(plan, DatePlan):
        return Step(size, f"for {_counted(size, 'day')} more") if c.name.endswith(": days") else Step(1.0, "")
    return Step(size, f"for {number(size)} more")


def _against(c: Coefficient, plan: CategoryPlan) -> str:
    if plan.reference:
        return f"against {_level(plan.reference)}"
    if len(plan.names) == 2:
        other = next(name for name in plan.names if name != c.name)
        one, other = (name.removeprefix(f"{plan.column}=") for name in (c.name, other))
        return f"for {_level(one)} against {_level(other)}"
    return "against the average level"


def _yes_against_no(plan: NumberPlan) -> str:
    words = {value: word for word, value in plan.words.items()}
    return f"for {_level(words.get(1.0, 'yes'))} against {_level(words.get(0.0, 'no'))}"


def _level(text: str) -> str:
    return shortened(label_text(text), LONGEST)


def _counted(n: float, unit: str) -> str:
    return f"{number(n)} {unit}{'' if n == 1 else 's'}"
