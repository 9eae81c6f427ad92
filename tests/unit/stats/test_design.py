"""Regressors (x - c, 1) written out, against the products that never write them out."""

import numpy as np
import pytest
from scipy import sparse

from separatrix.rows import Block
from separatrix.stats.design import Design, dots

N, M = 80, 5
STORES = {"dense": np.asarray, "columns": np.asfortranarray, "float32": np.float32, "csr": sparse.csr_array}


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("compiled", [False, True])
def test_products_are_those_with_the_regressors(store, bias, known, compiled, rng, monkeypatch):
    monkeypatch.setattr("separatrix.stats.design.COMPILED_FROM", 0 if compiled else np.inf)
    X = np.round(rng.normal(size=(N, M)) * (rng.random((N, M)) < 0.6), 2).astype(np.float32).astype(np.float64)
    design = Design(rng.normal(size=M) if bias else np.zeros(M), bias, spread=X.std(axis=0) if known else None)
    Phi = np.column_stack([X - design.origin, np.ones((N, int(bias)))])
    block = Block(STORES[store](X), None, None, range(N), offset=rng.normal(size=N))
    np.testing.assert_allclose(design.regressors(block.X), Phi, atol=1e-6)
    for C in (1, 3):
        theta, slope = rng.normal(size=(C, design.width)), np.squeeze(rng.normal(size=(N, C)))
        a = design.activate(block, theta).reshape(N, C)
        np.testing.assert_allclose(a, Phi @ theta.T + block.offset[:, None], atol=1e-12)
        np.testing.assert_allclose(design.collect(block, slope), np.atleast_2d(slope.T) @ Phi, atol=1e-11)
    for weight in (rng.random(N), rng.normal(size=N)):
        tolerance = 1e-4 if store == "float32" else 1e-11
        np.testing.assert_allclose(design.gram(block, weight), (Phi.T * weight) @ Phi, atol=tolerance)
        np.testing.assert_allclose(design.gram(block, weight, single=True), (Phi.T * weight) @ Phi, atol=1e-4)


def test_only_columns_known_to_be_far_from_zero_are_far():
    origin, spread = np.array([1e7, 1e7, 1e3, -1e9, 1e7]), np.array([1.0, 1e3, 1.0, 2.0, 0.0])
    np.testing.assert_array_equal(Design(origin, True, spread=spread).far(), [1e7, 0.0, 0.0, -1e9, 0.0])
    np.testing.assert_array_equal(Design(origin, True).far(), np.zeros(5))


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("compiled", [False, True])
def test_dots_are_summed_in_double_precision(store, compiled, rng, monkeypatch):
    monkeypatch.setattr("separatrix.stats.design.COMPILED_FROM", 0 if compiled else np.inf)
    X = STORES[store]((1e5 + rng.normal(size=(N, M))).astype(np.float32))
    w = rng.normal(size=M)
    found = dots(X, w)
    assert found.dtype == np.float64
    exact = (X.toarray() if sparse.issparse(X) else X).astype(np.float64) @ w
    np.testing.assert_allclose(found, exact, rtol=1e-13, atol=1e-9)
