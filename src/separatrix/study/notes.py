# SPDX-License-Identifier: BSD-3-Clause
"""Notes on a table, on the warnings of a model, and on separation of the classes: what to know before acting."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.utils import gen_batches

from separatrix._array import Array, Codes
from separatrix.bayesian import BayesianLogisticRegression, Limit
from separatrix.exceptions import ApproximationWarning, CollinearWarning, ConvergenceWarning, SeparationWarning
from separatrix.rows import NamedRows, open_rows
from separatrix.separation import SeparationStatus, separability
from separatrix.study.classifier import TableClassifier, functions_of
from separatrix.study.effects import MAX_EFFECT_COLUMNS
from separatrix.study.records import Note, Topic
from separatrix.table import CategoryPlan, DatePlan, NumberPlan, Schema

MAX_RARE_FRACTION = 0.05  # of the rows: a class below is easily overlooked
MIN_ROWS = 100  # below, scores on held-out rows are imprecise
MAX_LISTED_COLUMNS = 5
MAX_SEPARATION_UNKNOWNS = 1000  # weights up to which separation is decided in seconds
BATCH_ROWS = 4096

DEPRECATIONS = (DeprecationWarning, PendingDeprecationWarning, FutureWarning)
TOPIC_OF: tuple[tuple[type[Warning], Topic], ...] = (
    (SeparationWarning, "separation"),
    (ApproximationWarning, "approximation"),
    (CollinearWarning, "collinear"),
    (ConvergenceWarning, "convergence"),
)


@contextmanager
def captured() -> Iterator[list[Note]]:
    """Collect warnings as notes, each once; the list is filled when the block ends.

    Deprecations are left out: the reader of a study cannot do anything about them.
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
            found[Note(topic, str(warning.message))] = None
    notes.extend(found)


def notes_on_table(schema: Schema, features: Sequence[Any], classes: Array, counts: Codes) -> Iterator[Note]:
    """Notes on dropped and ambiguous columns, missing values, rare classes and few rows.

    ``features`` are the encoded rows, in one block or several.
    """
    n_rows = sum(block.shape[0] for block in features)
    yield from (Note("warning" if plan.names else "dropped", plan.note) for plan in schema.plans if plan.note)
    missing = {}
    for plan in schema.plans:
        is_flagged = isinstance(plan, NumberPlan | DatePlan) and plan.indicator
        place = schema.groups[plan.column] if plan.names else range(0)
        if place and (is_flagged or (isinstance(plan, CategoryPlan) and plan.missing)):
            marks = sum(float(block[:, [place[-1]]].sum()) for block in features)  # the last feature marks them
            missing[plan.column] = marks / n_rows
    worst = sorted((column for column in missing if missing[column] > 0), key=lambda column: -missing[column])
    if worst:
        shown = _first_few([f"{column} ({100 * missing[column]:.2g} %)" for column in worst])
        yield Note(
            "missing",
            f"Missing values in {shown}. Missing numbers are set to the mean and flagged; missing categories get "
            "their own level.",
        )
    N, least = int(counts.sum()), int(counts.argmin())
    if counts[least] < MAX_RARE_FRACTION * N:
        yield Note(
            "imbalance",
            f"Class {classes.tolist()[least]!r} has {counts[least]} of {N} rows ({100 * counts[least] / N:.2g} %): "
            "accuracy is uninformative here, so use log-loss and AUC, and let the costs of errors decide.",
        )
    if N < MIN_ROWS:
        yield Note("few rows", f"There are only {N} rows: scores on held-out rows are imprecise; see the intervals.")


def notes_on_model(model: TableClassifier, warned: Sequence[Note]) -> Iterator[Note]:
    """Warnings of the fit, notes of the model itself, and columns not shown; a sentence once, with one topic."""
    estimator = model.estimator_
    report = getattr(estimator, "tuning_", None)
    limits: tuple[Any, ...] = () if report is None else report.boundary
    topics: dict[str, Topic] = {note.text: note.topic for note in warned}
    topics |= {text: "approximation" for text in getattr(estimator, "notes_", ()) if text not in topics}
    topics |= {at.describe(): "separation" if at.limit is Limit.SEPARATED else "tuning" for at in limits}
    yield from (Note(topic, text) for text, topic in topics.items())
    if len(model.encoder_.schema_.inputs) > MAX_EFFECT_COLUMNS:
        yield Note("effects", f"Effects are shown for the {MAX_EFFECT_COLUMNS} columns with the largest weights.")


# -- separation --------------------------------------------------------------------------------------------------------
# If hyperplanes separate the classes, the data do not determine how steep some direction is; only the prior does. A
# model with a prior does not fail then, so separation has to be checked.


def separation_of(model: TableClassifier, features: Any, codes: Codes) -> tuple[SeparationStatus, tuple[Note, ...]]:
    """Separability by the functions of a logistic model, and a note on its consequences for the weights.

    Other models are not checked, because their estimates exist anyway. The status is also "unknown" if there are too
    many weights, or columns are so nearly collinear that rounding hides the answer, unless the fitted weights separate
    all rows.
    """
    estimator, n_rows = model.estimator_, len(codes)
    if not isinstance(estimator, BayesianLogisticRegression):
        return "unknown", ()
    source = open_rows(NamedRows(features, model.encoder_.schema_.columns)).with_numbers(codes)
    source = source.mapped(estimator.basis_)
    K, along, n_apart = len(model.classes_), "", n_rows
    status: SeparationStatus = "unknown"
    if (K - 1) * (len(source.columns) + 1) <= MAX_SEPARATION_UNKNOWNS:
        found = separability(source, K, fit_intercept=estimator.fit_intercept)
        status, n_apart = found.status, n_rows - found.n_on_plane
        along = f" along {_first_few(found.columns)}" if found.columns else ""
    if status == "unknown":
        batches = gen_batches(n_rows, BATCH_ROWS)
        A = np.concatenate([functions_of(model, features[at]) @ estimator.coef_.T for at in batches])
        A += estimator.intercept_
        if np.array_equal(A[:, 0] > 0 if A.shape[1] == 1 else A.argmax(axis=1), codes):
            status, along = "complete", ""
    if status == "overlapping":
        return status, ()
    if status == "unknown":
        text = (
            "It is not known whether some columns separate a class from the others: there are too many weights to "
            "check, or columns are nearly collinear. If some do, probabilities near 0 and 1 depend on the prior."
        )
        return status, (Note("separation not checked", text),)
    if status == "complete":
        text = f"A hyperplane separates the classes without error{along}."
    else:
        text = f"{n_apart} of {n_rows} rows can be separated from the others without error{along}: on that side, all "
        text += "rows have the same class."
    text += (
        " The data determine the direction of these weights but not their size, which only the prior limits. "
        "Probabilities near 0 and 1 therefore depend on the prior; be careful with rows unlike the training rows."
    )
    return status, (Note("separation", text),)


def _first_few(names: Sequence[str]) -> str:
    more = len(names) - MAX_LISTED_COLUMNS
    return ", ".join(names[:MAX_LISTED_COLUMNS]) + (f" and {more} more" if more > 0 else "")
