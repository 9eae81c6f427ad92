"""Delimiters by agreement with the first line; names of columns, and what is wrong with them."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.files import FileReadError
from separatrix.files.dialect import DELIMITERS, name_columns, sniff

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


def test_a_stray_quote_does_not_swallow_lines():
    text = "kind\ttext\n" + 'ham\t"Oh no\nspam\twin\n' * 30
    assert not sniff(text, "t.tsv", prefer="\t").quoted


def test_a_space_after_each_comma_is_seen():
    assert sniff("age, work\n39, State-gov\n50, Private\n", "t.csv").spaced
    assert not sniff("age, work\n39, State-gov\n50,Private\n", "t.csv").spaced


@pytest.mark.parametrize("text", ["", "\n\n", "  \n"])
def test_an_empty_text_has_no_names(text):
    with pytest.raises(FileReadError, match="t.csv is empty: it has no line with the names"):
        sniff(text, "t.csv")


def test_duplicate_names_are_an_error_with_their_places():
    with pytest.raises(FileReadError, match=r"columns 1 and 3 are both called 'a' \(so are 'b'\). Rename one"):
        name_columns(["a", "b", " a ", "b"], "t.csv")


def test_names_that_are_missing_or_numbers_are_noted():
    names, notes = name_columns(["", "a", None], "t.csv")
    assert names == ("column 1", "a", "column 3")
    assert "no name for 'column 1', 'column 3'" in notes[0]
    assert "is a number (5.1, 3,5, 0)" in name_columns(["5.1", "3,5", "0"], "t.csv")[1][0]


@pytest.mark.parametrize("delimiter", sorted(DELIMITERS))
@pytest.mark.parametrize(
    ("above", "title"),
    [
        ("Sales of 2020\n", "Sales of 2020"),
        ('\r\n"Sales"\n\nas of May\n\n', '"Sales" as of May'),
        ("Sales@@\n", "Sales"),
    ],
)
def test_a_title_above_the_names_is_not_read(delimiter, above, title):
    body = "name@price@joined\nAda@1188.62@03.01.2020\nAlan@7@04.01.2020\n"
    dialect = sniff((above + body).replace("@", delimiter), "t.csv")
    assert dialect.delimiter == delimiter
    assert dialect.header == ("name", "price", "joined")
    assert dialect.title == title
    assert dialect.skipped == above.count("\n")


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
def test_what_may_be_data_is_no_title(text):
    dialect = sniff(text, "t.csv")
    assert (dialect.title, dialect.skipped) == ("", 0)
