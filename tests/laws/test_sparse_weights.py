"""Sparse weights: the conditions of the minimum hold for any table, prior, weights and storage."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import separatrix as sx
from separatrix.priors import Corner


def violation(model, X, y, weight, alpha, l1_ratio, groups):
    """Largest violation of the conditions of the minimum, per row and standard deviation; PRML (4.91), (4.109)."""
    W, T = model.coef_, np.eye(len(model.classes_))[np.searchsorted(model.classes_, y)]
    slope = (weight[:, None] * (model.predict_proba(X) - T))[:, -len(W) :]
    spread = X.std(axis=0) if model.fit_intercept else np.sqrt((X**2).mean(axis=0))
    unit = np.where(spread > 0, spread, 1.0) * weight.sum()
    grad = slope.T @ X + alpha * (1 - l1_ratio) * W
    corner = Corner(np.full(X.shape[1], alpha * l1_ratio))
    if groups is not None:
        codes = np.unique(groups, return_inverse=True)[1]
        corner = Corner(alpha * l1_ratio * np.sqrt(len(W) * np.bincount(codes))[codes], codes)
    bias = np.abs(slope.sum(axis=0)).max() / weight.sum() if model.fit_intercept else 0.0
    return max(bias, float(np.abs(corner.violation(W, grad) / unit).max()))


@settings(max_examples=20)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(8, 60),
    p=st.integers(1, 12),
    classes=st.integers(2, 4),
    alpha=st.sampled_from([0.01, 0.3, 2.0, 20.0]),
    l1_ratio=st.sampled_from([0.0, 0.3, 1.0]),
    groups=st.booleans(),
    fit_intercept=st.booleans(),
    is_sparse=st.booleans(),
)
def test_the_conditions_of_the_minimum_hold(seed, n, p, classes, alpha, l1_ratio, groups, fit_intercept, is_sparse):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * rng.uniform(0.5, 3.0, size=p) * (rng.random((n, p)) < 0.7)
    X = np.column_stack([X, X[:, 0], np.full(n, rng.integers(0, 2))])  # a repeated column and a constant
    y = rng.permutation(np.arange(n) % classes)
    weight = rng.integers(0, 3, size=n).astype(float)
    weight[np.unique(y, return_index=True)[1]] = 1.0  # every class has a row
    of_columns = rng.integers(0, 3, size=p + 2) if groups else None
    prior = sx.ElasticNet(alpha, l1_ratio, groups=of_columns)
    model = sx.LogisticRegression(prior=prior, fit_intercept=fit_intercept)
    model.fit(sparse.csr_array(X) if is_sparse else X, y, sample_weight=weight)
    assert violation(model, X, y, weight, alpha, l1_ratio, of_columns) < 1e-7
    if fit_intercept and l1_ratio > 0:
        assert not model.coef_[:, -1].any()


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("groups", [False, True])
@pytest.mark.parametrize(
    ("is_sparse", "fit_intercept"),
    [(False, True), (True, False), *(pytest.param(both, both, marks=pytest.mark.slow) for both in (True, False))],
)
def test_the_conditions_hold_for_more_weights_than_a_hessian_can_have(classes, groups, is_sparse, fit_intercept):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 400)) * (rng.random((60, 400)) < 0.5)
    y = (X[:, :classes] * 2 + rng.gumbel(size=(60, classes))).argmax(axis=1)
    of_columns = np.arange(400) // 4 if groups else None
    prior = sx.ElasticNet(0.1, 0.2, groups=of_columns)
    model = sx.LogisticRegression(prior=prior, fit_intercept=fit_intercept)
    model.fit(sparse.csr_array(X) if is_sparse else X, y)
    assert 100 < np.count_nonzero(model.coef_) < model.coef_.size
    assert violation(model, X, y, np.ones(60), 0.1, 0.2, of_columns) < 1e-7
