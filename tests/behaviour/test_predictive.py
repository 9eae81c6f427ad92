"""Likelihoods averaged over Gaussian activations: identities, limits, quadrature and sampling."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as cases
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, special, stats

from separatrix.bayesian.logistic_normal import (
    fast_log_averages,
    log_averages,
    log_odds,
    shrinkage,
    softplus_moments,
    softplus_variance,
)
from separatrix.bayesian.predictive import (
    RULES,
    class_intervals,
    class_probabilities,
    expected_logit,
    logit_normal,
    probabilities_and_errors,
    softmax_normal,
    softmax_normal_qmc,
    softmax_probit_rule,
)
from separatrix.likelihoods import LabelNoise, Logit, Probit, Softmax
from separatrix.weights import Activations

MEAN = np.array([-3.0, -0.4, 0.0, 1.0, 6.0])
VAR = np.array([0.5, 9.0, 2.0, 0.0, 30.0])
TWO = Activations(MEAN, VAR)


@pytest.fixture
def three(rng):
    L = rng.normal(size=(6, 3, 3))
    return Activations(2 * rng.normal(size=(6, 3)), L @ L.transpose(0, 2, 1))


@pytest.mark.parametrize("likelihood", [Logit(), Probit(), LabelNoise(0.1)])
@pytest.mark.parametrize("rule", ["exact", "qmc"])
def test_two_classes_by_quadrature(likelihood, rule):
    """With label noise, the probability of the true class is that of the logit."""
    P = class_probabilities(likelihood, TWO, rule)
    assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
    for mu, var, p in zip(MEAN, VAR, P[:, 1], strict=True):
        sigma = stats.norm.cdf if isinstance(likelihood, Probit) else special.expit
        if var == 0:
            assert_allclose(p, sigma(mu), rtol=1e-10)
            continue
        sd = np.sqrt(var)
        q = stats.norm(mu, sd)
        exact = integrate.quad(lambda a, q=q, f=sigma: f(a) * q.pdf(a), mu - 12 * sd, mu + 12 * sd)[0]
        assert_allclose(p, exact, atol=1e-8)


def test_the_probit_and_map_rules_of_two_classes():
    kappa = (1 + np.pi * VAR / 8) ** -0.5
    assert_allclose(class_probabilities(Logit(), TWO, "probit")[:, 1], special.expit(kappa * MEAN))
    assert_allclose(class_probabilities(Logit(), TWO, "map")[:, 1], special.expit(MEAN))
    assert_allclose(class_probabilities(Probit(), TWO, "probit")[:, 1], stats.norm.cdf(MEAN / np.sqrt(1 + VAR)))
    assert_allclose(class_probabilities(Probit(), TWO, "map")[:, 1], stats.norm.cdf(MEAN))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("likelihood", [Logit(), Probit(), LabelNoise(0.1)])
def test_exchanging_the_classes_exchanges_their_probabilities(rule, likelihood):
    mirrored = Activations(-MEAN, VAR)
    assert_allclose(
        class_probabilities(likelihood, mirrored, rule), class_probabilities(likelihood, TWO, rule)[:, ::-1], rtol=1e-12
    )
    assert_allclose(class_probabilities(likelihood, Activations(np.zeros(5), VAR), rule), 0.5, rtol=1e-12)


def test_three_classes_by_sampling(three, rng):
    z = rng.normal(size=(100_000, 3))
    root = np.linalg.cholesky(three.cov)
    exact = np.stack([special.softmax(m + z @ R.T, axis=1).mean(axis=0) for m, R in zip(three.mean, root, strict=True)])
    for rule, atol in [("exact", 0.015), ("qmc", 0.005), ("probit", 0.2)]:
        P = class_probabilities(Softmax(3), three, rule)
        assert_allclose(P.sum(axis=1), 1.0, rtol=1e-9)
        assert_allclose(P, exact, atol=atol)
    assert_allclose(class_probabilities(Softmax(3), three, "map"), special.softmax(three.mean, axis=1))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_rows_without_a_finite_activation_have_no_probability(rule, bad, three):
    for likelihood, a in [(Logit(), TWO), (Probit(), TWO), (Softmax(3), three)]:
        mean = a.mean.copy()
        mean[2] = bad
        P = class_probabilities(likelihood, Activations(mean, a.cov), rule)
        assert np.isnan(P[2]).all()
        others = np.arange(len(mean)) != 2
        assert_allclose(P[others], class_probabilities(likelihood, a, rule)[others], atol=1e-3 if rule == "qmc" else 0)
        P, error = probabilities_and_errors(likelihood, Activations(mean, a.cov), 64)
        assert np.isnan(P[2]).all()
        assert np.isfinite(P[others]).all()
        assert np.isfinite(error[others]).all()


@pytest.mark.parametrize("n_parts", [1, 3])
def test_intervals_of_k_classes_are_quantiles_of_gaussians_and_of_mixtures(n_parts):
    rng, tails, K, n = np.random.default_rng(0), np.array([0.025, 0.9]), 3, 12
    weights = rng.dirichlet(np.ones(n_parts))
    roots = rng.normal(size=(n_parts, n, K, K))
    parts = tuple(Activations(rng.normal(size=(n, K)), root @ root.transpose(0, 2, 1)) for root in roots)
    a = parts[0] if n_parts == 1 else replace(parts[0], weights=weights, parts=parts)
    found = class_intervals(Softmax(K), a, tails)
    counts = rng.multinomial(100_000, weights)
    for i in range(n):
        drawn = [rng.multivariate_normal(p.mean[i], p.cov[i], size=m) for p, m in zip(parts, counts, strict=True)]
        expected = np.quantile(special.softmax(np.concatenate(drawn), axis=1), tails, axis=0).T
        assert_allclose(found[i], expected, atol=0.02)
    assert np.isnan(class_intervals(Softmax(K), replace(a, mean=a.mean * np.nan, weights=None, parts=()), tails)).all()


@pytest.mark.parametrize("added", [0.0, 3.0])
def test_intervals_of_k_classes_depend_on_differences_of_activations_and_not_on_the_order_of_classes(added, three):
    tails, order = np.array([0.025, 0.975]), [2, 0, 1]
    found = class_intervals(Softmax(3), three, tails)
    shifted = Activations(three.mean[:, order] + added, three.cov[:, order][:, :, order] + added)
    assert_allclose(class_intervals(Softmax(3), shifted, tails), found[:, order], atol=1e-6)


@pytest.fixture(scope="module")
def everywhere():
    """Return m and s² that are zero, tiny, huge, on the edges of cells, and around the edge of the table."""
    rng = np.random.default_rng(1)
    kappa = np.concatenate([np.arange(1, 65) / 64, rng.uniform(0.0005, 1, 400)])
    u = np.concatenate([np.arange(0, 25) / 1.0, rng.uniform(0, 26, 100)])
    m, var = np.ravel(u[:, None] / kappa), np.ravel(np.zeros((len(u), 1)) + (kappa**-2 - 1) * 8 / np.pi)
    wild = 10 ** rng.uniform(-6, 6, 5000), 10 ** rng.uniform(-10, 8, 5000)
    return np.concatenate([[0, 0, 1e6, 1e6], m, wild[0]]), np.concatenate([[0, 1e8, 0, 1e8], var, wild[1]])


def test_the_table_agrees_with_the_exact_sums(everywhere):
    m, var = everywhere
    for fast, exact in zip(fast_log_averages(m, var), log_averages(m, np.sqrt(var)), strict=True):
        likely = exact > np.log(1e-15)
        assert np.abs(fast - exact)[likely].max() < 1e-8
        assert np.abs(fast - exact).max() < 5e-6


def test_variance_of_a_soft_maximum():
    """A narrow Gaussian gives V = σ(-m)² s², as for a linear function; a wide one gives V[max(a, 0)]."""
    m = np.linspace(0, 5, 11)
    assert_allclose(softplus_variance(m, np.full(11, 1e-3)), 1e-6 / (1 + np.exp(m)) ** 2, rtol=1e-5)
    assert_allclose(softplus_variance(np.zeros(1), np.array([1e5])), 1e10 * (0.5 - 0.5 / np.pi), rtol=1e-9)


def test_moments_of_the_softplus_agree_with_the_exact_sums(everywhere):
    m, var = everywhere
    kept = (var > 1e-3) & (shrinkage(var) * m < 23)
    m, var = m[kept], var[kept]
    probability, mean, variance = softplus_moments(-m, var)
    exact = log_averages(m, np.sqrt(var))
    assert_allclose(probability, np.exp(exact.log_probability), atol=1e-10)
    assert_allclose(mean, np.exp(exact.log_softplus), rtol=1e-8, atol=1e-10)
    assert np.abs((variance - softplus_variance(m, np.sqrt(var))) / var).max() < 1e-8


def gaussians(rng, n, K, scale):
    B = rng.normal(size=(n, K, K)) * np.sqrt(scale / K)
    return rng.normal(size=(n, K)) * np.sqrt(1 + scale), B @ B.transpose(0, 2, 1)


def test_softmax_of_two_classes_equals_the_logit_of_their_difference(rng):
    mu, Sigma = gaussians(rng, 300, 2, 9.0)
    var = Sigma[:, 0, 0] + Sigma[:, 1, 1] - 2 * Sigma[:, 0, 1]
    assert_allclose(softmax_normal(mu, Sigma)[:, 1], logit_normal(mu[:, 1] - mu[:, 0], var), rtol=1e-9)


def test_softmax_without_variance_is_the_softmax_without_error(rng):
    mu, none = 20 * rng.normal(size=(50, 5)), np.zeros((50, 5, 5))
    assert_allclose(softmax_normal(mu, none), special.softmax(mu, axis=1), rtol=1e-7, atol=1e-12)
    p, error = softmax_normal_qmc(mu, none)
    assert_allclose(p, special.softmax(mu, axis=1), rtol=1e-12)
    assert error.max() < 1e-15


def test_a_value_added_to_all_activations_does_not_change_probabilities(rng):
    """The value is a constant, or random, which adds v 1 1' to Sigma."""
    mu, Sigma = gaussians(rng, 100, 4, 4.0)
    assert_allclose(softmax_normal(mu + 7.0, Sigma + 50.0), softmax_normal(mu, Sigma), rtol=1e-6, atol=1e-10)


def test_the_order_of_classes_does_not_matter(rng):
    mu, Sigma = gaussians(rng, 100, 5, 16.0)
    order = rng.permutation(5)
    turned = softmax_normal(mu[:, order], Sigma[:, order][:, :, order])
    assert_allclose(turned, softmax_normal(mu, Sigma)[:, order], rtol=1e-12)


KINDS = ("dense", "independent", "nearly singular")


def activations_of(kind, rng, n, K, scale):
    """Return means and covariances; a "nearly singular" one has two axes, and a common shift that has no effect."""
    if kind == "dense":
        return gaussians(rng, n, K, scale)
    mu = rng.normal(size=(n, K)) * np.sqrt(1 + scale)
    if kind == "independent":
        return mu, scale * rng.gamma(2.0, 0.5, size=(n, K))[:, :, None] * np.eye(K)
    axes = rng.normal(size=(n, K, 2)) * np.sqrt(scale / 2)
    return mu, axes @ axes.transpose(0, 2, 1) + 0.05 * np.eye(K) + 30 * scale


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("K", [3, pytest.param(4, marks=pytest.mark.slow), 10])
def test_errors_of_the_rules_of_k_classes(rng, kind, K):
    """The bounds are those of the docstrings. The truth is the mean over 16384 points."""
    for scale, of_exact, of_probit in [
        (0.25, (1e-3, 0.01), 0.01),
        (1.0, (3e-3, 0.04), 0.025),
        (16.0, (0.02, 0.2), 0.055),
    ]:
        mu, Sigma = activations_of(kind, rng, 100, K, scale)
        truth = softmax_normal_qmc(mu, Sigma, n=16384)[0]
        a = Activations(mu, Sigma)
        exact, probit, qmc = (
            np.abs(class_probabilities(Softmax(K), a, rule) - truth) for rule in ("exact", "probit", "qmc")
        )
        assert exact.mean() < of_exact[0]
        assert exact.max() < of_exact[1]
        assert probit.mean() < of_probit
        assert qmc.mean() < max(exact.mean(), 1e-4)
        assert qmc.max() < 0.02
        centred = Sigma - Sigma.mean(axis=1, keepdims=True)
        narrow = np.trace(centred - centred.mean(axis=2, keepdims=True), axis1=1, axis2=2) <= 3
        assert not narrow.any() or exact[narrow].max() < 0.015


@pytest.mark.parametrize("rule", ["exact", "probit", "qmc"])
def test_a_common_random_shift_does_not_change_any_rule(rule, rng):
    """Adding one random variable to all activations adds a constant to Sigma."""
    mu, Sigma = gaussians(rng, 50, 4, 4.0)
    found = class_probabilities(Softmax(4), Activations(mu, Sigma), rule)
    assert_allclose(class_probabilities(Softmax(4), Activations(mu + 3.0, Sigma + 50.0), rule), found, atol=1e-6)


def test_the_probit_rule_of_two_classes_as_a_softmax(rng):
    mu, Sigma = gaussians(rng, 50, 2, 9.0)
    var = Sigma[:, 0, 0] + Sigma[:, 1, 1] - 2 * Sigma[:, 0, 1]
    expected = special.expit(shrinkage(var) * (mu[:, 1] - mu[:, 0]))
    assert_allclose(softmax_probit_rule(mu, Sigma)[:, 1], expected, rtol=1e-9)


def test_softmax_of_extreme_activations_are_probabilities():
    mu = np.array([[1e6, -1e6, 0.0], [1e-9, 0.0, 0.0]])
    p = softmax_normal(mu, np.array([np.eye(3), 1e8 * np.eye(3)]))
    assert_allclose(p[0], [1, 0, 0], atol=1e-12)
    assert_allclose(p[1], 1 / 3, atol=0.005)


def test_standard_errors_have_their_nominal_coverage(rng):
    """With eight replicates, error / standard error has Student's t distribution with seven degrees of freedom."""
    mu, Sigma = gaussians(rng, 400, 2, 4.0)
    exact = logit_normal(mu[:, 0] - mu[:, 1], Sigma[:, 0, 0] + Sigma[:, 1, 1] - 2 * Sigma[:, 0, 1])
    covered = []
    for seed in range(20):  # rows share their points, so only seeds are independent
        p, error = softmax_normal_qmc(mu, Sigma, n=256, rng=seed)
        covered.append((np.abs(p[:, 0] - exact) <= 2.365 * error[:, 0]).mean())
    assert 0.85 < np.mean(covered) < 0.995


def test_rows_of_qmc_sum_to_one_and_seeds_repeat(rng):
    mu, Sigma = gaussians(rng, 60, 4, 10.0)
    p, again, other = (softmax_normal_qmc(mu, Sigma, rng=seed)[0] for seed in (3, 3, 4))
    assert_allclose(p.sum(axis=1), 1.0, rtol=1e-13)
    assert_array_equal(again, p)
    assert not np.array_equal(other, p)


means = st.floats(-1e6, 1e6)
variances = st.one_of(st.just(0.0), st.floats(1e-12, 1e8))


@cases(max_examples=200)
@given(means, variances)
def test_p_of_mu_and_of_minus_mu_sum_to_one_exactly(mu, var):
    p, q = logit_normal([mu, -mu], var)
    assert p + q == 1.0


@cases(max_examples=100)
@given(means, means, variances)
def test_the_probability_increases_with_mu(one, other, var):
    low, high = logit_normal(sorted([one, other]), var)
    assert low <= high + 1e-11


@cases(max_examples=100)
@given(means, variances)
def test_uncertainty_moves_the_probability_towards_one_half(mu, var):
    """p lies between ½ and σ(mu), for every variance (PRML §4.5.2)."""
    assert abs(log_odds(np.array([mu]), np.array([var]))[0]) <= abs(mu) * (1 + 1e-9)


def test_a_large_variance_gives_a_step_function():
    z = np.linspace(-5, 5, 41)
    assert_allclose(logit_normal(1e8 * z, 1e16), special.ndtr(z), atol=1e-10)


def test_log_odds_do_not_saturate():
    """For very negative a, σ(a) = e^a, and E[e^a] = e^(mu + var/2)."""
    assert_allclose(log_odds(np.array([-2000.0, -1e6]), np.array([4.0, 100.0])), [-1998.0, -999950.0], rtol=1e-12)


@pytest.mark.parametrize("t", [0, 1, 0.3])
def test_slope_and_curvature_are_the_derivatives_of_the_average(t):
    mu, var = (x.ravel() for x in np.meshgrid(np.linspace(-8, 8, 33), [0.3, 2.0, 30.0, 1e4]))
    h = 1e-2
    ahead, behind = expected_logit(mu + h, var, t), expected_logit(mu - h, var, t)
    here = expected_logit(mu, var, t)
    assert_allclose((ahead.log_p - behind.log_p) / (2 * h), here.slope, atol=2e-5)
    assert_allclose((behind.slope - ahead.slope) / (2 * h), here.curvature, atol=2e-5)


def test_price_theorem():
    """∂E[g]/∂var = ½ E[g'']."""
    mu, var = (x.ravel() for x in np.meshgrid(np.linspace(-8, 8, 33), [0.3, 2.0, 30.0]))
    h = 1e-3 * var
    change = expected_logit(mu, var + h, 1).log_p - expected_logit(mu, var - h, 1).log_p
    assert_allclose(change / (2 * h), -0.5 * expected_logit(mu, var, 1).curvature, atol=1e-6)
