"""JSON: lines and lists are the same table; nested objects are columns."""

import json

import pytest

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
