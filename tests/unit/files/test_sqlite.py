"""SQLite: what is stored decides, and what is declared where it agrees."""

import sqlite3
from contextlib import closing

import pytest

from separatrix.files import FileReadError, open_table
from separatrix.files.sqlite import quoted


def make(path, *statements):
    with closing(sqlite3.connect(path)) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()


def test_cells_of_several_types_give_a_column_of_one(tmp_path):
    make(
        tmp_path / "t.db",
        'CREATE TABLE t (a, b, c, d BOOLEAN, e BOOLEAN, f DATE, g DATE, "h""i")',
        "INSERT INTO t VALUES (1, 1, 1, 1, 1, '2024-01-01', '2024-01-01', NULL)",
        "INSERT INTO t VALUES (2, 2.5, 'x', 0, 2, NULL, 'soon', NULL)",
    )
    table = open_table(tmp_path / "t.db")
    kinds = ["int64", "double", "string", "bool", "int64", "date32[day]", "string", "string"]
    assert [str(kind) for kind in table.schema().types] == kinds
    assert table.read(columns=["c", "d", 'h"i']).to_pydict() == {"c": ["1", "x"], "d": [True, False], 'h"i': [None] * 2}
    assert table.n_rows == 2


def test_several_tables_need_a_name(tmp_path):
    path = tmp_path / "shop.db"
    make(path, "CREATE TABLE orders (a)", "CREATE TABLE people (b)", "CREATE VIEW both AS SELECT * FROM orders, people")
    with pytest.raises(
        FileReadError, match=r"has 3 tables: 'both', 'orders', 'people'. Name one, as in .*shop.db::both"
    ):
        open_table(path)
    assert open_table(f"{path}::both").columns == ("a", "b")
    with pytest.raises(FileReadError, match=r"has no table 'zzz'. There are 'both', 'orders', 'people'"):
        open_table(path, table="zzz")


def test_files_without_tables_or_that_are_no_databases(tmp_path):
    (tmp_path / "t.sqlite").write_bytes(b"")
    with pytest.raises(FileReadError, match="has no tables"):
        open_table(tmp_path / "t.sqlite")
    (tmp_path / "t.sqlite").write_bytes(b"something else" * 100)
    with pytest.raises(FileReadError, match=r"t.sqlite cannot be read: .*no SQLite database"):
        open_table(tmp_path / "t.sqlite")


def test_names_are_quoted_for_sql():
    assert quoted('a"b; DROP TABLE c') == '"a""b; DROP TABLE c"'
