"""Packed files that are cut short or are something else."""

import gzip
import lzma

import pyarrow as pa
import pytest

from separatrix.files import COMPRESSIONS, FileReadError, open_table, open_writer
from separatrix.files.location import find
from separatrix.files.packing import unpacked

TABLE = pa.table({"a": [str(i * i % 1009) for i in range(5000)]})


@pytest.mark.parametrize("suffix", [suffix for suffix in COMPRESSIONS if suffix != ".zip"])
@pytest.mark.parametrize("kind", [".csv", ".jsonl", ".parquet"])
def test_a_truncated_file_says_so(tmp_path, kind, suffix):
    path = tmp_path / f"t{kind}{suffix}"
    with open_writer(path) as writer:
        writer.write(TABLE)
    path.write_bytes(path.read_bytes()[:-60])
    with pytest.raises(FileReadError, match=rf"t{kind}{suffix} (ends too early: it is truncated|is damaged)"):
        open_table(path).read()


def test_a_truncated_gzip_is_told_from_a_damaged_one(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 1000)[:-9])
    with pytest.raises(FileReadError, match=r"ends too early: it is truncated \(gzip.*Copy or download it again"):
        open_table(path)
    path.write_bytes(b"a,b\n1,2\n")
    with pytest.raises(FileReadError, match="is damaged, or not packed as its suffix says"):
        open_table(path)


def test_a_temporary_copy_lasts_as_long_as_its_owner(tmp_path):
    class Owner:
        pass

    path = tmp_path / "t.parquet.xz"
    path.write_bytes(lzma.compress(b"content"))
    owner = Owner()
    copy = unpacked(find(path), owner)
    assert copy.read_bytes() == b"content"
    del owner
    assert not copy.parent.exists()
