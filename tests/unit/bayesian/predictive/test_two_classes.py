"""Averages over a Gaussian activation: laws that hold exactly, and limits that are known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as cases
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special

from separatrix.bayesian.predictive import two_classes
from separatrix.bayesian.predictive.two_classes import (
    expected,
    expected_logit,
    logit_normal,
    logit_normal_log_odds,
    logit_probit_rule,
    probit_normal,
)
from separatrix.likelihoods import Logit

means = st.floats(-1e6, 1e6)
variances = st.one_of(st.just(0.0), st.floats(1e-12, 1e8))


@cases(max_examples=200)
@given(means, variances)
def test_p_of_mu_and_of_minus_mu_sum_to_one_exactly(mu, var):
    p, q = logit_normal([mu, -mu], var)
    assert p + q == 1.0


def test_at_zero_it_is_one_half_exactly():
    assert_array_equal(logit_normal(0.0, np.append(0.0, np.logspace(-12, 8, 50))), 0.5)


@cases(max_examples=100)
@given(means, means, variances)
def test_it_never_falls_as_mu_rises(one, other, var):
    low, high = logit_normal(sorted([one, other]), var)
    assert low <= high + 1e-11


@cases(max_examples=100)
@given(means, variances)
def test_uncertainty_moderates(mu, var):
    """p lies between ½ and σ(mu), for every variance (PRML §4.5.2)."""
    assert abs(logit_normal_log_odds(mu, var)) <= abs(mu) * (1 + 1e-9)


def test_no_variance_is_the_sigmoid():
    mu = np.linspace(-700, 700, 4001)
    assert_allclose(logit_normal(mu, 0.0), special.expit(mu), rtol=3e-8, atol=1e-11)


def test_a_large_variance_is_a_step_function():
    z = np.linspace(-5, 5, 41)
    assert_allclose(logit_normal(1e8 * z, 1e16), special.ndtr(z), atol=1e-10)


def test_the_probit_rule_is_within_two_per_cent():
    mu, var = np.meshgrid(np.linspace(0, 30, 61), np.logspace(-3, 4, 40))
    gap = np.abs(logit_probit_rule(mu, var) - logit_normal(mu, var))
    assert 0.005 < gap.max() < 0.02


def test_log_odds_do_not_saturate():
    """Far out, σ(a) is e^a, and E[e^a] = e^(mu + var/2)."""
    assert_allclose(logit_normal_log_odds([-2000.0, -1e6], [4.0, 100.0]), [-1998.0, -999950.0], rtol=1e-12)


def test_shapes_broadcast_and_numbers_are_numbers():
    assert logit_normal(np.zeros((3, 1)), np.ones(4)).shape == (3, 4)
    assert logit_normal(1.0, 1.0).shape == ()
    assert logit_normal([], []).shape == (0,)


def test_blocks_do_not_show(rng, monkeypatch):
    from separatrix.bayesian.predictive import logistic_normal

    mu, var = rng.normal(size=1000) * 30, rng.exponential(size=1000) * 50
    whole = logit_normal(mu, var), *expected_logit(mu, var, 1)
    monkeypatch.setattr(logistic_normal, "BLOCK", 7)
    assert_array_equal(whole, (logit_normal(mu, var), *expected_logit(mu, var, 1)))


def test_probit_normal_is_the_probability_that_a_noisy_activation_is_positive(rng):
    a = 1.5 + np.sqrt(3.0) * rng.normal(size=200_000) + rng.normal(size=200_000)
    assert abs(probit_normal(1.5, 3.0) - (a > 0).mean()) < 4e-3
    assert_allclose(probit_normal([-2.0, 0.0, 2.0], 0.0), special.ndtr([-2.0, 0.0, 2.0]))


@pytest.mark.parametrize("t", [0, 1, 0.3])
def test_slope_and_curvature_are_the_derivatives_of_the_average(t):
    mu, var = (x.ravel() for x in np.meshgrid(np.linspace(-8, 8, 33), [0.3, 2.0, 30.0, 1e4]))
    h = 1e-2
    ahead, behind = expected_logit(mu + h, var, t), expected_logit(mu - h, var, t)
    here = expected_logit(mu, var, t)
    assert_allclose((ahead.log_p - behind.log_p) / (2 * h), here.slope, atol=2e-5)
    assert_allclose((behind.slope - ahead.slope) / (2 * h), here.curvature, atol=2e-5)


def test_price_theorem():
    """∂E[g]/∂var = ½ E[g'']."""
    mu, var = (x.ravel() for x in np.meshgrid(np.linspace(-8, 8, 33), [0.3, 2.0, 30.0]))
    h = 1e-3 * var
    change = expected_logit(mu, var + h, 1).log_p - expected_logit(mu, var - h, 1).log_p
    assert_allclose(change / (2 * h), -0.5 * expected_logit(mu, var, 1).curvature, atol=1e-6)


def test_with_no_variance_the_averages_are_the_likelihood():
    a = np.linspace(-300, 300, 601)
    for t in (np.ones(601, dtype=int), np.zeros(601, dtype=int), np.full(601, 0.25)):
        for average, plain in zip(expected_logit(a, 0.0, t), Logit().derivatives(a, t), strict=True):
            assert_allclose(average, plain, rtol=3e-8, atol=1e-11)


def test_gauss_hermite_agrees_with_the_sums_where_it_can():
    mu = np.linspace(-6, 6, 25)
    t = (mu > 1).astype(int)
    found = expected(lambda a: np.stack(Logit().derivatives(a, t)), mu, np.full(25, 4.0))
    assert_allclose(found, np.stack(expected_logit(mu, 4.0, t)), atol=2e-9)


def test_gauss_hermite_is_exact_for_polynomials(rng):
    mu, var = rng.normal(size=5), rng.exponential(size=5)
    fourth = expected(lambda a: a**4, mu, var, n_nodes=3)
    assert_allclose(fourth, mu**4 + 6 * mu**2 * var + 3 * var**2, rtol=1e-12)


@pytest.mark.parametrize("name", ["logit_normal", "logit_normal_log_odds", "logit_probit_rule", "probit_normal"])
def test_what_is_wrong_is_named(name):
    function = getattr(two_classes, name)
    with pytest.raises(ValueError, match=f"{name}: var is -1.0 in row 1; it must be finite and not negative"):
        function([0.0, 0.0], [1.0, -1.0])
    with pytest.raises(ValueError, match=f"{name}: mu is nan in row 0; it must be finite"):
        function([np.nan], [1.0])
    with pytest.raises(ValueError, match="var is inf"):
        function(0.0, np.inf)


def test_expected_needs_nodes():
    with pytest.raises(ValueError, match=r"expected\(n_nodes=0\)"):
        expected(np.cos, 0.0, 1.0, n_nodes=0)
