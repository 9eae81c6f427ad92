# SPDX-License-Identifier: BSD-3-Clause
"""Discrete families against SciPy, mpmath and integrals: Bernoulli, categorical, multinomial, Poisson."""

import itertools

import mpmath as mp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, special, stats

from separatrix.families import (
    Bernoulli,
    BetaBernoulli,
    Categorical,
    DirichletCategorical,
    DirichletMultinomial,
    GammaPoisson,
    Multinomial,
    NegativeBinomial,
    Poisson,
)


def test_bernoulli_against_scipy():
    p = np.array([0.01, 0.4, 0.999])
    ours, theirs = Bernoulli.of_probability(p), stats.bernoulli(p)
    for x in (0, 1, 2, 0.5):
        assert_allclose(ours.log_density(x), theirs.logpmf(x), rtol=1e-12)
    assert_allclose(ours.variance, theirs.var(), rtol=1e-12)


def test_bernoulli_densities_are_accurate_near_probability_one():
    assert_allclose(Bernoulli(800.0).log_density([0, 1]), [-800.0, 0.0])
    assert_array_equal(Bernoulli([-np.inf, np.inf]).log_density([[0], [1]]), [[0, -np.inf], [-np.inf, 0]])


def test_bernoulli_maximum_likelihood_of_constant_columns():
    facts = Bernoulli.facts([[0.0, 1.0, 1.0], [0.0, 1.0, 0.0]], np.ones((2, 1)))
    ml = Bernoulli.ml(facts)
    assert_array_equal(ml.log_odds, [[-np.inf, np.inf, 0.0]])
    rows = [[0, 1, 1], [1, 1, 1], [0, 0, 1], [np.nan, np.nan, 0]]
    assert_allclose(ml.log_density_sum(rows), [[np.log(0.5)], [-np.inf], [-np.inf], [np.log(0.5)]])


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (0.3, 4.0)])
def test_posterior_and_marginal_are_integrals_over_mu(a, b):
    facts = Bernoulli.facts([[1.0], [0.0], [1.0]], [[1.0], [0.5], [2.0]])  # weights are powers
    prior = BetaBernoulli(a, b)

    def joint(mu):
        return mu**3 * (1 - mu) ** 0.5 * stats.beta(a, b).pdf(mu)

    Z = integrate.quad(joint, 0, 1, epsabs=1e-12)[0]
    assert_allclose(prior.log_marginal(facts), np.log(Z), rtol=1e-8)
    mean = integrate.quad(lambda mu: mu * joint(mu), 0, 1, epsabs=1e-12)[0] / Z
    assert_allclose(prior.updated(facts).mode.probability, [[mean]], rtol=1e-8)


def test_marginal_of_a_hundred_million():
    facts = Bernoulli.facts([[1.0], [0.0]], [[5e7], [5e7]])
    # half of 1e8 tosses, uniform prior: 1 / ((N + 1) C(N, N/2)); Stirling gives the rest
    n = 1e8
    central = n * np.log(2) - 0.5 * np.log(np.pi * n / 2) - 1 / (4 * n)
    assert_allclose(BetaBernoulli(1.0, 1.0).log_marginal(facts), -np.log(n + 1) - central, rtol=1e-14)


X = np.array([[0.0, 1.0], [2.0, 0.0], [2.0, 1.0], [1.0, np.nan]])
R = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])


def test_categorical_maximum_likelihood_is_relative_frequencies():
    ml = Categorical.ml(Categorical.facts(X, R))
    assert_allclose(ml.probability, [[[0.5, 0, 0.5], [0.5, 0.5, 0]], [[0, 0.5, 0.5], [0, 1, 0]]])
    assert_array_equal(
        np.isneginf(ml.log_density_sum([[0.0, 0.0], [2.0, 1.0], [5.0, 1.0], [np.nan, 1.0]])),
        [[False, True], [False, False], [True, True], [False, False]],
    )


def test_an_unknown_category_gets_the_pseudo_count():
    facts = Categorical.facts(X, R)
    posterior = DirichletCategorical.weak(facts).updated(facts)  # column 0 has 3 levels, column 1 has 2
    predictive = posterior.predictive()
    assert_allclose(np.exp(predictive.log_density_sum([[0.0, np.nan]])), [[2 / 5, 1 / 5]])
    assert_allclose(np.exp(predictive.log_density_sum([[9.0, np.nan]])), [[1 / 5, 1 / 5]])
    assert_allclose(np.exp(predictive.log_density_sum([[np.nan, 2.0]])), [[1 / 4, 1 / 3]])
    assert_allclose(predictive.probability.sum(axis=-1), 1.0, rtol=1e-15)
    assert predictive.sample(np.random.default_rng(0), 2000)[..., 1].max() == 1  # never a padded level


def test_lookup_agrees_with_scipy_multinomial_of_one_trial():
    p = np.array([0.2, 0.5, 0.3])
    distribution = Categorical.of_mean_u(p)
    expected = [stats.multinomial(1, p).logpmf(row) for row in np.eye(3)]
    assert_allclose(distribution.log_density([0, 1, 2]), expected, rtol=1e-13)
    assert_array_equal(distribution.log_density([-1, 0.5]), -np.inf)
    codes = np.arange(3)
    assert_allclose(distribution.mean, p @ codes)
    assert_allclose(distribution.variance, p @ codes**2 - (p @ codes) ** 2)


def test_marginal_is_an_integral_over_the_simplex():
    alpha = np.array([0.7, 2.0, 1.5])
    facts = Categorical.facts([[0.0], [2.0], [2.0]], np.ones((3, 1)))
    prior = DirichletCategorical(alpha[None, None], 1.0)

    t, w = np.polynomial.legendre.leggauss(200)
    t, w = 0.5 * (t + 1), 0.5 * w
    a, b = (t**4)[:, None], 1 - (1 - t) ** 4  # mu = (a, (1 - a) b, (1 - a) (1 - b)), nodes packed to the corners
    mu = np.stack(np.broadcast_arrays(a, (1 - a) * b, (1 - a) * (1 - b)))
    area = (1 - a) * np.outer(4 * t**3 * w, 4 * (1 - t) ** 3 * w)
    prior_density = np.exp(special.gammaln(alpha.sum()) - special.gammaln(alpha).sum()) * np.prod(
        mu ** (alpha - 1)[:, None, None], axis=0
    )
    Z = (area * prior_density * mu[0] * mu[2] ** 2).sum()
    assert_allclose(prior.log_marginal(facts), np.log(Z), rtol=1e-6)


P = np.array([0.2, 0.5, 0.3])
ROWS = np.array([[2.0, 0.0, 3.0], [0.0, 0.0, 0.0], [1.0, 7.0, 1.0]])


def test_multinomial_against_scipy():
    distribution = Multinomial.of_mean_u(5 * P)
    expected = [stats.multinomial(int(row.sum()), P).logpmf(row) for row in ROWS]
    assert_allclose(distribution.log_density(ROWS), expected, rtol=1e-12, atol=1e-14)
    assert_allclose(distribution.variance, stats.multinomial(5, P).cov(), rtol=1e-12)
    assert distribution.log_density([0.5, 0.5, 0.0]) == -np.inf


def test_a_word_without_counts_has_probability_zero_under_maximum_likelihood():
    ml = Multinomial.ml(Multinomial.facts(ROWS[:1], np.ones((1, 1))))
    assert_allclose(ml.probability, [[0.4, 0.0, 0.6]])
    assert np.isneginf(ml.log_density_sum(ROWS)).ravel().tolist() == [False, False, True]


def test_predictive_against_scipy_and_by_summation():
    alpha = np.array([0.5, 2.0, 3.0])
    predictive = DirichletMultinomial(alpha).predictive()
    expected = [stats.dirichlet_multinomial(alpha, int(r.sum())).logpmf(r.astype(int)) for r in ROWS]
    assert_allclose(predictive.log_density(ROWS), expected, rtol=1e-10, atol=1e-13)
    every = [x for x in itertools.product(range(5), repeat=3) if sum(x) == 4]
    assert np.exp(predictive.log_density(np.array(every))).sum() == pytest.approx(1.0, rel=1e-12)


def test_marginal_is_an_integral_over_the_simplex_of_multinomial():
    alpha = np.array([1.5, 2.0, 1.2])
    rows = np.array([[1.0, 0.0, 1.0], [0.0, 2.0, 0.0]])

    def joint(b, a):
        mu = np.array([a, b, 1 - a - b])
        likelihood = np.prod([stats.multinomial(2, mu).pmf(row) for row in rows])
        return likelihood * stats.dirichlet(alpha).pdf(mu)

    nodes, weights = np.polynomial.legendre.leggauss(24)
    a = (nodes + 1) / 2
    Z = sum(
        wa * wb / 4 * (1 - ai) * joint((1 - ai) * bj, ai)
        for ai, wa in zip(a, weights, strict=True)
        for bj, wb in zip(a, weights, strict=True)
    )
    prior = DirichletMultinomial(alpha[None])
    assert_allclose(prior.log_marginal(Multinomial.facts(rows, np.ones((2, 1)))), np.log(Z), rtol=1e-4)


COUNTS = np.array([0.0, 1.0, 2.0, 7.0, 40.0])


@pytest.mark.parametrize("rate", [1e-8, 0.3, 4.0, 50.0])
def test_poisson_against_scipy(rate):
    ours, theirs = Poisson(rate), stats.poisson(rate)
    assert_allclose(ours.log_density(COUNTS), theirs.logpmf(COUNTS), rtol=1e-11, atol=1e-13)
    assert_allclose(ours.log_density([-1.0, 0.5, np.inf]), -np.inf)
    assert_allclose([ours.mean, ours.variance], [theirs.mean(), theirs.var()])


@pytest.mark.parametrize(("x", "rate"), [(1e8, 1e8), (1e8 + 12345, 1e8), (3e15, 3e15), (1e9, 1e-9), (0, 1e300)])
def test_huge_counts_against_mpmath(x, rate):
    with mp.workdps(60):
        x_, rate_ = mp.mpf(x), mp.mpf(rate)
        expected = float(x_ * mp.log(rate_) - rate_ - mp.loggamma(x_ + 1))
    assert_allclose(Poisson(rate).log_density(float(x)), expected, rtol=1e-12)


def test_a_rate_of_zero_allows_zeros_only():
    assert Poisson(0.0).log_density([0.0, 1.0]).tolist() == [0.0, -np.inf]
    ml = Poisson.ml(Poisson.facts([[0.0], [0.0], [3.0]], [[1.0, 0], [1, 0], [0, 1]]))
    assert_allclose(ml.log_density_sum([[0.0], [1.0]]), [[0.0, -3.0], [-np.inf, np.log(3) - 3]])


@pytest.mark.parametrize(("a", "b"), [(0.5, 2.0), (3.0, 0.1), (1e-6, 1.0)])
def test_predictive_against_scipy(a, b):
    theirs = stats.nbinom(a, b / (b + 1))
    assert_allclose(NegativeBinomial(a, b).log_density(COUNTS), theirs.logpmf(COUNTS), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("x", "a", "b"), [(1e8, 1e8, 1.0), (5.0, 1e15, 1e14), (1e8, 1e-8, 1e-8), (0.0, 1e10, 1e3)])
def test_predictive_with_huge_parameters_against_mpmath(x, a, b):
    with mp.workdps(60):
        x_, a_, b_ = mp.mpf(x), mp.mpf(a), mp.mpf(b)
        gammas = mp.loggamma(a_ + x_) - mp.loggamma(a_) - mp.loggamma(x_ + 1)
        expected = float(gammas + a_ * mp.log(b_ / (b_ + 1)) - x_ * mp.log(b_ + 1))
    assert_allclose(NegativeBinomial(a, b).log_density(x), expected, rtol=1e-12)


def test_posterior_predictive_and_marginal_are_integrals_over_the_rate():
    facts = Poisson.facts([[2.0], [5.0], [0.0]], [[1.0], [0.5], [2.0]])
    prior = GammaPoisson(1.3, 0.7)

    def joint(rate, extra=None):
        logs = stats.poisson.logpmf([2, 5, 0], rate) @ [1.0, 0.5, 2.0]
        more = 0.0 if extra is None else stats.poisson.logpmf(extra, rate)
        return np.exp(logs + more) * stats.gamma(1.3, scale=1 / 0.7).pdf(rate)

    Z = integrate.quad(joint, 0, 60, epsabs=1e-14)[0]
    assert_allclose(prior.log_marginal(facts), np.log(Z), rtol=1e-8)
    posterior = prior.updated(facts)
    assert_allclose(posterior.mode.rate, integrate.quad(lambda r: r * joint(r), 0, 60)[0] / Z, rtol=1e-8)
    expected = np.log(integrate.quad(joint, 0, 60, args=(3,), epsabs=1e-14)[0] / Z)
    assert_allclose(posterior.predictive().log_density(3.0), expected, rtol=1e-7)


def test_the_weak_prior_of_a_rate_is_proper_without_events():
    facts = Poisson.facts(np.zeros((9, 1)), np.ones((9, 1)))
    assert_allclose(GammaPoisson.weak(facts).shape, 0.1)
    assert Poisson.weak_prior(facts).updated(facts).predictive().log_density(1.0) > -np.inf
