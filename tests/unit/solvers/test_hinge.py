"""Directions and proofs are checked in rational numbers, and what they cost where columns are collinear is counted."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import minimize_scalar, nnls

from rational import is_strictly_separable, status
from separatrix.solvers import hinge
from separatrix.solvers.hinge import UndecidedError, gap_or_proof, leaves_only_zero, nearest_in_cone, squared_hinge

LEAST = 1e-9
seeds = st.integers(0, 10_000)


def rows(seed, n, P, separable):
    """Rows in [-1, 1] with a last column ±1, as two classes have them."""
    rng = np.random.default_rng(seed)
    Z = np.column_stack([rng.uniform(-1, 1, size=(n, P - 1)), np.ones(n)])
    side = np.sign(Z @ rng.normal(size=P)) if separable else rng.choice([-1.0, 1.0], n)
    return Z * side[:, None]


def few_values(seed, n, P):
    """Rows of few values, many of them alike, where all three answers are common."""
    rng = np.random.default_rng(seed)
    Z = rng.integers(-1, 2, size=(n, P)).astype(float)
    a = Z @ rng.integers(-1, 2, size=P)
    return Z * np.where(a == 0, rng.choice([-1.0, 1.0], n), np.sign(a))[:, None]


def bumps(n_centres, width, *, shift, n=200):
    """Two clouds through wide radial functions: columns that agree to many digits."""
    rng = np.random.default_rng(0)
    t = rng.integers(0, 2, n)
    x = rng.normal(size=(n, 2)) + np.where(t == 1, shift, -shift)[:, None]
    square = ((x[:, None] - x[None, :n_centres]) ** 2).sum(axis=-1)
    Z = np.column_stack([np.exp(-0.5 * square / width**2), np.ones(n)])
    return Z * np.where(t == 1, 1.0, -1.0)[:, None]


@settings(max_examples=40)
@given(seed=seeds, n=st.integers(1, 40), P=st.integers(2, 6), separable=st.booleans())
def test_each_ends_with_a_direction_or_with_a_proof(seed, n, P, separable):
    G = rows(seed, n, P, separable)
    expected = is_strictly_separable(G)
    for b, r in (squared_hinge(sparse.csr_array(G)), gap_or_proof(G, LEAST)):
        if expected:
            assert (G @ b).min() > 0
            assert r.max() < 1
        else:
            assert np.abs(G.T @ r).sum() <= LEAST * r.sum()
            assert r.min() >= 0


@settings(max_examples=80)
@given(seed=seeds, n=st.integers(1, 14), P=st.integers(1, 5))
def test_a_direction_in_the_cone_is_found_exactly_where_stiemke_says_there_is_one(seed, n, P):
    G = few_values(seed, n, P)
    b = nearest_in_cone(G, G.mean(axis=0), LEAST)
    assert (b is None) == (status(G) == "overlapping")
    if b is not None:
        assert (G @ b).min() >= -1e-8 * (G @ b).max()
        assert (G @ b).max() > 1e-3


@settings(max_examples=30)
@given(seed=seeds, n=st.integers(1, 12), P=st.integers(2, 5))
def test_it_is_the_point_of_the_cone_that_is_nearest(seed, n, P):
    """By the definition of a projection: b = c + G'λ with λ >= 0, which nonnegative least squares finds otherwise."""
    G = rows(seed, n, P, separable=True)
    c = G.mean(axis=0)
    b, nearest = nearest_in_cone(G, c, LEAST), c + G.T @ nnls(G.T, -c)[0]
    assert_allclose(b, nearest / np.linalg.norm(nearest), atol=1e-6)


@pytest.mark.parametrize(("n_centres", "width", "shift"), [(100, 1, 0.5), (100, 3, 0.5), (100, 100, 0.5), (60, 3, 1.5)])
def test_collinear_columns_are_decided_after_few_steps(n_centres, width, shift, monkeypatch):
    """On these the simplex method takes tens of thousands of steps and does not end."""
    G = bumps(n_centres, width, shift=shift)
    assert np.linalg.cond(G) > 1e12
    steps = []
    solve = hinge._solve
    monkeypatch.setattr(hinge, "_solve", lambda *args: steps.append(1) or solve(*args))
    b, r = gap_or_proof(G, LEAST)
    if shift > 1:
        assert (G @ b).min() >= LEAST * np.linalg.norm(b)
    else:
        assert np.linalg.norm(G.T @ r) <= LEAST * r.sum()
    assert len(steps) < 300


def test_what_is_within_rounding_has_a_proof_for_its_tolerance_and_is_undecided_for_a_finer_one():
    G = np.array([[1.0, 1e-13], [-1.0, 1e-13], [0.5, -1e-13]])
    assert np.linalg.norm(G.T @ gap_or_proof(G, LEAST).r) <= LEAST
    with pytest.raises(UndecidedError, match="3 rows have no gap of 1.0e-20, and no proof of that"):
        gap_or_proof(G, 1e-20)


def test_rows_that_may_or_may_not_overlap_are_undecided():
    """Here all but a few millionths of the rows' move are ruled out, and no direction does the rest."""
    G = bumps(76, 1, shift=0.5)
    with pytest.raises(UndecidedError, match="200 rows move together by .*e-06 or less, but no direction does it"):
        nearest_in_cone(G, G.mean(axis=0), LEAST)


def test_time_that_is_up_is_undecided_and_no_time_is_no_limit():
    G = rows(0, 30, 4, separable=True)
    for attempt in (squared_hinge, lambda G, until: gap_or_proof(G, LEAST, until=until)):
        with pytest.raises(UndecidedError, match="time allowed was up .* 30 rows"):
            attempt(G, until=0.0)
    with pytest.raises(UndecidedError, match="time"):
        nearest_in_cone(G, G.mean(axis=0), LEAST, until=0.0)


@settings(max_examples=40)
@given(seed=seeds, n=st.integers(1, 20))
def test_the_line_search_ends_at_the_minimum(seed, n):
    rng = np.random.default_rng(seed)
    left, change = rng.normal(size=(2, n))
    curvature = rng.uniform(0.01, 1)
    slope = float(np.maximum(0, left) @ change) - rng.uniform(0.01, 1)  # downhill from 0

    def value(h):
        return 0.5 * (np.maximum(0, left - h * change) ** 2).sum() + slope * h + 0.5 * curvature * h * h

    h = hinge._lowest(left, change, slope, curvature)
    assert h > 0
    assert value(h) <= minimize_scalar(value, bounds=(0, 2 * h + 10), method="bounded").fun + 1e-9


def test_the_squared_hinge_through_rows_and_through_columns_is_the_same(rng):
    G = rng.uniform(-1, 1, size=(6, 40))
    assert_allclose(hinge._ridge(G, 1e-3), np.linalg.solve(G.T @ G + 1e-3 * np.eye(40), G.T @ np.ones(6)))
    wide, tall = hinge._ridge(sparse.csr_array(G), 1e-3), hinge._ridge(G.T[:, :3], 1e-3)
    assert_allclose(wide, hinge._ridge(G, 1e-3))
    assert_allclose(tall, np.linalg.solve(G[:3] @ G[:3].T + 1e-3 * np.eye(3), G[:3] @ np.ones(40)))


def test_rows_that_leave_only_zero():
    """Three rows that surround the origin, and then a line of them, which leaves its normal."""
    around = sparse.csr_array([[1.0, 0.0], [-0.5, 0.8], [-0.5, -0.8]])
    assert leaves_only_zero(around, squared_hinge(around).r, LEAST)
    along = sparse.csr_array([[1.0, 0.0], [-1.0, 0.0], [0.5, 0.0]])
    assert not leaves_only_zero(along, squared_hinge(along).r, LEAST)


def test_a_singular_gram_is_solved_with_a_ridge_that_rounding_leaves_alone():
    gram = np.ones((300, 300))
    x = hinge._solve(gram, np.full(300, 1e-30), np.ones(300))
    assert_allclose(gram @ x, 1, rtol=1e-6)
