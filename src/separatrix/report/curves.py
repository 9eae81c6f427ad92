# SPDX-License-Identifier: BSD-3-Clause
"""Curves over the threshold of a decision, and the costs of decisions, for the positive of two classes."""

from __future__ import annotations

from collections.abc import Callable
from math import isnan
from typing import Any

import numpy as np

from separatrix.report import drawing
from separatrix.report.drawing import Mark, Scale, nice_scale
from separatrix.report.performance import MIN_ROWS_TO_JUDGE, Performance, costs_in_order
from separatrix.report.words import fixed, number, percent, shortened
from separatrix.study import Study
from separatrix.thresholds import Costs, threshold_curve

# Kind, title, label of the horizontal axis, and meaning of the dashed line.
CARDS = (
    ("roc", "ROC", "false alarms, of all rows without the event", "cases found; dashed: guessing"),
    ("precision", "Precision and recall", "recall: cases found", "precision; dashed: guessing"),
    ("lift", "Lift", "fraction of rows selected", "cases found, relative to a random selection"),
    ("net benefit", "Net benefit", "threshold", "hits minus weighted false alarms; dashed: act on all rows"),
)
COST_CARD = ("cost", "Expected cost", "threshold", "per decision; dashed: the same decision for all rows")
EVERY = 3  # of the points of a curve is drawn, which keeps the document small
LOWEST_BENEFIT = -0.25  # of the net benefit that is drawn, relative to its maximum


def curves_section(study: Study, perf: Performance, costs: Costs | None) -> list[dict[str, Any]]:
    """One card per curve; none for more than two classes, for one class only, or without information."""
    held = study.held_out
    if len(perf.labels) > 2 or perf.has_one_class or perf.is_prior_only or perf.n_rows < MIN_ROWS_TO_JUDGE:
        return []
    p, event, matrix, found = held.P[:, 1], held.codes == 1, costs_in_order(study.classes, costs), []
    for kind, title, below, what in (*CARDS, *[COST_CARD] * (matrix is not None)):
        curve = threshold_curve(kind, p, event, held.weight, costs=matrix, level=study.level)
        scale: Scale = drawing.UNIT_SCALE
        wording: Callable[[float], str] = percent
        if kind not in ("roc", "precision"):
            top = float(np.nanmax(curve.upper))
            if kind == "net benefit":
                top = min(top, 1.2 * curve.prevalence)
            low = LOWEST_BENEFIT * top if kind == "net benefit" else 0.0
            scale, wording = nice_scale([low, top], at_ticks=True), number
        ticks = tuple((tick, percent(tick)) for tick in (0.0, 0.25, 0.5, 0.75, 1.0))
        some = np.unique(np.append(np.arange(0, len(curve.x), EVERY), len(curve.x) - 1))
        picture = drawing.curves(
            drawing.Axis(curve.x[some], ticks),
            [Mark(curve.y[some], curve.lower[some], curve.upper[some])],
            np.zeros(len(some)),
            scale,
            f"{title}: {what}, against {below}",
            others=[curve.reference[some]],
            wording=wording,
        )
        found.append({"title": title, "caption": what, "below": below, "picture": picture})
    return found


def costs_section(costs: Costs | None, evaluated: str) -> dict[str, Any] | None:
    """Table of rules with their cost per decision, and sentences; None without costs."""
    if costs is None:
        return None
    labels = [shortened(label, 28) for label in costs.labels]
    limit = (
        ""
        if isnan(costs.threshold)
        else f": {labels[costs.positive]} if its probability exceeds {percent(costs.threshold)}"
    )
    rules = [(f"smallest expected cost{limit}", costs.cost), ("most probable class", costs.by_probability)]
    rules += [(f"always {label}", cost) for label, cost in zip(labels, costs.constant, strict=True)]
    stated = [
        f"deciding {labels[j]} for {labels[i]} costs {number(float(costs.matrix[i, j]))}"
        for i in range(len(labels))
        for j in range(len(labels))
        if i != j and len(labels) <= 3
    ]
    return {
        "stated": "; ".join(stated),
        "rows": [(name, fixed(each.value, 4), fixed(each.standard_error, 4)) for name, each in rules],
        "saved": f"Compared with always {labels[costs.cheapest]}, the cheapest constant decision, the model saves "
        f"{fixed(costs.saved.value, 4)} ± {fixed(costs.saved.standard_error, 4)} per decision on the {evaluated}. Its "
        f"probabilities predict a cost of {fixed(costs.predicted, 4)}.",
    }
