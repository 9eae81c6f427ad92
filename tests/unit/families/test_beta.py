import mpmath as mp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special, stats

from separatrix.exceptions import DataError
from separatrix.families import Beta, ConjugateBeta, FactsError

SHARES = np.array([1e-12, 0.2, 0.5, 0.99])


@pytest.mark.parametrize(("a", "b"), [(0.4, 2.0), (1.0, 1.0), (30.0, 70.0)])
def test_against_scipy(a, b):
    ours, theirs = Beta(a, b), stats.beta(a, b)
    assert_allclose(ours.log_density(SHARES), theirs.logpdf(SHARES), rtol=1e-10, atol=1e-11)
    assert_allclose([ours.mean, ours.variance], [theirs.mean(), theirs.var()], rtol=1e-12)
    assert ours.log_density([0.0, 1.0, 2.0]).tolist() == [-np.inf] * 3


@pytest.mark.parametrize(
    ("x", "a", "b"), [(0.5, 1e8, 1e8), (0.50001, 1e8, 1e8), (1e-300, 1e-8, 1e-8), (1e-9, 3.0, 1e9)]
)
def test_tiny_and_huge_shapes_against_mpmath(x, a, b):
    with mp.workdps(60):
        x_, a_, b_ = mp.mpf(x), mp.mpf(a), mp.mpf(b)
        log_beta = mp.loggamma(a_) + mp.loggamma(b_) - mp.loggamma(a_ + b_)
        expected = float((a_ - 1) * mp.log(x_) + (b_ - 1) * mp.log(1 - x_) - log_beta)
    assert_allclose(Beta(a, b).log_density(x), expected, rtol=1e-12, atol=1e-13)


def test_ml_is_scipys_and_recovers_a_narrow_beta(rng):
    x = rng.beta(2.5, 0.7, size=(400, 1))
    ml = Beta.ml(Beta.facts(x, np.ones((400, 1))))
    a, b, _, _ = stats.beta.fit(x, floc=0, fscale=1)
    assert_allclose([ml.a.item(), ml.b.item()], [a, b], rtol=1e-5)
    narrow = rng.beta(3e8, 1e8, size=(20_000, 1))
    ml = Beta.ml(Beta.facts(narrow, np.ones((20_000, 1))))
    assert_allclose([ml.a.item(), ml.b.item()], [3e8, 1e8], rtol=5 * np.sqrt(2 / 20_000))


def test_posterior_and_marginal_by_double_integral():
    x = np.array([0.3, 0.6, 0.45])
    facts = Beta.facts(x[:, None], np.ones((3, 1)))
    prior = ConjugateBeta(1.5, [0.4, 0.6], [0.6, 0.3])
    chi = np.log([0.4, 0.6]) - np.array([0.6, 0.3]) / 1.5

    u, w = np.polynomial.legendre.leggauss(300)
    t = 13 * u - 4  # ln a and ln b from -17 to 9
    a, b = np.exp(t)[:, None], np.exp(t)
    log_p = (
        1.5 * (a * chi[0] + b * chi[1] - special.gammaln(a) - special.gammaln(b) + special.gammaln(a + b))
        + t[:, None]
        + t
    )

    def integral(values):
        log_likelihood = sum(stats.beta.logpdf(v, a, b) for v in values)
        return w @ np.exp(log_p + log_likelihood) @ w * 13**2

    Z, joint = integral([]), integral(x)
    assert_allclose(prior.log_partition, np.log(Z), atol=1e-8)
    assert_allclose(prior.log_marginal(facts), np.log(joint / Z), atol=1e-7)
    new = prior.updated(facts).predictive().log_density([0.05, 0.5])[0]
    assert_allclose(new, [np.log(integral([*x, v]) / joint) for v in (0.05, 0.5)], atol=1e-7)


def test_the_predictive_is_a_density():
    predictive = ConjugateBeta(3.0, [0.3, 0.7], [0.6, 0.3]).predictive()
    mirrored = ConjugateBeta(3.0, [0.7, 0.3], [0.3, 0.6]).predictive()  # of 1 - x: no float is near enough to 1
    v, w = np.polynomial.legendre.leggauss(80)
    v, w = 3.25 * (v + 1), 3.25 * w
    share = 1 / (1 + np.exp(np.sinh(v)))  # from 1/2 down to 1e-144: the tail is a power of the log odds
    weight = w * np.cosh(v) * share * (1 - share)
    total = weight @ (np.exp(predictive.log_density(share)) + np.exp(mirrored.log_density(share)))
    assert total == pytest.approx(1.0, abs=1e-6)
    assert predictive.log_density([0.0, -0.5]).tolist() == [-np.inf, -np.inf]


def test_samples_of_tiny_shapes_stay_inside(rng):
    x = Beta(1e-4, 1e-4).sample(rng, 1000)
    assert np.all((x > 0) & (x < 1))
    assert abs((x < 0.5).mean() - 0.5) < 0.08


def test_bad_input():
    with pytest.raises(
        DataError, match="Column 'share' holds 1.5 where proportions lie between 0 and 1. Divide percen"
    ):
        Beta.check_support(np.array([[np.nan], [1.5]]), ("share",))
    with pytest.raises(FactsError, match="all values are equal in class 0, column 0"):
        Beta.ml(Beta.facts([[0.3], [0.3]], np.ones((2, 1))))
