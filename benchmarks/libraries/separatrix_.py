# SPDX-License-Identifier: BSD-3-Clause
"""This library."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

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
    "import": import_job("import separatrix"),
}
