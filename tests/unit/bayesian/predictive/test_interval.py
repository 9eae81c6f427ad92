"""Intervals of probabilities: the quantiles of the activation, mapped; or those over draws, as numpy has them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special

from separatrix.bayesian.posterior.approximation import Activations
from separatrix.bayesian.predictive import interval
from separatrix.bayesian.predictive.interval import interval_of_classes, interval_of_two
from separatrix.likelihoods import Logit, Probit, Softmax


@pytest.mark.parametrize(("likelihood", "sigmoid"), [(Logit(), special.expit), (Probit(), special.ndtr)])
def test_bounds_of_two_classes_hold_the_share_of_the_activations_that_they_promise(likelihood, sigmoid, rng):
    mean, var = np.array([-1.0, 0.0, 3.0]), np.array([0.5, 0.0, 4.0])
    low, high = interval_of_two(likelihood, Activations(mean, var), special.ndtri([0.05, 0.95])).T
    p = sigmoid(mean + np.sqrt(var) * rng.normal(size=(200_000, 1)))
    assert_allclose(((p > low) & (p < high)).mean(axis=0)[[0, 2]], 0.9, atol=0.003)
    assert low[1] == high[1] == 0.5  # nothing varies


@pytest.mark.parametrize("rows_at_once", [1, 7, 1000])
def test_bounds_of_k_classes_are_quantiles_over_the_draws(rows_at_once, rng, monkeypatch):
    Phi, theta = rng.normal(size=(20, 4)), rng.normal(size=(3, 4, 101))
    monkeypatch.setattr(interval, "AT_ONCE", rows_at_once * 3 * 101)
    tails = np.array([0.025, 0.9])
    P = special.softmax(np.einsum("np,kps->nks", Phi, theta), axis=1)
    expected = np.moveaxis(np.quantile(P, tails, axis=2), 0, -1)
    assert_allclose(interval_of_classes(Softmax(3), Phi, theta, tails), expected, rtol=1e-12)


def test_the_largest_quantile_is_the_largest_draw(rng):
    Phi, theta = rng.normal(size=(5, 2)), rng.normal(size=(3, 2, 10))
    bounds = interval_of_classes(Softmax(3), Phi, theta, np.array([0.0, 1.0]))
    P = Softmax(3).probability(np.einsum("np,kps->nsk", Phi, theta).reshape(-1, 3)).reshape(5, 10, 3)
    assert_allclose(bounds, np.stack([P.min(axis=1), P.max(axis=1)], axis=-1), rtol=1e-14)
    assert_array_equal(bounds[..., 0] <= bounds[..., 1], True)
