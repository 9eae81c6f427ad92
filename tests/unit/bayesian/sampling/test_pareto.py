"""Tails of known shape, targets of known mass, and the same numbers as the published implementations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from scipy import stats

from separatrix.bayesian.sampling.pareto import fit_generalized_pareto, pareto_smooth

SIZE = 900  # 3 √900 is whole: implementations that round the length of the tail up or down agree

log_weight_sets = arrays(np.float64, st.integers(1, 200), elements=st.floats(-50, 50))


def spread_out(size):
    """(j - ½)/size in an order without a pattern: draws that are the same on every machine."""
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
def test_k_is_that_of_arviz(log_weights, k):
    assert_allclose(pareto_smooth(log_weights).k, k, atol=1e-12)  # arviz-stats 0.8.0, array_stats.psislw(-log_weights)


@pytest.mark.parametrize("k", [-0.5, -0.1, 0.0, 0.3, 0.7, 1.2])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_shape_and_scale_of_a_generalised_pareto_are_recovered(rng, k, scale):
    n = 20_000
    excess = np.sort(stats.genpareto(k, scale=scale).rvs(n, random_state=rng))
    shape, size = fit_generalized_pareto(excess)
    if k < 0:  # the estimate is faster than 1/√n here: the largest draw gives the end of the support
        assert abs(shape - k) < 0.03
    else:
        error = (1 + k) / np.sqrt(n)  # asymptotic, of maximum likelihood
        assert abs(shape - k) < 4 * error + 10 * abs(0.5 - k) / n
    assert_allclose(size, scale, rtol=0.1)


def test_the_estimate_is_nearly_as_likely_as_the_most_likely(rng):
    excess = np.sort(stats.genpareto(0.4).rvs(2_000, random_state=rng))
    shape, scale = fit_generalized_pareto(excess)
    shape = (shape * 2_010 - 5) / 2_000  # without the weak prior
    best_shape, _, best_scale = stats.genpareto.fit(excess, floc=0)
    ours, best = (
        stats.genpareto.logpdf(excess, k, scale=s).sum() for k, s in ((shape, scale), (best_shape, best_scale))
    )
    assert ours > best - 0.05


@pytest.mark.parametrize("ratio", [0.5, 0.6, 0.75])
def test_k_of_a_normal_proposal_that_is_too_narrow(rng, ratio):
    """r = p/q has the tail P(r > x) ~ x^(-1/k) with k = 1 - ratio² where sd(q) = ratio sd(p)."""
    z = rng.normal(size=200_000) * ratio
    k = pareto_smooth(stats.norm.logpdf(z) - stats.norm.logpdf(z, scale=ratio)).k
    assert abs(k - (1 - ratio**2)) < 0.08  # a factor 1/√ln x in the tail dies slowly


def test_a_student_proposal_has_bounded_weights_and_a_normal_one_has_not(rng):
    t3, normal = stats.t(df=3), stats.norm
    z = t3.rvs(4000, random_state=rng)
    assert pareto_smooth(normal.logpdf(z) - t3.logpdf(z)).k < 0
    z = rng.normal(size=4000)
    assert pareto_smooth(t3.logpdf(z) - normal.logpdf(z)).k > 0.5


def test_log_mean_is_the_log_mass_of_the_target(rng):
    """∫ exp(-½ z'z + ln 7) over five variables."""
    t5 = stats.multivariate_t(shape=np.eye(5) * 1.2, df=8)
    z = t5.rvs(20_000, random_state=rng)
    smoothed = pareto_smooth(np.log(7.0) - 0.5 * (z**2).sum(axis=1) - t5.logpdf(z))
    assert smoothed.k < 0.5
    expected = np.log(7.0) + 2.5 * np.log(2 * np.pi)
    assert abs(smoothed.log_mean - expected) < 4 / np.sqrt(smoothed.effective_size)
    assert_allclose(smoothed.weights @ z**2, np.ones(5), atol=0.06)


def test_smoothing_lowers_the_error_of_a_heavy_tail():
    """E over many small samples: the raw mean weight has an infinite variance (k = 0.64), the smoothed one a small."""
    errors = []
    for seed in range(300):
        z = np.random.default_rng(seed).normal(size=200) * 0.6
        log_weights = stats.norm.logpdf(z) - stats.norm.logpdf(z, scale=0.6)
        raw = np.exp(log_weights).mean()
        errors.append((raw - 1, np.exp(pareto_smooth(log_weights).log_mean) - 1))
    raw, smooth = np.mean(np.square(errors), axis=0)
    assert smooth < 0.8 * raw


def test_the_body_is_left_alone_and_the_tail_keeps_its_order_and_its_end(rng):
    log_weights = stats.t(df=3).logpdf(z := rng.normal(size=2500)) - stats.norm.logpdf(z)
    smoothed = pareto_smooth(log_weights)
    raised = smoothed.log_weights - log_weights
    order = np.argsort(log_weights)
    body, tail = order[:-150], order[-150:]
    assert_allclose(raised[body], raised[body[0]], atol=1e-12)
    assert np.abs(raised[tail] - raised[body[0]]).max() > 0.01
    assert np.all(np.diff(smoothed.log_weights[tail]) >= 0)
    assert smoothed.log_weights[tail[0]] > smoothed.log_weights[body].max()
    assert smoothed.log_weights.max() <= log_weights.max() + raised[body[0]] + 1e-12


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
def test_a_factor_common_to_all_weights_and_their_order_change_nothing(log_weights, constant, random):
    log_weights = np.round(log_weights * 2**20) / 2**20  # so that adding the constant is exact
    order = random.sample(range(len(log_weights)), len(log_weights))
    here, there = pareto_smooth(log_weights), pareto_smooth(log_weights[order] + constant)
    assert here.k == there.k
    assert_allclose(np.sort(there.log_weights), np.sort(here.log_weights), rtol=1e-12, atol=1e-12)
    assert_allclose(there.log_mean, here.log_mean + constant, atol=1e-8)


def test_the_argument_is_not_changed(rng):
    log_weights = rng.normal(size=500)
    before = log_weights.copy()
    pareto_smooth(log_weights)
    assert np.array_equal(log_weights, before)


@pytest.mark.parametrize("size", [1, 10, 1000])
def test_equal_weights_are_as_good_as_draws_from_the_target(size, rng):
    smoothed = pareto_smooth(-123.0 + 1e-12 * rng.normal(size=size))
    assert smoothed.k == -np.inf
    assert_allclose(smoothed.effective_size, size)
    assert_allclose(smoothed.log_mean, -123.0)


def test_too_few_draws_have_a_tail_of_unknown_shape(rng):
    log_weights = rng.normal(size=20)  # a fifth of them is four
    smoothed = pareto_smooth(log_weights)
    assert smoothed.k == np.inf
    assert_allclose(smoothed.log_mean, np.log(np.exp(log_weights).mean()))
    assert np.isfinite(pareto_smooth(rng.normal(size=25)).k)


def test_few_weights_above_many_equal_ones_have_no_shape_either():
    assert pareto_smooth(np.append(np.zeros(500), [3.0, 5.0])).k == np.inf


@pytest.mark.parametrize("seed", range(5))
def test_weights_that_are_all_but_equal_have_no_heavy_tail(seed):
    """ln r = c (z³ - 3z) has a maximum at z = -1: many weights are there, and a threshold among them fits k = 3."""
    z = np.random.default_rng(seed).normal(size=4096)
    smoothed = pareto_smooth(0.02 * (z**3 - 3 * z))
    assert smoothed.k < 0.4
    assert smoothed.effective_size > 0.98 * len(z)


@pytest.mark.parametrize("seed", range(5))
def test_a_mode_that_is_seldom_drawn_is_not_taken_for_next_to_nothing(seed):
    """p = 0.7 N(0, 1) + 0.3 N(4, ½): seen in a handful of draws of N(0, 1), whose weights are enormous."""
    z = np.random.default_rng(seed).normal(size=4096)
    log_p = np.logaddexp(np.log(0.7) + stats.norm.logpdf(z), np.log(0.3) + stats.norm.logpdf(z, 4.0, 0.5))
    assert pareto_smooth(log_p - stats.norm.logpdf(z)).k > 0.7


def test_zero_weights_stay_zero(rng):
    log_weights = rng.normal(size=1000)
    log_weights[::2] = -np.inf
    smoothed = pareto_smooth(log_weights)
    assert np.all(smoothed.weights[::2] == 0)
    assert np.isfinite(smoothed.k)
    assert_allclose(smoothed.weights.sum(), 1.0)


def test_nearly_all_weights_zero(rng):
    log_weights = np.full(1000, -np.inf)
    log_weights[:50] = rng.normal(size=50)
    smoothed = pareto_smooth(log_weights)
    assert np.isfinite(smoothed.k)
    assert 1 <= smoothed.effective_size <= 50


def test_weights_over_all_of_floating_point_are_called_hopeless(rng):
    smoothed = pareto_smooth(np.sort(rng.uniform(-1e5, 1e5, size=4000)))
    assert smoothed.k > 5
    assert_allclose(smoothed.effective_size, 1.0, atol=1.0)


@pytest.mark.parametrize(
    ("log_weights", "message"),
    [
        ([0.0, np.nan, 1.0], "draw 1 has log weight nan"),
        ([0.0, 1.0, np.inf], "draw 2 has log weight inf"),
        ([-np.inf, -np.inf], "every weight is zero"),
        ([], r"shape \(0,\)"),
        ([[0.0, 1.0]], r"shape \(1, 2\)"),
    ],
)
def test_what_is_not_a_set_of_weights_is_refused(log_weights, message):
    with pytest.raises(ValueError, match=message):
        pareto_smooth(log_weights)
