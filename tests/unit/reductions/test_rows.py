"""Taking rows keeps the kind of the table, the order asked for and the values."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.utils import indexable

from problems import STORAGES
from separatrix.reductions.rows import take_rows
from separatrix.rows import as_table

ROWS = np.array([3, 0, 3])
X = np.arange(10.0).reshape(5, 2)


def dense(table):
    return table.toarray() if sparse.issparse(table) else np.asarray(table, dtype=float)


@pytest.mark.parametrize("storage", STORAGES)
def test_rows_come_in_the_order_asked_for(storage):
    table = indexable(STORAGES[storage](X))[0]
    some = take_rows(table, ROWS)
    np.testing.assert_array_equal(dense(some), X[ROWS])
    assert type(some) is type(table)


def test_sparse_rows_stay_sparse():
    table = sparse.csr_array(sparse.random(50, 10_000, density=1e-3, rng=np.random.default_rng(0)))
    some = take_rows(table, ROWS)
    assert some.nnz == sum(table.indptr[n + 1] - table.indptr[n] for n in ROWS)


@pytest.mark.parametrize("kind", [list, pd.Series, pl.Series, np.array])
def test_one_dimensional_rows_such_as_texts(kind):
    some = take_rows(kind(["a", "b", "c", "d"]), ROWS)
    assert list(some) == ["d", "a", "d"]
    assert type(some) is type(kind(["a"]))


def test_a_pandas_frame_keeps_its_index_and_dtypes():
    frame = pd.DataFrame({"a": [1, 2, 3, 4], "b": pd.array([1, None, 3, 4], dtype="Int64")}, index=list("wxyz"))
    pd.testing.assert_frame_equal(take_rows(frame, ROWS), frame.iloc[ROWS])


class Stream:
    """Arrow data that can be read once, as a database cursor's."""

    def __init__(self, table):
        self.reader = table.to_reader()

    def __arrow_c_stream__(self, requested_schema=None):
        return self.reader.__arrow_c_stream__(requested_schema)


def test_a_stream_is_read_once_and_kept():
    table = pa.table({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    kept = as_table(Stream(table))
    assert kept.equals(table)
    assert kept.equals(as_table(kept))


@pytest.mark.parametrize("storage", STORAGES)
def test_other_tables_are_left_alone(storage):
    table = STORAGES[storage](X)
    assert as_table(table) is table


def test_even_a_frame_whose_columns_share_a_name_is_left_alone():
    frame = pd.DataFrame(X, columns=["a", "a"])
    assert as_table(frame) is frame
