"""The widest margin and Novikoff's bound: certified, attained, and the same in any units."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import linprog
from sklearn.svm import SVC

from problems import separable
from separatrix.rows import as_source
from separatrix.separation import novikoff, widest_margin


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e7])
def test_the_plane_of_two_points_is_halfway_between_them(offset):
    found = widest_margin(as_source(np.array([[1.0, 0.0], [4.0, 4.0]]) + offset, np.array([0, 1])))
    assert found.margin == pytest.approx(2.5)
    assert_allclose(found.w, [0.6, 0.8], rtol=1e-9)


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), n=st.integers(2, 60), intercept=st.booleans())
def test_no_direction_beats_the_margin_of_novikoff(seed, n, intercept):
    X, y = separable(n, seed=seed, gap=0.2)
    if y.min() == y.max():
        return
    t = 2.0 * y - 1
    found = novikoff(as_source(X, y), fit_intercept=intercept)
    Phi = np.column_stack([X, np.ones(n)]) if intercept else X
    assert found.radius == pytest.approx(np.linalg.norm(Phi, axis=1).max())
    assert found.bound == pytest.approx((found.radius / found.margin) ** 2)
    directions = np.random.default_rng(seed).normal(size=(500, Phi.shape[1]))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    assert (t[:, None] * (Phi @ directions.T)).min(axis=0).max() <= found.margin * (1 + 1e-9)


@settings(max_examples=30)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(2, 80),
    D=st.integers(1, 8),
    gap=st.sampled_from([0.02, 0.3, 3.0]),
    shift=st.sampled_from([0.0, 1e7]),
)
def test_the_margin_is_attained_and_is_that_of_a_hard_support_vector_machine(seed, n, D, gap, shift):
    X, y = separable(n, n_features=D, seed=seed, gap=gap)
    if y.min() == y.max():
        return
    found = widest_margin(as_source(X + shift, y))
    near = X + shift - shift  # round the rows as adding the shift does
    own = (2 * y - 1) * (near @ found.w + (found.w0 + shift * found.w.sum()))
    assert own.min() == pytest.approx(found.margin, rel=1e-9 if shift == 0 else 1e-6)
    assert found.bound == pytest.approx(found.margin, rel=1e-6)
    assert np.linalg.norm(found.w) == pytest.approx(1)
    assert found.margin >= gap * (1 - 1e-6)  # margin of the generating plane
    svm = SVC(kernel="linear", C=1e9, tol=1e-9).fit(near, y)
    assert found.margin >= (1 - 1e-5) / np.linalg.norm(svm.coef_)


def test_thousands_of_rows_take_a_few_passes():
    X, y = separable(5000, n_features=8, gap=0.1)
    found = widest_margin(as_source(X, y))
    assert found.margin >= 0.1 - 1e-9
    assert found.n_passes <= 30
    assert novikoff(as_source(X, y)).n_passes <= 30


def test_storage_does_not_matter_nor_do_rows_of_weight_zero():
    X, y = separable(60, gap=0.3)
    expected = widest_margin(as_source(X, y)).margin
    assert widest_margin(as_source(sparse.csr_array(X), y)).margin == pytest.approx(expected, rel=1e-9)
    assert widest_margin(as_source(X.astype(np.float32), y)).margin == pytest.approx(expected, rel=1e-5)
    X, y = np.vstack([X, 9 * X[:1]]), np.append(y, 1 - y[0])  # a long row on the wrong side
    source = as_source(X, y, np.append(np.ones(60), 0.0))
    assert widest_margin(source).margin == pytest.approx(expected, rel=1e-9)
    assert novikoff(source).radius == pytest.approx(np.hypot(np.linalg.norm(X[:60], axis=1).max(), 1))


@pytest.mark.parametrize(("a", "b"), [(0.0, 1.0), (1e3, 1e3 + 1), (-1e7 - 1, 3.0), (1e-8, 2e-8), (-1e9, 1e9)])
def test_novikoff_of_two_numbers(a, b):
    """The shortest vector from the origin to the line through -(a, 1) and (b, 1) has a closed form."""
    found = novikoff(as_source(np.array([[a], [b]]), np.array([0, 1])))
    along = np.array([a + b, 2.0])
    share = np.clip(np.array([a, 1.0]) @ along / (along @ along), 0, 1)  # the foot may lie beyond an end
    inside = 0 < share < 1
    expected = (b - a) / np.hypot(a + b, 2.0) if inside else min(np.hypot(a, 1.0), np.hypot(b, 1.0))
    assert found.margin == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("offset", [1e5, 3e5])
def test_novikoff_far_from_the_origin(offset):
    """As c grows along w, |w~| -> |w'c|, and a linear program has the answer: min |w'c| with t (w'z + v) >= 1."""
    X, y = blobs_apart()
    Z, c, t = X - X.mean(axis=0), X.mean(axis=0) + offset, 2.0 * y - 1
    A = np.column_stack([t[:, None] * np.column_stack([Z, np.ones(len(Z))]), np.zeros(len(Z))])
    size = np.append(c / np.linalg.norm(c), 0.0)
    rows = np.vstack([-A, np.append(size, -1.0), np.append(-size, -1.0)])
    program = linprog([0, 0, 0, 0, 1.0], rows, np.append(-np.ones(len(Z)), [0.0, 0.0]), bounds=(None, None))
    found = novikoff(as_source(X + offset, y))
    assert found.margin == pytest.approx(1 / program.fun / np.linalg.norm(c), rel=1e-6)


def test_a_distant_column_serves_novikoff_as_a_free_bias():
    X, y = blobs_apart()
    found = novikoff(as_source(X + np.array([1e6, 0.0, 0.0]), y))
    assert found.margin == pytest.approx(widest_margin(as_source(X[:, 1:], y)).margin, rel=1e-5)


@pytest.mark.parametrize("scale", [1e-8, 1e-3, 1e3, 1e8])
def test_units_change_neither_the_widest_margin_nor_novikoff_without_an_intercept(scale):
    X, y = separable(60)
    plain, scaled = widest_margin(as_source(X, y)), widest_margin(as_source(scale * X, y))
    assert scaled.margin == pytest.approx(scale * plain.margin)
    bounds = [novikoff(as_source(table, y), fit_intercept=False).bound for table in (X, scale * X)]
    assert bounds[1] == pytest.approx(bounds[0])
    assert np.isfinite(novikoff(as_source(scale * X, y)).bound)


def test_a_margin_that_does_not_exist_or_is_hidden_by_rounding_is_an_error():
    X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 0])
    for compute in widest_margin, novikoff:
        with pytest.raises(ArithmeticError, match="no plane separates the classes"):
            compute(as_source(X, y))
    with pytest.raises(ArithmeticError, match="Subtract the mean"):
        novikoff(as_source(np.array([[1e9], [1e9 + 1]]), np.array([0, 1])))


def blobs_apart():
    """Two normal classes at least four standard deviations apart."""
    rng, y = np.random.default_rng(0), np.repeat([0, 1], 40)
    return 0.5 * rng.normal(size=(80, 3)) + 3.0 * y[:, None], y
