"""Every format, plain and packed, gives back what was written to it; batches do not change it, and take no memory."""

import datetime as dt
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix.files import COMPRESSIONS, FORMATS, FileReadError, open_table, open_writer

DATA = Path(__file__).parents[4].parent / "shared" / "data"
SUFFIXES = [suffix for suffixes in FORMATS.values() for suffix in suffixes if suffix != ".xlsm"]
# Text that is certainly text, also in CSV: it starts with a word that is neither a number, a date nor a gap.
LETTERS = st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"), include_characters="\n\t")
TEXTS = st.text(LETTERS, max_size=12).map("=word".__add__)
TIMES = st.datetimes(dt.datetime(1900, 3, 1), dt.datetime(2999, 1, 1)).map(lambda time: time.replace(microsecond=0))
COLUMNS = {
    'say "text"': (pa.string(), TEXTS, "=word, \"quoted\"\nin 'two' lines; é"),
    "whole;ish": (pa.int64(), st.integers(-(2**52), 2**52), -7),
    "number,s": (pa.float64(), st.floats(-1e9, 1e9), 0.1),
    "true?": (pa.bool_(), st.booleans(), True),
    "tag|": (pa.date32(), st.dates(dt.date(1900, 3, 1), dt.date(2999, 1, 1)), dt.date(2024, 2, 29)),
    "Zeit": (pa.timestamp("us"), TIMES, dt.datetime(1999, 12, 31, 23, 59, 58)),
}


@st.composite
def tables(draw):
    """Mixed columns with gaps; the last row has a value everywhere, so that no column is without a type."""
    n = draw(st.integers(0, 6))
    columns = {}
    for name, (kind, values, last) in COLUMNS.items():
        cells = draw(st.lists(st.none() | values, min_size=n, max_size=n))
        columns[name] = pa.array([*cells, last], kind)
    return pa.table(columns)


def example(n=5):
    columns = {name: pa.array([None, *[last] * (n - 1)], kind) for name, (kind, _, last) in COLUMNS.items()}
    return pa.table(columns)


@pytest.mark.parametrize("packed", ["", *COMPRESSIONS])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_table_comes_back_from_every_format_and_compression(tmp_path, suffix, packed):
    path, table = tmp_path / f"t{suffix}{packed}", example()
    with open_writer(path) as writer:
        writer.write(table)
    found = open_table(path)
    assert found.read().equals(table)
    assert found.columns == tuple(table.column_names)
    assert found.n_rows in (None, 5)
    assert (found.path, found.n_bytes, found.notes) == (path, path.stat().st_size, ())
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet", ".arrow", ".xlsx", ".sqlite", ".duckdb"])
@settings(max_examples=8)
@given(table=tables())
def test_any_small_table_comes_back(suffix, table):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"t{suffix}")
        with open_writer(path) as writer:
            for batch in table.to_batches(max_chunksize=2):
                writer.write(batch)
        found = open_table(path).read()
        if suffix == ".xlsx":  # numbers of a workbook have sixteen digits
            numbers = [x if x is None else pytest.approx(x, rel=1e-15) for x in table["number,s"].to_pylist()]
            assert found["number,s"].to_pylist() == numbers
            found, table = found.drop("number,s"), table.drop("number,s")
        assert found.equals(table)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_batches_are_the_table_in_pieces_of_one_schema(tmp_path, suffix):
    path, table = tmp_path / f"t{suffix}", example(10)
    with open_writer(path) as writer:
        writer.write(table)
    found = open_table(path)
    for _ in range(2):
        batches = list(found.batches(rows=4))
        assert [batch.num_rows for batch in batches] == [4, 4, 2]
        assert pa.Table.from_batches(batches).equals(table)
    some = ["Zeit", "true?"]
    assert found.read(columns=some).equals(table.select(some))
    assert found.schema(some) == table.select(some).schema
    with pytest.raises(FileReadError, match=r"no column 'zeit'. Did you mean 'Zeit'\?"):
        found.batches(columns=["zeit"])


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow", ".arrows", ".xlsx", ".sqlite", ".duckdb"])
def test_a_table_without_rows_has_its_columns(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    with open_writer(path) as writer:
        writer.write(example()[:0])
    found = open_table(path)
    assert list(found.batches()) == []
    assert (found.columns, found.read().num_rows) == (tuple(COLUMNS), 0)


@pytest.mark.parametrize("given_as", ["suffix", "argument"])
@pytest.mark.parametrize("suffix", [".xlsx", ".sqlite", ".duckdb"])
def test_a_table_can_be_named_with_the_path(tmp_path, suffix, given_as):
    path, table = tmp_path / f"t{suffix}", example()
    with open_writer(f"{path}::orders") as writer:
        writer.write(table)
    found = open_table(f"{path}::orders") if given_as == "suffix" else open_table(path, table="orders")
    assert found.read().equals(table)
    with pytest.raises(FileReadError, match=r"no (table|sheet) 'order'. Did you mean 'orders'\?"):
        open_table(path, table="order")


def test_a_library_that_is_not_there_is_named_with_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "duckdb" else name)
    with pytest.raises(
        ImportError, match=r"duckdb need duckdb, which is not installed: pip install 'separatrix\[app\]'"
    ):
        open_writer(tmp_path / "t.duckdb")


MEMORY = """
import resource, sys
import separatrix.table, pyarrow.csv, pyarrow.parquet, pyarrow.compute
from separatrix.files import open_table
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before = peak()
table = open_table(sys.argv[1])
rows = sum(batch.num_rows for batch in table.batches(rows=8192))
print(rows, peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the unit of ru_maxrss differs")
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_memory_does_not_grow_with_the_file(tmp_path, suffix):
    path, batch = tmp_path / f"t{suffix}", example(1000).to_batches()[0]
    with open_writer(path) as writer:
        for _ in range(200):
            writer.write(batch)
    output = subprocess.run([sys.executable, "-c", MEMORY, path], capture_output=True, text=True, check=True).stdout
    rows, grown = map(int, output.split())
    assert rows == 200_000
    assert grown < 60e6  # the table itself is 22 MB on disk as CSV and 60 MB or more as Python objects


@pytest.mark.data
@pytest.mark.skipif(not DATA.exists(), reason="real data absent")
@pytest.mark.parametrize("path", sorted([*DATA.rglob("*.csv"), *DATA.rglob("*.parquet")]), ids=lambda path: path.name)
def test_real_tables_read_as_pandas_reads_them(path, tmp_path):
    import pandas as pd

    frame = pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)
    found = open_table(path)
    assert found.columns == tuple(frame.columns)
    pd.testing.assert_frame_equal(found.read().to_pandas(), frame, check_dtype=False, check_categorical=False)
    with open_writer(tmp_path / "copy.csv.zst") as writer:
        for batch in found.batches(rows=5000):
            writer.write(batch)
    copy = open_table(tmp_path / "copy.csv.zst").read().to_pandas()
    for name in frame.select_dtypes("number"):
        pd.testing.assert_series_equal(copy[name], frame[name], check_dtype=False)
