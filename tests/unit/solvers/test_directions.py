"""Directions are compared with their definition: what they must satisfy, and that nothing does better."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

from rational import is_strictly_separable
from separatrix.solvers import directions
from separatrix.solvers.directions import InfeasibleError, Split, fewest_columns, largest_sum, some_gap, widest_gap


def problem(seed, n, P, separable):
    """Rows in [-1, 1] with a last column ±1, as two classes have them."""
    rng = np.random.default_rng(seed)
    Z = np.column_stack([rng.uniform(-1, 1, size=(n, P - 1)), np.ones(n)])
    side = np.sign(Z @ rng.normal(size=P)) if separable else rng.choice([-1.0, 1.0], n)
    return sparse.csr_array(Z * side[:, None]), Split(np.arange(P) < P - 1)


def can_be_separated(G):
    """The alternative of Gordan (1873): G b > 0, or else G'λ = 0 with λ >= 0, Σλ = 1; in rational numbers."""
    return is_strictly_separable(G.toarray())


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 30), P=st.integers(2, 6), separable=st.booleans())
def test_a_gap_is_found_exactly_where_gordan_says_there_is_one(seed, n, P, separable):
    G, split = problem(seed, n, P, separable)
    b = widest_gap(G, split, least=1e-9)
    assert (b is not None) == can_be_separated(G)
    if b is not None:
        assert (G @ b).min() > 0
        assert np.abs(b[:-1]).sum() <= 1 + 1e-9


@settings(max_examples=20)
@given(seed=st.integers(0, 10_000), n=st.integers(2, 20))
def test_no_direction_has_a_wider_gap(seed, n):
    G, split = problem(seed, n, 4, separable=True)
    best = (G @ widest_gap(G, split, least=1e-9)).min()
    others = np.random.default_rng(seed).normal(size=(2000, 4))
    others[:, :-1] /= np.abs(others[:, :-1]).sum(axis=1, keepdims=True)
    others[:, -1] = others[:, -1].clip(-1, 1)
    widest = (others @ G.toarray().T).min(axis=1).max()
    assert min(widest, 1.0) <= best + 1e-9  # beyond 1 lie only rows of a single class


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 60), separable=st.booleans())
def test_large_rows_take_the_short_way_to_the_same_answer(seed, n, separable):
    G, split = problem(seed, n, 5, separable)
    expected = widest_gap(G, split, 1e-9) is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(directions, "LARGE", 0)
        patch.setattr(directions, "ENOUGH", 0)  # no looking for more rows
        b = some_gap(G, split, 1e-9, exact=False)
        assert (b is not None) == expected
        if not expected:
            assert largest_sum(G, np.asarray(G.sum(axis=0)), 0.0, 1e-9, exact=False) is None


def test_the_largest_sum_and_the_fewest_columns():
    """Rows (1, 0, s), (-1, 0, s) and (0, 0, 1): b_0 must vanish, b_1 is free and useless, b_2 counts."""
    G = sparse.csr_array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    c = np.asarray(G.sum(axis=0))
    assert_allclose((G @ largest_sum(G, c, 0.0, 1e-9, exact=True)), [0, 0, 1], atol=1e-9)
    h = np.array([0.0, 0.0, 1.0])
    assert_allclose(fewest_columns(G, h, Split(np.ones(3, bool)), 0.0), [0, 0, 1], atol=1e-9)
    assert largest_sum(G[:2], c, 0.0, 1e-9, exact=True) is None


def test_split_parts_are_joined_again(rng):
    split, b = Split(np.array([True, True, False])), np.array([0.5, -0.25, -1.0])
    parts = np.array([0.5, 0.0, -1.0, 0.0, 0.25])
    assert_allclose(split.join(parts), b)
    G = sparse.csr_array(rng.normal(size=(4, 3)))
    assert_allclose(split.columns(G) @ parts, G @ b)
    assert split.length @ parts == 0.75


def test_margins_that_cannot_be_reached_name_no_columns_and_slack_may_reach_them():
    G, h = sparse.csr_array([[1.0], [-1.0]]), np.array([0.5, 0.0])
    assert fewest_columns(G, h, Split(np.ones(1, bool)), 0.0) is None
    assert_allclose(fewest_columns(G, h, Split(np.ones(1, bool)), 0.3), [0.2], atol=1e-9)


def test_of_a_column_and_its_complement_the_one_that_needs_no_intercept_is_named():
    x = np.array([1.0, 1.0, 0.0, 0.0])
    both = np.column_stack([1 - x, x, np.ones(4)])
    G = sparse.csr_array(np.vstack([both, -both[2:]]))  # the last rows have both labels
    b = fewest_columns(G, np.append(x, [0.0, 0.0]), Split(np.array([True, True, False])), 0.0)
    assert_allclose(b, [0, 1, 0], atol=1e-9)


def test_a_program_without_a_solution_is_an_error():
    with pytest.raises(InfeasibleError, match=r"HiGHS did not solve a linear program of shape \(2, 1\)"):
        directions._linear_program(np.ones(1), sparse.csr_array([[1.0], [-1.0]]), np.array([0.0, -1.0]), (-1.0, 1.0))
