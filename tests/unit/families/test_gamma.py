import mpmath as mp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, special, stats

from separatrix.exceptions import DataError
from separatrix.families import ConjugateGamma, FactsError, Gamma

AMOUNTS = np.array([1e-8, 0.3, 2.0, 11.0])


@pytest.mark.parametrize(("a", "b"), [(0.4, 2.0), (3.0, 0.1), (80.0, 40.0)])
def test_against_scipy(a, b):
    ours, theirs = Gamma(a, b), stats.gamma(a, scale=1 / b)
    assert_allclose(ours.log_density(AMOUNTS), theirs.logpdf(AMOUNTS), rtol=1e-11, atol=1e-12)
    assert_allclose([ours.mean, ours.variance], [theirs.mean(), theirs.var()], rtol=1e-12)
    assert ours.log_density([-1.0, 0.0]).tolist() == [-np.inf, -np.inf]


@pytest.mark.parametrize(("x", "a", "b"), [(1.0, 1e8, 1e8), (1.0001, 1e8, 1e8), (1e-300, 1e-8, 1.0), (1e9, 2.0, 1.0)])
def test_tiny_and_huge_shapes_against_mpmath(x, a, b):
    with mp.workdps(60):
        x_, a_, b_ = mp.mpf(x), mp.mpf(a), mp.mpf(b)
        expected = float(a_ * mp.log(b_) + (a_ - 1) * mp.log(x_) - b_ * x_ - mp.loggamma(a_))
    assert_allclose(Gamma(a, b).log_density(x), expected, rtol=1e-12)


def test_mean_logs_invert_from_1e_8_to_1e8():
    a = np.geomspace(1e-8, 1e8, 33)
    gamma = Gamma(a, 3.0)
    gap = np.log(gamma.mean) - gamma.mean_u[..., 0]
    again = Gamma.of_mean_u(gamma.mean_u)
    assert np.all(np.abs(again.shape / a - 1) < 1e-12 + 1e-14 / gap)  # what subtraction leaves of the gap
    assert_allclose(again.mean, gamma.mean, rtol=1e-12)


def test_ml_is_scipys_and_keeps_digits_where_scipy_cannot(rng):
    x = rng.gamma(2.5, 3.0, size=(400, 1))
    ml = Gamma.ml(Gamma.facts(x, np.ones((400, 1))))
    a, _, scale = stats.gamma.fit(x, floc=0)
    assert_allclose([ml.shape.item(), ml.rate.item()], [a, 1 / scale], rtol=1e-6)
    narrow = 7.0 * np.exp(1e-5 * rng.standard_normal((3000, 1)))
    ml = Gamma.ml(Gamma.facts(narrow, np.ones((3000, 1))))
    exact = narrow.astype(np.longdouble)
    gap = float(np.log(exact.mean()) - np.log(exact).mean())
    assert_allclose(ml.shape, 1 / (2 * gap), rtol=1e-6)  # ln a - psi(a) = 1/2a + O(a^-2), a = 1e10


def prior_density(nu, mean, gap):
    """ln of p(a, b), not normalised, from its definition."""
    chi1 = np.log(mean) - gap / nu
    return lambda a, b: nu * (a * chi1 - b * mean - special.gammaln(a) + a * np.log(b))


@pytest.mark.parametrize(("nu", "mean", "gap"), [(1.0, 2.0, 0.4), (3.5, 0.5, 1.0)])
def test_the_normaliser_is_the_double_integral(nu, mean, gap):
    log_p = prior_density(nu, mean, gap)
    prior = ConjugateGamma(nu, [mean], [gap])

    def hump(t, u):  # a = e^u, b = e^t / mean
        a, b = np.exp(u), np.exp(t) / mean
        return np.exp(log_p(a, b) + u + t - np.log(mean))

    Z = integrate.dblquad(hump, -9, 6, -12, 7, epsabs=1e-9, epsrel=1e-9)[0]
    assert_allclose(prior.log_partition, np.log(Z), atol=1e-6)


@pytest.mark.parametrize("nu", [0.05, 1.0, 30.0, 1e4])
@pytest.mark.parametrize("gap", [1e-8, 0.1, 50.0])
def test_the_quadrature_against_mpmath(nu, gap):
    prior = ConjugateGamma(nu, [1.0], [nu * gap])
    width = 1.5 / np.sqrt(nu + 1)
    with mp.workdps(40):
        n, g = mp.mpf(nu), mp.mpf(nu * gap) / mp.mpf(nu)

        def f(t):
            a = mp.e**t
            exponent = -n * a * g - n * mp.loggamma(a) + mp.loggamma(n * a + 1) - (n * a + 1) * mp.log(n)
            return t + exponent

        theta = max(np.arange(-8, 24, 0.5 * width), key=f)
        scale = f(theta)
        points = [theta + width * c for c in (-45, -20, -8, -3, 0, 3, 8, 16)]
        expected = float(mp.log(mp.quad(lambda t: mp.exp(f(t) - scale), points)) + scale)
    assert_allclose(prior.log_partition, expected, rtol=1e-13, atol=2e-9)


def test_posterior_predictive_by_double_integral():
    x = np.array([0.5, 2.0, 1.2, 3.0])
    facts = Gamma.facts(x[:, None], np.ones((4, 1)))
    prior = ConjugateGamma(1.5, [1.0], [0.6])
    log_p = prior_density(1.5, 1.0, 0.6)

    v, w = np.polynomial.legendre.leggauss(300)
    u = 13 * v - 4  # ln a and ln b from -17 to 9
    a, b = np.exp(u)[:, None], np.exp(u)

    def integral(values):
        logs = sum((stats.gamma.logpdf(value, a, scale=1 / b) for value in values), start=log_p(a, b))
        return 13**2 * w @ np.exp(logs + u[:, None] + u) @ w

    Z, joint = integral([]), integral(x)
    assert_allclose(prior.log_marginal(facts), np.log(joint / Z), atol=1e-7)
    new = prior.updated(facts).predictive().log_density(1.7)
    assert_allclose(new, np.log(integral([*x, 1.7]) / joint), atol=1e-7)


def test_the_predictive_is_a_density_with_heavier_tails_than_the_mode():
    posterior = ConjugateGamma(6.0, [[2.0]], [[1.5]])[0]
    predictive, mode = posterior.predictive(), posterior.mode
    total = integrate.quad(lambda t: np.exp(predictive.log_density(np.exp(t)) + t).item(), -40, 12, epsabs=1e-9)[0]
    assert total == pytest.approx(1.0, abs=1e-7)
    assert predictive.log_density(1e4) > mode.log_density(1e4) + 1000
    far = predictive.log_density(np.geomspace(1e3, 1e200, 50))
    assert np.all(np.isfinite(far))
    assert np.all(np.diff(far) < 0)


def test_bad_input():
    with pytest.raises(DataError, match="Column 'income' holds 0 where amounts are finite and above 0"):
        Gamma.check_support(np.array([[0.0]]), ("income",))
    constant = Gamma.facts([[2.0], [2.0], [3.0]], np.array([[1.0, 0], [1, 0], [0, 1]]))
    with pytest.raises(FactsError) as caught:
        Gamma.ml(constant)
    assert caught.value.where == [(0, 0), (1, 0)]
    assert np.isfinite(Gamma.weak_prior(constant).updated(constant).mode.shape).all()
    with pytest.raises(FactsError, match="all values are equal in column 0"):
        Gamma.weak_prior(constant[:1])
    with pytest.raises(ValueError, match="gap must be positive"):
        ConjugateGamma(1.0, [1.0], [0.0])
