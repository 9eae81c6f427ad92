import sqlite3
from contextlib import closing

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from separatrix.exceptions import DataError
from separatrix.scanning.errors import QueryError
from separatrix.scanning.query import open_query


@pytest.fixture
def shop():
    with closing(duckdb.connect()) as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT range AS a, (range * 7) % 10 AS b, 'w' || range AS c FROM range(10)"
        )
        yield connection


def rows(origin, columns):
    (part,) = origin.parts(columns)
    return pa.Table.from_batches(list(part.batches()))


def test_columns_and_types_are_known_before_a_row_is_read(shop):
    origin = open_query("SELECT a, c FROM t;", shop, None)
    assert origin.columns == ("a", "c")
    assert origin.schema(["c"]).names == ["c"]
    assert origin.n_rows is None


@pytest.mark.parametrize("columns", [["a", "b", "c"], ["c"], ["b", "a"]])
def test_some_columns_keep_the_order_of_the_query(shop, columns):
    origin = open_query("SELECT * FROM t ORDER BY b", shop, None)
    found = rows(origin, columns)
    order = sorted(range(10), key=lambda a: a * 7 % 10)
    expected = {"a": order, "b": list(range(10)), "c": [f"w{a}" for a in order]}
    assert found.to_pydict() == {name: expected[name] for name in columns}


def test_sqlite_and_postgresql_keep_it_too(postgres):
    order = sorted(range(6), key=lambda a: a * 7 % 10)
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE t AS SELECT value AS a, value * 7 % 10 AS b FROM json_each('[0,1,2,3,4,5]')")
        assert rows(open_query("SELECT * FROM t ORDER BY b", connection, None), ["a"])["a"].to_pylist() == order
    query = "SELECT i AS a, i * 7 % 10 AS b FROM generate_series(0, 5) AS i ORDER BY b"
    assert rows(open_query(query, postgres, None), ["a"])["a"].to_pylist() == order


@pytest.mark.parametrize("where", ["b < 3", pc.field("b") < 3], ids=str)
def test_a_condition_chooses_rows(shop, where):
    origin = open_query("SELECT * FROM t ORDER BY b", shop, where)
    assert rows(origin, ["b"])["b"].to_pylist() == [0, 1, 2]


def test_the_title_is_a_line(shop):
    title = open_query("SELECT a,\n  b AS a_name_that_is_rather_long_for_one_line,\n  c\nFROM t", shop, None).title
    assert title.startswith("the query 'SELECT a, b AS")
    assert title.endswith("...'")


def test_a_query_that_is_not_understood_says_so_at_once(shop):
    with pytest.raises(QueryError, match="nowhere"):
        open_query("SELECT * FROM nowhere", shop, None)


@pytest.mark.parametrize("where", [None, "b < 3 -- few", pc.field("b") < 3], ids=str)
def test_a_query_may_end_in_a_remark(shop, where):
    origin = open_query("SELECT * FROM t -- all of them", shop, where)
    assert rows(origin, ["a"]).num_rows == (10 if where is None else 3)
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE t AS SELECT value AS a, value AS b FROM json_each('[0,1,2,3]')")
        found = rows(open_query("SELECT * FROM t -- all of them", connection, where), ["a"])
        assert found.num_rows == (4 if where is None else 3)


def all_of(query, connection):
    origin = open_query(query, connection, None)
    return rows(origin, origin.columns)


def test_columns_of_one_name_are_refused(shop, postgres):
    for query, connection in (("SELECT a, b, a FROM t", shop), ("SELECT 1 AS a, 2 AS b, 3 AS a", postgres)):
        with pytest.raises(DataError, match=r"returns 2 columns that are called 'a'.*AS \"a_2\""):
            all_of(query, connection)
