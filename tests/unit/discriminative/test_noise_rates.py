import numpy as np
import pytest
from numpy.testing import assert_allclose

from problems import blobs
from separatrix.discriminative.confusion import KnownRates, Rates, noisy_likelihood
from separatrix.discriminative.noise_rates import Joint, doubts, estimate, noisy_value_grad, wrong_share
from separatrix.likelihoods import Logit, Softmax
from separatrix.priors import Gaussian
from separatrix.rows import as_source
from separatrix.rows.block import Block
from separatrix.solvers import Auto
from separatrix.solvers.posterior import pose
from separatrix.stats.objective import Design


def joint(structure, K, n=200, weight=None):
    X, y = blobs(n, n_classes=K, distance=2.0)
    source = as_source(X, y, weight)
    weights = pose(source, Logit() if K == 2 else Softmax(K), Gaussian(), fit_intercept=True)
    return Joint(weights, Rates.of(structure, K))


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("structure", ["one", "per-class", "full"])
def test_the_gradient_in_weights_and_rates_is_that_of_the_value(structure, K, rng):
    objective = joint(structure, K, weight=rng.uniform(0.5, 2.0, size=200))
    vector = objective.join(rng.normal(size=objective.weights.shape), rng.normal(size=objective.rates.n) - 1)
    h = 1e-5
    steps = h * np.eye(len(vector))
    slope = [(objective.value_grad(vector + s).value - objective.value_grad(vector - s).value) / (2 * h) for s in steps]
    assert_allclose(objective.value_grad(vector).grad, slope, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("K", [2, 3])
def test_value_and_counts_are_sums_over_classes_and_labels(K, rng):
    """Against Bayes' theorem written out."""
    X, y = blobs(50, n_classes=K)
    C = Rates.of("full", K).confusion(rng.normal(size=K * (K - 1)) - 1)
    design = Design(np.zeros(4), bias=True)
    theta = rng.normal(size=(1 if K == 2 else K, 5))
    a = X @ theta[:, :4].T + theta[:, 4]
    A = np.column_stack([np.zeros(50), a]) if K == 2 else a
    P = np.exp(A) / np.exp(A).sum(axis=1, keepdims=True)
    together = P * C[:, y].T
    Q = together / together.sum(axis=1, keepdims=True)
    here = noisy_value_grad(Block(X, y, None, range(50)), theta, noisy_likelihood(C), design)
    assert here.value == pytest.approx(-np.log(together.sum(axis=1)).sum())
    assert_allclose(here.counts, [[Q[y == j, k].sum() for j in range(K)] for k in range(K)])
    assert_allclose(wrong_share(noisy_likelihood(C), a[:, 0] if K == 2 else a, y), 1 - Q[np.arange(50), y], atol=1e-12)


@pytest.mark.parametrize("K", [2, 3])
def test_statistics_of_two_halves_add_up(K, rng):
    X, y = blobs(60, n_classes=K)
    theta = rng.normal(size=(1 if K == 2 else K, 5))
    at = (theta, noisy_likelihood(Rates.of("one", K).confusion(np.array([-2.0]))), Design(np.zeros(4), bias=True))
    whole, first, second = (
        Block(X[rows], y[rows], None, range(60)[rows]) for rows in (slice(None), slice(20), slice(20, None))
    )
    total, parts = noisy_value_grad(whole, *at), noisy_value_grad(first, *at) + noisy_value_grad(second, *at)
    assert parts.value == pytest.approx(total.value)
    assert_allclose(parts.grad, total.grad, atol=1e-12)
    assert_allclose(parts.counts, total.counts, atol=1e-12)
    split = doubts(first, *at) + doubts(second, *at)
    assert_allclose(split.wrong, doubts(whole, *at).wrong)
    assert split.row.tolist() == list(range(60))


def test_the_search_ends_where_the_gradient_does_and_says_so():
    objective = joint("one", 2)
    start = Auto().minimise(objective.weights, np.zeros(objective.weights.shape)).value
    found = estimate(objective, start, tol=1e-8, max_steps=100, trace=True)
    assert found.is_converged
    assert objective.gradient_size(objective.value_grad(found.value).grad) <= 1e-8
    assert len(found.trace) == found.steps + 1
    assert not estimate(objective, start, tol=1e-14, max_steps=2, trace=False).is_converged


def test_known_rates_leave_the_weights_alone_to_be_found():
    objective = joint("one", 2)
    known = Joint(objective.weights, KnownRates(np.eye(2)))
    start = Auto().minimise(objective.weights, np.zeros(objective.weights.shape)).value
    assert_allclose(estimate(known, start, tol=1e-8, max_steps=10, trace=False).value, start.ravel())
