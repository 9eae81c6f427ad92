"""Pairwise coupling against its definition, a general minimiser and the bordered system of the paper."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from separatrix.reductions import coupling
from separatrix.reductions.coupling import couple, pairs


def pairwise(P):
    """p_j / (p_i + p_j) for each pair (i, j): what consistent pairwise classifiers would say."""
    return np.column_stack([P[:, j] / (P[:, i] + P[:, j]) for i, j in pairs(P.shape[1])])


def matrix(r, K):
    """R_ij = probability of i against j."""
    R = np.zeros((K, K))
    for value, (i, j) in zip(r, pairs(K), strict=True):
        R[j, i], R[i, j] = value, 1 - value
    return R


def objective(p, R):
    """Σ_i Σ_{j≠i} (r_ji p_i - r_ij p_j)², term by term."""
    K = len(p)
    return sum((R[j, i] * p[i] - R[i, j] * p[j]) ** 2 for i in range(K) for j in range(K) if i != j)


@given(seed=st.integers(0, 2**32 - 1), K=st.integers(2, 8), spread=st.floats(0.1, 12))
@settings(max_examples=40)
def test_consistent_pairs_are_coupled_exactly(seed, K, spread):
    A = spread * np.random.default_rng(seed).normal(size=(5, K))
    P = np.exp(A - A.max(axis=1, keepdims=True))
    P /= P.sum(axis=1, keepdims=True)
    assert_allclose(couple(pairwise(P), K), P, rtol=1e-7, atol=1e-13)


@pytest.mark.parametrize("K", [3, 5])
def test_no_feasible_point_is_better_according_to_a_general_minimiser(K, rng):
    for r in rng.uniform(size=(4, K * (K - 1) // 2)):
        R = matrix(r, K)
        found = minimize(
            objective,
            np.full(K, 1 / K),
            args=(R,),
            method="SLSQP",
            bounds=[(0, 1)] * K,
            constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
            options={"ftol": 1e-14, "maxiter": 500},
        )
        assert_allclose(couple(r[None], K)[0], found.x, atol=1e-5)  # SLSQP's own accuracy


@pytest.mark.parametrize("K", [2, 3, 7])
def test_the_bordered_system_of_the_paper_has_the_same_solution(K, rng):
    r = rng.uniform(size=(20, K * (K - 1) // 2))
    for row, p in zip(r, couple(r, K), strict=True):
        R = matrix(row, K)
        Q = np.diag((R**2).sum(axis=0)) - R * R.T
        system = np.block([[Q, np.ones((K, 1))], [np.ones((1, K)), np.zeros((1, 1))]])
        assert_allclose(p, np.linalg.solve(system, np.append(np.zeros(K), 1))[:K], rtol=1e-9)


@pytest.mark.parametrize("K", [3, 4, 5])
def test_certain_pairs_of_every_kind_have_a_solution(K):
    """Zeros and ones, cycles included: the system is never singular, the answer a distribution."""
    outcomes = np.array(list(itertools.product([0.0, 1.0], repeat=K * (K - 1) // 2)))
    P = couple(outcomes, K)
    assert np.isfinite(P).all()
    assert (P >= 0).all()
    assert_allclose(P.sum(axis=1), 1)
    undefeated = np.array([[all(matrix(r, K)[i, j] for j in range(K) if j != i) for i in range(K)] for r in outcomes])
    assert_allclose(P[undefeated], 1)


def test_a_perfect_cycle_is_undecided():
    assert_allclose(couple(np.array([[1.0, 0.0, 1.0]]), 3), 1 / 3)


def test_blocks_do_not_change_the_answer(rng, monkeypatch):
    r = rng.uniform(size=(50, 6))
    whole = couple(r, 4)
    monkeypatch.setattr(coupling, "SYSTEM_NUMBERS", 7 * 4**2)
    np.testing.assert_array_equal(couple(r, 4), whole)


def test_no_rows_give_no_rows():
    assert couple(np.empty((0, 3)), 3).shape == (0, 3)
