"""Weights of tables: those of the model, with its intervals, named after the column they came from."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression

import separatrix as sx
from separatrix.datasets import make_mixed_types
from separatrix.study import explain
from separatrix.tables import TableClassifier
from separatrix.tables.prior_only import PriorOnly

TABLE, Y = make_mixed_types(300, as_frame=True, rng=0)
THREE = np.where(Y == "leaves", "leaves", np.where(TABLE["calls"] > 1, "calls", "rests"))


def test_numbers_have_the_summary_of_the_model():
    model = TableClassifier(sx.BayesianLogisticRegression()).fit(TABLE, Y)
    found, summary = explain(model, 0.9), model.summary(0.9)
    assert [c.name for c in found] == list(summary.names[:-1])
    for field, column in [("weight", "coefficient"), ("lower", "lower"), ("upper", "upper")]:
        assert_allclose([getattr(c, field) for c in found[:4]], summary.to_dict()[column][:4])
    assert {c.column for c in found} == set(TABLE.columns)
    assert {c.label for c in found} == {"stays"}


def test_levels_are_against_their_average_with_the_spread_of_draws():
    model = TableClassifier(sx.BayesianLogisticRegression(approximation="laplace")).fit(TABLE, Y)
    found = [c for c in explain(model) if c.column == "contract"]
    own = [name.startswith("contract") for name in model.encoder_.schema_.columns]
    draws = model.estimator_.posterior_.sample(40_000, 0)[:, :-1][:, own]
    share = np.array([(TABLE["contract"] == c.name.partition("=")[2]).mean() for c in found])
    contrast = draws - (draws @ share)[:, None]
    assert_allclose([c.weight for c in found], contrast.mean(axis=0), atol=0.01)
    assert_allclose([c.upper - c.lower for c in found], 2 * 1.959964 * contrast.std(axis=0), rtol=0.03)
    assert (contrast.std(axis=0) < 0.5 * draws.std(axis=0)).all()  # the prior alone knows the common part


def test_contrasts_leave_predictions_as_they_are():
    model = TableClassifier(sx.BayesianLogisticRegression(approximation="laplace")).fit(TABLE, THREE)
    W = np.reshape([c.weight for c in explain(model)], (3, -1))
    numbers = model.encoder_.transform(TABLE)
    moved = numbers @ (W - model.estimator_.coef_).T
    assert_allclose(moved - moved[:1], 0, atol=1e-10)


def test_per_spread_is_the_weight_of_the_standardised_column():
    model = TableClassifier(LogisticRegression(max_iter=1000)).fit(TABLE, Y)
    found = {c.name: c for c in explain(model)}
    assert found["tenure"].per_spread == pytest.approx(found["tenure"].weight * TABLE["tenure"].to_numpy().std())
    assert np.isnan([c.lower for c in found.values()]).all()


def test_k_classes_are_each_against_their_average_with_the_spread_of_draws():
    model = TableClassifier(sx.BayesianLogisticRegression(approximation="laplace")).fit(TABLE, THREE)
    found = explain(model)
    numbers = [c.column != "contract" for c in found[: len(found) // 3]]
    draws = model.estimator_.posterior_.sample(40_000, 0)[:, :, :-1]
    contrast = (draws - draws.mean(axis=1, keepdims=True))[:, :, numbers]
    weight = np.reshape([c.weight for c in found], (3, -1))[:, numbers]
    width = np.reshape([c.upper - c.lower for c in found], (3, -1))[:, numbers]
    assert_allclose(weight, contrast.mean(axis=0), atol=0.03)
    assert_allclose(width, 2 * 1.959964 * contrast.std(axis=0), rtol=0.03)
    assert [c.label for c in found[:: len(found) // 3]] == ["calls", "leaves", "rests"]


def test_variances_kept_by_class_alone_still_give_intervals():
    model = TableClassifier(sx.BayesianLogisticRegression(structure="by class")).fit(TABLE, THREE)
    assert all(c.lower < c.weight < c.upper for c in explain(model))


def test_of_curves_each_rise_is_a_weight_of_its_column():
    model = TableClassifier(sx.BayesianLogisticRegression(), curved=True).fit(TABLE, Y)
    rises = [c for c in explain(model) if c.column == "tenure"]
    assert all(c.name.startswith("tenure from ") for c in rises)
    assert len(rises) == 4  # five knots for 300 rows


def test_generative_models_have_weights_without_intervals_and_others_none():
    linear = TableClassifier(sx.LinearDiscriminantAnalysis(shrinkage=0.1)).fit(TABLE, THREE)
    W = np.reshape([c.weight for c in explain(linear)], (3, -1))
    assert_allclose(W.sum(axis=0), 0, atol=1e-10)
    coef = linear.estimator_.coef_ - linear.estimator_.coef_.mean(axis=0)
    assert_allclose(W[:, :4], coef[:, :4], atol=1e-10)
    assert explain(TableClassifier(PriorOnly()).fit(TABLE, Y)) == ()
    assert explain(TableClassifier(sx.QuadraticDiscriminantAnalysis(shrinkage=0.1)).fit(TABLE, Y)) == ()


def test_a_level_that_is_none_is_an_error():
    model = TableClassifier(PriorOnly()).fit(TABLE, Y)
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        explain(model, 1.5)
