"""Against mpmath, where differences of doubles have no digits left."""

import mpmath
import numpy as np
import pytest

from separatrix.likelihoods.glm.cloglog import CLogLog, cloglog


@pytest.mark.parametrize("a", [-40.0, -3.0, -2.9957, -2.9958, -0.5, 0.0, 1.0, 3.0])
def test_a_one_is_right_to_rounding(a):
    with mpmath.workdps(60):
        x = mpmath.mpf(a)

        def log_p(b):
            return mpmath.log(-mpmath.expm1(-mpmath.exp(b)))

        expected = [float(log_p(x)), float(mpmath.diff(log_p, x)), float(-mpmath.diff(log_p, x, 2))]
    found = [part[0] for part in CLogLog().derivatives(np.array([a]), np.array([1]))]
    np.testing.assert_allclose(found, expected, rtol=2e-13)


def test_the_probability_is_that_of_a_positive_poisson_count():
    a = np.array([-700.0, -2.0, 0.5, 1e9])
    np.testing.assert_allclose(CLogLog().probability(a), -np.expm1(-np.exp(np.minimum(a, 700))), rtol=1e-14)
    np.testing.assert_allclose(cloglog(CLogLog().probability(a[1:3])), a[1:3], rtol=1e-13)


def test_a_certain_one_costs_nothing_and_an_impossible_zero_everything():
    a = np.array([1e9, 1e9])
    log_p, slope, curvature = CLogLog().derivatives(a, np.array([1, 0]))
    np.testing.assert_array_equal(log_p, [0.0, -np.inf])
    assert slope[0] == 0.0 == curvature[0]
    soft = CLogLog().derivatives(a, np.array([1.0, 0.0]))
    np.testing.assert_array_equal(soft.log_p, [0.0, -np.inf])
