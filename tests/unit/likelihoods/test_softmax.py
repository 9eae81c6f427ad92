"""The softmax against mpmath, and against the logit."""

import mpmath as mp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special

from separatrix.likelihoods import Logit, Softmax

REACH = np.concatenate([-np.geomspace(1e9, 1e-6, 30), [0.0], np.geomspace(1e-6, 1e9, 30)])


def exact(a, t):
    with mp.workdps(500):
        weights = [mp.exp(mp.mpf(float(v - max(a)))) for v in a]
        p = [w / mp.fsum(weights) for w in weights]
        return float(mp.log(p[t])), [float((k == t) - v) for k, v in enumerate(p)]


def test_every_digit_of_ln_p_and_slope(rng):
    rows = rng.normal(size=(40, 4)) * np.geomspace(0.1, 300, 40)[:, None]
    t = rng.integers(4, size=40)
    log_p, slope, _ = Softmax(4).derivatives(rows, t)
    expected = [exact(a, code) for a, code in zip(rows, t, strict=True)]
    assert_allclose(log_p, [value for value, _ in expected], rtol=1e-13, atol=1e-300)
    assert_allclose(slope, [value for _, value in expected], rtol=2e-13, atol=1e-300)


@pytest.mark.parametrize("shift", [0.0, 3.0, -1e4])
def test_two_classes_are_the_logit_of_the_difference(shift):
    a = np.column_stack([np.full(len(REACH), shift), shift + REACH])
    difference = a[:, 1] - a[:, 0]
    for t in (0, 1):
        codes = np.full(len(a), t)
        ours, logit = Softmax(2).derivatives(a, codes), Logit().derivatives(difference, codes)
        assert_allclose(ours.log_p, logit.log_p, rtol=1e-14, atol=1e-300)
        assert_allclose(ours.slope, np.column_stack([-logit.slope, logit.slope]), rtol=1e-14, atol=1e-300)
        for j, k, sign in [(0, 0, 1), (0, 1, -1), (1, 1, 1)]:
            assert_allclose(ours.curvature.block(j, k), sign * logit.curvature, rtol=1e-14, atol=1e-300)


def test_rows_of_probabilities_are_expectations_over_codes(rng):
    a, T = rng.normal(size=(50, 3)) * 4, rng.dirichlet(np.ones(3), size=50)
    log_p, slope, curvature = Softmax(3).derivatives(a, T)
    each = [Softmax(3).derivatives(a, np.full(50, k)) for k in range(3)]
    assert_allclose(log_p, sum(T[:, k] * each[k].log_p for k in range(3)), rtol=1e-13)
    assert_allclose(slope, sum(T[:, [k]] * each[k].slope for k in range(3)), atol=1e-15)
    assert_array_equal(curvature.p, each[0].curvature.p)


@pytest.mark.parametrize("order", ["C", "F"])
def test_arguments_are_left_as_they_were(rng, order):
    a, T = np.asarray(rng.normal(size=(20, 3)), order=order), np.asarray(rng.dirichlet(np.ones(3), 20), order=order)
    before = a.copy(), T.copy()
    for t in (T, T.argmax(axis=1)):
        Softmax(3).derivatives(a, t)
    assert_array_equal(a, before[0])
    assert_array_equal(T, before[1])


def test_probability_and_safe_curvature(rng):
    a = rng.normal(size=(30, 5)) * 10
    assert_allclose(Softmax(5).probability(a), special.softmax(a, axis=1), rtol=1e-13)
    assert_array_equal(Softmax(5).safe_curvature(a, np.zeros(30, dtype=int)).p, Softmax(5).probability(a))
