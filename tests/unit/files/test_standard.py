"""Standard input: read to its end, then like any file."""

import io
import sys

import pytest

from separatrix.files import FileReadError, open_table


def test_a_dash_is_standard_input_which_can_be_opened_once(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a;b\n1;x\n2,5;y\n")))
    table = open_table("-")
    for _ in range(2):
        assert table.read().to_pydict() == {"a": [1.0, 2.5], "b": ["x", "y"]}
    assert str(table.path) == "-"
    with pytest.raises(FileReadError, match=r"is empty, or was read already: it can be opened once"):
        open_table("-")
