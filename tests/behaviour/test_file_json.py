"""JSON: lines and lists are the same table; nested objects are columns."""

import json

import pytest

from separatrix.exceptions import DataError
from separatrix.files import open_table

RECORDS = [{"a": 1, "b": "x"}, {"b": "é, ]", "c": {"d": [1]}}, {"a": 2.5, "c": None}]
EXPECTED = {"a": [1.0, None, 2.5], "b": ["x", "é, ]", None], "c.d": [None, "[1]", None]}


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


def table_of(folder, *records):
    (folder / "t.jsonl").write_text("\n".join(map(json.dumps, records)))
    return open_table(folder / "t.jsonl")


def test_nested_objects_are_separate_columns(tmp_path):
    first = {"id": 1, "user": {"age": 40, "home": {"city": "Oslo"}}, "tags": ["a"]}
    table = table_of(tmp_path, first, {"id": 2, "user": None, "tags": []}, {"id": 3, "user": {"age": 50.5}})
    found = table.read().to_pydict()
    assert list(found) == ["id", "user.age", "user.home.city", "tags"]
    assert found["user.age"] == [40.0, None, 50.5]
    assert found["user.home.city"] == ["Oslo", None, None]
    assert found["tags"] == ['["a"]', "[]", None]
    assert "separate columns: 'user.age', 'user.home.city'" in " ".join(table.notes)


def test_null_instead_of_an_object_is_not_a_column(tmp_path):
    table = table_of(tmp_path, {"a": {"b": {"c": 1}}}, {"a": {"b": None}}, {"a": None}, {"a": {"b": {"x.y": 2}}})
    assert table.read().to_pydict() == {"a.b.c": [1, None, None, None], "a.b.x.y": [None, None, None, 2]}


def test_names_with_points_are_names(tmp_path):
    table = table_of(tmp_path, {"sepal.length": 1}, {"sepal.length": None}, {"sepal": 3})
    assert table.read().to_pydict() == {"sepal.length": [1, None, None], "sepal": [None, None, 3]}
    assert not table.notes


def test_half_of_a_character_is_replaced_with_a_note(tmp_path):
    smile = json.dumps("\N{GRINNING FACE}")  # two escapes, which form one character
    lines = ['{"name": "a", "b": 1}', '{"name": "x\\ud800y", "b": 2}', f'{{"name": {smile}, "b\\uDfff": 3}}']
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    table = open_table(tmp_path / "t.jsonl")
    found = table.read().to_pydict()
    assert found["name"] == ["a", "x\N{REPLACEMENT CHARACTER}y", "\N{GRINNING FACE}"]
    assert found["b\N{REPLACEMENT CHARACTER}"] == [None, None, 3]
    assert [note for note in table.notes if "half of a character" in note] == [
        "2 records have half of a character, such as \\ud800, first in line 2. It was replaced by "
        "\N{REPLACEMENT CHARACTER}."
    ]


@pytest.mark.parametrize(
    ("kind", "depth"),
    [("object", 101), *((kind, n) for kind in ("object", "list", "file") for n in (601, 3000, 100_000))],
)
def test_records_nested_too_deeply_are_an_error_with_the_line(tmp_path, kind, depth):
    inner = '{"a":' * depth + "1" + "}" * depth if kind == "object" else "[" * depth + "]" * depth
    text = inner if kind == "file" else f'{{"x": 1}}\n{{"x": {inner}}}\n'
    (tmp_path / "t.json").write_text(text)
    line = 1 if kind == "file" else 2
    with pytest.raises(DataError, match=rf"t\.json, line {line}: .*(levels deep|is not a record)"):
        open_table(tmp_path / "t.json")


def test_a_list_in_a_record_may_be_deep_and_an_integer_long(tmp_path):
    deep = "[" * 500 + "]" * 500
    lines = [f'{{"x": {deep}, "n": {"1" * 5000}}}', f'{{"x": ["\\ud800", {deep}], "n": 5}}']
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    found = open_table(tmp_path / "t.jsonl").read().to_pydict()
    assert found["x"][0] == deep
    assert len(found["n"]) == 2
