import numpy as np
import pandas as pd
import polars as pl
import pytest

import separatrix as sx
from problems import around_the_origin, blobs
from separatrix.geometry import LinearRegions, grid_predictions
from separatrix.geometry.regions import grid_values

SCALES_AND_OFFSETS = [(1e-6, 0.0), (1e-4, 0.0), (1e6, 0.0), (1.0, 1e4), (1.0, 1e7), (1e-3, -1e4), (1e6, 1e7)]


@pytest.mark.parametrize(("scale", "offset"), SCALES_AND_OFFSETS)
def test_three_classes_on_a_line_in_any_units(scale, offset):
    """Least squares masks the middle class of three on a line (PRML §4.1.3); Fisher does not."""
    y = np.repeat([0, 1, 2], 20)
    X = scale * (np.array([-3.0, 0.0, 3.0])[y] + np.tile(np.linspace(-0.5, 0.5, 20), 3))[:, None] + offset
    fisher = LinearRegions.of(sx.FisherDiscriminant().fit(X, y))
    assert [fisher.is_empty(k) for k in range(3)] == [False, False, False]
    assert [fisher.is_empty(k, within=X) for k in range(3)] == [False, False, False]
    assert X[y == 1].min() - scale <= fisher.interior_point(1)[0] <= X[y == 1].max() + scale
    squares = LinearRegions.of(sx.LeastSquaresClassifier().fit(X, y))
    assert [squares.is_empty(k) for k in range(3)] == [False, True, False]


def test_a_region_may_be_empty_only_within_the_rows():
    regions = LinearRegions([[0.0, 1.0], [0.0, -1.0], [1.0, 0.0]], [0.0, 0.0, -50.0])
    rows = [[-1.0, -1.0], [1.0, 1.0]]
    assert not regions.is_empty(2)
    assert regions.is_empty(2, within=rows)
    assert not regions.is_empty(2, within=[*rows, [60.0, 0.0]])
    point = regions.interior_point(0, within=rows)
    assert point is not None
    assert np.abs(point).max() <= 1


def test_a_region_between_two_equal_planes_is_empty():
    assert LinearRegions([[1.0, 0.0], [0.0, 0.0], [-1.0, 0.0]], [-1e7, 0.0, 1e7]).is_empty(1)
    same = LinearRegions([[1.0], [1.0], [0.0]], [0.0, 1.0, 0.0])  # class 1 is ahead of class 0 by 1 everywhere
    assert [same.is_empty(k) for k in range(3)] == [True, False, False]
    assert not LinearRegions([[1.0], [1.0]], [0.0, 0.0]).is_empty(0)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_regions_of_a_model_are_its_predictions(n_classes):
    X, y = blobs(100, n_classes=n_classes)
    model = sx.FisherDiscriminant().fit(X, y)
    regions = LinearRegions.of(model)
    assert all(regions.contains(k, X[n : n + 1])[0] for n, k in enumerate(model.predict(X)))


@pytest.mark.parametrize("frame", [np.asarray, lambda X: pd.DataFrame(X, columns=["a", "b"]), pl.DataFrame])
def test_the_grid_covers_the_rows_and_has_the_predictions_of_the_model(frame):
    X, y = blobs(60, n_features=2)
    model = sx.LeastSquaresClassifier().fit(frame(X), y)
    grid = grid_predictions(model, frame(X), resolution=40)
    assert grid.codes.shape == (40, 40)
    assert grid.x[0] < X[:, 0].min() < X[:, 0].max() < grid.x[-1]
    here = [[grid.x[7], grid.y[31]]]
    bare = sx.LeastSquaresClassifier().fit(X, y)
    assert model.classes_[grid.codes[31, 7]] == bare.predict(here)[0]


def test_rejected_points_have_a_code_of_their_own():
    X, y = around_the_origin()
    labels = np.array(["a", "b", "c"])[y]
    for model in (
        sx.OneVsRest(sx.LeastSquaresClassifier(), ambiguous="reject"),
        sx.OneVsRest(sx.LeastSquaresClassifier(), ambiguous="reject", reject_label="because"),  # amid the classes
        sx.OneVsRest(sx.LeastSquaresClassifier(), ambiguous="reject", reject_label=0),
    ):
        model.fit(X, labels)
        grid = grid_predictions(model, X, resolution=30)
        points = np.column_stack([axis.ravel() for axis in np.meshgrid(grid.x, grid.y)])
        said, ambiguous = model.predict(points), model.is_ambiguous(points)
        assert 0 < ambiguous.sum() < 900
        assert np.array_equal(grid.codes.ravel() == 3, ambiguous)
        assert np.array_equal(model.classes_[grid.codes.ravel()[~ambiguous]], said[~ambiguous])


def test_a_function_on_a_grid_gets_named_columns_and_may_return_several_values(rng):
    table = pd.DataFrame(rng.normal(size=(20, 2)), columns=["width", "height"])

    def both(points):
        assert list(points.columns) == ["width", "height"]
        return points.to_numpy()

    at = grid_values(both, table, resolution=7, margin=0.5)
    assert at.values.shape == (7, 7, 2)
    np.testing.assert_allclose(at.values[2, 5], [at.x[5], at.y[2]])
    low, high = table.min().to_numpy(), table.max().to_numpy()
    np.testing.assert_allclose([at.x[0], at.y[-1]], [low[0] - 0.5 * (high - low)[0], high[1] + 0.5 * (high - low)[1]])
