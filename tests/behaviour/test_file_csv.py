"""CSV: encoding, dialect and names are found, types come from all rows, and errors name the line."""

import csv
import io
import sys
import time

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.exceptions import DataError
from separatrix.files import FileReadError, open_table
from separatrix.files.dialect import DELIMITERS, Quotes, name_columns, sniff
from separatrix.table import infer_types, table_statistics


def csv_file(folder, text, name="t.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def types(table):
    return {field.name: str(field.type) for field in table.schema()}


def test_a_late_row_widens_the_type_of_every_batch(tmp_path):
    rows = ["1,1,1,2024-01-01,true"] * 50_000  # more than one block
    text = "\n".join(["a,b,c,d,e", *rows, "2.5,x,NA,2024-01-01 10:00,", *rows, ""])
    table = open_table(csv_file(tmp_path, text))
    batches = list(table.batches(rows=7000))
    assert types(table) == {"a": "double", "b": "string", "c": "int64", "d": "timestamp[us]", "e": "bool"}
    assert {batch.schema for batch in batches} == {table.schema()}
    row = pa.Table.from_batches(batches).slice(50_000, 1).to_pylist()[0]
    assert (row["a"], row["b"], row["c"], row["d"].hour, row["e"]) == (2.5, "x", None, 10, None)


def test_known_types_are_not_inferred(tmp_path):
    path = csv_file(tmp_path, "zip,age,day,sure,other\n1,2,2024-01-01,true,x\n3,?,2024-01-02,false,y\n")
    known = {"zip": "categorical", "age": "number", "day": "date", "sure": "boolean", "absent": "number"}
    read = open_table(path, types=known).read(columns=["zip", "age", "day", "sure"])
    assert [str(kind) for kind in read.schema.types] == ["string", "double", "string", "bool"]
    assert read["age"].to_pylist() == [2.0, None]
    exact = open_table(path, types={"zip": pa.int8(), "day": pa.date32(), "other": pa.large_string()})
    found = exact.read(columns=["zip", "day", "other"]).schema.types
    assert [str(kind) for kind in found] == ["int8", "date32[day]", "large_string"]
    with pytest.raises(DataError, match=r"types\['zip'\]: no column .* 'nummer'. Give an Arrow type, or one of"):
        open_table(path, types={"zip": "nummer"})


def test_a_value_of_another_type_is_named(tmp_path):
    table = open_table(csv_file(tmp_path, '\n"a",b\n"1\n",2\n\n3,four\n'), types={"b": "number"})
    with pytest.raises(FileReadError, match=r"column 'b' has 'four' in row 2 \(line 6\).*numbers. Correct it"):
        table.read()
    table = open_table(csv_file(tmp_path, "a,b\n1,x\n2,y\n2000,z\n"), types={"a": pa.int8()})
    with pytest.raises(FileReadError, match=r"column 'a' has '2000' in row 3 \(line 4\).*int8"):
        table.read()


def test_a_late_word_for_a_missing_value_loses_no_row(tmp_path):
    rows = ["1.5,x"] * 200_000  # more than one block
    table = open_table(csv_file(tmp_path, "\n".join(["a,b", *rows, "NA,y", *rows, "nan,y", ""])))
    for _ in range(2):
        found = table.read()["a"]
        assert (len(found), found.null_count, found[200_000].as_py()) == (400_002, 2, None)


def test_decimal_commas_are_numbers_if_another_mark_delimits(tmp_path):
    table = open_table(csv_file(tmp_path, "a;b\n1,5;x, y\n2;z\n"))
    assert table.read().to_pydict() == {"a": [1.5, 2.0], "b": ["x, y", "z"]}
    assert table.notes == ("Numbers with a decimal comma were found in: a.",)
    assert open_table(csv_file(tmp_path, "a;b\n1,5;x\n"), types={"a": "number"}).read()["a"].to_pylist() == [1.5]


@given(st.lists(st.text('a;,"', max_size=8), max_size=5), st.integers(1, 7))
def test_quotes_that_enclose_fields_are_closed_in_their_line(lines, n_bytes):
    """Python's reader is the oracle: it fails on quotes that are not closed."""
    text, quotes = "\r\n".join(lines).encode(), Quotes()
    for start in range(0, len(text), n_bytes):
        quotes.add(text[start : start + n_bytes])
    quotes.add(b"")
    assert quotes.found == (b'"' in text)
    if quotes.enclose_fields(","):
        assert len(list(csv.reader(lines, strict=True))) == len(lines)


@given(st.lists(st.lists(st.text('a;,"', max_size=5), min_size=2, max_size=3), min_size=1, max_size=4))
def test_quotes_of_a_writer_enclose_fields(rows):
    text, quotes = io.StringIO(), Quotes()
    csv.writer(text).writerows(rows)
    quotes.add(text.getvalue().encode())
    quotes.add(b"")
    assert quotes.enclose_fields(",")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('\n\n"a\nx",b\r\n"1, ""2""\n3",4\r\n\r\n,5\r\n', {"a\nx": ['1, "2"\n3', None], "b": [4, 5]}),
        ("age, work\n39, State-gov\n50, ?\n", {"age": [39, 50], "work": ["State-gov", "?"]}),
    ],
    ids=["quotes, newlines and blank lines", "a space after each comma"],
)
def test_cells_have_neither_quotes_nor_spaces_around_them(tmp_path, text, expected):
    assert open_table(csv_file(tmp_path, text)).read().to_pydict() == expected


def test_a_stray_quote_beyond_the_sample_loses_no_rows(tmp_path):
    rows = ["ham\tfine"] * 300
    text = "\n".join(["kind\ttext", *rows, 'ham\t"Oh no', *rows, 'spam\ta "win" for you', ""])
    table = open_table(csv_file(tmp_path, text, "t.tsv"))
    assert table.read().num_rows == 602
    assert table.read()["text"][300].as_py() == '"Oh no'
    assert "part of the text" in table.notes[0]
    closed = "\n".join(["kind\ttext", *rows, 'ham\t"Oh no', 'ham\tfine"', ""])
    table = open_table(csv_file(tmp_path, closed, "t.tsv"))
    assert table.read().num_rows == 301
    assert table.notes == ()


def test_lines_longer_than_a_block_and_a_sample(tmp_path):
    names = tuple(letter * 100_000 for letter in "abcd")
    row = ",".join(["x" * 400_000, "y", "z", "1"])
    table = open_table(csv_file(tmp_path, "\n".join([",".join(names), *[row] * 5, ""])))
    assert table.columns == names
    assert table.read()[names[3]].to_pylist() == [1] * 5


def test_a_title_is_skipped_with_a_note(tmp_path):
    text = "Sales of 2020\n\nname;price\nAda;1,5\nAlan;7\n"
    table = open_table(csv_file(tmp_path, text))
    assert table.read().to_pydict() == {"name": ["Ada", "Alan"], "price": [1.5, 7.0]}
    assert "skipped as a title: 'Sales of 2020'. The names are in line 3" in table.notes[0]


def test_numbers_in_other_spellings_stay_text_for_the_table_encoder(tmp_path):
    path = csv_file(tmp_path, "Umsatz;Rabatt;Preis\n1.188,62 €;5 %;1,5\n7 €;;2\n")
    known = dict.fromkeys(["Umsatz", "Rabatt", "Preis"], "number")
    for types_ in ({}, known):
        table = open_table(path, types=types_)
        assert types(table) == {"Umsatz": "string", "Rabatt": "string", "Preis": "double"}
        schema = infer_types(table_statistics(table.read()), known)
        assert schema.encode(table.read())[:, 0].tolist() == [1188.62, 7]
    assert types(open_table(path, types={"Preis": "text"}))["Preis"] == "string"


def test_a_file_to_predict_is_read_like_the_training_file(tmp_path):
    learnt = open_table(csv_file(tmp_path, "zip;price\n" + "7030;1.188,5\n8050;20,5\n" * 9)).read()
    schema = infer_types(table_statistics(learnt), {"zip": "categorical"})
    new = csv_file(tmp_path, "zip;price\n8050;1.188\n", "new.csv")
    price = list(schema.columns).index("price")
    assert schema.encode(open_table(new, types=schema.text_types).read())[0, price] == 1188
    assert schema.encode(open_table(new).read())[0, price] == 1.188


CELLS = st.text("ab ,;|\t\"'1.", min_size=1, max_size=5).filter(lambda cell: cell.strip() == cell)


@given(
    delimiter=st.sampled_from(sorted(DELIMITERS)),
    rows=st.integers(2, 4).flatmap(lambda d: st.lists(st.lists(CELLS, min_size=d, max_size=d), min_size=2, max_size=9)),
)
def test_the_delimiter_of_a_quoted_file_is_found(delimiter, rows):
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerow([f"x{d}" for d in range(len(rows[0]))])
    writer.writerows(rows)
    dialect = sniff(text.getvalue(), "t.csv")
    assert (dialect.delimiter, dialect.quoted) == (delimiter, True)
    assert dialect.header == tuple(f"x{d}" for d in range(len(rows[0])))


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("a;b;c\n1,5;2,5;3,5\n1,5;2,5;3,5\n", ";"),
        ("a,b\n1;2,3\n4;5,6\n", ","),
        ("a\tb, c\n1\t2\n", "\t"),
        ("only\n1\n2\n", ","),
        ("a;b\n1;2\n3;4;5\n6;7\n", ";"),
        ("a|b,c|d\n1|2|3\n", "|"),
    ],
)
def test_commas_in_numbers_and_stray_marks_do_not_mislead(text, delimiter):
    assert sniff(text, "t.csv").delimiter == delimiter


def test_missing_and_numeric_names_have_a_note():
    names, notes = name_columns(["", "a", None], "t.csv")
    assert names == ("column 1", "a", "column 3")
    assert "no name for 'column 1', 'column 3'" in notes[0]
    assert "is a number (5.1, 3,5, 0)" in name_columns(["5.1", "3,5", "0"], "t.csv")[1][0]


TITLES = {"Sales of 2020\n": "Sales of 2020", '\r\n"Sales"\n\nas of May\n\n': "Sales as of May", "Sales@@\n": "Sales"}


@pytest.mark.parametrize("delimiter", sorted(DELIMITERS))
@pytest.mark.parametrize("above", TITLES)
def test_a_title_above_the_names_is_skipped(delimiter, above):
    body = "name@price@joined\nAda@1188.62@03.01.2020\nAlan@7@04.01.2020\n"
    dialect = sniff((above + body).replace("@", delimiter), "t.csv")
    assert (dialect.delimiter, dialect.header) == (delimiter, ("name", "price", "joined"))
    assert (dialect.title, dialect.skipped) == (TITLES[above], above.count("\n"))


@pytest.mark.parametrize(
    "text",
    [
        "name\nSmith, John\nDoe, Jane\n",
        "note\nwell, 5\nfine, 7\n",
        "only\n1\n2\n",
        "a,b\n1,2\n3,4\n",
        ",a\n0,5\n1,6\n",
        "title\n1,2\n3,4\n",
        "title\na,a\n3,4\n",
    ],
)
def test_possible_data_is_not_a_title(text):
    dialect = sniff(text, "t.csv")
    assert (dialect.title, dialect.skipped) == ("", 0)


LETTERS = "name,town\nJürgen,Köln\nZoë,Besançon – “là”\n"


@pytest.mark.parametrize("name", ["utf-8", "utf-8-sig", "utf-16"])
def test_marked_and_universal_encodings_need_no_note(tmp_path, name):
    table = open_table(csv_file(tmp_path, LETTERS.encode(name)))
    assert table.columns == ("name", "town")
    assert table.read().to_pylist()[1] == {"name": "Zoë", "town": "Besançon – “là”"}
    assert table.notes == ()


def test_other_encodings_are_read_with_a_note(tmp_path):
    table = open_table(csv_file(tmp_path, LETTERS.encode("cp1252")))
    assert table.read().to_pylist()[1] == {"name": "Zoë", "town": "Besançon – “là”"}
    assert ["0xfc in line 2" in note and "cp1252" in note for note in table.notes] == [True]
    table = open_table(csv_file(tmp_path, b"a,b\n1,\xe9\x81\n"))  # a byte outside the Windows code page
    assert table.read().to_pylist() == [{"a": 1, "b": "é\x81"}]
    assert "latin-1" in table.notes[0]


@pytest.mark.parametrize("shift", range(5))
def test_a_letter_may_lie_across_chunks(tmp_path, shift):
    text = ("a\n" + "x" * (2**20 - 2 - shift) + "€𝄞é\n").encode()
    assert open_table(csv_file(tmp_path, text)).notes == ()
    assert "0xc3 in line 2" in open_table(csv_file(tmp_path, text[:-2])).notes[0]


def test_a_dash_is_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a;b\n1;x\n2,5;y\n")))
    table = open_table("-")
    for _ in range(2):
        assert table.read().to_pydict() == {"a": [1.0, 2.5], "b": ["x", "y"]}
    assert str(table.path) == "-"
    with pytest.raises(FileReadError, match=r"is empty or was read before"):
        open_table("-")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("," * 4_000_000, ("4,000,000 commas", "100,000 columns", "Parquet")),
        (";".join(f"c{i}" for i in range(300_000)), ("299,999 semicolons", "Parquet")),
        ("a" * 4_000_000, ("name of more than 131,072 characters",)),
        ("".join(f"a{mark}" * 70_000 for mark in ",;\t|"), ("name of more than 131,072 characters",)),
        ("ab" * 9_000_000, ("more than 16 MB",)),
    ],
    ids=["commas", "names", "one name", "mixed delimiters", "18 MB"],
)
def test_a_first_line_that_is_too_long_for_names_is_refused_at_once(tmp_path, line, words):
    path = tmp_path / "wide.csv"
    path.write_text(f"{line}\n1\n")
    start = time.process_time()
    with pytest.raises(FileReadError) as caught:
        open_table(path)
    assert time.process_time() - start < 10.0  # splitting such a line takes over a minute
    assert [word for word in words if word not in str(caught.value)] == []
    assert len(str(caught.value)) < 500


def test_the_time_to_read_wide_text_is_proportional_to_the_number_of_columns(tmp_path):
    seconds = []
    for n_columns in (3_000, 15_000):
        path = tmp_path / f"{n_columns}.csv"
        path.write_text(",".join(f"c{i}" for i in range(n_columns)) + "\n" + ",".join("1" * n_columns) + "\n")
        start = time.perf_counter()
        assert open_table(path).read().num_columns == n_columns
        seconds.append(time.perf_counter() - start)
    assert seconds[1] < 12 * seconds[0]  # 5 if proportional, 25 if quadratic


def test_a_quote_before_a_long_text_that_never_closes_is_an_ordinary_character(tmp_path):
    path = tmp_path / "quote.csv"
    path.write_text('"' + "a\n" * 100_000)
    table = open_table(path)
    assert table.columns == ('"a',)
    assert table.read().num_rows == 99_999


def test_the_message_about_equal_names_stays_short(tmp_path):
    path = tmp_path / "names.csv"
    path.write_text(",".join(["a"] * 5_000) + "\n")
    with pytest.raises(FileReadError, match=r"columns 1 and 2 .*'a'") as caught:
        open_table(path)
    assert len(str(caught.value)) < 300
