import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import separatrix as sx
from problems import blobs
from separatrix.exceptions import DataError
from separatrix.geometry import LinearRegions, grid_predictions


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), K=st.integers(2, 6), D=st.integers(1, 4))
def test_regions_are_convex(seed, K, D):
    """PRML §4.1.2: a point between two points of R_k is in R_k."""
    rng = np.random.default_rng(seed)
    regions = LinearRegions(rng.normal(size=(K, D)), rng.normal(size=K))
    X = 3 * rng.normal(size=(200, D))
    winner = (X @ regions.coef.T + regions.intercept).argmax(axis=1)
    for k in np.unique(winner):
        inside = X[winner == k]
        a, b = rng.choice(inside, 50), rng.choice(inside, 50)
        assert regions.contains(k, a + rng.random((50, 1)) * (b - a)).all()


@settings(max_examples=20)
@given(seed=st.integers(0, 10_000), K=st.integers(2, 5))
def test_every_point_has_a_region_and_interior_points_are_inside(seed, K):
    rng = np.random.default_rng(seed)
    regions = LinearRegions(rng.normal(size=(K, 2)), rng.normal(size=K))
    X = 5 * rng.normal(size=(100, 2))
    assert np.column_stack([regions.contains(k, X) for k in range(K)]).any(axis=1).all()
    for k in range(K):
        point = regions.interior_point(k)
        assert (point is None) == regions.is_empty(k)
        if point is not None:
            a = regions.coef @ point + regions.intercept
            assert a.argmax() == k


def test_a_masked_class_has_an_empty_region():
    regions = LinearRegions([[1.0], [0.0], [-1.0]], [0.0, -1.0, 0.0])
    assert regions.is_empty(1)
    assert not regions.is_empty(0)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_regions_of_a_model_are_its_predictions(n_classes):
    X, y = blobs(100, n_classes=n_classes)
    model = sx.FisherDiscriminant().fit(X, y)
    regions = LinearRegions.of(model)
    assert all(regions.contains(k, X[n : n + 1])[0] for n, k in enumerate(model.predict(X)))
    with pytest.raises(DataError, match="basis functions"):
        LinearRegions.of(sx.FisherDiscriminant(basis=sx.basis.Polynomial(2)).fit(X, y))


@pytest.mark.parametrize("frame", [np.asarray, lambda X: pd.DataFrame(X, columns=["a", "b"]), pl.DataFrame])
def test_the_grid_holds_the_rows_and_repeats_the_predictions(frame):
    X, y = blobs(60, n_features=2)
    model = sx.LeastSquaresClassifier().fit(frame(X), y)
    grid = grid_predictions(model, frame(X), resolution=40)
    assert grid.codes.shape == (40, 40)
    assert grid.x[0] < X[:, 0].min() < X[:, 0].max() < grid.x[-1]
    here = [[grid.x[7], grid.y[31]]]
    bare = sx.LeastSquaresClassifier().fit(X, y)
    assert model.classes_[grid.codes[31, 7]] == bare.predict(here)[0]


def test_pictures_need_two_columns():
    X, y = blobs(60)
    with pytest.raises(DataError, match="two columns, but X has 4"):
        grid_predictions(sx.FisherDiscriminant().fit(X, y), X)
