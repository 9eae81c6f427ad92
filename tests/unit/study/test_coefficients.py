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


def test_they_are_the_contrasts_of_the_model_and_those_are_its_summary():
    model = TableClassifier(sx.BayesianLogisticRegression()).fit(TABLE, THREE)
    weights, summary = explain(model, 0.9), model.summary(0.9)
    kept = [j for j, name in enumerate(summary.names) if not name.endswith("intercept")]
    assert [f"{c.label}: {c.name}" for c in weights] == [summary.names[j] for j in kept]
    for field, column in [("weight", "coefficient"), ("lower", "lower"), ("upper", "upper")]:
        assert_allclose([getattr(c, field) for c in weights], summary.to_dict()[column][kept])
    assert {c.column for c in weights} == set(TABLE.columns)


def test_per_spread_is_the_weight_of_the_standardised_column():
    model = TableClassifier(LogisticRegression(max_iter=1000)).fit(TABLE, Y)
    found = {c.name: c for c in explain(model)}
    assert found["tenure"].per_spread == pytest.approx(found["tenure"].weight * TABLE["tenure"].to_numpy().std())
    assert np.isnan([c.lower for c in found.values()]).all()


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
