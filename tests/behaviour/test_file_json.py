"""JSON: lines and lists are the same table; nested objects are columns; errors name the line."""

import json

import pytest

from separatrix.files import FileReadError, open_table

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


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.jsonl", '{"a": 1}\n{"a": }\n', r"line 2 is not JSON \(Expecting value, at character 7\): '{\"a\": }'"),
        ("t.jsonl", '{"a": 1}\n5\n', "line 2: 5 is not a record"),
        ("t.json", '[{"a": 1},\n{"a": 2},\n{"a": oops}]', r"line 3: not JSON \(Expecting value: 'oops"),
        ("t.json", '[{"a": 1},\n{"a": 2}', r"line 2: not JSON \(The list is not closed"),
        ("t.jsonl", '{"a": 1}\n' + '{"a": ' * 5000 + "1" + "}" * 5000, "after line 1 has hundreds of nested objects"),
        ("t.jsonl", '{"a": 1}\n{"b": 1, "a": 2, "a": 3}', "after line 1 has two values called 'a'. Rename"),
        ("t.json", '[{"u": {"a": 2, "a": 3}}]', "the first record has two values called 'a'"),
        ("t.json", "[]", "is empty: it has no record"),
        ("t.jsonl", "", "is empty: it has no record"),
    ],
)
def test_errors_name_the_line(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(FileReadError, match=message):
        open_table(tmp_path / name)


def test_nested_objects_are_separate_columns(tmp_path):
    records = [
        {"id": 1, "user": {"age": 40, "home": {"city": "Oslo"}}, "tags": ["a"]},
        {"id": 2, "user": None, "tags": []},
        {"id": 3, "user": {"age": 50.5}},
    ]
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(map(json.dumps, records)))
    table = open_table(path)
    found = table.read().to_pydict()
    assert list(found) == ["id", "user.age", "user.home.city", "tags"]
    assert found["user.age"] == [40.0, None, 50.5]
    assert found["user.home.city"] == ["Oslo", None, None]
    assert found["tags"] == ['["a"]', "[]", None]
    assert "separate columns: 'user.age', 'user.home.city'" in " ".join(table.notes)


def test_null_instead_of_an_object_is_not_a_column(tmp_path):
    records = [{"a": {"b": {"c": 1}}}, {"a": {"b": None}}, {"a": None}, {"a": {"b": {"x.y": 2}}}]
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(map(json.dumps, records)))
    assert open_table(path).read().to_pydict() == {"a.b.c": [1, None, None, None], "a.b.x.y": [None, None, None, 2]}


def test_names_with_points_are_names(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"sepal.length": 1}\n{"sepal.length": null}\n{"sepal": 3}')
    table = open_table(path)
    assert table.read().to_pydict() == {"sepal.length": [1, None, None], "sepal": [None, None, 3]}
    assert not table.notes


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ('{"user.age": 4, "user": {"age": 5}}', "{}"),  # in one record
        ('{"user.age": 4}', '{"user": {"age": 5}}'),  # in two, either first
        ('{"user": {"age": 5}}', '{"user.age": 4}'),
        ('{"user.age": {"x": 4}}', '{"user": {"age.x": 5}}'),
    ],
)
def test_a_name_that_has_two_meanings_is_an_error(tmp_path, first, second):
    path = tmp_path / "t.jsonl"
    path.write_text(f'{{"a": 1}}\n{first}\n{second}\n')
    with pytest.raises(FileReadError, match=r"line [23]: 'user\.age.* has two meanings, \{\"user.*Rename one of them"):
        open_table(path)


def test_names_that_are_values_are_an_error(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps({"by day": {f"day {i}": i for i in range(10_001)}}))
    with pytest.raises(FileReadError, match="more than 10000 different names.*'by day.day 10000'"):
        open_table(path)
