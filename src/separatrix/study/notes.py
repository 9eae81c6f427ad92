# SPDX-License-Identifier: BSD-3-Clause
"""What to know before acting on a model, in plain words."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from separatrix._array import Array, Codes
from separatrix.comparison import Comparison
from separatrix.data.table.plans import CategoryPlan, DatePlan, NumberPlan, Plan
from separatrix.tables import TableClassifier

__all__ = ["captured", "notes_on_comparison", "notes_on_data", "notes_on_model"]

RARE = 0.05  # a share of the rows under which a class is easily overlooked
FEW = 100
MOST_LISTED = 5


@contextmanager
def captured() -> Iterator[list[str]]:
    """Warnings as sentences, each once; filled when the block ends."""
    said: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield said
    said.extend(dict.fromkeys(str(warning.message) for warning in caught))


def notes_on_data(model: TableClassifier, numbers: Any, classes: Array, counts: Codes) -> Iterator[str]:
    """Dropped columns, missing values, rare classes, few rows."""
    schema = model.encoder_.schema_
    yield from schema.notes
    gaps = {plan.column: _missing(plan, numbers, schema.groups[plan.column]) for plan in schema.plans if plan.names}
    gaps = {column: share for column, share in gaps.items() if share > 0}
    if gaps:
        worst = sorted(gaps, key=lambda column: -gaps[column])
        shown = ", ".join(f"{column} ({100 * gaps[column]:.2g} %)" for column in worst[:MOST_LISTED])
        more = f" and {len(worst) - MOST_LISTED} more" if len(worst) > MOST_LISTED else ""
        yield (
            f"Missing values in {shown}{more}. A missing number stands as the mean with a mark beside it, a missing "
            "category as a level of its own."
        )
    N, least = int(counts.sum()), int(counts.argmin())
    if counts[least] < RARE * N:
        yield (
            f"Class {classes.tolist()[least]!r} has {counts[least]} of {N} rows ({100 * counts[least] / N:.2g} %): "
            "accuracy says little here, log-loss and AUC more; costs of errors belong into the decision."
        )
    if N < FEW:
        yield f"There are {N} rows only: figures on held-out rows are rough, and intervals deserve a look."


def _missing(plan: Plan, numbers: Any, place: range) -> float:
    """The share of rows that a mark says are missing."""
    marked = isinstance(plan, NumberPlan | DatePlan) and plan.indicator
    if not (marked or (isinstance(plan, CategoryPlan) and plan.missing)) or not len(place):
        return 0.0
    return float(numbers[:, [place.stop - 1]].mean())


def notes_on_model(model: TableClassifier, numbers: Any, codes: Codes, said: list[str]) -> Iterator[str]:
    """What the model says of itself, what was warned of while it was fitted, and separation."""
    estimator = model.estimator_
    yield from dict.fromkeys([*said, *getattr(estimator, "notes_", ())])
    coef = getattr(estimator, "coef_", None)
    if coef is None or getattr(estimator, "posterior_", None) is None:
        return
    A = model.functions(numbers) @ np.asarray(coef).T + np.asarray(estimator.intercept_)
    decided = (A[:, 0] > 0).astype(np.intp) if A.shape[1] == 1 else A.argmax(axis=1)
    if (decided == codes).all():
        yield (
            "A hyperplane separates the classes without a single error: the rows say where it is, but only the prior "
            "says how steep. Probabilities near 0 and 1 rest on the prior; be careful with rows unlike these."
        )


def notes_on_comparison(comparison: Comparison, said: dict[str, list[str]]) -> Iterator[str]:
    """Failures, and what was warned of, with the name of the model."""
    yield from (f"{trial.name} failed. {trial.failure}" for trial in comparison if trial.failure)
    for name, messages in said.items():
        yield from (f"{name}: {message}" for message in messages)
