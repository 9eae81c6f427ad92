"""Every function against mpmath, from the smallest to the largest arguments."""

import mpmath as mp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special

from separatrix._special import (
    FRACTION_FROM,
    divergence,
    hazard_fraction,
    inverse_log_minus_digamma,
    log1p_ratio,
    log_beta,
    log_minus_digamma,
    log_rising,
    stirling_error,
    trigamma_excess,
)

EPS = np.finfo(float).eps
ARGUMENTS = [1e-300, 1e-12, 1e-8, 1e-3, 0.5, 1.0, 2.0, 3.3, 9.999, 10.0, 10.5, 30.0, 1e3, 1e8, 1e15, 1e100]
PAIRS = [(a, b) for a in (1e-300, 1e-8, 0.3, 5.0, 12.0, 1e8, 1e20) for b in (1e-9, 0.2, 1.0, 7.0, 1e8, 1e15)]


@pytest.fixture(autouse=True)
def _many_digits():
    with mp.workdps(400):
        yield


def exact(function, *columns):
    return np.array([float(function(*(mp.mpf(v) for v in row))) for row in zip(*columns, strict=True)])


def test_stirling_error():
    def delta(x):
        return mp.loggamma(x) - (x - 0.5) * mp.log(x) + x - mp.log(2 * mp.pi) / 2

    large = np.abs(np.log(ARGUMENTS)) + np.minimum(ARGUMENTS, 10)  # what cancels below the series
    error = np.abs(stirling_error(ARGUMENTS) - exact(delta, ARGUMENTS))
    assert np.all(error <= 4 * EPS * (1 + large))
    far = [x for x in ARGUMENTS if x >= 10]
    assert_allclose(stirling_error(far), exact(delta, far), rtol=1e-14)


def test_log_minus_digamma():
    assert_allclose(log_minus_digamma(ARGUMENTS), exact(lambda x: mp.log(x) - mp.digamma(x), ARGUMENTS), rtol=1e-14)


def test_trigamma_excess():
    expected = exact(lambda x: x * mp.polygamma(1, x) - 1, ARGUMENTS)
    assert_allclose(trigamma_excess(ARGUMENTS), expected, rtol=1e-14)


def test_divergence():
    x = [3.0, 1e8, 1e8 + 1, 0.0, 1e-300, 1e300, 1e300, 5.0, 5.0, 1e-5, 7.0, 2.0]
    m = [3.0, 1e8 + 1, 1e8, 5.0, 1e300, 1e-300, 1.1e300, 6.11, 6.2, 1.0, 7.0000001, 100.0]

    def d(x, m):
        return (x * mp.log(x / m) if x else 0) - x + m

    assert_allclose(divergence(x, m), exact(d, x, m), rtol=2e-14)
    assert divergence(1.0, 0.0) == np.inf
    assert divergence(0.0, 0.0) == 0.0


def test_log1p_ratio():
    x, b = zip(*[(0.0, 1e-300), (1e-20, 1.0), (1.0, 1.0), (1e300, 1e-300), (1e-300, 1e300), (3.0, 2.0)], strict=True)
    assert_allclose(log1p_ratio(x, b), exact(lambda x, b: mp.log1p(x / b), x, b), rtol=1e-15)


def test_log_rising_keeps_the_digits_that_two_gammalns_lose():
    a, n = map(np.array, zip(*PAIRS, strict=True))
    expected = exact(lambda a, n: mp.loggamma(a + n) - mp.loggamma(a), a, n)
    assert_allclose(log_rising(a, n), expected, rtol=1e-14, atol=1e-14)  # a logarithm: absolute digits count
    assert np.abs(special.gammaln(1e15 + 1) - special.gammaln(1e15) - np.log(1e15)) > 1e-3
    assert_allclose(log_rising(1e15, 1), np.log(1e15), rtol=1e-15)
    assert log_rising(5.0, 0.0) == 0.0


def test_log_beta():
    a, b = map(np.array, zip(*PAIRS, strict=True))
    expected = exact(lambda a, b: mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b), a, b)
    assert_allclose(log_beta(a, b), expected, rtol=3e-15, atol=1e-14)
    assert_allclose(log_beta(b, a), log_beta(a, b), rtol=1e-14, atol=1e-14)


def test_inverse_log_minus_digamma():
    x = np.geomspace(1e-12, 1e15, 109)
    assert_allclose(inverse_log_minus_digamma(log_minus_digamma(x)), x, rtol=1e-13)


def test_hazard_fraction():
    x = np.concatenate([np.linspace(FRACTION_FROM, 30, 40), [1e2, 1e4, 1e6, 1e9, 1e150]])
    fraction = hazard_fraction(x)
    near = x <= 30  # 400 digits of Φ(-x), of which the four subtractions may take some
    hazard = [mp.npdf(mp.mpf(v)) / (mp.erfc(mp.mpf(v) / mp.sqrt(2)) / 2) for v in x[near]]
    rest = [r - mp.mpf(v) for r, v in zip(hazard, x[near], strict=True)]
    for j, K in enumerate(fraction, start=1):
        assert_allclose(K[near], [float(r) for r in rest], rtol=5e-14)
        assert_allclose(K[~near], j / x[~near], rtol=(j + 1) * 1e-4)  # K_j = j/x (1 - (j + 1)/x² + ...)
        rest = [j / r - mp.mpf(v) for r, v in zip(rest, x[near], strict=True)]
    assert_allclose(fraction[0][x >= 1e9] * x[x >= 1e9], 1.0, rtol=1e-15)
