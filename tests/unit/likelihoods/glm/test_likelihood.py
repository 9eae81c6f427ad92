"""Derivatives against differences, moments against scipy's distributions, and the tails."""

import numpy as np
import pytest
from scipy import stats

from separatrix.likelihoods.glm import LIKELIHOODS, mean_likelihood

CASES = [(family, link) for family, links in LIKELIHOODS.items() for link in links]
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
    expected = slope**2 / likelihood.response.variance(likelihood.mean(a))
    np.testing.assert_allclose(likelihood.expected_curvature(a), expected, rtol=1e-5)


@pytest.mark.parametrize(("family", "link"), CASES)
def test_the_safe_curvature_is_exact_where_log_p_is_concave_and_never_negative(family, link):
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
    assert np.isfinite(slope).all()
    assert np.isfinite(curvature).all()
    assert np.isfinite(likelihood.expected_curvature(a)).all()
    sums = np.concatenate([slope * 1e6, curvature * 1e6, slope**2 if link == "logit" else slope])
    assert np.isfinite(sums.sum())


def test_a_rate_of_many_counts_keeps_its_digits():
    t, a = np.array([1e12]), np.log(np.array([1e12])) + 1e-7
    log_p = mean_likelihood("poisson").derivatives(a, t).log_p[0]
    z = float(a[0]) - float(np.log(1e12))
    assert log_p == pytest.approx(-1e12 * (z**2 / 2 + z**3 / 6), rel=1e-9)


def test_tails_have_the_values_that_the_formulas_have():
    poisson, gamma = mean_likelihood("poisson"), mean_likelihood("gamma", "log")
    t = np.array([3.0])
    expected = 3.0 * -1e9 - (3 * np.log(3.0) - 3.0)
    assert poisson.derivatives(np.array([-1e9]), t).log_p[0] == pytest.approx(expected, rel=1e-14)
    assert poisson.derivatives(np.array([601.0]), t).log_p[0] == -np.inf
    assert gamma.derivatives(np.array([1e9]), t).log_p[0] == pytest.approx(-1e9 + np.log(3.0) + 1, rel=1e-14)
    assert gamma.derivatives(np.array([-1e9]), t).log_p[0] == -np.inf


def test_outside_the_domain_of_the_inverse_link_nothing_is_likely():
    gamma = mean_likelihood("gamma", "inverse")
    a = np.array([-1e9, -1.0, -1e-300, 0.0, 1e-140])
    assert (gamma.derivatives(a, np.ones(5)).log_p == -np.inf).all()
    assert np.isnan(gamma.mean(a)).all()


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_codes_and_soft_targets_agree(link, rng):
    likelihood = mean_likelihood("bernoulli", link)
    a, t = rng.normal(size=50) * 3, rng.integers(2, size=50)
    for hard, soft in zip(likelihood.derivatives(a, t), likelihood.derivatives(a, t.astype(float)), strict=True):
        np.testing.assert_allclose(hard, soft, rtol=1e-12)


def test_a_gaussian_log_density_is_scipys(rng):
    likelihood, a, t = mean_likelihood("gaussian"), rng.normal(size=9), rng.normal(size=9)
    log_density = likelihood.derivatives(a, t).log_p / 0.49 + likelihood.response.saturated(t, 0.49)
    np.testing.assert_allclose(log_density, stats.norm.logpdf(t, a, 0.7), rtol=1e-13)
