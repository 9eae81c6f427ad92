"""The logit against mpmath, to the last digits."""

import mpmath as mp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special

from separatrix.likelihoods import Logit

A = np.concatenate([-np.geomspace(1e9, 1e-9, 40), [-0.0, 0.0], np.geomspace(1e-9, 700, 40)])


def exact(a, t):
    """ln p, slope, curvature and skew with a thousand digits to lose."""
    with mp.workdps(1000):
        a, t = mp.mpf(float(a)), mp.mpf(float(t))
        up = 1 / (1 + mp.exp(-a)) if a > 0 else mp.exp(a) / (1 + mp.exp(a))
        down = mp.exp(-a) * up if a > 0 else 1 / (1 + mp.exp(a))
        log_p = t * mp.log(up) + (1 - t) * (mp.log(up) - a)
        return [float(v) for v in (log_p, t - up, up * down, up * down * (down - up))]


@pytest.mark.parametrize("t", [0, 1, 0.0, 1.0, 0.3])
def test_every_digit_in_both_tails(t):
    targets = np.full(len(A), t)
    found = [*Logit().derivatives(A, targets), Logit().skew(A, targets)]
    expected = np.array([exact(a, t) for a in A]).T
    for ours, theirs in zip(found, expected, strict=True):
        assert_allclose(ours, theirs, rtol=1e-14, atol=1e-300 if t in (0, 1) else 1e-16)


def test_minus_zero_is_zero():
    for t in (np.array([0, 1]), np.array([0.2, 0.9])):
        minus, plus = (Logit().derivatives(np.full(2, zero), t) for zero in (-0.0, 0.0))
        for ours, theirs in zip(minus, plus, strict=True):
            assert_allclose(ours, theirs, rtol=1e-15)


def test_codes_and_the_same_numbers_as_probabilities_agree(rng):
    a, t = rng.normal(size=200) * 10, rng.integers(2, size=200)
    for kind in (np.int8, bool, np.float32, np.float64):
        for ours, theirs in zip(Logit().derivatives(a, t.astype(kind)), Logit().derivatives(a, t), strict=True):
            assert_array_equal(ours, theirs)


def test_arguments_are_left_as_they_were(rng):
    a, t = rng.normal(size=50), rng.uniform(size=50)
    before = a.copy(), t.copy()
    Logit().derivatives(a, t)
    assert_array_equal(a, before[0])
    assert_array_equal(t, before[1])


def test_probability_is_the_sigmoid():
    assert_allclose(Logit().probability(A), special.expit(A), rtol=1e-15)


def test_safe_curvature_is_the_curvature(rng):
    a, t = rng.normal(size=100) * 5, rng.integers(2, size=100)
    assert_allclose(Logit().safe_curvature(a, t), Logit().derivatives(a, t).curvature, rtol=1e-15)
