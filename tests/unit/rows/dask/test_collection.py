"""Dask's collections as partitions."""

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import separatrix as sx
from separatrix.exceptions import DataError
from separatrix.rows.dask.collection import is_dask, open_table, open_vector

X = np.arange(24.0).reshape(8, 3)


def values(collection):
    return [np.asarray(part) for part in dask.compute(*collection.parts)]


def test_collections_are_known_by_where_their_type_comes_from():
    assert is_dask(da.ones((2, 2)))
    assert is_dask(dd.from_pandas(pd.DataFrame({"a": [1.0]}), npartitions=1))
    assert not is_dask(X)
    assert not is_dask(None)


def test_partitions_hold_the_rows_in_order_and_whole():
    opened = open_table(da.from_array(X, chunks=((3, 0, 5), (2, 1))))
    assert opened.lengths == (3, 0, 5)
    np.testing.assert_array_equal(np.concatenate(values(opened)), X)


def test_lengths_that_dask_does_not_know_are_measured():
    lazy = da.from_array(X, chunks=(3, 3))
    opened = open_table(lazy[lazy[:, 0] > 4])
    assert opened.lengths is None
    assert opened.measured() == (1, 3, 2)


def test_a_dataframe_keeps_its_names_and_types():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [True, False], "c": np.array([1, 2], "int32")})
    opened = open_table(dd.from_pandas(frame, npartitions=2))
    assert opened.likeness.shape == (0, 3)
    pd.testing.assert_series_equal(opened.likeness.dtypes, frame.dtypes)


def test_columns_that_are_not_numbers_are_named():
    frame = dd.from_pandas(pd.DataFrame({"a": [1.0], "city": ["Rome"], "day": pd.to_datetime(["2020-01-01"])}))
    with pytest.raises(DataError, match=r"'city' \(.*\), 'day' \(datetime.*get_dummies.*TableClassifier"):
        open_table(frame)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (da.ones(5), r"1 dimension;.*X.reshape\(-1, 1\)"),
        (da.ones((5, 2, 2)), "3 dimensions"),
        (da.ones((5, 0)), "0 feature"),
        (da.ones((5, 2), dtype=complex), r"complex128.*X.astype\(float\)"),
        (dd.from_pandas(pd.DataFrame({"a": [1.0]}), npartitions=1)["a"], r"X.to_frame\(\)"),
        (db.from_sequence([1, 2]), "Dask Bag.*to_dataframe"),
    ],
)
def test_what_is_no_table_is_refused_with_a_remedy(wrong, said):
    with pytest.raises(DataError, match=said):
        open_table(wrong)


def test_columns_must_be_counted():
    lazy = da.from_array(X, chunks=(8, 1))
    lazy = lazy[:, da.from_array(np.array([True, False, True]), chunks=1)]
    with pytest.raises(DataError, match="compute_chunk_sizes"):
        open_table(lazy)


def test_labels_may_be_a_series_a_vector_or_a_table():
    series = dd.from_pandas(pd.Series(list("abca")), npartitions=2)
    assert [len(part) for part in values(open_vector(series, "y"))] == [2, 2]
    assert open_vector(da.arange(5, chunks=2), "y").lengths == (2, 2, 1)
    assert values(open_vector(da.from_array(X, chunks=(4, 1)), "y"))[0].shape == (4, 3)


@pytest.mark.parametrize("wrong", [da.ones((2, 2, 2)), db.from_sequence([1, 2])])
def test_labels_of_another_kind_are_refused(wrong):
    with pytest.raises(DataError, match="y is a Dask"):
        open_vector(wrong, "y")


def test_an_encoder_of_tables_refuses_and_computes_nothing():
    """The remedy that it names does what was wanted: test_shares fits from a scan with a client."""
    table = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "city": ["Rome", "Pisa", "Rome", "Pisa"]})

    def refuse(part):
        raise AssertionError("a partition was computed")

    frame = dd.from_pandas(table, npartitions=2).map_partitions(refuse, meta=table[:0])
    model = sx.TableClassifier(sx.LinearDiscriminantAnalysis(shrinkage=0.5))
    with pytest.raises(DataError, match=r"Dask collection.*client="):
        model.fit(frame, [0, 1, 1, 0])
    model.fit(table, [0, 1, 1, 0])
    with pytest.raises(DataError, match=r"Dask collection.*client="):
        model.predict_proba(frame)
