# SPDX-License-Identifier: BSD-3-Clause
"""Notes for the user of a model: problems of the table, warnings of the fit, and separation of the classes."""

from __future__ import annotations

import re
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.utils import gen_batches

from separatrix._array import Array, Codes
from separatrix._text import counted, first_few, option
from separatrix.bayesian import BayesianLogisticRegression, Levels, Limit, Products
from separatrix.comparison import ModelAverage
from separatrix.effects import MAX_EFFECT_COLUMNS
from separatrix.exceptions import ApproximationWarning, CollinearWarning, ConvergenceWarning, SeparationWarning
from separatrix.rows import NamedRows, open_rows
from separatrix.separation import SeparationStatus, separability
from separatrix.study.combination import in_words
from separatrix.study.progress import Budget
from separatrix.study.records import Note, Topic
from separatrix.table import CategoryPlan, DatePlan, NumberPlan, Schema, TextPlan
from separatrix.table_model import CURVE_OF, TableClassifier, Words, basis_rows

MAX_RARE_FRACTION = 0.05  # of the rows; smaller classes are reported as rare
MAX_RARE_RATIO = 0.25  # to the proportion of a class if all classes are equally frequent
MIN_ROWS = 100  # with fewer rows, scores are imprecise
MAX_SINGLE_DROPS = 3  # more columns that are dropped for the same reason share one note
REASONS = {
    "constant": "each has a single value",
    "empty": "all of their values are missing",
    "id": "they look like identifiers",
    "id or name": "they have too many distinct values, as identifiers and names have",
    "rare levels": "none of their values is frequent enough to learn from",
    "dropped": "as requested",
}
MAX_SEPARATION_UNKNOWNS = 1000
SEPARATION_SECONDS = 2e-7  # per cubed unknown, for K classes; two classes take less
MAX_SEPARATION_FRACTION = 0.4  # of the time left
MIN_SEPARATION_SECONDS = 0.5  # shorter checks are made even if no time is left
BATCH_ROWS = 4096

ARGUMENT = re.compile(r"\b(\w+=|tol\b|narrower prior\b)")  # an argument of a model
QUOTED = re.compile(r"'[^']*'")  # names of features, which may contain an equal sign
REMEDIES: dict[str, tuple[str, ...]] = {
    "approximation": (
        "Check the calibration error before you rely on the probabilities. More rows or fewer columns make them more "
        "accurate.",
    ),
    "collinear": ("Leave out those columns.",),
    "convergence": ("Leave out redundant columns.",),
}
TUNING = "Tuning of the prior"
LIMITS = {
    Limit.NARROW: "these features do not help to predict the class",
    Limit.WIDE: "the rows determine these weights, so the prior does not limit them",
}
DEPRECATIONS = (DeprecationWarning, PendingDeprecationWarning, FutureWarning)
TOPIC_OF: tuple[tuple[type[Warning], Topic], ...] = (
    (SeparationWarning, "separation"),
    (ApproximationWarning, "approximation"),
    (CollinearWarning, "collinear"),
    (ConvergenceWarning, "convergence"),
)


@contextmanager
def captured() -> Iterator[list[Note]]:
    """Collect distinct warnings as notes; the list is filled when the block ends.

    Deprecation warnings are left out, because the reader of a study cannot act on them.
    """
    notes: list[Note] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    found: dict[Note, None] = {}
    for warning in caught:
        if not issubclass(warning.category, DEPRECATIONS):
            topics = [topic for kind, topic in TOPIC_OF if issubclass(warning.category, kind)]
            topic: Topic = topics[0] if topics else "warning"
            found[Note(topic, _without_arguments(str(warning.message), topic))] = None
    notes.extend(found)


def notes_on_table(schema: Schema, features: Sequence[Any], classes: Array, counts: Array) -> Iterator[Note]:
    """Notes on dropped and ambiguous columns, missing values, rare classes and few rows.

    ``features`` are the encoded rows, in one block or several.
    """
    n_rows, groups = sum(block.shape[0] for block in features), schema.groups
    flagged = [plan for plan in schema.plans if isinstance(plan, NumberPlan | DatePlan | TextPlan) and plan.indicator]
    dropped = defaultdict(list)
    for plan in schema.plans:
        if not plan.names:
            dropped[plan.kind].append(plan)
        elif isinstance(plan, TextPlan) and plan.note:
            yield Note("text", plan.note)
        elif plan.note:
            yield Note("odd cells" if plan in flagged else "warning", plan.note)
    for kind, plans in dropped.items():
        if len(plans) <= MAX_SINGLE_DROPS or kind not in REASONS:
            yield from (Note("dropped", plan.note) for plan in plans)
        else:
            names = first_few([plan.column for plan in plans], 3)
            yield Note("dropped", f"{len(plans)} columns were dropped: {REASONS[kind]}: {names}.")
    missing = {}
    for plan in schema.plans:
        if plan.names and (plan in flagged or (isinstance(plan, CategoryPlan) and plan.missing)):
            # The last feature of the column is the indicator of missing values.
            last = [groups[plan.column][-1]]
            missing[plan.column] = sum(float(block[:, last].sum()) for block in features) / n_rows
    worst = sorted((column for column in missing if missing[column] > 0), key=lambda column: -missing[column])
    if worst:
        is_text = any(isinstance(plan, TextPlan) and plan.column in worst for plan in schema.plans)
        shown = first_few([f"{column} ({100 * missing[column]:.3g} %)" for column in worst])
        yield Note(
            "missing",
            f"Missing values in {shown}. Missing numbers are set to the mean and flagged; missing categories get "
            f"their own level{'; missing texts have no words and are flagged' if is_text else ''}.",
        )
    N, least = float(counts.sum()), int(counts.argmin())
    if counts[least] < min(MAX_RARE_FRACTION, MAX_RARE_RATIO / len(counts)) * N:
        yield Note(
            "imbalance",
            f"Class {classes.tolist()[least]!r} has {counts[least]:.6g} of {counted(N, 'row')} "
            f"({100 * counts[least] / N:.2g} %): "
            "accuracy hardly depends on it, so use log-loss and AUC, and let the costs of errors decide.",
        )
    if N < MIN_ROWS:
        only = "is only 1 row" if N == 1 else f"are only {N:.6g} rows"
        yield Note("few rows", f"There {only}: the scores are imprecise; see their standard errors.")


def notes_on_model(model: TableClassifier, warned: Sequence[Note]) -> Iterator[Note]:
    """Distinct notes: warnings of the fit, notes of the model itself, and whether some effects are not shown."""
    estimator = model.estimator_
    if isinstance(estimator, ModelAverage):
        one = max(estimator.weights_, key=estimator.weights_.__getitem__)
        yield Note(
            "combination",
            f"The probabilities are the weighted mean of those of several models: {in_words(estimator.weights_)}. "
            "This combination has neither weights of columns nor intervals. For these, choose a single model, for "
            f"example with {option('--models', one)} (in Python, models=).",
        )
    report: Any = getattr(estimator, "tuning_", None)
    limits: tuple[Any, ...] = () if report is None else report.boundary
    described = {at.describe(): at for at in limits}
    about: Topic = "approximation"
    topics = {_without_arguments(text, about): about for text in getattr(estimator, "notes_", ())}
    topics |= {note.text: note.topic for note in warned}
    for text, topic in topics.items():
        if text not in described and not text.startswith(TUNING):
            yield Note(topic, text)
    curves = [at for at in limits if at.limit is Limit.NARROW and str(at.label).startswith(CURVE_OF)]
    alone = " on their own" if model.interactions_ is not None and model.interactions_.pairs else ""
    if curves:
        names = first_few([repr(at.label.removeprefix(CURVE_OF)) for at in curves])
        yield Note("tuning", f"{names}: the curves of these columns do not help to predict the class{alone}.")
    for at in limits:
        if at.limit is not Limit.SEPARATED and at not in curves:  # separation has its own check and note
            names = first_few(list(map(repr, at.columns)))
            if isinstance(at.label, Levels):
                names = f"Levels of {at.label.category!r}"
            elif isinstance(at.label, Words):
                names = f"Words of {at.label.name!r}"
            elif isinstance(at.label, Products):
                names = f"Interactions ({at.label.name})"
            is_alone = at.limit is Limit.NARROW and not isinstance(at.label, Products)
            yield Note("tuning", f"{names}: {LIMITS[at.limit]}{alone * is_alone}.")
    if report is not None and report.is_incomplete:
        yield Note(
            "tuning",
            "The width of the prior could not be tuned completely, so probabilities may be too cautious or too "
            "certain. Leave out redundant columns, or compare with another model.",
        )
    if len(model.encoder_.schema_.inputs) > MAX_EFFECT_COLUMNS:
        yield Note("effects", f"Effects are shown for the {MAX_EFFECT_COLUMNS} columns with the largest weights.")


def _without_arguments(text: str, topic: Topic) -> str:
    """Text without the sentences about arguments of a model, which a study does not have; with a remedy instead."""
    parts = re.split(r"(?<=[.!?]) (?=[A-Z])", text)
    kept = [part for part in parts if not ARGUMENT.search(QUOTED.sub("", part))]
    return text if not kept or len(kept) == len(parts) else " ".join([*kept, *REMEDIES.get(topic, ())])


# If a hyperplane separates the classes, the likelihood has no maximum, and only the prior limits the size of some
# weights. A fit with a prior does not fail in this case, so separation has to be checked.


def separation_of(
    model: TableClassifier, features: Any, codes: Codes, budget: Budget | None = None
) -> tuple[SeparationStatus, tuple[Note, ...]]:
    """Whether the basis functions of a logistic model separate the classes, and a note on the consequences.

    The status is "unknown" for other models, whose estimates exist in any case. It is also "unknown" if there are too
    many weights to check, or columns are so nearly collinear that rounding hides the answer, unless the fitted weights
    classify all rows correctly.
    """
    estimator, n_rows = model.estimator_, len(codes)
    if not isinstance(estimator, BayesianLogisticRegression):
        return "unknown", ()
    source = open_rows(NamedRows(features, model.encoder_.schema_.columns)).with_numbers(codes)
    source = source.mapped(estimator.basis_)
    K, along, n_apart = len(model.classes_), "", n_rows
    status: SeparationStatus = "unknown"
    unknowns = (K - 1) * (len(source.columns) + 1)
    expected = SEPARATION_SECONDS * unknowns**3
    most = np.inf if budget is None else max(MIN_SEPARATION_SECONDS, MAX_SEPARATION_FRACTION * budget.left)
    why = "columns are nearly collinear"
    if unknowns > MAX_SEPARATION_UNKNOWNS:
        why = f"{unknowns} weights are too many to check"
    elif expected > most:
        why = f"a check takes about {max(expected, 1):.0f} s, and too little time was left (allow more with --time)"
    else:
        found = separability(source, K, fit_intercept=estimator.fit_intercept)
        status, n_apart = found.status, n_rows - found.n_on_plane
        names = first_few([f"'{name}'" for name in found.columns])
        along = f" along {names}" if names else ""
    if status == "unknown":
        batches = gen_batches(n_rows, BATCH_ROWS)
        A = np.concatenate([basis_rows(model, features[at]) @ estimator.coef_.T for at in batches])
        A += estimator.intercept_
        if np.array_equal(A[:, 0] > 0 if A.shape[1] == 1 else A.argmax(axis=1), codes):
            status, along = "complete", ""
    if status == "overlapping" or not n_apart:  # if all rows lie on the plane, it separates none of them
        return "overlapping", ()
    if status == "unknown":
        text = (
            f"It is not known whether some columns separate a class from the others: {why}. If some do, probabilities "
            "near 0 and 1 depend on the prior."
        )
        return status, (Note("separation not checked", text),)
    if status == "complete":
        text = f"A hyperplane separates the classes without error{along}."
    else:
        text = f"A hyperplane separates {n_apart} of {n_rows} rows without error{along}; the other rows lie on it."
    text += (
        " The data determine the direction of these weights but not their size, which only the prior limits. "
        "Probabilities near 0 and 1 therefore depend on the prior; be careful with rows unlike the training rows."
    )
    return status, (Note("separation", text),)
