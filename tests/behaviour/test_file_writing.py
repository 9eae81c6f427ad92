"""A file is written completely or not at all, and an existing file is kept until then."""

import csv
import datetime as dt
import io
import os
import sys

import pyarrow as pa
import pytest

from separatrix.files import FORMATS, FileWriteError, open_table, open_writer

TABLE = pa.table({"a": [1, 2], "b": ["x", None]})
SUFFIXES = [suffixes[0] for suffixes in FORMATS.values()]


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".csv.gz", ".parquet.zst", ".jsonl.zip"])
@pytest.mark.parametrize("reason", [KeyboardInterrupt, ValueError, SystemExit])
def test_an_exception_keeps_the_existing_file(tmp_path, suffix, reason):
    path = tmp_path / f"t{suffix}"
    path.write_bytes(b"before")

    def interrupted():
        with open_writer(path, force=True) as out:
            out.write(TABLE)
            assert len(list(tmp_path.iterdir())) == 2
            raise reason

    with pytest.raises(reason):
        interrupted()
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_an_existing_file_needs_force(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("before")
    with pytest.raises(FileWriteError, match=r"t.csv exists and is not replaced.*--force"):
        open_writer(path)
    with open_writer(path, force=True) as out:
        out.write(TABLE)
        assert path.read_text() == "before"
    assert open_table(path).read().num_rows == out.n_rows == 2


def test_a_file_created_in_the_meantime_is_not_replaced(tmp_path):
    path = tmp_path / "t.csv"

    def overtaken():
        with open_writer(path) as out:
            out.write(TABLE)
            path.write_text("theirs")

    with pytest.raises(FileWriteError, match="t.csv exists"):
        overtaken()
    assert path.read_text() == "theirs"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".jsonl", ".csv.zst", ".arrow"])
def test_a_device_without_space_is_a_full_disk(tmp_path, suffix):
    def fill():
        with open_writer(tmp_path / f"t{suffix}") as out:
            out._draft.symlink_to("/dev/full")
            for _ in range(200):
                out.write(pa.table({"a": os.urandom(2000).hex().split("0")}))

    with pytest.raises(FileWriteError, match="the disk is full after"):
        fill()
    assert list(tmp_path.iterdir()) == []


def test_all_batches_have_the_columns_of_the_first(tmp_path):
    path = tmp_path / "t.parquet"
    with open_writer(path) as out:
        out.write(TABLE)
        out.write(pa.record_batch({"b": ["y"], "a": pa.array([3], pa.int8())}))
    assert open_table(path).read()["a"].to_pylist() == [1, 2, 3]

    def other():
        with open_writer(tmp_path / "u.parquet") as out:
            out.write(TABLE)
            out.write(pa.table({"a": [1]}))

    with pytest.raises(FileWriteError, match="a batch has other columns than the first"):
        other()


def test_a_writer_needs_a_block_that_writes(tmp_path):
    with (
        pytest.raises(FileWriteError, match="nothing was written, not even column names"),
        open_writer(tmp_path / "t.csv"),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


def test_frames_of_other_libraries_are_written(tmp_path):
    import pandas as pd
    import polars as pl

    with open_writer(tmp_path / "t.csv") as out:
        out.write(pd.DataFrame({"a": [1.5], "b": ["x"]}))
        out.write(pl.DataFrame({"a": [2.5], "b": ["y"]}))
    assert (tmp_path / "t.csv").read_text() == "a,b\n1.5,x\n2.5,y\n"


def test_a_dash_is_standard_output(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", stream)
    with open_writer("-") as out:
        out.write(TABLE)
        out.write(TABLE[:1])
    assert stream.buffer.getvalue() == b"a,b\n1,x\n2,\n1,x\n"
    assert out.n_rows == 3


def write(path, columns):
    with open_writer(path) as writer:
        writer.write(pa.table(columns))
    return path


def test_csv_quotes_only_if_needed_and_leaves_missing_values_blank(tmp_path):
    times = pa.array([dt.datetime(2024, 1, 1), None], pa.timestamp("ns"))
    columns = {"a,b": ['say "x"', "plain"], "c": [float("nan"), 0.1], "d": [True, None], "e": times}
    text = write(tmp_path / "t.csv", columns).read_text()
    assert text == '"a,b",c,d,e\n"say ""x""",,true,2024-01-01 00:00:00\nplain,0.1,,\n'
    assert write(tmp_path / "t.tsv", {"a,b": ["x\ty"]}).read_text() == 'a,b\n"x\ty"\n'


def test_a_missing_value_in_the_only_column_is_a_row(tmp_path):
    table = open_table(write(tmp_path / "t.csv", {"a": [1, None, 3]}))
    assert table.read()["a"].to_pylist() == [1, None, 3]


def test_json_has_lists_and_null_for_nan(tmp_path):
    text = write(tmp_path / "t.jsonl", {"a": [float("nan"), 1.5], "b": [[1], None]}).read_text()
    assert text == '{"a": null, "b": [1]}\n{"a": 1.5, "b": null}\n'


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_text_that_looks_like_a_formula_is_escaped_on_request(tmp_path, suffix):
    texts = ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "plain", "", "'=1", None]
    numbers = [-1.0 * i for i in range(10)]
    table = pa.table({"=name": texts, "number": numbers, "c": pa.array(texts).dictionary_encode()})
    for escape in (False, True):
        path = tmp_path / f"{escape}{suffix}"
        with open_writer(path, escape_formulas=escape) as out:
            out.write(table)
        with path.open(newline="") as file:
            lines = list(csv.reader(file, delimiter="\t" if suffix == ".tsv" else ","))
        mark = "'" * escape
        expected = [*(mark + text for text in texts[:6]), "plain", "", "'=1", ""]
        assert lines[0] == [f"{mark}=name", "number", "c"]
        assert [line[0] for line in lines[1:]] == [line[2] for line in lines[1:]] == expected
        assert lines[2][1] == "-1"
