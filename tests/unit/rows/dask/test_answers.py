"""Prediction of a collection is lazy, has the right form, and says what is wrong when it is computed."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import separatrix as sx
from problems import blobs
from separatrix.exceptions import DataError
from separatrix.rows.dask.answers import gathered, labels_of, lazy_answers
from separatrix.rows.dask.collection import open_table

X, y = blobs()
NAMES = list("abcd")


@pytest.fixture(scope="module")
def model():
    return sx.LogisticRegression().fit(X, np.array(["u", "v", "w"])[y])


def forbidden(graph, keys, **options):
    raise AssertionError("something was computed")


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba", "decision_function"])
def test_nothing_is_computed_before_it_is_asked_for(model, method):
    with dask.config.set(scheduler=forbidden):
        lazy = getattr(model, method)(da.from_array(X, chunks=((100, 0, 200), (1, 3))))
    expected = getattr(model, method)(X)
    assert lazy.chunks[0] == (100, 0, 200)
    assert (lazy.shape, lazy.dtype) == (expected.shape, expected.dtype)
    found = lazy.compute()
    assert found.dtype == expected.dtype
    if method == "predict":
        np.testing.assert_array_equal(found, expected)
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_chunks_are_unknown_where_those_of_the_rows_are(model):
    lazy = da.from_array(X, chunks=(70, 4))
    found = model.predict_proba(lazy[lazy[:, 0] > 0])
    assert np.isnan(found.shape[0])
    np.testing.assert_allclose(found.compute(), model.predict_proba(X[X[:, 0] > 0]), rtol=1e-13)


def test_a_dataframe_must_have_the_names_of_the_fit():
    frame = pd.DataFrame(X, columns=NAMES)
    named = sx.LinearDiscriminantAnalysis().fit(frame, y)
    lazy = dd.from_pandas(frame, npartitions=3)
    np.testing.assert_array_equal(named.predict(lazy).compute(), named.predict(frame))
    with pytest.raises(ValueError, match="feature names should match"):
        named.predict(lazy[["b", "a", "c", "d"]])


def test_a_model_without_an_answer_to_zeros_is_asked_about_a_row_of_the_table(rng):
    rows = rng.gamma(2.0, size=(60, 2)) + 0.1
    labels = (rows[:, 0] > rows[:, 1]).astype(int)
    gamma = sx.NaiveBayes("gamma").fit(rows, labels)
    found = gamma.predict_proba(da.from_array(rows, chunks=((0, 40, 20), 2)))
    np.testing.assert_allclose(found.compute(), gamma.predict_proba(rows), rtol=1e-13)


def test_a_collection_without_rows_has_no_answers(rng):
    def refuse(rows):
        raise DataError("not a row that I know")

    with pytest.raises(DataError, match="0 sample"):
        lazy_answers(open_table(da.ones((0, 2))), refuse)


def test_a_value_that_makes_no_sense_is_found_when_its_partition_is_computed(model):
    broken = X.copy()
    broken[250, 2] = np.nan
    lazy = model.predict_proba(da.from_array(broken, chunks=(100, 4)))
    np.testing.assert_allclose(lazy[:200].compute(), model.predict_proba(X[:200]), rtol=1e-13)
    with pytest.raises(DataError, match=r"NaN or infinity in column 'x2' \(1 of 100 rows\)"):
        lazy.compute()


def test_intervals_and_distributions_are_lazy_too():
    bayes = sx.BayesianLogisticRegression().fit(X, y)
    rows = da.from_array(X, chunks=(128, 4))
    interval = bayes.predict_interval(rows)
    assert isinstance(interval, da.Array)
    np.testing.assert_allclose(interval.compute(), bayes.predict_interval(X), rtol=1e-12)
    variance = bayes.decision_distribution(rows).variance
    np.testing.assert_allclose(variance.compute(), bayes.decision_distribution(X).variance, rtol=1e-12)


def test_labels_of_codes_in_memory_are_in_memory():
    assert labels_of(np.array(["a", "b"]), np.array([1, 0])).tolist() == ["b", "a"]


def test_gathering_leaves_what_is_in_memory_alone():
    kept = np.arange(3)
    first, second, third = gathered(kept, da.arange(3, chunks=2), None)
    assert first is kept
    assert type(second) is np.ndarray
    assert third is None


def test_the_score_is_that_of_memory(model):
    labels = np.array(["u", "v", "w"])[y]
    frame = dd.from_pandas(pd.DataFrame(X, columns=NAMES), npartitions=3)
    assert model.score(frame.to_dask_array(), dd.from_pandas(pd.Series(labels), npartitions=2)) == model.score(
        X, labels
    )
