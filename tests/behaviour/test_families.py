# SPDX-License-Identifier: BSD-3-Clause
"""Exponential families against SciPy, mpmath and integrals."""

import itertools

import mpmath as mp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, special, stats

from separatrix.families import (
    FAMILIES,
    Bernoulli,
    Beta,
    BetaBernoulli,
    Categorical,
    ConjugateBeta,
    ConjugateDirichlet,
    ConjugateGamma,
    Density,
    Dirichlet,
    DirichletCategorical,
    DirichletMultinomial,
    Exponential,
    FactsError,
    Gamma,
    GammaExponential,
    GammaPoisson,
    Lomax,
    Multinomial,
    MultivariateNormal,
    MultivariateT,
    NegativeBinomial,
    Normal,
    NormalGamma,
    NormalKnownVariance,
    NormalNormal,
    NormalWishart,
    Poisson,
    SingularFactsError,
    StudentT,
)

# -- densities ---------------------------------------------------------------------------------------------------------

REALS = np.array([-1e9, -3.0, 0.0, 0.4, 1e9])
TIMES = np.array([-1.0, 0.0, 1e-9, 0.4, 3.0, 200.0])
AMOUNTS = np.array([-1.0, 1e-8, 0.3, 2.0, 11.0])
SHARES = np.array([1e-12, 0.2, 0.5, 0.99, 2.0])
COUNTS = np.array([-1.0, 0.0, 0.5, 1.0, 2.0, 7.0, 40.0])
#: Our density, that of SciPy, points, and the relative tolerance.
DENSITIES = [
    (Normal(0.3, 1.7), stats.norm(0.3, 1.7), REALS, 1e-13),
    *((StudentT(dof, 0.3, 1.7), stats.t(dof, 0.3, 1.7), REALS, 1e-11) for dof in (0.1, 3.0, 1e3)),
    *((Exponential(rate), stats.expon(scale=1 / rate), TIMES, 1e-12) for rate in (1e-8, 0.5, 1e8)),
    (Lomax(2.5, 3.0), stats.lomax(2.5, scale=3.0), TIMES, 1e-12),
    *((Gamma(a, b), stats.gamma(a, scale=1 / b), AMOUNTS, 1e-11) for a, b in ((0.4, 2.0), (3.0, 0.1), (80.0, 40.0))),
    *((Beta(a, b), stats.beta(a, b), SHARES, 1e-10) for a, b in ((0.4, 2.0), (1.0, 1.0), (30.0, 70.0))),
    *((Bernoulli.of_probability(p), stats.bernoulli(p), COUNTS, 1e-12) for p in (0.01, 0.4, 0.999)),
    *((Poisson(rate), stats.poisson(rate), COUNTS, 1e-11) for rate in (1e-8, 0.3, 4.0, 50.0)),
    *(
        (NegativeBinomial(a, b), stats.nbinom(a, b / (b + 1)), COUNTS, 1e-9)
        for a, b in ((0.5, 2.0), (3.0, 0.1), (1e-6, 1.0))
    ),
]


@pytest.mark.parametrize(("ours", "theirs", "x", "rtol"), DENSITIES)
def test_densities_and_moments_are_those_of_scipy(ours, theirs, x, rtol):
    expected = getattr(theirs, "logpdf", getattr(theirs, "logpmf", None))(x)
    assert_allclose(ours.log_density(x), expected, rtol=rtol, atol=0.1 * rtol)
    if type(ours) in FAMILIES.values():
        assert_allclose([ours.mean, ours.variance], [theirs.mean(), theirs.var()], rtol=1e-12)


def test_densities_of_vectors_are_those_of_scipy(rng):
    x, mean = rng.normal(size=(7, 3)), np.array([[0.0, 1.0, 2.0], [1.0, 0.0, -1.0]])
    covariance = np.array([[[2.0, 0.5, 0.1], [0.5, 1.0, -0.3], [0.1, -0.3, 3.0]], np.eye(3)])
    normal, both = MultivariateNormal(mean, covariance), zip(mean, covariance, strict=True)
    expected = np.transpose([stats.multivariate_normal(m, S).logpdf(x) for m, S in both])
    assert_allclose(normal.log_density_sum(x), expected, rtol=1e-12)
    assert_allclose(normal.log_density(x[:, None]), expected, rtol=1e-12)
    t, expected = MultivariateT(4.5, mean[0], covariance[0]), stats.multivariate_t(mean[0], covariance[0], df=4.5)
    assert_allclose(t.log_density(x), expected.logpdf(x), rtol=1e-12)
    rows = np.array([[0.2, 0.3, 0.5], [1e-10, 0.4, 0.6 - 1e-10], [0.05, 0.9, 0.05]])
    ours, theirs = Dirichlet([0.4, 2.0, 5.0]), stats.dirichlet([0.4, 2.0, 5.0])
    assert_allclose(ours.log_density(rows), theirs.logpdf(rows.T), rtol=1e-10)
    assert_allclose(ours.mean, theirs.mean())
    assert_allclose(ours.variance, theirs.cov(), rtol=1e-12)
    assert ours.log_density([[0.5, 0.5, 0.5], [0.0, 0.5, 0.5]]).tolist() == [-np.inf, -np.inf]


def test_the_ends_of_an_interval_are_outside_the_support():
    assert Beta(1.0, 1.0).log_density([0.0, 1.0]).tolist() == [-np.inf] * 2
    assert Gamma(1.0, 1.0).log_density(0.0) == Poisson(1.0).log_density(np.inf) == -np.inf


#: The logarithm of each density as it is defined, with parameters of mpmath.
DEFINITIONS = {
    Gamma: lambda x, a, b: a * mp.log(b) + (a - 1) * mp.log(x) - b * x - mp.loggamma(a),
    Beta: lambda x, a, b: (a - 1) * mp.log(x) + (b - 1) * mp.log(1 - x) - mp.log(mp.beta(a, b)),
    Poisson: lambda x, rate: x * mp.log(rate) - rate - mp.loggamma(x + 1),
    NegativeBinomial: lambda x, a, b: (
        (mp.loggamma(a + x) - mp.loggamma(a) - mp.loggamma(x + 1)) + a * mp.log(b / (b + 1)) - x * mp.log(b + 1)
    ),
}
EXTREMES = {
    Gamma: [(1.0, 1e8, 1e8), (1.0001, 1e8, 1e8), (1e-300, 1e-8, 1.0), (1e9, 2.0, 1.0)],
    Beta: [(0.5, 1e8, 1e8), (0.50001, 1e8, 1e8), (1e-300, 1e-8, 1e-8), (1e-9, 3.0, 1e9)],
    Poisson: [(1e8, 1e8), (1e8 + 12345, 1e8), (3e15, 3e15), (1e9, 1e-9), (0.0, 1e300)],
    NegativeBinomial: [(1e8, 1e8, 1.0), (5.0, 1e15, 1e14), (1e8, 1e-8, 1e-8), (0.0, 1e10, 1e3)],
}


@pytest.mark.parametrize(("family", "given"), [(family, given) for family in EXTREMES for given in EXTREMES[family]])
def test_tiny_and_huge_parameters_against_mpmath(family, given):
    with mp.workdps(60):
        expected = float(DEFINITIONS[family](*map(mp.mpf, given)))
    x, *parameters = given
    assert_allclose(family(*parameters).log_density(x), expected, rtol=1e-12, atol=1e-13 if family is Beta else 0)


def test_a_t_of_many_degrees_is_normal_and_predictive_densities_are_power_laws_far_out():
    near = REALS[1:4]
    assert_allclose(StudentT(1e15, 0.3, 1.7).log_density(near), Normal(0.3, 1.7).log_density(near), rtol=1e-12)
    assert_allclose(np.diff(StudentT(3.0, 0.0, 1.0).log_density([1e150, 1e250])), -4 * np.log(1e100), rtol=1e-12)
    assert_allclose(np.diff(Lomax(2.0, 1e-10).log_density([1e300, 1e305])), -3 * np.log(1e5), rtol=1e-12)


# -- integrals over one parameter --------------------------------------------------------------------------------------

OVER = {  # prior, family, ln p(x | parameter), p(parameter), its range, E[x | parameter], three rows and a new one
    "mean": (
        *(NormalNormal(0.3, 1.5, 0.8), NormalKnownVariance, lambda x, mu: stats.norm.logpdf(x, mu, 0.8)),
        *(stats.norm(0.3, 1.5), (-10, 10), lambda mu: mu, [0.5, 2.0, -1.0, 1.3]),
    ),
    "rate of times": (
        *(GammaExponential(2.0, 0.8), Exponential, lambda x, rate: stats.expon.logpdf(x, scale=1 / rate)),
        *(stats.gamma(2.0, scale=1 / 0.8), (0, 50), lambda rate: 1 / rate, [0.3, 2.0, 1.1, 1.7]),
    ),
    "rate of counts": (
        *(GammaPoisson(1.3, 0.7), Poisson, stats.poisson.logpmf),
        *(stats.gamma(1.3, scale=1 / 0.7), (0, 60), lambda rate: rate, [2.0, 5.0, 0.0, 3.0]),
    ),
    "probability": (
        *(BetaBernoulli(0.3, 4.0), Bernoulli, stats.bernoulli.logpmf),
        *(stats.beta(0.3, 4.0), (0, 1), lambda mu: mu, [1.0, 0.0, 1.0, 1.0]),
    ),
}


@pytest.mark.parametrize(("prior", "family", "log_p", "prior_of", "ends", "mean", "rows"), OVER.values(), ids=OVER)
def test_posterior_predictive_and_marginal_are_integrals(prior, family, log_p, prior_of, ends, mean, rows):
    x, new, w = np.array(rows[:3]), rows[3], np.array([1.0, 0.5, 2.0])  # weights are powers
    facts = family.facts(x[:, None], w[:, None])

    def integral(f):
        def joint(parameter):
            return f(parameter) * np.exp(w @ log_p(x, parameter)) * prior_of.pdf(parameter)

        return integrate.quad(joint, *ends, epsabs=1e-14, epsrel=1e-10)[0]

    Z, posterior = integral(lambda _: 1.0), prior.updated(facts)
    assert_allclose(prior.log_marginal(facts), np.log(Z), rtol=1e-9)
    assert_allclose(posterior.mode.mean, integral(mean) / Z, rtol=1e-8)
    expected = np.log(integral(lambda parameter: np.exp(log_p(new, parameter))) / Z)
    assert_allclose(posterior.predictive().log_density(new), expected, rtol=1e-9)


# -- normal ------------------------------------------------------------------------------------------------------------


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


def test_posterior_predictive_and_marginal_are_double_integrals_over_mean_and_precision():
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


# -- gamma, beta and Dirichlet -----------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("nu", [0.05, *(pytest.param(nu, marks=pytest.mark.slow) for nu in (1.0, 30.0)), 1e4])
@pytest.mark.parametrize("gap", [1e-8, pytest.param(0.1, marks=pytest.mark.slow), 50.0])
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


PRIORS = {  # prior, rows, ln p(a, b) without its normaliser, ln p(x | a, b)
    "gamma": (
        ConjugateGamma(1.5, [2.0], [0.6]),
        np.array([0.5, 2.0, 1.2, 3.0]),
        lambda a, b: 1.5 * (a * (np.log(2.0) - 0.4) - 2.0 * b - special.gammaln(a) + a * np.log(b)),
        lambda x, a, b: stats.gamma.logpdf(x, a, scale=1 / b),
    ),
    "beta": (
        ConjugateBeta(1.5, [0.4, 0.6], [0.6, 0.3]),
        np.array([0.3, 0.6, 0.45]),
        lambda a, b: 1.5 * (a * (np.log(0.4) - 0.4) + b * (np.log(0.6) - 0.2) - special.betaln(a, b)),
        stats.beta.logpdf,
    ),
}


@pytest.mark.parametrize("family", PRIORS)
def test_posterior_predictive_and_marginal_are_double_integrals_over_two_shapes(family):
    prior, x, log_prior, log_p = PRIORS[family]
    facts = FAMILIES[family].facts(x[:, None], np.ones((len(x), 1)))
    u, w = np.polynomial.legendre.leggauss(300)
    t = 13 * u - 4  # ln a and ln b from -17 to 9
    a, b = np.exp(t)[:, None], np.exp(t)

    def integral(values):
        logs = sum((log_p(value, a, b) for value in values), start=log_prior(a, b))
        return 13**2 * w @ np.exp(logs + t[:, None] + t) @ w

    Z, joint = integral([]), integral(x)
    assert_allclose(prior.log_partition, np.log(Z), atol=1e-8)
    assert_allclose(prior.log_marginal(facts), np.log(joint / Z), atol=1e-7)
    new = prior.updated(facts).predictive().log_density([0.05, 0.5])[0]
    assert_allclose(new, [np.log(integral([*x, v]) / joint) for v in (0.05, 0.5)], atol=1e-7)


def test_ml_is_scipys_and_recovers_a_narrow_beta(rng):
    x = rng.beta(2.5, 0.7, size=(400, 1))
    ml = Beta.ml(Beta.facts(x, np.ones((400, 1))))
    a, b, _, _ = stats.beta.fit(x, floc=0, fscale=1)
    assert_allclose([ml.a.item(), ml.b.item()], [a, b], rtol=1e-5)
    narrow = rng.beta(3e8, 1e8, size=(20_000, 1))
    ml = Beta.ml(Beta.facts(narrow, np.ones((20_000, 1))))
    assert_allclose([ml.a.item(), ml.b.item()], [3e8, 1e8], rtol=5 * np.sqrt(2 / 20_000))


def test_samples_of_tiny_shapes_stay_inside(rng):
    x = Beta(1e-4, 1e-4).sample(rng, 1000)
    assert np.all((x > 0) & (x < 1))
    assert abs((x < 0.5).mean() - 0.5) < 0.08


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


# -- discrete families -------------------------------------------------------------------------------------------------


def test_bernoulli_densities_are_accurate_near_probability_one():
    assert_allclose(Bernoulli(800.0).log_density([0, 1]), [-800.0, 0.0])
    assert_array_equal(Bernoulli([-np.inf, np.inf]).log_density([[0], [1]]), [[0, -np.inf], [-np.inf, 0]])


def test_bernoulli_maximum_likelihood_of_constant_columns():
    facts = Bernoulli.facts([[0.0, 1.0, 1.0], [0.0, 1.0, 0.0]], np.ones((2, 1)))
    ml = Bernoulli.ml(facts)
    assert_array_equal(ml.log_odds, [[-np.inf, np.inf, 0.0]])
    rows = [[0, 1, 1], [1, 1, 1], [0, 0, 1], [np.nan, np.nan, 0]]
    assert_allclose(ml.log_density_sum(rows), [[np.log(0.5)], [-np.inf], [-np.inf], [np.log(0.5)]])


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
    assert distribution.log_density([1.5, -0.5, 0.0]) == -np.inf
    fractional = (
        special.gammaln(3) - special.gammaln(1.5) - special.gammaln(2.5) + 0.5 * np.log(P[0]) + 1.5 * np.log(P[1])
    )
    assert_allclose(distribution.log_density([0.5, 1.5, 0.0]), fractional, rtol=1e-12)


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


def test_a_rate_of_zero_allows_zeros_only():
    assert Poisson(0.0).log_density([0.0, 1.0]).tolist() == [0.0, -np.inf]
    ml = Poisson.ml(Poisson.facts([[0.0], [0.0], [3.0]], [[1.0, 0], [1, 0], [0, 1]]))
    assert_allclose(ml.log_density_sum([[0.0], [1.0]]), [[0.0, -3.0], [-np.inf, np.log(3) - 3]])


def test_the_weak_prior_of_a_rate_is_proper_without_events():
    facts = Poisson.facts(np.zeros((9, 1)), np.ones((9, 1)))
    assert_allclose(GammaPoisson.weak(facts).shape, 0.1)
    assert Poisson.weak_prior(facts).updated(facts).predictive().log_density(1.0) > -np.inf
