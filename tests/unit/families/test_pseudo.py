"""Priors kept as pseudo-observations, and the sampler of their parameters."""

import numpy as np
from numpy.testing import assert_allclose
from scipy import special, stats

from separatrix.families import ConjugateBeta, ConjugateGamma, LogMoments
from separatrix.families.pseudo import metropolis


def test_the_prior_is_facts_and_updating_is_adding(rng):
    facts = LogMoments.of(rng.gamma(2.0, size=(30, 1, 1)), np.ones((30, 1)))
    prior = ConjugateGamma.of_facts(facts, worth=2.0)
    assert_allclose(prior.count, 2.0)
    assert_allclose(prior.updated(facts).count, 32.0)
    assert_allclose(prior.updated(facts).mean, facts.mean)  # the same mean: nothing moves
    assert_allclose(prior.mode.shape, prior.updated(facts).mode.shape, rtol=1e-12)


def test_metropolis_draws_a_density_that_is_not_its_proposal(rng):
    # ln of a gamma variate: skew, exponential tail to the left
    a = 2.0
    draws = metropolis(lambda t: a * t[..., 0] - np.exp(t[..., 0]), np.log([a]), np.array([[a**-0.5]]), rng, (20_000,))[
        :, 0
    ]
    exact = stats.loggamma(a)
    assert_allclose(draws.mean(), exact.mean(), atol=5 * exact.std() / np.sqrt(len(draws)))
    assert stats.kstest(draws[:4000], exact.cdf).pvalue > 1e-3


def test_drawn_parameters_have_the_mean_that_theory_gives(rng):
    # Diaconis & Ylvisaker: the posterior mean of E[u | eta] is chi
    prior = ConjugateGamma(8.0, [1.7], [2.0])
    mean_u = prior.draw(rng, 20_000).mean_u
    error = mean_u.std(axis=0) / np.sqrt(20_000)
    assert np.all(np.abs(mean_u.mean(axis=0) - [np.log(1.7) - 2.0 / 8.0, 1.7]) < 5 * error)
    prior = ConjugateBeta(8.0, [0.3, 0.7], [2.0, 1.0])
    mean_u = prior.draw(rng, 20_000).mean_u
    chi = np.log([0.3, 0.7]) - np.array([2.0, 1.0]) / 8.0
    assert np.all(np.abs(mean_u.mean(axis=0) - chi) < 5 * mean_u.std(axis=0) / np.sqrt(20_000))


def test_samples_follow_the_predictive_density(rng):
    predictive = ConjugateGamma(5.0, [2.0], [1.0]).predictive()
    x = predictive.sample(rng, 4000)
    grid = np.geomspace(1e-6, 1e4, 4001)
    density = np.exp(predictive.log_density(grid)) * grid
    cdf = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]) * np.diff(np.log(grid)))])
    assert_allclose(cdf[-1], 1.0, atol=1e-4)
    assert stats.kstest(x, lambda v: np.interp(v, grid, cdf)).pvalue > 1e-3


def test_a_predictive_is_indexed_by_class():
    prior = ConjugateGamma(np.array([[5.0], [9.0]]), np.ones((2, 1, 1)), np.ones((2, 1, 1)))
    predictive = prior.predictive()
    assert predictive.batch == (2, 1)
    assert predictive[1].batch == (1,)
    assert_allclose(predictive[1].log_density([0.5]), predictive.log_density(0.5)[1], rtol=1e-12)
    assert_allclose(special.logsumexp(predictive.log_density_sum([[0.5], [np.nan]])[1]), np.log(2))
