"""Excel: names are found under titles, in margins and in two rows; cells keep their types."""

import csv
import datetime as dt
import io

import pyarrow as pa
import pytest
from openpyxl import Workbook, load_workbook

from separatrix.files import FileReadError, FileWriteError, open_table, open_writer
from separatrix.files.dialect import find_head, sniff


def make(path, **sheets):
    book = Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_empty_rows_ragged_rows_and_failed_formulas(tmp_path):
    rows = [
        [],
        ["a", "b", None, 2024],
        [1, "x", None, dt.datetime(2024, 1, 1)],
        [],
        [2.5, "#N/A", None, None, "extra"],
        [],
        [],
    ]
    table = open_table(make(tmp_path / "t.xlsx", Sheet=rows))
    assert table.columns == ("a", "b", "column 3", "2024", "column 5")
    assert table.read().to_pydict() == {
        "a": [1.0, None, 2.5],
        "b": ["x", None, None],
        "column 3": [None, None, None],
        "2024": [dt.date(2024, 1, 1), None, None],
        "column 5": [None, None, "extra"],
    }
    assert table.n_rows == 3


def test_dates_with_a_time_among_them_are_times(tmp_path):
    rows = [["a"], [dt.datetime(2024, 1, 1)], [dt.datetime(2024, 1, 1, 12)]]
    table = open_table(make(tmp_path / "t.xlsx", Sheet=rows))
    assert table.read()["a"].to_pylist() == [dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1, 12)]


def test_several_sheets_need_a_name(tmp_path):
    path = make(tmp_path / "book.xlsx", Sheet1=[["a"], [1]], Sheet2=[["b"], [2]], Blank=[])
    with pytest.raises(FileReadError, match=r"has 3 sheets: 'Sheet1', 'Sheet2', 'Blank'. Choose one, as in .*::Sheet1"):
        open_table(path)
    assert open_table(f"{path}::Sheet2").columns == ("b",)
    with pytest.raises(FileReadError, match="sheet 'Blank' is empty"):
        open_table(f"{path}::Blank")


def test_a_file_that_is_not_a_workbook_is_an_error(tmp_path):
    (tmp_path / "t.xlsx").write_bytes(b"a,b\n1,2\n")
    with pytest.raises(FileReadError, match=r"t.xlsx is damaged or not an .xlsx workbook"):
        open_table(tmp_path / "t.xlsx")


def write(path, columns):
    with open_writer(path) as writer:
        writer.write(pa.table(columns))
    return path


def test_text_in_a_workbook_is_never_a_formula(tmp_path):
    path = write(tmp_path / "t.xlsx", {"=a": ["=1+1", "#N/A!"]})
    cells = [cell for row in load_workbook(path)["Sheet1"].iter_rows() for cell in row]
    assert [(cell.value, cell.data_type) for cell in cells] == [("=a", "s"), ("=1+1", "s"), ("#N/A!", "s")]


def test_values_that_a_workbook_cannot_hold_are_an_error(tmp_path):
    for value, message in [("x" * 40_000, "a text has 40000"), ("bell\x07", "control character")]:
        with pytest.raises(FileWriteError, match=message):
            write(tmp_path / "t.xlsx", {"a": [value]})
    assert list(tmp_path.iterdir()) == []


def test_titles_margins_and_merged_names_of_a_real_workbook(tmp_path):
    book = Workbook()
    sheet = book.active
    sheet["A1"] = "Harvest of the north, 2024"
    for place, name in {"B4": "field", "C4": "size", "E4": "sown"}.items():
        sheet[place] = name
    sheet["C5"], sheet["D5"] = "long", "wide"
    for area in ("A1:E1", "B4:B5", "C4:D4", "E4:E5"):
        sheet.merge_cells(area)
    for row, cells in enumerate(
        [("ash", 3, 1.5, dt.datetime(2024, 5, 1)), ("elm", 4, None, dt.datetime(2024, 5, 2))], 6
    ):
        for column, value in enumerate(cells, 2):
            sheet.cell(row, column, value)
    book.save(tmp_path / "t.xlsx")
    table = open_table(tmp_path / "t.xlsx")
    assert table.read().to_pydict() == {
        "field": ["ash", "elm"],
        "size long": [3, 4],
        "size wide": [1.5, None],
        "sown": [dt.date(2024, 5, 1), dt.date(2024, 5, 2)],
    }
    assert table.n_rows == 2
    title, double = table.notes
    assert "skipped as a title: 'Harvest of the north, 2024'" in title
    assert "joined from two rows: 'field', 'size long', 'size wide'" in double


ROWS = [["ann", 3, 1.5], ["bob", 4, 2.5], ["eve", 5, 3.5]]
NAMES = ["who", "size", "weight"]


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
def test_titles_of_sheets_follow_the_rules_of_csv(above):
    rows = [*above, NAMES, *ROWS]
    text = io.StringIO()
    csv.writer(text).writerows([[*row, *[""] * (3 - len(row))] for row in rows])
    expected = sniff(text.getvalue(), "t.csv")
    head = find_head(rows)
    assert head.title == expected.title
    assert (head.names[:1] == ("who",)) == (expected.header[0] == "who")


def test_a_title_needs_numbers_below_the_names():
    rows = [["a remark"], ["x", "y"], ["one", "two"], ["three", "four"]]
    assert find_head(rows).names == ("a remark",)
    assert find_head([*rows[:2], ["one", "12 %"], ["three", "€ 4,50"]]).names == ("x", "y")
    assert find_head([*rows[:2], ["one", dt.date(2024, 1, 1)], ["three", None]]).title == "a remark"


def test_a_margin_is_not_a_column():
    rows = [[None, *row] for row in [NAMES, *ROWS]]
    assert find_head(rows)[:3] == (tuple(NAMES), 1, 1)
    assert find_head([["Harvest"], *rows])[:4] == (tuple(NAMES), 1, 2, "Harvest")
    numbered = [[None, *NAMES], *[[i, *row] for i, row in enumerate(ROWS)]]  # a column without a name
    assert find_head(numbered).margin == 0


def test_a_row_of_data_is_not_a_second_row_of_names():
    for first in (["ann", "red", 3], ["ann", None, 3], [None, "red", 3]):
        assert not find_head([["who", None, "size"], first, ["bob", "blue", 4], ["eve", "blue", 5]]).is_double
    words = [["who", None], ["ann", "red"], ["bob", "blue"], ["eve", "green"]]
    assert not find_head(words).is_double


@pytest.mark.parametrize("gap", ["n/a", "NA ", "?", "unknown"])
def test_a_first_row_of_missing_values_is_data(gap):
    rows = [[None, "first", "second"], ["ann", gap, gap], ["bob", 3, 4], ["eve", 5, 6]]
    assert find_head(rows) == ((None, "first", "second"), 0, 1, "", False)
