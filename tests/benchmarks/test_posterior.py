# SPDX-License-Identifier: BSD-3-Clause
"""The benchmark's own objective of discriminative models, against differences, scikit-learn and plain matrices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import approx_fprime
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits

from benchmarks import libraries
from benchmarks.libraries import separatrix_
from benchmarks.objectives import ALPHA, OBJECTIVES, Answer
from benchmarks.posterior import LogPosterior, logistic_hessian, logit, probit, softmax
from benchmarks.problems import PROBLEMS, Data, Problem

LIKELIHOODS = {"logit": (logit, 2), "probit": (probit, 2), "softmax": (softmax, 4)}
FASHION = next(problem.toy() for problem in PROBLEMS if problem.name == "fashion_mnist")


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_the_slope_is_the_derivative_of_the_log_likelihood(name, rng):
    likelihood, k = LIKELIHOODS[name]
    y, outputs = np.arange(12) % k, k if k > 2 else 1
    a = 3.0 * rng.standard_normal((12, outputs))
    slope = likelihood(a, y)[1]
    for n in range(len(y)):
        by_differences = approx_fprime(a[n], lambda one, n=n: likelihood(one[None], y[n : n + 1])[0][0], 1e-7)
        np.testing.assert_allclose(slope[n], by_differences, atol=1e-5)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_the_objective_is_the_sum_that_scikit_learn_minimises(k, storage):
    """Value by its log loss, gradient zero at its optimum and nowhere near it."""
    made = Problem("any", 300, 4, k=k).data()
    data = Data(storage(made.X), made.y, k)
    model = LogisticRegression(C=1 / ALPHA, solver="newton-cholesky", tol=1e-12).fit(made.X, made.y)
    objective = OBJECTIVES["logistic" if k == 2 else "softmax"]
    best = Answer(model.coef_, model.intercept_)
    expected = 300 * log_loss(made.y, model.predict_proba(made.X)) + 0.5 * ALPHA * np.square(model.coef_).sum()
    assert objective.evaluate(data, best) == pytest.approx(expected, rel=1e-12)
    assert objective.gradient(data, best).largest < 1e-10
    moved = replace(best, w0=best.w0 + 0.1 * np.arange(1, len(best.w0) + 1))
    assert objective.evaluate(data, moved) > objective.evaluate(data, best)
    assert objective.gradient(data, moved).largest > 1e-3


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_the_hessian_is_the_derivative_of_the_gradient(storage, rng):
    y, W, w0 = np.arange(40) % 2, rng.standard_normal((1, 3)), np.array([0.3])
    data = Data(storage(rng.standard_normal((40, 3))), y, 2)
    gradient = LogPosterior(logit, 0.7).derivatives
    step = 1e-5
    for i in range(4):
        move = step * np.eye(4)[i]
        up = np.append(*gradient(data, W + move[:3], w0 + move[3:]))
        down = np.append(*gradient(data, W - move[:3], w0 - move[3:]))
        np.testing.assert_allclose(logistic_hessian(data, W, w0, 0.7)[i], (up - down) / (2 * step), atol=1e-7)


def test_the_gradient_is_the_largest_component_per_row_and_per_deviation(rng):
    X = rng.standard_normal((50, 3)) * [1e-3, 1.0, 1e3] + [0.0, 5.0, 0.0]
    y = np.arange(50) % 2
    W, w0, alpha = np.array([[30.0, -0.2, 1e-4]]), np.array([0.3]), 0.7
    slope = y - 1 / (1 + np.exp(-(X @ W[0] + w0[0])))
    by_hand = np.append(alpha * W[0] - X.T @ slope, -slope.sum())
    size = LogPosterior(logit, alpha).gradient(Data(X, y, 2), W, w0)
    assert size.largest == pytest.approx(np.abs(by_hand).max() / 50, rel=1e-12)
    assert size.per_deviation == pytest.approx(np.abs(by_hand / np.append(X.std(axis=0), 1.0)).max() / 50, rel=1e-12)


def test_the_hessian_that_is_timed_is_the_hessian():
    """X̃' diag(p (1 - p)) X̃ + alpha on the weights, for columns about the origin that the library chose."""
    data = Problem("any", 400, 3).data()
    job = separatrix_.logistic_hessian(data)
    curved = job.run()
    p = curved.model.predict_proba(data.X)[:, 1]
    design = np.column_stack([data.X - data.X.mean(axis=0), np.ones(400)])
    expected = design.T * (p * (1 - p)) @ design + ALPHA * np.diag([1.0, 1.0, 1.0, 0.0])
    np.testing.assert_allclose(curved.hess, expected, rtol=1e-9, atol=1e-9)


def test_the_unchecked_fit_is_the_same_fit_without_the_check():
    data = Problem("any", 400, 3).data()
    checked, unchecked = separatrix_.flat_logistic(data).run(), separatrix_.unchecked_flat_logistic(data).run()
    np.testing.assert_array_equal(unchecked.coef_, checked.coef_)
    assert checked.separation_.status == "overlapping"
    assert unchecked.separation_ is None
    assert unchecked.n_passes_ < checked.n_passes_


@pytest.mark.data
@pytest.mark.skipif(not FASHION.is_here, reason="the data set is not available")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_tighter_tolerance_reaches_a_lower_objective_than_scikit_learn():
    data, objective = FASHION.data(), OBJECTIVES["softmax"]
    entries = [entry for entry in libraries.load(["separatrix", "sklearn"]) if "softmax" in entry.tasks]
    answers = {}
    for entry in entries:
        job = entry.tasks["softmax"](data)
        with threadpool_limits(1):
            answers[entry.name] = job.read(job.run())
    values = {name: objective.evaluate(data, answer) for name, answer in answers.items()}
    assert values["separatrix"] < values["separatrix tol=1e-4"] < values["separatrix tol=3e-4"]
    assert values["separatrix tol=1e-4"] < values["sklearn lbfgs tol=1e-4"]
    assert values["separatrix"] == pytest.approx(values["sklearn lbfgs"], rel=1e-6)
