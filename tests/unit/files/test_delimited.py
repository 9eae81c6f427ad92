"""CSV: one type for the whole file, whatever the first block says; and what is wrong with it, by line."""

import pyarrow as pa
import pytest

from separatrix.exceptions import DataError
from separatrix.files import FileReadError, delimited, open_table
from separatrix.table import infer_types, table_statistics


def file(folder, text, name="t.csv"):
    path = folder / name
    path.write_text(text, newline="")
    return path


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK", 64)


def types(table):
    return {field.name: str(field.type) for field in table.schema()}


def test_a_type_that_a_late_row_breaks_is_widened_from_the_first_batch_on(tmp_path, small_blocks):
    rows = ["1,1,1,2024-01-01,true"] * 50
    text = "\n".join(["a,b,c,d,e", *rows, "2.5,x,NA,2024-01-01 10:00,", *rows, ""])
    table = open_table(file(tmp_path, text))
    batches = list(table.batches(rows=7))
    assert types(table) == {"a": "double", "b": "string", "c": "int64", "d": "timestamp[us]", "e": "bool"}
    assert {batch.schema for batch in batches} == {table.schema()}
    row = pa.Table.from_batches(batches).slice(50, 1).to_pylist()[0]
    assert (row["a"], row["b"], row["c"], row["d"].hour, row["e"]) == (2.5, "x", None, 10, None)


def test_known_types_are_not_inferred(tmp_path, monkeypatch):
    path = file(tmp_path, "zip,age,day,sure,other\n1,2,2024-01-01,true,x\n3,?,2024-01-02,false,y\n")
    known = {"zip": "categorical", "age": "number", "day": "date", "sure": "boolean", "absent": "number"}
    table = open_table(path, types=known)
    scanned = []
    scan = table._scan
    monkeypatch.setattr(table, "_scan", lambda columns, blocks=None: scanned.append(blocks) or scan(columns, blocks))
    read = table.read(columns=["zip", "age", "day", "sure"])
    assert [str(kind) for kind in read.schema.types] == ["string", "double", "string", "bool"]
    assert read["age"].to_pylist() == [2.0, None]
    assert scanned == [1]  # the first block, for the words of yes and no
    exact = open_table(path, types={"zip": pa.int8(), "day": pa.date32(), "other": pa.large_string()})
    assert [str(kind) for kind in exact.read(columns=["zip", "day", "other"]).schema.types] == [
        "int8",
        "date32[day]",
        "large_string",
    ]
    with pytest.raises(DataError, match=r"types\['zip'\]: no column .* 'nummer'. Give a type of Arrow, or one of"):
        open_table(path, types={"zip": "nummer"})


def test_a_value_that_is_not_of_the_known_type_is_named(tmp_path):
    table = open_table(file(tmp_path, "a,b\n1,2\n3,four\n"), types={"b": "number"})
    with pytest.raises(FileReadError, match=r"column 'b' holds 'four' in row 2 .* which is not a number. Correct it"):
        table.read()


def test_decimal_commas_are_numbers_where_another_mark_delimits(tmp_path):
    table = open_table(file(tmp_path, "a;b\n1,5;x, y\n2;z\n"))
    assert table.read().to_pydict() == {"a": [1.5, 2.0], "b": ["x, y", "z"]}
    assert table.notes == ("Numbers with a decimal comma were read as such: a.",)
    assert open_table(file(tmp_path, "a;b\n1,5;x\n"), types={"a": "number"}).read()["a"].to_pylist() == [1.5]


def test_a_ragged_line_is_named_by_its_number_in_the_file(tmp_path):
    path = file(tmp_path, 'a,b\n1,2\n"two\nlines",3\n\n4,5,6\n7,8\n')
    with pytest.raises(FileReadError, match=r"t.csv, line 6: 2 fields were expected.*3 found.*begins '4,5,6'.*quotes"):
        open_table(path).read()
    with pytest.raises(FileReadError, match=r"line 2: 2 fields .* 1 found.*Fill it up with delimiters \(','\)"):
        open_table(file(tmp_path, "a,b\n1\n2,3\n")).read()


def test_a_quote_that_is_never_closed_is_guessed(tmp_path, small_blocks):
    rows = "1,2\n" * 40_000
    path = file(tmp_path, f'a,b\n1,"2, 2"\n3,"4\n{rows}')
    with pytest.raises(FileReadError, match="never closed"):
        open_table(path).read()


def test_quotes_newlines_blank_lines_and_line_ends(tmp_path):
    text = '\n\n"a\nx",b\r\n"1, ""2""\n3",4\r\n\r\n,5\r\n'
    table = open_table(file(tmp_path, text))
    assert table.read().to_pydict() == {"a\nx": ['1, "2"\n3', None], "b": [4, 5]}


def test_a_space_after_each_comma_is_no_part_of_the_text(tmp_path):
    table = open_table(file(tmp_path, "age, work\n39, State-gov\n50, ?\n", "adult.txt"))
    assert table.read().to_pydict() == {"age": [39, 50], "work": ["State-gov", "?"]}


def test_unquoted_tabs_keep_stray_quotes(tmp_path):
    text = "kind\ttext\n" + 'ham\t"Oh no\nspam\twin\n' * 3
    assert open_table(file(tmp_path, text, "t.tsv")).read()["text"].to_pylist() == ['"Oh no', "win"] * 3


def test_a_stray_quote_beyond_the_sample_swallows_no_rows(tmp_path):
    rows = ["ham\tfine"] * 300
    text = "\n".join(["kind\ttext", *rows, 'ham\t"Oh no', *rows, 'spam\ta "win" for you', ""])
    table = open_table(file(tmp_path, text, "t.tsv"))
    assert table.read().num_rows == 602
    assert table.read()["text"][300].as_py() == '"Oh no'
    assert "part of the text" in table.notes[0]
    closed = "\n".join(["kind\ttext", *rows, 'ham\t"Oh no', 'ham\tfine"', ""])
    table = open_table(file(tmp_path, closed, "t.tsv"))
    assert table.read().num_rows == 301
    assert table.notes == ()


def test_lines_longer_than_a_block_and_a_sample(tmp_path, small_blocks, monkeypatch):
    monkeypatch.setattr(delimited, "SAMPLE", 50)
    names = [f"x{d}" for d in range(300)]
    text = "\n".join([",".join(names), *[",".join(map(str, range(300)))] * 20, ""])
    table = open_table(file(tmp_path, text))
    assert table.columns == tuple(names)
    assert table.read()["x299"].to_pylist() == [299] * 20


def test_header_only_and_empty_files(tmp_path):
    table = open_table(file(tmp_path, "a,b\n"))
    assert (table.columns, table.read().num_rows) == (("a", "b"), 0)
    with pytest.raises(FileReadError, match="t.csv is empty"):
        open_table(file(tmp_path, ""))


def test_a_nameless_first_column_is_called_by_its_place(tmp_path):
    table = open_table(file(tmp_path, ",a\n0,5\n1,6\n"))
    assert table.columns == ("column 1", "a")
    assert "no name for 'column 1'" in table.notes[0]


def test_a_title_is_left_out_with_a_note_and_lines_keep_their_numbers(tmp_path):
    text = "Sales of 2020\n\nname;price\nAda;1,5\nAlan;7\n"
    table = open_table(file(tmp_path, text))
    assert table.read().to_pydict() == {"name": ["Ada", "Alan"], "price": [1.5, 7.0]}
    assert "left out as a title: 'Sales of 2020'. The names are in line 3" in table.notes[0]
    with pytest.raises(FileReadError, match=r"line 6: 2 fields were expected, as in line 3, and 3 found"):
        open_table(file(tmp_path, text + "x;1;2\n")).read()
    with pytest.raises(FileReadError, match=r"line 2: 1 field was expected.* 2 found.*If line 1 is a title, remove it"):
        open_table(file(tmp_path, "names\nSmith,John\nDoe,Jane\n")).read()


def test_numbers_in_other_spellings_stay_text_for_the_table_encoder(tmp_path):
    path = file(tmp_path, "Umsatz;Rabatt;Preis\n1.188,62 €;5 %;1,5\n7 €;;2\n")
    known = dict.fromkeys(["Umsatz", "Rabatt", "Preis"], "number")
    for types_ in ({}, known):
        table = open_table(path, types=types_)
        assert types(table) == {"Umsatz": "string", "Rabatt": "string", "Preis": "double"}
        schema = infer_types(table_statistics(table.read()), known)
        assert schema.encode(table.read())[:, 0].tolist() == [1188.62, 7]
    assert types(open_table(path, types={"Preis": "text"}))["Preis"] == "string"


def test_a_file_to_predict_is_read_as_the_one_that_was_learnt_from(tmp_path):
    learnt = open_table(file(tmp_path, "zip;price\n" + "7030;1.188,5\n8050;20,5\n" * 9)).read()
    schema = infer_types(table_statistics(learnt), {"zip": "categorical"})
    new = file(tmp_path, "zip;price\n8050;1.188\n", "new.csv")
    price = list(schema.columns).index("price")
    assert schema.encode(open_table(new, types=schema.text_types).read())[0, price] == 1188
    assert schema.encode(open_table(new).read())[0, price] == 1.188
