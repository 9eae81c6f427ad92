"""The Dirichlet kernel, its maximum and its integral, from shapes of 1e-8 to 1e8."""

import mpmath as mp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, special

from separatrix._special import log_minus_digamma
from separatrix.families import LogMoments
from separatrix.families.simplex import (
    by_laplace,
    by_quadrature,
    centre,
    log_kernel,
    log_partition,
    maximum,
    mode_of_log,
    slack,
)

SHAPES = [(1e-8, 1e-8), (0.05, 3.0), (1.0, 1.0), (1e-2, 1e4), (40.0, 2.0), (1e8, 1e8), (1e8, 1.0), (3.0, 0.2, 70.0)]


def statistics_of(alpha):
    """m and g of the population, without cancellation: the mean, and E[ln x] about it."""
    alpha = np.asarray(alpha, dtype=float)
    s = alpha.sum(axis=-1, keepdims=True)
    return alpha / s, log_minus_digamma(alpha) - log_minus_digamma(s)


@pytest.mark.parametrize("alpha", SHAPES)
def test_the_kernel_against_mpmath(alpha):
    m, g = np.full(len(alpha), 1 / len(alpha)), np.linspace(0.1, 0.5, len(alpha))
    with mp.workdps(50):
        chi = [mp.log(mp.mpf(a)) - mp.mpf(b) for a, b in zip(m, g, strict=True)]
        linear = sum(mp.mpf(a) * c for a, c in zip(alpha, chi, strict=True))
        expected = linear - sum(mp.loggamma(mp.mpf(a)) for a in alpha) + mp.loggamma(sum(map(mp.mpf, alpha)))
    assert_allclose(log_kernel(np.array(alpha), m, g), float(expected), rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("alpha", SHAPES)
def test_the_maximum_returns_the_shapes_that_made_the_statistics(alpha):
    assert_allclose(maximum(*statistics_of(alpha)), alpha, rtol=1e-12)


def test_the_maximum_of_many_problems_at_once(rng):
    alpha = 10.0 ** rng.uniform(-6, 6, size=(200, 3))
    assert_allclose(maximum(*statistics_of(alpha)), alpha, rtol=1e-9)


def test_a_centre_for_any_mean_logs():
    chi = np.array([[-1e8, -1e-9], [-0.8, -0.9], [-700.0, -800.0]])
    m, g = centre(chi)
    assert_allclose(np.log(m) - g, chi, rtol=1e-14, atol=1e-15)
    assert_allclose(m.sum(axis=-1), 1.0)
    assert_allclose(slack(m, g), -special.logsumexp(chi, axis=-1), rtol=1e-6, atol=1e-16)


@pytest.mark.parametrize("nu", [0.5, 7.0, 1e4])
@pytest.mark.parametrize("alpha", [(0.05, 3.0), (2.0, 3.0), (1e6, 30.0), (1.0, 5.0, 0.2)])
def test_the_mode_in_logarithms_is_stationary(nu, alpha):
    m, g = statistics_of(alpha)
    theta, _ = mode_of_log(np.asarray(nu), m, g)
    a = np.exp(theta)
    slope = nu * a * (np.log(m) - g - special.digamma(a) + special.digamma(a.sum())) + 1
    assert_allclose(slope, 0.0, atol=1e-5 * nu * a.max() ** 0.5)


@pytest.mark.parametrize("nu", [0.3, 1.0, 2.5, 25.0])
@pytest.mark.parametrize("alpha", [(0.5, 0.5), (1.0, 5.0), (0.05, 3.0)])
def test_the_normaliser_of_two_components_is_the_double_integral(nu, alpha):
    m, g = statistics_of(alpha)
    theta, precision = mode_of_log(np.asarray(nu), m, g)
    peak = nu * log_kernel(np.exp(theta), m, g) + theta.sum()
    reach = 1 / np.sqrt(np.linalg.eigvalsh(precision)[0])

    def hump(v, u):  # in ln a, ln b; the tails to the left are e^(nu + 1)
        point = np.array([u, v])
        return np.exp(nu * log_kernel(np.exp(point), m, g) + point.sum() - peak)

    low, high = theta - 30 * reach, theta + 8 * reach
    nodes = [np.polynomial.legendre.leggauss(220)] * 2
    (x, wx), (y, wy) = nodes
    X, Y = (0.5 * (high[i] - low[i]) * (z + 1) + low[i] for i, z in enumerate((x, y)))
    grid = np.stack(np.meshgrid(X, Y, indexing="ij"), axis=-1)
    value = np.exp(nu * log_kernel(np.exp(grid), m, g) + grid.sum(axis=-1) - peak)
    Z = wx @ value @ wy * 0.25 * np.prod(high - low)
    assert_allclose(log_partition(np.asarray(nu), m, g), np.log(Z) + peak, rtol=0, atol=2e-8)
    inner = integrate.dblquad(hump, theta[0] - reach, theta[0] + reach, theta[1] - reach, theta[1] + reach)[0]
    assert inner < Z  # a check of the check: a part of the hump, by another rule


def test_laplace_errs_by_one_over_nu_and_its_ratios_by_the_square():
    alpha = (2.0, 3.0)
    x = np.array([0.3, 0.7])
    errors = []
    for nu in (50.0, 500.0):
        m, g = statistics_of(alpha)
        after = LogMoments(nu, m, nu * g) + LogMoments.of_one(x)
        before = np.array([nu]), m[None], g[None]
        later = np.array([nu + 1]), after.mean[None], after.mean_gap[None]
        gap = [by_laplace(*problem) - by_quadrature(*problem) for problem in (before, later)]
        errors.append(np.abs([gap[0], gap[1] - gap[0]]).ravel())
    assert_allclose(errors[0] / errors[1], [10, 100], rtol=0.1)


def test_laplace_in_three_components_against_a_product_rule():
    nu = 50.0
    m, g = statistics_of((2.0, 3.0, 4.0))
    theta, precision = mode_of_log(np.asarray(nu), m, g)
    L = np.linalg.cholesky(np.linalg.inv(precision))
    x, w = np.polynomial.legendre.leggauss(40)
    at = theta + np.stack(np.meshgrid(*[8 * x] * 3, indexing="ij"), axis=-1) @ L.T
    log_w = np.log(8 * w)
    value = nu * log_kernel(np.exp(at), m, g) + at.sum(axis=-1) + log_w[:, None, None] + log_w[:, None] + log_w
    exact = special.logsumexp(value) + np.log(np.diag(L)).sum()
    assert 1e-4 < abs(log_partition(np.asarray(nu), m, g) - exact) < 1 / nu
