# SPDX-License-Identifier: BSD-3-Clause
"""The steps of a fit, as frames: a copy of the model is fitted with its trace kept, so they are its own iterates.

A perceptron takes a step for each row it gets wrong, other models one for each pass of their solver.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from separatrix._array import Codes, Float
from separatrix.exceptions import DataError
from separatrix.likelihoods import ClassLikelihood
from separatrix.plots.rows import Rows
from separatrix.rules import Update

__all__ = ["Frame", "contours_of", "fit_with_trace", "frames_of", "is_of_single_rows"]

FAR = 30.0  # an activation at which every likelihood is as sure as it gets


class Frame(NamedTuple):
    """Where the fit stood after so many steps, and the row it is about to learn from, if that is how it learns."""

    step: int
    w: Float
    w0: float
    objective: float
    row: int | None = None


def fit_with_trace(model: Any, X: Any, y: Any) -> Any:
    """A copy of the model, fitted, with its steps in ``solution_.trace``; its boundary is one straight line."""
    if "trace" not in model.get_params():
        raise DataError(
            f"{type(model).__name__} keeps no trace of its fit. Draw a Perceptron, a LogisticRegression with "
            "solver='gradient' or 'newton', or a ProbitRegression."
        )
    fitted = clone(model).set_params(trace=True).fit(X, y)
    _require_lines(fitted)
    return fitted


def _require_lines(model: Any) -> None:
    if len(model.classes_) != 2:
        raise DataError(
            f"A path of one boundary needs two classes, but y has {len(model.classes_)}. Draw one of them against the "
            "rest: y == label."
        )
    if model.basis_ is not None or model.n_features_in_ != 2:
        raise DataError(
            f"A path of straight boundaries needs two columns and no basis; here are {model.n_features_in_} columns"
            f"{'' if model.basis_ is None else ' and a basis'}."
        )


def is_of_single_rows(trace: Sequence[Any]) -> bool:
    """Whether the steps are those of a perceptron."""
    return bool(trace) and isinstance(trace[0], Update)


def frames_of(trace: Sequence[Any], rows: Rows) -> tuple[Frame, ...]:
    """The start and every step, with the objective there."""
    if not trace:
        raise DataError("The solver kept no steps. Choose solver='gradient', 'newton' or 'lbfgs'.")
    return _updates(trace, rows.points, rows.codes) if is_of_single_rows(trace) else _steps(trace)


def _updates(trace: Sequence[Update], points: Float, codes: Codes) -> tuple[Frame, ...]:
    """From w = 0 to the last weights; each frame knows the row that the next update is for."""
    weights = [(np.zeros(2), 0.0), *((update.W[0].copy(), float(update.w0[0])) for update in trace)]
    rows = [*(update.row for update in trace), None]
    t = 2 * codes - 1
    wrong = [float(np.count_nonzero(t * (points @ w + w0) <= 0)) for w, w0 in weights]
    return tuple(
        Frame(k, *at, errors, row) for k, (at, errors, row) in enumerate(zip(weights, wrong, rows, strict=True))
    )


def _steps(trace: Sequence[Any]) -> tuple[Frame, ...]:
    return tuple(
        Frame(k, np.array(W[0], dtype=np.float64), float(w0[0]), float(value))
        for k, ((W, w0), value, _) in enumerate(trace)
    )


def contours_of(likelihood: ClassLikelihood) -> tuple[float, ...]:
    """Activations of probability 0.1 and 0.9, of any likelihood that gets there."""
    from scipy.optimize import brentq

    def probability(a: float) -> float:
        return float(likelihood.probability(np.array([a]))[0])

    reached = [p for p in (0.1, 0.9) if probability(-FAR) < p < probability(FAR)]
    return tuple(float(brentq(lambda a, p=p: probability(a) - p, -FAR, FAR)) for p in reached)
