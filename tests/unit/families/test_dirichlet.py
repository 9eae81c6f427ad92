import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from separatrix.exceptions import DataError
from separatrix.families import Beta, ConjugateBeta, ConjugateDirichlet, Dirichlet, FactsError
from separatrix.families.dirichlet import log_gamma_draws

ALPHA = np.array([0.4, 2.0, 5.0])
ROWS = np.array([[0.2, 0.3, 0.5], [1e-10, 0.4, 0.6 - 1e-10], [0.05, 0.9, 0.05]])


def test_against_scipy():
    ours, theirs = Dirichlet(ALPHA), stats.dirichlet(ALPHA)
    assert_allclose(ours.log_density(ROWS), [theirs.logpdf(row) for row in ROWS], rtol=1e-10)
    assert_allclose(ours.mean, theirs.mean())
    assert_allclose(ours.variance, theirs.cov(), rtol=1e-12)
    assert ours.log_density([[0.5, 0.5, 0.5], [0.0, 0.5, 0.5]]).tolist() == [-np.inf, -np.inf]


def test_two_shares_are_a_beta():
    x = np.array([0.1, 0.7])
    both = np.stack([x, 1 - x], axis=-1)
    assert_allclose(Dirichlet([2.0, 3.0]).log_density(both), Beta(2.0, 3.0).log_density(x), rtol=1e-13)
    prior = ConjugateDirichlet(2.0, [0.4, 0.6], [0.8, 0.5])
    same = ConjugateBeta(2.0, [0.4, 0.6], [0.8, 0.5])
    assert_allclose(prior.predictive().log_density(both), same.predictive().log_density(x), rtol=1e-13)


def test_ml_is_the_root_of_the_likelihood_equations_and_of_narrow_shares(rng):
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


def test_log_gamma_draws_have_the_moments_of_ln_gamma(rng):
    draws = log_gamma_draws(rng, np.array([1e-6, 2.0]), (20_000, 2))
    assert_allclose(draws[:, 0].mean() * 1e-6, -1.0, atol=0.05)  # psi(1e-6) = -1e6
    expected = stats.loggamma(2.0)
    assert_allclose(draws[:, 1].mean(), expected.mean(), atol=5 * expected.std() / np.sqrt(20_000))


def test_bad_input():
    with pytest.raises(DataError, match=r"Row 1 of columns 'a' .. 'b' sums to 0.9, but shares sum to 1"):
        Dirichlet.check_support(np.array([[0.5, 0.5], [0.5, 0.4]]), ("a", "b"))
    with pytest.raises(DataError, match="Column 'b' holds 0 where shares lie between 0 and 1"):
        Dirichlet.check_support(np.array([[1 - 1e-9, 0.0]]), ("a", "b"))
    with pytest.raises(DataError, match="Column 'a' has 1 missing values \\(NaN\\)"):
        Dirichlet.check_support(np.array([[np.nan, 0.5]]), ("a", "b"))
    with pytest.raises(FactsError, match="all values are equal in class 0;"):
        Dirichlet.ml(Dirichlet.facts([[0.5, 0.5]], np.ones((1, 1))))
