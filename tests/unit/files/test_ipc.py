"""Arrow: files and streams by how they begin, whatever they are called; damage."""

import pyarrow as pa
import pytest

from separatrix.files import FileReadError, open_table

TABLE = pa.table({"a": [1, 2, 3], "b": ["x", None, "z"]})


@pytest.mark.parametrize(("make", "n_rows"), [(pa.ipc.new_file, 3), (pa.ipc.new_stream, None)])
@pytest.mark.parametrize("name", ["t.arrow", "t.arrows", "t.feather"])
def test_files_and_streams_under_any_name(tmp_path, make, n_rows, name):
    with make(str(tmp_path / name), TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=2)
    table = open_table(tmp_path / name)
    assert table.read().equals(TABLE)
    assert table.n_rows == n_rows


@pytest.mark.parametrize("data", [b"", b"ARROW1", b"not a table at all, but long enough to look"])
def test_damage_is_said(tmp_path, data):
    (tmp_path / "t.arrow").write_bytes(data)
    with pytest.raises(FileReadError, match=r"t.arrow is damaged, or no Arrow file"):
        open_table(tmp_path / "t.arrow").read()


def test_the_first_feather_is_too_old(tmp_path):
    (tmp_path / "t.feather").write_bytes(b"FEA1....")
    with pytest.raises(FileReadError, match="Feather file of version 1"):
        open_table(tmp_path / "t.feather")
