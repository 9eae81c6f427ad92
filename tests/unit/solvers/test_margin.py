import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.svm import SVC

from problems import separable
from separatrix.data import as_source
from separatrix.solvers.margin import novikoff, widest_margin


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), n=st.integers(4, 80), D=st.integers(1, 5), gap=st.sampled_from([0.02, 0.3, 3.0]))
def test_the_widest_margin_is_that_of_a_hard_support_vector_machine(seed, n, D, gap):
    X, y = separable(n, n_features=D, seed=seed, gap=gap)
    if y.min() == y.max():
        return
    found = widest_margin(as_source(X, y))
    attained = ((2 * y - 1) * (X @ found.w + found.w0)).min()
    assert attained == pytest.approx(found.margin, rel=1e-6)
    svm = SVC(kernel="linear", C=1e9, tol=1e-9).fit(X, y)
    assert found.margin >= (1 - 1e-5) / np.linalg.norm(svm.coef_)


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_two_points_have_the_plane_halfway(offset):
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


def test_thousands_of_rows_take_a_small_working_set():
    X, y = separable(5000, n_features=8, gap=0.1)
    assert widest_margin(as_source(X, y)).margin >= 0.1 - 1e-9
