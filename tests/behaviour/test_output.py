import stat
import sys

import numpy as np
import pytest

from separatrix._output import as_frame, atomic_file


def test_a_file_has_the_rights_that_any_file_has(tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    with atomic_file(tmp_path / "new") as file:
        file.write(b"content")
        assert not (tmp_path / "new").exists()
    rights = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("plain", "new")]
    assert rights[0] == rights[1]


def test_a_frame_has_the_columns_in_order_and_a_name_for_each_row():
    frame = as_frame({"b": np.array([1.0, 2.0]), "a": np.array(["x", "y"])}, ("first", "second"))
    assert list(frame) == ["b", "a"]
    assert frame.loc["second"].tolist() == [2.0, "y"]


def test_without_pandas_the_error_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install pandas"):
        as_frame({}, ())
