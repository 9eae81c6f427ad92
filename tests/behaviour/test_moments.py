"""Moments of classes and columns equal plain sums, however the rows are stored; errors name the columns."""

import tracemalloc
from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.metrics import confusion_matrix

from problems import blobs
from separatrix.exceptions import DataError
from separatrix.files import scan
from separatrix.rows import Block, as_source
from separatrix.stats import (
    ClassScatter,
    DiagonalScatter,
    FactoredScatter,
    PooledScatter,
    class_moments,
    collect_moments,
    column_moments,
    confusion,
    extent,
    require_finite,
    require_squares,
)
from separatrix.stats.moments import gram

STORES = {"dense": np.asarray, "csr": sparse.csr_array}


def test_total_scatter_is_within_plus_between():
    """PRML (4.45)."""
    X, y = blobs(90)
    moments = collect_moments(as_source(X, y), 3, PooledScatter)
    B = moments.between
    S_T = np.cov(X.T, ddof=0) * 90
    assert_allclose(moments.scatter.matrix + B.T @ B, S_T, rtol=1e-9)
    assert_allclose(moments.grand_mean, X.mean(axis=0), rtol=1e-12)
    assert moments.total == 90


def test_fewer_rows_than_columns_are_kept_as_rows():
    X, y = np.random.default_rng(0).normal(size=(6, 50)), np.arange(6) % 2
    moments = collect_moments(as_source(X, y), 2, ClassScatter)
    assert isinstance(moments.scatter, FactoredScatter)
    assert moments.scatter.rows.shape == (6, 50)


def test_factors_give_the_combinations_and_spreads_of_dense_scatters():
    bounds = np.array([0, 4, 4, 10])  # three classes, the middle one without rows
    Z = np.random.default_rng(0).normal(size=(10, 3))
    classes, factored = ClassScatter.of(Z, bounds), FactoredScatter.of(Z, bounds)
    factor, w = np.array([0.5, 9.0, 2.0]), np.array([1.0, -2.0, 0.3])
    F = factored.combined(factor)
    assert_allclose(F.T @ F, classes.combined(factor), rtol=1e-12)
    assert_allclose(factored.spread(w), classes.spread(w), rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("offset", [0.0, 1e7])
def test_compiled_moments_of_a_large_block_equal_the_sum_of_small_blocks(dtype, order, weighted, offset, rng):
    n = 12_000
    X = np.asarray(offset + rng.normal(size=(n, 5)), dtype=dtype, order=order)
    X[:, 4] = offset  # a constant column has squares of exactly zero
    block = Block(X, rng.integers(4, size=n) % 3, rng.choice([0.0, 0.5, 2.0], n) if weighted else None, range(n))
    compiled = class_moments(block, 4, DiagonalScatter)  # class 3 has no rows
    spans = (np.arange(start, start + 3000) for start in range(0, n, 3000))
    plain = reduce(add, (class_moments(block.take(rows), 4, DiagonalScatter) for rows in spans))
    # The plain code subtracts in the precision of the rows, the compiled code in float64.
    tol = {"rtol": 2e-5, "atol": 2e-6} if dtype == "float32" else {"rtol": 1e-9, "atol": 1e-12}
    assert_allclose(compiled.count, plain.count)
    assert_allclose(compiled.mean, plain.mean, **tol)
    assert_allclose(compiled.scatter.squares, plain.scatter.squares, **tol)
    assert (compiled.scatter.squares[:, 4] == 0).all()


def columns_of(rng, n, offset=0.0):
    X = rng.normal(size=(n, 4)) * (rng.random((n, 4)) < 0.2)
    X[:, 0] = offset + rng.normal(size=n)
    X[:, 3] = 0.0
    return X


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("scatter", [PooledScatter, ClassScatter])
@pytest.mark.parametrize("layout", ["weighted", "sorted by class", "by column"])
@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_scatters_of_a_tall_block_equal_the_definition(dtype, scatter, layout, offset, rng):
    n, M = 60_000, 6
    t = rng.integers(3, size=n)
    t = np.sort(t) if layout == "sorted by class" else t
    X = np.asarray(offset + 1e3 * t[:, None] + rng.normal(size=(n, M)) @ rng.normal(size=(M, M)), dtype)
    X[:, 2] = offset  # constant
    w = rng.choice([0.0, 0.5, 2.0], n) if layout == "weighted" else np.ones(n)
    X = np.asfortranarray(X) if layout == "by column" else X
    found = class_moments(Block(X, t, w if layout == "weighted" else None, range(n)), 4, scatter)  # one class is empty
    want = []
    for k in range(3):
        rows, own = X[t == k].astype(float), w[t == k]
        mean = own @ rows / own.sum()
        want.append((own[:, None] * (rows - mean)).T @ (rows - mean))
        assert found.count[k] == pytest.approx(own.sum())
        assert_allclose(found.mean[k], mean, rtol=1e-7 if dtype == "float32" else 1e-12, atol=1e-7)
    total = found.scatter.array if scatter is PooledScatter else found.scatter.array[:3]
    expected = np.sum(want, axis=0) if scatter is PooledScatter else np.stack(want)
    unit = np.sqrt(np.einsum("...mm->...m", expected))
    close = 2e-5 if dtype == "float32" else 1e-10
    assert_allclose(total, expected, atol=close * (unit[..., :, None] * unit[..., None, :]).max())
    assert (total[..., 2, :] == 0).all() or layout == "by column"


@pytest.mark.parametrize("scatter", [DiagonalScatter, ClassScatter])
def test_a_first_row_far_away_with_a_tiny_weight_costs_no_digits(scatter, rng):
    n = 30_000
    X, w = rng.normal(size=(n, 4)), np.ones(n)
    X[0], w[0] = 1e6, 1e-18
    found = class_moments(Block(X, np.zeros(n, dtype=int), w, range(n)), 1, scatter).scatter.array[0]
    want = (w[:, None] * (X - w @ X / w.sum())).T @ (X - w @ X / w.sum())
    assert_allclose(found, np.diag(want) if scatter is DiagonalScatter else want, rtol=1e-10, atol=1e-10 * n)


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e7])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [300, 120_000])
def test_column_moments_equal_those_of_dense_rows(store, offset, weighted, n, rng):
    X = columns_of(rng, n, offset)
    weight = rng.random(n) * (rng.random(n) < 0.8) if weighted else None
    w = np.ones(n) if weight is None else weight
    parts = [
        column_moments(Block(STORES[store](X[a:b]), None, None if weight is None else weight[a:b], range(a, b)))
        for a, b in pairwise([0, 90, 90, 200, n])
    ]
    found = reduce(add, parts)
    mean = np.average(X - X[0], axis=0, weights=w) + X[0]
    assert found.total == pytest.approx(w.sum())
    assert_allclose(found.mean[0], mean, rtol=1e-14, atol=1e-14)
    assert_allclose(found.scatter.squares[0], w @ (X - mean) ** 2, rtol=1e-9, atol=1e-25)


@pytest.mark.parametrize("n", [50, 4000])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_gram_matrix_of_sparse_rows_is_that_of_dense_rows(n, weighted, rng):
    X = rng.normal(size=(n, 40)) * (rng.random((n, 40)) < 0.4)
    X[:, 7] = 0.0
    rows, weight = sparse.csr_array(X), rng.normal(size=n) if weighted else None
    rows.indices[: rows.indptr[1]] = rows.indices[: rows.indptr[1]][::-1]  # any order of the entries is accepted
    rows.data[: rows.indptr[1]] = rows.data[: rows.indptr[1]][::-1]
    want = X.T @ (X if weight is None else weight[:, None] * X)
    assert_allclose(gram(rows, weight), want, rtol=1e-12, atol=1e-12 * n)
    some = np.array([3, 7, 8, 39])
    assert_allclose(gram(rows, weight, some), want[np.ix_(some, some)], rtol=1e-12, atol=1e-12 * n)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_the_pooled_scatter_of_many_sparse_rows_is_that_of_dense_rows(offset, weighted, rng):
    X, y = sparse.random_array((20_000, 100), density=0.04, rng=rng).tolil(), rng.integers(3, size=20_000)
    X[:, [0]] = offset + rng.normal(size=(20_000, 1))  # far from zero, so that rows are centred before they are squared
    w = rng.random(20_000) if weighted else None
    found, want = (collect_moments(as_source(rows, y, w), 3, PooledScatter) for rows in (X.tocsr(), X.toarray()))
    assert_allclose(found.count, want.count, rtol=1e-12)
    assert_allclose(found.mean, want.mean, rtol=1e-12, atol=1e-15)
    assert_allclose(found.scatter.matrix, want.scatter.matrix, rtol=1e-9, atol=1e-7)


def test_the_memory_for_a_scatter_of_sparse_rows_does_not_grow_with_their_number(rng):
    """A matrix for each of many blocks would take more memory and time than the products of the rows."""
    X, y = sparse.random_array((90_000, 1000), density=0.01, rng=rng, format="csr"), rng.integers(2, size=90_000)
    source = as_source(X, y)
    collect_moments(source, 2, PooledScatter)  # loads compiled code, which needs memory too
    tracemalloc.start()
    collect_moments(source, 2, PooledScatter)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * 8 * 1000**2 + 4 * 8 * 90_000


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("n", [300, 60_000])
def test_a_value_that_is_not_finite_affects_only_its_column(bad, store, n, rng):
    X = columns_of(rng, n)
    X[7, 1] = bad
    found = column_moments(Block(STORES[store](X), None, None, range(n)))
    np.testing.assert_array_equal(np.isfinite(found.scatter.squares[0]), [True, False, True, True])


def test_the_extent_of_dense_and_sparse_rows(rng):
    X = np.where(rng.random((40, 3)) < 0.3, rng.normal(size=(40, 3)), 0.0)
    for rows in (X, sparse.csr_array(X), X.astype(np.float32)):
        reach = extent(Block(rows, None, None, range(40)))
        assert_allclose(reach.low, X.min(axis=0), rtol=1e-6)
        assert_allclose(reach.high, X.max(axis=0), rtol=1e-6)
        assert_allclose(reach.radius, np.linalg.norm(X, axis=1).max(), rtol=1e-6)


def test_the_confusion_matrix_equals_that_of_scikit_learn(rng):
    t, guess, weight = rng.integers(3, size=50), rng.integers(3, size=50), rng.random(50)
    block = Block(np.zeros((50, 1)), t, weight, range(50))
    assert_allclose(confusion(block, guess, 3).count, confusion_matrix(t, guess, sample_weight=weight))


def test_an_error_names_at_most_eight_columns():
    X = np.zeros((10, 12))
    require_finite(as_source(X))
    with pytest.raises(DataError, match="Sums over the rows overflow"):
        require_squares(as_source(X))
    X[2:5] = np.nan
    with pytest.raises(DataError, match=r"'x0' \(3 of 10 rows\), .*'x7' .* and 4 more columns"):
        require_finite(as_source(X))


@pytest.mark.parametrize(("allow_nan", "n_kept"), [(False, 6), (True, 8)])
def test_the_suggested_condition_drops_exactly_the_rows_that_are_refused(allow_nan, n_kept):
    pa, _ = pytest.importorskip("pyarrow"), pytest.importorskip("duckdb")
    table = pa.table({'a "b"': [1.0, 2.0, np.inf, np.nan, None, -np.inf, 3.0, 4.0, 5.0, 6.0]})

    def source(where):
        return scan(table, where=where).open_rows(None)

    with pytest.raises(DataError, match="where='") as raised:
        require_finite(source(None), allow_nan=allow_nan)
    kept = source(str(raised.value).split("where='")[1].split("'), or")[0])
    require_finite(kept, allow_nan=allow_nan)
    assert kept.n_rows == n_kept
