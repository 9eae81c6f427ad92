"""Where the names of a sheet are; by the rules of CSV where it could be one."""

import csv
import datetime as dt
import io

import pytest

from separatrix.files.dialect import sniff
from separatrix.files.heads import find_head

DATA = [["ann", 3, 1.5], ["bob", 4, 2.5], ["eve", 5, 3.5]]
NAMES = ["who", "size", "weight"]


def test_the_first_row_has_the_names_where_nothing_else_is_clear():
    head = find_head([NAMES, *DATA])
    assert head == (("who", "size", "weight"), 0, 1, "", False)


@pytest.mark.parametrize(
    "above",
    [
        [["Harvest 2024"]],
        [["Harvest 2024"], []],
        [["Harvest"], ["of the north"], [], ["kg"]],
        [["one"], ["two"], ["three"], ["four"], ["five"]],
        [["Harvest"], *[[]] * 5],  # too many
        [["Harvest", "2024"]],  # two cells
        [[2024]],
    ],
)
def test_a_title_is_one_in_a_sheet_exactly_where_it_is_one_in_a_csv(above):
    rows = [*above, NAMES, *DATA]
    text = io.StringIO()
    csv.writer(text).writerows([[*row, *[""] * (3 - len(row))] for row in rows])
    expected = sniff(text.getvalue(), "t.csv")
    head = find_head(rows)
    assert head.title == expected.title
    assert (head.names[:1] == ("who",)) == (expected.header[0] == "who")


def test_names_over_words_alone_are_no_sign_of_a_title():
    rows = [["a remark"], ["x", "y"], ["one", "two"], ["three", "four"]]
    assert find_head(rows).names == ("a remark",)
    assert find_head([*rows[:2], ["one", "12 %"], ["three", "€ 4,50"]]).names == ("x", "y")
    assert find_head([*rows[:2], ["one", dt.date(2024, 1, 1)], ["three", None]]).title == "a remark"


def test_a_margin_is_no_column_and_a_title_may_stand_in_it():
    rows = [[None, *row] for row in [NAMES, *DATA]]
    assert find_head(rows)[:3] == (tuple(NAMES), 1, 1)
    assert find_head([["Harvest"], *rows])[:4] == (tuple(NAMES), 1, 2, "Harvest")
    numbered = [[None, *NAMES], *[[i, *row] for i, row in enumerate(DATA)]]  # a column without a name
    assert find_head(numbered).margin == 0


def test_names_in_two_rows_are_put_together():
    rows = [["who", "size", None, "weight", None], [None, "long", "wide", "net", "gross"]]
    rows += [["ann", 3, 1.5, 7, 8], ["bob", 4, 2.5, 9, 10]]
    expected = ("who", "size long", "size wide", "weight net", "weight gross")
    assert find_head(rows) == (expected, 0, 2, "", True)
    assert find_head([["Harvest"], [], *rows]) == (expected, 0, 4, "Harvest", True)


def test_a_row_of_data_under_a_gap_is_no_second_row_of_names():
    for first in (["ann", "red", 3], ["ann", None, 3], [None, "red", 3]):
        assert not find_head([["who", None, "size"], first, ["bob", "blue", 4], ["eve", "blue", 5]]).is_double
    words = [["who", None], ["ann", "red"], ["bob", "blue"], ["eve", "green"]]
    assert not find_head(words).is_double


@pytest.mark.parametrize("gap", ["n/a", "NA ", "?", "unknown"])
def test_a_first_row_of_words_for_gaps_is_data(gap):
    rows = [[None, "first", "second"], ["ann", gap, gap], ["bob", 3, 4], ["eve", 5, 6]]
    assert find_head(rows) == ((None, "first", "second"), 0, 1, "", False)
