import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, softmax
from scipy.stats import multivariate_normal
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as SklearnLDA

import separatrix as sx
from problems import blobs


@pytest.mark.parametrize("n_classes", [2, 4])
def test_parity_with_scikit_learn(n_classes):
    X, y = blobs(200, n_classes=n_classes)
    ours, theirs = sx.LinearDiscriminantAnalysis().fit(X, y), SklearnLDA(solver="lsqr").fit(X, y)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-9, atol=1e-12)
    assert_allclose(ours.coef_[0] - ours.coef_[-1], theirs.coef_[0] - theirs.coef_[-1], rtol=1e-8, atol=1e-10)
    assert_allclose(
        ours.covariance_, SklearnLDA(solver="lsqr", store_covariance=True).fit(X, y).covariance_, rtol=1e-10
    )


def test_equation_4_65_two_classes_are_a_sigmoid_of_the_linear_form():
    X, y = blobs(200, n_classes=2)
    model = sx.LinearDiscriminantAnalysis().fit(X, y)
    a = X @ model.coef_[0] + model.intercept_[0]
    assert_allclose(model.decision_function(X), a, rtol=1e-9, atol=1e-10)
    assert_allclose(model.predict_proba(X)[:, 1], expit(a), rtol=1e-9)


def test_equation_4_62_K_classes_are_a_softmax_of_the_linear_forms():
    X, y = blobs(200, n_classes=4)
    model = sx.LinearDiscriminantAnalysis().fit(X, y)
    assert_allclose(model.predict_proba(X), softmax(X @ model.coef_.T + model.intercept_, axis=1), rtol=1e-8)


def test_the_density_is_a_mixture_of_normals():
    X, y = blobs(200)
    model = sx.LinearDiscriminantAnalysis().fit(X, y)
    density = sum(
        p * multivariate_normal(m, model.covariance_).pdf(X) for p, m in zip(model.priors_, model.means_, strict=True)
    )
    assert_allclose(model.log_density(X), np.log(density), rtol=1e-9)


def test_maximum_likelihood_gives_fishers_direction():
    X, y = blobs(200, n_classes=2)
    assert_allclose(sx.LinearDiscriminantAnalysis().fit(X, y).coef_, sx.FisherDiscriminant().fit(X, y).coef_, rtol=1e-9)


@pytest.mark.parametrize("estimate", ["ml", "map", "predictive"])
def test_wide_rows_equal_the_full_matrix(estimate, rng):
    X, y = rng.normal(size=(18, 40)), np.arange(18) % 2
    X[y == 1] += 0.5
    model = sx.LinearDiscriminantAnalysis(shrinkage=0.3, estimate=estimate).fit(X, y)
    tall = sx.LinearDiscriminantAnalysis(shrinkage=0.3, estimate=estimate)
    for rows in (slice(0, 9), slice(9, 18)):
        tall.partial_fit(X[rows], y[rows])
    assert_allclose(tall.predict_log_proba(X), model.predict_log_proba(X), rtol=1e-7, atol=1e-9)
    S = (X - model.means_[y]).T @ (X - model.means_[y]) / 18
    if estimate == "ml":
        assert_allclose(model.covariance_, 0.7 * S + 0.3 * np.diag(np.diag(S)), rtol=1e-9, atol=1e-12)


def test_with_parameters_integrated_out_there_is_no_linear_form():
    X, y = blobs(60, n_classes=2)
    model = sx.LinearDiscriminantAnalysis(estimate="predictive").fit(X, y)
    assert "coef_" not in vars(model)


def test_the_predictive_is_less_sure_than_the_plug_in_and_agrees_with_much_data():
    X, y = blobs(4000, n_classes=2)
    few = {e: sx.LinearDiscriminantAnalysis(estimate=e).fit(X[:15], y[:15]) for e in ("ml", "predictive")}
    surer = [np.abs(m.predict_proba(X)[:, 1] - 0.5).mean() for m in few.values()]
    assert surer[1] < surer[0]
    many = [sx.LinearDiscriminantAnalysis(estimate=e).fit(X, y).predict_proba(X) for e in ("ml", "map", "predictive")]
    assert_allclose(many[1], many[0], atol=5e-3)
    assert_allclose(many[2], many[0], atol=5e-3)
