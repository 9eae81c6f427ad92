# SPDX-License-Identifier: BSD-3-Clause
"""Summaries contain only what the data determine, and intervals follow the draws of a posterior that has draws."""

import numpy as np
import pytest

import separatrix as sx


@pytest.fixture(scope="module")
def three_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    A = X @ rng.normal(size=(4, 3))
    P = np.exp(A) / np.exp(A).sum(axis=1, keepdims=True)
    return X, np.array(["high", "low", "middle"])[[rng.choice(3, p=p) for p in P]]


@pytest.fixture(scope="module", params=["importance", "hmc"])
def skewed(request):
    """Five rows, of which four have the same class, under a wide prior."""
    X, y = np.random.default_rng(0).normal(size=(5, 1)), [0, 1, 1, 1, 1]
    return X, sx.BayesianLogisticRegression(sx.Gaussian(30), approximation=request.param, rng=0).fit(X, y)


@pytest.mark.parametrize("reference", [None, "low"])
@pytest.mark.parametrize("structure", ["full", "by class", "diagonal"])
def test_a_summary_does_not_depend_on_a_prior_that_the_data_overrule(three_classes, structure, reference):
    narrow, wide = (
        sx.BayesianLogisticRegression(sx.Gaussian(s), structure=structure, approximation="laplace")
        .fit(*three_classes)
        .summary(reference=reference)
        for s in (30.0, 3000.0)
    )
    for name, column in narrow.to_dict().items():
        # A prior of scale 30 is worth (sd / 30)² of the information on a weight: 1e-4.
        np.testing.assert_allclose(column, wide.to_dict()[name], rtol=2e-3, atol=1e-4, err_msg=name)


def test_a_difference_from_a_reference_has_the_moments_of_the_joint_posterior(three_classes):
    model = sx.BayesianLogisticRegression(sx.Gaussian(1.0), approximation="laplace").fit(*three_classes)
    mean, S, P = np.ravel(model.posterior_.mean), model.posterior_.covariance, 5
    found = model.summary(reference="low")
    high, low = np.arange(P), P + np.arange(P)
    variance = S[high, high] + S[low, low] - 2 * S[high, low]
    assert found.names[1] == "high: x0"
    assert "against 'low'" in found.title
    np.testing.assert_allclose(np.roll(found.coefficient[:P], -1), mean[high] - mean[low], rtol=1e-9)
    np.testing.assert_allclose(np.roll(found.standard_error[:P], -1), np.sqrt(variance), rtol=1e-9)


def test_a_summary_does_not_depend_on_the_order_of_the_classes(three_classes):
    X, y = three_classes
    reversed_order = np.array(["2", "1", "0"])[np.searchsorted(["high", "low", "middle"], y)]
    model = sx.BayesianLogisticRegression(sx.Gaussian(1.0), approximation="laplace")
    found, again = (model.fit(X, labels).summary() for labels in (y, reversed_order))
    np.testing.assert_allclose(
        found.standard_error.reshape(3, -1), again.standard_error.reshape(3, -1)[[2, 1, 0]], rtol=1e-6
    )


def test_an_unknown_reference_is_refused(three_classes):
    model = sx.BayesianLogisticRegression(sx.Gaussian(1.0)).fit(*three_classes)
    with pytest.raises(ValueError, match="'medium'.*'high', 'low'"):
        model.summary(reference="medium")


def test_the_reference_of_two_classes_sets_the_sign(skewed):
    model = skewed[1]
    up, down = model.summary(reference=0), model.summary(reference=1)
    np.testing.assert_allclose(up.lower, -down.upper)
    np.testing.assert_array_equal(up.coefficient, model.summary().coefficient)


def _weighted_quantile(values, weights, level):
    order = np.argsort(values)
    return np.interp(level, np.cumsum(weights[order]) - 0.5 * weights[order], values[order])


def test_intervals_of_a_model_with_draws_are_quantiles_of_its_draws(skewed):
    X, model = skewed
    theta, weights = model.draws_.theta[:, 0], model.draws_.weights
    bias = theta[:, 1] - theta[:, 0] * model.posterior_.design.origin[0]
    for x, interval in zip(X[:, 0], model.predict_interval(X), strict=True):
        p = 1 / (1 + np.exp(-(theta[:, 0] * x + bias)))
        np.testing.assert_allclose(interval, [_weighted_quantile(p, weights, q) for q in (0.025, 0.975)], atol=1e-3)
    a = np.outer(X[:, 0], theta[:, 0]) + bias
    found, summary = model.decision_distribution(X), model.summary()
    np.testing.assert_allclose(found.mean, a @ weights, rtol=1e-9)
    np.testing.assert_allclose(found.variance, (a - (a @ weights)[:, None]) ** 2 @ weights, rtol=1e-9)
    for j, w in enumerate((bias, theta[:, 0])):
        bounds = summary.lower[j], summary.upper[j]
        np.testing.assert_allclose(bounds, [_weighted_quantile(w, weights, q) for q in (0.025, 0.975)], rtol=1e-9)
