"""Moments of columns against sums over dense rows, however the rows are stored and wherever they lie."""

from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
import pytest
from scipy import sparse

from separatrix.rows import Block
from separatrix.stats.columns import column_moments

N, M = 300, 4
STORES = {"dense": np.asarray, "csr": sparse.csr_array}


def rows(rng, offset=0.0):
    X = rng.normal(size=(N, M)) * (rng.random((N, M)) < 0.2)
    X[:, 0] = offset + rng.normal(size=N)
    X[:, 3] = 0.0
    return X


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e7])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("compiled", [False, True])
def test_means_and_squares_are_those_of_the_dense_rows(store, offset, weighted, compiled, rng, monkeypatch):
    for module in ("columns", "moments"):
        monkeypatch.setattr(f"separatrix.stats.{module}.COMPILED_FROM", 0 if compiled else np.inf)
    X = rows(rng, offset)
    weight = rng.random(N) * (rng.random(N) < 0.8) if weighted else None
    w = np.ones(N) if weight is None else weight
    cuts = [0, 90, 90, 200, N]
    parts = [
        column_moments(Block(STORES[store](X[a:b]), None, None if weight is None else weight[a:b], range(a, b)))
        for a, b in pairwise(cuts)
    ]
    found = reduce(add, parts)
    mean = np.average(X - X[0], axis=0, weights=w) + X[0]
    assert found.total == pytest.approx(w.sum())
    np.testing.assert_allclose(found.mean[0], mean, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(found.scatter.squares[0], w @ (X - mean) ** 2, rtol=1e-9, atol=1e-25)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("store", STORES)
def test_a_value_that_is_no_number_shows_in_its_own_column_alone(bad, store, rng):
    X = rows(rng)
    X[7, 1] = bad
    found = column_moments(Block(STORES[store](X), None, None, range(N)))
    np.testing.assert_array_equal(np.isfinite(found.scatter.squares[0]), [True, False, True, True])


def test_sparse_rows_of_single_precision_are_summed_in_double(rng):
    X = (1e5 + rng.normal(size=(N, 2))).astype(np.float32)
    found = column_moments(Block(sparse.csr_array(X), None, None, range(N)))
    np.testing.assert_allclose(found.mean[0], X.astype(float).mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(found.scatter.squares[0], N * X.astype(float).var(axis=0), rtol=1e-10)
