import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from separatrix.exceptions import DataError
from separatrix.families import DirichletMultinomial, FactsError, Multinomial

P = np.array([0.2, 0.5, 0.3])
ROWS = np.array([[2.0, 0.0, 3.0], [0.0, 0.0, 0.0], [1.0, 7.0, 1.0]])


def test_against_scipy():
    distribution = Multinomial.of_mean_u(5 * P)
    expected = [stats.multinomial(int(row.sum()), P).logpmf(row) for row in ROWS]
    assert_allclose(distribution.log_density(ROWS), expected, rtol=1e-12, atol=1e-14)
    assert_allclose(distribution.variance, stats.multinomial(5, P).cov(), rtol=1e-12)
    assert distribution.log_density([0.5, 0.5, 0.0]) == -np.inf


def test_a_word_never_seen_forbids_the_class_under_maximum_likelihood():
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


def test_marginal_is_an_integral_over_the_simplex():
    alpha = np.array([1.5, 2.0, 1.2])
    rows = np.array([[1.0, 0.0, 1.0], [0.0, 2.0, 0.0]])

    def joint(b, a):
        mu = np.array([a, b, 1 - a - b])
        likelihood = np.prod([stats.multinomial(2, mu).pmf(row) for row in rows])
        return likelihood * stats.dirichlet(alpha).pdf(mu)

    nodes, weights = np.polynomial.legendre.leggauss(24)
    a = (nodes + 1) / 2
    Z = sum(
        wa * wb / 4 * (1 - ai) * joint((1 - ai) * bj, ai)
        for ai, wa in zip(a, weights, strict=True)
        for bj, wb in zip(a, weights, strict=True)
    )
    prior = DirichletMultinomial(alpha[None])
    assert_allclose(prior.log_marginal(Multinomial.facts(rows, np.ones((2, 1)))), np.log(Z), rtol=1e-4)


def test_sampled_rows_have_the_trials_and_moments_of_the_model(rng):
    rows = Multinomial.of_mean_u(np.array([2.0, 5.0, 3.0])).sample(rng, 4000)
    assert (rows.sum(axis=-1) == 10).all()
    assert_allclose(rows.mean(axis=0), [2, 5, 3], atol=5 * np.sqrt(10 / 4 / 4000))
    alpha = np.array([1.0, 2.0, 3.0])
    rows = DirichletMultinomial(alpha, 10.0).predictive().sample(rng, 4000)
    theory = stats.dirichlet_multinomial(alpha, 10)
    assert_allclose(rows.mean(axis=0), theory.mean(), atol=5 * np.sqrt(theory.cov().max() / 4000))


def test_bad_input():
    with pytest.raises(DataError, match="Column 'w2' has 1 missing values \\(NaN\\), but the columns are parts"):
        Multinomial.check_support(np.array([[1.0, np.nan]]), ("w1", "w2"))
    with pytest.raises(DataError, match="missing"):
        Multinomial.facts(np.array([[1.0, np.nan]]), np.ones((1, 1)))
    with pytest.raises(DataError, match="Column 'w1' holds 0.5 where counts are whole numbers"):
        Multinomial.check_support(np.array([[0.5, 1.0]]), ("w1", "w2"))
    with pytest.raises(FactsError, match="no counts above zero in class 1"):
        Multinomial.ml(Multinomial.facts(ROWS[:2], np.eye(2)))
