import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special, stats

from separatrix.exceptions import DataError
from separatrix.families import Categorical, DirichletCategorical, FactsError

X = np.array([[0.0, 1.0], [2.0, 0.0], [2.0, 1.0], [1.0, np.nan]])
R = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])


def test_probabilities_are_shares_of_counts_in_ragged_columns():
    ml = Categorical.ml(Categorical.facts(X, R))
    assert_allclose(ml.probability, [[[0.5, 0, 0.5], [0.5, 0.5, 0]], [[0, 0.5, 0.5], [0, 1, 0]]])
    assert_array_equal(
        np.isneginf(ml.log_density_sum([[0.0, 0.0], [2.0, 1.0], [5.0, 1.0], [np.nan, 1.0]])),
        [[False, True], [False, False], [True, True], [False, False]],
    )


def test_a_level_never_seen_gets_the_pseudo_count():
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


def test_the_marginal_sums_to_one_over_all_sequences():
    prior = DirichletCategorical.symmetric(0.4, [3])
    total = 0.0
    for codes in itertools.product(range(3), repeat=4):
        total += np.exp(prior.log_marginal(Categorical.facts(np.array(codes, float)[:, None], np.ones((4, 1))))).item()
    assert total == pytest.approx(1.0, rel=1e-12)


def test_bad_codes_and_levels():
    with pytest.raises(DataError, match="Column 'colour' holds -1 where category codes are whole numbers from 0"):
        Categorical.check_support(np.array([[-1.0]]), ("colour",))
    with pytest.raises(FactsError, match="a code that the prior has no level for in class 0, column 1"):
        DirichletCategorical.symmetric(1.0, [4, 2]).updated(Categorical.facts([[3.0, 2.0]], [[1.0]]))
    with pytest.raises(FactsError, match="no values at all in column 0"):
        DirichletCategorical.weak(Categorical.facts([[np.nan]], [[1.0]]))
