# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn, each task with the solver that is fastest among those with the same objective."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn
from scipy import sparse
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Perceptron, RidgeClassifier

from benchmarks.libraries import Job, import_job
from benchmarks.objectives import Answer
from benchmarks.problems import Data

NAME = "sklearn"
VERSION = sklearn.__version__

ALPHA = 1e-10  # RidgeClassifier's fast solvers need a positive penalty; this one moves no digit that is reported


def least_squares(data: Data) -> Job:
    """Targets are -1 and +1, for any number of classes."""
    return Job(lambda: RidgeClassifier(alpha=ALPHA).fit(data.X, data.y), _read_least_squares)


def fisher(data: Data) -> Job | None:
    """LDA has Fisher's direction. It takes no sparse rows."""
    if sparse.issparse(data.X):
        return None
    return Job(lambda: LinearDiscriminantAnalysis(solver="lsqr").fit(data.X, data.y), _read)


def perceptron_epoch(data: Data) -> Job:
    """One epoch in the order of the rows; for K classes, K perceptrons of one against the rest.

    For sparse rows its intercept moves a hundredth of the step, hence another answer.
    """
    return Job(lambda: Perceptron(max_iter=1, tol=None, shuffle=False).fit(data.X, data.y), _read)


def predict_linear(data: Data) -> Job:
    """The fit is part of the preparation."""
    model = RidgeClassifier(alpha=ALPHA).fit(data.X, data.y)
    return Job(lambda: model.predict(data.X), lambda codes: Answer(*_linear(model), codes=codes))


def _read(model: Any) -> Answer:
    return Answer(*_linear(model))


def _read_least_squares(model: Any) -> Answer:
    W, w0 = _linear(model)
    return Answer(W / 2, (w0 + 1) / 2)


def _linear(model: Any) -> tuple[Any, Any]:
    """For two classes RidgeClassifier has coef_ of shape (M,), the others (1, M)."""
    return np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)


TASKS = {
    "least_squares": least_squares,
    "fisher": fisher,
    "perceptron_epoch": perceptron_epoch,
    "predict_linear": predict_linear,
    "import": import_job("import sklearn.linear_model, sklearn.discriminant_analysis"),
}
