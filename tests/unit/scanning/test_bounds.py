"""What a condition implies: never less than the rows for which it holds."""

from datetime import date, datetime, timedelta

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from separatrix.scanning.bounds import implied, parse

N = 400
RNG = np.random.default_rng(0)
START = datetime(2024, 1, 1)
TABLE = pa.table(
    {
        "n": pa.array(RNG.integers(-20, 20, N), mask=RNG.random(N) < 0.1),
        "x": pa.array(np.where(RNG.random(N) < 0.1, np.nan, RNG.normal(size=N)), mask=RNG.random(N) < 0.1),
        "word": pa.array(RNG.choice(["ash", "elm", "oak", None], N).tolist(), pa.string()),
        "day": [date(2024, 1, 1) + timedelta(int(d)) for d in RNG.integers(0, 60, N)],
        "moment": [START + timedelta(hours=int(h)) for h in RNG.integers(0, 900, N)],
        "single": pa.array(RNG.normal(size=N), pa.float32()),
        "yes": RNG.random(N) < 0.5,
    }
)
CONDITIONS = {
    "n > 3": "(n > 3)",
    "3 < n": "(n > 3)",
    "3 = n": "(n == 3)",
    "n >= -2 AND n < 5": "((n >= -2) and (n < 5))",
    "n BETWEEN -2 AND 5": "((n >= -2) and (n <= 5))",
    "n = 1 OR n = 2 OR x < 0": "(((n == 1) or (n == 2)) or (x < 0))",
    "n IN (1, 2)": "((n == 1) or (n == 2))",
    "x <= 0.5 AND x > -0.5": "(x <= 0.5)",  # NaN is above every number
    "x > 0": None,
    "x <> 0": None,
    "NOT (x < 0)": None,
    "x < 0 OR abs(n) = 3": None,
    "x < 0 AND abs(n) = 3": "(x < 0)",
    "word = 'it''s' OR word >= 'elm'": '((word == "it\'s") or (word >= "elm"))',
    "word IS NOT NULL AND n IS NULL": "(is_valid(word) and is_null(n, {nan_is_null=false}))",
    "word LIKE 'o%'": None,
    "day >= DATE '2024-02-01'": "(day >= 2024-02-01)",
    "day >= '2024-02-01'": None,  # text that DuckDB reads as a date
    "moment < TIMESTAMP '2024-01-20 10:30:00'": "(moment < 2024-01-20 10:30:00.000000)",
    "n > 2.5": None,  # DuckDB compares decimals
    "n < 99999999999999999999": None,
    "single <= 0.1": None,  # as floats of which precision, is DuckDB's to say
    "yes": None,
    "1 < 2": None,
    "x <= 'nan'::DOUBLE": None,  # which holds for every number, and for none by Arrow's comparison
    "x < 0.1234567890123456789": None,  # rounded to a double by DuckDB in a way of its own
    "x <= 0.1": "(x <= 0.1)",
    "moment < TIMESTAMP_NS '2024-01-20 10:30:00.000000500'": None,  # of which Python keeps microseconds
    "moment < TIMESTAMP 'infinity'": None,
    "day <= DATE 'infinity'": None,
    "word < NULL": None,
}


@pytest.mark.parametrize(("where", "told"), CONDITIONS.items(), ids=CONDITIONS)
def test_it_holds_for_every_row_that_counts_by_what_duckdb_says(where, told):
    expression = implied(where, TABLE.schema)
    assert (None if expression is None else str(expression)) == told
    if expression is not None:
        numbered = TABLE.append_column("row", pa.array(np.arange(N)))
        counting = duckdb.from_arrow(numbered).filter(where).to_arrow_table()["row"].to_pylist()
        assert counting  # or nothing was tested
        assert set(counting) <= set(numbered.filter(expression)["row"].to_pylist())


def test_a_moment_between_two_that_a_column_can_hold_implies_nothing():
    seconds = pa.schema([("moment", pa.timestamp("s"))])
    assert implied("moment < TIMESTAMP '2024-01-20 10:30:00.5'", seconds) is None  # 10:30:00 is one of the rows
    assert str(implied("moment < TIMESTAMP '2024-01-20 10:30:00'", seconds)) == "(moment < 2024-01-20 10:30:00)"


def test_a_condition_on_a_column_of_another_table_says_nothing():
    assert implied("n > 3 AND z > 3", TABLE.select(["n"]).schema).equals(pc.field("n") > 3)


def test_what_is_no_condition_implies_nothing_and_is_told_by_the_parser():
    assert implied("n >", TABLE.schema) is None
    assert "syntax" in parse("n >")[1]
