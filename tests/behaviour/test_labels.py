"""Labels of any type become codes of sorted classes; labels and weights are checked against the rows."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix.exceptions import DataError
from separatrix.rows import LabelRules, encode_labels, encode_shares, is_shares, pair
from separatrix.rows import labels as labels_module
from separatrix.rows.labels import FIRST_LABELS

LABELS = {
    "int": [3, 1, 2, 1],
    "bool": [True, False, True, True],
    "float": [3.0, -1.0, 2.0, -1.0],
    "str": ["b", "a", "ccc", "a"],
    "object": np.array(["b", "a", "ccc", "a"], dtype=object),
    "categorical": pd.Series(pd.Categorical(["b", "a", "ccc", "a"], categories=["ccc", "b", "a", "unused"])),
    "polars": pl.Series(["b", "a", "ccc", "a"]),
    "pyarrow": pa.chunked_array([["b", "a"], ["ccc", "a"]]),
}


@pytest.mark.parametrize("kind", LABELS)
def test_codes_are_positions_among_sorted_classes(kind):
    y = LABELS[kind]
    classes, codes = encode_labels(y)
    assert classes[codes].tolist() == list(np.asarray(y).tolist())
    assert classes.tolist() == sorted(set(np.asarray(y).tolist()))


@settings(max_examples=30)
@given(n=st.integers(1, 50), K=st.integers(1, 3), kind=st.sampled_from([int, float, bool, str, "M8[D]"]))
def test_codes_of_one_two_and_more_classes_equal_numpy_unique(n, K, kind):
    y = (-np.arange(n) % K).astype(kind)
    for found, expected in zip(encode_labels(y), np.unique(y, return_inverse=True), strict=True):
        assert np.array_equal(found, expected)
        assert found.dtype == expected.dtype


@settings(max_examples=30)
@given(n=st.integers(1, 50), K=st.integers(1, 3), late=st.booleans())
def test_codes_equal_numpy_unique_even_if_a_class_appears_late(n, K, late):
    y = np.arange(n) % K
    if late:
        y = np.concatenate([np.repeat(y, FIRST_LABELS), [7, -7]])
    classes, codes = encode_labels(y)
    expected, inverse = np.unique(y, return_inverse=True)
    assert np.array_equal(classes, expected)
    assert np.array_equal(codes, inverse)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT])
def test_missing_labels_are_counted_and_located(missing):
    y = np.array(["a", missing, "b", "a", missing], dtype=object)
    with pytest.raises(DataError, match=r"2 of 5 labels are missing .* row 2"):
        encode_labels(y)
    classes, codes = encode_labels(y, unlabelled="missing")
    assert (classes.tolist(), codes.tolist()) == (["a", "b"], [0, -1, 1, 0, -1])


def test_a_given_label_can_mark_unlabelled_rows():
    classes, codes = encode_labels([5, -1, 7], unlabelled=-1)
    assert (classes.tolist(), codes.tolist()) == ([5, 7], [0, -1, 1])


SHARES = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0], [0.0, 0.25, 0.75]])


@pytest.mark.parametrize("kind", ["array", "lists", "tuples", "single", "pandas", "polars", "pyarrow"])
def test_probabilities_keep_their_order_and_name_their_classes(kind):
    columns = ["low", "high", "middle"]
    table, classes = {
        "array": (SHARES, [0, 1, 2]),
        "lists": (SHARES.tolist(), [0, 1, 2]),
        "tuples": (tuple(map(tuple, SHARES)), [0, 1, 2]),
        "single": (SHARES.astype(np.float32), [0, 1, 2]),
        "pandas": (pd.DataFrame(SHARES, columns=columns), columns),
        "polars": (pl.DataFrame(SHARES, schema=columns), columns),
        "pyarrow": (pa.table(dict(zip(columns, SHARES.T, strict=True))), columns),
    }[kind]
    assert is_shares(table)
    found, T = encode_shares(table)
    assert found.tolist() == classes
    np.testing.assert_allclose(T, SHARES, atol=1e-7)
    np.testing.assert_allclose(T.sum(axis=1), 1.0, rtol=1e-15)


def test_labels_become_codes_among_the_known_classes():
    known = np.array(["b", "c", "a"])
    paired = pair(["a", "b", "a"], None, 3, LabelRules(known=known))
    assert (paired.classes.tolist(), paired.targets[0].t.tolist()) == (["b", "c", "a"], [2, 0, 2])
    some = pair(["a", -1, "b"], None, 3, LabelRules(known=np.array(["b", "c", "a"], object), unlabelled=-1))
    assert (some.targets[0].t.tolist(), some.n_unlabelled) == ([2, -1, 0], 1)


@pytest.mark.parametrize("odd", [["a"], {"a": 1}, frozenset("a"), (1, [2])])
def test_labels_that_are_no_single_values_are_named_with_their_row(odd):
    y = np.empty(4, dtype=object)
    y[:] = [1, 2, odd, None]
    with pytest.raises(DataError, match=r"label of row 3 .* must be single values"):
        encode_labels(y, unlabelled="missing")


def test_plain_objects_are_checked_by_their_types(monkeypatch):
    """A check of each label would take as long as a fit."""
    monkeypatch.setattr(labels_module, "is_hashable", pytest.fail)
    classes, codes = encode_labels(np.array([2, np.int64(3), 2.0, True], dtype=object))
    assert classes.tolist() == [1, 2, 3]
    assert codes.tolist() == [1, 2, 1, 0]
