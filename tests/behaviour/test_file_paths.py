"""Paths: format and compression by suffix, tables by ::name, damaged files, pipes, available memory."""

import os
import re
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from separatrix.files import FileReadError, FileWriteError, available_memory, memory, open_table, open_writer, scan
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


HAS_PIPES = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")


@pytest.fixture
def pipe(tmp_path):
    """Make a named pipe that transports these bytes once."""
    writers = []

    def make(name, content):
        os.mkfifo(tmp_path / name)
        writers.append(threading.Thread(target=(tmp_path / name).write_bytes, args=(content,), daemon=True))
        writers[-1].start()
        return tmp_path / name

    yield make
    for writer in writers:
        writer.join(30)


@HAS_PIPES
@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("pipe", b"\x1f\x8b\x08\0", "pipe is not text: it is compressed with gzip"),
        ("pipe", b"a,b\0", "pipe is not text: byte 3 is zero"),
        ("pipe.csv.gz", b"a,b\n1,2\n", "pipe.csv.gz is damaged or not compressed"),
        ("pipe.parquet", b"a,b\n1,2\n", "pipe.parquet is damaged or not a Parquet file"),
        ("pipe.xlsx", b"a,b\n1,2\n", "pipe.xlsx is damaged or not an .xlsx workbook"),
        ("pipe.db", b"a,b\n1,2\n" * 99, "pipe.db cannot be read"),
        ("pipe.csv", b"a,a\n1,2\n", "pipe.csv: columns 1 and 2 are both called 'a'"),
        ("pipe.csv", b" \n", "pipe.csv is empty"),
    ],
)
def test_messages_name_the_pipe_and_not_its_copy(tmp_path, pipe, name, content, words):
    path = pipe(name, content)
    with pytest.raises(FileReadError, match=re.escape(str(tmp_path / words))):
        open_table(path)


@HAS_PIPES
def test_nothing_reads_a_pipe_twice(tmp_path, pipe):
    pq.write_table(pa.table({"a": [1, 2, 3], "y": ["u", "v", "u"]}), tmp_path / "t.parquet")
    found = scan(pipe("pipe.parquet", (tmp_path / "t.parquet").read_bytes()), where="a > 1")
    assert [part.path for part in found.rows.parts(("a",))] == [str(tmp_path / "pipe.parquet")]
    assert found.n_rows == 2  # with a condition on integers, DuckDB would read the file itself


@pytest.mark.skipif(not Path("/dev/fd").is_dir(), reason="the system has no files of descriptors")
def test_standard_input_has_a_path_without_a_suffix(tmp_path):
    (tmp_path / "t").write_text("a,b\n1,2\n")
    with (tmp_path / "t").open() as opened:
        table = open_table(f"/dev/fd/{opened.fileno()}")
    assert table.read().to_pydict() == {"a": [1], "b": [2]}
    with pytest.raises(FileReadError, match="it has no suffix"):
        open_table(tmp_path / "t")


WITH_LITTLE_ADDRESS_SPACE = """
import resource, sys
import pyarrow, pyarrow.csv, pyarrow.compute, pyarrow.dataset, separatrix.table
from separatrix.files import FileReadError, open_table
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 20 * 2**20,) * 2)  # one thread can start, but not two
try:
    print(open_table(sys.argv[1]).read().num_rows)
except FileReadError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ulimit -v is a limit of Linux")
@pytest.mark.parametrize("suffix", [".csv", ".arrow"])
def test_too_little_address_space_for_threads_is_reported_before_arrow_waits(tmp_path, suffix):
    with open_writer(tmp_path / f"t{suffix}") as writer:
        writer.write(pa.table({"a": [1, 2]}))
    command = [sys.executable, "-c", WITH_LITTLE_ADDRESS_SPACE, str(tmp_path / f"t{suffix}")]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    assert f"t{suffix} cannot be read: the address space of this process is limited to" in found
    assert "Raise the limit: ulimit -v unlimited" in found
