"""The probit against mpmath, to the last digits."""

import mpmath as mp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special

from separatrix.likelihoods import Probit

WRONG = -np.concatenate([np.geomspace(1e-9, 3.9, 25), np.linspace(3.95, 4.05, 9), np.geomspace(4.1, 1e9, 30)])
RIGHT = np.concatenate([[0.0], np.geomspace(1e-9, 37, 40)])


def exact(m):
    """ln Φ(m), r = N(m)/Φ(m), r (m + r) and its derivative r (1 - (m + r)(m + 2r))."""
    with mp.workdps(500):
        m = mp.mpf(float(m))
        if m < -40:  # the continued fraction of the hazard, for precision instead of 1e18 digits of Φ
            K = mp.mpf(0)
            for j in range(2000, 0, -1):
                K = j / (K - m)
            r = K - m
            log_p = -m * m / 2 - mp.log(2 * mp.pi) / 2 - mp.log(r)
        else:
            log_p = mp.log1p(-mp.erfc(m / mp.sqrt(2)) / 2) if m > 0 else mp.log(mp.erfc(-m / mp.sqrt(2)) / 2)
            r = mp.exp(-m * m / 2 - log_p) / mp.sqrt(2 * mp.pi)
        return [float(v) for v in (log_p, r, r * (m + r), r * (1 - (m + r) * (m + 2 * r)))]


@pytest.fixture(scope="module")
def truth():
    return {m: exact(m) for m in (*WRONG, *RIGHT, *-RIGHT)}


@pytest.mark.parametrize("t", [0, 1])
@pytest.mark.parametrize("kind", [np.intp, np.float64])
def test_every_digit_in_both_tails(truth, t, kind):
    m = np.concatenate([WRONG, RIGHT])
    sign = 2 * t - 1
    log_p, slope, curvature = Probit().derivatives(sign * m, np.full(len(m), t, dtype=kind))
    skew = Probit().skew(sign * m, np.full(len(m), t, dtype=kind))
    expected = np.array([truth[v] for v in m]).T
    assert_allclose(log_p, expected[0], rtol=1e-12)
    assert_allclose(slope, sign * expected[1], rtol=1e-12)
    assert_allclose(curvature, expected[2], rtol=1e-12)
    assert_allclose(skew, sign * expected[3], rtol=1e-10)


def test_soft_targets_are_expectations(truth):
    a, t = RIGHT, np.linspace(0.0, 1.0, len(RIGHT))
    up, down = (np.array([truth[v] for v in side]).T for side in (RIGHT, -RIGHT))
    found = [*Probit().derivatives(a, t), Probit().skew(a, t)]
    for ours, one, zero, sign in zip(found, up, down, (1, -1, 1, -1), strict=True):
        assert_allclose(ours, t * one + sign * (1 - t) * zero, rtol=1e-12, atol=1e-14)


def test_far_beyond_any_reason_the_limits_hold():
    """ln Φ(-x) is -x²/2 and the curvature is 1."""
    log_p, slope, curvature = Probit().derivatives(np.array([-1e150, 1e150]), np.array([1, 1]))
    assert_allclose(log_p, [-5e299, 0.0], rtol=1e-15)
    assert_array_equal(slope, [1e150, 0.0])
    assert_array_equal(curvature, [1.0, 0.0])


def test_probability():
    assert_allclose(Probit().probability(RIGHT), special.ndtr(RIGHT), rtol=1e-15)


def test_the_naive_formula_would_have_failed():
    """So that this file tests something: r (m + r) from logarithms at m = -1e6."""
    m = -1e6
    r = np.exp(-0.5 * m * m - 0.5 * np.log(2 * np.pi) - special.log_ndtr(m))
    assert abs(r * (m + r) - 1.0) > 1.0
    assert_allclose(Probit().derivatives(np.array([m]), np.array([1])).curvature, 1.0, rtol=1e-11)


def test_safe_curvature_is_the_curvature(rng):
    a, t = rng.normal(size=100) * 5, rng.integers(2, size=100)
    assert_array_equal(Probit().safe_curvature(a, t), Probit().derivatives(a, t).curvature)
