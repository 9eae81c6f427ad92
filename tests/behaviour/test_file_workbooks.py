"""Excel: names are found under titles and beside margins; cells keep their types."""

import datetime as dt
import shutil
import zipfile

import pyarrow as pa
import pytest
from openpyxl import Workbook, load_workbook

from separatrix.files import FileReadError, open_table, open_writer
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


MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def rewrite(path, part, change, new=None):
    """Apply ``change`` to the text of a part, and store it as ``new`` in the archive."""
    with zipfile.ZipFile(path) as old:
        members = {name: old.read(name) for name in old.namelist()}
    members[new or part] = change(members[part])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return path


def with_cells(path, xml, part="xl/worksheets/sheet1.xml"):
    return rewrite(path, part, lambda text: text.replace(b"</sheetData>", xml + b"</sheetData>"))


def far_cell(name):
    return b'<row r="1048576"><c r="%s"><v>1</v></c></row>' % name.encode()


@pytest.mark.parametrize("cell", ["XFD1048576", "CV1048576"])
def test_a_stray_cell_far_from_the_table_is_named(tmp_path, cell):
    path = make(tmp_path / "t.xlsx", small=[["a"], [1]], large=ROWS)
    with_cells(path, far_cell(cell), "xl/worksheets/sheet2.xml")
    with pytest.raises(
        FileReadError, match=rf"'large' extends to cell {cell}: 1,048,576 rows .* Delete the rows below"
    ):
        open_table(f"{path}::large")
    assert open_table(f"{path}::small").n_rows == 1


def test_the_cells_of_a_sheet_count_and_not_its_stated_dimension(tmp_path):
    path = make(tmp_path / "t.xlsx", Sheet=ROWS)

    def state(area):
        rewrite(path, "xl/worksheets/sheet1.xml", lambda text: text.replace(b"A1:C4", area))

    state(b"A1:XFD1048576")
    assert open_table(path).n_rows == 3
    with_cells(path, far_cell("XFD1048576"))
    state(b"A1:C4")
    with pytest.raises(FileReadError, match="XFD1048576"):
        open_table(path)


@pytest.mark.parametrize(
    "xml",
    [
        b"<row r='1048576'><c s='1' r = 'XFD1048576'><v>1</v></c></row>",  # other quotes, order and spaces
        b'<row r="1048576"><c/><c r="xfd1048576"><v>1</v></c></row>',
        b'<row r="1048576">' + b"<c><v>1</v></c>" * 20 + b"</row>",  # places follow from the cells before
        b'<!-- " --><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>',
        b'<row r="9"><c r="A9"><v>1</v></c></row>' + b" " * 2**20 + far_cell("XFD1048576"),  # in another chunk
    ],
)
def test_stray_cells_are_found_in_any_form_of_xml(tmp_path, xml):
    with pytest.raises(FileReadError, match=r"(XFD|T)1048576"):
        open_table(with_cells(make(tmp_path / "t.xlsx", Sheet=ROWS), xml))


def test_the_sheet_that_is_read_is_the_sheet_that_is_checked(tmp_path):
    """The first part of an archive may name another list of sheets than usual."""
    path = make(tmp_path / "t.xlsx", Sheet=ROWS)
    far = far_cell("XFD1048576")
    rewrite(
        path, "xl/worksheets/sheet1.xml", lambda text: text.replace(b"</sheetData>", far + b"</sheetData>"), "o/s.xml"
    )
    sheet = (b"/xl/worksheets/sheet1.xml", b"/o/s.xml")
    rewrite(path, "xl/_rels/workbook.xml.rels", lambda text: text.replace(*sheet), "o/_rels/workbook.xml.rels")
    rewrite(path, "xl/workbook.xml", bytes, "o/workbook.xml")
    rewrite(path, "_rels/.rels", lambda text: text.replace(b"xl/workbook.xml", b"o/workbook.xml"))
    with pytest.raises(FileReadError, match="XFD1048576"):
        open_table(path)


def test_small_files_with_large_contents_are_refused(tmp_path):
    path = make(tmp_path / "t.xlsx", Sheet=ROWS)
    strings = f'<sst xmlns="{MAIN}"><si><t>{"a" * 1_000_000}</t></si></sst>'.encode()
    relation = (
        f'<Relationship Type="{OFFICE}/sharedStrings" Target="sharedStrings.xml" Id="s"/></Relationships>'.encode()
    )
    rewrite(path, "xl/workbook.xml", lambda _: strings, "xl/sharedStrings.xml")
    rewrite(path, "xl/_rels/workbook.xml.rels", lambda text: text.replace(b"</Relationships>", relation))
    many = with_cells(path, b'<row><c t="s"><v>0</v></c></row>' * 1000)
    with pytest.raises(FileReadError, match="a copy of its texts in every cell"):
        open_table(many)
    with pytest.raises(FileReadError, match="unpacked it has"):
        open_table(with_cells(make(tmp_path / "u.xlsx", Sheet=ROWS), b" " * 2**27))


def test_a_sparse_sheet_of_ordinary_size_is_read(tmp_path):
    rows = [["a", "b"], *[[i, i % 2] for i in range(50)], *[[]] * 20_000, [7, 1]]
    assert open_table(make(tmp_path / "t.xlsx", Sheet=rows)).n_rows == 20_051


def test_other_formats_are_not_read_as_xlsx(tmp_path):
    """calamine tries all formats if the suffix is unusual, and other formats have other ways to state a large area."""
    office = "urn:oasis:names:tc:opendocument:xmlns"
    repeated = '<t:table-cell t:number-columns-repeated="9"><x:p>a</x:p></t:table-cell>'
    content = (
        f'<o:document-content xmlns:o="{office}:office:1.0" xmlns:t="{office}:table:1.0" xmlns:x="{office}:text:1.0">'
        f'<o:body><o:spreadsheet><t:table t:name="S"><t:table-row>{repeated}</t:table-row></t:table></o:spreadsheet>'
        "</o:body></o:document-content>"
    )
    for name in ("t.xlsx", "T.XLSX"):
        with zipfile.ZipFile(tmp_path / name, "w") as file:
            file.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
            file.writestr("META-INF/manifest.xml", "<manifest/>")
            file.writestr("content.xml", content)
        with pytest.raises(FileReadError, match="not an .xlsx workbook"):
            open_table(tmp_path / name)
    path = make(tmp_path / "good.xlsx", Sheet=ROWS)
    shutil.copyfile(path, tmp_path / "GOOD.XLSX")
    assert open_table(tmp_path / "GOOD.XLSX").n_rows == 3
