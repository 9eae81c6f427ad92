"""Sums that once came out wrong: columns of all sizes in single precision, and sparse rows far from zero."""

import numpy as np
import pytest
from scipy import sparse

from separatrix import LogisticRegression
from separatrix.likelihoods import Logit, Softmax
from separatrix.rows import Block, as_source
from separatrix.solvers.posterior import survey
from separatrix.stats import require_squares
from separatrix.stats.objective import Design, value_grad, value_grad_hess

N, M = 200, 4


def targets(n_outputs, rng):
    return rng.integers(max(2, n_outputs), size=N)


def likelihood_of(n_outputs):
    return Logit() if n_outputs == 1 else Softmax(n_outputs)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", [1e18, 1e-28])
def test_a_hessian_in_single_precision_is_that_of_columns_of_unit_size(
    compiled, n_outputs, dtype, size, rng, monkeypatch
):
    monkeypatch.setattr("separatrix.stats.design.COMPILED_FROM", 0 if compiled else np.inf)
    X, units = rng.normal(size=(N, M)), np.array([size, 1.0, 1 / size, 1.0])
    t, theta = targets(n_outputs, rng), rng.normal(size=(n_outputs, M + 1))
    design = Design(np.full(M, 0.5), bias=True, spread=np.ones(M))
    scaled = Design(0.5 * units, bias=True, spread=units)
    expected = value_grad_hess(Block(X, t, None, range(N)), theta, likelihood_of(n_outputs), design).hess
    with np.errstate(over="raise", under="ignore"):
        found = value_grad_hess(
            Block((X * units).astype(dtype), t, None, range(N)),
            theta / np.append(units, 1.0),
            likelihood_of(n_outputs),
            scaled,
            single=True,
        ).hess
    every = np.tile(np.append(units, 1.0), n_outputs)
    np.testing.assert_allclose(found / every / every[:, None], expected, atol=2e-6 * N)


@pytest.mark.parametrize("weight", [1e-200, 1e200])
def test_a_hessian_in_single_precision_takes_weights_of_any_size(weight, rng):
    X, t, theta = rng.normal(size=(N, M)), targets(1, rng), rng.normal(size=(1, M + 1))
    design = Design(np.zeros(M), bias=True)
    expected = value_grad_hess(Block(X, t, None, range(N)), theta, Logit(), design).hess
    heavy = Block(X, t, np.full(N, weight), range(N))
    found = value_grad_hess(heavy, theta, Logit(), design, single=True).hess
    np.testing.assert_allclose(found / weight, expected, atol=1e-6 * N)
    none = value_grad_hess(Block(X, t, np.zeros(N), range(N)), theta, Logit(), design, single=True).hess
    np.testing.assert_array_equal(none, 0.0)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("distance", [1e6, 1e8])
def test_sparse_rows_far_from_zero_keep_their_digits(compiled, n_outputs, distance, rng, monkeypatch):
    monkeypatch.setattr("separatrix.stats.design.COMPILED_FROM", 0 if compiled else np.inf)
    Z = np.round(rng.normal(size=(N, M)), 2) * (rng.random((N, M)) < [1.0, 0.1, 0.5, 1.0])
    far = Z + np.array([distance, 0.0, 0.0, -distance])
    t, theta = targets(n_outputs, rng), rng.normal(size=(n_outputs, M + 1))
    dense = Block(Z, t, None, range(N))
    csr = Block(sparse.csr_array(far), t, None, range(N))
    spread, origin = Z.std(axis=0), np.array([distance, 0.0, 0.3, -distance])
    near = Design(origin - [distance, 0.0, 0.0, -distance], bias=True)
    moved = Design(origin, bias=True, spread=spread)
    np.testing.assert_array_equal(moved.far(), [distance, 0.0, 0.0, -distance])
    expected = value_grad_hess(dense, theta, likelihood_of(n_outputs), near)
    found = value_grad_hess(csr, theta, likelihood_of(n_outputs), moved)
    rounding = 1e-15 * distance
    np.testing.assert_allclose(found.value, expected.value, rtol=10 * rounding)
    np.testing.assert_allclose(found.grad, expected.grad, atol=10 * rounding * N)
    np.testing.assert_allclose(found.hess, expected.hess, atol=10 * rounding * N)
    np.testing.assert_array_equal(value_grad(csr, theta, likelihood_of(n_outputs), moved).grad, found.grad)


@pytest.mark.parametrize("offset", [1e6, 1e7, 1e9])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_sparse_column_far_from_zero_is_no_constant(offset, alpha, rng):
    X = np.round(rng.normal(size=(500, 5)), 3)
    t = (X[:, 0] + rng.logistic(size=500) > 0).astype(int)
    X[:, 0] += offset
    dense = LogisticRegression(alpha).fit(X, t)
    csr = LogisticRegression(alpha).fit(sparse.csr_array(X), t)
    assert csr.coef_[0, 0] > 0.3
    np.testing.assert_allclose(csr.coef_, dense.coef_, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("store", [np.asarray, np.float32, sparse.csr_array], ids=["dense", "float32", "csr"])
@pytest.mark.parametrize("level", [3.7, 1e9])
def test_what_is_constant_is_what_the_survey_found_to_be(store, level, rng):
    X = store(np.column_stack([rng.normal(size=N), np.full(N, level), np.zeros(N)]))
    units = survey(as_source(X), fit_intercept=True)
    np.testing.assert_array_equal(units.spread > 0, [True, False, False])
    block = Block(X, targets(1, rng), None, range(N))
    hess = value_grad_hess(
        block, rng.normal(size=(1, 4)) * [1, 0, 0, 1], Logit(), units.design(fit_intercept=True)
    ).hess
    np.testing.assert_array_equal(hess.any(axis=0), [True, False, False, True])


def test_columns_that_can_be_squared_are_not_blamed(rng):
    require_squares(as_source(rng.normal(size=(N, M))))


@pytest.mark.parametrize("store", [np.asarray, np.asfortranarray, sparse.csr_array], ids=["rows", "columns", "csr"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("compiled", [False, True])
def test_predictions_from_single_precision_keep_what_the_fit_kept(store, n_classes, compiled, rng, monkeypatch):
    monkeypatch.setattr("separatrix.stats.design.COMPILED_FROM", 0 if compiled else np.inf)
    X = (1e5 + rng.normal(size=(N, M))).astype(np.float32)
    t = ((X - 1e5) @ rng.normal(size=(M, n_classes)) + rng.gumbel(size=(N, n_classes))).argmax(axis=1)
    model = LogisticRegression(0.1).fit(X, t)
    expected = X.astype(np.float64) @ model.coef_.T + model.intercept_
    found = model.decision_function(store(X))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found.reshape(expected.shape), expected, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(store(X)), model.predict_proba(X.astype(np.float64)), atol=1e-9)
