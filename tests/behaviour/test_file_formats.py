"""Every format, plain and compressed, returns the table that was written to it, in batches of one schema."""

import datetime as dt
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import separatrix as sx
from separatrix.exceptions import DataError
from separatrix.files import FORMATS, FileReadError, open_table, open_writer
from separatrix.files.location import COMPRESSIONS

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
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
def test_every_format_and_compression_returns_the_table(tmp_path, suffix, packed):
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
def test_any_small_table_is_returned(suffix, table):
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
def test_batches_have_one_schema(tmp_path, suffix):
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


@pytest.mark.slow
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
@pytest.mark.skipif(not SHARED.exists(), reason="real data absent")
@pytest.mark.parametrize(
    "path", sorted([*SHARED.rglob("*.csv"), *SHARED.rglob("*.parquet")]), ids=lambda path: path.name
)
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


def test_a_file_that_changed_since_it_was_opened_is_an_error(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n")
    opened = open_table(path)
    assert opened.read().num_rows == 1
    path.write_text("a\n1\n2\n")
    with pytest.raises(FileReadError, match="has changed since it was opened"):
        opened.read()
    with pytest.raises(ValueError, match="rows"):
        open_table(path).batches(rows=0)
    path.unlink()
    with pytest.raises(FileReadError, match="t.csv was removed"):
        opened.read()


def test_parquet_parts_form_one_table_of_the_wider_types(tmp_path):
    pq.write_table(pa.table({"a": [1, 2], "b": ["x", "y"]}), tmp_path / "p1.parquet")
    pq.write_table(pa.table({"b": ["z"], "a": [2.5]}), tmp_path / "p2.parquet")
    for path in (tmp_path, tmp_path / "*.parquet"):
        table = open_table(path)
        assert (table.n_rows, table.columns) == (3, ("a", "b"))
        assert table.read().to_pydict() == {"a": [1.0, 2.0, 2.5], "b": ["x", "y", "z"]}
        assert len(table.fingerprint) == 2


ARROW_TABLE = pa.table({"a": [1, 2, 3], "b": ["x", None, "z"]})


@pytest.mark.parametrize(("make", "n_rows"), [(pa.ipc.new_file, 3), (pa.ipc.new_stream, None)])
@pytest.mark.parametrize("name", ["t.arrow", "t.arrows", "t.feather"])
def test_arrow_files_and_streams_under_any_name(tmp_path, make, n_rows, name):
    with make(str(tmp_path / name), ARROW_TABLE.schema) as writer:
        writer.write_table(ARROW_TABLE, max_chunksize=2)
    table = open_table(tmp_path / name)
    assert table.read().equals(ARROW_TABLE)
    assert table.n_rows == n_rows


WORDS = pa.array(["x", "y", None, "x"])
RUNS = pc.run_end_encode(pa.array([2.5, 2.5, None, 1.0]))
VIEWS = {  # columns of types that Arrow cannot sort or cast, and their values
    "view": (WORDS.cast(pa.string_view()), ["x", "y", None, "x"]),
    "bytes": (WORDS.cast(pa.binary()).cast(pa.binary_view()), [b"x", b"y", None, b"x"]),
    "runs": (RUNS, [2.5, 2.5, None, 1.0]),
    "dictionary": (pa.DictionaryArray.from_arrays([0, 1, None, 0], pa.array(["x", "y"], pa.string_view())), None),
    "struct": (pa.StructArray.from_arrays([WORDS.cast(pa.string_view()), RUNS], names=["v", "w"]), None),
    "list": (pa.ListArray.from_arrays([0, 1, 2, 3, 4], WORDS.cast(pa.string_view())), None),
    "pair": (pa.FixedSizeListArray.from_arrays(pa.array(list("abcdefgh"), pa.string_view()), 2), None),
    "map": (pa.array([[("k", "v")], [], None, [("k", "w")]], pa.map_(pa.string(), pa.string_view())), None),
}


@pytest.mark.parametrize("kind", VIEWS)
@pytest.mark.parametrize("suffix", [".arrow", ".parquet"])
def test_views_and_run_end_encoded_columns_are_read_sorted_and_fitted(tmp_path, kind, suffix):
    column, expected = VIEWS[kind]
    if suffix == ".parquet" and kind in ("runs", "struct", "dictionary"):
        column, expected = VIEWS["view"]  # Arrow cannot write these
    table = pa.table({"k": pa.chunked_array([column] * 5), "x": np.arange(20) % 7, "y": ["no", "yes"] * 10})
    path = tmp_path / f"t{suffix}"
    if suffix == ".arrow":
        with pa.ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table)
    else:
        try:
            pq.write_table(table, path)
        except pa.ArrowNotImplementedError:
            pytest.skip("old versions of Arrow cannot write views to Parquet")
    found = open_table(path).read()
    assert found["k"].to_pylist() == (column.to_pylist() if expected is None else expected) * 5
    found.take([3, 1]).filter(pa.array([True, False]))
    model = sx.TableClassifier(sx.NaiveBayes()).fit(path, "y")
    assert model.predict_proba(path).shape == (20, 2)


@pytest.mark.parametrize("kind", VIEWS)
def test_sliced_views_in_streams_and_tables_are_read(kind):
    column = VIEWS[kind][0]
    table = pa.table({"k": pa.chunked_array([column] * 10), "x": np.arange(40) % 7, "y": ["no", "yes"] * 20})
    part = table.slice(3, 34)
    batches = list(sx.scan(part.to_reader(max_chunksize=5), target="y").batches())
    assert [value for batch in batches for value in batch["k"].to_pylist()] == part["k"].to_pylist()
    for source in (sx.scan(part.to_reader(), target="y"), part):
        model = sx.TableClassifier(sx.NaiveBayes()).fit(source, *(["y"] if source is part else []))
        assert model.predict_proba(part).shape == (34, 2)


ENDS, PLACES = np.arange(0, 123, 3, np.int32), np.full(40, 7, np.int32)
LONG = pa.array([f"a text of a view, too long to be stored in it: {i}" for i in range(40)], pa.string_view())
BEYOND = np.frombuffer(LONG.buffers()[1].to_pybytes()[:640], np.int32).reshape(40, 4) * [1, 1, 1, 10**6]
FORGED = {  # a column, and bytes of its file with their replacement
    "offsets": (pa.array(["abc"] * 40), ENDS.tobytes(), (ENDS * 10**6).tobytes()),
    "letters": (pa.array(["abc"] * 40), b"abc" * 40, b"\xff" * 120),
    "places": (
        pa.DictionaryArray.from_arrays(pa.array(PLACES), pa.array(list("abcdefgh"))),
        PLACES.tobytes(),
        (PLACES + 10**6).tobytes(),
    ),
    "view": (LONG, LONG.buffers()[1].to_pybytes()[:640], BEYOND.astype(np.int32).tobytes()),
    "runs": (
        pc.run_end_encode(pa.array([1.5] * 13 + [2.5] * 27)),
        np.array([13, 40], np.int32).tobytes(),
        np.array([-5, 40], np.int32).tobytes(),
    ),
}


@pytest.mark.parametrize("kind", FORGED)
@pytest.mark.parametrize("make", [pa.ipc.new_file, pa.ipc.new_stream])
def test_forged_arrow_files_are_reported_and_do_not_end_the_process(tmp_path, kind, make):
    column, old, new = FORGED[kind]
    table, path = pa.table({"k": column, "x": np.arange(40) % 7, "y": ["no", "yes"] * 20}), tmp_path / "t.arrow"
    with make(str(path), table.schema) as writer:
        writer.write_table(table)
    content = path.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new))
    for read in (lambda: open_table(path).read(), lambda: sx.TableClassifier().fit(path, "y")):
        with pytest.raises(FileReadError, match=r"t.arrow is damaged or not an Arrow file \("):
            read()
    if make is pa.ipc.new_stream:
        with pa.ipc.open_stream(str(path)) as stream, pytest.raises(DataError, match="could not be read"):
            sx.TableClassifier().fit(sx.scan(stream, target="y"))


def make_database(connect, path, *statements):
    with closing(connect(str(path))) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".arrows", ".sqlite"])
def test_names_with_blanks_and_columns_without_a_name_can_be_read(tmp_path, suffix):
    path, table = tmp_path / f"t{suffix}", pa.table({" size ": [1, 2], "": ["a", "b"], "y": [0.5, None]})
    with open_writer(path) as writer:
        writer.write(table)
    found = open_table(path)
    names = ("size", "column 2", "y")
    assert found.columns == names
    assert found.read().to_pydict() == dict(zip(names, table.to_pydict().values(), strict=True))
    (batch,) = found.batches(columns=names[1:])
    assert batch.schema.names == list(names[1:])


def test_sqlite_cells_of_several_types_form_a_column_of_one(tmp_path):
    make_database(
        sqlite3.connect,
        tmp_path / "t.db",
        'CREATE TABLE t (a, b, c, d BOOLEAN, e BOOLEAN, f DATE, g DATE, "h""i")',
        "INSERT INTO t VALUES (1, 1, 1, 1, 1, '2024-01-01', '2024-01-01', NULL)",
        "INSERT INTO t VALUES (2, 2.5, 'x', 0, 2, NULL, 'soon', NULL)",
    )
    table = open_table(tmp_path / "t.db")
    kinds = ["int64", "double", "string", "bool", "int64", "date32[day]", "string", "string"]
    assert [str(kind) for kind in table.schema().types] == kinds
    found = table.read(columns=["c", "d", 'h"i']).to_pydict()
    assert found == {"c": ["1", "x"], "d": [True, False], 'h"i': [None] * 2}
    assert table.n_rows == 2


def test_several_sqlite_tables_need_a_name(tmp_path):
    path = tmp_path / "shop.db"
    tables = ("CREATE TABLE orders (a)", "CREATE TABLE people (b)", "CREATE VIEW both AS SELECT * FROM orders, people")
    make_database(sqlite3.connect, path, *tables)
    names = "'both', 'orders', 'people'"
    with pytest.raises(FileReadError, match=rf"has 3 tables: {names}. Choose one, as in .*shop.db::both"):
        open_table(path)
    assert open_table(f"{path}::both").columns == ("a", "b")
    with pytest.raises(FileReadError, match=f"has no table 'zzz'. There are {names}"):
        open_table(path, table="zzz")


def test_duckdb_types_become_numbers_text_and_times(tmp_path):
    make_database(
        duckdb.connect,
        tmp_path / "t.duckdb",
        "CREATE TABLE t AS SELECT 1.25::DECIMAL(9, 2) AS a, 5::HUGEINT AS b, 'x'::ENUM('x', 'y') AS c, "
        "'00000000-0000-0000-0000-000000000001'::UUID AS d, TIMESTAMP '2024-01-01 10:00:00' AS e, 3::TINYINT AS f",
    )
    table = open_table(tmp_path / "t.duckdb")
    kinds = ["double", "double", "string", "string", "timestamp[us]", "int8"]
    assert [str(kind) for kind in table.schema().types] == kinds
    assert table.read().to_pylist()[0]["a"] == 1.25
    assert table.n_rows == 1
