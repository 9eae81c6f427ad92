import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from matplotlib.colors import to_rgb
from matplotlib.contour import QuadContourSet

import separatrix as sx
from problems import around_the_origin, blobs
from separatrix.geometry import grid_predictions
from separatrix.plots.boundary import blurred, margins
from separatrix.plots.drawing import COLOURS


def test_a_display_keeps_its_numbers_and_draws_names_and_rows():
    X, y = blobs(60, n_features=2)
    frame = pd.DataFrame(X, columns=["width", "height"])
    labels = np.array(["a", "b", "c"])[y]
    model = sx.FisherDiscriminant().fit(frame, labels)
    display = sx.plots.DecisionBoundaryDisplay.from_estimator(model, frame, labels, resolution=30, title="Fisher")
    assert display.grid.codes.shape == (30, 30)
    assert np.array_equal(display.points, X)
    assert np.array_equal(display.codes, y)
    ax = display.ax_
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("width", "height", "Fisher")
    assert ax.get_legend_handles_labels()[1] == ["a", "b", "c"]
    assert sum(len(c.get_offsets()) for c in ax.collections if len(c.get_offsets()) > 1) == 60
    assert len(repr(display)) < 120


def test_the_rejected_region_is_grey_and_has_a_legend_entry():
    X, y = around_the_origin()
    model = sx.OneVsRest(sx.LeastSquaresClassifier(), ambiguous="reject").fit(X, y)
    display = sx.plots.DecisionBoundaryDisplay.from_estimator(model, X, y, resolution=40)
    assert set(np.unique(display.grid.codes)) == {0, 1, 2, 3}
    handles, labels = display.ax_.get_legend_handles_labels()
    assert labels.count("rejected") == 1
    named = handles[labels.index("rejected")]
    hatched = [c for c in display.ax_.collections if isinstance(c, QuadContourSet) and set(c.hatches) != {None}]
    assert len(hatched) == 1
    display.figure_.canvas.draw()  # sets the colours
    assert to_rgb(hatched[0].get_facecolor()[0]) == to_rgb(named.get_facecolor()) == to_rgb("#999999")
    decided = sx.OneVsRest(sx.LeastSquaresClassifier()).fit(X, y)
    plain = sx.plots.DecisionBoundaryDisplay.from_estimator(decided, X, y, resolution=40)
    assert "rejected" not in plain.ax_.get_legend_handles_labels()[1]


def test_the_colours_of_the_regions_are_those_of_the_predictions():
    X, y = around_the_origin()
    model = sx.OneVsRest(sx.LeastSquaresClassifier(), ambiguous="reject").fit(X, y)
    display = sx.plots.DecisionBoundaryDisplay.from_estimator(model, X, resolution=40)
    display.figure_.canvas.draw()
    filled = [c for c in display.ax_.collections if isinstance(c, QuadContourSet) and c.filled]
    colours = [*map(to_rgb, COLOURS[:3]), to_rgb("#999999")]
    codes = {colours.index(to_rgb(c.get_facecolor()[0])): c for c in filled}
    for row, column in [(1, 1), (20, 5), (20, 35), (38, 38), (3, 20), (18, 18)]:
        at = (display.grid.x[column], display.grid.y[row])
        drawn = [k for k, area in codes.items() if area.get_paths()[0].contains_point(at)]
        assert drawn == [display.grid.codes[row, column]]


def test_no_boundary_is_drawn_if_one_class_is_predicted_everywhere():
    X, y = blobs(60, n_features=2, n_classes=2)
    model = sx.LeastSquaresClassifier().fit(X, y)
    model.coef_, model.intercept_ = np.zeros_like(model.coef_), np.ones(1)
    display = sx.plots.DecisionBoundaryDisplay.from_estimator(model, X, resolution=10)
    assert (display.grid.codes == 1).all()
    assert len(display.ax_.collections) == 1


def test_rows_may_come_from_a_stream_that_can_be_read_once():
    X, y = blobs(60, n_features=2)
    table = pa.table({"width": X[:, 0], "height": X[:, 1]})
    model = sx.FisherDiscriminant().fit(table, y)
    stream = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    display = sx.plots.DecisionBoundaryDisplay.from_estimator(model, stream, y, resolution=10)
    assert np.array_equal(display.points, X)
    assert display.columns == ("width", "height")


def test_classes_beyond_the_eighth_are_hatched():
    X, y = blobs(200, n_features=2, n_classes=12)
    model = sx.LinearDiscriminantAnalysis().fit(X, y)
    display = sx.plots.DecisionBoundaryDisplay.from_estimator(model, X, y, resolution=30)
    assert len(display.figure_.legends[0].get_texts()) == 12
    hatched = {h for c in display.ax_.collections if isinstance(c, QuadContourSet) for h in c.hatches if h}
    assert hatched == {"//"}


@pytest.mark.parametrize("response", ["regions", "probability", "uncertainty"])
def test_every_response_names_the_classes(response):
    X, y, model = bayesian(90, n_classes=3)
    draw = sx.plots.DecisionBoundaryDisplay.from_estimator
    (legend,) = draw(model, X, y, response=response, resolution=10).figure_.legends
    assert [text.get_text() for text in legend.get_texts()] == ["0", "1", "2"]
    if response != "uncertainty":  # without rows it shows no class
        (legend,) = draw(model, X, response=response, resolution=30).figure_.legends
        assert [text.get_text() for text in legend.get_texts()] == ["0", "1", "2"]
    ax = plt.subplots()[1]
    display = draw(model, X, response=response, resolution=10, ax=ax)
    assert display.ax_ is ax
    assert display.points is None
    assert display.figure_.legends == []


def test_the_boundary_of_a_linear_model_is_a_straight_line():
    X, y, model = bayesian()
    display = sx.plots.DecisionBoundaryDisplay.from_estimator(model, X, y, resolution=20)
    outlines = [c for c in display.ax_.collections if isinstance(c, QuadContourSet) and not c.filled]
    points = np.concatenate([path.vertices for line in outlines for path in line.get_paths()])
    assert len(points) > 10
    reach = np.abs(model.coef_[0]) @ (X.max(axis=0) - X.min(axis=0))
    assert np.abs(points @ model.coef_[0] + model.intercept_[0]).max() < 1e-9 * reach


def test_contours_that_would_merge_are_left_out():
    X, y = blobs(60, n_features=2, n_classes=2)
    drawn = []
    for steepness in (1.0, 200.0):
        model = sx.LogisticRegression().fit(X, y)
        model.coef_, model.intercept_ = steepness * model.coef_, steepness * model.intercept_
        display = sx.plots.DecisionBoundaryDisplay.from_estimator(model, X, y, response="probability", resolution=80)
        lines = [c for c in display.ax_.collections if isinstance(c, QuadContourSet) and 0.9 in c.levels]
        drawn.append(sum(len(path.vertices) for path in lines[-1].get_paths()))
    assert drawn[0] > 100
    assert drawn[1] == 0


def bayesian(n=60, n_classes=2):
    X, y = blobs(n, n_features=2, n_classes=n_classes)
    return X, y, sx.BayesianLogisticRegression(sx.Gaussian(scale=3.0)).fit(X, y)


def on_grid(display):
    return np.column_stack([axis.ravel() for axis in np.meshgrid(display.grid.x, display.grid.y)])


def test_drawn_probabilities_are_those_of_the_model():
    X, y, model = bayesian()
    display = sx.plots.DecisionBoundaryDisplay.from_estimator(model, X, y, response="probability", resolution=20)
    np.testing.assert_allclose(display.values.ravel(), model.predict_proba(on_grid(display))[:, 1])
    half = [c for c in display.ax_.collections if isinstance(c, QuadContourSet) and 0.5 in c.levels and not c.filled]
    labels = {text.get_text() for text in half[0].labelTexts}
    assert {"0.5", "0.9"} <= labels <= {"0.1", "0.3", "0.5", "0.7", "0.9"}
    assert display.figure_.axes[1].get_ylabel() == "p(1 | x)"


def test_three_classes_are_drawn_by_the_probability_of_the_most_probable():
    X, y, model = bayesian(90, n_classes=3)
    display = sx.plots.DecisionBoundaryDisplay.from_estimator(model, X, y, response="probability", resolution=15)
    P = model.predict_proba(on_grid(display))
    np.testing.assert_allclose(display.values.ravel(), P.max(axis=1))
    assert display.values.min() >= 1 / 3
    (image,) = display.ax_.images
    own = 1 - np.array([to_rgb(c) for c in COLOURS[:3]])[display.grid.codes]  # differences to white
    away = 1 - image.get_array()
    strength = np.linalg.norm(away, axis=-1) / np.linalg.norm(own, axis=-1)
    np.testing.assert_allclose(away, strength[..., None] * own, atol=1e-12)
    order = display.values.ravel().argsort()
    assert (np.diff(strength.ravel()[order]) >= -1e-12).all()


def test_uncertainty_is_the_width_of_the_interval_and_grows_away_from_the_rows():
    X, y, model = bayesian()
    display = sx.plots.DecisionBoundaryDisplay.from_estimator(model, X, y, response="uncertainty", resolution=25)
    low, high = model.predict_interval(on_grid(display)).T
    np.testing.assert_allclose(display.values.ravel(), high - low)
    halfway = np.abs(model.predict_proba(on_grid(display))[:, 1] - 0.5) < 0.1
    away = np.linalg.norm(on_grid(display) - X.mean(axis=0), axis=1)
    assert np.corrcoef(away[halfway], (high - low)[halfway])[0, 1] > 0.8
    of_three = bayesian(90, n_classes=3)
    widest = sx.plots.DecisionBoundaryDisplay.from_estimator(
        of_three[2], *of_three[:2], response="uncertainty", resolution=6
    )
    bounds = of_three[2].predict_interval(on_grid(widest))
    np.testing.assert_allclose(widest.values.ravel(), (bounds[..., 1] - bounds[..., 0]).max(axis=1))


def test_averaging_over_the_posterior_moves_every_contour_except_one_half():
    X, y, model = bayesian()
    before = model.predict_proba(X)
    mode, averaged = sx.plots.DecisionBoundaryDisplay.map_and_posterior(model, X, y, resolution=30)
    np.testing.assert_array_equal(mode.values > 0.5, averaged.values > 0.5)
    assert (np.abs(averaged.values - 0.5) < np.abs(mode.values - 0.5)).all()
    np.testing.assert_array_equal(model.predict_proba(X), before)  # the model is not changed
    assert model.predictive == "exact"
    assert mode.figure_ is averaged.figure_
    assert mode.ax_ is not averaged.ax_


MODELS = [
    sx.LinearDiscriminantAnalysis(),
    sx.QuadraticDiscriminantAnalysis(),
    sx.LogisticRegression(alpha=1.0),
    sx.NaiveBayes(),
    sx.LeastSquaresClassifier(),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_only_the_margin_of_the_predicted_class_is_positive(model, n_classes):
    X, y = blobs(90, n_features=2, n_classes=n_classes)
    fitted = model.fit(X, y)
    grid = grid_predictions(fitted, X, resolution=25)
    inside = margins(fitted, X, grid.codes, 25)
    assert inside.shape == (25, 25, n_classes + 1)
    np.testing.assert_array_equal(inside.argmax(axis=-1), grid.codes)
    assert (np.take_along_axis(inside, grid.codes[..., None], axis=-1) >= 0).all()
    assert ((inside > 0).sum(axis=-1) <= 1).all()


def test_the_outline_of_a_cost_sensitive_rule_follows_its_predictions():
    X, y = blobs(120, n_features=2, n_classes=2)
    rule = sx.DecisionRule(sx.LogisticRegression(alpha=1.0), costs=[[0.0, 1.0], [30.0, 0.0]]).fit(X, y)
    grid = grid_predictions(rule, X, resolution=40)
    inside = margins(rule, X, grid.codes, 40)
    np.testing.assert_array_equal(inside, blurred(grid.codes, 2))
    assert (inside.argmax(axis=-1) == grid.codes).mean() > 0.98  # except at corners
