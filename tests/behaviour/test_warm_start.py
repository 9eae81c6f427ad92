"""A warm start begins at the last fit: fewer steps, and the same result."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import separatrix as sx
from problems import blobs, separable

X, y = blobs(2000, distance=1.0)
MODELS = {
    "newton": (sx.LogisticRegression(solver="newton", tol=1e-10), 3),
    "lbfgs": (sx.LogisticRegression(solver="lbfgs", tol=1e-10), 3),
    "gradient": (sx.LogisticRegression(alpha=20.0, solver="gradient", tol=1e-10), 2),
    "auto": (sx.LogisticRegression(tol=1e-10), 2),
    "sparse": (sx.LogisticRegression(prior=sx.ElasticNet(5.0, 0.5), tol=1e-10), 3),
    "probit": (sx.ProbitRegression(tol=1e-10), 2),
    "noise": (sx.LabelNoiseLogisticRegression(tol=1e-10), 2),
    "noise_rates": (sx.LabelNoiseLogisticRegression(rates="per-class", tol=1e-10), 3),
    "bayesian": (sx.BayesianLogisticRegression(sx.Gaussian(1.0), approximation="laplace", tol=1e-10), 3),
}


@pytest.mark.parametrize(("model", "n_classes"), MODELS.values(), ids=MODELS)
def test_a_second_fit_to_nearly_the_same_rows_needs_fewer_steps(model, n_classes):
    rows, t = X[y < n_classes], y[y < n_classes]
    cold = model.set_params(warm_start=False).fit(rows[20:], t[20:])
    steps, coef, P = cold.n_steps_, cold.coef_, cold.predict_proba(rows)
    model.set_params(warm_start=True).fit(rows, t)
    model.fit(rows[20:], t[20:])
    assert model.n_steps_ < steps
    assert_allclose(model.coef_, coef, atol=1e-6)
    assert_allclose(model.predict_proba(rows), P, atol=1e-7)


@pytest.mark.parametrize("kind", [sx.LogisticRegression, sx.ProbitRegression])
def test_the_start_does_not_include_the_correction_of_class_weights(kind):
    model = kind(class_weight={False: 1.0, True: 20.0}, prior_correction=True, warm_start=True).fit(X, y == 0)
    assert model.fit(X, y == 0).n_steps_ == 0


def test_a_large_table_is_not_sampled_first():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300_000, 8))
    t = rows @ rng.normal(size=8) + rng.logistic(size=len(rows)) > 0
    model = sx.LogisticRegression(warm_start=True).fit(rows, t)
    passes, coef = model.n_passes_, model.coef_
    assert model.fit(rows, t).n_passes_ < passes
    assert_allclose(model.coef_, coef, atol=1e-6)


def test_a_perceptron_continues():
    rows, t = separable(200, gap=0.05)
    model = sx.Perceptron(warm_start=True, max_epochs=1000).fit(rows, t)
    coef = model.coef_
    assert model.n_steps_ > 1
    assert model.fit(rows, t).n_steps_ == 1
    assert model.n_mistakes_ == 0
    assert_allclose(model.coef_, coef)


@pytest.mark.parametrize("model", [sx.LogisticRegression, sx.Perceptron, sx.BayesianLogisticRegression])
def test_other_columns_or_classes_start_at_zero(model):
    rows, t = separable(60)
    warm, cold = model(warm_start=True), model()
    warm.fit(rows, t)
    for other, labels in ((rows[:, :2], rows[:, 0] > 0), (rows, np.where(t, "yes", "no"))):
        assert_allclose(warm.fit(other, labels).coef_, cold.fit(other, labels).coef_, rtol=1e-12)
