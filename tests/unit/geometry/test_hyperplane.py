import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import separatrix as sx
from problems import STORAGES, blobs, separable
from separatrix.exceptions import DataError
from separatrix.geometry import Hyperplane, margin, radius


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), D=st.integers(1, 6))
def test_the_foot_lies_on_the_plane_and_the_way_to_it_is_the_distance(seed, D):
    rng = np.random.default_rng(seed)
    plane, X = Hyperplane(rng.normal(size=D), rng.normal()), rng.normal(size=(9, D))
    feet, r = plane.foot(X), plane.signed_distance(X)
    assert_allclose(feet @ plane.w + plane.w0, 0, atol=1e-9)  # on the plane
    assert_allclose(X - feet, np.outer(r, plane.normal), atol=1e-9)  # perpendicular to it: (4.6)
    assert_allclose(plane.signed_distance(np.zeros((1, D))), -plane.distance_from_origin, atol=1e-12)  # (4.5)


def test_the_length_of_w_does_not_matter(rng):
    X = rng.normal(size=(9, 3))
    w, w0 = rng.normal(size=3), 0.7
    assert_allclose(Hyperplane(1e3 * w, 1e3 * w0).signed_distance(X), Hyperplane(w, w0).signed_distance(X))


def test_the_plane_of_a_model():
    X, y = separable(50)
    model = sx.FisherDiscriminant().fit(X, y)
    plane = Hyperplane.of(model)
    assert np.array_equal(plane.side(X) > 0, model.predict(X) == 1)


def test_models_without_a_single_plane_in_x():
    X, y = blobs(60)
    with pytest.raises(DataError, match="3 classes has no single plane"):
        Hyperplane.of(sx.FisherDiscriminant().fit(X, y))
    with pytest.raises(DataError, match="basis functions"):
        Hyperplane.of(sx.FisherDiscriminant(basis=sx.basis.Polynomial(2)).fit(X, y == 0))


@pytest.mark.parametrize("w", [[0.0, 0.0], [np.nan, 1.0], [[1.0]]])
def test_directions_that_are_none(w):
    with pytest.raises(ValueError, match="not all zero"):
        Hyperplane(w, 0.0)


def test_margin_and_radius_from_their_definitions():
    X, y = separable(50)
    plane = Hyperplane.of(sx.FisherDiscriminant().fit(X, y))
    r = (X @ plane.w + plane.w0) / np.linalg.norm(plane.w)
    assert margin(plane, X, np.where(y, "yes", "no")) == pytest.approx(np.where(y, r, -r).min())
    with pytest.raises(DataError, match="between two classes"):
        margin(plane, X, np.arange(50) % 3)
    for storage in STORAGES.values():
        assert radius(storage(X)) == pytest.approx(np.linalg.norm(X, axis=1).max())
