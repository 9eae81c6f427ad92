import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from separatrix.exceptions import DataError
from separatrix.families import (
    FactsError,
    MultivariateNormal,
    MultivariateT,
    Normal,
    NormalGamma,
    NormalWishart,
    SingularFactsError,
)

MEAN = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, -1.0]])
COVARIANCE = np.array([[[2.0, 0.5, 0.1], [0.5, 1.0, -0.3], [0.1, -0.3, 3.0]], np.eye(3)])


def test_against_scipy(rng):
    x = rng.normal(size=(7, 3))
    ours = MultivariateNormal(MEAN, COVARIANCE)
    expected = [stats.multivariate_normal(m, S).logpdf(x) for m, S in zip(MEAN, COVARIANCE, strict=True)]
    assert_allclose(ours.log_density_sum(x), np.transpose(expected), rtol=1e-12)
    assert_allclose(ours.log_density(x[:, None]), np.transpose(expected), rtol=1e-12)


def test_t_against_scipy(rng):
    x = rng.normal(size=(7, 3))
    ours = MultivariateT(4.5, MEAN[0], COVARIANCE[0])
    assert_allclose(ours.log_density(x), stats.multivariate_t(MEAN[0], COVARIANCE[0], df=4.5).logpdf(x), rtol=1e-12)


def test_units_do_not_matter(rng):
    x, units = rng.normal(size=(40, 3)), np.array([1e-120, 1.0, 1e120])
    R = np.ones((40, 1))
    a, b = MultivariateNormal.facts(x, R), MultivariateNormal.facts(x * units, R)
    for fit in (MultivariateNormal.ml, lambda f: MultivariateNormal.weak_prior(f).updated(f).predictive()):
        before, after = fit(a).log_density_sum(x), fit(b).log_density_sum(x * units)
        assert_allclose(before - np.log(units).sum(), after, rtol=1e-9)


def test_one_column_is_the_normal_family(rng):
    x, R = rng.normal(size=(20, 1)), np.ones((20, 1))
    wishart = NormalWishart([0.3], 1.5, 4.0, [[1.6]])  # Gamma(dof/2, psi/2)
    gamma = NormalGamma(0.3, 1.5, 2.0, 0.8)
    matrix, column = MultivariateNormal.facts(x, R), Normal.facts(x, R)
    assert_allclose(wishart.log_marginal(matrix), gamma.log_marginal(column)[:, 0], rtol=1e-12)
    assert_allclose(
        wishart.updated(matrix).predictive().log_density_sum(x),
        gamma.updated(column).predictive().log_density_sum(x),
        rtol=1e-12,
    )
    assert_allclose(wishart.updated(matrix).mode.covariance[:, 0], gamma.updated(column).mode.variance, rtol=1e-12)
    assert_allclose(MultivariateNormal.weak_prior(matrix).scatter[0], 2 * Normal.weak_prior(column).rate, rtol=1e-12)


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


def test_samples_have_the_covariance(rng):
    x = MultivariateNormal(MEAN, COVARIANCE).sample(rng, 20_000)
    assert x.shape == (20_000, 2, 3)
    assert_allclose(np.cov(x[:, 0].T), COVARIANCE[0], atol=5 * 3 * np.sqrt(2 / 20_000))
    t = MultivariateT(9.0, MEAN[0], COVARIANCE[0]).sample(rng, 20_000)
    assert_allclose(np.cov(t.T), COVARIANCE[0] * 9 / 7, atol=0.25)


def test_bad_input():
    with pytest.raises(DataError, match="Column 'b' has 1 missing values \\(NaN\\)"):
        MultivariateNormal.check_support(np.array([[1.0, np.nan]]), ("a", "b"))
    with pytest.raises(ValueError, match="dof must be above D - 1"):
        NormalWishart([0.0, 0.0], 1.0, 0.5, np.eye(2))
    with pytest.raises(ValueError, match=r"dof must be above D \+ 2 for a mode"):
        _ = NormalWishart([0.0, 0.0], 1.0, 3.0, np.eye(2)).mode
