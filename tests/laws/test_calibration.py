"""Laws of calibration: symmetry of the classes, order of the scores, weights as repeated rows, nested sets."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from separatrix.calibration.maps import METHODS, estimate_proportions, fit_map, log_odds, log_p, shifted_log_proba
from separatrix.calibration.sets import fit_ranks

pytestmark = pytest.mark.parametrize("method", METHODS)


@st.composite
def scored_rows(draw: Any, n_classes: tuple[int, int] = (2, 4)) -> tuple[Any, Any]:
    """Scores of any scale, some with probability zero, and classes that depend on them."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    K, n = draw(st.integers(*n_classes)), draw(st.integers(20, 60))
    y = np.append(np.arange(K), rng.integers(K, size=n - K))
    S = draw(st.sampled_from([0.1, 1.0, 50.0])) * (rng.normal(size=(n, K)) + np.eye(K)[y])
    if draw(st.booleans()):
        S = np.log(np.maximum(np.round(np.exp(log_p(S)), 1), 1e-300))
        S[S < -600] = -np.inf
    return S, y


@given(rows=scored_rows())
@settings(max_examples=15)
def test_probabilities_are_positive_and_sum_to_one(method: str, rows: tuple[Any, Any]) -> None:
    S, y = rows
    log_q = fit_map(method, S, y).log_proba(S)
    np.testing.assert_allclose(np.exp(log_q).sum(axis=1), 1.0, atol=1e-12)
    assert method == "none" or np.isfinite(log_q).all()


@given(rows=scored_rows(), shift=st.integers(-16, 16))
@settings(max_examples=15)
def test_permuted_classes_permute_the_answer_and_constants_do_not_matter(
    method: str, rows: tuple[Any, Any], shift: int
) -> None:
    S, y = rows
    order = np.roll(np.arange(S.shape[1]), 1)
    rank = np.argsort(order)
    expected = np.exp(fit_map(method, S, y).log_proba(S))
    found = np.exp(fit_map(method, S[:, order] + shift, rank[y]).log_proba(S[:, order] - shift))
    np.testing.assert_allclose(found, expected[:, order], atol=2e-5)  # the solver's tolerance


@given(rows=scored_rows(), seed=st.integers(0, 99))
@settings(max_examples=15)
def test_a_weight_counts_as_repeated_rows(method: str, rows: tuple[Any, Any], seed: int) -> None:
    S, y = rows
    k = np.random.default_rng(seed).integers(3, size=len(y))
    k[0] = 1
    weighted, repeated = fit_map(method, S, y, k.astype(float)), fit_map(method, S.repeat(k, axis=0), y.repeat(k))
    np.testing.assert_allclose(np.exp(weighted.log_proba(S)), np.exp(repeated.log_proba(S)), atol=2e-5)


@given(rows=scored_rows((2, 2)))
@settings(max_examples=15)
def test_maps_of_two_classes_keep_the_order_of_the_scores(method: str, rows: tuple[Any, Any]) -> None:
    S, y = rows
    if method == "dirichlet":  # a full matrix may change the order
        return
    order = np.argsort(log_odds(log_p(S))[:, 1], kind="stable")
    assert (np.diff(np.exp(fit_map(method, S, y).log_proba(S)[order, 1])) >= -1e-9).all()


@given(rows=scored_rows(), seed=st.integers(0, 99))
@settings(max_examples=15)
def test_new_proportions_have_an_inverse_and_a_fixed_point(method: str, rows: tuple[Any, Any], seed: int) -> None:
    S, y = rows
    K = S.shape[1]
    old, new = np.random.default_rng(seed).dirichlet(np.full(K, 5.0), size=2)
    log_q = fit_map(method, S, y).log_proba(S)
    there = shifted_log_proba(log_q, old, new)
    np.testing.assert_allclose(np.exp(shifted_log_proba(there, new, old)), np.exp(log_q), atol=1e-10)
    found = estimate_proportions(np.exp(log_q), old)
    np.testing.assert_allclose(np.exp(shifted_log_proba(log_q, old, found)).mean(axis=0), found, atol=1e-7)


@given(rows=scored_rows(), levels=st.tuples(st.floats(0, 1), st.floats(0, 1)))
@settings(max_examples=15)
def test_sets_grow_with_the_level_and_depend_on_the_order_only(
    method: str, rows: tuple[Any, Any], levels: tuple[float, float]
) -> None:
    S, y = rows
    A = log_odds(log_p(S))
    low, high = sorted(levels)
    for k, ranks in enumerate(fit_ranks(A, y, np.ones(len(y)))):
        few, many = ranks.contain(A[:, k], low), ranks.contain(A[:, k], high)
        assert (many | ~few).all()
        n = (y == k).sum()
        assert ranks.contain(A[y == k, k], high).mean() >= high - 1 / (n + 1) - 1e-9
        assert not few.any() or low > 0
    cubes = fit_ranks(np.cbrt(S), y, np.ones(len(y)))
    for k, ranks in enumerate(fit_ranks(S, y, np.full(len(y), 7.0))):  # equal weights do not count
        np.testing.assert_array_equal(ranks.contain(S[:, k], high), cubes[k].contain(np.cbrt(S[:, k]), high))
