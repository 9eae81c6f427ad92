"""Weighted draws: moments, quantiles, predictions and log likelihoods against plain sums."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse, special

import separatrix.bayesian.sampling.draws as module
from exact import posed
from separatrix.bayesian.sampling.draws import Draws, log_likelihoods
from separatrix.likelihoods import Logit, Softmax


@pytest.fixture(params=[1, 3])
def C(request):
    return request.param


def problem(C, rng, **options):
    X, t = rng.normal(size=(40, 3)), rng.integers(max(C, 2), size=40)
    likelihood = Logit() if C == 1 else Softmax(C)
    return posed(X, t, likelihood=likelihood, fit_intercept=True, **options), X, t


def activations(objective, X, theta, offset=0.0):
    """(S, n, C)."""
    return np.einsum("np,scp->snc", objective.design.regressors(X), theta) + np.reshape(offset, (-1, 1))


@pytest.mark.parametrize("numbers", [1 << 18, 20])
def test_log_likelihoods_are_sums_over_rows(C, numbers, rng, monkeypatch):
    monkeypatch.setattr(module, "NUMBERS", numbers)  # all rows at once, and one row at a time
    weight, offset = rng.gamma(1.0, size=40), rng.normal(size=40)
    objective, X, t = problem(C, rng, weight=weight, offset=offset, rows=11)
    theta = rng.normal(size=(7, C, 4))
    A = activations(objective, X, theta, offset)
    log_p = special.log_expit(np.where(t, 1, -1) * A[:, :, 0]) if C == 1 else special.log_softmax(A, axis=2)
    if C > 1:
        log_p = np.take_along_axis(log_p, t[None, :, None], axis=2)[:, :, 0]
    assert_allclose(log_likelihoods(objective, theta), log_p @ weight, rtol=1e-10)


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("numbers", [1 << 18, 20])
def test_predictions_average_probabilities(C, store, numbers, rng, monkeypatch):
    monkeypatch.setattr(module, "NUMBERS", numbers)
    objective, X, _ = problem(C, rng)
    draws = Draws(rng.normal(size=(9, C, 4)), rng.dirichlet(np.ones(9)))
    offset = rng.normal(size=40)
    A = activations(objective, X, draws.theta, offset)
    P = special.expit(A[:, :, 0]) if C == 1 else special.softmax(A, axis=2)
    found = draws.probability(store(X), objective.design, objective.likelihood, offset)
    assert_allclose(found, np.tensordot(draws.weights, P, axes=1), rtol=1e-10)
    if C > 1:
        assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)


def test_moments_are_those_of_repeated_draws(rng):
    theta, count = rng.normal(size=(6, 2, 3)), np.array([1, 4, 2, 1, 1, 3])
    draws = Draws(theta, count / count.sum())
    repeated = np.repeat(theta, count, axis=0).reshape(count.sum(), -1)
    assert_allclose(draws.mean.ravel(), repeated.mean(axis=0), rtol=1e-12)
    assert_allclose(draws.covariance, np.cov(repeated.T, bias=True), rtol=1e-10, atol=1e-14)


def test_quantiles_of_many_equal_draws_are_the_distributions(rng):
    n = 20_001
    theta = special.ndtri((np.arange(n) + 0.5) / n)[rng.permutation(n)][:, None, None] * np.array([[1.0, 2.0]])
    found = Draws(theta, np.full(n, 1 / n)).quantiles(np.array([0.025, 0.5, 0.9]))
    assert_allclose(found[:, 0, 0], special.ndtri([0.025, 0.5, 0.9]), atol=1e-3)
    assert_allclose(found[:, 0, 1], 2 * found[:, 0, 0], rtol=1e-12)


def test_quantiles_follow_the_weights():
    theta = np.array([0.0, 1.0, 2.0])[:, None, None]
    nearly_all = Draws(theta, np.array([1e-9, 1.0 - 2e-9, 1e-9]))
    assert_allclose(nearly_all.quantiles(np.array([0.1, 0.5, 0.9]))[:, 0, 0], 1.0, atol=0.9)
    assert nearly_all.quantiles(np.array([0.5]))[0, 0, 0] == pytest.approx(1.0)
