"""Whole lines, however the file is cut and packed; and a file that changes is noticed."""

import bz2
import gzip
import lzma
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.files.errors import FileReadError
from separatrix.files.sparse.lines import LineFile

TEXT = b"one\ntwo\n\nthree with more\nfour"


@given(st.integers(1, 40))
def test_chunks_are_whole_lines_and_know_their_place(tmp_path_factory, size):
    path = tmp_path_factory.mktemp("lines") / "x.svm"
    path.write_bytes(TEXT)
    chunks = list(LineFile(path).chunks(size=size))
    assert b"".join(chunk.text for chunk in chunks) == TEXT
    assert all(chunk.text.endswith(b"\n") for chunk in chunks[:-1])
    for chunk in chunks:
        assert TEXT[chunk.offset :].startswith(chunk.text)
        assert chunk.line == 1 + TEXT[: chunk.offset].count(b"\n")


@pytest.mark.parametrize(("suffix", "pack"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)])
def test_packed_files_are_read_as_what_they_hold(tmp_path, suffix, pack):
    path = tmp_path / f"x.svm.{suffix}"
    path.write_bytes(pack(TEXT))
    file = LineFile(path)
    assert file.is_packed
    assert [chunk.text for chunk in file.chunks()] == [b"one\ntwo\n\nthree with more\n", b"four"]
    assert b"".join(chunk.text for chunk in file.chunks(size=3)) == TEXT


def test_a_part_is_read_from_its_place(tmp_path):
    (tmp_path / "x.svm").write_bytes(TEXT)
    part = LineFile(tmp_path / "x.svm").part(4, 8, 2)
    assert part.text == b"two\n"
    assert part.line == 2


def test_a_truncated_archive_is_told(tmp_path):
    path = tmp_path / "x.svm.gz"
    path.write_bytes(gzip.compress(TEXT * 1000)[:-20])
    with pytest.raises(FileReadError, match=r"x.svm.gz ends too early: it is truncated"):
        list(LineFile(path).chunks())


def test_other_packings_folders_and_gaps_are_refused(tmp_path):
    (tmp_path / "x.svm.zst").write_bytes(TEXT)
    with pytest.raises(FileReadError, match=r"packed with zstd.*\.gz, \.bz2 or \.xz"):
        LineFile(tmp_path / "x.svm.zst")
    with pytest.raises(FileReadError, match="is a folder"):
        LineFile(tmp_path)
    with pytest.raises(FileReadError, match="is not there"):
        LineFile(tmp_path / "none.svm")


def test_a_file_that_changes_between_or_during_passes_is_an_error(tmp_path):
    path = tmp_path / "x.svm"
    path.write_bytes(TEXT)
    file = LineFile(path)
    chunks = file.chunks(size=4)
    next(chunks)
    path.write_bytes(TEXT + b"\nfive")
    with pytest.raises(FileReadError, match="has changed since it was opened"):
        list(chunks)
    with pytest.raises(FileReadError, match="has changed since it was opened"):
        next(file.chunks())
    os.remove(path)
    with pytest.raises(FileReadError, match="is gone"):
        next(file.chunks())
