"""A restricted fit is the fit of a smaller model."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse

from separatrix._array import to_dense
from separatrix.discriminative import GeneralizedLinearModel
from separatrix.discriminative.restricted import fit_restricted, foretold, held, restrict
from separatrix.rows import as_source


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3)) + 2.0
    return X, rng.poisson(np.exp(0.2 * X[:, 0])).astype(float)


def full(problem, **settings):
    return GeneralizedLinearModel("poisson", tol=1e-11, **settings).fit(*problem)._fit


def test_a_column_held_at_a_value_is_an_offset(problem):
    X, y = problem
    fit = full(problem)
    value = np.array([0.37])
    deviance, w = fit_restricted(fit, [1], value, foretold(fit, [1], value))
    smaller = GeneralizedLinearModel("poisson", tol=1e-11).fit(X[:, [0, 2]], y, offset=0.37 * X[:, 1])
    assert deviance == pytest.approx(smaller.deviance_, rel=1e-12)
    np.testing.assert_allclose(w, [smaller.coef_[0], 0.37, smaller.coef_[1], smaller.intercept_], rtol=1e-7)


def test_an_intercept_held_at_zero_is_a_fit_without_one(problem):
    X, y = problem
    fit = full(problem)
    deviance, w = fit_restricted(fit, [0, 3], np.zeros(2), foretold(fit, [0, 3], np.zeros(2)))
    smaller = GeneralizedLinearModel("poisson", tol=1e-11, fit_intercept=False).fit(X[:, 1:], y)
    assert deviance == pytest.approx(smaller.deviance_, rel=1e-12)
    np.testing.assert_allclose(w[[1, 2]], smaller.coef_, rtol=1e-7)


def test_with_every_coefficient_held_nothing_is_left_to_fit(problem):
    _, y = problem
    fit = full(problem)
    deviance, w = fit_restricted(fit, [0, 1, 2, 3], np.zeros(4), np.zeros(4))
    assert deviance == pytest.approx(fit.likelihood.response.deviance(y, np.ones(80)).sum())
    np.testing.assert_array_equal(w, 0.0)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_held_columns_are_an_offset_in_every_verb(problem, storage):
    X, y = problem
    offset = np.arange(80.0)
    rows = as_source(storage(X)).with_numbers(y, None, offset)
    view = partial(held, free=np.array([0, 2]), fixed=np.array([1]), values=np.array([0.5]), constant=2.0)
    source = rows.viewed(view, ("x0", "x2")).sized_for(10)
    seen = source.fold(lambda blocks, block: [*blocks, block], [])
    np.testing.assert_array_equal(to_dense(seen[0].X), X[:, [0, 2]])
    np.testing.assert_allclose(seen[0].offset, offset + 0.5 * X[:, 1] + 2.0)
    np.testing.assert_allclose(source.map(lambda Z: np.asarray(Z.sum(axis=1)).ravel()), X[:, [0, 2]].sum(axis=1))
    assert source.reduce(len) == source.n_rows == 80
    assert source.columns == ("x0", "x2")


def test_starts_and_coefficients_are_each_others_inverse(problem):
    for fixed in ([1], [3], [0, 3]):
        model = restrict(full(problem), fixed, np.full(len(fixed), 0.4))
        w = np.array([0.1, 0.2, 0.3, 0.5])
        w[fixed] = 0.4
        np.testing.assert_allclose(model.all_of(model.start(w)), w, atol=1e-14)
        assert model.posterior.shape == (1, 4 - len(fixed))


def test_the_foretold_fit_is_exact_for_the_normal_model(problem):
    X, y = problem
    fit = GeneralizedLinearModel().fit(X, y)._fit
    value = np.array([0.3])
    near = foretold(fit, [2], value)
    np.testing.assert_allclose(fit_restricted(fit, [2], value, near)[1], near, rtol=1e-8)


def test_where_nothing_is_likely_there_is_no_fit(problem):
    X, y = problem
    fit = GeneralizedLinearModel("gamma").fit(X, y + 1)._fit
    assert fit_restricted(fit, [0, 1], np.array([-1e6, 0.0]), fit.coefficients) is None
