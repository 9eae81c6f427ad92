"""Whether shares and counts have a maximum, against a linear program over all rows and directions at once."""

import warnings
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

import separatrix as sx
from separatrix.discriminative.support import Seen, Support
from separatrix.exceptions import CollinearError, SeparationWarning
from separatrix.rows import Block, as_source

SHARES, COUNTS = Support(), Support(is_count=True)


def has_maximum(X, labels):
    """No direction d (K, P) has d_k'φ̃ >= d_j'φ̃ for each label k of each row and every j, not all of them equal."""
    Phi = np.column_stack([X, np.ones(len(X))])
    K = labels.shape[1]
    row, own = np.nonzero(labels)
    G = [
        np.kron(np.eye(K)[k] - np.eye(K)[j], Phi[i]) for i, k in zip(row, own, strict=True) for j in range(K) if j != k
    ]
    G = np.array(G)
    found = linprog(-G.sum(axis=0), -G, np.zeros(len(G)), bounds=(-1, 1), method="highs")
    assert found.status == 0
    return found.fun > -1e-7


def is_warned(fit):
    """Whether a fit warns of separation, be it that it fails for collinear columns later on."""
    with warnings.catch_warnings(record=True) as caught, suppress(CollinearError):
        warnings.simplefilter("always")
        fit()
    return any(w.category is SeparationWarning for w in caught)


@st.composite
def tables(draw):
    """Few rows of few values, so that both answers are common."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, M = draw(st.integers(6, 25)), draw(st.integers(1, 3))
    X = rng.integers(-1, 2, (n, M)).astype(float) if draw(st.booleans()) else rng.normal(size=(n, M))
    if draw(st.booleans()):
        X = np.column_stack([X, np.arange(n) < rng.integers(1, 4)])
    return X, rng


@settings(max_examples=60)
@given(tables())
def test_counts_without_a_maximum_are_reported_and_others_are_not(table):
    X, rng = table
    y = rng.poisson(rng.choice([0.2, 0.7, 2.0]), len(X)).astype(float)
    y[-1] += 1
    expected = has_maximum(X, COUNTS.of(y))
    assert is_warned(lambda: sx.GeneralizedLinearModel("poisson").fit(X, y)) == (not expected)


@settings(max_examples=60)
@given(tables(), st.sampled_from(["logistic", "probit", "binomial", "cloglog"]))
def test_shares_without_a_maximum_are_reported_and_others_are_not(table, kind):
    X, rng = table
    t = rng.choice([0.0, 0.0, 1.0, 0.3, 0.9], len(X))
    t[:2], t[-2:] = 0.0, [0.5, 1.0]
    expected = has_maximum(X, SHARES.of(t))
    if kind in ("logistic", "probit"):
        model = (sx.LogisticRegression if kind == "logistic" else sx.ProbitRegression)(alpha=0.0)
        assert is_warned(lambda: model.fit(X, np.column_stack([1 - t, t]))) == (not expected)
        assert bool(model.separation_) == (not expected)
        return
    model = sx.GeneralizedLinearModel("binomial", link="logit" if kind == "binomial" else "cloglog")
    assert is_warned(lambda: model.fit(X, t, sample_weight=np.full(len(t), 10.0))) == (not expected)


@settings(max_examples=60)
@given(tables(), st.integers(3, 4))
def test_shares_of_many_classes(table, K):
    X, rng = table
    T = np.eye(K)[rng.integers(0, K, len(X))]
    mixed = rng.random(len(X)) < 0.5
    T[mixed] = 0.5 * (T[mixed] + np.eye(K)[rng.integers(0, K, mixed.sum())])
    model = sx.LogisticRegression(alpha=0.0)
    expected = has_maximum(X, T > 0)
    assert is_warned(lambda: model.fit(X, T)) == (not expected)
    assert model.separation_.status == "overlapping" if expected else bool(model.separation_)


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_rows_come_with_each_of_their_labels(store):
    X = store(np.arange(8.0).reshape(4, 2))
    block = Block(X, np.array([0.0, 1.0, 0.4, 2.0]), np.arange(4.0), range(4), np.ones(4))
    shown = SHARES.repeat(Block(X, np.array([0.0, 1.0, 0.4, 1.0]), np.arange(4.0), range(4)))
    assert (shown.row.tolist(), shown.codes.tolist()) == ([0, 1, 2, 2, 3], [0, 1, 0, 1, 1])
    counted = COUNTS.repeat(block)
    assert (counted.row.tolist(), counted.codes.tolist()) == ([0, 1, 1, 2, 2, 3, 3], [0, 0, 1, 0, 1, 0, 1])
    assert counted.weight.tolist() == [0, 1, 1, 2, 2, 3, 3]
    assert COUNTS.partial(block).row.tolist() == [0]
    many = SHARES.repeat(Block(X[:2], np.array([[0.5, 0.0, 0.5], [0.0, 1.0, 0.0]]), None, range(2)))
    assert (many.row.tolist(), many.codes.tolist()) == ([0, 0, 1], [0, 2, 1])


def test_what_is_seen_is_a_source(rng):
    source = as_source(rng.normal(size=(30, 2)), rng.choice([0.0, 0.5], 30))
    seen = Seen(source, SHARES.partial).sized_for(5)
    assert (seen.n_rows, seen.columns) == (30, ("x0", "x1"))
    assert seen.fold(lambda n, block: n + len(block), 0) == (source.t == 0).sum()
    np.testing.assert_array_equal(seen.map(lambda X: X[:, 0]), source.map(lambda X: X[:, 0]))
