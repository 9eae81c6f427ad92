import mpmath as mp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

from separatrix.exceptions import DataError
from separatrix.families import GammaPoisson, NegativeBinomial, Poisson

COUNTS = np.array([0.0, 1.0, 2.0, 7.0, 40.0])


@pytest.mark.parametrize("rate", [1e-8, 0.3, 4.0, 50.0])
def test_against_scipy(rate):
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


def test_weak_prior_is_proper_where_no_event_was_ever_seen():
    facts = Poisson.facts(np.zeros((9, 1)), np.ones((9, 1)))
    assert_allclose(GammaPoisson.weak(facts).shape, 0.1)
    assert Poisson.weak_prior(facts).updated(facts).predictive().log_density(1.0) > -np.inf


def test_support():
    with pytest.raises(DataError, match="Column 'visits' holds -3 where counts are whole numbers from 0"):
        Poisson.check_support(np.array([[-3.0]]), ("visits",))
