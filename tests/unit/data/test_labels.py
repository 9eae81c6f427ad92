import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix.data.labels import HEAD, encode_labels
from separatrix.exceptions import DataError

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
