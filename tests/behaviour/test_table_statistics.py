"""Statistics of batches add up to the statistics of the table, in any partition and order."""

import datetime as dt
from collections import Counter
from dataclasses import replace
from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix.table import TableStatistics, infer_types, table_statistics
from separatrix.table.statistics import SKETCH_HASHES, Levels, NumberStatistics

MOMENTS = st.datetimes(dt.datetime(2020, 1, 1), dt.datetime(2024, 1, 1))
CELLS = {
    "number": st.one_of(st.none(), st.floats(-1e6, 1e6), st.integers(-5, 5)),
    "whole": st.integers(0, 3),
    "flag": st.one_of(st.none(), st.booleans()),
    "colour": st.sampled_from(["red", "blue", "green", "", None]),
    "word": st.text(max_size=3),
    "charge": st.one_of(st.sampled_from(["", " ", "NA"]), st.integers(0, 99).map(str)),
    "mostly": st.one_of(*[st.integers(0, 999).map(str)] * 12, st.sampled_from(["12O0", "<18", "inf", "3 %"])),
    "due": st.one_of(*[MOMENTS.map(lambda moment: f"{moment:%d.%m.%Y}")] * 12, st.just("00.00.0000")),
    "measured": st.one_of(*[st.floats(-9, 9)] * 5, st.sampled_from([np.inf, -np.inf])),
    "joined": st.one_of(st.none(), MOMENTS),
    "price": st.sampled_from(["1,5", "1.234", "1.234,5", "12,345", "NA", "7", "1 234", "€ 3", "3 €", "x"]),
    "cost": st.sampled_from(["1,5", "1.234,5", "12,3", "NA", "7 ", "1.234"]),
    "balance": st.sampled_from(["(1,234.50)", "(12)", "7", "-3", "12.5-", "12,34,567", "$ (5)", "x"]),
    "share": st.sampled_from(["5 %", "7%", "", "-1.5%"]),
    "ordered": st.sampled_from(["01/02/2024", "03/04/2024 10:30", "25/12/2024", "12/25/2024", "?"]),
    "delivered": st.sampled_from(["1.2.2024", "25.12.2024", "13.01.2024 06:00", None]),
    "signed": MOMENTS.map(lambda moment: moment.date().isoformat()),
    "waited": st.one_of(st.none(), st.timedeltas(dt.timedelta(0), dt.timedelta(9))),
}
ROWS = st.lists(st.fixed_dictionaries(CELLS), min_size=1, max_size=25)


def frame(rows):
    """Columns of Python objects, so that a batch of missing values has no type."""
    return pd.DataFrame({name: pd.Series([row[name] for row in rows], dtype=object) for name in CELLS})


def rounded(statistics):
    """Statistics without the means, which rounding may change, and those means."""
    inexact = []

    def strip(readings):
        formats = sorted(readings.formats)
        inexact.extend(readings.formats[format].mean for format in formats)
        return replace(readings, formats={format: replace(readings.formats[format], mean=0.0) for format in formats})

    columns = {
        name: replace(
            statistics.columns[name],
            as_numbers=strip(statistics.columns[name].as_numbers),
            as_dates=strip(statistics.columns[name].as_dates),
        )
        for name in sorted(statistics.columns)
    }
    return TableStatistics(columns, statistics.n_rows), np.array(inexact)


@pytest.mark.slow
@settings(max_examples=60)
@given(rows=ROWS, cuts=st.lists(st.integers(0, 25), max_size=4), rng=st.randoms(use_true_random=False))
def test_any_partition_in_any_order_gives_the_same_statistics_and_encoding(rows, cuts, rng):
    table = frame(rows)
    whole = table_statistics(table, max_distinct=8)
    edges = sorted({0, *[min(cut, len(rows)) for cut in cuts], len(rows)})
    parts = [table_statistics(table.iloc[a:b], max_distinct=8, first_row=a) for a, b in pairwise(edges)]
    parts.append(table_statistics(table.iloc[:0], max_distinct=8))
    rng.shuffle(parts)
    (whole_exact, whole_inexact), expected = rounded(whole), infer_types(whole)
    encoded = expected.encode(table)
    for total in (
        reduce(add, parts),
        reduce(lambda a, b: b + a, parts),
        TableStatistics() + reduce(add, parts) + TableStatistics(),
    ):
        exact, inexact = rounded(total)
        assert exact == whole_exact
        np.testing.assert_allclose(inexact, whole_inexact, rtol=1e-9, atol=1e-9)
        got = infer_types(total)
        assert got.columns == expected.columns
        assert [note for note in got.notes if "in row" in note] == [note for note in expected.notes if "in row" in note]
        np.testing.assert_allclose(got.encode(table), encoded, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize(("kind", "n"), [("text", 20_000), ("text", 50_000), ("number", 20_000), ("number", 300_000)])
def test_distinct_values_are_estimated_within_four_standard_errors(kind, n):
    if kind == "text":
        levels = Levels.of(Counter(f"customer-{i:07d}" for i in range(n)), 10_000)
    else:
        levels = Levels.of_numbers(np.tile(np.arange(n, dtype=float), 2), 10_000)
    assert levels.hashes
    assert levels.n_distinct == pytest.approx(n, rel=4 / np.sqrt(SKETCH_HASHES))


def test_means_do_not_overflow_and_are_exact_for_equal_numbers():
    large = NumberStatistics.of(np.array([1e308, -1e308, 1e308])) + NumberStatistics.of(np.full(2, 1.5e308))
    assert large.mean == pytest.approx(0.8e308)
    assert (NumberStatistics.of(np.full(7, 0.1)) + NumberStatistics.of(np.full(3, 0.1))).mean == 0.1
