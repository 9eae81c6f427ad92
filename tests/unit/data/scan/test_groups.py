"""Row groups that may count: all rows that do are in them."""

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from separatrix.data.files import open_table
from separatrix.data.scan import groups, scan
from separatrix.data.scan.groups import group_rows, possible_groups, spans_of_groups
from separatrix.data.scan.where import make_condition

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
    return possible_groups(path, 10, condition, table.schema(condition.columns))


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


@pytest.mark.parametrize("where", [~(pc.field("x") > -1), pc.field("x") != 0, pc.field("x") < -3], ids=str)
def test_nor_by_an_expression_of_arrow(path, where):
    np.testing.assert_array_equal(scan(path, where=where).column("n"), TABLE.filter(where)["n"].to_numpy())


def test_values_that_are_widened_are_not_judged_by_what_they_were(path):
    condition = make_condition("n > 1000", open_table(path))
    assert possible_groups(path, 10, condition, pa.schema([("n", pa.float64())])) == tuple(range(10))


def test_spans_are_worth_a_visit(monkeypatch):
    monkeypatch.setattr(groups, "SHARE_ROWS", 100)
    assert list(spans_of_groups([60, 60, 10, 200, 5], (0, 1, 2, 3, 4))) == [(0, 1), (2, 3), (4,)]
    assert list(spans_of_groups([60, 60, 10, 200, 5], (0, 2, 4))) == [(0, 2, 4)]
    assert list(spans_of_groups([60], ())) == [()]  # the file is still looked at


def test_groups_of_other_files_cannot_be_read_one_by_one(path, tmp_path):
    assert group_rows(open_table(path)) == (ROWS,) * 10
    (tmp_path / "a.csv").write_text("n\n1\n")
    assert group_rows(open_table(tmp_path / "a.csv")) is None
