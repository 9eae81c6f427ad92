# SPDX-License-Identifier: BSD-3-Clause
"""The chosen model explained: what each number does to the odds, which columns matter, and how the evidence is made up.

A weight w multiplies the odds by exp(w) for each step of one; `steps` are a round number of units, near one standard
deviation. Pictures show exp(w sd) on a logarithmic axis, by which weights in different units can be compared.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from separatrix.meta import enumerated
from separatrix.report.facts import Facts
from separatrix.report.steps import Step, paired, steps_of
from separatrix.report.svg import Picture, Scale
from separatrix.report.svg_rows import Mark, axis_row, bar, whiskers
from separatrix.report.verdict import ranked_columns
from separatrix.report.words import (
    counted,
    factor_interval,
    interval,
    label_text,
    number,
    odds_ratio,
    percent,
    shortened,
)
from separatrix.study import Coefficient, Study
from separatrix.table import CategoryPlan

__all__ = ["ColumnImportance", "WeightRow", "WeightsView", "factor_words", "weights_of"]

N_SHOWN, N_MORE = 20, 180  # weights in sight, and folded away; the rest is in the model
LONGEST = 60  # letters of a name that are shown
N_COLUMNS = 20
N_TICKS = 4  # on each side of one, at most
# Factors named on the axis: the first row that reaches far enough; beyond all of them, powers of ten.
FACTORS = ((1.02, 1.05, 1.1), (1.1, 1.2, 1.3), (1.2, 1.5, 2.0), (2.0, 5.0, 10.0))


@dataclass(frozen=True)
class ColumnImportance:
    """How much one column moves the log-odds, beside the others."""

    name: str
    value: str
    bar: Picture


@dataclass(frozen=True)
class WeightRow:
    """One weight: the number it belongs to, the class, its picture, and what it does to the odds in words."""

    name: str
    label: str
    mark: Picture
    effect: str
    weight: str


@dataclass(frozen=True)
class WeightsView:
    """The whole section; ``axis`` is None where the model has no weights, ``bent`` names columns that act by curves."""

    model: str
    importance: tuple[ColumnImportance, ...]
    more_importance: tuple[ColumnImportance, ...]
    evidence: str
    axis: Picture | None
    bent: str
    rows: tuple[WeightRow, ...]
    more: tuple[WeightRow, ...]
    n_hidden: int
    against: str
    has_intervals: bool


def weights_of(study: Study, facts: Facts) -> WeightsView:
    """Importance of columns, then weights, the strongest first."""
    merged = paired(study.coefficients, study.schema)
    steps = steps_of(merged, study.schema, study.effects)
    straight, bent = _in_order(merged, set(study.schema.columns))
    found = straight + bent
    n_shown = min(N_SHOWN, len(straight)) or N_SHOWN
    scale = _scale(found[:n_shown])
    rows = tuple(_weight_row(c, steps[c.name], scale, len(facts.labels)) for c in found[: n_shown + N_MORE])
    importance = _importance(study)
    return WeightsView(
        model=study.choice.name if study.choice is not None else type(study.model.estimator_).__name__,
        importance=importance[:N_COLUMNS],
        more_importance=importance[N_COLUMNS:],
        evidence=_evidence(study.model.estimator_, facts.n_learnt),
        axis=axis_row(scale, factor_words, "factor on the odds for one standard deviation more", width=300.0)
        if found
        else None,
        bent=enumerated([shortened(name, 32) for name in dict.fromkeys(c.column for c in bent)]),
        rows=rows[:n_shown],
        more=rows[n_shown:],
        n_hidden=len(found) - len(rows),
        against=_against(study, facts),
        has_intervals=any(math.isfinite(c.lower) for c in found),
    )


def _in_order(merged: list[Coefficient], names: set[str]) -> tuple[list[Coefficient], list[Coefficient]]:
    """Weights of numbers, the strongest first; then those of steps along curves, which are read from a picture."""
    straight: list[Coefficient] = []
    bent: list[Coefficient] = []
    for c in sorted(merged, key=lambda c: -abs(c.per_spread)):
        (straight if c.name in names else bent).append(c)
    return straight, bent


def factor_words(log_factor: float) -> str:
    """A factor on the odds: ``×2``, ``÷2``, ``1``."""
    if log_factor == 0:
        return "1"
    return f"{'×' if log_factor > 0 else '÷'}{number(math.exp(abs(log_factor)), 3)}"


def _against(study: Study, facts: Facts) -> str:
    """What the odds are of, and what the average level is, where there is one."""
    if facts.is_one_of_many:
        odds = f"Odds are those of {shortened(facts.event)} against the (geometric) mean of all classes."
    elif len(facts.labels) == 2:
        odds = f"Odds are those of {shortened(facts.event)} against {shortened(facts.labels[0])}."
    else:
        odds = "Odds are those of the class named, against the (geometric) mean of all classes."
    plans = (plan for plan in study.schema.plans if isinstance(plan, CategoryPlan))
    if any(len(plan.names) > 2 and not plan.reference for plan in plans):
        odds += " The average level of a category is that over the rows: frequent levels count for more."
    return odds


def _scale(shown: list[Coefficient]) -> Scale:
    """Symmetric in the logarithm, wide enough for the dots; whiskers far beyond them are cut."""
    most = max((abs(c.per_spread) for c in shown), default=1.0) or 1.0
    ends = [abs(bound) for c in shown for bound in _spread_interval(c) if math.isfinite(bound)]
    reach = 1.08 * min(max([most, *ends]), 2.5 * most)
    factors = next((row for row in FACTORS if reach < 1.15 * math.log(row[-1])), None)
    decades = math.floor(reach / math.log(10.0))
    every = -(-decades // N_TICKS) or 1
    logs = map(math.log, factors) if factors else (math.log(10.0) * i for i in range(every, decades + 1, every))
    ticks = [tick for tick in logs if tick <= reach]
    return Scale(-reach, reach, (*(-tick for tick in reversed(ticks)), 0.0, *ticks))


def _spread_interval(c: Coefficient) -> tuple[float, float]:
    """The interval per standard deviation, as ``per_spread`` is of the weight."""
    spread = c.per_spread / c.weight if c.weight else math.nan
    return c.lower * spread, c.upper * spread


def _weight_row(c: Coefficient, step: Step, scale: Scale, n_classes: int) -> WeightRow:
    name, label = shortened(label_text(c.name), LONGEST), shortened(label_text(c.label), LONGEST)
    effect = _in_words(c, step)
    title = f"{name}{f', {label}' if n_classes > 2 else ''}: {effect}"
    mark = whiskers([Mark(c.per_spread, *_spread_interval(c))], scale, title, reference=0.0)
    return WeightRow(name, label if n_classes > 2 else "", mark, effect, interval(c.weight, c.lower, c.upper))


def _in_words(c: Coefficient, step: Step) -> str:
    """What the weight does to the odds, for a step that a person would take."""
    if not step.words:
        return ""
    return f"× {factor_interval(*(odds_ratio(step.size * w) for w in (c.weight, c.lower, c.upper)))} {step.words}"


def _importance(study: Study) -> tuple[ColumnImportance, ...]:
    ranked = ranked_columns(study)
    most = max((value for _, value in ranked), default=1.0)
    return tuple(
        ColumnImportance(
            shortened(name, LONGEST), number(value, 2), bar(value / most, f"{name}: {number(value, 2)} nats")
        )
        for name, value in ranked
    )


def _evidence(estimator: Any, n_rows: int | None) -> str:
    """How probable the labels were that it learnt from, and what having been able to fit others cost."""
    names = ("log_evidence_", "log_likelihood_", "occam_factor_", "effective_parameters_")
    total, fit, occam, effective = (float(getattr(estimator, name, math.nan)) for name in names)
    if not all(map(math.isfinite, (total, fit, occam, effective))):
        return ""
    n_weights = int(estimator.coef_.size + len(estimator.coef_))
    learnt = f" of the labels of all {counted(n_rows, 'row')} it learnt from" if n_rows else ""
    return (
        f"Log evidence{learnt}: {number(total, 6)}. The weights fit them with a log-likelihood of {number(fit, 6)}, "
        f"less {number(-occam, 4)} (the Occam factor) for all that they could have fitted instead. The data determine "
        f"about {number(effective, 3)} of {n_weights:,} parameters ({percent(min(effective / n_weights, 1.0))}); the "
        "prior holds the rest."
    )
