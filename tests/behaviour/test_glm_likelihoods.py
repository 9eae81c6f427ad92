"""Likelihoods of generalised linear models: derivatives against differences, densities against scipy, and the tails."""

import mpmath
import numpy as np
import pytest
from scipy import stats

from separatrix.likelihoods import LIKELIHOODS, CLogLog, cloglog, mean_likelihood
from separatrix.likelihoods.response import Binomial, Gamma, Normal, Poisson

CASES = [(family, link) for family, links in LIKELIHOODS.items() for link in links]
VARIANCES = {
    "gaussian": np.ones_like,
    "bernoulli": lambda mu: mu * (1 - mu),
    "binomial": lambda mu: mu * (1 - mu),
    "poisson": lambda mu: mu,
    "gamma": lambda mu: mu**2,
}
COUNTS = np.array([0.0, 1.0, 3.0, 7.5, 1e6])
TARGETS = {
    "gaussian": np.array([-2.0, 0.0, 1.3, 40.0]),
    "bernoulli": np.array([0.0, 0.2, 0.9, 1.0]),
    "binomial": np.array([0.0, 0.2, 0.9, 1.0]),
    "poisson": COUNTS,
    "gamma": np.array([1e-3, 0.7, 2.0, 1e4]),
}


def grid(family, link):
    """Activations in the domain, each with each target."""
    low, high = {"inverse": (0.05, 4.0), "cloglog": (-6.0, 1.5)}.get(link, (-6.0, 3.0))
    a = np.linspace(low, high, 29)
    a, t = np.meshgrid(a, TARGETS[family])
    return a.ravel(), t.ravel()


@pytest.mark.parametrize(("family", "link"), CASES)
def test_slope_and_curvature_are_the_derivatives_of_log_p(family, link):
    likelihood, (a, t) = mean_likelihood(family, link), grid(family, link)
    h = 1e-4

    def difference(part):
        values = [getattr(likelihood.derivatives(a + s * h, t), part) for s in (-2, -1, 1, 2)]
        return (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * h)

    found = likelihood.derivatives(a, t)
    scale = 1.0 + np.abs(found.slope).max() * 1e-3
    np.testing.assert_allclose(difference("log_p"), found.slope, rtol=1e-6, atol=1e-8 * scale)
    np.testing.assert_allclose(-difference("slope"), found.curvature, rtol=1e-6, atol=1e-8 * scale)


@pytest.mark.parametrize(("family", "link"), CASES)
def test_log_p_is_minus_half_the_deviance_of_the_mean(family, link):
    likelihood, (a, t) = mean_likelihood(family, link), grid(family, link)
    deviance = likelihood.response.deviance(t, likelihood.mean(a))
    np.testing.assert_allclose(-2 * likelihood.derivatives(a, t).log_p, deviance, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("family", "link"), CASES)
def test_the_link_inverts_the_mean(family, link):
    likelihood, (a, _) = mean_likelihood(family, link), grid(family, link)
    np.testing.assert_allclose(likelihood.activation(likelihood.mean(a)), a, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("family", "link"), CASES)
def test_information_is_the_squared_slope_of_the_mean_over_the_variance(family, link):
    likelihood, (a, _) = mean_likelihood(family, link), grid(family, link)
    h = 1e-5
    slope = (likelihood.mean(a + h) - likelihood.mean(a - h)) / (2 * h)
    expected = slope**2 / VARIANCES[family](likelihood.mean(a))
    np.testing.assert_allclose(likelihood.expected_curvature(a), expected, rtol=1e-5)


@pytest.mark.parametrize(("family", "link"), CASES)
def test_the_safe_curvature_is_exact_if_log_p_is_concave_and_never_negative(family, link):
    likelihood, (a, t) = mean_likelihood(family, link), grid(family, link)
    safe = likelihood.safe_curvature(a, t)
    assert (safe >= 0).all()
    if likelihood.is_log_concave:
        np.testing.assert_allclose(safe, likelihood.derivatives(a, t).curvature, rtol=1e-12)
    else:
        assert (likelihood.derivatives(a, t).curvature < 0).any()
        np.testing.assert_allclose(safe, likelihood.expected_curvature(a))


@pytest.mark.parametrize(("family", "link"), CASES)
def test_nothing_overflows_or_is_undefined_however_far_out(family, link):
    likelihood = mean_likelihood(family, link)
    far = np.array([-1e9, -1e4, -800.0, -50.0, 0.0, 50.0, 800.0, 1e4, 1e9])
    a, t = (part.ravel() for part in np.meshgrid(far, TARGETS[family]))
    log_p, slope, curvature = likelihood.derivatives(a, t)
    assert not np.isnan(log_p).any()
    assert (log_p <= 0).all()
    assert np.isfinite([slope, curvature, likelihood.expected_curvature(a)]).all()
    sums = np.concatenate([slope * 1e6, curvature * 1e6, slope**2 if link == "logit" else slope])
    assert np.isfinite(sums.sum())


def test_tails_have_the_values_that_the_formulas_have():
    poisson, gamma = mean_likelihood("poisson"), mean_likelihood("gamma", "log")
    t = np.array([3.0])
    expected = 3.0 * -1e9 - (3 * np.log(3.0) - 3.0)
    assert poisson.derivatives(np.array([-1e9]), t).log_p[0] == pytest.approx(expected, rel=1e-14)
    assert poisson.derivatives(np.array([601.0]), t).log_p[0] == -np.inf
    assert gamma.derivatives(np.array([1e9]), t).log_p[0] == pytest.approx(-1e9 + np.log(3.0) + 1, rel=1e-14)
    assert gamma.derivatives(np.array([-1e9]), t).log_p[0] == -np.inf


# Complementary log-log


@pytest.mark.parametrize("a", [-40.0, -3.0, -2.9957, -2.9958, -0.5, 0.0, 1.0, 3.0])
def test_a_one_is_exact_to_rounding(a):
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


# Responses

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
