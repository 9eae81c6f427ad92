import pickle
import sqlite3
from contextlib import closing

import adbc_driver_sqlite.dbapi
import duckdb
import pyarrow as pa
import pytest

from separatrix.exceptions import DataError
from separatrix.scanning.database import Postgres, open_database
from separatrix.scanning.errors import QueryError

MADE = "SELECT 1 AS a, 0.5 AS b, 'x' AS c UNION ALL SELECT 2, NULL, 'y'"


@pytest.fixture(params=["duckdb", "sqlite3", "adbc"])
def connection(request):
    make = {
        "duckdb": duckdb.connect,
        "sqlite3": lambda: sqlite3.connect(":memory:"),
        "adbc": adbc_driver_sqlite.dbapi.connect,
    }[request.param]
    with closing(make()) as made:
        yield made


def test_every_database_answers_in_arrow_as_often_as_it_is_asked(connection):
    database = open_database(connection)
    for _ in range(2):
        with database.answer(MADE, 10) as answer:
            found = pa.Table.from_batches(list(answer.batches))
        assert answer.schema.names == found.column_names == ["a", "b", "c"]
        assert found["a"].to_pylist() == [1, 2]
        assert [None if b is None else float(b) for b in found["b"].to_pylist()] == [0.5, None]
        assert found["c"].to_pylist() == ["x", "y"]


def test_an_answer_that_is_left_early_does_not_block_the_connection(connection):
    database = open_database(connection)
    long = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) SELECT i FROM n"
    with database.answer(long, 100) as answer:
        next(iter(answer.batches))
    with database.answer("SELECT 1 AS a", 1) as answer:
        assert next(iter(answer.batches)).column("a").to_pylist() == [1]


def test_what_the_database_refuses_is_one_kind_of_error(connection):
    refused = pytest.raises(QueryError, match="did not answer the query.*nowhere")
    with refused, open_database(connection).answer("SELECT * FROM nowhere", 1) as answer:
        list(answer.batches)


def test_a_column_of_sqlite_has_the_type_that_all_of_its_values_fit():
    with closing(sqlite3.connect(":memory:")) as connection:
        database = open_database(connection)
        with database.answer("SELECT 1 AS a UNION ALL SELECT 2.5 UNION ALL SELECT NULL", 1) as answer:
            assert [batch.column("a").to_pylist() for batch in answer.batches] == [[1.0], [2.5], [None]]
            assert answer.schema.types == [pa.float64()]


def test_temporary_tables_of_a_duckdb_connection_are_seen():
    with closing(duckdb.connect()) as connection:
        connection.execute("CREATE TEMP TABLE mine AS SELECT 3 AS a")
        with open_database(connection).answer("SELECT a FROM mine", 1) as answer:
            assert next(iter(answer.batches)).column("a").to_pylist() == [3]


def test_an_open_connection_cannot_be_sent_and_an_address_can(connection):
    with pytest.raises(DataError, match="cannot be sent to another process"):
        pickle.dumps(open_database(connection))
    database = Postgres("postgresql://user@host/name")
    assert pickle.loads(pickle.dumps(database)) == database


@pytest.mark.parametrize(
    ("given", "said"),
    [(None, "needs connection="), ("mysql://host/name", "no address that is known"), (3, "is a builtins.int")],
)
def test_what_is_no_connection_is_refused_with_those_that_are(given, said):
    with pytest.raises(DataError, match=said):
        open_database(given)


def test_postgresql_sends_numeric_as_numbers(postgres):
    query = "SELECT 1.25::numeric(9, 2) AS m, 2::int AS k, 'w'::text AS s UNION ALL SELECT NULL, 3, NULL"
    with open_database(postgres).answer(query, 10) as answer:
        found = pa.Table.from_batches(list(answer.batches))
    assert found.to_pydict() == {"m": [1.25, None], "k": [2, 3], "s": ["w", None]}
    assert answer.schema.field("m").type == pa.float64()


def test_a_server_that_is_not_there_is_a_query_error():
    database = open_database("postgresql://postgres@/postgres?host=/nowhere")
    with pytest.raises(QueryError, match="PostgreSQL did not answer"), database.answer("SELECT 1", 1):
        pass
