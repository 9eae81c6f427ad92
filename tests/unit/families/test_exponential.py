import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

from separatrix.exceptions import DataError
from separatrix.families import Exponential, FactsError, GammaExponential, Lomax

TIMES = np.array([0.0, 1e-9, 0.4, 3.0, 200.0])


@pytest.mark.parametrize("rate", [1e-8, 0.5, 1e8])
def test_against_scipy(rate):
    ours, theirs = Exponential(rate), stats.expon(scale=1 / rate)
    assert_allclose(ours.log_density(TIMES), theirs.logpdf(TIMES), rtol=1e-12)
    assert ours.log_density(-1.0) == -np.inf
    assert_allclose([ours.mean, ours.variance], [theirs.mean(), theirs.var()], rtol=1e-12)


def test_predictive_against_scipy_and_far_out():
    assert_allclose(Lomax(2.5, 3.0).log_density(TIMES), stats.lomax(2.5, scale=3.0).logpdf(TIMES), rtol=1e-12)
    far = Lomax(2.0, 1e-10).log_density([1e300, 1e305])  # x/b overflows; a power law of slope -(a + 1)
    assert_allclose(np.diff(far), -3 * np.log(1e5), rtol=1e-12)
    assert Lomax(1.0, 1.0).log_density(-0.1) == -np.inf


def test_posterior_predictive_and_marginal_are_integrals_over_the_rate():
    x, w = np.array([0.3, 2.0, 1.1]), np.array([1.0, 0.5, 2.0])
    facts, prior = Exponential.facts(x[:, None], w[:, None]), GammaExponential(2.0, 0.8)

    def joint(rate, extra=0.0, power=0.0):
        logs = w @ stats.expon.logpdf(x, scale=1 / rate)
        return rate**power * np.exp(logs - rate * extra) * stats.gamma(2.0, scale=1 / 0.8).pdf(rate)

    Z = integrate.quad(joint, 0, 50, epsabs=1e-14)[0]
    assert_allclose(prior.log_marginal(facts), np.log(Z), rtol=1e-8)
    posterior = prior.updated(facts)
    expected = np.log(integrate.quad(joint, 0, 50, args=(1.7, 1.0), epsabs=1e-14)[0] / Z)
    assert_allclose(posterior.predictive().log_density(1.7), expected, rtol=1e-8)
    mean_time = integrate.quad(joint, 0, 50, args=(0.0, -1.0), epsabs=1e-14)[0] / Z  # E[1/b]
    assert_allclose(posterior.mode.mean, mean_time, rtol=1e-8)


def test_the_weak_prior_follows_a_change_of_units(rng):
    x, R = rng.exponential(size=(50, 1)), np.eye(2)[rng.integers(2, size=50)]
    metres, millimetres = Exponential.facts(x, R), Exponential.facts(1000 * x, R)
    a = Exponential.weak_prior(metres).updated(metres).predictive().log_density_sum(x)
    b = Exponential.weak_prior(millimetres).updated(millimetres).predictive().log_density_sum(1000 * x)
    assert_allclose(a - b, np.log(1000), rtol=1e-10)


def test_bad_input():
    with pytest.raises(DataError, match="Column 'wait' holds -1 where amounts are finite and not negative"):
        Exponential.check_support(np.array([[-1.0]]), ("wait",))
    zeros = Exponential.facts([[0.0], [1.0]], np.eye(2))
    with pytest.raises(FactsError, match="only zeros in class 0, column 0"):
        Exponential.ml(zeros)
    with pytest.raises(FactsError, match="only zeros in column 0"):
        GammaExponential.weak(zeros[:1])
    with pytest.raises(ValueError, match="shape must be above 1 for a mode, got .*1.0"):
        _ = GammaExponential(1.0, 1.0).mode
