import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest

from separatrix.exceptions import DataError
from separatrix.scanning import scan
from separatrix.scanning.errors import RowsChangedError
from separatrix.scanning.stream import open_stream

TABLE = pa.table({"a": np.arange(6.0), "b": list("uvwxyz")})


class Capsule:
    """Some other library's table: all that is known of it is the interface."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


class Once(Capsule):
    """One that has its rows once, and does not say so."""

    def __arrow_c_stream__(self, requested_schema=None):
        table, self.table = self.table, self.table.slice(0, 0)
        return table.__arrow_c_stream__(requested_schema)


@pytest.fixture(scope="module")
def database():
    with duckdb.connect() as connection:
        yield connection


SOURCES = {
    "table": lambda _: TABLE,
    "dataset": lambda _: ds.dataset(TABLE),
    "function": lambda _: lambda: pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches(2)),
    "polars": lambda _: pl.from_arrow(TABLE),
    "lazy polars": lambda _: pl.from_arrow(TABLE).lazy(),
    "relation": lambda database: database.from_arrow(TABLE),
    "capsule": lambda _: Capsule(TABLE),
}


@pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES)
def test_whatever_gives_out_arrow_is_read_as_often_as_one_likes(make, database):
    origin = open_stream(make(database))
    assert origin.columns == ("a", "b")
    (part,) = origin.parts(["b", "a"])
    for _ in range(3):
        found = pa.Table.from_batches(list(part.batches()))
        assert found["a"].to_pylist() == list(range(6))
        assert found["b"].cast(pa.string()).to_pylist() == list("uvwxyz")


@pytest.mark.parametrize("where", ["b > 'w'", pc.field("b") > "w"], ids=str)
def test_a_condition_chooses_rows(where):
    rows = scan(TABLE, where=where)
    assert rows.column("a").tolist() == [3.0, 4.0, 5.0]
    assert rows.n_rows == 3


def test_a_stream_that_is_read_once_serves_one_pass_and_no_second():
    rows = scan(pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches()), columns=["a"])
    assert rows.column("a").tolist() == list(range(6))
    with pytest.raises(RowsChangedError, match=r"read to its end by the first pass.*scan\(lambda"):
        rows.column("a")


def test_one_that_does_not_say_so_is_found_out():
    rows = scan(Once(TABLE), columns=["a"])
    assert rows.n_rows == 6
    with pytest.raises(DataError, match="has no rows"):
        rows.column("a")


def test_a_large_batch_is_cut(monkeypatch):
    monkeypatch.setattr("separatrix.scanning.stream.batch_rows", lambda width: 4)
    (part,) = open_stream(TABLE).parts(["a"])
    assert [batch.num_rows for batch in part.batches()] == [4, 2]


def test_what_gives_out_no_arrow_is_refused():
    with pytest.raises(DataError, match="A dict cannot be scanned"):
        scan({"a": [1]})
