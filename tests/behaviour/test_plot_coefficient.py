import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression

import separatrix as sx
from problems import blobs
from separatrix.datasets import make_mixed_types
from separatrix.table_model import explain

Display = sx.plots.CoefficientDisplay


@pytest.fixture(scope="module")
def two_classes():
    X, y = blobs(120, n_features=3, n_classes=2, distance=0.5)
    return pd.DataFrame(X * [1.0, 100.0, 0.01], columns=["near", "large", "small"]), np.array(["no", "yes"])[y]


def test_intervals_are_those_of_the_posterior(two_classes):
    X, y = two_classes
    model = sx.BayesianLogisticRegression(sx.Gaussian(1.0)).fit(X, y)
    display = Display.from_estimator(model, level=0.8)
    order = [list(X.columns).index(name) for name in display.names]
    mean, std = model.posterior_.mean[order], model.posterior_.std[order]
    np.testing.assert_allclose(display.weight, [mean])
    np.testing.assert_allclose(display.lower, [stats.norm(mean, std).ppf(0.1)], rtol=1e-9)
    np.testing.assert_allclose(display.upper, [stats.norm(mean, std).ppf(0.9)], rtol=1e-9)
    assert (np.diff(np.abs(display.weight[0]) * X.std().to_numpy()[order]) <= 0).all()
    assert display.labels == ("yes",)


def test_weights_per_standard_deviation_do_not_depend_on_units(two_classes):
    X, y = two_classes
    scaled = X * [1000.0, 0.001, 7.0]
    one, two = (
        Display.from_estimator(sx.BayesianLogisticRegression(sx.Gaussian(1.0)).fit(table, y), table)
        for table in (X, scaled)
    )
    assert one.names == two.names
    for part in ("weight", "lower", "upper"):
        np.testing.assert_allclose(getattr(one, part), getattr(two, part), rtol=1e-5)
    assert "per standard deviation" in one.ax_.get_xlabel()
    per_unit = Display.from_estimator(sx.BayesianLogisticRegression(sx.Gaussian(1.0)).fit(X, y))
    assert per_unit.names == one.names  # sorted by the same sizes, not by units
    assert "per unit" in per_unit.ax_.get_xlabel()
    assert "sorted by the weight of one standard deviation" in per_unit.ax_.get_xlabel()


def test_each_class_has_a_line_of_weights():
    X, y = blobs(150, n_features=4, n_classes=3, distance=1.0)
    model = sx.BayesianLogisticRegression(sx.Gaussian(1.0)).fit(X, y)
    display = Display.from_estimator(model)
    order = [int(name[1:]) for name in display.names]
    # Only differences between classes are determined by the data.
    np.testing.assert_allclose(display.weight, (model.coef_ - model.coef_.mean(axis=0))[:, order])
    centred = np.kron(np.eye(3) - 1 / 3, np.eye(5))
    std = np.sqrt(np.diag(centred @ model.posterior_.covariance @ centred)).reshape(3, 5)
    half = (display.upper - display.lower) / 2
    np.testing.assert_allclose(half, stats.norm.ppf(0.975) * std[:, order], rtol=1e-9)
    assert "against the mean of the classes" in display.ax_.get_xlabel()
    strength = np.abs(display.weight).max(axis=0)
    assert (np.diff(strength) <= 0).all()
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["0", "1", "2"]


def test_models_without_a_posterior_have_no_intervals(two_classes):
    X, y = two_classes
    for model in (LogisticRegression(max_iter=1000), sx.LinearDiscriminantAnalysis()):
        display = Display.from_estimator(model.fit(X, y))
        assert sorted(display.weight[0]) == sorted(np.ravel(model.coef_))
        assert np.isnan(display.lower).all()
        assert np.isnan(display.level)
        assert "interval" not in display.ax_.get_xlabel()
        assert display.names[0] == X.columns[np.abs(np.ravel(model.coef_)).argmax()]


def test_a_regression_has_the_intervals_of_its_summary(rng):
    X = pd.DataFrame(rng.normal(size=(80, 2)), columns=["a", "b"])
    count = rng.poisson(np.exp(0.5 * X["a"]))
    for model in (sx.GeneralizedLinearModel("poisson").fit(X, count), sx.LogisticRegression().fit(X, count > 0)):
        summary = model.summary(level=0.9)
        display = Display.from_estimator(model, level=0.9)
        where = [summary.names.index(name) for name in display.names]
        np.testing.assert_allclose(display.lower[0], summary.lower[where])
        np.testing.assert_allclose(display.upper[0], summary.upper[where])


def test_a_summary_is_drawn_without_its_intercepts(two_classes):
    X, y = two_classes
    model = sx.BayesianLogisticRegression(sx.Gaussian(1.0)).fit(X, y)
    one, two = Display.from_summary(model.summary()), Display.from_estimator(model)
    assert set(one.names) == set(two.names)  # a summary has no standard deviations to sort by
    np.testing.assert_allclose(np.sort(one.lower), np.sort(two.lower))
    X3, y3 = blobs(90, n_features=2, n_classes=3)
    three = Display.from_summary(sx.BayesianLogisticRegression(sx.Gaussian(1.0)).fit(X3, y3).summary())
    assert sorted(three.names) == [f"{k}: x{d}" for k in range(3) for d in range(2)]


def test_weights_of_basis_functions_have_their_names(two_classes):
    X, y = two_classes
    model = sx.LogisticRegression(basis=sx.basis.Polynomial(2)).fit(X[["near"]], y)
    display = Display.from_estimator(model, X[["near"]])
    spread = {"near": X["near"].std(ddof=0), "near^2": (X["near"] ** 2).std(ddof=0)}
    coef = dict(zip(("near", "near^2"), model.coef_[0], strict=True))
    np.testing.assert_allclose(display.weight[0], [coef[name] * spread[name] for name in display.names], rtol=1e-9)


def test_weights_of_a_table_equal_those_of_the_study():
    table, y = make_mixed_types(300, as_frame=True, rng=0)
    model = sx.TableClassifier().fit(table, y)
    columns = list(model.encoder_.schema_.columns)
    spread = dict(zip(columns, np.std(model.encoder_.transform(table), axis=0), strict=True))
    expected = {c.name: np.array([c.weight, c.lower, c.upper]) for c in explain(model, 0.8)}
    for X in (None, table):
        display = Display.from_estimator(model, X, level=0.8)
        for j, name in enumerate(display.names):
            found = [display.weight[0, j], display.lower[0, j], display.upper[0, j]]
            np.testing.assert_allclose(found, expected[name] * (1.0 if X is None else spread[name]), rtol=1e-9)


def test_the_smallest_weights_are_left_out_and_counted():
    display = Display.from_values([f"c{j}" for j in range(6)], [0.1, -5.0, 2.0, 0.0, -3.0, 1.0], most=4)
    assert display.names == ("c1", "c4", "c2", "c5")
    assert display.n_left_out == 2
    assert "2 smaller weights are not shown" in display.ax_.get_xlabel()


def test_dots_are_hollow_if_the_interval_contains_zero():
    display = Display.from_values(["sure", "unsure"], [2.0, 1.0], [1.0, -1.0], [3.0, 3.0])
    filled, hollow = (line for line in display.ax_.get_lines() if line.get_marker() == "o")
    assert filled.get_xdata().tolist() == [2.0]
    assert hollow.get_xdata().tolist() == [1.0]
    assert hollow.get_markerfacecolor() == "white"


@pytest.mark.parametrize(
    ("model", "quantity"),
    [
        (sx.LogisticRegression(), "log-odds"),
        (sx.LinearDiscriminantAnalysis(), "log-odds"),
        (sx.ProbitRegression(), "activation"),
        (sx.BayesianLogisticRegression(sx.Gaussian(1.0), likelihood="probit"), "activation"),
        (sx.FisherDiscriminant(), "activation"),
    ],
)
def test_the_axis_names_the_quantity_of_the_weights(model, quantity, two_classes):
    X, y = two_classes
    assert Display.from_estimator(model.fit(X, y)).ax_.get_xlabel().startswith(f"{quantity} of yes per unit")


@pytest.mark.filterwarnings("ignore::separatrix.exceptions.SeparationWarning")
def test_infinite_weights_are_drawn_where_the_fit_stopped(rng):
    X = rng.normal(size=(60, 2))
    model = sx.LogisticRegression(alpha=0).fit(X, X[:, 0] > 0)
    display = Display.from_estimator(model)
    assert np.isfinite(display.weight).all()
    assert np.isnan(display.lower).all()
