import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression

import separatrix as sx

Display = sx.plots.ClassDensityDisplay


@pytest.fixture
def rows(rng):
    y = np.repeat(["a", "b"], [120, 60])
    return np.where(y == "a", rng.normal(0, 1, 180), rng.normal(3, 2, 180))[:, None], y


def test_densities_are_those_of_the_normal_classes_times_their_priors(rows):
    X, y = rows
    display = Display.from_estimator(sx.QuadraticDiscriminantAnalysis().fit(X, y), X, y)
    for k, label in enumerate("ab"):
        of_class = X[y == label, 0]
        density = stats.norm(of_class.mean(), of_class.std()).pdf(display.x)
        np.testing.assert_allclose(display.joint[:, k], density * len(of_class) / 180, rtol=1e-9)
    np.testing.assert_allclose(display.posterior, display.joint / display.joint.sum(axis=1, keepdims=True), rtol=1e-9)


def test_boundaries_are_where_the_posterior_is_one_half(rows):
    X, y = rows
    qda = sx.QuadraticDiscriminantAnalysis().fit(X, y)
    found = Display.from_estimator(qda, X, y, resolution=1000).boundaries
    (c,), (w,), w0 = qda.quadratic_[0], qda.coef_[0], qda.intercept_[0]
    exact = np.sort(np.roots([float(np.squeeze(c)), float(w), float(w0)]))
    np.testing.assert_allclose(found, exact[(exact > X.min() - 1) & (exact < X.max() + 1)], atol=1e-4)
    lda = sx.LinearDiscriminantAnalysis().fit(X, y)
    exact = -lda.intercept_ / lda.coef_[0]
    np.testing.assert_allclose(Display.from_estimator(lda, X, resolution=7).boundaries, exact, rtol=1e-9)


def test_the_area_of_the_bars_is_the_class_proportion(rows):
    X, y = rows
    drawn = Display.from_estimator(sx.LinearDiscriminantAnalysis().fit(X, y), X, y, n_bins=9).rows
    np.testing.assert_allclose(drawn.heights @ np.diff(drawn.edges), [120 / 180, 60 / 180])
    assert drawn.heights.shape == (2, 9)


def test_a_discriminative_model_has_a_posterior_and_no_density(rows):
    X, y = rows
    model = LogisticRegression().fit(X, y)
    display = Display.from_estimator(model, X, y)
    assert display.joint is None
    assert np.array_equal(display.posterior, model.predict_proba(display.x[:, None]))
    np.testing.assert_allclose(display.boundaries, -model.intercept_ / model.coef_[0], rtol=1e-9)
    assert len(display.axes_[0].get_lines()) == 3  # ticks of two classes, and the boundary
    assert display.ax_.get_legend_handles_labels()[1] == ["a", "b"]


def test_counts_have_probabilities_at_whole_numbers(rng):
    y = np.repeat([0, 1], [200, 100])
    X = rng.poisson(np.array([3.0, 8.0])[y])[:, None]
    display = Display.from_estimator(sx.NaiveBayes("poisson", estimate="ml").fit(X, y), X, y)
    assert np.array_equal(display.x, np.arange(X.min(), X.max() + 1))
    for k in (0, 1):
        mass = stats.poisson(X[y == k].mean()).pmf(display.x) * (y == k).mean()
        np.testing.assert_allclose(display.joint[:, k], mass, rtol=1e-9)
        share = [((X[:, 0] == x) & (y == k)).mean() for x in display.x]
        np.testing.assert_allclose(display.rows.heights[k], share)
    assert display.ax_.get_ylabel() == "probability"


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_names_and_units_of_a_data_frame(frame, rows):
    X, y = rows
    table = frame({"size (mm)": X[:, 0]})
    model = sx.LinearDiscriminantAnalysis().fit(table, y)
    display = Display.from_estimator(model, table, y, title="Sizes")
    above, below = display.axes_
    assert (below.get_xlabel(), above.get_ylabel(), above.get_title()) == ("size (mm)", "density (per mm)", "Sizes")
    unnamed = sx.LinearDiscriminantAnalysis().fit(X, y)
    assert np.array_equal(display.posterior, Display.from_estimator(unnamed, X, y).posterior)


def test_rows_are_optional_and_axes_can_be_given(rows):
    X, y = rows
    axes = plt.subplots(2)[1]
    display = Display.from_estimator(sx.LinearDiscriminantAnalysis().fit(X, y), X, ax=axes)
    assert display.rows is None
    assert display.axes_ == tuple(axes)
    assert len(axes[0].get_lines()) == 3  # two densities and the boundary


def test_there_is_no_boundary_if_one_class_is_always_most_probable(rows):
    X, y = rows
    model = sx.LinearDiscriminantAnalysis(priors=[1 - 1e-12, 1e-12]).fit(X, y)
    assert len(Display.from_estimator(model, X).boundaries) == 0
