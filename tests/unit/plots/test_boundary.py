import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from matplotlib.colors import to_rgb
from matplotlib.contour import QuadContourSet

import separatrix as sx
from problems import blobs
from separatrix.exceptions import DataError
from separatrix.plots.style import COLOURS


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_numbers_first_then_the_drawing():
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


def test_rows_are_optional_and_axes_can_be_given():
    X, y = blobs(60, n_features=2)
    _, ax = plt.subplots()
    display = sx.plots.DecisionBoundaryDisplay.from_estimator(sx.FisherDiscriminant().fit(X, y), X, ax=ax)
    assert display.ax_ is ax
    assert display.points is None


def around_the_origin():
    """Three classes that one-vs-rest leaves ambiguous in the middle."""
    rng, y = np.random.default_rng(0), np.repeat([0, 1, 2], 40)
    angle = 2 * np.pi * y / 3
    return 3 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.7 * rng.normal(size=(120, 2)), y


def test_a_rejected_region_is_grey_and_named():
    X, y = around_the_origin()
    model = sx.OneVsRest(sx.LeastSquaresClassifier(), ambiguous="reject").fit(X, y)
    display = sx.plots.DecisionBoundaryDisplay.from_estimator(model, X, y, resolution=40)
    assert set(np.unique(display.grid.codes)) == {0, 1, 2, 3}
    handles, labels = display.ax_.get_legend_handles_labels()
    assert labels.count("rejected") == 1
    named = handles[labels.index("rejected")]
    hatched = [c for c in display.ax_.collections if isinstance(c, QuadContourSet) and set(c.hatches) != {None}]
    assert len(hatched) == 1
    display.figure_.canvas.draw()  # colours are settled when drawn
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


def test_one_class_everywhere_has_no_boundary():
    X, y = blobs(60, n_features=2, n_classes=2)
    model = sx.LeastSquaresClassifier().fit(X, y)
    model.coef_, model.intercept_ = np.zeros_like(model.coef_), np.ones(1)
    display = sx.plots.DecisionBoundaryDisplay.from_estimator(model, X, resolution=10)
    assert (display.grid.codes == 1).all()
    assert len(display.ax_.collections) == 1


def test_labels_that_the_model_never_saw():
    X, y = blobs(60, n_features=2, n_classes=2)
    model = sx.FisherDiscriminant().fit(X, np.array(["b", "d"])[y])
    draw = sx.plots.DecisionBoundaryDisplay.from_estimator
    with pytest.raises(DataError, match="labels that the model never saw: 'c', 'a'. It knows 'b', 'd'"):
        draw(model, X[:4], ["b", "c", "d", "a"], resolution=10)
    with pytest.raises(DataError, match=r"X has 4 rows but y has shape \(3,\)"):
        draw(model, X[:4], ["b", "b", "d"], resolution=10)


def test_displays_print_and_compare_as_objects():
    X, y = blobs(60, n_features=2)
    model = sx.FisherDiscriminant().fit(X, y)
    one, two = (sx.plots.DecisionBoundaryDisplay.from_estimator(model, X, y, resolution=10) for _ in range(2))
    assert one != two
    assert one.grid != two.grid
    assert len(repr(one)) < 120


def test_a_stream_that_can_be_read_once():
    X, y = blobs(60, n_features=2)
    table = pa.table({"width": X[:, 0], "height": X[:, 1]})
    model = sx.FisherDiscriminant().fit(table, y)
    stream = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    display = sx.plots.DecisionBoundaryDisplay.from_estimator(model, stream, y, resolution=10)
    assert np.array_equal(display.points, X)
    assert display.columns == ("width", "height")


def test_more_classes_than_colours():
    X, y = blobs(200, n_features=2, n_classes=9)
    with pytest.raises(ValueError, match="9 classes; only 8"):
        sx.plots.DecisionBoundaryDisplay.from_estimator(sx.LeastSquaresClassifier().fit(X, y), X)
