import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis as SklearnQDA

import separatrix as sx
from problems import blobs


@pytest.mark.parametrize("n_classes", [2, 4])
def test_parity_with_scikit_learn(n_classes):
    """Theirs divides by N_k - 1 in some versions; compared through the covariance it then has."""
    X, y = blobs(300, n_classes=n_classes)
    ours = sx.QuadraticDiscriminantAnalysis().fit(X, y)
    P = np.column_stack(
        [
            p * multivariate_normal(X[y == k].mean(axis=0), np.cov(X[y == k].T, ddof=0)).pdf(X)
            for k, p in enumerate(ours.priors_)
        ]
    )
    assert_allclose(ours.predict_proba(X), P / P.sum(axis=1, keepdims=True), rtol=1e-9, atol=1e-14)
    assert_allclose(ours.predict_proba(X), SklearnQDA(solver="eigen").fit(X, y).predict_proba(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_quadratic_form_gives_the_log_odds(n_classes):
    X, y = blobs(300, n_classes=n_classes)
    model = sx.QuadraticDiscriminantAnalysis().fit(X, y)
    a = np.einsum("nm,kml,nl->nk", X, model.quadratic_, X) + X @ model.coef_.T + model.intercept_
    if n_classes == 2:
        assert_allclose(model.decision_function(X), a[:, 0], rtol=1e-8, atol=1e-9)
    else:
        log_p = model.predict_log_proba(X)
        assert_allclose(a - a[:, :1], log_p - log_p[:, :1], rtol=1e-7, atol=1e-8)


def test_a_quadratic_boundary_is_found():
    rng = np.random.default_rng(0)
    y = np.arange(2000) % 2
    X = rng.normal(size=(2000, 2)) * np.where(y, 3.0, 1.0)[:, None]
    assert sx.QuadraticDiscriminantAnalysis().fit(X, y).score(X, y) > 0.75
    assert sx.LinearDiscriminantAnalysis().fit(X, y).score(X, y) < 0.6


def test_units_do_not_matter_where_they_break_scikit_learn():
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    in_metres = sx.QuadraticDiscriminantAnalysis().fit(X / 1000, y)
    assert_allclose(
        in_metres.predict_proba(X / 1000), sx.QuadraticDiscriminantAnalysis().fit(X, y).predict_proba(X), rtol=1e-8
    )


def test_with_parameters_integrated_out_there_is_no_quadratic_form():
    X, y = blobs(60, n_classes=2)
    with pytest.raises(AttributeError, match="predictive"):
        _ = sx.QuadraticDiscriminantAnalysis(estimate="predictive").fit(X, y).quadratic_


@pytest.mark.parametrize("estimate", ["ml", "map", "predictive"])
def test_wide_rows_equal_the_full_matrix(estimate, rng):
    X, y = rng.normal(size=(18, 30)), np.arange(18) % 2
    make = lambda: sx.QuadraticDiscriminantAnalysis(shrinkage=0.3, estimate=estimate)  # noqa: E731
    wide = make().fit(X, y)
    Sigma = wide.covariance_
    assert Sigma.shape == (2, 30, 30)
    tall = make().fit(np.repeat(X, 2, axis=0), np.repeat(y, 2), sample_weight=np.full(36, 0.5))
    assert_allclose(wide.predict_log_proba(X), tall.predict_log_proba(X), rtol=1e-6, atol=1e-8)
