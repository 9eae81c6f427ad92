import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import separatrix as sx
from problems import blobs


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


def test_more_classes_than_colours():
    X, y = blobs(200, n_features=2, n_classes=9)
    with pytest.raises(ValueError, match="9 classes; only 8"):
        sx.plots.DecisionBoundaryDisplay.from_estimator(sx.LeastSquaresClassifier().fit(X, y), X)
