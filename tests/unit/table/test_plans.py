"""What each plan writes into its columns."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from separatrix.exceptions import DataError
from separatrix.table.plans import CategoryPlan, DatePlan, DropPlan, NumberPlan
from separatrix.table.schema import Schema
from separatrix.table.values import open_batch


def encode(plan, values):
    return Schema((plan,), 1).encode_counted(pd.DataFrame({"c": pd.Series(values, dtype=object)}), sparse=False)


def number(**changes):
    return NumberPlan(
        **{"column": "c", "kind": "number", "why": "", "mean": 5.0, "indicator": False, "constant": False, "words": {}}
        | changes
    )


def test_gaps_get_the_mean_and_are_marked_if_training_had_any():
    X, surprises = encode(number(indicator=True), [1, None])
    assert X.tolist() == [[1, 0], [5, 1]]
    assert surprises == {}
    X, surprises = encode(number(), [1, None])
    assert X.tolist() == [[1], [5]]
    assert surprises == {"c": {"(missing)": 1}}


def test_a_constant_with_gaps_is_its_gaps():
    plan = number(indicator=True, constant=True)
    assert plan.names == ("c is missing",)
    assert encode(plan, [5, None])[0].tolist() == [[0], [1]]


def test_words_are_zero_and_one_and_others_a_surprise():
    plan = number(words={"No": 0.0, "Yes": 1.0}, mean=0.25)
    assert plan.names == ("c=Yes",)
    X, surprises = encode(plan, ["Yes", "No", "Perhaps", None])
    assert X.tolist() == [[1], [0], [0.25], [0.25]]
    assert surprises == {"c": {"Perhaps": 1, "(missing)": 1}}
    assert encode(plan, [True, False])[0].tolist() == [[1], [0]]


def category(**changes):
    return CategoryPlan(
        **{
            "column": "c",
            "kind": "categorical",
            "why": "",
            "levels": ("a", "b"),
            "pooled": (),
            "missing": False,
            "reference": "",
        }
        | changes
    )


@pytest.mark.parametrize(
    ("changes", "places", "surprises"),  # in which of the columns each row has its one
    [
        ({}, ["a", "b", "", "", ""], {"r": 1, "z": 1, "(missing)": 1}),
        ({"pooled": ("r",)}, ["a", "b", "(other)", "(other)", ""], {"z": 1, "(missing)": 1}),
        ({"missing": True}, ["a", "b", "", "", "(missing)"], {"r": 1, "z": 1}),
        ({"reference": "a"}, ["", "b", "", "", ""], {"r": 1, "z": 1, "(missing)": 1}),
        ({"pooled": ("r",), "missing": True}, ["a", "b", "(other)", "(other)", "(missing)"], {"z": 1}),
    ],
)
def test_levels_rare_unseen_and_missing(changes, places, surprises):
    plan = category(**changes)
    columns = list(dict.fromkeys(place for place in places if place))
    assert plan.names == tuple(f"c={column}" for column in columns)
    X, got = encode(plan, ["a", "b", "r", "z", None])
    assert X.tolist() == [[float(place == column) for column in columns] for place in places]
    assert got == {"c": surprises}


def test_dates_are_days_and_points_on_circles():
    moments = pd.date_range("2023-12-30 05:00", periods=500, freq="31h")
    plan = DatePlan(
        "c", "date", "", origin=0.0, mean=100.0, cycles=("month", "weekday", "hour"), indicator=True, constant=False
    )
    X, _ = encode(plan, [*moments, None])
    clock = {"month": (moments.month - 1) / 12, "weekday": moments.day_of_week / 7, "hour": moments.hour / 24}
    np.testing.assert_allclose(X[:-1, 0], (moments - pd.Timestamp(0)) / dt.timedelta(days=1), rtol=1e-14)
    for d, turn in enumerate(clock.values()):
        np.testing.assert_allclose(X[:-1, 1 + 2 * d], np.cos(2 * np.pi * turn), atol=1e-9)
        np.testing.assert_allclose(X[:-1, 2 + 2 * d], np.sin(2 * np.pi * turn), atol=1e-9)
    assert X[-1].tolist() == [100, 0, 0, 0, 0, 0, 0, 1]
    assert not X[:-1, -1].any()
    assert plan.names[0] == "c: days"
    assert plan.names[-2:] == ("c: hour (sin)", "c is missing")


def test_dates_before_1970_turn_the_same_way():
    plan = DatePlan("c", "date", "", 0.0, 0.0, ("month", "weekday"), indicator=False, constant=True)
    X, _ = encode(plan, [dt.date(1969, 12, 31)])  # a Wednesday in December
    np.testing.assert_allclose(
        X, [[np.cos(11 * np.pi / 6), np.sin(11 * np.pi / 6), np.cos(4 * np.pi / 7), np.sin(4 * np.pi / 7)]]
    )


def test_an_unknown_cycle_is_refused():
    with pytest.raises(DataError, match="'c' has unknown cycles"):
        DatePlan("c", "date", "", 0.0, 0.0, ("moon",), indicator=False, constant=False)


def test_a_dropped_column_has_no_entries():
    plan = DropPlan("c", "id", "why not")
    entries = plan.entries(open_batch(pd.DataFrame({"c": ["x"]})).read("c"))
    assert plan.names == ()
    assert len(entries.row) == 0
