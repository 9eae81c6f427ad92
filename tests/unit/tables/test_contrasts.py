"""Weights less what changes no prediction: against draws, against the predictions, and against each other."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression

import separatrix as sx
from separatrix.datasets import make_mixed_types
from separatrix.tables import TableClassifier

TABLE, Y = make_mixed_types(300, as_frame=True, rng=0)
THREE = np.where(Y == "leaves", "leaves", np.where(TABLE["calls"] > 1, "calls", "rests"))


def fitted(labels, **options):
    return TableClassifier(sx.BayesianLogisticRegression(approximation="laplace", **options)).fit(TABLE, labels)


def drawn(model, n=40_000):
    """Contrasts of draws of the weights, (n, C, M + 1), made by hand."""
    K = len(model.estimator_.coef_)
    W = model.estimator_.posterior_.sample(n, 0).reshape(n, K, -1)
    W = W - W.mean(axis=1, keepdims=True) if K > 1 else W.copy()
    levels = np.array([name.startswith("contract") for name in model.encoder_.schema_.columns] + [False])
    share = [
        (TABLE["contract"] == name.partition("=")[2]).mean() for name in np.array(model.contrasts().names)[levels[:-1]]
    ]
    average = W[:, :, levels] @ np.array(share)
    W[:, :, levels] -= average[:, :, None]
    W[:, :, -1] += average
    return W


@pytest.mark.parametrize("labels", [Y, THREE])
def test_mean_and_spread_are_those_of_draws(labels):
    model = fitted(labels)
    found, draws = model.contrasts(), drawn(model)
    assert_allclose(found.mean, draws.mean(axis=0), atol=0.03)
    assert_allclose(found.std, draws.std(axis=0), rtol=0.03)


def test_levels_are_much_better_known_than_their_weights():
    model = fitted(Y)
    levels = np.array(model.sources_) == "contract"
    raw = model.estimator_.posterior_.std[:-1]
    assert (model.contrasts().std[0, :-1][levels] < 0.5 * raw[levels]).all()  # the prior alone knows the common part
    assert_allclose(model.contrasts().std[0, :-1][~levels], raw[~levels])


@pytest.mark.parametrize("labels", [Y, THREE])
def test_predictions_are_as_they_were(labels):
    model = fitted(labels)
    W, numbers = model.contrasts().mean, model.encoder_.transform(TABLE)
    moved = numbers @ W[:, :-1].T + W[:, -1] - (numbers @ model.estimator_.coef_.T + model.estimator_.intercept_)
    assert_allclose(moved - moved.mean(axis=1, keepdims=True), 0, atol=1e-10)
    if len(W) == 1:
        assert_allclose(moved, 0, atol=1e-10)


def test_the_summary_and_the_picture_show_the_same():
    model = fitted(Y)
    found, summary = model.contrasts(), model.summary(0.9)
    assert summary.names == (*found.names, "intercept")
    assert_allclose(summary.coefficient, found.mean[0])
    assert_allclose(summary.lower[:-1], found.interval(0.9)[0][0])
    display = sx.plots.CoefficientDisplay.from_estimator(model, level=0.9, most=99)
    order = [found.names.index(name) for name in display.names]
    assert_allclose(display.weight[0], found.weight[0, order])
    assert_allclose(display.upper[0], found.interval(0.9)[1][0, order])


def test_variances_kept_by_class_alone_still_give_intervals():
    model = TableClassifier(sx.BayesianLogisticRegression(structure="by class")).fit(TABLE, THREE)
    found = model.contrasts()
    assert_allclose(found.std, drawn(model).std(axis=0), rtol=0.15)  # of 500 draws


def test_without_a_bias_the_average_of_the_levels_is_no_free_part():
    model = fitted(Y, fit_intercept=False)
    assert_allclose(model.contrasts().weight, model.estimator_.coef_)
    assert "intercept" not in model.summary().names
    assert_allclose(model.summary().sd, model.estimator_.posterior_.std)


def test_models_without_a_posterior_have_contrasts_without_intervals():
    model = TableClassifier(LogisticRegression(max_iter=1000)).fit(TABLE, Y)
    found = model.contrasts()
    assert np.isnan(found.std).all()
    levels = np.array(found.columns) == "contract"
    assert abs(found.weight[0, levels] @ model.centre_[levels]) < 1e-10
    reference = TableClassifier(LogisticRegression(max_iter=1000), drop="first").fit(TABLE, Y)
    assert_allclose(reference.contrasts().weight, reference.estimator_.coef_)  # they are against the first already


def test_where_there_are_no_weights_there_are_no_contrasts():
    for estimator in (sx.QuadraticDiscriminantAnalysis(shrinkage=0.1), sx.tables.PriorOnly()):
        with pytest.raises(AttributeError):
            TableClassifier(estimator).fit(TABLE, Y).contrasts  # noqa: B018
