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
    "bayesian_probit": lambda: sx.BayesianLogisticRegression(sx.Gaussian(1.0), likelihood="probit"),
}

#: A posterior over the weights.
BAYESIAN = {"bayesian": lambda: sx.BayesianLogisticRegression(sx.Gaussian(1.0))}

MODELS = SUM_MODELS | DISCRIMINATIVE | BAYESIAN | {"perceptron": lambda: sx.Perceptron(max_epochs=200)}

#: Every public estimator, and every way to a posterior, with the tolerances that users get.
ESTIMATORS = {
    "least_squares": lambda: sx.LeastSquaresClassifier(),
    "fisher": lambda: sx.FisherDiscriminant(),
    "perceptron": lambda: sx.Perceptron(max_epochs=5),
    "lda": lambda: sx.LinearDiscriminantAnalysis(),
    "qda": lambda: sx.QuadraticDiscriminantAnalysis(),
    "naive_bayes": lambda: sx.NaiveBayes(),
    "exponential_family": lambda: sx.ExponentialFamilyClassifier(),
    "logistic": lambda: sx.LogisticRegression(),
    "logistic_soft": lambda: sx.LogisticRegression(prior=sx.Gaussian(2.0, mean=0.1, intercept_scale=5.0)),
    "probit": lambda: sx.ProbitRegression(),
    "label_noise": lambda: sx.LabelNoiseLogisticRegression(rates="per-class"),
    "poisson_model": lambda: sx.GeneralizedLinearModel("poisson"),
    "bayesian": lambda: sx.BayesianLogisticRegression(sx.Gaussian(1.0)),
    "bayesian_ep": lambda: sx.BayesianLogisticRegression(sx.Gaussian(1.0), approximation="ep"),
    "bayesian_variational": lambda: sx.BayesianLogisticRegression(sx.Gaussian(1.0), approximation="variational"),
    "bayesian_importance": lambda: sx.BayesianLogisticRegression(sx.Gaussian(1.0), approximation="importance"),
    "bayesian_soft": lambda: sx.BayesianLogisticRegression(sx.Gaussian(1.0), approximation="laplace"),
    "bayesian_tuned": lambda: sx.BayesianLogisticRegression(tune="evidence"),
    "bayesian_relevance": lambda: sx.BayesianLogisticRegression(
        tune="evidence", groups="columns", approximation="laplace"
    ),
    "one_vs_rest": lambda: sx.OneVsRest(sx.LinearDiscriminantAnalysis()),
    "one_vs_one": lambda: sx.OneVsOne(sx.LogisticRegression()),
    "decision_rule": lambda: sx.DecisionRule(sx.LinearDiscriminantAnalysis(), reject=0.6),
    "calibrated": lambda: sx.Calibrated(sx.LinearDiscriminantAnalysis(), "platt", cv=2),
    "average": lambda: sx.ModelAverage(
        [sx.BayesianLogisticRegression(sx.Gaussian(scale), structure="diagonal") for scale in (0.3, 1.0)]
    ),
    "table": lambda: sx.TableClassifier(sx.LogisticRegression()),
}
#: The same estimators with every solver, likelihood and basis that makes passes of another kind. Two solvers take steps
#: that depend on how sums are rounded, or on the order of rows: of those a narrow prior and a small tolerance make sure
#: that the ends are compared, and not the ways.
SETTINGS = {
    "lda_ledoit_wolf": lambda: sx.LinearDiscriminantAnalysis(shrinkage="ledoit-wolf"),
    "naive_bayes_tempered": lambda: sx.NaiveBayes("normal", temper=True),
    "logistic_flat": lambda: sx.LogisticRegression(prior=sx.Flat()),
    "logistic_newton": lambda: sx.LogisticRegression(solver="newton", fit_intercept=False),
    "logistic_lbfgs": lambda: sx.LogisticRegression(solver="lbfgs"),
    "logistic_gradient": lambda: sx.LogisticRegression(alpha=50.0, solver="gradient", tol=1e-11),
    "logistic_stochastic": lambda: sx.LogisticRegression(alpha=50.0, solver="stochastic", tol=1e-11),
    "normal_model": lambda: sx.GeneralizedLinearModel(),
    "bayesian_probit": lambda: sx.BayesianLogisticRegression(
        sx.Gaussian(1.0), approximation="laplace", likelihood="probit"
    ),
    "bayesian_noise": lambda: sx.BayesianLogisticRegression(
        sx.Gaussian(1.0), approximation="laplace", likelihood="label_noise"
    ),
    "bayesian_diagonal": lambda: sx.BayesianLogisticRegression(sx.Gaussian(1.0), structure="diagonal"),
    "bayesian_hmc": lambda: sx.BayesianLogisticRegression(sx.Gaussian(1.0), approximation="hmc"),
    "table_curved": lambda: sx.TableClassifier(curved=True),
    "linear": lambda: sx.LinearDiscriminantAnalysis(basis=sx.basis.Linear()),
    "polynomial": lambda: sx.LeastSquaresClassifier(basis=sx.basis.Polynomial(3)),
    "rbf": lambda: sx.LogisticRegression(basis=sx.basis.RBF("kmeans", n_centres=4)),
    "rbf_random": lambda: sx.ProbitRegression(basis=sx.basis.RBF("random", n_centres=4)),
    "multi_scale": lambda: sx.LeastSquaresClassifier(alpha=1.0, basis=sx.basis.MultiScaleRBF(2, n_scales=2)),
    "fourier": lambda: sx.LinearDiscriminantAnalysis(basis=sx.basis.RandomFourier(10)),
    "sigmoid": lambda: sx.LeastSquaresClassifier(alpha=1.0, basis=sx.basis.Sigmoid(n_centres=3)),
    "spline": lambda: sx.LeastSquaresClassifier(alpha=1.0, basis=sx.basis.Spline(n_knots=4, knots="quantile")),
    "union": lambda: sx.FisherDiscriminant(
        basis=sx.basis.Union([sx.basis.Linear(), sx.basis.Spline(3)]), shrinkage=0.1
    ),
}
#: Those of two classes alone: the others are a rest to them.
ONE_AGAINST_THE_REST = {"probit", "bayesian_ep", "bayesian_probit", "bayesian_noise", "rbf_random"}

#: Rows of each exponential family.
FAMILIES = {
    "bernoulli": lambda rng: rng.integers(2, size=(60, 3)),
    "categorical": lambda rng: rng.integers(4, size=(60, 3)),
    "multinomial": lambda rng: rng.integers(5, size=(60, 3)),
    "poisson": lambda rng: rng.poisson(2.0, size=(60, 3)),
    "exponential": lambda rng: rng.exponential(size=(60, 3)),
    "gamma": lambda rng: rng.gamma(2.0, size=(60, 3)),
    "beta": lambda rng: rng.beta(2.0, 3.0, size=(60, 3)),
    "dirichlet": lambda rng: rng.dirichlet([1.0, 2.0, 3.0], size=60),
    "multivariate_normal": lambda rng: rng.normal(size=(60, 3)),
}

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


def around_the_origin():
    """Three classes that one-vs-rest leaves ambiguous in the middle."""
    rng, y = np.random.default_rng(0), np.repeat([0, 1, 2], 40)
    angle = 2 * np.pi * y / 3
    return 3 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.7 * rng.normal(size=(120, 2)), y


def separable(n=100, n_features=3, seed=0, gap=0.2):
    """Two classes on the two sides of a random plane, with a gap between them."""
    rng = np.random.default_rng(seed)
    w = rng.normal(size=n_features)
    w /= np.linalg.norm(w)
    X = rng.normal(size=(n, n_features))
    y = (X @ w > 0).astype(int)
    return X + np.outer((2 * y - 1) * gap, w), y
