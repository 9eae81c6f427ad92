# SPDX-License-Identifier: BSD-3-Clause
"""Effects and their errors against statsmodels, and against derivatives with 40 digits."""

import mpmath
import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose

import separatrix as sx

N = 600


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"age": rng.normal(40, 12, N), "dose": rng.exponential(2, N), "sex": rng.integers(0, 2, N)})
    a = np.column_stack([np.zeros(N), 0.05 * X["age"] - 2 + 0.3 * X["dose"], 0.8 * X["sex"] - 0.2 * X["dose"]])
    P = np.exp(a) / np.exp(a).sum(axis=1, keepdims=True)
    return X, np.array([rng.choice(3, p=p) for p in P]), rng.poisson(np.exp(0.02 * X["age"] - 0.2 * X["dose"]))


def flat(margins):
    """Margins of statsmodels, class after class for each column."""
    return np.ravel(margins.margeff), np.ravel(margins.margeff_se)


def test_slopes_of_k_classes_are_those_of_mnlogit(table):
    X, y, _ = table
    margins = sm.MNLogit(y, sm.add_constant(X)).fit(disp=0, tol=1e-14, method="newton").get_margeff()
    found = sx.effects.slopes(sx.LogisticRegression(alpha=0, tol=1e-12).fit(X, y), X)
    estimate, error = flat(margins)
    assert_allclose(found["estimate"], estimate, rtol=1e-9, atol=1e-11)
    assert_allclose(found["standard_error"], error, rtol=1e-7)
    assert_allclose(found["z"], np.ravel(margins.tvalues), rtol=1e-7)
    assert_allclose(found["p"], np.ravel(margins.pvalues), rtol=1e-6)
    low, high = np.moveaxis(margins.conf_int(), -2, 0)[:2]
    assert_allclose(found["lower"], np.ravel(low), rtol=1e-6)
    assert_allclose(found["upper"], np.ravel(high), rtol=1e-6)


@pytest.mark.parametrize(
    ("model", "peer"),
    [
        (lambda: sx.LogisticRegression(alpha=0, tol=1e-12), sm.Logit),
        (lambda: sx.GeneralizedLinearModel("bernoulli", tol=1e-12), sm.Logit),
    ],
)
def test_slopes_and_steps_of_two_classes_are_those_of_logit(table, model, peer):
    X, y, _ = table
    t = (y > 0).astype(int)
    fitted = model().fit(X, t)
    fit = peer(t, sm.add_constant(X)).fit(disp=0, tol=1e-14)
    found = sx.effects.slopes(fitted, X)
    estimate, error = flat(fit.get_margeff())
    assert_allclose(found["estimate"], estimate, rtol=1e-9)
    assert_allclose(found["standard_error"], error, rtol=1e-7)
    dummy = fit.get_margeff(dummy=True)  # of columns of 0 and 1, the change from 0 to 1
    found = sx.effects.comparisons(fitted, X, variables="sex")
    assert_allclose(found["estimate"], dummy.margeff[2], rtol=1e-9)
    assert_allclose(found["standard_error"], dummy.margeff_se[2], rtol=1e-7)


@pytest.mark.parametrize("kind", ["HC0", "cluster"])
def test_robust_covariances_give_robust_effects(table, kind):
    X, y, _ = table
    t, groups = (y > 0).astype(int), np.arange(N) // 6
    options = {"cov_kwds": {"groups": groups}} if kind == "cluster" else {}
    margins = sm.Logit(t, sm.add_constant(X)).fit(disp=0, tol=1e-14, cov_type=kind, **options).get_margeff()
    model = sx.LogisticRegression(alpha=0, tol=1e-12).fit(X, t)
    found = sx.effects.slopes(model.with_covariance(("cluster", groups) if kind == "cluster" else kind), X)
    assert_allclose(found["estimate"], margins.margeff, rtol=1e-9)
    assert_allclose(found["standard_error"], margins.margeff_se, rtol=1e-7)
    assert kind in str(found)


def test_slopes_of_counts_are_those_of_poisson(table):
    X, _, t = table
    fit = sm.Poisson(t, sm.add_constant(X)).fit(disp=0, tol=1e-14)
    found = sx.effects.slopes(sx.GeneralizedLinearModel("poisson", tol=1e-12).fit(X, t), X)
    estimate, error = flat(fit.get_margeff())
    assert_allclose(found["estimate"], estimate, rtol=1e-8)
    assert_allclose(found["standard_error"], error, rtol=1e-7)


@pytest.mark.parametrize(
    ("model", "mean"),
    [
        (lambda: sx.ProbitRegression(alpha=0, tol=1e-12), mpmath.ncdf),
        (lambda: sx.GeneralizedLinearModel("bernoulli", "cloglog"), lambda a: 1 - mpmath.exp(-mpmath.exp(a))),
        (lambda: sx.LogisticRegression(alpha=1.0), lambda a: 1 / (1 + mpmath.exp(-a))),
        (lambda: sx.LabelNoiseLogisticRegression(alpha=1.0, noise=0.1), lambda a: 1 / (1 + mpmath.exp(-a))),
    ],
)
@pytest.mark.parametrize("comparison", ["difference", "ratio", "odds ratio"])
def test_errors_are_the_delta_method_with_exact_derivatives(table, model, mean, comparison):
    """The Jacobian from central differences with 40 digits, for a step of a number and for two values of another."""
    X, y, _ = table
    X, t = X[:60], (y[:60] > 0).astype(int)
    fitted = model().fit(X, t)
    q, rows = fitted.weight_distribution_, np.column_stack([X, np.ones(len(X))])
    weights = list(map(mpmath.mpf, q.mean))
    scale = {
        "difference": lambda p: p,
        "ratio": mpmath.log,
        "odds ratio": lambda p: mpmath.log(p / (1 - p)),
    }[comparison]

    def average(w, column, value=None, step=0):
        total = mpmath.mpf(0)
        for row in rows:
            changed = row.copy()
            changed[column] = row[column] + step if value is None else value
            total += mean(mpmath.fdot(w, map(mpmath.mpf, changed)))
        return total / len(rows)

    with mpmath.workdps(40):
        effects = {
            ("age", "+10"): lambda w: scale(average(w, 0, step=10)) - scale(average(w, 0)),
            ("dose", "4 vs. 1"): lambda w: scale(average(w, 1, value=4)) - scale(average(w, 1, value=1)),
        }
        found = sx.effects.comparisons(fitted, X, {"age": 10, "dose": [1, 4]}, comparison=comparison)
        h = mpmath.mpf(10) ** -12
        for i, effect in enumerate(effects.values()):
            J = []
            for j in range(len(weights)):
                up, down = weights.copy(), weights.copy()
                up[j] += h
                down[j] -= h
                J.append(float((effect(up) - effect(down)) / (2 * h)))
            value, error = float(effect(weights)), np.sqrt(np.array(J) @ q.covariance @ J)
            if comparison != "difference":
                value, error = np.exp(value), np.exp(value) * error
            assert_allclose(found["estimate"][i], value, rtol=1e-11)
            assert_allclose(found["standard_error"][i], error, rtol=1e-9)
