# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn, each task with the solver that is fastest among those with the same objective."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn
from scipy import sparse
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.linear_model import Perceptron, RidgeClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB

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


def lda(data: Data) -> Job:
    """The fastest solver."""
    return _fit(LinearDiscriminantAnalysis(solver="lsqr"), data)


def qda(data: Data) -> Job:
    """The fastest solver."""
    return _fit(QuadraticDiscriminantAnalysis(solver="eigen"), data)


def gaussian_nb(data: Data) -> Job:
    """Without smoothing of variances, as maximum likelihood has it."""
    return _fit(GaussianNB(var_smoothing=0.0), data)


def bernoulli_nb(data: Data) -> Job:
    """One pseudo-count of each; the table is 0 and 1 already."""
    return _fit(BernoulliNB(binarize=None), data)


def qda_proba(data: Data) -> Job:
    """The fit is part of the preparation."""
    return _predict(QuadraticDiscriminantAnalysis(solver="eigen"), data)


def gaussian_nb_proba(data: Data) -> Job:
    """The fit is part of the preparation."""
    return _predict(GaussianNB(var_smoothing=0.0), data)


def _fit(model: Any, data: Data) -> Job:
    return Job(lambda: model.fit(data.X, data.y), lambda fitted: Answer.of_log_proba(fitted.predict_log_proba(data.X)))


def _predict(model: Any, data: Data) -> Job:
    model.fit(data.X, data.y)
    return Job(lambda: model.predict_proba(data.X), lambda P: Answer.of_log_proba(np.log(np.maximum(P, 1e-300))))


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
    "lda": lda,
    "qda": qda,
    "gaussian_nb": gaussian_nb,
    "bernoulli_nb": bernoulli_nb,
    "qda_proba": qda_proba,
    "gaussian_nb_proba": gaussian_nb_proba,
    "import": import_job("import sklearn.linear_model, sklearn.discriminant_analysis"),
}
