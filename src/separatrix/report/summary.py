# SPDX-License-Identifier: BSD-3-Clause
"""Sentences of the report: the summary at its top, and the warnings with their remedies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from separatrix._text import enumerated
from separatrix.bayesian import BayesianLogisticRegression
from separatrix.report.performance import MIN_ROWS_TO_JUDGE, Performance, performance_of, positive_view
from separatrix.report.words import counted, fixed, percent, points, shortened
from separatrix.study import OTHER_MODEL_TOPICS, Effect, Study

N_TOP_COLUMNS = 3
MAX_NAMED_CLASSES = 4  # number of classes named in the first sentence
MAX_LISTED_CLASSES = 6  # number of classes listed in a warning
MIN_IMPORTANCE_NATS = 1e-9  # a smaller importance is rounding error
MIN_ROWS_PER_CLASS = 30  # with fewer evaluated rows, recall has an error of ten points or more
MAX_SURE_ECE = 0.04  # if chance alone gives a larger ECE, rows are too few to confirm good calibration
SAME_SOURCE = "These results hold for data collected in the same way. If the source changes, validate the model again."


def answer_sentences(study: Study, perf: Performance) -> list[str]:
    """Sentences at the top: target and columns, quality, calibration, and the most influential columns.

    If columns give the class away, this comes first; calibration and the influence of other columns are not stated.
    """
    target, columns = shortened(study.question.target), counted(len(study.schema.inputs), "column")
    names = [shortened(label, 28) for label in perf.labels]
    if perf.is_one_of_many or len(names) > MAX_NAMED_CLASSES:
        predicted = f"the probability of each of the {counted(len(study.model.classes_), 'class')} of {target}"
    elif len(names) == 2:
        predicted = f"the probability that {target} is {names[1]} (rather than {names[0]})"
    else:
        predicted = f"the probability of each class of {target} ({enumerated(names)})"
    sentences = [f"This model predicts {predicted} from {columns}."]
    if study.leaks:
        given = enumerated([shortened(column, 32) for column in study.leaks[:N_TOP_COLUMNS]])
        gives, it = ("gives", "it") if len(study.leaks) == 1 else ("give", "them")
        sentences.insert(0, f"{given} {gives} {target} away, so the results below say nothing about rows without {it}.")
    if perf.n_trained:
        sentences.append(f"It was fitted on {counted(perf.n_trained, 'row')}.")
    if perf.is_one_of_many:
        sentences.append(f"This report is about {names[1]} against all other classes.")
    if perf.is_prior_only:
        k, rest = (1, "") if len(names) == 2 else (perf.largest, ", the largest class,")
        proportion = percent(float(study.counts[k] / study.counts.sum()))
        constant = f"for every row: {names[k]}{rest} has probability {proportion}."
        if study.comparison is None or any(trial.outcome == "not tried" for trial in study.comparison):
            return [*sentences, f"It uses no column and predicts the class proportions {constant}"]
        return [
            *sentences,
            f"No model did better than the class proportions, so it predicts them {constant}",
            "The columns contain little or no information about the target, so individual cases cannot be decided from "
            "them.",
        ]
    sentences.append(_quality(study, perf))
    if study.leaks:
        return sentences
    if perf.r2 > 0:  # calibration is irrelevant for a useless model
        sentences.append(calibration_sentence(perf))
    top = [shortened(effect.column, 32) for effect in influential(study)[:N_TOP_COLUMNS]]
    if top:
        subject = "columns are" if len(top) > 1 else "column is"
        sentences.append(f"The most influential {subject} {enumerated(top)}.")
    return sentences


def _quality(study: Study, perf: Performance) -> str:
    """Accuracy and explained uncertainty; after a comparison, of a copy fitted without the held-out rows."""
    if not study.is_held_out:
        rows = f"On the {perf.evaluated_rows}, which may include rows it was fitted on, it"
    else:
        few = ", too few to judge a model," if perf.n_rows < MIN_ROWS_TO_JUDGE else ""
        copy = f" a copy fitted on the other {counted(study.n_train, 'row')}" if study.n_train is not None else " it"
        if study.comparison is not None and study.comparison.n_folds:
            copy = " copies fitted without these rows"
        rows = f"On {perf.evaluated_rows}{few or ','}{copy}"
    baseline = f"{perf.baseline} ({percent(perf.baseline_accuracy)})"
    if perf.accuracy.value <= perf.baseline_accuracy:
        against = f"no better than {baseline}"
    elif perf.accuracy.value <= perf.baseline_accuracy + 2 * perf.accuracy.standard_error:
        against = f"hardly better than {baseline}"
    else:
        against = f"better than {baseline}"
    sentence = f"{rows} had an accuracy of {percent(perf.accuracy.value)}, {against}."
    if perf.has_one_class:
        label = perf.labels[perf.largest]
        return f"{sentence} All of them are of class {label}, so they cannot show whether it is useful."
    if perf.n_rows < MIN_ROWS_TO_JUDGE:
        return sentence
    if not perf.r2 > 0:
        return f"{sentence} The model's probabilities are no better than the class proportions: do not act on them."
    explained = f"The model explains {percent(perf.r2)} of the uncertainty left by class proportions (McFadden's R²)."
    return f"{sentence} {explained}"


def calibration_sentence(perf: Performance, leaks: Sequence[str] = ()) -> str:
    """Whether the probabilities agree with the observed frequencies; not judged if columns give the class away."""
    if perf.is_prior_only:
        return "Every row has the same probabilities, the class proportions, which are correct on average only."
    if leaks:
        given = enumerated([shortened(column, 32) for column in leaks[:N_TOP_COLUMNS]])
        gives, it = ("gives", "it") if len(leaks) == 1 else ("give", "them")
        return f"Calibration cannot be judged, because {given} {gives} the class away: leave {it} out, and fit again."
    if perf.n_rows < MIN_ROWS_TO_JUDGE:
        return f"Calibration cannot be assessed on {perf.evaluated_rows}."
    error, by_chance = f"{100 * perf.ece.value:.1f} percentage points", points(perf.ece_if_calibrated)
    expected = f"{by_chance} are expected from chance alone on {counted(perf.n_rows, 'row')}"
    if perf.is_calibrated and perf.ece_if_calibrated > MAX_SURE_ECE:
        return (
            f"No miscalibration was detected, but {counted(perf.n_rows, 'row')} are too few to be sure: the average "
            f"error is {error}, and {by_chance} are expected from chance alone."
        )
    if perf.is_calibrated:
        return f"The model's probabilities are well calibrated: the average error is {error}, and {expected}."
    side = "overconfident" if perf.excess_confidence > 0 else "underconfident"
    overall = f" On average the model is {side}." if abs(perf.excess_confidence) > 0.01 else ""
    known = f"the average error is {error}, but only {expected}"
    return f"The model's probabilities are poorly calibrated: {known}.{overall}"


def influential(study: Study) -> list[Effect]:
    """Effects of the columns that change the probabilities, the most important first."""
    return [e for e in study.effects if e.importance > MIN_IMPORTANCE_NATS or e.column in study.leaks]


def headline_figures(perf: Performance, *, has_leak: bool = False) -> list[tuple[str, str, str]]:
    """Name, value and comparison of the four figures in large type."""
    by_chance = f"{points(perf.ece_if_calibrated)} expected by chance"
    ranking = "0.5 is guessing, 1 is perfect" + ("" if len(perf.labels) == 2 else "; mean over pairs of classes")
    return [
        ("accuracy", percent(perf.accuracy.value), f"{percent(perf.baseline_accuracy)} for {perf.baseline}"),
        ("log-loss", fixed(perf.log_loss.value), f"{fixed(perf.baseline_loss)} for the class proportions"),
        ("area under the ROC curve", fixed(perf.auc.value), ranking),
        ("calibration error", points(perf.ece.value), "a column gives the class away" if has_leak else by_chance),
    ]


class Warned(NamedTuple):
    """One warning under its title; the remedy is empty if a later warning of the same topic states it."""

    topic: str
    title: str
    text: str
    remedy: str


# Title and remedy by topic of a note, the most severe first. The report itself adds "calibration" and "few of a class".
# The first severe warning is repeated at the top of the report.
SEVERE = {
    "leak": (
        "A column gives the class away",
        "If it is recorded after the outcome, the model is useless for new rows: leave the column out and fit again.",
    ),
    "fallback": ("Another model than the best", ""),
    "nothing beats the shares": (
        "No better than the class proportions",
        "Do not act on individual probabilities.",
    ),
    "separation": (
        "Separation",
        "Check the named columns: one of them may leak the target, for example if it is recorded after the outcome. If "
        "it is legitimate, trust the sign of its weight but not its size, which is set by the prior.",
    ),
    "approximation": ("Approximation", "Treat intervals as rough."),
    "convergence": ("Not converged", "Remove redundant columns, or allow more iterations, and fit again."),
    "calibration": (
        "Calibration",
        "Use the probabilities to rank rows, or recalibrate them before using their values. Check whether the "
        "evaluated rows differ from the training rows.",
    ),
    "imbalance": (
        "Class imbalance",
        "Do not judge the model by accuracy. Decide by the costs of each error: see the section on decisions.",
    ),
    "few rows": ("Few rows", "Rely on the intervals, and collect more rows before much depends on this model."),
    "few of a class": ("Few rows of a class", "Recall and precision of these classes are imprecise."),
}
HEADINGS = {
    "leak": SEVERE["leak"],
    "odd cells": ("Values of another type", "Correct these cells in the file, and fit again."),
    **SEVERE,
    "outlier": ("Outliers", ""),
    "identical": ("Identical columns", ""),
    "codes": ("Numbers that may be codes", ""),
    "collinear": (
        "Redundant columns",
        "Predictions are not affected, but only the joint effect of these columns is determined, not each weight.",
    ),
    "new values": ("New values", "Predictions for such rows rely on the other columns."),
    "combination": ("A combination of models", ""),
    "weights": ("Weights of rows", ""),
    "missing": (
        "Missing values",
        "The model treats a missing value as information. Make sure that values are missing for the same reasons in "
        "new rows.",
    ),
    "text": ("Free text", ""),
    "dropped": (
        "Dropped columns",
        "If a column should be used, set its type: --types COLUMN=categorical, or TableClassifier(types={...}).",
    ),
    "many classes": (
        "Classes of the target",
        "Check that the target is correct: a classifier ignores the order of classes.",
    ),
    "rare class": ("Classes left out", "Collect more rows of them, or merge them with a similar class."),
    "unlabelled": ("Rows without a label", ""),
    "sampled": ("Sampling", ""),
    "left out": ("Models left out", ""),
    "tuning": ("Prior", ""),
    "separation not checked": ("Separation", ""),
    "effects": ("Effects", ""),
}
CONSTANT_WITHIN = " constant within "  # words in a warning of discriminant analysis


def warnings_on(study: Study, perf: Performance) -> list[Warned]:
    """Notes of the study and warnings about the evaluated rows, the most severe first.

    Each remedy appears once, after the last sentence on its topic.
    """
    noted = [(str(note.topic), note.text) for note in study.notes if note.topic not in OTHER_MODEL_TOPICS]
    if not perf.r2 > 0 and not perf.has_one_class and "nothing beats the shares" not in dict(noted):
        text = (
            f"On {perf.evaluated}, the probabilities are no better than the class proportions. Look for columns that "
            "contain more information about the target."
        )
        noted.append(("nothing beats the shares", text))
    if not perf.is_calibrated:
        error, by_chance = points(perf.ece.value), points(perf.ece_if_calibrated)
        text = f"The average calibration error is {error}; {by_chance} are expected from chance alone."
        noted.append(("calibration", text))
    few = []
    for label, n in zip(perf.labels, np.bincount(study.held_out.codes, minlength=len(perf.labels)), strict=True):
        if n < MIN_ROWS_PER_CLASS:
            few.append(f"{shortened(label, 28)} ({n:,})")
    if few:
        more = [counted(len(few) - MAX_LISTED_CLASSES, "other")] if len(few) > MAX_LISTED_CLASSES else []
        listed = enumerated([*few[:MAX_LISTED_CLASSES], *more])
        noted.append(("few of a class", f"Classes with fewer than {MIN_ROWS_PER_CLASS} {perf.evaluated}: {listed}."))
    rank = {topic: i for i, topic in enumerate(HEADINGS)}
    noted.sort(key=lambda item: rank.get(item[0], len(rank)))
    last = {topic: i for i, (topic, _) in enumerate(noted)}
    warned = []
    for i, (topic, text) in enumerate(noted):
        title, remedy = HEADINGS.get(topic, ("Note", ""))
        if topic == "collinear" and CONSTANT_WITHIN in text:  # predictions depend on these columns most
            title, remedy = "Columns that are constant within a class", ""
        warned.append(Warned(topic, title, text, remedy if last[topic] == i else ""))
    return warned


def main_caveat(warned: list[Warned], leaks: Sequence[str] = ()) -> str:
    """Most severe warning with its remedy, for the top of the report; it names all columns that give the class away."""
    first = next((item for item in warned if item.topic in SEVERE), None)
    if first is None:
        return SAME_SOURCE
    others = leaks[1:] if first.topic == "leak" else ()
    more = f" The same holds for {enumerated([repr(shortened(name, 32)) for name in others])}." if others else ""
    return f"{first.text}{more} {SEVERE[first.topic][1]}"


def severe_warnings(study: Study) -> list[str]:
    """Texts of the warnings that may make a model useless or misleading, the most severe first."""
    view = positive_view(study)
    return [item.text for item in warnings_on(view, performance_of(view)) if item.topic in SEVERE]


def passed_checks(study: Study, perf: Performance, warned: list[Warned]) -> str:
    """Sentence on the checks that found no problem; checks that were not made are not listed."""
    checks = {"few of a class": f"classes with fewer than {MIN_ROWS_PER_CLASS} {perf.evaluated}"}
    if perf.n_rows >= MIN_ROWS_TO_JUDGE and not study.leaks:
        if not perf.has_one_class:
            checks["nothing beats the shares"] = "probabilities no better than the class proportions"
        checks["calibration"] = "a calibration error larger than chance explains"
    if study.separation != "unknown":
        checks["separation"] = "a hyperplane that separates the classes"
    if isinstance(study.model.estimator_, BayesianLogisticRegression):
        checks["approximation"] = "a poor approximation of the posterior"
    found = {item.topic for item in warned}
    passed = [problem for topic, problem in checks.items() if topic not in found]
    return f"Problems that were checked for and not found: {enumerated(passed)}." if passed else ""
