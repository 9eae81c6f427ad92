"""Ids number the rows, in any order and with gaps; what is measured, or tells the time, does not."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix.table import TableStatistics, infer_types, table_statistics
from separatrix.table.inference import reason_for_id

ROW = np.arange(1000)


def reason(values, name="c", **options):
    return reason_for_id(name, table_statistics(pd.DataFrame({name: values}), **options).columns[name])


@settings(max_examples=60)
@given(
    start=st.sampled_from([0, 1, 17, 10_001, 700_000]),
    n=st.integers(60, 400),
    share=st.floats(0.7, 1.0),
    order=st.sampled_from(["rising", "falling", "shuffled"]),
    seed=st.integers(0, 99),
)
def test_counters_are_ids_also_with_gaps_and_in_any_order(start, n, share, order, seed):
    rng = np.random.default_rng(seed)
    kept = start + np.sort(rng.permutation(n)[: int(share * n)])
    kept = {"rising": kept, "falling": kept[::-1], "shuffled": rng.permutation(kept)}[order]
    assert "numbers the rows" in reason(kept)
    assert "numbers the rows" in reason([f"{number}" for number in kept])


@settings(max_examples=100)
@given(
    law=st.sampled_from(["uniform", "normal", "sorted", "poisson", "geometric"]),
    n=st.integers(30, 400),
    spread=st.floats(0.2, 30),
    seed=st.integers(0, 999),
)
def test_whole_measurements_are_none_sorted_or_not(law, n, spread, seed):
    rng = np.random.default_rng(seed)
    extent = max(2, int(spread * n))
    draws = {
        "uniform": lambda: rng.integers(0, extent, n),
        "normal": lambda: np.rint(rng.normal(0, extent, n)),
        "sorted": lambda: np.sort(rng.integers(0, extent, n)),
        "poisson": lambda: rng.poisson(extent, n),
        "geometric": lambda: rng.geometric(1 / extent, n),
    }
    assert reason(draws[law]()) == ""


@pytest.mark.parametrize(
    ("values", "name"),
    [
        (1800 + ROW[:200], "c"),
        (20_240_101 + ROW[:31], "c"),
        (1_700_000_000 + ROW, "c"),
        (1 + ROW, "day"),
        (40_000 + ROW, "Date"),
        (ROW + 0.5, "c"),
        (3 * ROW, "c"),
        (ROW // 2, "c"),
        (ROW[:19], "c"),
        (3 * ROW, "paid"),
        (3 * ROW, "piano"),
        (np.where(ROW % 5, ROW, 7), "customer_id"),
    ],
)
def test_times_measurements_and_few_rows_are_none(values, name):
    assert reason(values, name) == ""


@pytest.mark.parametrize(
    "name",
    [
        "customer_id",
        "userId",
        "Kundennr",
        "Kunden-Nr.",
        "invoice no",
        "OrderNumber",
        "key",
        "row index",
        "id_7",
        "Nummer",
    ],
)
def test_a_name_tips_the_balance_where_values_are_far_apart(name):
    assert "with the name of an id" in reason(17 * ROW + 5, name)
    assert "numbers the rows" in reason(1800 + ROW[:200], name)


def test_gaps_are_told_where_there_are_some():
    assert reason(10_001 + ROW) == "it numbers the rows, from 10001 to 11000"
    assert reason(np.delete(10_001 + ROW, 5)) == (
        "it numbers the rows, with gaps (999 of 999 are different), from 10001 to 11000"
    )


def test_a_few_rows_twice_do_not_hide_an_id():
    assert "with gaps" in reason([*(10_000 + ROW), 10_003, 10_500])


def test_patients_who_come_twice_have_ids():
    assert "nearly all different (1000 of 1050), with the name" in reason([*(31 * ROW), *(31 * ROW[:50])], "ID")
    assert reason([*(31 * ROW), *(31 * ROW[:200])], "ID") == ""
    assert reason([*(31 * ROW), *(31 * ROW[:50])], "weight") == ""


def test_many_ids_in_batches_are_ids():
    ids = pd.DataFrame({"c": 500_000 + np.random.default_rng(3).permutation(40_000)[:30_000]})
    facts = sum((table_statistics(ids.iloc[i : i + 7_000]) for i in range(0, 30_000, 7_000)), TableStatistics())
    (plan,) = infer_types(facts).plans
    assert plan.kind == "id"
    assert "from 500" in plan.why


def test_an_id_can_be_had_as_a_number():
    table = pd.DataFrame({"c": 10_000 + ROW})
    assert infer_types(table_statistics(table), {"c": "number"}).columns == ("c",)
