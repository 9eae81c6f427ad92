"""Queries and streams as tables: conditions, types, and the copy from which a fit reads its passes."""

import glob
import os
import re
import sqlite3
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import adbc_driver_sqlite.dbapi
import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import separatrix as sx
from separatrix._output import locked
from separatrix.exceptions import DataError
from separatrix.files import QueryError, location, scan
from separatrix.rows import watched

RNG = np.random.default_rng(3)
N = 60
TABLE = pa.table({"a": RNG.normal(size=N), "b": RNG.normal(size=N), "y": np.arange(N) % 2})


def fit(rows, y=None):
    return sx.LogisticRegression(tol=1e-11).fit(rows, y)


EXPECTED = fit(scan(TABLE, target="y")).coef_


@pytest.fixture(scope="session")
def postgres():
    """Address of a temporary server; skips if none can be started."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    if not found:
        pytest.skip("PostgreSQL's server programs are not installed")
    who = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}  # never root
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="pg") as folder:  # a socket's path may have 107 letters
        os.chmod(folder, 0o777)
        data = f"{folder}/data"

        def call(program, *arguments):
            command = [f"{found[-1]}/{program}", "-D", data, *arguments]
            with open(f"{folder}/output", "w") as output:  # not a pipe: the server would keep it open
                subprocess.run(command, stdout=output, stderr=output, cwd="/", env={"LC_ALL": "C"}, check=True, **who)

        settings = f"-k {data} -c listen_addresses='' -c fsync=off -c shared_buffers=16MB"
        try:
            call("initdb", "-A", "trust", "-U", "postgres", "--no-sync", "-E", "UTF8")
            call("pg_ctl", "-w", "-t", "30", "-o", settings, "-l", f"{data}/log", "start")
        except (KeyError, subprocess.CalledProcessError) as error:  # no such user, or no server
            pytest.skip(f"PostgreSQL cannot be started: {error} {Path(folder, 'output').read_text()[-300:]}")
        try:
            yield f"postgresql://postgres@/postgres?host={data}"
        finally:
            call("pg_ctl", "-m", "immediate", "stop")


# -- databases


CONNECTIONS = {
    "duckdb": duckdb.connect,
    "sqlite3": lambda: sqlite3.connect(":memory:"),
    "adbc": adbc_driver_sqlite.dbapi.connect,
}


@pytest.fixture(params=CONNECTIONS)
def connection(request):
    with closing(CONNECTIONS[request.param]()) as made:
        yield made


@pytest.fixture
def shop():
    with closing(duckdb.connect()) as connection:
        connection.execute("CREATE TEMP TABLE t AS SELECT range AS a, (range * 7) % 10 AS b FROM range(10)")
        yield connection


MADE = "SELECT 1 AS a, 0.5 AS b, 'x' AS c UNION ALL SELECT 2, NULL, 'y'"


def test_every_database_is_read_as_often_as_needed(connection):
    rows = scan(MADE, connection=connection)
    for _ in range(2):
        assert rows.column("a").tolist() == [1, 2]
        np.testing.assert_array_equal(rows.column("b").astype(float), [0.5, np.nan])
        assert rows.column("c").tolist() == ["x", "y"]


def test_a_pass_that_ends_early_does_not_block_the_connection(connection):
    long = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) SELECT i FROM n"
    batches = scan(long, connection=connection).batches()
    next(batches)
    batches.close()
    assert scan("SELECT 1 AS a", connection=connection).column("a").tolist() == [1]


def test_a_query_that_the_database_refuses_is_an_error_at_once(connection):
    with pytest.raises(QueryError, match="did not answer the query.*nowhere"):
        scan("SELECT * FROM nowhere", connection=connection)


@pytest.mark.parametrize("columns", [["a", "b"], ["a"], ["b", "a"]])
def test_selected_columns_keep_the_order_of_the_query(shop, columns):
    rows = scan("SELECT * FROM t ORDER BY b -- with a comment", connection=shop, columns=columns)
    order = sorted(range(10), key=lambda a: a * 7 % 10)
    found = pa.Table.from_batches(list(rows.batches())).to_pydict()
    assert found == {name: {"a": order, "b": list(range(10))}[name] for name in columns}


@pytest.mark.parametrize("where", ["b < 3 -- few", pc.field("b") < 3], ids=str)
def test_a_condition_selects_rows_of_a_query(shop, where):
    assert scan("SELECT * FROM t ORDER BY b;", connection=shop, where=where).column("b").tolist() == [0, 1, 2]


INJECTIONS = [
    *(f"b > 0{rest}" for rest in ("); DROP TABLE t; --", "; DROP TABLE t", ") OR (b < 0", " ORDER BY b LIMIT 1")),
    *(f"{quote} <> 'x' ); DROP TABLE t; --'" for quote in ("E'\\''", "$$'$$", "`'`")),
    *("(b > 0", "b > 0 UNION SELECT * FROM t", "b > 0 /* a remark */", "b > 0 \0"),
]


@pytest.mark.parametrize("where", INJECTIONS)
def test_a_condition_is_one_expression_or_nothing_is_executed(shop, where):
    with closing(sqlite3.connect(":memory:")) as lite:
        lite.executescript("CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 2), (3, 4)")
        for source, more in [
            ("SELECT * FROM t", {"connection": shop}),
            ("SELECT * FROM t", {"connection": lite}),
            (pa.table({"a": [1], "b": [2]}), {}),
        ]:
            with pytest.raises(DataError):
                scan(source, where=where, **more).column("a")
        assert lite.execute("SELECT count(*) FROM t").fetchone() == (2,)
    assert shop.execute("SELECT count(*) FROM t").fetchone() == (10,)


@pytest.mark.parametrize("where", ["b > 1 AND 'a;b' <> ')' -- (", "'it''s' LIKE'it%' AND (b > 1)", "b IN (SELECT 2)"])
def test_brackets_and_semicolons_in_text_are_part_of_a_condition(where):
    with closing(sqlite3.connect(":memory:")) as lite:
        lite.executescript("CREATE TABLE t (b); INSERT INTO t VALUES (1), (2)")
        assert scan("SELECT * FROM t", connection=lite, where=where).column("b").tolist() == [2]
    assert scan(pa.table({"b": [1, 2]}), where=where).column("b").tolist() == [2]


@pytest.mark.parametrize("function", ["read_csv", "read_text", "glob"])
def test_a_condition_on_a_table_reads_no_other_file(cells, tmp_path, function):
    secret = tmp_path / "secret.csv"
    secret.write_text("x\n1\n")
    with pytest.raises(DataError, match="disabled by configuration"):
        scan(cells, where=f"EXISTS (SELECT * FROM {function}('{secret}'))").column("d")


def test_a_view_in_a_database_file_reads_no_other_file(tmp_path):
    (tmp_path / "secret.csv").write_text("x\n1\n")
    with closing(duckdb.connect(str(tmp_path / "shop.duckdb"))) as made:
        made.execute(f"CREATE VIEW data AS SELECT * FROM read_csv('{tmp_path / 'secret.csv'}')")
    with pytest.raises(DataError, match="disabled by configuration"):
        scan(tmp_path / "shop.duckdb")


def test_postgresql_gives_the_fit_of_memory_and_numbers_for_numeric(postgres):
    from adbc_driver_postgresql import dbapi

    with closing(dbapi.connect(postgres)) as connection:
        with closing(connection.cursor()) as cursor:
            cursor.adbc_ingest("t", TABLE, mode="replace")
        connection.commit()
        for where in (postgres, connection):
            rows = scan("SELECT a, b, y FROM t", connection=where, target="y")
            np.testing.assert_allclose(fit(rows).coef_, EXPECTED, rtol=1e-8)
    query = "SELECT 1.25::numeric(9, 2) AS m, 2::int AS k UNION ALL SELECT NULL, 3"
    np.testing.assert_array_equal(scan(query, connection=postgres).column("m"), [1.25, np.nan])


def test_a_query_that_fails_in_mid_stream_is_an_error_and_leaves_no_copy(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    query = (
        "SELECT i::DOUBLE AS a, CASE WHEN i = 1100000 THEN error('gone') ELSE i % 2 END AS y FROM range(1200000) t(i)"
    )
    with closing(duckdb.connect()) as connection:
        rows = scan(query, connection=connection, target="y")
        with pytest.raises(QueryError, match="DuckDB did not answer the query.*gone"):
            sx.LinearDiscriminantAnalysis().fit(rows)
    assert list(tmp_path.iterdir()) == []


# -- copies


def test_a_fit_reads_a_query_once_and_sees_no_later_change(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with closing(duckdb.connect()) as connection:
        connection.register("given", TABLE)
        connection.execute("CREATE TABLE t AS SELECT * FROM given")
        rows = scan("SELECT * FROM t", connection=connection, target="y")

        def change(done, total, number):
            connection.execute("UPDATE t SET a = 0, y = 1 - y")

        with watched(change):
            np.testing.assert_allclose(fit(rows).coef_, EXPECTED, rtol=1e-8)
        assert [path.name for path in tmp_path.rglob("*.arrow")] == ["copy.arrow"]
        del rows
        assert list(tmp_path.iterdir()) == []


@pytest.fixture
def shuffled(monkeypatch, tmp_path):
    """A query that returns its rows in another order every time."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with closing(duckdb.connect()) as connection:
        connection.register("given", TABLE)
        connection.execute("CREATE TABLE t AS SELECT *, row_number() OVER () - 1 AS id FROM given")
        yield lambda **roles: scan("SELECT * FROM t ORDER BY random()", connection=connection, **roles), connection


def test_columns_match_the_predictions_after_a_fit(shuffled):
    rows = shuffled[0](target="y", columns=["a", "b"])
    found = fit(rows).predict_proba(rows)
    expected = fit(TABLE.select(["a", "b"]), TABLE["y"].to_numpy()).predict_proba(TABLE.select(["a", "b"]))
    np.testing.assert_allclose(found, expected[rows.column("id").astype(int)], rtol=1e-8)


def test_a_fit_after_a_prediction_sees_added_rows_and_a_scan_shows_the_time_of_its_copy(shuffled):
    make, connection = shuffled
    rows = make(target="y", columns=["a", "b"])
    model = fit(TABLE.select(["a", "b"]), TABLE["y"].to_numpy())
    assert len(model.predict(rows)) == N
    connection.execute("INSERT INTO t SELECT a, b, y, id + 1000 FROM t WHERE a > 0")
    assert len(model.predict(rows)) > N
    n_more = len(make(columns=["a"]).column("a"))
    assert "copied" not in repr(rows)
    model.fit(rows)
    assert len(model.predict(rows)) == rows.n_rows == n_more > N
    assert re.search(r"\(copied at \d\d:\d\d:\d\d\): \d+ rows", repr(rows))


def test_copies_are_not_in_tmp_which_may_be_in_memory(shuffled, monkeypatch, tmp_path):
    monkeypatch.setattr(location, "LARGE_FILES", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", "/tmp")
    monkeypatch.delenv("TMPDIR", raising=False)
    rows = shuffled[0]()
    rows.prepare()
    assert [path.name for path in tmp_path.rglob("*.arrow")] == ["copy.arrow"]


def test_copies_of_killed_processes_are_removed_and_others_are_kept(shuffled, tmp_path):
    abandoned, used = tmp_path / "separatrix-a.draft", tmp_path / "separatrix-b.draft"
    for folder in (abandoned, used):
        folder.mkdir()
        (folder / "copy.arrow").touch()
    rows = shuffled[0]()
    with locked(used):
        rows.prepare()
    assert not abandoned.exists()
    assert used.exists()
    assert len(list(tmp_path.iterdir())) == 2


def test_threads_that_fit_one_query_make_one_copy(shuffled, tmp_path):
    rows = shuffled[0](target="y", columns=["a", "b"])
    with ThreadPoolExecutor(4) as pool:
        fits = list(pool.map(lambda _: fit(rows).coef_, range(4)))
    assert len(list(tmp_path.iterdir())) == 1
    for coef in fits:
        np.testing.assert_array_equal(coef, fits[0])


def test_a_prediction_needs_no_copy(monkeypatch, tmp_path):
    model = fit(TABLE.select(["a", "b"]), TABLE["y"].to_numpy())
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    rows = scan(pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches(7)))
    expected = model.predict_proba(TABLE.select(["a", "b"]))
    np.testing.assert_allclose(model.predict_proba(rows), expected, rtol=1e-12)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(DataError, match=r"cannot be read again.*scan\(lambda"):
        model.predict_proba(rows)
    batch = pa.record_batch({"a": [1.0, np.nan], "b": [0.0, 1.0]})
    with pytest.raises(DataError, match=r"X has NaN or infinity.*scan\(lambda"):
        model.predict(scan(pa.RecordBatchReader.from_batches(batch.schema, [batch])))


def test_labels_with_dictionaries_that_differ_between_batches_are_copied():
    batches = [
        pa.record_batch({"a": [1.0, 2.0, 3.0], "y": pa.array(words).dictionary_encode()})
        for words in (["u", "v", "u"], ["v", "w", "w"], ["u", "w", "v"])
    ]
    rows = scan(pa.RecordBatchReader.from_batches(batches[0].schema, batches), target="y")
    assert sx.LinearDiscriminantAnalysis(shrinkage=0.5).fit(rows).classes_.tolist() == ["u", "v", "w"]


# -- streams


class Capsule:
    """A table of another library, which has the Arrow stream interface and nothing else."""

    def __arrow_c_stream__(self, requested_schema=None):
        return TABLE.__arrow_c_stream__(requested_schema)


STREAMS = {
    "table": lambda _: TABLE,
    "dataset": lambda _: ds.dataset(TABLE),
    "function": lambda _: lambda: pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches(2)),
    "polars": lambda _: pl.from_arrow(TABLE),
    "lazy polars": lambda _: pl.from_arrow(TABLE).lazy(),
    "relation": lambda database: database.from_arrow(TABLE),
    "capsule": lambda _: Capsule(),
}


@pytest.mark.parametrize("kind", STREAMS)
def test_every_arrow_stream_gives_the_fit_of_memory(kind):
    with closing(duckdb.connect()) as database:
        rows = scan(STREAMS[kind](database), target="y")
        np.testing.assert_allclose(fit(rows).coef_, EXPECTED, rtol=1e-8)
        np.testing.assert_array_equal(rows.column("a"), TABLE["a"].to_numpy())


def test_progress_has_no_total_before_the_rows_are_counted():
    rows, calls = scan(lambda: TABLE, columns=["a"]), []
    with watched(lambda *call: calls.append(call)):
        rows.open_rows(None).map(lambda X: X)
        rows.open_rows(None).map(lambda X: X)
        rows.prepare()
        rows.open_rows(None).map(lambda X: X)
    assert calls == [(N, None, 1), (N, None, 2), (N, N, 3)]


# -- conditions


CELLS = pa.table({"a": [1, 2, None, 4], "b c": ["x", "y", "x", None], "d": [1.0, 2.0, 3.0, 4.0]})
CONDITIONS = [
    ("a > 1", [2.0, 4.0]),
    ("a > 1 AND \"b c\" = 'y'", [2.0]),
    ("a IS NULL OR d IN (1, 4)", [1.0, 3.0, 4.0]),
    ("\"b c\" LIKE 'x%'", [1.0, 3.0]),
    ("a > 1 -- a remark", [2.0, 4.0]),
    ("1 < 2", [1.0, 2.0, 3.0, 4.0]),
    ('length("b c") = a', [1.0]),
    (pc.field("a") > 1, [2.0, 4.0]),
    (pc.field("b c").is_null(), [4.0]),
    ((pc.field("d") > 3) | (pc.field("b c") == "y"), [2.0, 4.0]),
]


@pytest.fixture(params=["memory", "parquet", "csv"])
def cells(request, tmp_path):
    if request.param == "memory":
        return CELLS
    path = tmp_path / f"t[1].{request.param}"
    if request.param == "parquet":
        pq.write_table(CELLS, path, row_group_size=2)
        pq.write_table(CELLS.slice(1, 1), tmp_path / "t1.parquet")  # the name as a pattern matches this file
    else:
        path.write_text("a,b c,d\n1,x,1.0\n2,y,2.0\n,x,3.0\n4,,4.0\n")
    return path


@pytest.mark.parametrize(("where", "kept"), CONDITIONS, ids=str)
def test_rows_that_meet_a_condition_stay_in_order(cells, where, kept):
    rows = scan(cells, where=where, columns=["d"])
    assert rows.column("d").tolist() == kept
    assert rows.n_rows == len(kept)


@pytest.mark.parametrize("where", ["x < -3", "x > 3", "x BETWEEN -2 AND 0", "NOT (x > -1)", "x <> 0", "x = 'NaN'"])
def test_row_groups_with_nan_lose_no_row(tmp_path, where):
    n = 500
    x = np.where(np.arange(n) % 97 == 5, np.nan, np.random.default_rng(3).normal(size=n).cumsum())
    table = pa.table({"n": np.arange(n), "x": x})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=50)
    duckdb.register("rows", table)
    duckdb.execute("CREATE OR REPLACE TEMP TABLE t AS FROM rows")  # old versions filter Arrow tables without NaN
    expected = duckdb.sql(f"SELECT n FROM t WHERE {where}").fetchnumpy()["n"]
    np.testing.assert_array_equal(scan(tmp_path / "a.parquet", where=where).column("n"), expected)


def test_row_groups_that_a_condition_rules_out_are_not_read(tmp_path):
    table = pa.table({"n": np.arange(900), "x": RNG.normal(size=900)})
    path = tmp_path / "a.parquet"
    pq.write_table(table, path, row_group_size=300, compression="none")
    chunk = pq.read_metadata(path).row_group(0).column(1)
    content = bytearray(path.read_bytes())
    content[chunk.data_page_offset : chunk.data_page_offset + 40] = b"\xff" * 40
    path.write_bytes(content)
    np.testing.assert_array_equal(scan(path, where="n >= 600", columns=["x"]).column("x"), table["x"].to_numpy()[600:])


def test_columns_that_differ_in_case_alone_need_an_arrow_expression():
    table = pa.table({"a": [1, 2, 3], "A": [9, 1, 9]})
    assert scan(table, where=(pc.field("a") > 1) & (pc.field("A") > 5)).column("a").tolist() == [3]
