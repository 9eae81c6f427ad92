"""Row groups that may count: all rows that do are in them."""

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from separatrix.files import open_table
from separatrix.scanning import groups, scan
from separatrix.scanning.groups import group_rows, possible_groups, spans_of_groups
from separatrix.scanning.where import make_condition

ROWS = 50
X = np.random.default_rng(3).normal(size=10 * ROWS).cumsum()
TABLE = pa.table(
    {
        "n": np.arange(10 * ROWS),
        "x": np.where(np.arange(10 * ROWS) % 97 == 5, np.nan, X),
        "word": np.repeat(list("abcdefghij"), ROWS),
        "gaps": pa.array(np.arange(10 * ROWS), mask=np.arange(10 * ROWS) < 4 * ROWS),
    }
)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("groups") / "a.parquet"
    pq.write_table(TABLE, path, row_group_size=ROWS)
    return path


def possible(path, where):
    table = open_table(path)
    condition = make_condition(where, table)
    schema = table.schema(condition.columns)
    return possible_groups(path, 10, condition.implies(schema), schema)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("n >= 420 OR n = 3", (0, 8, 9)),
        ("word IN ('c', 'h') AND length(word) = 1", (2, 7)),
        ("gaps IS NULL", (0, 1, 2, 3)),
        ("gaps < 210", (4,)),
        ("n > 1000", ()),
        ("n + 0 > 1000", tuple(range(10))),  # which no statistic tells
        (pc.field("n") >= 420, (8, 9)),
        (pc.field("word") == "c", (2,)),
    ],
    ids=str,
)
def test_groups_are_excluded_by_their_statistics(path, where, expected):
    assert possible(path, where) == expected


@pytest.mark.parametrize("where", ["x < -3", "x > 3", "x BETWEEN -2 AND 0", "NOT (x > -1)", "x <> 0", "x = 'NaN'"])
def test_no_row_is_lost_though_statistics_do_not_tell_of_nan(path, where):
    kept = scan(path, where=where).column("n")
    np.testing.assert_array_equal(kept, duckdb.from_arrow(TABLE).filter(where).to_arrow_table()["n"].to_numpy())


EDGES = pa.table(
    {
        "n": [-2, None, 0, 0, 1, 3, None, None, 3, 4],
        "x": [-np.inf, -1.5, None, None, -0.0, 0.0, np.nan, np.nan, 2.0, np.nan],
        "word": ["", "a", "ab", None, None, None, "B", "é", "zz", None],
        "moment": pa.array([0, 499, 500, 999, None, 1000, 1500, 1501, 2000, None], pa.timestamp("ns")),
        "row": range(10),
    }
)
CONSTANTS = {
    "n": ["-2", "0", "1.5", "3", "NULL", "'1'", "1e0"],
    "x": ["-1.5", "0", "-0.0", "0.1", "'nan'::DOUBLE", "'inf'::DOUBLE", "0.1::FLOAT", "NULL"],
    "word": ["''", "'a'", "'ab'", "'é'", "NULL"],
    "moment": [f"TIMESTAMP{unit} '1970-01-01 00:00:00.000001'" for unit in ("", "_NS", "_MS")]
    + ["TIMESTAMP_NS '1970-01-01 00:00:00.000001500'"],
}


@st.composite
def comparisons(draw):
    name = draw(st.sampled_from(sorted(CONSTANTS)))
    constant, other = (draw(st.sampled_from(CONSTANTS[name])) for _ in range(2))
    form = draw(
        st.sampled_from(
            [f"{name} {compare} {constant}" for compare in ("=", "<", "<=", ">", ">=", "<>", "IS NOT DISTINCT FROM")]
            + [f"{constant} {compare} {name}" for compare in ("<", ">=")]
            + [f"{name} {no} BETWEEN {constant} AND {other}" for no in ("", "NOT")]
            + [f"{name} {no} IN ({constant}, {other})" for no in ("", "NOT")]
            + [f"{name} IS NULL", f"{name} IS NOT NULL", "word LIKE 'a%'", "abs(n) = 2", "n > x"]
        )
    )
    return f"({form})"


CONDITIONS = st.recursive(
    comparisons(),
    lambda some: st.one_of(
        st.tuples(some, st.sampled_from(["AND", "OR"]), some).map(lambda parts: f"({' '.join(parts)})"),
        some.map(lambda one: f"(NOT {one})"),
        some.map(lambda one: f"({one} IS NOT TRUE)"),
    ),
    max_leaves=4,
)


@pytest.fixture(scope="module")
def edges(tmp_path_factory):
    path = tmp_path_factory.mktemp("edges") / "a.parquet"
    pq.write_table(EDGES, path, row_group_size=2)
    return path


@settings(max_examples=25, deadline=None)
@given(CONDITIONS)
@example("x <= 'nan'::DOUBLE")
@example("moment < TIMESTAMP_NS '1970-01-01 00:00:00.000001500'")
def test_whatever_the_condition_no_row_is_lost_for_which_duckdb_says_that_it_holds(edges, where):
    counting = set(duckdb.from_arrow(EDGES).filter(where).to_arrow_table()["row"].to_pylist())
    condition = make_condition(where, open_table(edges))
    schema = EDGES.select(condition.columns).schema
    groups = possible_groups(edges, 5, condition.implies(schema), schema)
    assert {row // 2 for row in counting} <= set(groups)


@pytest.mark.parametrize("where", [~(pc.field("x") > -1), pc.field("x") != 0, pc.field("x") < -3], ids=str)
def test_nor_by_an_expression_of_arrow(path, where):
    np.testing.assert_array_equal(scan(path, where=where).column("n"), TABLE.filter(where)["n"].to_numpy())


def test_values_that_are_widened_are_not_judged_by_what_they_were(path):
    assert possible_groups(path, 10, pc.field("n") > 1000, pa.schema([("n", pa.float64())])) == tuple(range(10))


def test_spans_are_worth_a_visit(monkeypatch):
    monkeypatch.setattr(groups, "SHARE_ROWS", 100)
    assert list(spans_of_groups([60, 60, 10, 200, 5], (0, 1, 2, 3, 4))) == [(0, 1), (2, 3), (4,)]
    assert list(spans_of_groups([60, 60, 10, 200, 5], (0, 2, 4))) == [(0, 2, 4)]
    assert list(spans_of_groups([60], ())) == [()]  # the file is still looked at


def test_groups_of_other_files_cannot_be_read_one_by_one(path, tmp_path):
    assert group_rows(open_table(path)) == (ROWS,) * 10
    (tmp_path / "a.csv").write_text("n\n1\n")
    assert group_rows(open_table(tmp_path / "a.csv")) is None
