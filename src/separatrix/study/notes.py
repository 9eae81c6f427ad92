# SPDX-License-Identifier: BSD-3-Clause
"""What to know before acting on a model, in plain words, each with its topic from where the fact is known."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from separatrix._array import Array, Codes
from separatrix.bayesian import Limit
from separatrix.comparison import Comparison
from separatrix.exceptions import ApproximationWarning, CollinearWarning, ConvergenceWarning, SeparationWarning
from separatrix.study.candidates import PRIOR
from separatrix.study.record import Choice, Note, Topic
from separatrix.table import CategoryPlan, DatePlan, NumberPlan, Plan, Schema
from separatrix.tables import TableClassifier

__all__ = ["captured", "notes_on_choice", "notes_on_comparison", "notes_on_data", "notes_on_model"]

RARE = 0.05  # a share of the rows under which a class is easily overlooked
FEW = 100
RENAMED = (DeprecationWarning, PendingDeprecationWarning, FutureWarning)
MOST_LISTED = 5
TOPIC_OF: tuple[tuple[type[Warning], Topic], ...] = (
    (SeparationWarning, "separation"),
    (ApproximationWarning, "approximation"),
    (CollinearWarning, "collinear"),
    (ConvergenceWarning, "convergence"),
)


@contextmanager
def captured() -> Iterator[list[Note]]:
    """Warnings as notes, each once; filled when the block ends.

    What a library is about to rename, the reader of a study can do nothing about: deprecations are left out.
    """
    said: list[Note] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield said
    heard = [warning for warning in caught if not issubclass(warning.category, RENAMED)]
    said.extend(dict.fromkeys(Note(_topic_of(warning.category), str(warning.message)) for warning in heard))


def _topic_of(category: type[Warning]) -> Topic:
    return next((topic for kind, topic in TOPIC_OF if issubclass(category, kind)), "warning")


def notes_on_data(schema: Schema, numbers: Any, classes: Array, counts: Codes) -> Iterator[Note]:
    """Columns dropped or read in one of two ways, missing values, rare classes, few rows."""
    yield from (Note("warning" if plan.names else "dropped", plan.note) for plan in schema.plans if plan.note)
    gaps = {plan.column: _missing(plan, numbers, schema.groups[plan.column]) for plan in schema.plans if plan.names}
    gaps = {column: share for column, share in gaps.items() if share > 0}
    if gaps:
        worst = sorted(gaps, key=lambda column: -gaps[column])
        shown = ", ".join(f"{column} ({100 * gaps[column]:.2g} %)" for column in worst[:MOST_LISTED])
        more = f" and {len(worst) - MOST_LISTED} more" if len(worst) > MOST_LISTED else ""
        yield Note(
            "missing",
            f"Missing values in {shown}{more}. A missing number stands as the mean with a mark beside it, a missing "
            "category as a level of its own.",
        )
    N, least = int(counts.sum()), int(counts.argmin())
    if counts[least] < RARE * N:
        yield Note(
            "imbalance",
            f"Class {classes.tolist()[least]!r} has {counts[least]} of {N} rows ({100 * counts[least] / N:.2g} %): "
            "accuracy says little here, log-loss and AUC more; costs of errors belong into the decision.",
        )
    if N < FEW:
        text = f"There are {N} rows only: figures on held-out rows are rough, and intervals deserve a look."
        yield Note("few rows", text)


def _missing(plan: Plan, numbers: Any, place: range) -> float:
    """The share of rows that a mark says are missing."""
    marked = isinstance(plan, NumberPlan | DatePlan) and plan.indicator
    if not (marked or (isinstance(plan, CategoryPlan) and plan.missing)) or not len(place):
        return 0.0
    return float(numbers[:, [place.stop - 1]].mean())


def notes_on_model(model: TableClassifier, said: Sequence[Note]) -> Iterator[Note]:
    """What was warned of while a model was fitted, and what it says of itself; a sentence once, under one topic."""
    estimator = model.estimator_
    report = getattr(estimator, "tuning_", None)
    limits: tuple[Any, ...] = () if report is None else report.boundary
    topics: dict[str, Topic] = {note.text: note.topic for note in said}
    topics |= {text: "approximation" for text in getattr(estimator, "notes_", ()) if text not in topics}
    topics |= {at.describe(): "separation" if at.limit is Limit.SEPARATED else "tuning" for at in limits}
    yield from (Note(topic, text) for text, topic in topics.items())


def notes_on_choice(choice: Choice) -> Iterator[Note]:
    """Where the columns say nothing, as the last of its reasons has it."""
    if choice.name == PRIOR:
        yield Note("nothing beats the shares", choice.reasons[-1])


def notes_on_comparison(comparison: Comparison, said: Mapping[str, Sequence[Note]]) -> Iterator[Note]:
    """Failures, and what was warned of, with the name of the model."""
    yield from (Note("failure", f"{trial.name} failed. {trial.failure}") for trial in comparison if trial.failure)
    for name, notes in said.items():
        yield from (Note("other model", f"{name}: {note}") for note in notes)
