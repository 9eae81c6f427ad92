"""The rule for K classes: exact where it can be, invariant where the integral is, and near it elsewhere."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special

from separatrix.bayesian.predictive import logit_normal, softmax_normal, softmax_normal_qmc, softmax_probit_rule
from separatrix.bayesian.predictive import softmax as module


def gaussians(rng, n, K, scale):
    B = rng.normal(size=(n, K, K)) * np.sqrt(scale / K)
    return rng.normal(size=(n, K)) * np.sqrt(1 + scale), B, B @ B.transpose(0, 2, 1)


def test_two_classes_are_the_logit_of_their_difference(rng):
    mu, _, Sigma = gaussians(rng, 300, 2, 9.0)
    var = Sigma[:, 0, 0] + Sigma[:, 1, 1] - 2 * Sigma[:, 0, 1]
    assert_allclose(softmax_normal(mu, Sigma)[:, 1], logit_normal(mu[:, 1] - mu[:, 0], var), rtol=1e-9)


def test_without_variance_it_is_the_softmax(rng):
    mu = 20 * rng.normal(size=(50, 5))
    assert_allclose(softmax_normal(mu, np.zeros((50, 5, 5))), special.softmax(mu, axis=1), rtol=1e-7, atol=1e-12)


def test_equal_classes_are_equally_probable():
    p = softmax_normal(np.zeros((1, 4)), 9.0 * np.eye(4)[None] + 2.0)
    assert_allclose(p, 0.25, atol=0.004)  # up to the order in which they are put together


@pytest.mark.parametrize("K", [2, 3, 7])
def test_rows_sum_to_one_and_are_positive(rng, K):
    mu, _, Sigma = gaussians(rng, 200, K, 100.0)
    p = softmax_normal(10 * mu, Sigma)
    assert_allclose(p.sum(axis=1), 1.0, rtol=1e-14)
    assert (p > 0).all()


def test_a_number_added_to_all_activations_changes_nothing(rng):
    """Neither a constant nor a random one: Sigma + v 1 1'."""
    mu, _, Sigma = gaussians(rng, 100, 4, 4.0)
    assert_allclose(softmax_normal(mu + 7.0, Sigma + 50.0), softmax_normal(mu, Sigma), rtol=1e-6, atol=1e-10)


def test_the_order_of_classes_does_not_matter(rng):
    mu, _, Sigma = gaussians(rng, 100, 5, 16.0)
    order = rng.permutation(5)
    turned = softmax_normal(mu[:, order], Sigma[:, order][:, :, order])
    assert_allclose(turned, softmax_normal(mu, Sigma)[:, order], rtol=1e-12)


def test_factors_stand_for_their_product(rng):
    mu, _, _ = gaussians(rng, 40, 4, 1.0)
    F = rng.normal(size=(40, 4, 2))
    assert_allclose(softmax_normal(mu, factor=F), softmax_normal(mu, F @ F.transpose(0, 2, 1)), rtol=1e-9)


def test_blocks_do_not_show(rng, monkeypatch):
    mu, _, Sigma = gaussians(rng, 50, 3, 4.0)
    whole = softmax_normal(mu, Sigma)
    monkeypatch.setattr(module, "BLOCK_NUMBERS", 100)
    assert_allclose(softmax_normal(mu, Sigma), whole, rtol=1e-13)


@pytest.mark.parametrize(
    ("scale", "mean_error", "largest"), [(0.25, 3e-4, 5e-3), (1.0, 2e-3, 0.02), (16.0, 0.01, 0.12)]
)
@pytest.mark.parametrize("K", [3, 6])
def test_it_is_near_the_integral_and_nearer_than_the_older_rule(rng, K, scale, mean_error, largest):
    mu, _, Sigma = gaussians(rng, 150, K, scale)
    truth = softmax_normal_qmc(mu, Sigma, n=8192).probability
    gap = np.abs(softmax_normal(mu, Sigma) - truth)
    older = np.abs(softmax_probit_rule(mu, np.diagonal(Sigma, axis1=1, axis2=2)) - truth)
    assert gap.mean() < mean_error
    assert gap.max() < largest
    assert gap.mean() < 0.2 * older.mean()


def test_independent_activations_to_half_a_per_cent(rng):
    mu = rng.normal(size=(150, 4)) * 2
    Sigma = rng.uniform(0.2, 3.0, (150, 4))[:, :, None] * np.eye(4)
    truth = softmax_normal_qmc(mu, Sigma, n=16384).probability
    assert np.abs(softmax_normal(mu, Sigma) - truth).max() < 5e-3


def test_the_older_rule_shrinks_each_activation():
    assert_allclose(
        softmax_probit_rule([[2.0, 0.0]], [[8 / np.pi, 0.0]]),
        special.softmax([[np.sqrt(2.0), 0.0]], axis=1),
        rtol=1e-12,
    )


def test_extreme_activations_stay_probabilities():
    mu = np.array([[1e6, -1e6, 0.0], [1e-9, 0.0, 0.0]])
    p = softmax_normal(mu, np.array([np.eye(3), 1e8 * np.eye(3)]))
    assert_allclose(p[0], [1, 0, 0], atol=1e-12)
    assert_allclose(p[1], 1 / 3, atol=0.005)


def test_what_is_wrong_is_named(rng):
    mu, _, Sigma = gaussians(rng, 3, 3, 1.0)
    with pytest.raises(ValueError, match=r"cov has shape \(3, 3, 3\); for mu of shape \(2, 3\) it must be \(2, 3, 3\)"):
        softmax_normal(mu[:2], Sigma)
    with pytest.raises(ValueError, match="give either cov or factor"):
        softmax_normal(mu)
    with pytest.raises(ValueError, match=r"mu has shape \(3,\); it must be \(n, K\)"):
        softmax_normal(mu[0], Sigma)
    with pytest.raises(ValueError, match="cov of row 1 is not a covariance"):
        softmax_normal(mu, np.array([Sigma[0], -Sigma[1], Sigma[2]]))
    with pytest.raises(ValueError, match="mu is nan in row 2"):
        softmax_normal(np.where(np.arange(3)[:, None] == 2, np.nan, mu), Sigma)
    with pytest.raises(ValueError, match="var is -1.0 in row 0; it must be finite and not negative"):
        softmax_probit_rule([[0.0, 0.0]], [[-1.0, 0.0]])
