# SPDX-License-Identifier: BSD-3-Clause
"""Tables and pictures of the report, one function per section: data, models, effects, calibration, decisions, usage."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from importlib.metadata import version
from math import inf, isfinite, log, nan
from pathlib import PurePath
from shlex import quote
from typing import Any

import numpy as np

from separatrix import metrics
from separatrix._array import Float
from separatrix._text import enumerated
from separatrix.comparison import Comparison, notes_on
from separatrix.decisions import decide
from separatrix.effects import importance
from separatrix.exceptions import DataError
from separatrix.reductions import take_rows
from separatrix.report import drawing
from separatrix.report.drawing import Mark, Scale, bar, nice_scale
from separatrix.report.performance import Performance, costs_in_order
from separatrix.report.summary import influential
from separatrix.report.weights import MAX_STATED_FACTOR
from separatrix.report.words import UNKNOWN, counted, fixed, label_text, number, percent, seconds, shortened
from separatrix.study import OTHER_MODEL_TOPICS, Effect, Study, in_proportion
from separatrix.thresholds import Costs, cost_threshold

N_COLOURS = 8  # colours in the style sheet; further classes reuse them with dashed lines
MAX_SPREAD_FEATURES, MAX_SPREAD_ROWS = 1000, 5000  # of the intervals of importances
MAX_NAME_LETTERS, MAX_COLUMN_LETTERS = 60, 80
LEAK_CAPTION = "gives the class away"
N_LISTED_FEATURES = 6  # number of features that are listed for one column
SMALLEST_PROBABILITY = 1e-9  # model probabilities are shown between this and its complement
WHISKER_IN_SE = 1.96
FAR_IN_SE = 12.0  # models this far behind the best are left out of the scale
N_VISIBLE_CARDS, N_FOLDED_CARDS = 12, 24
N_VISIBLE_LEVELS, N_FOLDED_LEVELS = 6, 40
MAX_ZOOMED_PROBABILITY = 0.6  # if all values are below this, the axes of the reliability diagram end before 1
MAX_BANDS = 3  # with more classes, bands overlap too much to be read
MAX_DRAWN_CLASSES = 12  # the most frequent classes are drawn
MIN_LEVEL_ROW_PIXELS = 90.0
ROUND_THRESHOLDS = (
    0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5,
    0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99, 0.995, 0.998, 0.999,
)  # fmt: skip
THRESHOLD_QUANTILES = (0.02, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995)  # of predictions
READERS = {
    ".csv": 'rows = pd.read_csv("new.csv")  # sep=";" if semicolons separate the fields',
    ".tsv": 'rows = pd.read_csv("new.tsv", sep="\\t")',
    ".parquet": 'rows = pd.read_parquet("new.parquet")',
    ".xlsx": 'rows = pd.read_excel("new.xlsx")',
}


def colour(k: int, n_classes: int) -> str:
    """CSS classes of the k-th class: one of eight colours, dashed if reused; the positive class has the first."""
    k = 1 - k if n_classes == 2 else k
    return f"k{k % N_COLOURS}" + (f" dash{min(k // N_COLOURS, 2)}" if k >= N_COLOURS else "")


def data_section(study: Study) -> dict[str, Any]:
    """Classes with counts and bars, the largest first, and the used and dropped columns."""
    used = [plan for plan in study.schema.plans if plan.names]
    dropped = [plan for plan in study.schema.plans if not plan.names]
    n_features = counted(len(study.schema.columns) - len(study.schema.new_levels), "feature")
    summary = f"{counted(study.n_rows, 'row')}; {counted(len(study.classes), 'class')}; "
    summary += f"{counted(len(used), 'column')} encoded as {n_features}"
    proportion = (study.counts / study.counts.sum()).tolist()
    classes = []
    for k in np.argsort(-study.counts, kind="stable").tolist():
        label, share = shortened(study.classes[k], MAX_NAME_LETTERS), percent(proportion[k])
        picture = bar(proportion[k], f"{label}: {share} of rows", colour(k, len(proportion)))
        classes.append((label, picture, share, f"{study.counts[k]:,.0f}"))
    columns = []
    for plan in used:
        named = {plan.column: "value", f"{plan.column} is missing": "missing indicator"}
        pairs = zip(plan.names, plan.short_names, strict=True)  # a level may have the name of its column
        names = [shortened(named.get(name, short), MAX_COLUMN_LETTERS) for name, short in pairs]
        listed = enumerated(names) if len(names) <= N_LISTED_FEATURES else f"{', '.join(names[:N_LISTED_FEATURES])}, …"
        features = f"{len(names)} feature{'s' * (len(names) > 1)}: {listed}"
        columns.append((shortened(plan.column, MAX_COLUMN_LETTERS), plan.kind, plan.why, features))
    return {
        "summary": summary + (f"; {counted(len(dropped), 'column')} dropped." if dropped else "."),
        "classes": classes,
        "columns": columns,
        "dropped": [(shortened(plan.column, MAX_COLUMN_LETTERS), plan.why) for plan in dropped],
    }


def models_section(study: Study) -> dict[str, Any] | None:
    """Comparison table, best model first; None if a single model was examined."""
    comparison = study.comparison
    if comparison is None:
        return None
    known = [trial.test.log_likelihood for trial in comparison if np.isfinite(trial.test.log_likelihood.value)]
    ends = []  # ends of the whiskers, without models far behind the best
    for found in known:
        if not found.value < known[0].value - FAR_IN_SE * known[0].standard_error:
            ends += [-found.value + side * WHISKER_IN_SE * found.standard_error for side in (-1, 0, 1)]
    scale = nice_scale(ends)
    columns = _comparison_columns(comparison)
    columns = {head: cells for head, cells in columns.items() if any(cell[0] != UNKNOWN for cell in cells)}
    noted = [note.text for note in study.notes if note.topic in OTHER_MODEL_TOPICS]
    rows, best = [], -comparison.trials[0].test.log_likelihood.value
    for i, trial in enumerate(comparison):
        loss, error = -trial.test.log_likelihood.value, WHISKER_IN_SE * trial.test.log_likelihood.standard_error
        mark = Mark(loss, loss - error if loss - error < scale.high else nan, loss + error)
        title = f"{trial.name}: log-loss {fixed(loss, 4)} on the {comparison.tested} rows"
        picture = drawing.whiskers([mark], scale, title, reference=best)
        rows.append((trial, picture, [cells[i] for cells in columns.values()]))
    evaluated = f"evaluated on the same {counted(len(comparison.test_rows), f'{comparison.tested} row')}"
    if comparison.n_folds:
        how = (
            f"All models were {evaluated}: each row was predicted by models fitted on {comparison.n_folds - 1} of "
            f"{comparison.n_folds} folds that do not contain it ({comparison.folds})."
        )
    else:
        how = f"All models were fitted on the same {counted(len(comparison.train_rows), 'row')} and {evaluated}."
    chosen = comparison.best() if study.choice is None else study.choice.name
    return {
        "chosen": chosen,
        "reasons": study.choice.reasons if study.choice is not None else (),
        "heads": list(columns),
        "axis": drawing.axis_row(scale, number, f"log-loss on the {comparison.tested} rows", width=150.0),
        "rows": rows,
        "notes": list(dict.fromkeys([*notes_on(comparison, chosen), *noted])),
        "how": how,
    }


def _comparison_columns(comparison: Comparison) -> dict[str, list[tuple[str, str]]]:
    """Cells by column head: value and standard error as text."""
    found = comparison.to_dict()

    def with_errors(key: str, decimals: int = 3, sign: int = 1) -> list[tuple[str, str]]:
        pairs = zip(found[key].tolist(), found[f"{key}_se"].tolist(), strict=True)
        return [(fixed(sign * v, decimals), f"± {fixed(se, decimals)}" if isfinite(se) else "") for v, se in pairs]

    behind = with_errors("difference", 4, -1)
    best = next((i for i, cell in enumerate(behind) if cell[0] != UNKNOWN), None)
    if best is not None:
        behind[best] = ("best", "")
    probability = np.clip(found["probability"], SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)
    if np.isfinite(probability).sum() < 2:
        probability = np.full(len(probability), nan)  # the probability of a single model is not informative
    return {
        "log-loss": with_errors("test_log_likelihood", 4, -1),
        "behind the best": behind,
        "accuracy": with_errors("test_accuracy"),
        "AUC": with_errors("test_auc"),
        "Brier": with_errors("test_brier"),
        "ECE": with_errors("test_ece"),
        "log evidence": [(fixed(value, 1), "") for value in found["log_evidence"].tolist()],
        "P(model)": [(percent(p), "") for p in probability.tolist()],
        "time to fit": [(seconds(s), "") for s in found["fit_seconds"].tolist()],
    }


def importance_rows(study: Study) -> list[tuple[str, Any, str]]:
    """Columns with bars of their importance, the most important first; columns that give the class away have no number.

    The importance of such a column is only limited by the prior, or not at all. The same holds for columns that correct
    for it, whose weights are not determined either.
    """
    rows, leaks, found, spreads = [], study.leaks, influential(study), _spreads(study)
    limit = log(MAX_STATED_FACTOR) if leaks else inf
    stated = [e.importance for e in found if e.column not in leaks and e.importance <= limit]
    most = max([*stated, *(upper for _, _, upper in spreads.values())], default=1.0)
    for effect in found:
        name, value = shortened(effect.column, MAX_NAME_LETTERS), number(effect.importance, 2)
        if effect.column in spreads:
            size, *ends = spreads[effect.column]
            title = f"{name}: {number(size, 2)} nats, interval {number(ends[0], 2)} to {number(ends[1], 2)}"
            rows.append((name, bar(size / most, title, ends=(ends[0] / most, ends[1] / most)), number(size, 2)))
            continue
        if effect.column in leaks:
            rows.append((name, bar(1.0, f"{name}: {LEAK_CAPTION}"), LEAK_CAPTION))
        elif effect.importance > limit:
            rows.append((name, bar(0.0, f"{name}: not determined"), "not determined"))
        else:
            rows.append((name, bar(effect.importance / most, f"{name}: {value} nats"), value))
    return rows


def _spreads(study: Study) -> dict[str, tuple[float, float, float]]:
    """Importance of each column on the evaluated rows, with its interval; empty if the model has none."""
    if study.rows is None or study.leaks or len(study.schema.columns) > MAX_SPREAD_FEATURES:
        return {}
    weight, every = study.held_out.weight, np.arange(len(study.held_out.codes))
    every = every if weight is None else in_proportion(weight)
    some = every[np.unique(np.linspace(0, len(every) - 1, min(len(every), MAX_SPREAD_ROWS)).astype(np.intp))]
    try:
        found = importance(study.model, take_rows(study.rows, some), level=study.level)
    except (DataError, TypeError, ValueError, AttributeError):  # no distribution of the weights
        return {}
    columns = (found[name].tolist() for name in ("estimate", "lower", "upper"))
    return dict(zip(found.names, zip(*columns, strict=True), strict=True))


def effects_section(study: Study, perf: Performance) -> dict[str, Any]:
    """One card per column, the most important first, each on its own scale, so that its interval is visible.

    Of two classes, the positive one is drawn.
    """
    ranked = () if perf.is_prior_only else study.effects
    K = len(perf.labels)
    shown = [1] if K == 2 else np.argsort(-study.counts, kind="stable")[:MAX_DRAWN_CLASSES].tolist()
    drawn = [(k, perf.labels[k], f"{colour(k, K)} c{i}") for i, k in enumerate(shown)]
    base = float(study.counts[1] / study.counts.sum()) if K == 2 else nan
    cards = []
    for effect in ranked[: N_VISIBLE_CARDS + N_FOLDED_CARDS]:
        ends = [np.fmin(effect.mean, effect.lower)[:, shown].min(), np.fmax(effect.mean, effect.upper)[:, shown].max()]
        cards.append(_card(effect, drawn, nice_scale([*map(float, ends), base], at_ticks=True), base))
    for card, effect in zip(cards, ranked, strict=False):
        if effect.column in study.leaks:  # its curve may be flat, if another column gives the class away, too
            card["caption"] = "; ".join(filter(None, [card["caption"], LEAK_CAPTION]))
    return {
        "event": perf.labels[1] if K == 2 else "",
        "cards": cards[:N_VISIBLE_CARDS],
        "more": cards[N_VISIBLE_CARDS:],
        "n_hidden": max(len(study.schema.inputs) - len(cards), 0) if cards else 0,
        "legend": [] if K == 2 else [(shortened(label, 28), kind) for _, label, kind in drawn],
        "has_bands": any(bool(np.isfinite(effect.lower).any()) for effect in ranked),
        "is_crowded": len(drawn) > MAX_BANDS,
    }


def interactions_section(study: Study, perf: Performance) -> dict[str, Any]:
    """One card per interaction: probability along one column, a line for each of a few values of the other.

    Of more than two classes, a card shows the class whose lines differ most.
    """
    cards, K, kinds = [], len(perf.labels), {plan.column: plan.kind for plan in study.schema.plans}
    interactions = study.model.interactions_
    top = max((float(np.nanmax(np.fmax(e.mean, e.upper)[..., 1:])) for e in study.pair_effects), default=1.0)
    upright = nice_scale([0.0, top], at_ticks=True)
    for pair in study.pair_effects:
        k = 1 if K == 2 else int(np.ptp(pair.mean, axis=0).max(axis=0).argmax())
        (along, other), (mean, lower, upper) = pair.columns, (pair.mean, pair.lower, pair.upper)
        effect = replace(pair, mean=mean[..., k].T, lower=lower[..., k].T, upper=upper[..., k].T)  # a line per value
        if kinds[other] == "boolean" and set(pair.given) <= {0, 1}:
            texts = ["yes" if v else "no" for v in pair.given]
        else:
            texts = [number(float(v)) if isinstance(v, float | np.floating) else label_text(v) for v in pair.given]
        drawn = [(i, f"{shortened(other, 28)} = {text}", f"k{i}") for i, text in enumerate(texts)]
        of_class = "" if K == 2 else f", {shortened(perf.labels[k], 28)}"
        name = shortened(f"{along} × {other}", MAX_NAME_LETTERS)
        legend = [(label, kind) for _, label, kind in drawn]
        heading = {"column": name, "caption": f"along {shortened(along, 28)}{of_class}", "legend": legend}
        cards.append(_card(effect, drawn, upright, nan) | heading)
    return {
        "cards": cards,
        "text": interactions.describe() if interactions is not None and interactions.pairs else "",
        "n_hidden": 0 if interactions is None else len(interactions.pairs) - len(cards),
        "event": perf.labels[1] if K == 2 else "",
    }


def _card(effect: Effect, drawn: list[tuple[int, str, str]], upright: Scale, base: float) -> dict[str, Any]:
    """Card of one column: a curve for numbers and dates; otherwise one row per level, the most frequent first.

    Words of a text come in the order of their probabilities.

    ``drawn`` has the index, label and colour of each class that is drawn. ``base`` is the proportion of the positive
    class among all rows, NaN if several classes are drawn.
    """
    name = shortened(effect.column, MAX_NAME_LETTERS)
    mean = effect.mean[:, [k for k, _, _ in drawn]]
    span = f"from {percent(float(np.nanmin(mean)))} to {percent(float(np.nanmax(mean)))}"
    captions = ["if the text is only this word or pair"] * (effect.kind == "text") + [span] * (len(drawn) == 1)
    if effect.missing is not None:
        p, label = max((float(effect.missing.mean[0, k]), label) for k, label, _ in drawn)
        captions.append(f"{percent(p)} if missing" if len(drawn) == 1 else f"{label} {percent(p)} if missing")
    card: dict[str, Any] = {"column": name, "caption": "; ".join(captions), "legend": [], "rug": ""}
    values, density = np.asarray(effect.values), np.asarray(effect.share, dtype=np.float64)
    is_date = values.dtype.kind == "M"
    if effect.kind not in ("boolean", "categorical") and len(values) > 1 and (is_date or values.dtype.kind in "iuf"):
        title = f"Probability {f'of {drawn[0][1]} ' if len(drawn) == 1 else ''}along {name}, {span}"
        x = values.astype("datetime64[s]").astype(np.float64) / 86400 if is_date else values.astype(np.float64)
        axis = drawing.axis_along(x, is_date=is_date)
        card["rug"] = f"grey bars: each has up to {percent(float(density.max(initial=0.0)))} of the rows"
        found = [Mark(effect.mean[:, k], effect.lower[:, k], effect.upper[:, k], kind) for k, _, kind in drawn]
        return card | {"curve": drawing.curves(axis, found, density, upright, title, reference=base)}
    rows = []
    is_text = effect.kind == "text"
    for g in np.argsort(-mean[:, 0] if is_text else -density, kind="stable").tolist():
        is_flag = effect.kind == "boolean" and effect.values[g] in (0, 1)
        level = ("yes" if effect.values[g] else "no") if is_flag else label_text(effect.values[g])
        marks, chances = [], []
        for k, label, kind in drawn:
            marks.append(Mark(float(effect.mean[g, k]), float(effect.lower[g, k]), float(effect.upper[g, k]), kind))
            chances.append(f"{label} {percent(marks[-1].value)}")
        picture = drawing.whiskers(marks, upright, f"{level}: {', '.join(chances)}", reference=base)
        rows.append((shortened(level, 32), picture, percent(float(density[g]))))
    is_folded = len(rows) > N_VISIBLE_LEVELS + 1 and not is_text  # folding one level saves no space
    split = N_VISIBLE_LEVELS if is_folded else len(rows)
    axis_picture = drawing.axis_row(upright, percent, "probability", width=MIN_LEVEL_ROW_PIXELS)
    more = rows[split : split + N_FOLDED_LEVELS]
    return card | {"curve": None, "axis": axis_picture, "levels": rows[:split], "more_levels": more}


def calibration_section(study: Study, perf: Performance) -> dict[str, Any]:
    """Reliability diagram with a table of its values, and a histogram of the predicted probabilities."""
    P, codes, weight = study.held_out.P, study.held_out.codes, study.held_out.weight
    curve = metrics.reliability(P, codes, weight, level=study.level)
    two = len(perf.labels) == 2
    event = shortened(perf.labels[1]) if two else "the most probable class"
    top = float(max(curve.predicted.max(), curve.upper.max()))  # a rare class gets a zoomed axis
    scale = drawing.UNIT_SCALE if top > MAX_ZOOMED_PROBABILITY else nice_scale([0.0, top], at_ticks=True)
    p = P[:, 1] if two else P.max(axis=1)
    bins = zip(curve.predicted, curve.observed, curve.lower, curve.upper, curve.count, strict=True)
    return {
        "event": event,
        "diagram": drawing.reliability_diagram(
            curve, scale, f"Observed frequency of {event} against its predicted probability"
        ),
        "histogram": drawing.histogram(p, scale, f"Number of rows by predicted probability of {event}", weight),
        "bins": [
            (percent(p), percent(seen), f"{percent(low)} to {percent(high)}", f"{n:,.0f}")
            for p, seen, low, high, n in bins
        ],
    }


def decisions_section(study: Study, perf: Performance, costs: Costs | None = None) -> dict[str, Any]:
    """Confusion matrix; for two classes also a table of thresholds, for more also recall and precision by class.

    With costs, decisions are those of smallest expected cost. With two classes, this is a threshold.
    """
    L, chosen = costs_in_order(study.classes, costs), 0.5
    rule = "the more probable side" if perf.is_one_of_many else "the most probable class"
    if L is not None:
        rule = "the decision of smallest expected cost"
    if L is not None and len(L) == 2:
        chosen = cost_threshold(L, 1)
        rule += f": {perf.labels[1]} if its probability exceeds {percent(chosen)}"
    P, codes, weight = study.held_out.P, study.held_out.codes, study.held_out.weights
    K = len(perf.labels)
    counts = np.bincount(K * codes + decide(P, costs=L), weight, K * K).reshape(K, K)
    scores, thresholds = [], []
    if K > 2:
        for k, label in enumerate(perf.labels):
            n = counts[k].sum()
            recall, precision = _fraction(counts[k, k], n), _fraction(counts[k, k], counts[:, k].sum())
            scores.append((label, f"{n:,.0f}", recall, precision))
    elif not perf.is_prior_only:
        p, is_event = P[:, 1], codes == 1
        for threshold in thresholds_for(p, chosen):
            flagged = weight * (p >= threshold)
            hits = flagged @ is_event
            cost = number((1 - threshold) / threshold, 2)  # false alarms per missed case: (1 - p) / p
            flagged_fraction, precision = _fraction(flagged.sum(), weight.sum()), _fraction(hits, flagged.sum())
            thresholds.append((threshold, cost, flagged_fraction, precision, _fraction(hits, weight @ is_event)))
    return {
        "confusion": [
            (label, [(_fraction(n, row.sum()), round(n), round(10 * n / max(row.sum(), 1))) for n in row])
            for label, row in zip(perf.labels, counts, strict=True)
        ],
        "rule": rule,
        "chosen": chosen,
        "thresholds": thresholds,
        "scores": scores,
    }


def thresholds_for(p: Float, chosen: float = 0.5) -> list[float]:
    """Round thresholds near the quantiles of the predicted probabilities, and the chosen one.

    If one row in a hundred belongs to the class, nearly all probabilities are below 0.1, and higher thresholds would
    give the same decisions.

    >>> thresholds_for(np.linspace(0.0, 0.04, 1001) ** 1.5)  # at most 0.8 %
    [0.0001, 0.0002, 0.001, 0.002, 0.005, 0.01, 0.5]
    """
    choices = np.array(ROUND_THRESHOLDS)
    log_odds = np.log(choices / (1 - choices))
    inside = np.clip(np.quantile(p, THRESHOLD_QUANTILES), choices[0], choices[-1])
    nearest = np.abs(np.log(inside / (1 - inside))[:, None] - log_odds).argmin(axis=1)
    return sorted({*choices[nearest].tolist(), chosen})


def _fraction(part: Any, whole: Any) -> str:
    return percent(float(part / whole)) if whole else UNKNOWN


def usage_section(study: Study, model_path: str, fitted: str = "model") -> dict[str, str]:
    """Snippets that load and apply this model; ``fitted`` is the model with intervals, inside a rule of costs."""
    ending = PurePath(study.question.name).suffix.lower()
    ending = ending if ending in READERS else ".csv"
    classes = study.model.classes_  # in the order of the model, whichever class is positive
    labels = [shortened(label, 20) for label in classes[:4]]
    python = [
        "import pandas as pd",
        "import separatrix as sx",
        "",
        f"model = sx.load({model_path!r})",
        READERS[ending],
        f"P = model.predict_proba(rows)  # one column per class: {', '.join(labels)}{', ...' * (len(classes) > 4)}",
        "predicted = model.predict(rows)",
    ]
    if getattr(study.model.estimator_, "predict_interval", None) is not None:
        call, whose = f"{fitted}.predict_interval(rows, {study.level:g})", "of each class"
        if len(classes) == 2:  # the model returns the interval of the second class
            call = f"1 - {call}[:, ::-1]" if study.classes[1] == classes[0] else call
            whose = f"of {shortened(study.classes[1], 20)}"
        python.append(f"interval = {call}  # lower and upper probability {whose}")
    path = quote(model_path)
    return {
        "python": "\n".join(python),
        "shell": f"separatrix predict {path} new{ending} -o out.csv\nseparatrix explain {path}",
    }


def provenance(study: Study, perf: Performance, written: datetime, model_path: str) -> Iterator[tuple[str, str]]:
    """Names and values needed to reproduce the study."""
    yield "Table", study.question.name
    yield "Target", study.question.target
    rows = counted(study.n_rows, "row")
    if study.is_held_out:
        folds, share = study.comparison and study.comparison.folds, study.question.test_share
        how = f" ({folds})" if folds else "" if share is None else f" ({percent(share)} of each class)"
        rows += f"; models were compared on {perf.evaluated_rows}{how}"
    yield "Rows", rows
    if study.question.types:
        yield "Types", ", ".join(f"{column}={kind}" for column, kind in study.question.types.items())
    if study.positive is not None:
        yield "Positive class", str(study.positive)
    if study.question.seed is not None:
        yield "Seed", str(study.question.seed)
    if study.choice is not None:
        yield "Model", study.choice.name
    yield "Class", f"TableClassifier with {type(study.model.estimator_).__name__}"
    yield "Settings", f"sx.load({model_path!r}).estimator_ shows all settings of the model"
    yield "Intervals", percent(study.level)
    if isfinite(study.seconds):
        yield "Time taken", seconds(study.seconds)
    yield "Written", written.strftime("%Y-%m-%d %H:%M %Z").strip()
    yield "Versions", f"separatrix {version('separatrix')}, NumPy {np.__version__}, Python {platform.python_version()}"
