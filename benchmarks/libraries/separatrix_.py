# SPDX-License-Identifier: BSD-3-Clause
"""This library."""

from __future__ import annotations

from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

import separatrix as sx
from benchmarks.libraries import Job, Library, Prepare, import_job
from benchmarks.objectives import ALPHA, SOFTMAX_TOL, TOL, Answer, lasso_alpha, pass_point
from benchmarks.problems import Data
from separatrix.likelihoods import Logit
from separatrix.rows import as_source
from separatrix.solvers import pose

VERSION = sx.__version__
LASSO_TOL = 1e-5  # the gap ends below 1e-6, as those of the other libraries do


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


def gradient_pass(data: Data) -> Job:
    """Value and gradient of the logistic objective; in `read`, the chain rule for b = w0 + w'c."""
    objective, theta = _objective_and_point(data)
    c = objective.design.origin

    def read(found: Any) -> Answer:
        by_bias = found.grad[:, -1:]
        return Answer(found.grad[:, :-1] + by_bias * c, by_bias[0], passes=1)

    return Job(lambda: objective.value_grad(theta), read)


def hessian_pass(*, single: bool) -> Prepare:
    """Value, gradient and Hessian of the logistic objective, with products in double or in single precision."""

    def prepare(data: Data) -> Job:
        objective, theta = _objective_and_point(data)
        J = np.eye(theta.size)  # of (w, b) in (w, w0)
        J[-1, :-1] = objective.design.origin

        def read(found: Any) -> Answer:
            return Answer(J.T @ found.hess @ J, np.empty(0), passes=1)

        return Job(lambda: objective.value_grad_hess(theta, single=single), read)

    return prepare


def _objective_and_point(data: Data) -> tuple[Any, Any]:
    source = as_source(data.X).with_numbers(data.y)
    objective = pose(source, Logit(), sx.Gaussian(ALPHA**-0.5), fit_intercept=True)
    return objective, objective.design.of_user_units(*pass_point(data))


def lda(data: Data) -> Job:
    """Maximum likelihood; missing values are marginalised by EM."""
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


def logistic(data: Data) -> Job:
    """Maximum a posteriori."""
    return _linear_fit(sx.LogisticRegression(ALPHA, tol=TOL), data)


def softmax(tol: float) -> Prepare:
    """Maximum a posteriori, to this gradient."""
    return lambda data: _linear_fit(sx.LogisticRegression(ALPHA, tol=tol), data)


def flat_logistic(data: Data) -> Job:
    """Maximum likelihood, and whether there is one."""
    return _linear_fit(sx.LogisticRegression(0.0, tol=TOL), data)


def unchecked_flat_logistic(data: Data) -> Job:
    """The same fit without the question whether a hyperplane separates the classes."""
    model = sx.LogisticRegression(0.0, tol=TOL)

    def run() -> Any:
        with patch("separatrix.discriminative.model.check_separation", _no_answer):
            return model.fit(data.X, data.y)

    return Job(run, _read)


def lasso(data: Data) -> Job:
    """Sparse weights."""
    return _linear_fit(sx.LogisticRegression(prior=sx.ElasticNet(lasso_alpha(data)), tol=LASSO_TOL), data)


def probit(data: Data) -> Job:
    """Maximum likelihood."""
    return _linear_fit(sx.ProbitRegression(0.0, tol=TOL), data)


class Curved(NamedTuple):
    """A fit, and the Hessian of its objective there, for weights about the mean of the rows."""

    model: Any
    hess: Any


def logistic_hessian(data: Data) -> Job:
    """Maximum a posteriori, and the exact Hessian there: what a Laplace posterior is made of."""

    def run() -> Curved:
        model = sx.LogisticRegression(ALPHA, tol=TOL).fit(data.X, data.y)
        source = as_source(data.X).with_numbers(data.y)
        objective = pose(source, Logit(), sx.Gaussian(ALPHA**-0.5), fit_intercept=True)
        theta = objective.design.of_user_units(model.coef_, model.intercept_)
        return Curved(model, objective.value_grad_hess(theta).hess)

    return Job(run, lambda curved: _read(curved.model))


def posterior(data: Data) -> Job:
    """Mode, covariance and evidence, and whatever the diagnosis asks for."""
    return _bayesian(sx.BayesianLogisticRegression(tune=None), data)


def tuned(data: Data) -> Job:
    """The same, with the scale of the prior that has the highest evidence."""
    return _bayesian(sx.BayesianLogisticRegression(tune="evidence"), data)


def _bayesian(model: Any, data: Data) -> Job:
    new = data.new
    assert new is not None, "this problem has no rows to judge by"
    return Job(
        lambda: model.fit(data.X, data.y),
        lambda fitted: Answer.of_log_proba(fitted.predict_log_proba(new.X), fitted.n_passes_),
    )


def _no_answer(*asked: Any, **how: Any) -> None:
    """In place of the check for separation."""


def _linear_fit(model: Any, data: Data) -> Job:
    return Job(lambda: model.fit(data.X, data.y), _read)


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
    "gradient_pass": gradient_pass,
    "hessian_pass": hessian_pass(single=False),
    "least_squares": least_squares,
    "fisher": fisher,
    "perceptron_epoch": perceptron_epoch,
    "predict_linear": predict_linear,
    "lda": lda,
    "lda_missing": lda,
    "qda": qda,
    "gaussian_nb": gaussian_nb,
    "bernoulli_nb": bernoulli_nb,
    "qda_proba": qda_proba,
    "gaussian_nb_proba": gaussian_nb_proba,
    "logistic": logistic,
    "logistic_hessian": logistic_hessian,
    "flat_logistic": flat_logistic,
    "lasso": lasso,
    "probit": probit,
    "softmax": softmax(SOFTMAX_TOL),
    "posterior": posterior,
    "tuned": tuned,
    "import": import_job("from separatrix import LeastSquaresClassifier, LinearDiscriminantAnalysis"),
}
ENTRIES = (
    Library("separatrix", VERSION, TASKS),
    Library("separatrix single", VERSION, {"hessian_pass": hessian_pass(single=True)}),
    Library("separatrix unchecked", VERSION, {"flat_logistic": unchecked_flat_logistic}),
    *(Library(f"separatrix tol={tol}", VERSION, {"softmax": softmax(float(tol))}) for tol in ("1e-4", "3e-4")),
)
