# SPDX-License-Identifier: BSD-3-Clause
"""The distribution of the weights of models that maximise a likelihood or a posterior."""

import copy
import pickle

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose
from scipy import special

import separatrix as sx
from separatrix.exceptions import CollinearWarning, DataError

rng = np.random.default_rng(5)
N = 400
X = rng.normal([0.0, 3.0, -1.0], [1.0, 0.2, 5.0], (N, 3))
A = (X - [0.0, 3.0, -1.0]) @ [1.0, -3.0, 0.1] + 0.3
Y2 = (rng.random(N) < special.expit(A)).astype(int)
Y3 = np.argmax(np.column_stack([A, -A, 0.5 * X[:, 0]]) + rng.gumbel(size=(N, 3)), axis=1)
WITH_ONE = sm.add_constant(X, prepend=False)
FROM_FIRST = np.array([[-1.0, 1.0, 0.0], [-1.0, 0.0, 1.0]])


@pytest.mark.parametrize("solver", ["auto", "lbfgs"])  # the second has no Hessian at the end
@pytest.mark.parametrize(
    ("ours", "theirs"), [(sx.LogisticRegression, sm.Logit), (sx.ProbitRegression, sm.Probit)], ids=["logit", "probit"]
)
def test_without_a_prior_it_is_the_sampling_distribution_of_the_estimate(ours, theirs, solver):
    found = ours(alpha=0, solver=solver).fit(X, Y2).weight_distribution_
    expected = theirs(Y2, WITH_ONE).fit(disp=0, method="newton", tol=1e-14)
    assert_allclose(found.mean, expected.params, rtol=1e-6)
    assert_allclose(found.covariance, expected.cov_params(), rtol=1e-6)


@pytest.mark.parametrize("solver", ["auto", "lbfgs"])
def test_contrasts_of_classes_have_the_errors_of_a_multinomial_model(solver):
    found = sx.LogisticRegression(alpha=0, solver=solver).fit(X, Y3).weight_distribution_
    expected = sm.MNLogit(Y3, WITH_ONE).fit(disp=0, method="newton", tol=1e-12)
    contrasts = found.functions(np.eye(4), FROM_FIRST)
    assert_allclose(contrasts.mean, expected.params, rtol=1e-6)
    assert_allclose(contrasts.std, expected.bse, rtol=1e-7)
    assert_allclose(found.mean.sum(axis=0), 0, atol=1e-9)
    assert_allclose(found.covariance.reshape(3, 4, 3, 4).sum(axis=0), 0, atol=1e-9)  # only contrasts are identified


@pytest.mark.parametrize("y", [Y2, Y3], ids=["two classes", "three classes"])
def test_with_a_prior_it_is_the_posterior_of_laplace(y):
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    model = sx.LogisticRegression(alpha=4.0).fit(Z, y)
    prior = sx.Gaussian(0.5, intercept_scale=1e4)
    posterior = sx.BayesianLogisticRegression(prior, approximation="laplace", standardize=False, tune=None).fit(Z, y)
    contrasts = None if y is Y2 else FROM_FIRST
    found, expected = (m.weight_distribution_.functions(np.eye(4), contrasts) for m in (model, posterior))
    assert_allclose(found.mean, expected.mean, atol=1e-5)
    assert_allclose(found.std, expected.std, rtol=1e-5)


def test_estimated_noise_counts_as_known():
    model = sx.LabelNoiseLogisticRegression(noise=0.1, alpha=0).fit(X, Y2)
    q, step = model.weight_distribution_, 1e-4

    def loss(w):
        p = 0.1 + 0.8 * special.expit(WITH_ONE @ w)
        return -np.log(np.where(Y2 == 1, p, 1 - p)).sum()

    unit = np.sqrt(np.diag(q.covariance))
    moves = step * np.diag(unit)
    hess = [[loss(q.mean + u + v) - loss(q.mean + u - v) - loss(q.mean - u + v) + loss(q.mean - u - v)
             for u in moves] for v in moves]  # fmt: skip
    expected = np.linalg.inv(np.array(hess) / (4 * step**2)) * np.outer(unit, unit)
    assert_allclose(np.sqrt(np.diag(expected)), q.std, rtol=1e-3)


def test_weights_of_collinear_columns_have_no_errors_but_predictions_do():
    twice = np.column_stack([X, X[:, 0] + X[:, 1]])
    with pytest.warns(CollinearWarning):
        found = sx.LogisticRegression(alpha=0).fit(twice, Y2).weight_distribution_
    expected = sx.LogisticRegression(alpha=0).fit(X, Y2).weight_distribution_
    assert np.isnan(found.functions(np.eye(5)).std).tolist() == [True, True, False, True, False]
    for both in (
        lambda q, Z: q.activations(Z).variance,
        lambda q, Z: q.functions(np.column_stack([Z, np.ones(N)])).std,
    ):
        assert_allclose(both(found, twice), both(expected, X), rtol=1e-6)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_copies_have_it_without_the_rows(alpha, tmp_path):
    model = sx.LogisticRegression(alpha=alpha).fit(X, Y3)
    again = [pickle.loads(pickle.dumps(model)), sx.load(sx.save(model, tmp_path / "model.sx")), copy.deepcopy(model)]
    for other in again:
        assert_allclose(other.weight_distribution_.covariance, model.weight_distribution_.covariance, rtol=1e-12)
    assert again[0]._fit is None
    assert again[2]._fit is model._fit


def test_a_saved_model_without_it_says_how_to_keep_it():
    model = sx.LogisticRegression(solver="lbfgs").fit(X, Y2)
    bare = pickle.loads(pickle.dumps(model))
    with pytest.raises(ValueError, match="read model.weight_distribution_ before saving"):
        bare.weight_distribution_  # noqa: B018
    model.weight_distribution_  # noqa: B018
    assert pickle.loads(pickle.dumps(model)).weight_distribution_.std.shape == (4,)


def test_every_model_with_a_distribution_has_it_under_one_name():
    for model in (sx.BayesianLogisticRegression(), sx.TableClassifier(sx.LogisticRegression())):
        assert model.fit(X, Y2).weight_distribution_.mean.shape == (4,)
    regression = sx.GeneralizedLinearModel("bernoulli").fit(X, Y2)
    plain = sx.LogisticRegression(alpha=0).fit(X, Y2)
    assert_allclose(regression.weight_distribution_.covariance, plain.weight_distribution_.covariance, rtol=1e-6)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (sx.Perceptron(), "any hyperplane"),
        (sx.LinearDiscriminantAnalysis(), "within each class"),
        (sx.NaiveBayes(), "within each class"),
        (sx.LeastSquaresClassifier(), "no likelihood"),
        (sx.LogisticRegression(prior=sx.ElasticNet(1.0)), "corners"),
    ],
    ids=lambda each: type(each).__name__ if not isinstance(each, str) else "",
)
@pytest.mark.filterwarnings("ignore")
def test_other_models_say_why_they_have_none(model, reason):
    with pytest.raises(AttributeError, match=reason):
        model.fit(X, Y2).weight_distribution_  # noqa: B018


def test_a_covariance_that_does_not_fit_into_memory_is_refused():
    wide = np.eye(3, 10_001) + 1.0
    with pytest.raises(DataError, match="10002 weights"):
        sx.LogisticRegression().fit(wide, [0, 1, 1]).weight_distribution_  # noqa: B018
