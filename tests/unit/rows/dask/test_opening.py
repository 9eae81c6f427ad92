"""Dask collections as tables to fit."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris

import separatrix as sx
from problems import blobs
from separatrix.exceptions import DataError
from separatrix.rows import open_rows
from separatrix.rows.dask.opening import OpenedDask

X, y = blobs()


def test_what_dask_made_is_opened_here():
    assert isinstance(open_rows(da.ones((4, 2))), OpenedDask)
    assert open_rows(da.ones((4, 2), chunks=3)).n_rows == 4


def test_rows_are_not_counted_before_someone_asks():
    def forbidden(graph, keys, **options):
        raise AssertionError("something was computed")

    lazy = da.ones((4, 2), chunks=2)
    with dask.config.set(scheduler=forbidden):
        assert open_rows(lazy[lazy[:, 0] > 0]).rows().columns == ("x0", "x1")


def test_names_are_kept():
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = sx.LinearDiscriminantAnalysis().fit(dd.from_pandas(frame, npartitions=3), y)
    assert model.feature_names_in_.tolist() == list("abcd")


def test_rows_left_after_a_filter_are_fitted():
    lazy, labels = da.from_array(X, chunks=(50, 4)), da.from_array(y, chunks=75)
    keep = lazy[:, 0] > 0
    found = sx.LogisticRegression().fit(lazy[keep], labels[keep])
    expected = sx.LogisticRegression().fit(X[X[:, 0] > 0], y[X[:, 0] > 0])
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-8)


def test_partitions_of_one_class_each_or_of_no_row():
    order = np.argsort(y, kind="stable")
    ends = np.cumsum(np.bincount(y))
    sizes = (int(ends[0]), 0, int(ends[1] - ends[0]), int(ends[2] - ends[1]))
    lazy = da.from_array(X[order], chunks=(sizes, 4))
    found = sx.QuadraticDiscriminantAnalysis().fit(lazy, da.from_array(y[order], chunks=(sizes,)))
    np.testing.assert_allclose(found.means_, sx.QuadraticDiscriminantAnalysis().fit(X, y).means_, rtol=1e-12)


def test_sparse_chunks():
    counts = sparse.random(200, 30, density=0.1, format="csr", random_state=0)
    labels = np.arange(200) % 2
    lazy = da.from_array(counts.toarray(), chunks=(60, 30)).map_blocks(sparse.csr_matrix)
    found, expected = (sx.LogisticRegression().fit(rows, labels) for rows in (lazy, counts))
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-8)


def test_whole_numbers_booleans_and_single_precision():
    rows = (X > 0).astype(float)
    expected = sx.LogisticRegression().fit(rows, y).coef_
    for kind in (bool, np.int16, np.float32):
        found = sx.LogisticRegression().fit(da.from_array(rows.astype(kind), chunks=(90, 4)), y)
        np.testing.assert_allclose(found.coef_, expected, rtol=1e-6)


@pytest.mark.parametrize("empty", [da.ones((0, 3)), da.ones((6, 3), chunks=2)[da.zeros(6, chunks=2) > 0]])
def test_a_collection_without_rows_is_an_error(empty):
    with pytest.raises(DataError, match="0 sample"):
        sx.LogisticRegression().fit(empty, np.array([0, 1]))


def test_nan_is_traced_to_its_column():
    broken = X.copy()
    broken[7, 1] = np.nan
    with pytest.raises(DataError, match=r"column 'x1' \(1 of 300 rows\)"):
        sx.LogisticRegression().fit(da.from_array(broken, chunks=(100, 4)), y)


@pytest.mark.parametrize("model", [sx.Perceptron(), sx.LogisticRegression(solver="stochastic")])
def test_models_that_learn_row_by_row_refuse(model):
    with pytest.raises(DataError, match="one row after the other"):
        model.fit(da.from_array(X, chunks=(100, 4)), y)


def test_a_generative_model_takes_rows_and_classes_from_anywhere():
    lazy = da.from_array(X, chunks=(100, 4))
    model = sx.LinearDiscriminantAnalysis().fit(lazy[y < 2], y[y < 2])
    model.add_class(lazy[da.from_array(y == 2, chunks=100)], 2)
    np.testing.assert_allclose(model.coef_, sx.LinearDiscriminantAnalysis().fit(X, y).coef_, rtol=1e-9)


def test_a_regression_gathers_its_targets_and_no_rows():
    t = np.exp(0.1 * X[:, 0]).round()
    lazy = dd.from_pandas(pd.DataFrame(X), npartitions=3)
    found = sx.GeneralizedLinearModel("poisson").fit(lazy, dd.from_pandas(pd.Series(t), npartitions=2))
    expected = sx.GeneralizedLinearModel("poisson").fit(X, t)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-8)
    np.testing.assert_allclose(found.predict(lazy), expected.predict(X), rtol=1e-8)


def test_reductions_of_lazy_rows():
    lazy = da.from_array(X, chunks=(100, 4))
    for reduction in (sx.OneVsRest, sx.OneVsOne):
        found, expected = (reduction(sx.LinearDiscriminantAnalysis()).fit(rows, y) for rows in (lazy, X))
        np.testing.assert_allclose(found.decision_function(lazy), expected.decision_function(X), rtol=1e-9)
    with pytest.raises(DataError, match="to_dask_array.*OneVsRest"):
        sx.OneVsOne(sx.LinearDiscriminantAnalysis()).fit(dd.from_pandas(pd.DataFrame(X), npartitions=2), y)


def test_processes_give_the_bits_of_threads():
    """Statistics, and the basis they look through, are sent to another process and come back."""
    rows, labels = load_iris(return_X_y=True)
    lazy = da.from_array(rows, chunks=(40, 4))
    model = sx.LinearDiscriminantAnalysis(basis=sx.basis.Polynomial(2))
    expected = model.fit(lazy, labels).coef_
    with ProcessPoolExecutor(1, get_context("spawn")) as pool, dask.config.set(scheduler="processes", pool=pool):
        assert model.fit(lazy, labels).coef_.tobytes() == expected.tobytes()
