# SPDX-License-Identifier: BSD-3-Clause
"""This library."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np

import separatrix as sx
from benchmarks.libraries import Job, import_job
from benchmarks.objectives import Answer
from benchmarks.problems import Data

NAME = "separatrix"
VERSION = version("separatrix")


def least_squares(data: Data) -> Job:
    """Targets are 0 and 1 for K classes, and -1 and +1 for two."""
    return Job(lambda: sx.LeastSquaresClassifier().fit(data.X, data.y), _read_least_squares)


def fisher(data: Data) -> Job:
    """Pooled scatter, PRML (4.28)."""
    return Job(lambda: sx.FisherDiscriminant().fit(data.X, data.y), _read)


def perceptron_epoch(data: Data) -> Job:
    """Rows in their order, one epoch."""
    return Job(lambda: sx.Perceptron(max_epochs=1).fit(data.X, data.y), _read)


def predict_linear(data: Data) -> Job:
    """The fit is part of the preparation."""
    model = sx.LeastSquaresClassifier().fit(data.X, data.y)
    return Job(lambda: model.predict(data.X), lambda codes: Answer(model.coef_, model.intercept_, codes=codes))


def lda(data: Data) -> Job:
    """Maximum likelihood."""
    return _fit(sx.LinearDiscriminantAnalysis(), data)


def qda(data: Data) -> Job:
    """Maximum likelihood."""
    return _fit(sx.QuadraticDiscriminantAnalysis(), data)


def gaussian_nb(data: Data) -> Job:
    """Maximum likelihood."""
    return _fit(sx.NaiveBayes("normal", estimate="ml"), data)


def bernoulli_nb(data: Data) -> Job:
    """One pseudo-count of each."""
    return _fit(sx.NaiveBayes("bernoulli"), data)


def qda_proba(data: Data) -> Job:
    """The fit is part of the preparation."""
    return _predict(sx.QuadraticDiscriminantAnalysis(), data)


def gaussian_nb_proba(data: Data) -> Job:
    """The fit is part of the preparation."""
    return _predict(sx.NaiveBayes("normal", estimate="ml"), data)


def _fit(model: Any, data: Data) -> Job:
    return Job(
        lambda: model.fit(data.X, data.y),
        lambda fitted: Answer.of_log_proba(fitted.predict_log_proba(data.X), fitted.n_passes_),
    )


def _predict(model: Any, data: Data) -> Job:
    model.fit(data.X, data.y)
    return Job(lambda: model.predict_proba(data.X), lambda P: Answer.of_log_proba(np.log(np.maximum(P, 1e-300))))


def _read(model: Any) -> Answer:
    return Answer(model.coef_, model.intercept_, passes=model.n_passes_)


def _read_least_squares(model: Any) -> Answer:
    if len(model.coef_) > 1:
        return _read(model)
    return Answer(model.coef_ / 2, (model.intercept_ + 1) / 2, passes=model.n_passes_)


TASKS = {
    "least_squares": least_squares,
    "fisher": fisher,
    "perceptron_epoch": perceptron_epoch,
    "predict_linear": predict_linear,
    "lda": lda,
    "qda": qda,
    "gaussian_nb": gaussian_nb,
    "bernoulli_nb": bernoulli_nb,
    "qda_proba": qda_proba,
    "gaussian_nb_proba": gaussian_nb_proba,
    "import": import_job("from separatrix import LeastSquaresClassifier, LinearDiscriminantAnalysis"),
}
