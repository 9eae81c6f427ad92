# SPDX-License-Identifier: BSD-3-Clause
"""Do hyperplanes separate the classes? Of a model with a prior nothing fails then, so that it has to be asked.

Under separation the rows say nothing of how steep some direction is: the prior alone does. Most often a few rows prove
that there is none, in three or four passes; else linear programs answer (`solvers.separation`). Where they would take
minutes, or rounding hides the answer, fitted weights may still show that they separate all rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils import gen_batches

from separatrix._array import Codes
from separatrix.bayesian import BayesianLogisticRegression
from separatrix.rows import NamedRows, Source, ThroughBasis, open_rows
from separatrix.solvers import Separability, SeparationStatus, separability
from separatrix.study.record import Note
from separatrix.tables import TableClassifier, functions_of

__all__ = ["notes_on_separation", "separation_of"]

MOST_UNKNOWNS = 1000  # with so many the answer takes some seconds, however many the rows
BATCH = 4096
MOST_LISTED = 6

REST = "only the prior says how steep. Probabilities near 0 and 1 rest on it; be careful with rows unlike these."


def separation_of(model: TableClassifier, numbers: Any, codes: Codes) -> Separability | None:
    """The answer for the functions that a logistic model has weights for; None for other models, which do not care.

    The status is "unknown" where there are too many weights, or columns are so nearly collinear that nobody can tell.
    """
    estimator = model.estimator_
    if not isinstance(estimator, BayesianLogisticRegression):
        return None
    source = _source(model, numbers, codes)
    K, unknowns = len(model.classes_), (len(model.classes_) - 1) * (len(source.columns) + 1)
    if unknowns <= MOST_UNKNOWNS:
        found = separability(source, K, fit_intercept=estimator.fit_intercept)
        if found.status != "unknown":
            return found
    status: SeparationStatus = "complete" if _is_right_throughout(model, numbers, codes) else "unknown"
    return Separability(status, estimator.coef_, estimator.intercept_, (), 0, 0, 1)


def notes_on_separation(found: Separability | None, n_rows: int) -> Iterator[Note]:
    """What it means for whoever reads the weights; of so many rows in all."""
    if found is None or found.status == "overlapping":
        return
    along = f" along {_listed(found.columns)}" if found.columns else ""
    if found.status == "complete":
        text = f"A hyperplane separates the classes without a single error{along}: the rows say where it is, but {REST}"
    elif found.status == "quasi-complete":
        text = (
            f"{n_rows - found.n_on_plane} of {n_rows} rows can be told from the others without a single error{along}: "
            f"where a row differs from most there, its class is certain. The rows give these weights a direction, but "
            f"{REST}"
        )
    else:
        text = (
            "Whether some columns tell a class from the others without a single error is not known: there are too many "
            "weights for it, or columns are nearly collinear. If some do, probabilities near 0 and 1 rest on the prior."
        )
    yield Note("separation not checked" if found.status == "unknown" else "separation", text)


def _source(model: TableClassifier, numbers: Any, codes: Codes) -> Source:
    rows = NamedRows(numbers, model.encoder_.schema_.columns)
    source = open_rows(rows).attached(codes, None, None)
    basis = getattr(model.estimator_, "basis_", None)
    return source if basis is None else ThroughBasis(source, basis)


def _is_right_throughout(model: TableClassifier, numbers: Any, codes: Codes) -> bool:
    """Batch after batch, until one has a row on the wrong side."""
    batches = gen_batches(len(codes), BATCH)
    return all(np.array_equal(_decided(model, numbers[at]), codes[at]) for at in batches)


def _decided(model: TableClassifier, numbers: Any) -> Codes:
    A = functions_of(model, numbers) @ model.estimator_.coef_.T + model.estimator_.intercept_
    return np.asarray((A[:, 0] > 0) if A.shape[1] == 1 else A.argmax(axis=1), dtype=np.intp)


def _listed(columns: tuple[str, ...]) -> str:
    more = f" and {len(columns) - MOST_LISTED} more" if len(columns) > MOST_LISTED else ""
    return ", ".join(columns[:MOST_LISTED]) + more
