"""Quasi-Monte-Carlo: it converges, says how far it is, and is right where the answer is known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from separatrix.bayesian.predictive import logit_normal, softmax_normal_qmc
from separatrix.bayesian.predictive import softmax as module


def gaussians(rng, n, K, scale):
    B = rng.normal(size=(n, K, K)) * np.sqrt(scale / K)
    return rng.normal(size=(n, K)) * np.sqrt(1 + scale), B @ B.transpose(0, 2, 1)


def test_two_classes_are_the_logit_of_their_difference(rng):
    mu, Sigma = gaussians(rng, 200, 2, 4.0)
    var = Sigma[:, 0, 0] + Sigma[:, 1, 1] - 2 * Sigma[:, 0, 1]
    exact = logit_normal(mu[:, 0] - mu[:, 1], var)
    assert np.abs(softmax_normal_qmc(mu, Sigma, n=4096).probability[:, 0] - exact).max() < 2e-4


def test_the_standard_error_covers(rng):
    """With eight replicates the error in units of the standard error is Student's t with seven degrees of freedom."""
    mu, Sigma = gaussians(rng, 400, 2, 4.0)
    exact = logit_normal(mu[:, 0] - mu[:, 1], Sigma[:, 0, 0] + Sigma[:, 1, 1] - 2 * Sigma[:, 0, 1])
    covered = []
    for seed in range(20):  # rows share their points, so that only seeds are independent
        p, error = softmax_normal_qmc(mu, Sigma, n=256, rng=seed)
        covered.append((np.abs(p[:, 0] - exact) <= 2.365 * error[:, 0]).mean())
    assert 0.85 < np.mean(covered) < 0.995


def test_four_times_the_points_halve_the_error_or_better(rng):
    mu, Sigma = gaussians(rng, 100, 5, 4.0)
    few, many = (softmax_normal_qmc(mu, Sigma, n=n).standard_error.mean() for n in (256, 4096))
    assert many < few / 5


def test_it_beats_plain_monte_carlo(rng):
    mu, Sigma = gaussians(rng, 50, 4, 1.0)
    truth = softmax_normal_qmc(mu, Sigma, n=32768).probability
    quasi = np.abs(softmax_normal_qmc(mu, Sigma, n=256, rng=1).probability - truth).mean()
    a = mu[:, None] + np.einsum("nij,pj->npi", np.linalg.cholesky(Sigma + 1e-12 * np.eye(4)), rng.normal(size=(256, 4)))
    e = np.exp(a - a.max(axis=2, keepdims=True))
    plain = np.abs((e / e.sum(axis=2, keepdims=True)).mean(axis=1) - truth).mean()
    assert quasi < plain / 3


def test_rows_sum_to_one_blocks_do_not_show_and_seeds_repeat(rng, monkeypatch):
    mu, Sigma = gaussians(rng, 60, 4, 10.0)
    whole = softmax_normal_qmc(mu, Sigma, rng=3)
    assert_allclose(whole.probability.sum(axis=1), 1.0, rtol=1e-13)
    monkeypatch.setattr(module, "BLOCK_NUMBERS", 1000)
    again = softmax_normal_qmc(mu, Sigma, rng=3)
    assert_allclose(again.probability, whole.probability, rtol=1e-11)
    assert_array_equal(softmax_normal_qmc(mu, Sigma, rng=3).probability, again.probability)
    assert not np.array_equal(softmax_normal_qmc(mu, Sigma, rng=4).probability, again.probability)


def test_without_variance_there_is_no_error(rng):
    estimate = softmax_normal_qmc([[1.0, 2.0, 3.0]], np.zeros((1, 3, 3)))
    assert_allclose(estimate.probability, np.exp([[1, 2, 3]]) / np.exp([1, 2, 3]).sum(), rtol=1e-12)
    assert estimate.standard_error.max() < 1e-15


def test_factors_stand_for_their_product(rng):
    F = rng.normal(size=(10, 3, 5))
    mu = rng.normal(size=(10, 3))
    by_factor = softmax_normal_qmc(mu, factor=F).probability
    assert_allclose(by_factor, softmax_normal_qmc(mu, F @ F.transpose(0, 2, 1)).probability, atol=1e-9)


def test_what_is_wrong_is_named(rng):
    mu, Sigma = gaussians(rng, 3, 3, 1.0)
    with pytest.raises(
        ValueError, match=r"n=100, n_replicates=8\): n / n_replicates must be a power of two.*try n=128"
    ):
        softmax_normal_qmc(mu, Sigma, n=100)
    with pytest.raises(ValueError, match="n_replicates must be an integer, at least 2"):
        softmax_normal_qmc(mu, Sigma, n_replicates=1)
    with pytest.raises(ValueError, match="cov of row 2 is not a covariance: it has the eigenvalue"):
        softmax_normal_qmc(mu, np.array([Sigma[0], Sigma[1], -Sigma[2]]))
