"""Paths: formats by suffix, tables by ::name, and errors that say where to look."""

import re
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest

from separatrix.files import FORMATS, FileReadError, FileWriteError, open_writer
from separatrix.files.location import find, place


def touch(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_bytes(b"")


@pytest.mark.parametrize(
    ("name", "format", "compression"),
    [
        ("a.csv", "csv", None),
        ("A.CSV", "csv", None),
        ("a.b.tsv.gz", "tsv", "gzip"),
        ("a.json.xz", "jsonl", "xz"),
        ("a.pq", "parquet", None),
        ("a.feather.zst", "arrow", "zstd"),
        ("a.csv.zip", "csv", "zip"),
    ],
)
def test_suffixes_tell_format_and_compression(tmp_path, name, format, compression):
    touch(tmp_path, name)
    where = find(tmp_path / name)
    assert (where.format, where.compression) == (format, compression)


def test_the_member_of_a_zip_archive_tells_where_its_name_does_not(tmp_path):
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("__MACOSX/._inside.tsv", "")
        archive.writestr("folder/inside.tsv", "a\tb\n")
    assert find(tmp_path / "all.zip").format == "tsv"
    with zipfile.ZipFile(tmp_path / "all.zip", "a") as archive:
        archive.writestr("second.tsv", "")
    with pytest.raises(FileReadError, match=r"all.zip holds 2 files \(folder/inside.tsv, second.tsv\), and one is"):
        find(tmp_path / "all.zip")
    (tmp_path / "bad.zip").write_bytes(b"PK not really")
    with pytest.raises(FileReadError, match="bad.zip is damaged, or no zip archive"):
        find(tmp_path / "bad.zip")


def test_a_name_after_colons_is_a_table_unless_it_is_a_file(tmp_path):
    touch(tmp_path, "shop.db", "odd::name.db")
    assert find(f"{tmp_path}/shop.db::orders").table == "orders"
    assert find(tmp_path / "odd::name.db").table is None
    with pytest.raises(FileReadError, match="names the table 'orders', but table='people' another"):
        find(f"{tmp_path}/shop.db::orders", "people")
    touch(tmp_path, "one.csv")
    with pytest.raises(FileReadError, match="holds one table, so that there is no 'orders' in it"):
        find(tmp_path / "one.csv", "orders")


def test_a_db_file_of_duckdb_is_known_by_its_first_bytes(tmp_path):
    with open_writer(tmp_path / "a.duckdb") as writer:
        writer.write(pa.table({"a": [1]}))
    (tmp_path / "a.duckdb").rename(tmp_path / "a.db")
    assert find(tmp_path / "a.db").format == "duckdb"


def test_a_missing_file_suggests_the_nearest_names(tmp_path):
    touch(tmp_path, "customers.csv", "orders.parquet", "notes.md")
    with pytest.raises(FileReadError, match=r"There is no file .*custmers.csv. Did you mean .*customers.csv\?"):
        find(tmp_path / "custmers.csv")
    with pytest.raises(FileReadError, match=r"The tables in that folder are customers.csv, orders.parquet\."):
        find(tmp_path / "zzz")
    with pytest.raises(FileReadError, match=rf"the folder .*/no/such does not exist.*that does is {tmp_path}\."):
        find(tmp_path / "no/such/file.csv")


def test_an_unknown_suffix_lists_what_is_known(tmp_path):
    touch(tmp_path, "a.doc", "plain")
    for name, shown in [("a.doc", "'.doc'"), ("plain", "'no suffix'")]:
        with pytest.raises(FileReadError, match=rf"{shown} is none that is known") as raised:
            find(tmp_path / name)
        assert all(kind in str(raised.value) for kind in FORMATS)
    with pytest.raises(FileWriteError, match="cannot be written.*'.doc' is none"):
        place(tmp_path / "b.doc")


def test_a_file_that_may_not_be_read_says_so(tmp_path, monkeypatch):
    touch(tmp_path, "a.csv")
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(FileReadError, match="may not be read by you"):
        find(tmp_path / "a.csv")


def test_an_address_is_no_file():
    with pytest.raises(FileReadError, match="is an address.*Download it first"):
        find("https://example.org/a.csv")


def test_folders_and_patterns_are_parquet(tmp_path):
    touch(tmp_path, "parts/b.parquet", "parts/a.parquet", "parts/_tmp/c.parquet", "parts/.d.parquet", "parts/e.md")
    names = [part.name for part in find(tmp_path / "parts").files]
    assert names == ["a.parquet", "b.parquet"]
    assert [part.name for part in find(f"{tmp_path}/parts/*.parquet").files] == names
    touch(tmp_path, "text/a.csv", "text/b.csv")
    with pytest.raises(FileReadError, match=r"a folder without Parquet files: there are a.csv, b.csv\."):
        find(tmp_path / "text")
    with pytest.raises(FileReadError, match=r"matches .*a.csv, and only Parquet files are read many at a time"):
        find(f"{tmp_path}/text/*.csv")
    with pytest.raises(FileReadError, match=re.escape("No file matches")):
        find(f"{tmp_path}/text/*.parquet")
    (tmp_path / "void").mkdir()
    with pytest.raises(FileReadError, match="it is empty"):
        find(tmp_path / "void")


def test_a_place_needs_its_folder(tmp_path):
    with pytest.raises(FileWriteError, match="there is no folder .*missing. Make it first"):
        place(tmp_path / "missing" / "a.csv")
    (tmp_path / "a.csv").mkdir()
    with pytest.raises(FileWriteError, match=r"is a folder. Give the name of a file in it, such as .*table.csv\."):
        place(tmp_path / "a.csv")
    assert place(Path(tmp_path, "b.tsv.xz")).compression == "xz"
