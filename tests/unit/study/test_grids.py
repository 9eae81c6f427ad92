"""Values at which a model is asked: those of the column, encoded as the encoder encodes them, and their shares."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from separatrix.data.table import TableEncoder
from separatrix.study.grids import POINTS, grid_of

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


def test_dates_are_dates_again():
    found, _, _ = grid("joined")
    assert found.values.min() == TABLE["joined"].min()
    assert found.values.dtype.kind == "M"
