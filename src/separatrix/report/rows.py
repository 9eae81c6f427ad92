# SPDX-License-Identifier: BSD-3-Clause
"""Sections about the evaluated rows: three explained rows, groups of rows, and the columns by class.

The table of the evaluated rows is part of a study, in ``rows``; without it, these sections are empty.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix._array import Array, Codes, Float
from separatrix.decisions import DecisionRule
from separatrix.explanation import RowExplanation, cells_of
from separatrix.metrics import log_likelihoods
from separatrix.report import drawing
from separatrix.report.drawing import Mark, nice_scale
from separatrix.report.performance import MIN_ROWS_TO_JUDGE, Performance, costs_in_order
from separatrix.report.words import counted, fixed, number, percent, shortened
from separatrix.study import Study, in_proportion
from separatrix.table import CategoryPlan, DatePlan, NumberPlan, Plan, open_batch
from separatrix.thresholds import Costs

MAX_CONSIDERED_ROWS = 2000  # evaluated rows among which the explained rows are chosen
MAX_LINES = 6  # columns of an explained row; the others are one line
MAX_CHANGES = 3
MIN_GROUP_ROWS = 30  # with fewer rows, a frequency has an error of ten points or more
MAX_GROUPED_COLUMNS, MAX_GROUPS = 8, 8  # columns, and their most frequent levels
UNUSUAL_IN_SE = 3.0  # difference between predicted and observed frequency that is marked
MAX_PICTURED_COLUMNS, MAX_PICTURED_CLASSES, MAX_PICTURED_LEVELS = 12, 4, 8
N_BINS = 14
FIRST_QUANTILE, LAST_QUANTILE = 0.005, 0.995  # of the numbers in a histogram; the others are in its first and last bar


def explained_section(study: Study, perf: Performance, costs: Costs | None = None) -> dict[str, Any] | None:
    """A typical row, the least certain one and the worst error, explained by the final model; None without rows.

    With costs, decisions are those of smallest expected cost, as those of the saved model.
    """
    if study.rows is None or perf.is_prior_only or perf.n_rows < MIN_ROWS_TO_JUDGE or study.leaks:
        return None
    held, batch = study.held_out, open_batch(study.rows)
    some = np.unique(np.linspace(0, len(held.codes) - 1, min(len(held.codes), MAX_CONSIDERED_ROWS)).astype(np.intp))
    chosen = _chosen_rows(held.P[some], held.codes[some], costs_in_order(study.classes, costs))
    at = some[[place for _, place in chosen]]
    label = study.positive if study.positive is not None else study.model.classes_[1] if len(perf.labels) == 2 else None
    L = costs_in_order(study.model.classes_, costs)
    rule = study.model if L is None else DecisionRule(study.model, costs=L, prefit=True)
    try:
        found = rule.explain(batch.take(at), level=study.level, label=label)
    except TypeError as error:  # the log-odds are no sum over columns
        return {"rows": [], "why": str(error)}
    rows = []
    for (title, _), n, row in zip(chosen, at.tolist(), found.rows, strict=True):
        truth = shortened(held.classes[held.codes[n]], 28)
        rows.append({"title": title, "truth": truth} | _card_of(row.shortened(MAX_LINES)))
    return {"rows": rows, "why": "", "reference": found[0].reference, "has_intervals": "lower" in found[0].columns}


def _chosen_rows(P: Float, codes: Codes, costs: Float | None) -> list[tuple[str, int]]:
    """Titles and places of three different rows; with costs (K, K), the closest decision is the least certain one."""
    log_p = log_likelihoods(P, codes)
    if costs is None:
        certainty = np.sum(P * np.log(np.maximum(P, np.finfo(float).tiny)), axis=1)
    else:
        cheapest = np.sort(P @ costs, axis=1)
        certainty = cheapest[:, 1] - cheapest[:, 0]
    found: list[tuple[str, int]] = []
    for title, order in (
        ("The worst error", np.argsort(log_p, kind="stable")),
        ("The least certain row" if costs is None else "The closest decision", np.argsort(certainty, kind="stable")),
        ("A typical row", np.argsort(np.abs(log_p - np.median(log_p)), kind="stable")),
    ):
        taken = {place for _, place in found}
        found.append((title, next((place for place in order.tolist() if place not in taken), int(order[0]))))
    return found[::-1]


def _card_of(row: RowExplanation) -> dict[str, Any]:
    """One explained row: its probability, a mark for each contribution to the log-odds, warnings and changes."""
    inner = range(1, len(row.names) - 1)
    steps, none = row.columns["estimate"], np.full(len(row.names), np.nan)
    lower, upper = (row.columns.get(name, none) for name in ("lower", "upper"))
    scale = nice_scale([0.0, *steps[1:-1], *lower[1:-1], *upper[1:-1]])
    lines = []
    for at in inner:
        name = shortened(row.names[at], 32)
        named = f"{name} = {shortened(row.values[at], 24)}" if row.values[at] else name
        mark = Mark(float(steps[at]), float(lower[at]), float(upper[at]), "k0" if steps[at] > 0 else "k5")
        title = f"{name}: {number(float(steps[at]), 2)}"
        change = 100 * float(row.columns["probability"][at])
        lines.append((named, drawing.whiskers([mark], scale, title, reference=0.0), f"{change:+z.1f}"))
    ends = "" if row.interval is None else f" ({percent(row.interval[0])} to {percent(row.interval[1])})"
    return {
        "label": shortened(row.label, 28),
        "probability": percent(row.probability) + ends,
        "decision": shortened(row.decision, 28),
        "rule": row.rule,
        "lines": lines,
        "axis": drawing.axis_row(scale, number, "contribution to the log-odds", width=120.0),
        "warnings": row.warnings,
        "changes": [
            f"{change} ({shortened(change.decision, 28)})"
            for change in (*row.changes.single, *row.changes.pairs)[:MAX_CHANGES]
        ],
    }


def groups_section(study: Study, perf: Performance) -> dict[str, Any] | None:
    """Calibration and error within each level of the categories, the most important column first."""
    if study.rows is None or perf.is_prior_only or perf.n_rows < MIN_ROWS_TO_JUDGE:
        return None
    held, plans = study.held_out, {plan.column: plan for plan in study.schema.plans}
    categories = [name for name in _by_importance(study) if _has_levels(plans[name])][:MAX_GROUPED_COLUMNS]
    if not categories:
        return None
    cells = dict(
        zip(study.schema.groups, zip(*cells_of(study.schema, open_batch(study.rows)), strict=True), strict=True)
    )
    two, correct = len(perf.labels) == 2, held.P.argmax(axis=1) == held.codes
    loss, weight = -log_likelihoods(held.P, held.codes), held.weights
    rows, n_tests = [], 0
    for name in categories:
        texts = np.array([str(cell) for cell in cells[name]], dtype=object)
        levels, place = np.unique(texts.astype(str), return_inverse=True)
        counts = np.bincount(place, weight)
        for level in levels[np.argsort(-counts, kind="stable")][:MAX_GROUPS].tolist():
            inside = texts == level
            w = weight[inside]
            n = float(w.sum())
            if n < MIN_GROUP_ROWS:
                continue
            n_tests += 1
            p = held.P[inside, 1] if two else held.P[inside].max(axis=1)
            hit = held.codes[inside] == 1 if two else correct[inside]
            error = float(np.sqrt(max(w @ (p * (1 - p)), 1e-12))) / n
            predicted, observed = float(w @ p) / n, float(w @ hit) / n
            is_off = abs(observed - predicted) > UNUSUAL_IN_SE * error
            figures = percent(predicted), percent(observed), f"± {percent(error)}"
            shown = f"{shortened(name, 28)} = {_level(plans[name], level)}"
            rows.append(
                (
                    shown,
                    f"{n:,.0f}",
                    *figures,
                    percent(float(w @ correct[inside]) / n),
                    fixed(float(w @ loss[inside]) / n),
                    is_off,
                )
            )
    if not rows:
        return None
    return {
        "event": perf.labels[1] if two else "the predicted class",
        "rows": rows,
        "n_off": sum(row[-1] for row in rows),
        "n_groups": counted(n_tests, "group"),
    }


def _has_levels(plan: Plan) -> bool:
    return isinstance(plan, CategoryPlan) or plan.kind == "boolean"


def _level(plan: Plan, text: str) -> str:
    if plan.kind == "boolean" and isinstance(plan, NumberPlan) and not plan.words:
        return {"0.0": "no", "1.0": "yes", "nan": "(missing)"}.get(text, text)
    return shortened(text, 28)


def _by_importance(study: Study) -> list[str]:
    """Columns of the model, those with the largest effect first."""
    ranked = [effect.column for effect in study.effects]
    return list(dict.fromkeys([*(name for name in ranked if name in study.schema.groups), *study.schema.groups]))


def columns_section(study: Study, perf: Performance) -> dict[str, Any] | None:
    """Distribution of each column within each class: histograms of numbers and dates, fractions of levels."""
    if study.rows is None:
        return None
    held, plans = study.held_out, {plan.column: plan for plan in study.schema.plans}
    counts = np.bincount(held.codes, minlength=len(perf.labels))
    shown = [1, 0] if len(perf.labels) == 2 else np.argsort(-counts, kind="stable")[:MAX_PICTURED_CLASSES].tolist()
    shown = [k for k in shown if counts[k]]
    classes = [(k, perf.labels[k], f"k{i}") for i, k in enumerate(shown)]
    at = np.arange(len(held.codes)) if held.weight is None else in_proportion(held.weight)
    drawable = [name for name in _by_importance(study) if _can_draw(plans[name])][:MAX_PICTURED_COLUMNS]
    cells = dict(
        zip(study.schema.groups, zip(*cells_of(study.schema, open_batch(study.rows)), strict=True), strict=True)
    )
    cards = [
        _distribution(name, plans[name], np.array(cells[name], dtype=object)[at], held.codes[at], classes)
        for name in drawable
    ]
    return {
        "cards": [card for card in cards if card is not None],
        "legend": [(shortened(label, 28), kind) for _, label, kind in classes],
    }


def _can_draw(plan: Plan) -> bool:
    return isinstance(plan, CategoryPlan) or (isinstance(plan, NumberPlan | DatePlan) and not plan.constant)


def _distribution(
    name: str, plan: Plan, cells: Array, codes: Codes, classes: list[tuple[int, str, str]]
) -> dict[str, Any] | None:
    """Picture of one column: a line per class over the range of numbers, or a mark per class for each level."""
    card: dict[str, Any] = {"column": shortened(name, 60), "caption": "", "curve": None, "legend": [], "rug": ""}
    if not _has_levels(plan):
        x = cells.astype(np.float64)
        known = ~np.isnan(x)
        low, high = np.quantile(x[known], [FIRST_QUANTILE, LAST_QUANTILE]) if known.any() else (0.0, 0.0)
        if not high > low:
            return None
        edges = np.linspace(low, high, N_BINS + 1)
        place = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, N_BINS - 1)
        fractions = [
            np.bincount(place[known & (codes == k)], minlength=N_BINS) / max((known & (codes == k)).sum(), 1)
            for k, _, _ in classes
        ]
        steps = np.repeat(edges, 2)[1:-1]  # outlines of the bars
        axis = drawing.axis_along(edges, is_date=isinstance(plan, DatePlan))
        at = np.interp(steps, edges, axis.at)
        unknown = np.full(len(steps), np.nan)
        marks = [
            Mark(np.repeat(f, 2), unknown, unknown, kind) for f, (_, _, kind) in zip(fractions, classes, strict=True)
        ]
        upright = nice_scale([0.0, max(float(f.max()) for f in fractions)], at_ticks=True)
        title = f"Distribution of {name} within each class"
        card["curve"] = drawing.curves(drawing.Axis(at, axis.ticks), marks, np.zeros(len(at)), upright, title)
        n_missing = int((~known).sum())
        card["caption"] = f"{percent(n_missing / len(x))} missing" if n_missing else ""
        return card
    texts = np.array([_level(plan, str(cell)) for cell in cells], dtype=object).astype(str)
    levels, counts = np.unique(texts, return_counts=True)
    fractions = [[float((texts[codes == k] == level).mean()) for k, _, _ in classes] for level in levels.tolist()]
    scale = nice_scale([0.0, max(max(each) for each in fractions)], at_ticks=True)
    rows = []
    for i in np.argsort(-counts, kind="stable")[:MAX_PICTURED_LEVELS].tolist():
        marks = [Mark(f, np.nan, np.nan, kind) for f, (_, _, kind) in zip(fractions[i], classes, strict=True)]
        rows.append((levels[i], drawing.whiskers(marks, scale, f"{levels[i]} within each class"), ""))
    return card | {
        "levels": rows,
        "more_levels": [],
        "axis": drawing.axis_row(scale, percent, "fraction of the class", width=120.0),
        "caption": f"{len(levels) - len(rows)} rarer levels are not drawn" if len(levels) > len(rows) else "",
    }
