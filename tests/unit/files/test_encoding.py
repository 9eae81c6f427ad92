"""Encodings by every byte: UTF-8, its mark, UTF-16, the code page of Windows, and texts of two of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.files import FileReadError, encoding, open_table
from separatrix.files.encoding import Encoding, _whole, find_encoding
from separatrix.files.location import Location

TEXT = "name,town\nJürgen,Köln\nZoë,Besançon – “là”\n"


def file(folder, data):
    path = folder / "t.csv"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("name", ["utf-8", "utf-8-sig", "utf-16"])
def test_marked_and_universal_encodings_need_no_note(tmp_path, name):
    table = open_table(file(tmp_path, TEXT.encode(name)))
    assert table.columns == ("name", "town")
    assert table.read().to_pylist()[1] == {"name": "Zoë", "town": "Besançon – “là”"}
    assert table.notes == ()


def test_the_code_page_of_windows_is_read_with_a_note(tmp_path):
    table = open_table(file(tmp_path, TEXT.encode("cp1252")))
    assert table.read().to_pylist()[1] == {"name": "Zoë", "town": "Besançon – “là”"}
    assert len(table.notes) == 1
    assert "0xfc, in line 2" in table.notes[0]
    assert "cp1252" in table.notes[0]


def test_bytes_that_windows_does_not_have_are_latin_1(tmp_path):
    table = open_table(file(tmp_path, b"a,b\n1,\xe9\x81\n"))
    assert table.read().to_pylist() == [{"a": 1, "b": "é\x81"}]
    assert "latin-1" in table.notes[0]


def test_two_encodings_in_one_file_are_an_error_with_the_place(tmp_path):
    data = "a,b\n1,Köln\n2,Zoë\n".encode() + "3,Köln\n".encode("cp1252")
    with pytest.raises(FileReadError, match=rf"mixes encodings: byte {data.index(0xF6)} \(line 4\) is 0xf6.*2 other"):
        open_table(file(tmp_path, data))


@pytest.mark.parametrize("chunk", [1, 2, 3, 5])
def test_a_letter_may_lie_across_chunks(tmp_path, monkeypatch, chunk):
    monkeypatch.setattr(encoding, "CHUNK", chunk)
    path = file(tmp_path, "a\n€𝄞é\n".encode())
    assert find_encoding(Location(path, "csv")) == Encoding("utf-8")
    path.write_bytes("a\n€𝄞é\n".encode()[:-2])
    with pytest.raises(FileReadError, match=r"mixes encodings: byte 9 \(line 2\) is 0xc3"):
        find_encoding(Location(path, "csv"))


@given(data=st.binary(max_size=8).map(b"word".__add__))
def test_what_is_whole_and_what_is_left_are_the_data(data):
    whole, rest = _whole(data)
    assert whole + rest == data
    assert len(rest) < 4


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"PAR1....", "a Parquet file"),
        (b"\x1f\x8b\x08\x00", "packed with gzip"),
        (b"PK\x03\x04", "a zip archive or an Excel workbook"),
    ],
)
def test_a_file_under_the_wrong_suffix_is_told_what_it_is(tmp_path, data, what):
    with pytest.raises(FileReadError, match=f"is no text: it is {what}"):
        open_table(file(tmp_path, data))


def test_a_zero_byte_is_no_text(tmp_path):
    with pytest.raises(FileReadError, match="is no text: byte 5 is zero"):
        open_table(file(tmp_path, b"a,b\n1\x002\n"))
