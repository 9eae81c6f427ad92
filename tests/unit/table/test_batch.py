"""Tables of every library are batches; what is no table is an error."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from separatrix._text import did_you_mean
from separatrix.exceptions import DataError
from separatrix.table.values import open_batch

COLUMNS = {"a": [1, 2], "b": ["x", "y"]}


@pytest.mark.parametrize(
    "make",
    [pd.DataFrame, pl.DataFrame, pa.table, lambda c: pa.RecordBatch.from_pydict(c), lambda c: pa.table(c).to_reader()],
    ids=["pandas", "polars", "arrow table", "record batch", "arrow stream"],
)
def test_columns_keep_name_order_and_values(make):
    batch = open_batch(make(COLUMNS))
    assert batch.columns == ("a", "b")
    assert batch.n_rows == 2
    assert batch.read("a").numbers.tolist() == [1, 2]
    assert batch.read("b").texts == ("x", "y")
    assert open_batch(batch) is batch


@pytest.mark.parametrize("table", [np.array([[1.0, 2.0]]), [[1, "2"]], np.ma.array([[1, 2]], mask=[[0, 1]])])
def test_arrays_and_lists_have_numbered_columns(table):
    batch = open_batch(table)
    assert batch.columns == ("x0", "x1")
    assert batch.read("x0").numbers.tolist() == [1]


def test_lists_do_not_turn_numbers_into_text_nor_masks_into_values():
    assert open_batch([[1, "b"], [2, "c"]]).read("x0").kind.name == "NUMBER"
    assert open_batch(np.ma.array([[1, 2]], mask=[[0, 1]])).read("x1").missing.all()


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame(np.zeros((2, 2)), columns=["a", "a"]),
        pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]),
        pd.DataFrame(np.zeros((2, 2)), columns=["1", 1]),
    ],
)
def test_two_columns_of_one_name_are_refused(table):
    with pytest.raises(DataError, match=r"(same name|more than once)"):
        open_batch(table)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (pd.Series([1]), "single column"),
        (pl.LazyFrame(COLUMNS), "LazyFrame"),
        (np.zeros(3), "Reshape your data"),
        (np.zeros((2, 2)) * 1j, "Complex data not supported"),
    ],
)
def test_what_is_no_table_is_refused(table, said):
    with pytest.raises(ValueError, match=said):
        open_batch(table)


def test_sparse_matrices_are_numbers_already():
    with pytest.raises(TypeError, match="[Ss]parse"):
        open_batch(sparse.csr_array(np.eye(2)))


def test_a_wrong_name_is_met_with_the_nearest_or_with_all():
    with pytest.raises(DataError, match=r"no column 'Agee'\. Did you mean 'age'\?"):
        open_batch(pd.DataFrame({"age": [1], "sex": [2]})).read("Agee")
    assert did_you_mean("zzz", ["a", "b"]) == " There are 'a', 'b'."
    assert did_you_mean("zzz", map(str, range(20))).endswith("'9' and 10 more.")
