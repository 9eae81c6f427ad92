"""Posteriors as graphs: every likelihood, structure, approximation and rule, to what the model predicts."""

import numpy as np
import pytest

import separatrix as sx
from problems import blobs
from separatrix.onnx import ExportError, to_onnx
from separatrix.onnx.bayesian import activations
from separatrix.onnx.graph import Graph

OPTIONS = {
    "default": {},
    "no_intercept": {"fit_intercept": False},
    "laplace": {"approximation": "laplace"},
    "diagonal": {"structure": "diagonal"},
    "probit_rule": {"predictive": "probit"},
    "map": {"predictive": "map"},
    "importance": {"approximation": "importance", "rng": 0},
    "wide_prior": {"prior": sx.Gaussian(scale=30.0), "approximation": "laplace"},
    "basis": {"basis": sx.basis.RBF("kmeans", n_centres=5), "approximation": "laplace"},
}


@pytest.mark.filterwarnings("ignore::separatrix.exceptions.ApproximationWarning")
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("name", OPTIONS)
def test_what_the_model_predicts(name, K, agree):
    X, y = blobs(80, n_classes=K, n_features=3)
    agree(sx.BayesianLogisticRegression(**OPTIONS[name]).fit(X, y), np.vstack([X, 20 * X]))


@pytest.mark.parametrize("likelihood", ["probit", "label_noise"])
def test_other_likelihoods(likelihood, agree):
    X, y = blobs(80, n_classes=2)
    agree(sx.BayesianLogisticRegression(likelihood=likelihood).fit(X, y), 3 * X)


def test_one_factor_for_each_contrast(agree):
    X, y = blobs(80, n_classes=4)
    agree(sx.BayesianLogisticRegression(structure="by class").fit(X, y), X)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_more_columns_than_rows(K, fit_intercept, agree):
    X, y = blobs(20, n_features=60, n_classes=K)
    model = sx.BayesianLogisticRegression(structure="dual", fit_intercept=fit_intercept).fit(X, y)
    agree(model, np.vstack([X, np.random.default_rng(1).normal(size=(10, 60))]))


def test_far_from_zero(agree):
    X, y = blobs(80, n_classes=2)
    moved = np.float32(X + 1e6).astype(float)
    agree(sx.BayesianLogisticRegression().fit(moved, y), moved)


@pytest.mark.parametrize("likelihood", ["logit", "probit", "label_noise"])
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_intervals_of_two_classes(likelihood, level, ask):
    X, y = blobs(80, n_classes=2)
    X = np.float32(X).astype(float)
    model = sx.BayesianLogisticRegression(likelihood=likelihood).fit(X, y)
    found = ask(model, X, intervals=True, level=level)
    bounds = np.column_stack([found["lower"], found["upper"]])
    np.testing.assert_allclose(bounds, model.predict_interval(X, level), atol=1e-5)


def test_intervals_of_more_classes_are_refused():
    X, y = blobs(80, n_classes=3)
    with pytest.raises(ExportError, match=r"with 3 classes has no interval in closed form"):
        to_onnx(sx.BayesianLogisticRegression().fit(X, y), intervals=True)


def test_eigenvectors_are_refused():
    X, y = blobs(80, n_classes=3)
    model = sx.BayesianLogisticRegression(predictive="qmc").fit(X, y)
    with pytest.raises(ExportError, match=r"predictive='qmc'.*set_params\(predictive='exact'\)"):
        to_onnx(model)
    to_onnx(model.set_params(predictive="exact"))


def test_an_unknown_posterior():
    with pytest.raises(ExportError, match="kept as int has no form"):
        activations(3, Graph().input("Phi", "double", ["N", 2]))
