"""Laws of separability: agreement with rational arithmetic, Cover's theorem, and invariance."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import rational
from separatrix.rows import as_source
from separatrix.separation import directions, separability

seeds = st.integers(0, 2**32 - 1)


@st.composite
def tables(draw):
    """Small tables for which all three statuses are common; some labels come from random hyperplanes."""
    rng = np.random.default_rng(draw(seeds))
    K, M = draw(st.sampled_from([2, 3])), draw(st.integers(1, 4))
    n = draw(st.integers(K, 16))
    values = draw(st.sampled_from(["dummies", "counts", "real"]))
    X = {"dummies": rng.integers(0, 2, (n, M)), "counts": rng.integers(-3, 4, (n, M)), "real": rng.normal(size=(n, M))}
    t = np.append(np.arange(K), rng.integers(0, K, n - K))
    if draw(st.booleans()):
        t = (np.column_stack([X[values], np.ones(n)]) @ rng.integers(-2, 3, (M + 1, K))).argmax(axis=1)
    classes, t = np.unique(t, return_inverse=True)
    assume(len(classes) > 1)
    return X[values].astype(float), t, len(classes)


STRATEGIES = {
    "programs": {},
    "the hinge first": {"MAX_PROGRAM_ENTRIES": 0},
    "programs that never end": {"MAX_STEPS_PER_SIDE": 0},
}


@pytest.mark.slow
@settings(max_examples=150)
@given(table=tables(), fit_intercept=st.booleans(), strategy=st.sampled_from(list(STRATEGIES)))
def test_the_status_is_that_of_rational_arithmetic(table, fit_intercept, strategy):
    X, t, K = table
    with pytest.MonkeyPatch.context() as patch:
        for name, value in STRATEGIES[strategy].items():
            patch.setattr(directions, name, value)
        found = separability(as_source(X, t), K, fit_intercept=fit_intercept)
    assert found.status == rational.status(rational.differences(X, t, K, fit_intercept=fit_intercept))


@settings(max_examples=30)
@given(
    table=tables(),
    powers=st.lists(st.integers(-20, 20), min_size=4, max_size=4),
    shift=st.sampled_from([0.0, -3.0, 1024.0, 1e7]),
)
def test_units_and_origin_do_not_change_the_status(table, powers, shift):
    X, t, K = table
    units = 2.0 ** np.array(powers[: X.shape[1]])  # powers of two are exact
    assert separability(as_source((X + shift) * units, t), K).status == separability(as_source(X, t), K).status


@pytest.mark.slow
@settings(max_examples=40)
@given(table=tables(), seed=seeds)
def test_order_copies_weights_and_names_of_classes_do_not_change_the_status(table, seed):
    X, t, K = table
    rng = np.random.default_rng(seed)
    status = separability(as_source(X, t), K).status
    order = rng.integers(0, len(t), 3 * len(t))  # repeat some rows, ...
    order = np.append(order, rng.permutation(len(t)))  # ... and include every row once
    assert separability(as_source(X[order], t[order]), K).status == status
    assert separability(as_source(X, t, rng.uniform(0.1, 10, len(t))), K).status == status
    assert separability(as_source(X, rng.permutation(K)[t]), K).status == status
    assert separability(as_source(X[:, rng.permutation(X.shape[1])], t), K).status == status


@settings(max_examples=20)
@given(table=tables(), seed=seeds)
def test_an_additional_column_never_makes_classes_less_separable(table, seed):
    X, t, K = table
    rank = ["overlapping", "quasi-complete", "complete"].index
    before = separability(as_source(X, t), K).status
    copy = X[:, :1]
    assert separability(as_source(np.column_stack([X, copy]), t), K).status == before
    more = np.column_stack([X, np.random.default_rng(seed).normal(size=len(t))])
    assert rank(separability(as_source(more, t), K).status) >= rank(before)


@settings(max_examples=20)
@given(seed=seeds, M=st.integers(1, 12), K=st.integers(2, 4))
def test_cover_few_rows_in_general_position_are_always_separable(seed, M, K):
    """Cover (1965): all labellings of N <= M + 1 rows are linearly separable, also for K classes."""
    rng = np.random.default_rng(seed)
    n = M + 1
    X, t = rng.normal(size=(n, M)), rng.integers(0, K, n)
    classes, t = np.unique(t, return_inverse=True)
    assume(len(classes) > 1)
    assert separability(as_source(X, t), len(classes)).status == "complete"


def test_cover_half_of_all_labellings_of_twice_as_many_rows_as_weights_are_separable():
    """Cover (1965): exactly half of the 2^N labellings of N = 2 (M + 1) rows in general position are separable."""
    M, N = 2, 6
    X = np.random.default_rng(0).normal(size=(N, M))
    labellings = [(code >> np.arange(N)) & 1 for code in range(1, 2**N - 1)]
    complete = sum(separability(as_source(X, t), 2).status == "complete" for t in labellings)
    assert complete + 2 == 2 ** (N - 1)  # the two labellings with one class are separable too
