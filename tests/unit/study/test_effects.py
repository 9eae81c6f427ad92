"""Partial effects against brute force: rows changed one by one in the table, and draws one by one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

import separatrix as sx
from separatrix.datasets import make_mixed_types
from separatrix.study import effects as module
from separatrix.study.effects import partial_effects
from separatrix.tables import TableClassifier
from separatrix.tables.prior_only import PriorOnly

TABLE, Y = make_mixed_types(150, as_frame=True, rng=0)
THREE = np.where(Y == "leaves", "leaves", np.where(TABLE["calls"] > 1, "calls", "rests"))


def found(model, **options):
    return {e.column: e for e in partial_effects(model, model.encoder_.transform(TABLE), **options)}


def by_hand(model, column, values):
    """The average prediction of all rows with the column set to each value."""
    return np.array([model.predict_proba(TABLE.assign(**{column: value})).mean(axis=0) for value in values])


@pytest.mark.parametrize("column", list(TABLE.columns))
def test_without_a_posterior_it_is_the_average_prediction(column):
    model = TableClassifier(sx.LinearDiscriminantAnalysis(shrinkage=0.1)).fit(TABLE, THREE)
    effect = found(model)[column]
    assert_allclose(effect.mean, by_hand(model, column, effect.values), atol=1e-12)
    assert np.isnan(effect.lower).all()


@pytest.mark.parametrize("curved", [False, True])
@pytest.mark.parametrize("labels", [Y, THREE])
def test_with_a_posterior_it_is_the_average_prediction_but_for_the_noise_of_draws(labels, curved):
    model = TableClassifier(
        sx.BayesianLogisticRegression(sx.Gaussian(0.5), approximation="laplace"), curved=curved
    ).fit(TABLE, labels)
    for column, effect in found(model).items():
        by_rows = by_hand(model, column, effect.values)
        assert_allclose(effect.mean, by_rows, atol=0.02)
        assert ((effect.lower <= effect.mean) & (effect.mean <= effect.upper)).all()


def test_known_weights_give_the_curve_and_the_band_that_they_say():
    model = TableClassifier(sx.BayesianLogisticRegression(sx.Gaussian(0.5), approximation="laplace")).fit(TABLE, Y)
    effect = found(model)["tenure"]
    numbers, posterior = model.encoder_.transform(TABLE), model.estimator_.posterior_
    place = model.encoder_.schema_.groups["tenure"].start
    W = posterior.sample(20_000, 7)
    for g in (0, 10, -1):
        numbers[:, place] = effect.values[g]
        f = expit(numbers @ W[:, :-1].T + W[:, -1]).mean(axis=0)  # one draw, one average
        low, high = np.quantile(f, [0.025, 0.975])
        assert_allclose(effect.mean[g, 1], f.mean(), atol=0.002)
        band = [effect.lower[g, 1], effect.upper[g, 1]]
        assert_allclose(band, [low, high], atol=0.15 * (high - low) / 2)  # three standard errors of the quantiles


def test_a_few_rows_spread_along_the_activations_stand_for_all():
    table, y = make_mixed_types(5000, as_frame=True, rng=3)
    model = TableClassifier(sx.BayesianLogisticRegression(sx.Gaussian(0.5), approximation="laplace")).fit(table, y)
    effects = {e.column: e for e in partial_effects(model, model.encoder_.transform(table))}
    for value in (0, 12, -1):
        effect = effects["charge"]
        whole = model.predict_proba(table.assign(charge=effect.values[value])).mean(axis=0)
        assert_allclose(effect.mean[value], whole, atol=0.004)  # of 160 rows drawn blindly, 0.03


def test_moving_one_part_is_the_same_as_evaluating_every_row_anew(monkeypatch):
    model = TableClassifier(sx.BayesianLogisticRegression(sx.Gaussian(0.5), approximation="laplace"), curved=True).fit(
        TABLE, THREE
    )
    quick = found(model)
    monkeypatch.setattr(TableClassifier, "sources_", ("",) * len(model.spread_))
    slow = found(model)
    for column, effect in quick.items():
        for field in ("mean", "lower", "upper"):
            assert_allclose(getattr(effect, field), getattr(slow[column], field), atol=1e-9)
        assert effect.importance == pytest.approx(slow[column].importance, rel=0.1)  # along 25 values only


def test_importance_is_the_spread_of_the_columns_part_of_the_activation():
    model = TableClassifier(sx.BayesianLogisticRegression()).fit(TABLE, Y)
    effects, numbers = found(model), model.encoder_.transform(TABLE)
    for column, positions in model.encoder_.schema_.groups.items():
        own = slice(positions.start, positions.stop)
        part = numbers[:, own] @ model.estimator_.coef_[0, own]
        assert effects[column].importance == pytest.approx(part.std(), rel=1e-9)
    assert list(effects) == sorted(effects, key=lambda name: -effects[name].importance)


def test_a_model_that_looks_at_no_column_has_flat_effects():
    effects = found(TableClassifier(PriorOnly()).fit(TABLE, Y))
    assert all(np.ptp(effect.mean, axis=0).max() < 1e-12 and effect.importance < 1e-9 for effect in effects.values())


def test_a_wider_level_is_a_wider_band_and_a_seed_repeats_it():
    model = TableClassifier(sx.BayesianLogisticRegression()).fit(TABLE, Y)
    narrow, wide = found(model, level=0.5, rng=1)["calls"], found(model, level=0.99, rng=1)["calls"]
    assert ((wide.lower <= narrow.lower) & (narrow.upper <= wide.upper)).all()
    assert (found(model, level=0.5, rng=1)["calls"].lower == narrow.lower).all()


def test_of_very_many_columns_those_with_the_largest_weights_are_shown():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 60))
    y = X[:, 50] + X[:, 3] + rng.logistic(size=400) > 0
    model = TableClassifier(sx.LinearDiscriminantAnalysis(shrinkage=0.1)).fit(X, y)
    effects = partial_effects(model, X)
    assert len(effects) == module.MOST_COLUMNS
    assert {effect.column for effect in effects[:2]} == {"x3", "x50"}
