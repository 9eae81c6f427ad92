import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.svm import SVC

from problems import separable
from separatrix.data import as_source
from separatrix.solvers.margin import novikoff, widest_margin


def two_classes(n, D, seed, gap):
    X, y = separable(n, n_features=D, seed=seed, gap=gap)
    y[0] = 1 - y[1:].max() if y.min() == y.max() else y[0]
    return X, y


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), n=st.integers(4, 80), D=st.integers(1, 8), gap=st.sampled_from([0.02, 0.3, 3.0]))
def test_the_widest_margin_is_that_of_a_hard_support_vector_machine(seed, n, D, gap):
    X, y = separable(n, n_features=D, seed=seed, gap=gap)
    if y.min() == y.max():
        return
    found = widest_margin(as_source(X, y))
    svm = SVC(kernel="linear", C=1e8, tol=1e-10).fit(X, y)
    assert found.margin == pytest.approx(1 / np.linalg.norm(svm.coef_), rel=1e-4)  # libsvm's accuracy
    assert found.margin >= (1 - 1e-5) * np.where(y == 1, 1, -1).dot(0) + 0  # never negative
    assert_allclose(found.w, svm.coef_[0] * found.margin, atol=1e-2)


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), n=st.integers(2, 80), D=st.integers(1, 8), shift=st.sampled_from([0.0, 1e7]))
def test_the_margin_is_attained_and_cannot_be_exceeded(seed, n, D, shift):
    X, y = separable(n, n_features=D, seed=seed, gap=0.1)
    if y.min() == y.max():
        return
    found = widest_margin(as_source(X + shift, y))
    centred = X + shift - shift  # as rounded by the shift
    own = np.where(y == 1, 1, -1) * (centred @ found.w + (found.w0 + shift * found.w.sum()))
    assert own.min() == pytest.approx(found.margin, rel=1e-6 if shift == 0 else 1e-5)
    assert found.margin <= found.bound * (1 + 1e-12)
    assert found.bound == pytest.approx(found.margin, rel=1e-6)
    assert np.linalg.norm(found.w) == pytest.approx(1)
    assert found.margin >= 0.1 * (1 - 1e-9)  # the plane that made the rows has this margin


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e9])
@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_two_points_have_the_plane_halfway(offset, unit):
    rows = (np.array([[1.0, 0.0], [4.0, 4.0]]) + offset) * unit
    found = widest_margin(as_source(rows, np.array([0, 1])))
    assert found.margin == pytest.approx(2.5 * unit, rel=1e-6)
    assert_allclose(found.w, [0.6, 0.8], rtol=1e-6)
    assert_allclose(rows.mean(axis=0) @ found.w + found.w0, 0, atol=1e-6 * offset * unit + 1e-9 * unit)


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), n=st.integers(2, 60), intercept=st.booleans())
def test_no_direction_beats_the_margin_of_novikoff(seed, n, intercept):
    X, y = separable(n, seed=seed, gap=0.2)
    if y.min() == y.max():
        return
    t = 2.0 * y - 1
    try:
        found = novikoff(as_source(X, y), fit_intercept=intercept)
    except ArithmeticError:
        assert not intercept
        return
    Phi = np.column_stack([X, np.ones(n)]) if intercept else X
    assert found.radius == pytest.approx(np.linalg.norm(Phi, axis=1).max())
    assert found.bound == pytest.approx((found.radius / found.margin) ** 2)
    directions = np.random.default_rng(seed).normal(size=(500, Phi.shape[1]))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    assert (t[:, None] * (Phi @ directions.T)).min(axis=0).max() <= found.margin * (1 + 1e-9)


def test_the_margin_of_novikoff_in_closed_form():
    """Rows ±a on a line: φ~ = (a, 1) and -(−a, 1) = (a, -1); the nearest point to the origin is (a, 0)."""
    found = novikoff(as_source(np.array([[-3.0], [3.0]]), np.array([0, 1])))
    assert found.margin == pytest.approx(3)
    assert found.bound == pytest.approx(10 / 9)
    bare = novikoff(as_source(np.array([[-3.0], [4.0]]), np.array([0, 1])), fit_intercept=False)
    assert (bare.margin, bare.radius) == pytest.approx((3, 4))


def test_thousands_of_rows_take_a_few_passes():
    X, y = separable(5000, n_features=8, gap=0.1)
    found = widest_margin(as_source(X, y))
    assert found.margin >= 0.1 * (1 - 1e-9)
    assert found.n_passes <= 30
    assert novikoff(as_source(X, y)).n_passes <= 30


def test_storage_and_rows_of_weight_zero():
    X, y = separable(60, gap=0.3)
    expected = widest_margin(as_source(X, y)).margin
    assert widest_margin(as_source(sparse.csr_array(X), y)).margin == pytest.approx(expected, rel=1e-9)
    assert widest_margin(as_source(X.astype(np.float32), y)).margin == pytest.approx(expected, rel=1e-5)
    X, y = np.vstack([X, X[:1]]), np.append(y, 1 - y[0])  # one row with both labels
    weight = np.append(np.ones(60), 0.0)
    assert widest_margin(as_source(X, y, weight)).margin == pytest.approx(expected, rel=1e-9)
    assert novikoff(as_source(100 * X, y, weight)).radius == pytest.approx(
        np.hypot(100 * np.linalg.norm(X[:60], axis=1).max(), 1)
    )


@pytest.mark.parametrize("rows", [[[0.0], [1.0], [2.0], [3.0]], [[0.0], [1.0], [1.0], [2.0]]])
def test_classes_without_a_gap_are_refused(rows):
    t = np.array([0, 1, 0, 1]) if rows[2] != rows[1] else np.array([0, 0, 1, 1])
    with pytest.raises(ArithmeticError, match="the classes cannot be separated"):
        widest_margin(as_source(np.array(rows), t))
    with pytest.raises(ArithmeticError, match="the classes cannot be separated"):
        novikoff(as_source(np.array(rows), t))
