# SPDX-License-Identifier: BSD-3-Clause
"""Sufficient statistics, records, supports, and the priors stored as pseudo-observations."""

import mpmath as mp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from separatrix._special import log_minus_digamma
from separatrix.exceptions import DataError
from separatrix.families import (
    FAMILIES,
    ConjugateBeta,
    ConjugateGamma,
    FactsError,
    LogMoments,
    Moments,
    VectorMoments,
)
from separatrix.families.dirichlet import by_laplace, by_quadrature, log_kernel, log_partition, maximum, mode_of_log
from separatrix.families.pseudo_observations import metropolis

R = np.array([[1.0, 0.0], [0.25, 0.75], [0.0, 2.0], [0.5, 0.5], [3.0, 0.0]])


@pytest.mark.parametrize("offset", [0.0, 1e7, -1e12])
def test_moments_do_not_depend_on_the_offset(rng, offset):
    x = np.round(rng.normal(size=(500, 3)), 3)  # so that the shifted values are nearly exact
    r = rng.random((500, 2))
    x[::7, 0] = np.nan
    exact = (x + offset).astype(np.longdouble)
    moments = Moments.of(x + offset, r)
    for k in range(2):
        for d in range(3):
            seen = ~np.isnan(x[:, d])
            v, w = exact[seen, d], r[seen, k].astype(np.longdouble)
            mean = (w @ v) / w.sum()
            assert_allclose(moments.mean[k, d], float(mean), rtol=1e-15, atol=1e-15)
            assert_allclose(moments.scatter[k, d], float(w @ (v - mean) ** 2), rtol=1e-12)


def test_a_constant_column_is_constant_at_any_offset_and_in_any_blocks():
    x = np.full((1000, 1), 0.1 + 1e9)
    r = np.ones((1000, 1))
    parts = [Moments.of(x[i : i + 7], r[i : i + 7]) for i in range(0, 1000, 7)]
    assert sum(parts[1:], start=parts[0]).is_constant.all()
    logs = [LogMoments.of(x[i : i + 7, :, None], r[i : i + 7]) for i in range(0, 1000, 7)]
    assert sum(logs[1:], start=logs[0]).is_constant.all()
    assert not Moments.of(x + [[0.0], [1e-6]] * 500, r).is_constant.any()


def test_vector_moments_are_the_weighted_covariance(rng):
    x, r = 1e6 + rng.normal(size=(50, 3)), rng.random((50, 2))
    moments = VectorMoments.of(x, r)
    for k in range(2):
        assert_allclose(moments.mean[k], np.average(x, axis=0, weights=r[:, k]), rtol=1e-15)
        expected = np.cov(x.T, aweights=r[:, k], ddof=0) * r[:, k].sum()
        assert_allclose(moments.scatter[k], expected, rtol=1e-8)


def test_log_gaps_are_accurate_if_values_hardly_vary(rng):
    x = 5.0 * (1 + 1e-7 * rng.normal(size=(400, 1)))  # gap 5e-15: ln(mean) - mean(ln x) has one digit of it
    gap = LogMoments.of(x[..., None], np.ones((400, 1))).mean_gap
    exact = x.astype(np.longdouble)
    delta = (exact - exact.mean()) / exact.mean()
    assert_allclose(gap.item(), float((delta**2 / 2 - delta**3 / 3).mean()), rtol=1e-8)


def test_statistics_without_observations_raise_with_the_position():
    facts = Moments.of(np.array([[1.0, np.nan], [2.0, np.nan]]), np.array([[1.0, 0.0], [1.0, 0.0]]))
    with pytest.raises(FactsError) as caught:
        facts.require_some()
    assert caught.value.where == [(0, 1), (1, 0), (1, 1)]
    with pytest.raises(FactsError) as caught:
        facts.overall()
    assert caught.value.where == [(None, 1)]


def test_the_error_names_classes_and_columns():
    error = FactsError([(0, d) for d in range(7)], "all values are equal", "drop the column")
    assert isinstance(error, DataError)
    assert str(error).startswith("all values are equal in class 0, column 0, class 0, column 1,")
    assert "and 2 more; drop the column." in str(error)
    overall = FactsError([(None, 1)], "no values at all", "drop the column")
    assert overall.describe(("a", "b"), ("x", "y")) == "no values at all in column 'y'; drop the column."


def test_metropolis_draws_a_density_that_is_not_its_proposal(rng):
    # ln of a gamma variate: skew, exponential tail to the left
    a = 2.0
    density, width = lambda t: a * t[..., 0] - np.exp(t[..., 0]), np.array([[a**-0.5]])
    draws = metropolis(density, np.log([a]), width, rng, (20_000,))[:, 0]
    exact = stats.loggamma(a)
    assert_allclose(draws.mean(), exact.mean(), atol=5 * exact.std() / np.sqrt(len(draws)))
    assert stats.kstest(draws[:4000], exact.cdf).pvalue > 1e-3


@pytest.mark.parametrize(
    ("prior", "chi"),
    [
        (ConjugateGamma(8.0, [1.7], [2.0]), [np.log(1.7) - 2.0 / 8.0, 1.7]),
        (ConjugateBeta(8.0, [0.3, 0.7], [2.0, 1.0]), [np.log(0.3) - 2.0 / 8.0, np.log(0.7) - 1.0 / 8.0]),
    ],
)
def test_drawn_parameters_have_the_mean_that_theory_gives(rng, prior, chi):
    # Diaconis & Ylvisaker: the posterior mean of E[u | eta] is chi
    mean_u = prior.draw(rng, 20_000).mean_u
    assert np.all(np.abs(mean_u.mean(axis=0) - chi) < 5 * mean_u.std(axis=0) / np.sqrt(20_000))


def test_samples_follow_the_predictive_density(rng):
    predictive = ConjugateGamma(5.0, [2.0], [1.0]).predictive()
    x = predictive.sample(rng, 4000)
    grid = np.geomspace(1e-6, 1e4, 4001)
    density = np.exp(predictive.log_density(grid)) * grid
    cdf = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]) * np.diff(np.log(grid)))])
    assert_allclose(cdf[-1], 1.0, atol=1e-4)
    assert stats.kstest(x, lambda v: np.interp(v, grid, cdf)).pvalue > 1e-3


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
def test_the_maximum_recovers_the_parameters(alpha):
    assert_allclose(maximum(*statistics_of(alpha)), alpha, rtol=1e-12)


@pytest.mark.parametrize("nu", [0.3, 1.0, 2.5, 25.0])
@pytest.mark.parametrize("alpha", [(0.5, 0.5), (1.0, 5.0), (0.05, 3.0)])
def test_the_normaliser_of_two_components_is_the_double_integral(nu, alpha):
    m, g = statistics_of(alpha)
    theta, precision = mode_of_log(np.asarray(nu), m, g)
    peak = nu * log_kernel(np.exp(theta), m, g) + theta.sum()
    reach = 1 / np.sqrt(np.linalg.eigvalsh(precision)[0])
    low, high = theta - 30 * reach, theta + 8 * reach  # of ln a, ln b; the tails to the left are e^(nu + 1)
    x, w = np.polynomial.legendre.leggauss(220)
    axes = (0.5 * (high[i] - low[i]) * (x + 1) + low[i] for i in range(2))
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    value = np.exp(nu * log_kernel(np.exp(grid), m, g) + grid.sum(axis=-1) - peak)
    Z = w @ value @ w * 0.25 * np.prod(high - low)
    assert_allclose(log_partition(np.asarray(nu), m, g), np.log(Z) + peak, rtol=0, atol=2e-8)


def test_the_error_of_laplace_is_one_over_nu_and_of_ratios_its_square():
    alpha = (2.0, 3.0)
    x = np.array([0.3, 0.7])
    errors = []
    for nu in (50.0, 500.0):
        m, g = statistics_of(alpha)
        after = LogMoments(nu, m, nu * g) + LogMoments(1.0, x, np.zeros(2))
        before = np.array([nu]), m[None], g[None]
        later = np.array([nu + 1]), after.mean[None], after.mean_gap[None]
        gap = [by_laplace(*problem) - by_quadrature(*problem) for problem in (before, later)]
        errors.append(np.abs([gap[0], gap[1] - gap[0]]).ravel())
    assert_allclose(errors[0] / errors[1], [10, 100], rtol=0.1)


@pytest.mark.parametrize(
    ("family", "rows"),
    [("normal", [[1.0], [1.0]]), ("gamma", [[2.0], [2.0]]), ("beta", [[0.3], [0.3]]), ("exponential", [[0.0], [0.0]])],
)
def test_a_column_that_determines_no_parameters_is_named(family, rows):
    facts = FAMILIES[family].facts(rows, np.ones((2, 1)))
    with pytest.raises(FactsError, match="class 0, column 0; drop the column"):
        FAMILIES[family].ml(facts)
    with pytest.raises(FactsError, match="column 0; drop the column"):
        FAMILIES[family].weak_prior(facts)
