"""Predictive integrals agree with mpmath to sixteen digits, from the smallest to the largest arguments."""

import mpmath as mp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from separatrix.bayesian.logistic_normal import log_averages, log_odds, softplus_variance
from separatrix.bayesian.predictive import expected_logit, logit_normal

pytestmark = pytest.mark.slow

# Narrow, ordinary and wide Gaussians; the peak of e^a N(a) below, at (m = s²) and above zero; near and off the table.
CASES = [
    *[(0.0, v) for v in (1e-6, 1.0, 100.0, 1e8)],
    *[(m, 0.01) for m in (0.5, 3.0, 23.9, 24.1, 60.0)],
    *[(m, 1.0) for m in (1e-3, 1.0, 4.0, 12.0, 30.0)],
    *[(m, 25.0) for m in (0.1, 5.0, 25.0, 60.0, 90.0)],
    *[(m, 1e4) for m in (1.0, 100.0, 400.0, 1000.0)],
    (1e6, 1e8),
    (1e4, 1e8),
    (300.0, 300.0),
]
M, VAR = np.array(CASES).T


def average(function, m, var):
    """Return ∫ function(a) N(a | -m, var) da, split where the integrand changes quickly."""
    m, s = mp.mpf(m), mp.sqrt(mp.mpf(var))
    far = {-m + k * s for k in range(-10, 11, 2)} | {-m + s**2 + k * s for k in range(-10, 11, 2)}
    near = {mp.mpf(k) for k in (-60, -30, -15, -8, -4, -2, 0, 2, 4, 8, 15, 30, 60)}
    near |= {k * s**2 / (m + s) for k in (1, 3, 10, 30, 100)}  # points where N(a) has decreased to the right of zero
    cuts = sorted(a for a in far | near if -m - 10 * s <= a <= max(-m + 10 * s, -m + s**2 + 10 * s))
    log_size = -m + s**2 / 2 if m > s**2 else -((m / s) ** 2) / 2  # the tolerance of mp.quad is absolute
    whole = mp.quad(lambda a: function(a) * mp.exp(-(((a + m) / s) ** 2) / 2 - log_size), cuts)
    return mp.exp(log_size) * whole / (s * mp.sqrt(2 * mp.pi))


def sigmoid(a):
    return 1 / (1 + mp.exp(-a))


def softplus(a):
    return mp.log1p(mp.exp(a))


FUNCTIONS = {"probability": sigmoid, "softplus": softplus, "curvature": lambda a: sigmoid(a) * sigmoid(-a)}


@pytest.fixture(scope="module")
def truth():
    with mp.workdps(16):
        return {name: [average(g, m, v) for m, v in CASES] for name, g in FUNCTIONS.items()}


@pytest.fixture(scope="module")
def log_truth(truth):
    with mp.workdps(16):
        return {name: np.array([float(mp.log(x)) for x in values]) for name, values in truth.items()}


def test_the_sums_equal_the_integrals(log_truth):
    found = log_averages(M, np.sqrt(VAR))
    for name in FUNCTIONS:
        assert_allclose(getattr(found, f"log_{name}"), log_truth[name], rtol=1e-11, atol=1e-11)


def test_logit_normal_to_ten_digits_and_its_tail_to_eight(truth):
    exact = np.array([float(q) for q in truth["probability"]])
    found = logit_normal(-M, VAR)
    assert np.abs(found - exact).max() < 1e-10
    kept = exact > 1e-15
    assert_allclose(found[kept], exact[kept], rtol=1e-8)
    assert np.abs(logit_normal(M, VAR) - (1 - exact)).max() < 1e-10


def test_log_odds_of_probabilities_that_underflow(truth):
    with mp.workdps(16):
        odds = np.array([float(mp.log(q / (1 - q))) for q in truth["probability"]])
    assert_allclose(log_odds(-M, VAR), odds, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("t", [0, 1])
def test_expected_logit_to_eight_digits(truth, t):
    q, f, c = (np.array([float(x) for x in truth[name]]) for name in FUNCTIONS)
    log_p, slope, curvature = expected_logit(-M, VAR, t)
    assert_allclose(log_p, -f - t * M, rtol=1e-8, atol=1e-12)
    assert_allclose(slope, t - q, rtol=1e-8, atol=1e-10)
    assert_allclose(curvature, c, rtol=1e-8, atol=1e-30)


@pytest.mark.parametrize(("m", "var"), [(0.0, 0.01), (1.0, 1.0), (3.0, 25.0), (30.0, 400.0)])
def test_variance_of_the_softplus(m, var):
    with mp.workdps(16):
        mean = average(softplus, m, var)
        exact = float(average(lambda a: (softplus(a) - mean) ** 2, m, var))
    assert_allclose(softplus_variance(np.array([m]), np.sqrt([var])), exact, rtol=1e-10)
