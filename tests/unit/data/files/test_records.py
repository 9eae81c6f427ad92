"""JSON: lines and lists are the same table; broken ones are named by line."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.data.files import FileReadError, open_table, records

RECORDS = [{"a": 1, "b": "x"}, {"b": "é, ]", "c": {"d": [1]}}, {"a": 2.5, "c": None}]
EXPECTED = {"a": [1.0, None, 2.5], "b": ["x", "é, ]", None], "c": [None, '{"d": [1]}', None]}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.jsonl", "\n".join(map(json.dumps, RECORDS))),
        ("t.ndjson", "\n\n".join(map(json.dumps, RECORDS)) + "\r\n"),
        ("t.json", "\n".join(map(json.dumps, RECORDS))),
        ("t.json", json.dumps(RECORDS)),
        ("t.json", " \n" + json.dumps(RECORDS, indent=4, ensure_ascii=False) + "\n"),
    ],
)
def test_lines_and_lists_are_the_same_table(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert open_table(tmp_path / name).read().to_pydict() == EXPECTED


class Dripping:
    """A text that comes in few characters at a time."""

    def __init__(self, text, step):
        self.text, self.step, self.at = text, step, 0

    def read(self, n):
        piece = self.text[self.at : self.at + min(n, self.step)]
        self.at += len(piece)
        return piece


ITEMS = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=3), st.lists, max_leaves=4)


@given(items=st.lists(ITEMS, max_size=5), step=st.integers(1, 9), indent=st.sampled_from([None, 1]))
def test_a_list_is_decoded_wherever_the_text_is_cut(items, step, indent):
    text = json.dumps(items, indent=indent)
    found = list(records._values(Dripping(text, step), "t.json"))
    assert [value for _, value in found] == items
    if indent and all(not isinstance(item, list) for item in items):
        assert [line for line, _ in found] == list(range(2, 2 + len(items)))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.jsonl", '{"a": 1}\n{"a": }\n', r"line 2 is not JSON \(Expecting value, at character 7\): '{\"a\": }'"),
        ("t.jsonl", '{"a": 1}\n5\n', "line 2: 5 is no record"),
        ("t.json", '[{"a": 1},\n{"a": 2},\n{"a": oops}]', r"line 3: not JSON \(Expecting value: 'oops"),
        ("t.json", '[{"a": 1},\n{"a": 2}', r"line 2: not JSON \(The list has no end"),
        ("t.json", "[]", "is empty: it holds no record"),
        ("t.jsonl", "", "is empty: it holds no record"),
    ],
)
def test_what_is_wrong_is_named_by_line(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(FileReadError, match=message):
        open_table(tmp_path / name)
