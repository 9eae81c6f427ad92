"""Excel: names are found under titles and beside margins; cells keep their types."""

import datetime as dt

import pyarrow as pa
import pytest
from openpyxl import Workbook, load_workbook

from separatrix.files import open_table, open_writer
from separatrix.files.dialect import n_title_rows


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
    first = [1, "x", None, dt.datetime(2024, 1, 1)]
    rows = [[], ["a", "b", None, 2024], first, [], [2.5, "#N/A", None, None, "extra"], [], []]
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


def test_rows_at_the_end_with_only_failed_formulas_count_as_rows(tmp_path):
    rows = [[], ["a", "b"], [1, "x"], ["#N/A", None], [], ["#DIV/0!", " "], [None, " "]]
    path = make(tmp_path / "t.xlsx", Sheet=rows)
    book = load_workbook(path)
    for cell in (book["Sheet"]["A4"], book["Sheet"]["A6"]):
        cell.data_type = "e"
    book.save(path)
    table = open_table(path)
    assert table.n_rows == 4
    assert table.read().to_pydict() == {"a": [1, None, None, None], "b": ["x", None, None, None]}


def test_dates_before_1900_are_missing_with_a_note(tmp_path):
    day, noon = dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1, 12)
    rows = [["d", "t", "mixed"], [dt.date(1850, 1, 1), dt.time(0), day], [day, dt.time(13), noon], [None, None, None]]
    table = open_table(make(tmp_path / "t.xlsx", Sheet=rows))
    assert table.read().to_pydict() == {"d": [None, day.date()], "t": ["00:00:00", "13:00:00"], "mixed": [day, noon]}
    assert [note for note in table.notes if note.startswith("d: dates before 1900 (cells: 1)")]


def test_text_in_a_workbook_is_never_a_formula(tmp_path):
    with open_writer(tmp_path / "t.xlsx") as writer:
        writer.write(pa.table({"=a": ["=1+1", "#N/A!"]}))
    cells = [cell for row in load_workbook(tmp_path / "t.xlsx")["Sheet1"].iter_rows() for cell in row]
    assert [(cell.value, cell.data_type) for cell in cells] == [("=a", "s"), ("=1+1", "s"), ("#N/A!", "s")]


def test_titles_margins_and_merged_cells_of_a_real_workbook(tmp_path):
    days = [dt.date(2024, 5, 1), dt.date(2024, 5, 2)]
    cells = [[None, "field", "size", "sown"], [None, "ash", 1.5, days[0]], [None, "elm", None, days[1]]]
    path = make(tmp_path / "t.xlsx", Sheet=[["Harvest of the north, 2024"], [], [], *cells])
    book = load_workbook(path)
    book["Sheet"].merge_cells("A1:D1")
    book.save(path)
    table = open_table(path)
    assert table.read().to_pydict() == {"field": ["ash", "elm"], "size": [1.5, None], "sown": days}
    assert table.n_rows == 2
    assert "skipped as a title: 'Harvest of the north, 2024'" in table.notes[0]


ROWS = [["who", "size", "weight"], ["ann", 3, 1.5], ["bob", 4, 2.5], ["eve", 5, 3.5]]


@pytest.mark.parametrize(
    ("above", "n"),
    [
        ([["Harvest 2024"]], 1),
        ([["Harvest 2024"], []], 2),
        ([["Harvest"], ["of the north"], [], ["kg"]], 4),
        ([["one"], ["two"], ["three"], ["four"], ["five"]], 5),
        ([["Harvest"], *[[]] * 5], 0),  # too many
        ([["Harvest", "2024"]], 0),  # two cells
        ([[2024]], 1),
    ],
)
def test_a_title_has_up_to_five_rows_with_one_cell(above, n):
    assert n_title_rows([*above, *ROWS]) == n


def test_a_title_needs_numbers_below_the_names():
    rows = [["a remark"], ["x", "y"], ["one", "two"], ["three", "four"]]
    assert n_title_rows(rows) == 0
    assert n_title_rows([*rows[:2], ["one", "12 %"], ["three", "€ 4,50"]]) == 1
    assert n_title_rows([*rows[:2], ["one", dt.date(2024, 1, 1)], ["three", None]]) == 1


def test_a_margin_is_not_a_column(tmp_path):
    margin = make(tmp_path / "t.xlsx", Sheet=[[None, *row] for row in ROWS])
    assert open_table(margin).columns == ("who", "size", "weight")
    numbered = [[None, *ROWS[0]], *[[i, *row] for i, row in enumerate(ROWS[1:])]]  # a column without a name
    assert open_table(make(tmp_path / "n.xlsx", Sheet=numbered)).columns == ("column 1", "who", "size", "weight")
