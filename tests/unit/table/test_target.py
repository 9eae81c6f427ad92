"""Labels of any type, in their order, without the rows that have none."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from separatrix.exceptions import DataError
from separatrix.table import encode_target

CASES = {
    "text": (pd.Series(["b", "a", None, "b"]), ["a", "b"], [1, 0, 1]),
    "blank text": (pl.Series(["b", "a", " ", "b"]), ["a", "b"], [1, 0, 1]),
    "list": (["b", "a", None, "b"], ["a", "b"], [1, 0, 1]),
    "arrow": (pa.chunked_array([["b", "a"], [None, "b"]]), ["a", "b"], [1, 0, 1]),
    "bool": (np.array([True, False, True]), [False, True], [1, 0, 1]),
    "bool with gaps": (pd.Series([True, None, False], dtype="boolean"), [False, True], [1, 0]),
    "ints": (np.array([3, -1, 3]), [-1, 3], [1, 0, 1]),
    "whole floats": (pd.Series([2.0, np.nan, 1.0]), [1, 2], [1, 0]),
    "categorical": (
        pd.Series(pd.Categorical(["b", "a", None], categories=["unused", "b", "a"])),
        ["b", "a"],
        [0, 1],
    ),
    "ordered": (
        pd.Series(pd.Categorical(["low", "high"], categories=["low", "mid", "high"], ordered=True)),
        ["low", "high"],
        [0, 1],
    ),
    "categorical ints": (pd.Series(pd.Categorical([1, 3], categories=[3, 1])), [3, 1], [1, 0]),
    "enum": (pl.Series(["a", "b", None], dtype=pl.Enum(["b", "a"])), ["b", "a"], [1, 0]),
    "one class": (["a", "a"], ["a"], [0, 0]),
}


@pytest.mark.parametrize("case", CASES)
def test_classes_and_codes(case):
    column, classes, codes = CASES[case]
    target = encode_target(column)
    assert target.classes.tolist() == classes
    assert [type(label) for label in target.classes.tolist()] == [type(label) for label in classes]
    assert target.codes.tolist() == codes
    assert len(target.labelled) == len(column)
    assert target.n_missing == len(column) - len(codes)
    given = [value for value, so in zip(list(column), target.labelled, strict=True) if so]
    given = [value.as_py() if isinstance(value, pa.Scalar) else value for value in given]
    assert target.labels.tolist() == given


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (np.linspace(0, 1, 50), "'price' looks continuous: 50 different values from 0 to 1, such as 0.0204"),
        (np.array([0.5, 1.0, 0.5]), "'price' looks continuous"),
        (np.arange(60), "'price' has 60 different values in 60 rows"),
        ([f"id{i}" for i in range(30)], "'price' has 30 different values in 30 rows"),
        (pd.Series([None, np.nan, " "], dtype=object), "Every label of 'price' is missing"),
        (pd.to_datetime(["2024-01-01"]).to_series(), "'price' holds dates"),
        (np.array([1, "a", None], dtype=object), "'price' mixes numbers"),
        ([[1], [2]], "one column of labels"),
        (pd.Series([dt.timedelta(1)]), "'price' holds durations"),
    ],
)
def test_what_is_no_label_is_refused_in_words(column, said):
    with pytest.raises(DataError, match=said):
        encode_target(column, name="price")


def test_many_classes_are_welcome_if_they_repeat():
    assert len(encode_target(np.tile(np.arange(60), 10)).classes) == 60


def test_numbers_are_classes_where_the_caller_says_so():
    ratings = pd.Series([5.0, 1.5, np.nan, 1.5, 10.0])
    target = encode_target(ratings, name="rating", categorical=True)
    assert target.classes.tolist() == ["1.5", "5", "10"]
    assert target.codes.tolist() == [1, 0, 0, 2]
    assert target.notes == ()
    assert encode_target([3, 1, 3], categorical=True).classes.tolist() == [1, 3]
    halves = np.tile(np.arange(2, 11) / 2, 3)
    assert len(encode_target(halves, categorical=True).classes) == 9


@pytest.mark.parametrize("column", [np.tile(np.arange(2, 11) / 2, 3), np.arange(60)])
def test_what_is_refused_says_how_to_have_it(column):
    with pytest.raises(DataError, match=r"types=\{'rating': 'categorical'\}.*categorical=True"):
        encode_target(column, name="rating")


def test_values_that_never_repeat_are_no_classes_whatever_is_said():
    with pytest.raises(DataError, match="60 different values in 60 rows"):
        encode_target(np.arange(60), categorical=True)
    assert len(encode_target(np.arange(60) // 2, categorical=True).classes) == 30


def test_many_whole_numbers_are_classes_with_a_note():
    many = np.tile(np.arange(60), 10)
    (note,) = encode_target(many, name="minute").notes
    assert note.startswith("minute holds whole numbers in 60 different values, from 0 to 59")
    assert encode_target(many, categorical=True).notes == ()
    assert encode_target(many % 20).notes == ()
    assert encode_target([f"c{i}" for i in many]).notes == ()
