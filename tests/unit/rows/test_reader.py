import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from problems import STORAGES, names
from separatrix._array import to_dense
from separatrix.exceptions import DataError
from separatrix.rows.reader import open_reader

X = np.round(np.random.default_rng(0).normal(size=(23, 3)), 3)


@pytest.mark.parametrize("storage", STORAGES)
def test_every_storage_reads_the_same_rows(storage):
    reader = open_reader(STORAGES[storage](X))
    assert reader.n_rows == 23
    assert len(reader.columns) == 3
    for span in (slice(0, 23), slice(5, 9), slice(22, 23)):
        block = reader.read(span)
        assert block.dtype == np.float64
        assert_array_equal(to_dense(block), X[span])


@pytest.mark.parametrize("storage", ["pandas", "polars", "pyarrow"])
def test_frames_keep_their_names(storage):
    assert open_reader(STORAGES[storage](X)).columns == tuple(names(X))


def test_a_block_of_a_dense_table_is_a_view():
    for table in (X, np.asfortranarray(X), X.astype(np.float32)):
        assert np.shares_memory(open_reader(table).read(slice(3, 9)), table)


@pytest.mark.parametrize(
    ("dtype", "working"), [("f4", "f4"), ("f2", "f4"), ("i8", "f8"), ("u1", "f8"), ("?", "f8"), (">f8", "f8")]
)
def test_working_precision(dtype, working):
    block = open_reader(X.astype(dtype)).read(slice(0, 5))
    assert block.dtype == working
    assert block.dtype.isnative


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_mixed_columns_become_float64_and_nulls_nan(library):
    columns = {"i": [1, 2, None], "b": [True, False, True], "f": [0.5, None, 2.5]}
    table = {
        "pandas": lambda: pd.DataFrame(columns).convert_dtypes(),
        "polars": lambda: pl.DataFrame(columns),
        "pyarrow": lambda: pa.table(columns),
    }[library]()
    expected = [[1, 1, 0.5], [2, 0, np.nan], [np.nan, 1, 2.5]]
    assert_array_equal(open_reader(table).read(slice(0, 3)), expected)


def test_any_arrow_stream_is_a_table():
    class Stream:
        """Nothing but the Arrow PyCapsule interface."""

        def __arrow_c_stream__(self, requested_schema=None):
            return pa.table(dict(zip("abc", X.T, strict=True))).__arrow_c_stream__(requested_schema)

    reader = open_reader(Stream())
    assert reader.columns == ("a", "b", "c")
    assert_array_equal(reader.read(slice(2, 7)), X[2:7])


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_columns_that_are_not_numbers_are_named_with_their_type(library):
    columns = {
        "ok": [1.0, 2.0],
        "city": ["Oslo", "Rome"],
        "when": np.array(["2020-01-01"] * 2, "datetime64[us]"),
    }
    table = {
        "pandas": lambda: pd.DataFrame(columns),
        "polars": lambda: pl.DataFrame(columns),
        "pyarrow": lambda: pa.table(columns),
    }[library]()
    with pytest.raises(DataError, match=r"not numbers: 'city' \(.*\), 'when' \(.*\)\. Encode"):
        open_reader(table)


def test_complex_numbers_one_dimension_and_three_are_refused():
    with pytest.raises(ValueError, match="Complex data not supported"):
        open_reader(X + 1j)
    with pytest.raises(ValueError, match="Reshape your data"):
        open_reader(X[:, 0])
    with pytest.raises(ValueError, match="dim 3"):
        open_reader(X[None])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_entries_of_a_sparse_matrix_that_are_stored_twice_are_summed_in_a_copy(dtype):
    twice = sparse.csr_array((np.array([1, 2, 3, 4], dtype), [1, 1, 0, 1], [0, 2, 2, 4]), shape=(3, 2))
    reader = open_reader(twice)
    rows = reader.read(slice(0, 3))
    assert rows.has_canonical_format
    assert_array_equal(rows.toarray(), [[0, 3], [0, 0], [3, 4]])
    assert_array_equal(twice.data, [1, 2, 3, 4])


def test_a_block_of_a_sparse_matrix_without_such_entries_is_a_view():
    once = sparse.csr_array(np.eye(3))
    assert np.shares_memory(open_reader(once).read(slice(1, 3)).data, once.data)
