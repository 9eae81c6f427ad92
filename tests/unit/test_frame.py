"""Results as data frames, and what is said where there is no pandas."""

import sys

import numpy as np
import pytest

from separatrix._frame import as_frame


def test_a_frame_has_the_columns_in_order_and_a_name_for_each_row():
    frame = as_frame({"b": np.array([1.0, 2.0]), "a": np.array(["x", "y"])}, ("first", "second"))
    assert list(frame) == ["b", "a"]
    assert frame.loc["second"].tolist() == [2.0, "y"]


def test_without_pandas_the_error_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install pandas.*to_dict\(\) does not"):
        as_frame({}, ())
