"""Linear and quadratic discriminant analysis as graphs."""

import numpy as np
import pytest

import separatrix as sx
from problems import GENERATIVE, blobs

NORMAL = [name for name in GENERATIVE if name.startswith(("lda", "qda"))]


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("name", NORMAL)
def test_every_discriminant_analysis(name, K, agree):
    X, y = blobs(150, n_classes=K)
    agree(GENERATIVE[name]().fit(X, y), np.vstack([X, 4 * X]))


@pytest.mark.parametrize("kind", [sx.LinearDiscriminantAnalysis, sx.QuadraticDiscriminantAnalysis])
def test_more_columns_than_rows(kind, agree):
    """The covariance is kept as its factor, and so it is in the graph."""
    X, y = blobs(30, n_features=50, n_classes=3)
    agree(kind(shrinkage=0.3, estimate="predictive").fit(X, y), X)


def test_far_from_zero_through_a_basis(agree):
    X, y = blobs(150, n_classes=3)
    moved = np.float32(X + 3e5).astype(float)
    agree(sx.QuadraticDiscriminantAnalysis(basis=sx.basis.Linear()).fit(moved, y), moved)


def test_a_row_with_a_gap_says_so(ask):
    X, y = blobs(60, n_classes=2)
    model = sx.LinearDiscriminantAnalysis().fit(X, y)
    X[1, 2] = np.nan
    P = ask(model, X)["probabilities"]
    assert np.isnan(P[1]).all()
    assert np.isfinite(P[[0, 2]]).all()
