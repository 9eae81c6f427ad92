"""Weights agree with scikit-learn, which minimises the same objective with alpha = 1/C."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import separatrix as sx
from problems import blobs


def theirs(X, y, alpha, weight=None, fit_intercept=True):
    """Fit scikit-learn's model with Newton-Cholesky to full accuracy; its lbfgs stops much earlier."""
    C = np.inf if alpha == 0 else 1 / alpha
    peer = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-12, max_iter=1000, fit_intercept=fit_intercept)
    with np.errstate(all="ignore"):
        return peer.fit(X, y, sample_weight=weight)


@pytest.mark.parametrize(("n_classes", "alpha"), [*product([2, 3, 5], [1e-3, 1.0, 100.0]), (2, 0.0)])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_weights(n_classes, alpha, fit_intercept, weighted, rng):
    X, y = blobs(300, n_classes=n_classes, distance=0.5)
    X += 2.0
    weight = rng.random(300) + 0.1 if weighted else None
    ours = sx.LogisticRegression(alpha=alpha, fit_intercept=fit_intercept, tol=1e-10).fit(X, y, sample_weight=weight)
    peer = theirs(X, y, alpha, weight, fit_intercept)
    assert_allclose(ours.coef_, peer.coef_, rtol=1e-6, atol=1e-7)
    shift = peer.intercept_.mean() if n_classes > 2 else 0.0  # without a prior, only differences are determined
    assert_allclose(ours.intercept_, peer.intercept_ - shift, rtol=1e-6, atol=1e-6)
    assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_probabilities_on_real_tables(load):
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    ours = sx.LogisticRegression().fit(X, y)
    peer = LogisticRegression(tol=1e-10, max_iter=10_000).fit(X, y)
    assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=2e-6)

    def objective(model):
        return len(y) * log_loss(y, model.predict_proba(X)) + 0.5 * (model.coef_**2).sum()

    assert objective(ours) <= objective(peer) * (1 + 1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_sparse_rows(n_classes):
    X, y = blobs(400, n_features=12, n_classes=n_classes, distance=0.5)
    X = np.where(np.random.default_rng(1).random(X.shape) < 0.2, X, 0.0)
    ours = sx.LogisticRegression(alpha=0.5, tol=1e-10).fit(sparse.csr_array(X), y)
    assert_allclose(ours.coef_, theirs(X, y, 0.5).coef_, rtol=1e-6, atol=1e-7)


def test_wide_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 300)), rng.integers(2, size=50)
    ours = sx.LogisticRegression(alpha=1.0, tol=1e-11).fit(X, y)
    assert_allclose(ours.coef_, theirs(X, y, 1.0).coef_, rtol=1e-6, atol=1e-9)


def test_works_in_sklearn_pipeline_and_cross_validation():
    X, y = load_breast_cancer(return_X_y=True)
    scores = [
        cross_val_score(make_pipeline(StandardScaler(), model), X, y, scoring="neg_log_loss", error_score="raise")
        for model in (sx.LogisticRegression(), LogisticRegression(tol=1e-8, max_iter=1000))
    ]
    assert_allclose(scores[0], scores[1], atol=1e-6)
