import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix.exceptions import DataError
from separatrix.rows.labels import HEAD, encode_labels, encode_shares, is_shares

KINDS = {
    "int": [3, 1, 2, 1],
    "bool": [True, False, True, True],
    "float": [3.0, -1.0, 2.0, -1.0],
    "str": ["b", "a", "ccc", "a"],
    "object": np.array(["b", "a", "ccc", "a"], dtype=object),
    "series": pd.Series(["b", "a", "ccc", "a"]),
    "categorical": pd.Series(pd.Categorical(["b", "a", "ccc", "a"], categories=["ccc", "b", "a", "unused"])),
    "polars": pl.Series(["b", "a", "ccc", "a"]),
    "pyarrow": pa.chunked_array([["b", "a"], ["ccc", "a"]]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_codes_point_at_their_label_among_sorted_classes(kind):
    y = KINDS[kind]
    classes, codes = encode_labels(y)
    assert classes[codes].tolist() == list(np.asarray(y).tolist())
    assert classes.tolist() == sorted(set(np.asarray(y).tolist()))


@settings(max_examples=30)
@given(n=st.integers(1, 50), late=st.booleans())
def test_equals_numpy_unique_also_when_a_class_appears_late(n, late):
    y = np.arange(n) % 3
    if late:
        y = np.concatenate([np.repeat(y, HEAD), [7, -7]])
    classes, codes = encode_labels(y)
    expected, inverse = np.unique(y, return_inverse=True)
    assert np.array_equal(classes, expected)
    assert np.array_equal(codes, inverse)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT])
def test_missing_labels_are_counted_and_located(missing):
    with pytest.raises(DataError, match=r"2 of 5 labels are missing .* row 1"):
        encode_labels(np.array(["a", missing, "b", "a", missing], dtype=object))


def test_real_numbers_are_not_labels():
    with pytest.raises(ValueError, match="Unknown label type"):
        encode_labels(np.linspace(0, 1, 10))


def test_no_labels_at_all():
    with pytest.raises(ValueError, match="requires y"):
        encode_labels(None)


SHARES = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0], [0.0, 0.25, 0.75]])


@pytest.mark.parametrize(
    "table",
    [SHARES, np.eye(3), SHARES[:, :2], pd.DataFrame(SHARES), pl.DataFrame(SHARES), pa.table(pd.DataFrame(SHARES))],
    ids=["array", "one_hot", "two", "pandas", "polars", "pyarrow"],
)
def test_a_table_of_two_columns_or_more_holds_shares(table):
    assert is_shares(table)


@pytest.mark.parametrize(
    "labels",
    [[0, 1, 2], np.arange(3), SHARES[:, :1], SHARES[:, 0], pd.Series([0, 1]), pl.Series([0, 1]), SHARES.tolist(), None],
    ids=["list", "array", "column", "reals", "series", "polars", "nested", "none"],
)
def test_anything_else_holds_labels(labels):
    assert not is_shares(labels)


@pytest.mark.parametrize("kind", ["array", "single", "pandas", "polars"])
def test_shares_keep_their_order_and_name_their_classes(kind):
    names = ["low", "high", "middle"]  # in the order of the columns, sorted or not
    table, classes = {
        "array": (SHARES, [0, 1, 2]),
        "single": (SHARES.astype(np.float32), [0, 1, 2]),
        "pandas": (pd.DataFrame(SHARES, columns=names), names),
        "polars": (pl.DataFrame(SHARES, schema=names), names),
    }[kind]
    found, T = encode_shares(table)
    assert found.tolist() == classes
    assert T.dtype == np.float64
    np.testing.assert_allclose(T, SHARES, atol=1e-7)
    np.testing.assert_allclose(T.sum(axis=1), 1.0, rtol=1e-15)  # also where single precision did not


def test_counts_of_one_class_each_are_shares():
    classes, T = encode_shares(np.eye(3, dtype=int)[[2, 0, 1]])
    assert classes.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(T, np.eye(3)[[2, 0, 1]])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([0.5, 0.6, -0.1], r"Row 1 of y is \(0.5, 0.6, -0.1\): soft targets .* in \[0, 1\] \(1 of 3 rows do not\)"),
        ([0.0, 1.5, -0.5], r"Row 1 of y is \(0, 1.5, -0.5\)"),
        ([np.nan, 0.5, 0.5], r"Row 1 of y is \(nan, 0.5, 0.5\)"),
        ([np.inf, 0.0, 0.0], r"Row 1 of y is \(inf, 0, 0\)"),
        (
            [0.5, 0.4, 0.0],
            r"Row 1 of y sums to 0.9: .* must sum to 1 \(1 of 3 rows do not\). Divide each row by its sum",
        ),
        ([0.0, 0.0, 0.0], "Row 1 of y sums to 0:"),
        ([1.0, 1.0, 0.0], "Row 1 of y sums to 2:"),
    ],
)
def test_shares_that_are_no_probabilities_name_the_first_row(row, message):
    T = SHARES.copy()
    T[1] = row
    with pytest.raises(DataError, match=message):
        encode_shares(T)


def test_long_rows_of_shares_are_abbreviated():
    with pytest.raises(DataError, match=r"Row 0 of y is \(2, 2, 2, 2, 2, 2, ...\)"):
        encode_shares(np.full((2, 40), 2.0))
