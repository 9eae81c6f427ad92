import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, stats

from separatrix.exceptions import DataError
from separatrix.families import Bernoulli, BetaBernoulli, FactsError


def test_against_scipy():
    p = np.array([0.01, 0.4, 0.999])
    ours, theirs = Bernoulli.of_probability(p), stats.bernoulli(p)
    for x in (0, 1, 2, 0.5):
        assert_allclose(ours.log_density(x), theirs.logpmf(x), rtol=1e-12)
    assert_allclose(ours.variance, theirs.var(), rtol=1e-12)


def test_a_near_certain_coin_keeps_its_other_side():
    assert_allclose(Bernoulli(800.0).log_density([0, 1]), [-800.0, 0.0])
    assert_array_equal(Bernoulli([-np.inf, np.inf]).log_density([[0], [1]]), [[0, -np.inf], [-np.inf, 0]])


def test_ml_at_the_boundary_of_its_range():
    facts = Bernoulli.facts([[0.0, 1.0, 1.0], [0.0, 1.0, 0.0]], np.ones((2, 1)))
    ml = Bernoulli.ml(facts)
    assert_array_equal(ml.log_odds, [[-np.inf, np.inf, 0.0]])
    rows = [[0, 1, 1], [1, 1, 1], [0, 0, 1], [np.nan, np.nan, 0]]
    assert_allclose(ml.log_density_sum(rows), [[np.log(0.5)], [-np.inf], [-np.inf], [np.log(0.5)]])


def test_laplace_correction():
    facts = Bernoulli.facts(np.repeat([1.0, 0.0], [3, 7])[:, None], np.ones((10, 1)))
    posterior = BetaBernoulli.weak(facts).updated(facts)
    assert_allclose(posterior.mode.probability, [[(3 + 1) / (10 + 2)]], rtol=1e-15)
    assert_allclose(posterior.predictive().log_density(1.0), [[np.log(4 / 12)]], rtol=1e-15)


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


def test_support_and_empty_classes():
    with pytest.raises(DataError, match="Column 'smoker' holds 2 where only 0 and 1 are possible. Recode"):
        Bernoulli.check_support(np.array([[0.0], [np.nan], [2.0]]), ("smoker",))
    with pytest.raises(FactsError, match="no values in class 1, column 0"):
        Bernoulli.ml(Bernoulli.facts([[1.0]], [[1.0, 0.0]]))
    with pytest.raises(ValueError, match="BetaBernoulli: b must be positive"):
        BetaBernoulli(1.0, 0.0)
