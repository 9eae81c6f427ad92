"""Coefficients, log-likelihoods and standard errors agree with maximum likelihood in statsmodels.

The tolerances of the tests are set by statsmodels, whose Newton's method stops at a change of 1e-8 by default.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import separatrix as sx
from separatrix.likelihoods import Logit, Probit, Softmax
from separatrix.rows import as_source
from separatrix.solvers.posterior import pose

sm = pytest.importorskip("statsmodels.api")


def table(n_classes=2, n=300):
    """Return columns of three different sizes, one far from zero, and labels."""
    rng = np.random.default_rng(2)
    Z = rng.normal(size=(n, 3))
    y = (Z @ rng.normal(size=(3, n_classes)) + rng.gumbel(size=(n, n_classes))).argmax(axis=1)
    return Z * [1.0, 20.0, 0.1] + [0.0, 300.0, 2.0], y


def fitted(kind, X, y):
    """Return the fitted model of statsmodels, with a constant in the last column."""
    exog = np.column_stack([X, np.ones(len(X))])
    with np.errstate(all="ignore"):
        return getattr(sm, kind)(y, exog).fit(disp=0, method="newton", maxiter=100, tol=1e-10)


def covariance(model, likelihood, X, y):
    """Return the inverse Hessian of -ln p(D | w) at the maximum, (CP, CP), for weights and the bias at x = 0."""
    objective = pose(as_source(X, y), likelihood, sx.Flat(), fit_intercept=True)
    theta = objective.design.of_user_units(model.coef_, model.intercept_)
    S = np.linalg.pinv(objective.value_grad_hess(theta).hess, rcond=1e-13, hermitian=True)
    C, M = model.coef_.shape
    to_zero = np.eye(M + 1)
    to_zero[M, :M] = -objective.design.origin  # the bias at x = 0 is the bias at the origin minus W origin
    T = np.kron(np.eye(C), to_zero)
    return T @ S @ T.T


def log_likelihood(model, X, y):
    return model.predict_log_proba(X)[np.arange(len(y)), y].sum()


KINDS = {"Logit": (sx.LogisticRegression, Logit()), "Probit": (sx.ProbitRegression, Probit())}


@pytest.mark.parametrize("kind", KINDS)
def test_two_classes(kind):
    X, y = table()
    make, likelihood = KINDS[kind]
    model, result = make(alpha=0.0, tol=1e-11).fit(X, y), fitted(kind, X, y)
    assert_allclose(np.append(model.coef_, model.intercept_), result.params, rtol=1e-6)
    assert log_likelihood(model, X, y) == pytest.approx(result.llf, rel=1e-11)
    S = covariance(model, likelihood, X, y)
    assert_allclose(np.sqrt(np.diag(S)), result.bse, rtol=1e-5)
    assert_allclose(S, result.cov_params(), rtol=1e-4, atol=1e-8)
    assert_allclose(model.predict_proba(X)[:, 1], result.predict(), atol=1e-8)


@pytest.mark.parametrize("n_classes", [3, 4])
def test_many_classes_relative_to_the_first(n_classes):
    X, y = table(n_classes)
    model, result = sx.LogisticRegression(alpha=0.0, tol=1e-11).fit(X, y), fitted("MNLogit", X, y)
    theta = np.column_stack([model.coef_, model.intercept_])
    assert_allclose((theta[1:] - theta[0]).T, result.params, rtol=1e-5, atol=1e-8)
    assert log_likelihood(model, X, y) == pytest.approx(result.llf, rel=1e-11)
    P = theta.shape[1]
    contrast = np.kron(np.column_stack([-np.ones(n_classes - 1), np.eye(n_classes - 1)]), np.eye(P))
    S = contrast @ covariance(model, Softmax(n_classes), X, y) @ contrast.T
    assert_allclose(np.sqrt(np.diag(S)).reshape(-1, P).T, result.bse, rtol=1e-4)
    assert_allclose(model.predict_proba(X), result.predict(), atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_frequency_weights_equal_repeated_rows(kind):
    X, y = table()
    often = np.random.default_rng(0).integers(1, 4, size=len(y))
    model = KINDS[kind][0](alpha=0.0, tol=1e-11).fit(X, y, sample_weight=often)
    result = fitted(kind, np.repeat(X, often, axis=0), np.repeat(y, often))
    assert_allclose(np.append(model.coef_, model.intercept_), result.params, rtol=1e-6)


def test_separation_is_reported_where_statsmodels_fails():
    X, y = table()
    X[:, 0] = y
    from statsmodels.tools.sm_exceptions import PerfectSeparationWarning

    with pytest.warns(sx.exceptions.SeparationWarning, match="'x0'"):
        sx.LogisticRegression(alpha=0.0).fit(X, y)
    with np.errstate(all="ignore"), pytest.warns(PerfectSeparationWarning):
        sm.Logit(y, np.column_stack([X, np.ones(len(X))])).fit(disp=0, maxiter=20, warn_convergence=False)
