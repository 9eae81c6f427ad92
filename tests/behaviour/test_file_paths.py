"""Paths: format and compression by suffix, tables by ::name, damaged files, available memory."""

import re
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest

from separatrix.files import FileReadError, FileWriteError, available_memory, memory, open_table, open_writer
from separatrix.files.location import COMPRESSIONS, find, output_location


def touch(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_bytes(b"")


def test_suffixes_determine_format_and_compression(tmp_path):
    touch(tmp_path, "A.CSV", "a.b.tsv.gz")
    found = [(place.format, place.compression) for place in (find(tmp_path / "A.CSV"), find(tmp_path / "a.b.tsv.gz"))]
    assert found == [("csv", None), ("tsv", "gzip")]


def test_the_member_of_a_zip_archive_determines_the_format(tmp_path):
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("__MACOSX/._inside.tsv", "")
        archive.writestr("folder/inside.tsv", "a\tb\n")
    assert find(tmp_path / "all.zip").format == "tsv"
    with zipfile.ZipFile(tmp_path / "all.zip", "a") as archive:
        archive.writestr("second.tsv", "")
    with pytest.raises(FileReadError, match=r"all.zip contains 2 files \(folder/inside.tsv and second.tsv\)"):
        find(tmp_path / "all.zip")


def test_a_name_after_colons_is_a_table_unless_it_is_a_file(tmp_path):
    touch(tmp_path, "shop.db", "odd::name.db")
    assert find(f"{tmp_path}/shop.db::orders").table == "orders"
    assert find(tmp_path / "odd::name.db").table is None
    with pytest.raises(FileReadError, match="names the table 'orders', but table='people' names another"):
        find(f"{tmp_path}/shop.db::orders", "people")
    touch(tmp_path, "one.csv")
    with pytest.raises(FileReadError, match="contains a single table, so 'orders' cannot be chosen"):
        find(tmp_path / "one.csv", "orders")


def test_a_db_file_of_duckdb_is_recognised_by_its_first_bytes(tmp_path):
    with open_writer(tmp_path / "a.duckdb") as writer:
        writer.write(pa.table({"a": [1]}))
    (tmp_path / "a.duckdb").rename(tmp_path / "a.db")
    assert find(tmp_path / "a.db").format == "duckdb"


def test_a_missing_file_suggests_similar_names(tmp_path):
    touch(tmp_path, "customers.csv", "orders.parquet", "notes.md")
    with pytest.raises(FileReadError, match=r"There is no file .*custmers.csv. Did you mean .*customers.csv\?"):
        find(tmp_path / "custmers.csv")
    with pytest.raises(FileReadError, match=r"The tables in that folder are customers.csv and orders.parquet\."):
        find(tmp_path / "zzz")
    with pytest.raises(FileReadError, match=rf"the folder .*/no/such does not exist.*existing folder is {tmp_path}\."):
        find(tmp_path / "no/such/file.csv")


def test_folders_and_patterns_are_parquet(tmp_path):
    touch(tmp_path, "parts/b.parquet", "parts/a.parquet", "parts/_tmp/c.parquet", "parts/.d.parquet", "parts/e.md")
    names = [part.name for part in find(tmp_path / "parts").parts]
    assert names == ["a.parquet", "b.parquet"]
    assert [part.name for part in find(f"{tmp_path}/parts/*.parquet").parts] == names
    touch(tmp_path, "text/a.csv", "text/b.csv")
    with pytest.raises(FileReadError, match=r"a folder without Parquet files: it contains a.csv and b.csv\."):
        find(tmp_path / "text")
    with pytest.raises(FileReadError, match=r"matches .*a.csv, but only Parquet files are read together"):
        find(f"{tmp_path}/text/*.csv")
    with pytest.raises(FileReadError, match=re.escape("No file matches")):
        find(f"{tmp_path}/text/*.parquet")
    (tmp_path / "void").mkdir()
    with pytest.raises(FileReadError, match="it is empty"):
        find(tmp_path / "void")


def test_a_folder_is_not_a_file_to_write(tmp_path):
    (tmp_path / "a.csv").mkdir()
    with pytest.raises(FileWriteError, match=r"is a folder. Give the name of a file in it, such as .*table.csv\."):
        output_location(tmp_path / "a.csv")
    assert output_location(Path(tmp_path, "b.tsv.xz")).compression == "xz"


PACKED_TABLE = pa.table({"a": [str(i * i % 1009) for i in range(5000)]})


@pytest.mark.parametrize("suffix", [suffix for suffix in COMPRESSIONS if suffix != ".zip"])
@pytest.mark.parametrize("kind", [".csv", ".jsonl", ".parquet"])
def test_a_truncated_file_is_an_error(tmp_path, kind, suffix):
    path = tmp_path / f"t{kind}{suffix}"
    with open_writer(path) as writer:
        writer.write(PACKED_TABLE)
    path.write_bytes(path.read_bytes()[:-60])
    with pytest.raises(FileReadError, match=rf"t{kind}{suffix} (ends too early: it is truncated|is damaged)"):
        open_table(path).read()


GIB = 2**30


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with 8 GiB available, whose files can be written."""
    monkeypatch.setattr(memory, "PROC", tmp_path / "proc")
    monkeypatch.setattr(memory, "CGROUP", tmp_path / "cgroup")

    def write(name, text):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    write("proc/meminfo", f"MemTotal: {16 * 2**20} kB\nMemAvailable: {8 * 2**20} kB\n")
    return write


def test_the_smallest_control_group_counts_and_cached_files_are_free(machine):
    machine("proc/self/cgroup", "0::/outer/inner\n")
    machine("cgroup/outer/inner/memory.max", "max\n")
    machine("cgroup/outer/inner/memory.current", f"{GIB}\n")
    assert available_memory() == 8 * GIB
    machine("cgroup/outer/memory.max", f"{4 * GIB}\n")
    machine("cgroup/outer/memory.current", f"{3 * GIB}\n")
    assert available_memory() == GIB
    machine("cgroup/outer/memory.stat", f"anon {GIB}\ninactive_file {2 * GIB}\n")
    assert available_memory() == 3 * GIB
