from decimal import Decimal
from functools import reduce
from operator import add

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.exceptions import DataError
from separatrix.rows.labels import encode_labels
from separatrix.scanning.labels import LabelTally, codes_of, plain, tally_labels

COLUMNS = {
    "text": pa.array(["b", "a", "b", "c"]),
    "dictionary": pa.array(["b", "a", "b", "c"]).dictionary_encode(),
    "view": pa.array(["b", "a", "b", "c"], pa.string_view()),
    "integers": pa.array([7, -3, 7, 2], pa.int8()),
    "far integers": pa.array([2**40, -3, 2**40, 2]),
    "whole floats": pa.array([1.0, 0.0, 1.0, 2.0]),
    "booleans": pa.array([True, False, True, True]),
    "signed zeros": pa.array([-0.0, 0.0, 1.0, -0.0]),
    "single": pa.array([1.0, 0.0, 1.0, 2.0], pa.float32()),
    "half": pa.array(np.array([1.0, -0.0, 1.0, 0.0], np.float16)),
    "unsigned": pa.array([7, 3, 7, 2**64 - 1], pa.uint64()),
    "bytes": pa.array([b"b", b"a", b"b", b"ccc"]),
}
TEXT = (pa.string(), pa.string_view(), pa.binary())


def test_decimals_are_numbers():
    column = pa.array([Decimal("2.00"), Decimal("1.00"), None], pa.decimal128(9, 2))
    classes = tally_labels(column, None, 0, "y").classes("missing")
    assert classes.dtype == np.float64
    assert codes_of(column, classes, "missing").tolist() == [1, 0, -1]


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_classes_and_codes_are_those_of_the_same_labels_in_memory(column):
    kind = None if pa.types.is_dictionary(column.type) or column.type in TEXT else column.type.to_pandas_dtype()
    classes, codes = encode_labels(np.array(column.to_pylist(), kind))
    found = tally_labels(column, None, 0, "y").classes("error")
    np.testing.assert_array_equal(found, classes)
    assert found.dtype == classes.dtype
    np.testing.assert_array_equal(codes_of(column, found), codes)


@given(st.lists(st.lists(st.sampled_from(["a", "b", None]), max_size=5), min_size=1, max_size=5))
def test_tallies_of_batches_add_up_to_that_of_the_whole(batches):
    whole = [label for batch in batches for label in batch]
    starts = np.cumsum([0, *map(len, batches)]).tolist()
    weight = np.arange(len(whole), dtype=float)
    parts = [
        tally_labels(pa.array(b, pa.string()), weight[s : s + len(b)], s, "y")
        for b, s in zip(batches, starts, strict=False)
    ]
    assert reduce(add, parts, LabelTally()) == tally_labels(pa.array(whole, pa.string()), weight, 0, "y")


def test_weights_are_summed_class_by_class():
    tally = tally_labels(pa.array(["a", "b", "a"]), np.array([1.0, 2.0, 4.0]), 0, "y")
    np.testing.assert_array_equal(tally.weights(np.array(["a", "b", "z"])), [5.0, 2.0, 0.0])


@pytest.mark.parametrize("gap", [None, np.nan, np.inf])
def test_a_missing_label_is_counted_and_placed(gap):
    tally = tally_labels(pa.array([1.0, 0.0, gap, gap, 1.0]), None, 100, "y")
    with pytest.raises(
        DataError, match=r"2 of 5 labels in column 'y' are missing, the first in row 102.*'\"y\" - \"y\" = 0'"
    ):
        tally.classes("error")
    assert tally.classes("missing").tolist() == [0.0, 1.0]
    assert tally.n_unlabelled("missing") == 2


def test_rows_without_a_label_have_code_minus_one():
    column = pa.array(["a", None, "b", "?"])
    tally = tally_labels(column.slice(0, 3), None, 0, "y")
    assert codes_of(column.slice(0, 3), tally.classes("missing"), "missing").tolist() == [0, -1, 1]
    marked = tally_labels(pa.array([0, 1, -1, 1]), None, 0, "y")
    classes = marked.classes(-1)
    assert classes.tolist() == [0, 1]
    assert marked.n_unlabelled(-1) == 1
    assert codes_of(pa.array([0, 1, -1, 1]), classes, -1).tolist() == [0, 1, -1, 1]


@pytest.mark.parametrize("column", [pa.array(["a", "z"]), pa.array([0, 5]), pa.array([0, None])], ids=str)
def test_a_label_that_is_no_class_is_named(column):
    classes = np.array(["a", "b"]) if pa.types.is_string(column.type) else np.array([0, 1])
    with pytest.raises(DataError, match="is not one of the classes"):
        codes_of(column, classes)


def test_what_cannot_be_classes_is_refused(monkeypatch):
    with pytest.raises(DataError, match=r"'when' holds values of type date32.*no classes"):
        tally_labels(pa.array([1], pa.date32()), None, 0, "when")
    with pytest.raises(ValueError, match="continuous"):
        tally_labels(pa.array([0.5, 1.5, 2.5]), None, 0, "y").classes("error")
    monkeypatch.setattr("separatrix.scanning.labels.MOST", 2)
    with pytest.raises(DataError, match=r"'id' has more than 2 different values"):
        tally_labels(pa.array(["a", "b", "c"]), None, 0, "id")
    few = [tally_labels(pa.array(labels), None, 0, "id") for labels in (["a", "b"], ["b", "c"])]
    with pytest.raises(DataError, match=r"'id' has more than 2 different values"):
        reduce(add, few, LabelTally())


def test_not_one_label_is_said_so():
    with pytest.raises(DataError, match="Not one of 2 rows has a label in column 'y'"):
        tally_labels(pa.array([None, None], pa.string()), None, 0, "y").classes("missing")


def test_plain_values_of_a_dictionary():
    assert plain(COLUMNS["dictionary"]).to_pylist() == ["b", "a", "b", "c"]
