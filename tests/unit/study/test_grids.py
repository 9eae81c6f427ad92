"""Values at which a model is asked: those of the column, encoded as the encoder encodes them, and their shares."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from separatrix.study.grids import POINTS, grid_of
from separatrix.table import TableEncoder

RNG = np.random.default_rng(0)
N = 600
TABLE = pd.DataFrame(
    {
        "size": np.where(RNG.random(N) < 0.1, np.nan, RNG.normal(size=N)),
        "gain": np.where(RNG.random(N) < 0.9, 0.0, RNG.exponential(100.0, N)),
        "colour": RNG.choice(["red", "green", "blue", None], N, p=[0.5, 0.3, 0.1, 0.1]),
        "member": RNG.choice(["yes", "no"], N),
        "flag": RNG.random(N) < 0.3,
        "joined": pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 900, N), unit="D"),
        "place": RNG.choice([f"p{i}" for i in range(60)], N),
    }
)


def grid(column, **options):
    encoder = TableEncoder(**options).fit(TABLE)
    schema, numbers = encoder.schema_, np.asarray(encoder.set_params(sparse=False).transform(TABLE))
    place = schema.groups[column]
    plan = next(plan for plan in schema.plans if plan.column == column)
    return grid_of(plan, numbers[:, place.start : place.stop]), encoder, place


@pytest.mark.parametrize("column", list(TABLE.columns))
@pytest.mark.parametrize("drop", ["none", "first"])
def test_values_become_the_numbers_that_the_encoder_makes_of_them(column, drop):
    found, encoder, place = grid(column, drop=drop)
    values = [None if value == "(missing)" else value for value in found.values]
    rows = TABLE.iloc[np.zeros(len(values), dtype=int)].assign(**{column: values})
    numbers = np.asarray(encoder.transform(rows))
    assert_allclose(found.numbers, numbers[:, place.start : place.stop], atol=1e-9)
    assert len(found.values) <= POINTS


@pytest.mark.parametrize("column", ["size", "gain", "colour", "member", "flag", "joined"])
def test_shares_are_those_of_the_rows(column):
    found, _, _ = grid(column)
    assert_allclose(found.share.sum(), 1.0)


def test_levels_stand_from_the_most_frequent_with_the_missing_among_them():
    found, _, _ = grid("colour")
    counts = TABLE["colour"].fillna("(missing)").value_counts()
    assert_array_equal(found.values[:2], ["red", "green"])
    assert_allclose(found.share, [counts[value] / N for value in found.values])
    first, _, _ = grid("colour", drop="first")
    assert_allclose(first.share, found.share)


def test_a_value_that_most_rows_share_is_a_point_of_its_own():
    found, _, _ = grid("gain")
    assert found.values[0] == 0
    assert found.share[0] == pytest.approx((TABLE["gain"] <= found.values[1] / 2).mean())
    assert len(found.values) > 10


def test_gaps_are_not_counted_among_the_numbers():
    found, _, _ = grid("size")
    assert found.values.max() == TABLE["size"].max()
    assert TABLE["size"].mean() not in found.values


def test_both_tails_are_followed():
    found, _, _ = grid("gain")
    above = TABLE["gain"][TABLE["gain"] > 0]
    assert found.values.max() == above.max()
    reach = np.diff(found.values[found.values >= above.quantile(0.5)])
    assert reach.max() <= above.max() / 14  # no step is longer than one of the even ones
    size, _, _ = grid("size")
    assert (size.values <= TABLE["size"].quantile(0.05)).sum() >= 5


def test_whole_numbers_stay_whole():
    counts = pd.DataFrame({"n": RNG.integers(0, 5000, N), "y": RNG.normal(size=N)})
    encoder = TableEncoder(types={"n": "number"}).fit(counts)
    values = grid_of(encoder.schema_.plans[0], np.asarray(encoder.transform(counts))[:, :1]).values
    assert_array_equal(values, np.rint(values))
    assert 20 < len(values) <= POINTS


def dates(days, **options):
    table = pd.DataFrame({"at": pd.Timestamp("2001-03-05 10:00") + pd.to_timedelta(days, unit="h"), "x": 1.0 * days})
    encoder = TableEncoder(**options).fit(table)
    plan = encoder.schema_.plans[0]
    return grid_of(plan, np.asarray(encoder.transform(table))[:, : len(plan.names)]), plan


@pytest.mark.parametrize("n_days", [3, 20, 90, 900, 9000])
def test_a_cycle_is_followed_or_stands_still(n_days):
    found, plan = dates(RNG.integers(0, 24 * n_days, 900))
    at = pd.DatetimeIndex(found.values)
    step = np.diff(found.values) / np.timedelta64(1, "D")
    assert 4 <= len(at) <= POINTS
    if "hour" in plan.cycles:
        assert step.max() <= 0.25 or len(set(at.hour)) == 1
    if "weekday" in plan.cycles:
        assert step.max() <= 1.75 or len(set(at.day_of_week)) == 1
    if "month" in plan.cycles:
        season = np.cos(2 * np.pi * at.day_of_year / 365.25), np.sin(2 * np.pi * at.day_of_year / 365.25)
        assert step.max() <= 92 or np.hypot(*(part.max() - part.min() for part in season)) < 0.2


@pytest.mark.parametrize("seed", range(12))
def test_whole_hours_stay_whole(seed):
    found, _ = dates(np.random.default_rng(seed).integers(0, 24 * 9000, 900))
    at = pd.DatetimeIndex(found.values)
    assert len(set(at.hour)) == 1
    assert not (at.minute | at.second | at.microsecond).any()


def test_dates_are_dates_again():
    found, _, _ = grid("joined")
    assert found.values.min() - TABLE["joined"].min() < pd.Timedelta(days=40)
    assert found.values.dtype.kind == "M"
