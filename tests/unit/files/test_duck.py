"""DuckDB: types that Arrow lacks become numbers and text; errors list the tables."""

import duckdb
import pytest

from separatrix.files import FileReadError, open_table


def make(path, *statements):
    with duckdb.connect(str(path)) as database:
        for statement in statements:
            database.execute(statement)


def test_every_type_is_one_that_tables_know(tmp_path):
    make(
        tmp_path / "t.duckdb",
        "CREATE TABLE t AS SELECT 1.25::DECIMAL(9, 2) AS a, 5::HUGEINT AS b, 'x'::ENUM('x', 'y') AS c, "
        "'00000000-0000-0000-0000-000000000001'::UUID AS d, TIMESTAMP '2024-01-01 10:00:00' AS e, 3::TINYINT AS f",
    )
    table = open_table(tmp_path / "t.duckdb")
    kinds = ["double", "double", "string", "string", "timestamp[us]", "int8"]
    assert [str(kind) for kind in table.schema().types] == kinds
    assert table.read().to_pylist()[0]["a"] == 1.25
    assert table.n_rows == 1


def test_rows_come_in_the_order_of_the_table(tmp_path):
    make(tmp_path / "t.duckdb", "CREATE TABLE t AS SELECT range AS a FROM range(10000)")
    assert open_table(tmp_path / "t.duckdb").read()["a"].to_pylist() == list(range(10_000))


def test_several_tables_or_none_or_damage(tmp_path):
    path = tmp_path / "t.duckdb"
    make(path, "CREATE TABLE orders (a INT)", "CREATE TABLE people (a INT)")
    with pytest.raises(FileReadError, match="has 2 tables: 'orders', 'people'"):
        open_table(path)
    make(tmp_path / "void.duckdb", "SELECT 1")
    with pytest.raises(FileReadError, match="has no tables"):
        open_table(tmp_path / "void.duckdb")
    path.write_bytes(b"something else" * 1000)
    with pytest.raises(FileReadError, match=r"t.duckdb cannot be read: .*no DuckDB database"):
        open_table(path)
