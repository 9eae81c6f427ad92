# SPDX-License-Identifier: BSD-3-Clause
"""What a model says of rows, as values of a graph; and the table from type of model to how it is converted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from separatrix._array import Array, Float
from separatrix.onnx.graph import ExportError, Value

__all__ = ["Answer", "answer", "of_log_joint", "of_scores", "of_two", "two_columns"]


@dataclass(frozen=True, eq=False)
class Answer:
    """For N rows: ``code`` (N,) points into ``labels``; what else there is depends on the model.

    ``scores`` are those of ``decision_function``, (N,) for two classes and (N, K) for more; ``probabilities`` (N, K);
    ``mean`` (N,) is all that a regression says; ``centre`` and ``spread`` (N,) are the mean and the standard deviation
    of the activation of two classes, and ``link`` is what makes a probability of it, for intervals.
    """

    labels: Array
    code: Value | None = None
    scores: Value | None = None
    probabilities: Value | None = None
    mean: Value | None = None
    centre: Value | None = None
    spread: Value | None = None
    link: Any = None


@singledispatch
def answer(model: Any, X: Value) -> Answer:
    """The graph of a fitted model of rows X (N, D): float64 numbers, NaN where missing."""
    raise ExportError(
        f"to_onnx: a {type(model).__module__}.{type(model).__qualname__} has no form in ONNX here. Models of this "
        "package have; for scikit-learn's there is skl2onnx."
    )


def of_scores(labels: Array, scores: Value, probabilities: Value | None = None) -> Answer:
    """The class of the largest score, or of two classes the second where the score is positive."""
    two = len(labels) == 2
    code = (scores > 0.0).as_codes() if two else scores.argmax()
    return Answer(labels, code, scores, probabilities)


def of_two(labels: Array, scores: Value, down: Value, up: Value) -> Answer:
    """Two classes with the probabilities of each, (N,)."""
    return of_scores(labels, scores, two_columns(down, up))


def two_columns(down: Value, up: Value) -> Value:
    """(N, 2)."""
    return down.graph.stack([down, up])


def of_log_joint(labels: Array, log_joint: Value, priors: Float) -> Answer:
    """From ln p(x, C_k) up to a shared term; a row that no class can have made says nothing, and the priors stand.

    A class that cannot have made a row has minus infinity, which the softmax of some runtimes makes NaN of where all
    are: the largest is subtracted first, here.
    """
    largest = log_joint.max(1, keep=True)
    hopeless = largest.equals(-np.inf)
    e = (log_joint - log_joint.graph.constant(0.0).where(hopeless, largest)).exp()
    P = log_joint.graph.constant(priors).where(hopeless, e / e.sum(1, keep=True))
    if len(labels) == 2:
        return Answer(labels, P.argmax(), log_joint.column(1) - log_joint.column(0), P)
    return Answer(labels, P.argmax(), P.log(), P)
