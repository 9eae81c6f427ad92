"""The shared lists: which models, which tables, which data. A new model is one line here."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from scipy import sparse

import separatrix as sx

#: Every classifier that is a sum over rows: equal for any blocking, any storage, weight k = k times.
SUM_MODELS = {
    "least_squares": lambda: sx.LeastSquaresClassifier(),
    "ridge": lambda: sx.LeastSquaresClassifier(alpha=2.0),
    "least_squares_no_intercept": lambda: sx.LeastSquaresClassifier(fit_intercept=False),
    "fisher": lambda: sx.FisherDiscriminant(),
    "fisher_mean": lambda: sx.FisherDiscriminant(scatter="mean"),
    "fisher_normal": lambda: sx.FisherDiscriminant(threshold="normal"),
    "fisher_shrunk": lambda: sx.FisherDiscriminant(shrinkage=0.3),
}

#: Every generative model, on columns that are numbers.
GENERATIVE = {
    "lda": lambda: sx.LinearDiscriminantAnalysis(),
    "lda_shrunk": lambda: sx.LinearDiscriminantAnalysis(shrinkage=0.3),
    "lda_evidence": lambda: sx.LinearDiscriminantAnalysis(shrinkage="evidence"),
    "lda_ledoit_wolf": lambda: sx.LinearDiscriminantAnalysis(shrinkage="ledoit-wolf"),
    "lda_map": lambda: sx.LinearDiscriminantAnalysis(estimate="map"),
    "lda_predictive": lambda: sx.LinearDiscriminantAnalysis(estimate="predictive"),
    "qda": lambda: sx.QuadraticDiscriminantAnalysis(),
    "qda_shrunk": lambda: sx.QuadraticDiscriminantAnalysis(shrinkage=0.3),
    "qda_evidence": lambda: sx.QuadraticDiscriminantAnalysis(shrinkage="evidence"),
    "qda_map": lambda: sx.QuadraticDiscriminantAnalysis(estimate="map"),
    "qda_predictive": lambda: sx.QuadraticDiscriminantAnalysis(estimate="predictive"),
    "naive_bayes": lambda: sx.NaiveBayes("normal", estimate="ml"),
    "naive_bayes_predictive": lambda: sx.NaiveBayes("normal", estimate="predictive"),
    "exponential_family": lambda: sx.ExponentialFamilyClassifier("normal", estimate="ml"),
}

#: Every model of p(C_k | x), to a tolerance at which its answers can be compared.
DISCRIMINATIVE = {
    "logistic": lambda: sx.LogisticRegression(tol=1e-11),
    "logistic_no_intercept": lambda: sx.LogisticRegression(fit_intercept=False, tol=1e-11),
    "logistic_lbfgs": lambda: sx.LogisticRegression(solver="lbfgs", tol=1e-11),
    "label_noise": lambda: sx.LabelNoiseLogisticRegression(noise=0.05, tol=1e-11),
}

#: Those of two classes alone.
TWO_CLASSES = {
    "probit": lambda: sx.ProbitRegression(tol=1e-11),
    "bayesian_probit": lambda: sx.BayesianLogisticRegression(likelihood="probit"),
}

#: A posterior over the weights.
BAYESIAN = {"bayesian": lambda: sx.BayesianLogisticRegression()}

MODELS = SUM_MODELS | DISCRIMINATIVE | BAYESIAN | {"perceptron": lambda: sx.Perceptron(max_epochs=200)}

#: Every way to hold a table in memory.
STORAGES = {
    "c_order": np.ascontiguousarray,
    "fortran_order": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=0)[::2],
    "csr": sparse.csr_array,
    "csc_matrix": sparse.csc_matrix,
    "pandas": lambda X: pd.DataFrame(X, columns=names(X)),
    "pandas_nullable": lambda X: pd.DataFrame(X, columns=names(X)).astype("Float64"),
    "polars": lambda X: pl.DataFrame(X, schema=names(X)),
    "pyarrow": lambda X: pa.table(dict(zip(names(X), X.T, strict=True))),
    "list": lambda X: X.tolist(),
    "object": lambda X: X.astype(object),
}


def names(X) -> list[str]:
    return [f"c{d}" for d in range(X.shape[1])]


def blobs(n=300, n_features=4, n_classes=3, seed=0, distance=1.5):
    """Correlated normal classes that overlap."""
    rng = np.random.default_rng(seed)
    mix = rng.normal(size=(n_features, n_features))
    y = rng.integers(n_classes, size=n)
    y[:n_classes] = np.arange(n_classes)
    X = rng.normal(size=(n, n_features)) @ mix + distance * rng.normal(size=(n_classes, n_features))[y]
    return X, y


def separable(n=100, n_features=3, seed=0, gap=0.2):
    """Two classes on the two sides of a random plane, with a gap between them."""
    rng = np.random.default_rng(seed)
    w = rng.normal(size=n_features)
    w /= np.linalg.norm(w)
    X = rng.normal(size=(n, n_features))
    y = (X @ w > 0).astype(int)
    return X + np.outer((2 * y - 1) * gap, w), y
