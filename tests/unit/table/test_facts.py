"""Facts add: any partition of the rows, in any order, with empty batches, gives the facts of the whole table."""

import datetime as dt
from dataclasses import replace
from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix.exceptions import DataError
from separatrix.table import TableStatistics, infer_types, table_statistics

MOMENTS = st.datetimes(dt.datetime(2020, 1, 1), dt.datetime(2024, 1, 1))
CELLS = {
    "number": st.one_of(st.none(), st.floats(-1e6, 1e6), st.integers(-5, 5)),
    "whole": st.integers(0, 3),
    "flag": st.one_of(st.none(), st.booleans()),
    "colour": st.sampled_from(["red", "blue", "green", "", None]),
    "word": st.text(max_size=3),
    "charge": st.one_of(st.sampled_from(["", " ", "NA"]), st.integers(0, 99).map(str)),
    "joined": st.one_of(st.none(), MOMENTS),
    "price": st.sampled_from(["1,5", "1.234", "1.234,5", "12,345", "NA", "7", "1 234", "€ 3", "3 €", "x"]),
    "cost": st.sampled_from(["1,5", "1.234,5", "12,3", "NA", "7 ", "1.234"]),
    "share": st.sampled_from(["5 %", "7%", "", "-1.5%"]),
    "ordered": st.sampled_from(["01/02/2024", "03/04/2024 10:30", "25/12/2024", "12/25/2024", "?"]),
    "delivered": st.sampled_from(["1.2.2024", "25.12.2024", "13.01.2024 06:00", None]),
    "signed": MOMENTS.map(lambda moment: moment.date().isoformat()),
    "waited": st.one_of(st.none(), st.timedeltas(dt.timedelta(0), dt.timedelta(9))),
}
ROWS = st.lists(st.fixed_dictionaries(CELLS), min_size=1, max_size=25)


def frame(rows):
    """Python objects, so that a batch of gaps has the type of none."""
    return pd.DataFrame({name: pd.Series([row[name] for row in rows], dtype=object) for name in CELLS})


def rounded(facts):
    """Facts without the two numbers that rounding may change, and those numbers."""
    inexact = []

    def strip(readings):
        ways = sorted(readings.facts)
        inexact.extend(number for way in ways for number in (readings.facts[way].mean, readings.facts[way].squares))
        return replace(readings, facts={way: replace(readings.facts[way], mean=0.0, squares=0.0) for way in ways})

    columns = {
        name: replace(
            facts.columns[name],
            as_numbers=strip(facts.columns[name].as_numbers),
            as_dates=strip(facts.columns[name].as_dates),
        )
        for name in sorted(facts.columns)
    }
    return TableStatistics(columns, facts.n_rows), np.array(inexact)


@settings(max_examples=60)
@given(rows=ROWS, cuts=st.lists(st.integers(0, 25), max_size=4), rng=st.randoms(use_true_random=False))
def test_any_partition_in_any_order_gives_the_same_facts_and_the_same_encoding(rows, cuts, rng):
    table = frame(rows)
    whole = table_statistics(table, max_distinct=8)
    edges = sorted({0, *[min(cut, len(rows)) for cut in cuts], len(rows)})
    parts = [table_statistics(table.iloc[a:b], max_distinct=8) for a, b in pairwise(edges)]
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
        np.testing.assert_allclose(got.encode(table), encoded, rtol=1e-12, atol=1e-9)


def test_integers_and_floats_add_and_so_do_gaps_and_anything():
    a = table_statistics(pd.DataFrame({"n": [1, 2], "t": [None, None]}))
    b = table_statistics(pd.DataFrame({"n": [0.5, np.nan], "t": ["x", "y"]}))
    both = a + b
    assert both.columns["n"].numbers.mean == pytest.approx(3.5 / 3)
    assert not both.columns["n"].numbers.whole
    assert both.columns["n"].n_missing == 1
    assert both.columns["t"].levels.counts == {"x": 1, "y": 1}


def test_a_column_that_changes_its_kind_is_named_with_both_batches():
    batches = [pd.DataFrame({"n": column}) for column in ([None], [1.0], [2.0], ["many"])]
    facts = [table_statistics(batch, name=f"batch {i}") for i, batch in enumerate(batches)]
    with pytest.raises(DataError, match="Column 'n' holds numbers in batch 1 and text in batch 3"):
        reduce(add, facts)


@pytest.mark.parametrize("turn", [1, -1])
def test_a_column_that_only_one_batch_has_is_named(turn):
    first = table_statistics(pd.DataFrame({"n": [1], "m": [1]}), name="first.csv")
    second = table_statistics(pd.DataFrame({"n": [1]}), name="second.csv")
    left, right = (first, second)[::turn]
    with pytest.raises(DataError, match=r"'m' is in first\.csv but not in second\.csv"):
        left + right


def test_unread_columns_are_known_but_not_looked_at():
    table = pd.DataFrame({"a": [1, 2], "mixed": pd.Series([1, "x"], dtype=object)})
    assert table_statistics(table, unread=["mixed"]).columns["mixed"].count == 0
    with pytest.raises(DataError, match="no column 'mixde'. Did you mean 'mixed'"):
        table_statistics(table, unread=["mixde"])
