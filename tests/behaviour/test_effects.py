"""Partial effects against brute force, and the values at which they are evaluated."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

import separatrix as sx
from separatrix.datasets import make_mixed_types
from separatrix.effects import MAX_EFFECT_COLUMNS, MAX_POINTS, grid_of, partial_effects
from separatrix.study import PriorOnly
from separatrix.table import TableEncoder
from separatrix.table_model import TableClassifier

TABLE, Y = make_mixed_types(150, as_frame=True, rng=0)
THREE = np.where(Y == "leaves", "leaves", np.where(TABLE["calls"] > 1, "calls", "rests"))


def laplace(labels=Y, table=TABLE, basis=None, **options):
    estimator = sx.BayesianLogisticRegression(sx.Gaussian(0.5), approximation="laplace", basis=basis)
    return TableClassifier(estimator, **options).fit(table, labels)


def effects_of(model, table=TABLE, **options):
    return {e.column: e for e in partial_effects(model, model.encoder_.transform(table), **options)}


def by_hand(model, column, values, table=TABLE):
    """Average prediction of all rows with the column set to each value."""
    return np.array([model.predict_proba(table.assign(**{column: value})).mean(axis=0) for value in values])


@pytest.mark.parametrize("column", list(TABLE.columns))
def test_without_a_posterior_an_effect_is_the_average_prediction(column):
    model = TableClassifier(sx.LinearDiscriminantAnalysis(shrinkage=0.1)).fit(TABLE, THREE)
    effect = effects_of(model)[column]
    assert_allclose(effect.mean, by_hand(model, column, effect.values), atol=1e-12)
    assert np.isnan(effect.lower).all()


@pytest.mark.filterwarnings("ignore:The posterior is far:separatrix.exceptions.ApproximationWarning")
@pytest.mark.parametrize("curved", [False, True])
@pytest.mark.parametrize("labels", [Y, THREE])
def test_with_a_posterior_an_effect_is_the_average_prediction_up_to_the_noise_of_draws(labels, curved):
    model = laplace(labels, curved=curved)
    for column, effect in effects_of(model).items():
        assert_allclose(effect.mean, by_hand(model, column, effect.values), atol=0.02)
        assert ((effect.lower <= effect.mean) & (effect.mean <= effect.upper)).all()


def test_mean_and_band_are_those_of_many_draws():
    model = laplace()
    effect = effects_of(model)["tenure"]
    features, W = model.encoder_.transform(TABLE), model.estimator_.posterior_.sample(20_000, 7)
    place = model.encoder_.schema_.groups["tenure"].start
    for g in (0, 10, -1):
        features[:, place] = effect.values[g]
        f = expit(features @ W[:, :-1].T + W[:, -1]).mean(axis=0)  # one average for each draw
        low, high = np.quantile(f, [0.025, 0.975])
        assert_allclose(effect.mean[g, 1], f.mean(), atol=0.002)
        band = [effect.lower[g, 1], effect.upper[g, 1]]
        assert_allclose(band, [low, high], atol=0.15 * (high - low) / 2)  # three standard errors of the quantiles


def test_a_few_rows_spread_along_the_activations_represent_all():
    table, y = make_mixed_types(5000, as_frame=True, rng=3)
    model = laplace(y, table)
    effect = effects_of(model, table)["charge"]
    some = [0, 12, -1]
    expected = by_hand(model, "charge", effect.values[some], table)
    assert_allclose(effect.mean[some], expected, atol=0.004)  # 0.03 with 160 random rows


def test_a_basis_that_combines_columns_gives_the_same_effects_as_parts_of_single_columns():
    numbers = TABLE[["charge", "tenure", "calls"]]
    mixing = laplace(table=numbers, basis=sx.basis.Polynomial(1))
    assert set(mixing.sources_) == {""}
    slow = effects_of(mixing, numbers)
    for column, effect in effects_of(laplace(table=numbers), numbers).items():
        assert_allclose(effect.mean, slow[column].mean, atol=0.02)
        assert effect.importance == pytest.approx(slow[column].importance, rel=0.1)  # along 25 values only


def test_importance_is_the_standard_deviation_of_the_columns_part_of_the_activation():
    model = TableClassifier(sx.BayesianLogisticRegression(sx.Gaussian(1.0))).fit(TABLE, Y)
    effects, features = effects_of(model), model.encoder_.transform(TABLE)
    for column, positions in model.encoder_.schema_.groups.items():
        own = slice(positions.start, positions.stop)
        part = features[:, own] @ model.estimator_.coef_[0, own]
        assert effects[column].importance == pytest.approx(part.std(), rel=1e-9)
    assert list(effects) == sorted(effects, key=lambda name: -effects[name].importance)
    flat = effects_of(TableClassifier(PriorOnly()).fit(TABLE, Y))
    assert all(np.ptp(effect.mean, axis=0).max() < 1e-12 and effect.importance < 1e-9 for effect in flat.values())


def test_a_higher_level_is_a_wider_band_and_a_seed_repeats_it():
    model = laplace()
    narrow, again, wide = (effects_of(model, level=level, rng=1)["calls"] for level in (0.5, 0.5, 0.99))
    assert ((wide.lower <= narrow.lower) & (narrow.upper <= wide.upper)).all()
    assert (again.lower == narrow.lower).all()


def test_an_effect_is_printed_in_one_line():
    found = repr(effects_of(laplace())["tenure"])
    assert found.startswith("Effect of 'tenure' (number) at ")
    assert len(found) < 100


def test_of_many_columns_those_with_the_largest_weights_are_shown():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 60))
    y = X[:, 50] + X[:, 3] + rng.logistic(size=400) > 0
    effects = partial_effects(TableClassifier(sx.LinearDiscriminantAnalysis(shrinkage=0.1)).fit(X, y), X)
    assert len(effects) == MAX_EFFECT_COLUMNS
    assert {effect.column for effect in effects[:2]} == {"x3", "x50"}


# -- values ------------------------------------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
N = 600
MIXED = pd.DataFrame(
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


def grid(column, table=MIXED, **options):
    encoder = TableEncoder(**options).fit(table)
    schema, features = encoder.schema_, np.asarray(encoder.set_params(sparse=False).transform(table))
    place = schema.groups[column]
    plan = next(plan for plan in schema.plans if plan.column == column)
    return grid_of(plan, features[:, place.start : place.stop]), encoder, place


@pytest.mark.parametrize("column", list(MIXED.columns))
@pytest.mark.parametrize("drop", ["none", "first"])
def test_values_are_encoded_as_the_encoder_does(column, drop):
    found, encoder, place = grid(column, drop=drop)
    values = [None if value == "(missing)" else value for value in found.values]
    rows = MIXED.iloc[np.zeros(len(values), dtype=int)].assign(**{column: values})
    assert_allclose(found.features, np.asarray(encoder.transform(rows))[:, place.start : place.stop], atol=1e-9)
    assert len(found.values) <= MAX_POINTS
    if column != "place":  # which has more levels than points
        assert_allclose(found.share.sum(), 1.0)


def test_levels_are_sorted_by_frequency_with_missing_values_among_them():
    found, _, _ = grid("colour")
    counts = MIXED["colour"].fillna("(missing)").value_counts()
    assert_array_equal(found.values[:2], ["red", "green"])
    assert_allclose(found.share, [counts[value] / N for value in found.values])
    assert_allclose(grid("colour", drop="first")[0].share, found.share)


def test_numbers_are_followed_into_both_tails_without_the_filled_values():
    gain, size = grid("gain")[0], grid("size")[0]
    above = MIXED["gain"][MIXED["gain"] > 0]
    assert gain.values[0] == 0  # the value of most rows
    assert gain.share[0] == pytest.approx((MIXED["gain"] <= gain.values[1] / 2).mean())
    assert gain.values.max() == above.max()
    reach = np.diff(gain.values[gain.values >= above.quantile(0.5)])
    assert reach.max() <= above.max() / 14  # no longer than the even steps
    assert (size.values <= MIXED["size"].quantile(0.05)).sum() >= 5
    assert size.values.max() == MIXED["size"].max()
    assert MIXED["size"].mean() not in size.values


def test_whole_numbers_stay_whole():
    counts = pd.DataFrame({"n": RNG.integers(0, 5000, N), "y": RNG.normal(size=N)})
    values = grid("n", counts, types={"n": "number"})[0].values
    assert_array_equal(values, np.rint(values))
    assert 20 < len(values) <= MAX_POINTS


@pytest.mark.parametrize("n_days", [3, 20, 90, 900, 9000])
def test_a_cycle_of_dates_is_followed_or_constant(n_days):
    hours = RNG.integers(0, 24 * n_days, 900)
    start = pd.Timestamp("2001-03-05 10:00")
    found, encoder, _ = grid("at", pd.DataFrame({"at": start + pd.to_timedelta(hours, unit="h"), "x": 1.0 * hours}))
    at, cycles = pd.DatetimeIndex(found.values), encoder.schema_.plans[0].cycles
    step = np.diff(found.values) / np.timedelta64(1, "D")
    assert 4 <= len(at) <= MAX_POINTS
    if "hour" in cycles:
        assert step.max() <= 0.25 or len(set(at.hour)) == 1
    if "weekday" in cycles:
        assert step.max() <= 1.75 or len(set(at.day_of_week)) == 1
    if "month" in cycles:
        season = np.cos(2 * np.pi * at.day_of_year / 365.25), np.sin(2 * np.pi * at.day_of_year / 365.25)
        assert step.max() <= 92 or np.hypot(*(part.max() - part.min() for part in season)) < 0.2
    if n_days == 9000:  # whole hours stay whole
        assert not (at.minute | at.second | at.microsecond).any()
