# SPDX-License-Identifier: BSD-3-Clause
"""Continuous families against SciPy, mpmath and integrals."""

import mpmath as mp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, special, stats

from separatrix.families import (
    Beta,
    ConjugateBeta,
    ConjugateDirichlet,
    ConjugateGamma,
    Density,
    Dirichlet,
    Exponential,
    FactsError,
    Gamma,
    GammaExponential,
    Lomax,
    MultivariateNormal,
    MultivariateT,
    Normal,
    NormalGamma,
    NormalKnownVariance,
    NormalNormal,
    NormalWishart,
    SingularFactsError,
    StudentT,
)

POINTS = np.array([-1e9, -3.0, 0.0, 0.4, 1e9])


def test_normal_against_scipy():
    ours, theirs = Normal(0.3, 1.7), stats.norm(0.3, 1.7)
    assert_allclose(ours.log_density(POINTS), theirs.logpdf(POINTS), rtol=1e-13)
    assert_allclose(ours.variance, theirs.var())


@pytest.mark.parametrize("dof", [0.1, 3.0, 1e3])
def test_student_t_against_scipy(dof):
    assert_allclose(StudentT(dof, 0.3, 1.7).log_density(POINTS), stats.t(dof, 0.3, 1.7).logpdf(POINTS), rtol=1e-11)


def test_student_t_becomes_normal_and_never_overflows():
    assert_allclose(
        StudentT(1e15, 0.3, 1.7).log_density(POINTS[1:4]), Normal(0.3, 1.7).log_density(POINTS[1:4]), rtol=1e-12
    )
    far = StudentT(3.0, 0.0, 1.0).log_density([1e150, 1e250])
    assert_allclose(np.diff(far), -4 * np.log(1e100), rtol=1e-12)


@pytest.mark.parametrize("apart", [1.0, 1e7])
def test_the_sum_over_columns_keeps_its_digits_at_any_offset_and_separation(rng, apart):
    mean = 1e7 + apart * np.arange(3)[:, None] * np.array([1.0, -2.0, 0.5, 1.0])
    sd = rng.uniform(0.5, 2.0, size=(3, 4))
    x = np.vstack([mean + rng.normal(size=(3, 4)), mean[:1] + 1e9 * sd[:1]])
    x[1, 2] = np.nan
    expected = stats.norm.logpdf(x[:, None, :].astype(np.longdouble), mean, sd)
    expected = np.where(np.isnan(expected), 0, expected).sum(axis=-1)
    got = Normal(mean, sd).log_density_sum(x)
    assert_allclose(got, expected, rtol=1e-11, atol=1e-11)
    assert_allclose(got, Density.log_density_sum(Normal(mean, sd), x), rtol=1e-11, atol=1e-11)


def test_posterior_predictive_and_marginal_are_double_integrals():
    x, w = np.array([0.5, 2.0, -1.0]), np.array([1.0, 0.5, 2.0])
    prior = NormalGamma(0.3, 1.5, 2.0, 0.8)
    facts = Normal.facts(x[:, None], w[:, None])

    u, v = np.polynomial.legendre.leggauss(120)
    lam = np.exp(7 * u - 1)[:, None]  # ln lambda from -8 to 6, and mu within 12 standard deviations of 0
    sd = lam**-0.5
    mu = 12 * sd * u
    hyper = stats.gamma.logpdf(lam, 2.0, scale=1 / 0.8) + stats.norm.logpdf(mu, 0.3, sd / 1.5**0.5)
    volume = np.outer(7 * v, 12 * v) * lam * sd

    def integral(*extra):
        pairs = [*zip(x, w, strict=True), *((e, 1.0) for e in extra)]
        logs = sum(weight * stats.norm.logpdf(value, mu, sd) for value, weight in pairs)
        return (volume * np.exp(logs + hyper)).sum()

    Z = integral()
    assert_allclose(prior.log_marginal(facts), np.log(Z), rtol=1e-7)
    expected = np.log(integral(1.3) / Z)
    assert_allclose(prior.updated(facts).predictive().log_density(1.3), expected, rtol=1e-6)


def test_one_row_needs_a_prior():
    facts = Normal.facts([[1.0, 2.0], [3.0, 4.0], [5.0, 4.0]], np.array([[1.0, 0], [0, 1], [0, 1]]))
    with pytest.raises(FactsError) as caught:
        Normal.ml(facts)
    assert caught.value.where == [(0, 0), (0, 1), (1, 1)]
    assert "class 'a', column 'x'" in caught.value.describe(("a", "b"), ("x", "y"))
    assert np.all(Normal.weak_prior(facts).updated(facts).mode.sd > 0)


def test_the_known_variance_defaults_to_the_pooled_within_class_one(rng):
    x, t = rng.normal(size=(60, 2)) * [1.0, 5.0], rng.integers(2, size=60)
    facts = NormalKnownVariance.facts(x, np.eye(2)[t])
    residual = x - np.stack([x[t == k].mean(axis=0) for k in range(2)])[t]
    ml = NormalKnownVariance.ml(facts)
    assert_allclose(ml.sd, [np.sqrt((residual**2).mean(axis=0))] * 2, rtol=1e-12)
    assert_allclose(NormalKnownVariance.ml(facts, sd=2.0).sd, 2.0)


def test_posterior_predictive_and_marginal_are_integrals_over_the_mean():
    x, w = np.array([0.5, 2.0, -1.0]), np.array([1.0, 0.5, 2.0])
    prior, facts = NormalNormal(0.3, 1.5, 0.8), NormalKnownVariance.facts(x[:, None], w[:, None])

    def joint(mu, extra=None):
        logs = w @ stats.norm.logpdf(x, mu, 0.8) + (0 if extra is None else stats.norm.logpdf(extra, mu, 0.8))
        return np.exp(logs + stats.norm.logpdf(mu, 0.3, 1.5))

    Z = integrate.quad(joint, -10, 10, epsabs=1e-14)[0]
    assert_allclose(prior.log_marginal(facts), np.log(Z), rtol=1e-9)
    posterior = prior.updated(facts)
    assert_allclose(posterior.mean, integrate.quad(lambda m: m * joint(m), -10, 10)[0] / Z, rtol=1e-7)
    expected = np.log(integrate.quad(joint, -10, 10, args=(1.3,), epsabs=1e-14)[0] / Z)
    assert_allclose(posterior.predictive().log_density(1.3), expected, rtol=1e-9)


MEAN = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, -1.0]])
COVARIANCE = np.array([[[2.0, 0.5, 0.1], [0.5, 1.0, -0.3], [0.1, -0.3, 3.0]], np.eye(3)])


def test_multivariate_normal_against_scipy(rng):
    x = rng.normal(size=(7, 3))
    ours = MultivariateNormal(MEAN, COVARIANCE)
    expected = [stats.multivariate_normal(m, S).logpdf(x) for m, S in zip(MEAN, COVARIANCE, strict=True)]
    assert_allclose(ours.log_density_sum(x), np.transpose(expected), rtol=1e-12)
    assert_allclose(ours.log_density(x[:, None]), np.transpose(expected), rtol=1e-12)


def test_t_against_scipy(rng):
    x = rng.normal(size=(7, 3))
    ours = MultivariateT(4.5, MEAN[0], COVARIANCE[0])
    assert_allclose(ours.log_density(x), stats.multivariate_t(MEAN[0], COVARIANCE[0], df=4.5).logpdf(x), rtol=1e-12)


def test_the_marginal_is_an_integral_over_mean_and_precision(rng):
    """By importance sampling from the posterior of another data set: a formula-free estimate of p(x)."""
    x = np.array([[0.5, 1.0], [-0.2, 0.4], [1.0, -0.5]])
    m, beta, dof, Psi = np.zeros(2), 2.0, 5.0, np.array([[1.0, 0.2], [0.2, 2.0]])
    precision = stats.wishart(dof, np.linalg.inv(Psi)).rvs(60_000, random_state=rng)
    L = np.linalg.cholesky(np.linalg.inv(precision))
    mu = m + np.einsum("sij,sj->si", L, rng.standard_normal((60_000, 2))) / np.sqrt(beta)
    z = x[:, None] - mu
    quadratic = np.einsum("nsi,sij,nsj->s", z, precision, z)
    likelihood = np.exp(1.5 * np.linalg.slogdet(precision)[1] - 0.5 * quadratic - 3 * np.log(2 * np.pi))
    error = likelihood.std() / likelihood.mean() / np.sqrt(len(likelihood))
    got = NormalWishart(m, beta, dof, Psi).log_marginal(MultivariateNormal.facts(x, np.ones((3, 1))))
    assert error < 0.02
    assert_allclose(got, np.log(likelihood.mean()), atol=4 * error)


def test_dependent_columns_are_named(rng):
    x = rng.normal(size=(30, 3))
    x = np.column_stack([x, x[:, 0] - x[:, 2], np.full(30, 7.1)])
    facts = MultivariateNormal.facts(x, np.ones((30, 1)))
    with pytest.raises(SingularFactsError) as caught:
        MultivariateNormal.ml(facts)
    said = caught.value.describe(("yes",), ("a", "b", "c", "d", "e"))
    assert said.startswith("the covariance is singular in class 'yes': 'e' is constant; ")
    assert "is a combination of" in said
    assert said.endswith("; drop those columns, or use a prior.")
    with pytest.raises(FactsError, match="all values are equal in column 4"):
        MultivariateNormal.weak_prior(facts)


def test_fewer_rows_than_columns_need_a_prior(rng):
    x = rng.normal(size=(3, 5))
    facts = MultivariateNormal.facts(x, np.ones((3, 1)))
    with pytest.raises(SingularFactsError):
        MultivariateNormal.ml(facts)
    posterior = MultivariateNormal.weak_prior(facts).updated(facts)
    assert np.isfinite(posterior.predictive().log_density_sum(x)).all()
    assert np.linalg.eigvalsh(posterior.mode.covariance).min() > 0


TIMES = np.array([0.0, 1e-9, 0.4, 3.0, 200.0])


@pytest.mark.parametrize("rate", [1e-8, 0.5, 1e8])
def test_exponential_against_scipy(rate):
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


AMOUNTS = np.array([1e-8, 0.3, 2.0, 11.0])


@pytest.mark.parametrize(("a", "b"), [(0.4, 2.0), (3.0, 0.1), (80.0, 40.0)])
def test_gamma_against_scipy(a, b):
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


def test_gamma_maximum_likelihood_agrees_with_scipy_and_is_accurate_for_narrow_data(rng):
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


SHARES = np.array([1e-12, 0.2, 0.5, 0.99])


@pytest.mark.parametrize(("a", "b"), [(0.4, 2.0), (1.0, 1.0), (30.0, 70.0)])
def test_beta_against_scipy(a, b):
    ours, theirs = Beta(a, b), stats.beta(a, b)
    assert_allclose(ours.log_density(SHARES), theirs.logpdf(SHARES), rtol=1e-10, atol=1e-11)
    assert_allclose([ours.mean, ours.variance], [theirs.mean(), theirs.var()], rtol=1e-12)
    assert ours.log_density([0.0, 1.0, 2.0]).tolist() == [-np.inf] * 3


@pytest.mark.parametrize(
    ("x", "a", "b"), [(0.5, 1e8, 1e8), (0.50001, 1e8, 1e8), (1e-300, 1e-8, 1e-8), (1e-9, 3.0, 1e9)]
)
def test_tiny_and_huge_shapes_against_mpmath_of_beta(x, a, b):
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


def test_samples_of_tiny_shapes_stay_inside(rng):
    x = Beta(1e-4, 1e-4).sample(rng, 1000)
    assert np.all((x > 0) & (x < 1))
    assert abs((x < 0.5).mean() - 0.5) < 0.08


ALPHA = np.array([0.4, 2.0, 5.0])
ROWS = np.array([[0.2, 0.3, 0.5], [1e-10, 0.4, 0.6 - 1e-10], [0.05, 0.9, 0.05]])


def test_dirichlet_against_scipy():
    ours, theirs = Dirichlet(ALPHA), stats.dirichlet(ALPHA)
    assert_allclose(ours.log_density(ROWS), [theirs.logpdf(row) for row in ROWS], rtol=1e-10)
    assert_allclose(ours.mean, theirs.mean())
    assert_allclose(ours.variance, theirs.cov(), rtol=1e-12)
    assert ours.log_density([[0.5, 0.5, 0.5], [0.0, 0.5, 0.5]]).tolist() == [-np.inf, -np.inf]


def test_a_dirichlet_of_two_components_is_a_beta():
    x = np.array([0.1, 0.7])
    both = np.stack([x, 1 - x], axis=-1)
    assert_allclose(Dirichlet([2.0, 3.0]).log_density(both), Beta(2.0, 3.0).log_density(x), rtol=1e-13)
    prior = ConjugateDirichlet(2.0, [0.4, 0.6], [0.8, 0.5])
    same = ConjugateBeta(2.0, [0.4, 0.6], [0.8, 0.5])
    assert_allclose(prior.predictive().log_density(both), same.predictive().log_density(x), rtol=1e-13)


def test_dirichlet_maximum_likelihood_solves_its_equations(rng):
    x = rng.dirichlet([0.3, 1.0, 4.0, 20.0], size=500)
    ml = Dirichlet.ml(Dirichlet.facts(x, np.ones((500, 1))))
    assert_allclose(ml.mean_u[0], np.log(x).mean(axis=0), rtol=1e-11)
    narrow = rng.dirichlet([1e8, 3e8, 2e8], size=20_000)
    ml = Dirichlet.ml(Dirichlet.facts(narrow, np.ones((20_000, 1))))
    assert_allclose(ml.alpha.sum(), 6e8, rtol=5 / np.sqrt(20_000))


def test_predictive_density_integrates_to_one_within_the_order_of_laplace(rng):
    facts = Dirichlet.facts(rng.dirichlet(3 * np.ones(3), size=40), np.ones((40, 1)))
    predictive = Dirichlet.weak_prior(facts).updated(facts).predictive()
    x = rng.dirichlet(np.ones(3), size=4000)  # uniform on the simplex, density 2
    weights = np.exp(predictive.log_density_sum(x)[:, 0]) / 2
    error = 4 * weights.std() / np.sqrt(len(x))
    assert abs(weights.mean() - 1) < error + 0.01
