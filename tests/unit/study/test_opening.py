"""The label taken out of any table, rows without one left out, and a share of each class held out."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from separatrix.exceptions import DataError
from separatrix.study import Note
from separatrix.study.opening import held_out_rows, open_table, without_singles

TABLE = pd.DataFrame({"size": [1.0, 2.0, 3.0, 4.0, 5.0], "Label": ["b", None, "a", "b", "a"]})


@pytest.mark.parametrize("library", [pd.DataFrame, pl.from_pandas, lambda t: pa.Table.from_pandas(t)])
def test_every_kind_of_table_opens_alike(library):
    opened = open_table(library(TABLE), "Label")
    assert opened.labels.tolist() == ["b", "a", "b", "a"]
    assert opened.rows.tolist() == [0, 2, 3, 4]
    assert list(opened.X["size"].to_numpy()) == [1.0, 3.0, 4.0, 5.0]
    assert opened.notes == (Note("unlabelled", "Rows without a label in 'Label' were left out: 1."),)


def test_classes_are_in_the_order_of_the_models():
    ordered = pd.Categorical(["low", "high", "low"], categories=["low", "high"])
    opened = open_table(pd.DataFrame({"x": [1, 2, 3], "y": ordered}), "y")
    assert opened.classes.tolist() == ["high", "low"]
    assert opened.counts.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("table", "target", "message"),
    [
        (TABLE, "label", "no column 'label'. Did you mean 'Label'"),
        (TABLE[["Label"]], "Label", "no column but 'Label'"),
        (TABLE.to_numpy(), "Label", "ndarray, whose columns have no names"),
        (TABLE.assign(y=[0.5, 1.5, 2.5, 3.5, 4.5]), "y", "looks continuous"),
        (TABLE.assign(y=None), "y", "Every label of 'y' is missing"),
        (pd.concat([TABLE, TABLE], axis=1), "Label", "same name|more than once"),
    ],
)
def test_what_cannot_be_a_label_is_said(table, target, message):
    with pytest.raises(DataError, match=message):
        open_table(table, target)


def test_classes_of_a_single_row_are_left_out_with_a_note():
    opened = open_table(pd.DataFrame({"x": range(5), "y": list("abacb")}), "y")
    kept = without_singles(opened, "y")
    assert kept.classes.tolist() == ["a", "b"]
    assert kept.rows.tolist() == [0, 1, 2, 4]
    assert kept.labels.tolist() == list("abab")
    assert kept.notes[0].topic == "rare class"
    assert "Class 'c' has one row only" in kept.notes[0].text


@pytest.mark.parametrize("labels", ["aaaa", "aaab", "abcd"])
def test_fewer_than_two_classes_of_two_rows_are_an_error_that_counts(labels):
    opened = open_table(pd.DataFrame({"x": range(4), "y": list(labels)}), "y")
    with pytest.raises(DataError, match=r"at least two classes of two rows each"):
        without_singles(opened, "y")


@given(
    counts=st.lists(st.integers(2, 40), min_size=2, max_size=8),
    share=st.floats(0.01, 0.5),
    seed=st.integers(0, 2**32 - 1),
)
def test_every_class_is_learnt_from_and_has_its_share_held_out(counts, share, seed):
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    held = held_out_rows(codes, share, rng)
    taken = np.bincount(codes[held], minlength=len(counts))
    assert held.any()
    assert (taken < counts).all()
    if held.sum() > 1:
        assert (np.abs(taken - share * np.array(counts)) <= 1 + 1e-9).all()


def test_a_seed_repeats_the_split():
    codes = np.repeat([0, 1], 50)
    first, again = (held_out_rows(codes, 0.2, np.random.default_rng(3)) for _ in range(2))
    assert_array_equal(first, again)
    assert first.sum() == 20
