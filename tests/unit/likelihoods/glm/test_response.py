"""-d/2φ + c is the log density, for every response; impossible targets are named."""

import numpy as np
import pytest
from scipy import stats

from separatrix.exceptions import DataError
from separatrix.likelihoods.glm.response import Binary, Binomial, Gamma, Normal, Poisson

PHI = 0.3
MU = np.array([0.2, 0.5, 0.9])


def log_density(response, t, mu, phi=1.0, trials=None):
    weight = 1.0 if trials is None else trials
    return -0.5 * weight * response.deviance(t, mu) / phi + response.saturated(t, phi, trials)


def test_log_densities_are_scipys():
    t = np.array([0.1, 2.0, 30.0])
    mu = np.array([0.2, 3.0, 9.0])
    np.testing.assert_allclose(log_density(Normal(), t, mu, PHI), stats.norm.logpdf(t, mu, np.sqrt(PHI)), rtol=1e-12)
    gamma = stats.gamma.logpdf(t, 1 / PHI, scale=PHI * mu)
    np.testing.assert_allclose(log_density(Gamma(), t, mu, PHI), gamma, rtol=1e-12)
    counts = np.array([0.0, 4.0, 1000.0])
    poisson = stats.poisson.logpmf(counts, [2.0, 3.0, 950.0])
    np.testing.assert_allclose(log_density(Poisson(), counts, np.array([2.0, 3.0, 950.0])), poisson, rtol=1e-11)


@pytest.mark.parametrize("n", [1.0, 7.0, 1000.0])
def test_a_binomial_log_density_is_scipys(n):
    k = np.array([0.0, np.ceil(0.3 * n), n])
    found = log_density(Binomial(), k / n, MU, trials=np.full(3, n))
    np.testing.assert_allclose(found, stats.binom.logpmf(k, n, MU), rtol=1e-10)


def test_a_bernoulli_log_density_is_scipys_and_shares_are_averages():
    t = np.array([0.0, 1.0, 1.0])
    np.testing.assert_allclose(log_density(Binary(), t, MU), stats.bernoulli.logpmf(t, MU), rtol=1e-13)
    shares = np.array([0.3, 0.6, 0.1])
    mixed = shares * np.log(MU) + (1 - shares) * np.log1p(-MU)
    np.testing.assert_allclose(log_density(Binary(), shares, MU), mixed, rtol=1e-13)


def test_variances_are_those_of_the_distributions():
    np.testing.assert_allclose(Binary().variance(MU), stats.bernoulli.var(MU))
    np.testing.assert_allclose(Binomial().variance(MU), stats.bernoulli.var(MU))
    np.testing.assert_allclose(Poisson().variance(MU), stats.poisson.var(MU))
    np.testing.assert_allclose(PHI * Gamma().variance(MU), stats.gamma.var(1 / PHI, scale=PHI * MU))
    np.testing.assert_array_equal(Normal().variance(MU), np.ones(3))


@pytest.mark.parametrize(
    ("response", "t", "message"),
    [
        (Poisson(), [2.0, -1.0, -3.0], r"y\[1\] is -1, which is negative \(2 of 3 rows\)"),
        (Gamma(), [2.0, 0.0], r"y\[1\] is 0, which is not positive"),
        (Binary(), [0.5, 1.0, 2.0], r"y\[2\] is 2, which is outside \[0, 1\]"),
        (Binomial(), [0.5, 7.0], r"y\[1\] is 7.*successes and failures"),
        (Normal(), [1e200], r"y\[0\] is 1e\+200, which is too large to square"),
    ],
)
def test_impossible_targets_are_refused_by_row_and_value(response, t, message):
    with pytest.raises(DataError, match=message):
        response.check_targets(np.array(t))


def test_a_mean_at_the_end_of_its_range_is_refused():
    for response, mean in [(Binary(), 1.0), (Binomial(), 0.0), (Poisson(), 0.0)]:
        with pytest.raises(DataError, match="infinity"):
            response.check_mean(mean)
    for response, mean in [(Normal(), 0.0), (Gamma(), 3.0), (Poisson(), 0.1)]:
        response.check_mean(mean)


def test_a_perfect_normal_fit_has_an_infinite_density():
    assert Normal().saturated(np.zeros(1), 0.0)[0] == np.inf
