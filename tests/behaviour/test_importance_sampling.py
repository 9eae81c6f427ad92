"""Importance sampling is compared with sums over a grid, and Pareto smoothing with tails of known shape."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from scipy import stats

from exact import LIKELIHOODS, at_the_mode, on_a_grid, posed, two_weights
from separatrix.bayesian.sampling import (
    Proposal,
    importance,
    pareto_smooth,
    weighted_draws,
)
from separatrix.likelihoods import Softmax
from separatrix.solvers import factorise


def factor_of(precision):
    return factorise(np.asarray(precision, dtype=float), 1, np.zeros(len(precision), dtype=bool))


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_moments_evidence_and_predictions_are_those_of_the_posterior(name, rng):
    objective, X, t = two_weights(name)
    found = importance(objective, at_the_mode(objective), n=4096)
    exact = on_a_grid(objective, X, t, 2.0)
    sd = np.sqrt(np.diag(exact.covariance))
    assert found.k < 0.7
    assert found.approximation.is_converged
    assert found.approximation.log_evidence == pytest.approx(exact.log_evidence, abs=0.01)
    assert_allclose(found.approximation.mean[0], exact.mean, atol=0.01 * sd.min())
    assert_allclose(found.approximation.std[0], sd, rtol=0.02)
    rows = rng.normal(size=(30, 2), scale=3)
    predicted = found.draws.probability(rows, objective.design, objective.likelihood)
    assert_allclose(predicted, exact.probability(rows, objective.likelihood), atol=0.003)


def test_a_poor_proposal_is_replaced_by_a_better_one():
    objective, X, t = two_weights()
    laplace = at_the_mode(objective)
    narrow = replace(laplace, mean=laplace.mean + 1.5 * laplace.std, factor=factor_of(9 * laplace.factor.matrix))
    once, often = (importance(objective, narrow, n=4096, max_rounds=rounds) for rounds in (1, 4))
    exact = on_a_grid(objective, X, t, 2.0)
    assert once.k > 0.7
    assert not once.approximation.is_converged
    assert often.k < 0.7
    assert often.effective_size > 10 * once.effective_size
    assert often.approximation.log_evidence == pytest.approx(exact.log_evidence, abs=0.02)


def test_a_softmax_of_two_classes_equals_the_logistic_model(rng):
    """θ_1 - θ_0 ~ N(0, 2 scale²), so the prior of the logistic model has √2 times the scale."""
    X, t = rng.normal(size=(40, 2)), rng.integers(2, size=40)
    soft = posed(X, t, scale=1.0, likelihood=Softmax(2))
    hard = posed(X, t, scale=np.sqrt(2.0))
    a, b = (importance(objective, at_the_mode(objective), n=8192) for objective in (soft, hard))
    assert a.approximation.log_evidence == pytest.approx(b.approximation.log_evidence, abs=0.01)
    assert_allclose(a.approximation.mean[1] - a.approximation.mean[0], b.approximation.mean[0], atol=0.01)
    p = a.draws.probability(X, soft.design, soft.likelihood)
    assert_allclose(p[:, 1], b.draws.probability(X, hard.design, hard.likelihood), atol=0.005)


@pytest.mark.parametrize("degrees", [None, 15.0])
def test_draws_follow_the_density_of_the_proposal(degrees, rng):
    mean, precision = np.array([[1.0, -2.0, 0.5]]), np.array([[3.0, 1.0, 0.0], [1.0, 2.0, 0.3], [0.0, 0.3, 1.0]])
    theta, log_q = Proposal(mean, factor_of(precision), degrees).draw(8192, rng)
    S = np.linalg.inv(precision)
    law = stats.multivariate_normal(mean[0], S) if degrees is None else stats.multivariate_t(mean[0], S, df=degrees)
    assert_allclose(log_q, law.logpdf(theta[:, 0]), rtol=1e-9, atol=1e-9)
    widened = S if degrees is None else S * degrees / (degrees - 2)
    assert_allclose(theta.mean(axis=0), mean, atol=1e-12)  # exact, because draws come with their mirror images
    assert_allclose(np.cov(theta[:, 0].T), widened, atol=0.03 * np.sqrt(np.outer(np.diag(S), np.diag(S))).max())


def test_weights_are_equal_if_the_proposal_is_the_posterior():
    """Rows without information (x = 0) do not change the prior."""
    objective = posed(np.zeros((3, 2)), np.array([0, 1, 1]), scale=2.0)
    proposal = Proposal(np.zeros((1, 2)), factor_of(np.eye(2) / 4), None)
    found = weighted_draws(objective, proposal, 64, np.random.default_rng(0))
    assert found.smoothed.k == -np.inf
    assert found.smoothed.log_mean == pytest.approx(3 * np.log(0.5), abs=1e-10)


SIZE = 900  # 3 √900 is an integer, so rounding the length of the tail up or down makes no difference
log_weight_sets = arrays(np.float64, st.integers(1, 200), elements=st.floats(-50, 50))


def spread_out(size):
    """Return (j - ½)/size in an irregular order: draws that are the same on every machine."""
    return (np.argsort(np.sin(12.9898 * np.arange(size)) * 43758.5453 % 1.0) + 0.5) / size


def shifted(by):
    z = stats.norm.ppf(spread_out(SIZE))
    return stats.norm.logpdf(z, loc=by) - stats.norm.logpdf(z)


def pareto(k):
    return np.log1p(stats.genpareto.ppf(spread_out(SIZE), k))


@pytest.mark.parametrize(
    ("log_weights", "k"),
    [
        (shifted(1.0), 0.2927757975717482),
        (shifted(3.0), 1.0557779341761075),
        (pareto(-0.5), -0.372203412431892),
        (pareto(0.2), 0.23823078181466223),
        (pareto(0.7), 0.6686985895462905),
        (pareto(1.5), 1.3577961368109317),
        (np.log(np.arange(1.0, 41.0)), -0.04857561630302149),
    ],
)
def test_k_agrees_with_arviz(log_weights, k):
    assert_allclose(pareto_smooth(log_weights).k, k, atol=1e-12)  # arviz-stats 0.8.0, array_stats.psislw(-log_weights)


@pytest.mark.parametrize("ratio", [0.5, 0.6, 0.75])
def test_k_of_a_normal_proposal_that_is_too_narrow(rng, ratio):
    """r = p/q has the tail P(r > x) ~ x^(-1/k) with k = 1 - ratio² if sd(q) = ratio sd(p)."""
    z = rng.normal(size=200_000) * ratio
    k = pareto_smooth(stats.norm.logpdf(z) - stats.norm.logpdf(z, scale=ratio)).k
    assert abs(k - (1 - ratio**2)) < 0.08  # the tail has a factor 1/√ln x, which converges slowly


def test_log_mean_is_the_log_mass_of_the_target(rng):
    """The target is ∫ exp(-½ z'z + ln 7) dz over five variables."""
    t5 = stats.multivariate_t(shape=np.eye(5) * 1.2, df=8)
    z = t5.rvs(20_000, random_state=rng)
    smoothed = pareto_smooth(np.log(7.0) - 0.5 * (z**2).sum(axis=1) - t5.logpdf(z))
    assert smoothed.k < 0.5
    expected = np.log(7.0) + 2.5 * np.log(2 * np.pi)
    assert abs(smoothed.log_mean - expected) < 4 / np.sqrt(smoothed.effective_size)
    assert_allclose(smoothed.weights @ z**2, np.ones(5), atol=0.06)


@given(log_weight_sets)
@settings(max_examples=60)
def test_weights_sum_to_one_and_the_effective_size_lies_between_one_and_all(log_weights):
    smoothed = pareto_smooth(log_weights)
    assert_allclose(smoothed.weights.sum(), 1.0, rtol=1e-12)
    assert 1 - 1e-9 <= smoothed.effective_size <= len(log_weights) * (1 + 1e-9)
    assert log_weights.min() - 1e-9 <= smoothed.log_mean <= log_weights.max() + 1e-9
    assert not np.isnan(smoothed.k)


@given(log_weight_sets, st.integers(-(2**20), 2**20), st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_results_do_not_depend_on_the_order_or_a_common_factor_of_weights(log_weights, constant, random):
    log_weights = np.round(log_weights * 2**20) / 2**20  # so that adding the constant is exact
    order = random.sample(range(len(log_weights)), len(log_weights))
    here, there = pareto_smooth(log_weights), pareto_smooth(log_weights[order] + constant)
    assert here.k == there.k
    assert_allclose(np.sort(there.weights), np.sort(here.weights), rtol=1e-11)
    assert_allclose(there.log_mean, here.log_mean + constant, atol=1e-8)


@pytest.mark.parametrize("size", [1, 10, 1000])
def test_equal_weights_are_as_good_as_draws_from_the_target(size, rng):
    smoothed = pareto_smooth(-123.0 + 1e-12 * rng.normal(size=size))
    assert smoothed.k == -np.inf
    assert_allclose(smoothed.effective_size, size)
    assert_allclose(smoothed.log_mean, -123.0)


def test_too_few_draws_have_a_tail_of_unknown_shape(rng):
    log_weights = rng.normal(size=20)  # the tail is a fifth of them, four weights
    smoothed = pareto_smooth(log_weights)
    assert smoothed.k == np.inf
    assert_allclose(smoothed.log_mean, np.log(np.exp(log_weights).mean()))
    assert np.isfinite(pareto_smooth(rng.normal(size=25)).k)


@pytest.mark.parametrize("seed", range(5))
def test_nearly_equal_weights_have_no_heavy_tail(seed):
    """ln r = c (z³ - 3z) is largest at z = -1, near many draws; without the bound, the fitted k would be 3."""
    z = np.random.default_rng(seed).normal(size=4096)
    smoothed = pareto_smooth(0.02 * (z**3 - 3 * z))
    assert smoothed.k < 0.4
    assert smoothed.effective_size > 0.98 * len(z)


@pytest.mark.parametrize("seed", range(5))
def test_a_mode_that_is_rarely_drawn_has_a_large_k(seed):
    """p = 0.7 N(0, 1) + 0.3 N(4, ½). A few draws from N(0, 1) reach the second mode, with very large weights."""
    z = np.random.default_rng(seed).normal(size=4096)
    log_p = np.logaddexp(np.log(0.7) + stats.norm.logpdf(z), np.log(0.3) + stats.norm.logpdf(z, 4.0, 0.5))
    assert pareto_smooth(log_p - stats.norm.logpdf(z)).k > 0.7


def test_weights_over_the_whole_floating_point_range_have_a_large_k(rng):
    smoothed = pareto_smooth(np.sort(rng.uniform(-1e5, 1e5, size=4000)))
    assert smoothed.k > 5
    assert_allclose(smoothed.effective_size, 1.0, atol=1.0)


@pytest.mark.parametrize("log_weights", [[0.0, np.nan, 1.0], [0.0, 1.0, np.inf], [-np.inf, -np.inf]])
def test_weights_without_a_finite_maximum_raise(log_weights):
    with pytest.raises(ValueError, match="does not overlap"):
        pareto_smooth(log_weights)
