import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.svm import SVC

import separatrix as sx
from problems import STORAGES, separable
from separatrix.geometry import Hyperplane, margin, nearest_rows, radius


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), D=st.integers(1, 6))
def test_the_foot_lies_on_the_plane_and_the_way_to_it_is_the_distance(seed, D):
    rng = np.random.default_rng(seed)
    plane, X = Hyperplane(rng.normal(size=D), rng.normal()), rng.normal(size=(9, D))
    feet, r = plane.foot(X), plane.signed_distance(X)
    assert_allclose(feet @ plane.w + plane.w0, 0, atol=1e-9)  # on the plane
    assert_allclose(X - feet, np.outer(r, plane.normal), atol=1e-9)  # perpendicular to it: (4.6)
    assert_allclose(plane.signed_distance(np.zeros((1, D))), -plane.distance_from_origin, atol=1e-12)  # (4.5)


def test_the_plane_of_a_model():
    X, y = separable(50)
    model = sx.FisherDiscriminant().fit(X, y)
    plane = Hyperplane.of(model)
    assert np.array_equal(plane.side(X) > 0, model.predict(X) == 1)


@pytest.mark.parametrize("size", [1e-320, 1e-200, 1.0, 1e200, 1e307])
def test_the_size_of_w_neither_overflows_nor_vanishes(size):
    plane = Hyperplane([3 * size, 4 * size], -10 * size)
    assert plane.distance_from_origin == pytest.approx(2.0, rel=1e-3 if size < 1e-307 else 1e-12)
    assert_allclose(plane.signed_distance([[3.0, 4.0]]), [3.0], rtol=1e-3 if size < 1e-307 else 1e-12)


def test_a_plane_cannot_be_changed():
    plane = Hyperplane([1.0, 0.0], 2)
    assert repr(plane) == "Hyperplane(w=array([1., 0.]), w0=2.0)"
    with pytest.raises(ValueError, match="read-only"):
        plane.w[0] = 7.0


def test_margin_and_radius_from_their_definitions():
    X, y = separable(50)
    plane = Hyperplane.of(sx.FisherDiscriminant().fit(X, y))
    r = (X @ plane.w + plane.w0) / np.linalg.norm(plane.w)
    assert margin(plane, X, np.where(y, "yes", "no")) == pytest.approx(np.where(y, r, -r).min())
    for storage in STORAGES.values():
        assert radius(storage(X)) == pytest.approx(np.linalg.norm(X, axis=1).max())
    assert radius(np.array([[3e30, 4e30]], dtype=np.float32)) == pytest.approx(5e30)


@pytest.mark.parametrize("size", [0.0, 1e-300, 1e-20, 1.0, 1e20, 1e300])
@pytest.mark.parametrize("storage", ["c_order", "csr"])
def test_the_radius_of_very_long_and_very_short_rows(size, storage):
    assert radius(STORAGES[storage](size * np.array([[3.0, 4.0], [1.0, -1.0]]))) == pytest.approx(5 * size)


def test_the_rows_nearest_to_the_widest_plane_are_the_support_vectors_of_a_hard_machine():
    X, y = separable(50)
    widest = sx.is_separable(X, y).widest
    plane = Hyperplane(widest.w, widest.w0)
    assert set(nearest_rows(plane, X, y)) == set(SVC(kernel="linear", C=1e9).fit(X, y).support_)
