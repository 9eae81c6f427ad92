"""Whole or not at all: whatever stops a writer, what was at the path is there still, and nothing else."""

import errno
import io
import os
import sys

import pyarrow as pa
import pytest

from separatrix.files import FORMATS, FileWriteError, open_table, open_writer, sinks, writer

TABLE = pa.table({"a": [1, 2], "b": ["x", None]})
SUFFIXES = [suffixes[0] for suffixes in FORMATS.values()]


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".csv.gz", ".parquet.zst", ".jsonl.zip"])
@pytest.mark.parametrize("reason", [KeyboardInterrupt, ValueError, SystemExit])
def test_an_exception_leaves_what_was_there(tmp_path, suffix, reason):
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
    with pytest.raises(FileWriteError, match=r"t.csv exists, and is left as it is.*--force"):
        open_writer(path)
    with open_writer(path, force=True) as out:
        out.write(TABLE)
        assert path.read_text() == "before"
    assert open_table(path).read().num_rows == out.n_rows == 2


def test_a_file_that_appears_in_the_meantime_is_not_replaced(tmp_path):
    path = tmp_path / "t.csv"

    def overtaken():
        with open_writer(path) as out:
            out.write(TABLE)
            path.write_text("theirs")

    with pytest.raises(FileWriteError, match="t.csv exists"):
        overtaken()
    assert path.read_text() == "theirs"


@pytest.mark.parametrize("when", ["write", "close"])
@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), RuntimeError("database or disk is full")]
)
def test_a_full_disk_says_how_far_it_went(tmp_path, monkeypatch, when, error):
    def full(self, *rest):
        raise error

    def fill():
        with open_writer(tmp_path / "t.parquet") as out:
            out.write(TABLE)
            monkeypatch.setattr(sinks.ParquetSink, when, full)
            out.write(TABLE)

    rows = 2 if when == "write" else 4
    with pytest.raises(FileWriteError, match=rf"disk is full after {rows} rows \(0.0 MB\). Nothing was left behind"):
        fill()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".jsonl", ".csv.zst", ".arrow"])
def test_a_device_without_space_is_a_full_disk(tmp_path, monkeypatch, suffix):
    class Full(writer.FileWriter):
        @property
        def _draft(self):
            draft = super()._draft
            if not draft.is_symlink():
                draft.symlink_to("/dev/full")
            return draft

    monkeypatch.setattr(writer, "FileWriter", Full)

    def fill():
        with open_writer(tmp_path / f"t{suffix}") as out:
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


def test_a_block_must_write_something_and_be_a_block(tmp_path):
    with (
        pytest.raises(FileWriteError, match="nothing was written, not even the names"),
        open_writer(tmp_path / "t.csv"),
    ):
        pass
    with pytest.raises(FileWriteError, match="write inside of a with block"):
        open_writer(tmp_path / "t.csv").write(TABLE)
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
