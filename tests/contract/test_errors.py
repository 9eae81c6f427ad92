"""One table of errors: for each mistake, the class of the error and the words that a user needs in its message.

A row is (what the user does, class, words). The words are the invalid value or column and a keyword of the remedy,
never the whole sentence. Errors that all classifiers share are in test_bad_input.py.
"""

from __future__ import annotations

import datetime as dt
import gzip
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import duckdb
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import separatrix as sx
from problems import blobs
from separatrix import table
from separatrix.datasets import make_mixed_types
from separatrix.decisions import decide
from separatrix.exceptions import CollinearError, DataError, ExportError, FileError, NoEstimateError
from separatrix.families import FAMILIES, FactsError, NormalGamma, NormalKnownVariance, SupportError, ValueCounts
from separatrix.files import FileReadError, FileWriteError, LibsvmFile, QueryError, open_table, open_writer, scan
from separatrix.generative.family_classifier import encode_text
from separatrix.geometry import Hyperplane, linear_functions, margin, radius
from separatrix.likelihoods import LabelNoise, SoftmaxLabelNoise
from separatrix.rows import LabelRules, open_rows, pair
from separatrix.solvers import LBFGS, GradientDescent, Newton
from separatrix.study import MODELS, conduct
from separatrix.table_model import Ramps

X, Y = blobs(60, n_classes=2, distance=4.0)
_, THREE = blobs(60, n_classes=3, distance=4.0)


class Mistake(NamedTuple):
    """A call that must raise; `call` gets an empty folder for its files."""

    name: str
    call: Callable[[Path], Any]
    error: type[Exception]
    words: tuple[str, ...]


def mistakes(*rows: tuple[Any, ...]) -> list[Mistake]:
    """Return the mistakes of rows (what the user does, call, class, words ...) whose calls need no folder."""
    return [Mistake(name, lambda _, call=call: call(), error, tuple(words)) for name, call, error, *words in rows]


# Hyperplanes, rules and decisions
PLANE_2D, HALF = Hyperplane([1.0, 2.0], 0.0), [[0.5, 0.5]]


def fisher(X, y, basis=None):
    return sx.FisherDiscriminant(basis=basis).fit(X, y)


RULES = mistakes(
    ("fisher targets of three classes", lambda: sx.LeastSquaresClassifier(targets="fisher").fit(X, THREE), DataError,
     "targets='fisher'", "3: 0, 1, 2"),
    ("the plane of three classes", lambda: Hyperplane.of(fisher(X, THREE)), DataError, "3", "no single plane"),
    ("the plane of a basis", lambda: Hyperplane.of(fisher(X, Y, SQUARES)), DataError, "without a basis"),
    *(
        (f"a plane with w = {w}", lambda w=w: Hyperplane(w, 0.0), ValueError, "not all zero")
        for w in ([0.0, 0.0], [np.nan, 1.0], [[1.0]])
    ),
    *(
        (f"a plane with {w, w0}", lambda w=w, w0=w0: Hyperplane([w, 0], w0), ValueError, "w0", "finite")
        for w, w0 in ((1.0, np.nan), (1.0, -np.inf), (1e-200, 1e200))
    ),
    ("rows of 4 columns for a plane of 2", lambda: PLANE_2D.side(X), DataError, "4 columns", "2 weights"),
    ("the foot of NaN", lambda: PLANE_2D.foot([[1.0, np.nan], [0.0, 1.0]]), DataError, "'x1'", "1 of 2"),
    ("one row per class", lambda: sx.FisherDiscriminant(shrinkage=0.5).fit(X[:3], [0, 1, 2]), DataError,
     "Every class has one row"),
    ("a margin of 9 labels", lambda: margin(PLANE_2D, X[:, :2], Y[:9]), DataError, "60 rows", "9 labels"),
    ("a margin of three classes", lambda: margin(PLANE_2D, X[:, :2], THREE), DataError, "two classes"),
    ("the radius of NaN", lambda: radius([[np.nan, 1.0], [0.0, 1.0]]), DataError, "'x0'", "1 of 2 rows"),
)  # fmt: skip

NAMED = np.array(["air", "earth", "fire"])[THREE]


def rule(**options):
    return sx.DecisionRule(GaussianNB(), **options).fit(X, NAMED)


RULES += [
    Mistake(name, lambda _, call=call: call(), error, tuple(words))
    for name, call, error, *words in [
        ("one probability per row", lambda: decide([0.2, 0.8]), DataError, "(2,)", "np.column_stack([1 - p, p])"),
        ("sums of 1.4", lambda: decide([[0.5, 0.5], [0.7, 0.7]]), DataError, "1 of 2 rows", "row 2", "[0.7 0.7]"),
        ("probability NaN", lambda: decide([[np.nan, 1.0]]), DataError, "not probabilities"),
        ("costs of 3 classes", lambda: decide(HALF, costs=np.zeros((3, 2))), DataError, "(3, 2)", "K = 2", "(2, 3)"),
        ("cost NaN", lambda: decide(HALF, costs=[[0, 1], [np.nan, 0]]), DataError, "costs[1, 0] is nan"),
        ("a threshold of 1.2", lambda: decide(HALF, reject=1.2), ValueError, "decide(reject=1.2)", "between 0 and 1"),
        ("a threshold of text", lambda: decide(HALF, reject="half"), ValueError, "reject='half'"),
        ("two rules", lambda: decide(HALF, reject=0.5, costs=np.ones((2, 3))), ValueError, "two rules"),
        ("cost of an unknown class", lambda: rule(costs={("air", "ice"): 2}), DataError, "('air', 'ice')", "'fire'"),
        ("cost of one class", lambda: rule(costs={"air": 2}), DataError, "the key 'air'", "pair"),
        ("one cost of rejecting", lambda: rule(costs={("air", "reject"): 1}), DataError, "not for 'earth', 'fire'"),
        ("a rule that rejects 2", lambda: rule(reject=2), ValueError, "DecisionRule(reject=2)"),
        ("a class as reject label", lambda: rule(reject=0.5, reject_label="air"), DataError, "'air' is also a class"),
        ("prefit rule", lambda: sx.DecisionRule(GaussianNB(), prefit=True).predict(X), NotFittedError, "prefit=True"),
    ]
]

# Calibration
FITTED, LONELY = FrozenEstimator(GaussianNB().fit(X, Y)), np.where(np.arange(60) == 7, "rare", np.where(Y, "b", "a"))


def calibrated(estimator: Any = None, y: Any = Y, weight: Any = None, **options: Any) -> Any:
    return sx.Calibrated(GaussianNB() if estimator is None else estimator, **options).fit(X, y, weight)


RULES += mistakes(
    ("an unknown map", lambda: calibrated(method="sigmoid"), ValueError, "method='sigmoid'", "'sigmoid' is 'platt'"),
    ("a map of one class", lambda: calibrated(y=np.ones(60)), DataError, "only one class", "1.0"),
    ("a map of a class with one row", lambda: calibrated(y=LONELY, cv=[(np.arange(30, 60), np.arange(30))]), DataError,
     "class 'rare' is in the same fold", "drop the class"),
    ("a map of unlabelled rows", lambda: calibrated(y=np.where(Y, np.nan, 1.0)), DataError, "labels are missing"),
    ("the choice of a map with one fold", lambda: calibrated(cv=[(np.arange(30), np.arange(30, 60))]), DataError,
     "cv=...", "set method"),
    ("weights of neighbours", lambda: calibrated(KNeighborsClassifier(), weight=np.arange(60)), TypeError,
     "KNeighborsClassifier.fit does not accept"),
    ("weights of zero for a map", lambda: calibrated(weight=np.zeros(60)), DataError, "Every sample_weight is zero"),
    ("a map of clusters", lambda: calibrated(KMeans(2)), TypeError, "KMeans", "predict_proba"),
    ("a map of votes", lambda: sx.Calibrated(SVC(decision_function_shape="ovo")).fit(*blobs(80, n_classes=4)),
     DataError, "6 columns", "4 classes", "decision_function_shape='ovr'"),
    ("a map of a scan", lambda: sx.Calibrated(GaussianNB()).fit(scan(pa.table({"a": X[:, 0]})), Y), DataError,
     "cannot select rows by number", "FrozenEstimator(model)"),
    ("an unfitted frozen model", lambda: calibrated(FrozenEstimator(GaussianNB())), NotFittedError, "FrozenEstimator"),
    ("a frozen model of other labels", lambda: calibrated(FITTED, y=Y + 1), DataError, "label 2", "0, 1"),
    ("an unknown shift", lambda: calibrated(prior_shift="auto"), ValueError, "prior_shift='auto'", "'em'"),
    ("a shift to 1.5", lambda: calibrated(prior_shift=[0.5, 1.0]), DataError, "prior_shift=[0.5, 1.0]", "sum to 1.5"),
    ("a shift of one class", lambda: calibrated(prior_shift={0: 1.0}), DataError, "prior_shift", "class 1"),
    ("a shift of an absent class", lambda: calibrated(FITTED, Y[Y == 0][:1].repeat(60), prior_shift="em"), DataError,
     "without rows of class 1", "prior_shift"),
    ("a set of level 95", lambda: calibrated().predict_set(X, 95), ValueError, "level=95", "between 0 and 1"),
    ("a map of a fitted model", lambda: calibrated(cv="prefit"), ValueError, "'prefit'", "FrozenEstimator"),
    ("a set before the fit", lambda: sx.Calibrated(GaussianNB()).predict_set(X), NotFittedError, "Calibrated"),
)  # fmt: skip

# Generative models and exponential families
LDA, QDA, NB = sx.LinearDiscriminantAnalysis, sx.QuadraticDiscriminantAnalysis, sx.NaiveBayes
Exponential = sx.ExponentialFamilyClassifier
HOLES = np.where(np.arange(240).reshape(60, 4) % 7, X, np.nan)
FRAME = pd.DataFrame(X, columns=list("abcd"))
EMPTY = np.where(np.arange(4) == 2, np.nan, X)
ONES = NormalKnownVariance.facts([[1.0], [1.0]], np.ones((2, 1)))
LEDOIT = QDA(shrinkage="ledoit-wolf")
SQUARES, CUBES = sx.basis.Polynomial(2), sx.basis.Polynomial(3)
EM = ("fitted by EM", "refit")
MULTILABEL = np.tile([[1, 1, 0], [0, 1, 0]], (30, 1)).tolist()
ZEROS = ValueCounts.of(np.zeros((1, 1)), np.ones((1, 1)))


def lda(X=X, y=Y, **arguments):
    return LDA(**arguments).fit(X, y)


def fits(model, X=X, y=Y):
    return lambda: model.fit(X, y)


def changed(X, rows, column, value):
    X = X.copy()
    X[rows, column] = value
    return X


def counts(family):
    return NB(family).fit(np.abs(np.round(X)), Y)


def linear(family):
    rows = np.eye(2)[Y] if family == "bernoulli" else np.abs(X)
    return lambda: Exponential(family, shared_scale=False, estimate="ml").fit(rows, Y).coef_


def encoded(X, d):
    return lambda: encode_text(X, {d: np.array(["a"])})


GENERATIVE = mistakes(
    # Class probabilities, samples
    ("probabilities of one class of two", fits(LDA(priors=[1.0])), DataError, "[1.0]", "2 classes"),
    ("class probabilities of sum 1.5", fits(LDA(priors=[0.5, 1.0])), DataError, "1.5", "to 1"),
    ("a class without a probability", fits(LDA(priors={0: 1.0})), DataError, "class 1", "no entry"),
    ("a negative class probability", fits(NB(priors=[1.5, -0.5])), DataError, "-0.5", "one probability"),
    ("samples of a basis", lambda: lda(basis=SQUARES).sample(3), DataError, "Fit without basis"),
    ("samples of an unknown class", lambda: lda().sample(3, y="z"), DataError, "'z'", "[0, 1]"),
    # Batches, new classes, merging
    ("a class that exists", lambda: lda().add_class(X, 1), DataError, "1 is already a class", "partial_fit"),
    ("a class of too few rows", lambda: QDA().fit(X, Y).add_class(X[:1], 9), CollinearError, "class 9"),
    ("a class of text", lambda: lda().add_class(X, "new"), DataError, "numbers", "text", "same type"),
    ("classes of text", lambda: lda().partial_fit(X, Y, classes=["a"]), DataError, "new classes are text"),
    ("merging two types", lambda: lda().merge(QDA().fit(X, Y)), TypeError, "merge Linear", "with Quadratic"),
    ("merging 4 and 3 columns", lambda: lda().merge(lda(X[:, :3])), DataError, "4 and 3 columns"),
    ("other order", lambda: lda(FRAME).merge(lda(FRAME[list("bacd")])), DataError, "'a', 'b'", "'b', 'a'"),
    ("merging bases", lambda: lda(basis=SQUARES).merge(lda(basis=CUBES)), DataError, "different bases"),
    ("merging families", lambda: counts("poisson").merge(counts("normal")), DataError, "Column 0", "families="),
    ("a batch after EM", lambda: lda(HOLES).partial_fit(X, Y), DataError, *EM),
    ("a class after EM", lambda: lda(HOLES).add_class(X, 9), DataError, *EM),
    ("merging after EM", lambda: lda().merge(lda(HOLES)), DataError, *EM),
    ("an unlabelled batch", lambda: NB(unlabelled=0).partial_fit(X, Y), DataError, "28 rows", "EM"),
    ("only unlabelled rows", fits(LDA(unlabelled=-1), y=np.full(60, -1)), DataError, "None of 60 rows"),
    # Normal classes
    ("missing values in a batch", lambda: LDA().partial_fit(HOLES, Y), DataError, "all rows", "impute"),
    ("a column without values", fits(LDA(), EMPTY), DataError, "'x2'", "any class"),
    ("a class without values", fits(QDA(), changed(X, Y == 1, 2, np.nan)), DataError, "'x2'", "class 1"),
    ("Ledoit-Wolf in batches", lambda: LEDOIT.partial_fit(X, Y), DataError, "'evidence'"),
    ("Ledoit-Wolf of NaN", fits(LEDOIT, HOLES), DataError, "complete", "'evidence'"),
    ("unknown shrinkage", fits(LDA(shrinkage="best")), ValueError, "'best'", "'ledoit-wolf'", "number"),
    ("negative shrinkage", fits(QDA(shrinkage=-0.1)), ValueError, "-0.1", "between 0 and 1"),
    ("unknown estimate of LDA", fits(LDA(estimate="bayes")), ValueError, "'bayes'", "'predictive'"),
    ("directions of two classes", fits(LDA(n_components=2)), ValueError, "=2", "2 classes", "cannot be larger"),
    ("LDA of one row per class", fits(LDA(), X[:2], [0, 1]), CollinearError, "Every class", "more rows"),
    ("LDA of constants", fits(LDA(), np.ones((60, 4))), CollinearError, "Every column is constant", "Add columns"),
    ("QDA of a class of one row", fits(QDA(), y=np.arange(60) > 58), CollinearError, "class True", "= 1", "shrinkage"),
    # Families of columns
    ("an unknown family for all columns", fits(NB("gaussian")), ValueError, "'gaussian'", "'bernoulli'"),
    ("an unknown family for a column", fits(NB({"x0": "poison"})), ValueError, "'poison'", "'poisson'"),
    ("a number as family", fits(NB(3)), ValueError, "families=3", "'auto'"),
    ("a family of rows for columns", fits(NB("multinomial")), ValueError, "ExponentialFamilyClassifier"),
    ("the family of an unknown column", fits(NB({"agee": "normal"})), DataError, "'agee'", "'x0', 'x1'"),
    ("the family of column 4 of 4", fits(NB({4: "normal"})), DataError, "column 4", "0 to 3"),
    ("text that is normal", fits(NB("normal"), FRAME.astype(str)), DataError, "'a'", "text", "'categorical'"),
    ("NaN in a multinomial", fits(Exponential("multinomial"), HOLES), DataError, "'x0'", "9 missing"),
    ("an unknown family of rows", fits(Exponential("gaussian")), ValueError, "'gaussian'", "'bernoulli'"),
    ("an unknown estimate", fits(Exponential(estimate="mle")), ValueError, "'mle'", "'predictive'"),
    ("a pseudo-count of 0", fits(NB(pseudo_count=0)), ValueError, "pseudo_count=0", "greater than 0"),
    ("a shared gamma", fits(Exponential("gamma", estimate="predictive")), ValueError, "shared_scale=False"),
    *(
        (f"an empty {family} column", fits(NB(family), EMPTY), NoEstimateError, "'x2'", "drop")
        for family in ("auto", "normal", "categorical")
    ),
    ("equal values", fits(NB("gamma"), np.where(np.arange(4) == 1, 3.5, np.exp(X))), NoEstimateError, "'x1'", "drop"),
    ("equal rows", fits(NB("normal"), np.ones((60, 4))), NoEstimateError, "Every column is constant", "Add columns"),
    *(
        (f"temper={temper!r}", fits(NB(temper=temper)), ValueError, f"temper={temper!r}", "greater than 0")
        for temper in (0, -1.0, np.nan, np.inf, "yes", None)
    ),
    ("fitted exponent", lambda: NB(temper=True).partial_fit(X, Y), DataError, "temper=<a number>"),
    *(
        (f"the weights of {family}", linear(family), AttributeError, "not linear in column 'x0'")
        for family in ("normal", "gamma", "multivariate_normal")
    ),
    ("infinite weights", linear("bernoulli"), AttributeError, "0 in column 'x0'", "estimate='map'"),
    ("quadratic form", lambda: QDA(estimate="predictive").fit(X, Y).coef_, AttributeError, "predictive"),
    # Labels
    *(
        (f"multilabel y of {type(model).__name__} as {kind.__name__}", fits(model, X, kind(MULTILABEL)), DataError,
         "3 columns of 0 and 1, and row 1", "MultiOutputClassifier(model)")
        for model in (sx.LogisticRegression(), sx.BayesianLogisticRegression(tune=None), LDA(), sx.OneVsRest(NB()))
        for kind in (np.array, list, pd.DataFrame)
    ),
    ("probabilities for LDA", fits(LDA(), X, np.full((60, 2), 0.5)), DataError, "(60, 2)", "LogisticRegression"),
    # Infinity, which has a limit of the probabilities
    *(
        (f"{sign * np.inf} in {name} of {model} with {len(np.unique(t))} classes",
         lambda m=model, n=name, t=t, s=sign: getattr(clone(m).fit(X[:, :3], t), n)([[0.0, s * np.inf, 0.0]]),
         DataError, "'x1'", "infinit")
        for sign in (1, -1)
        for name in ("predict", "predict_proba")
        for model, t in [
            (sx.LogisticRegression(), Y), (sx.LogisticRegression(), THREE), (sx.ProbitRegression(), Y),
            (sx.LabelNoiseLogisticRegression(noise=0.05), Y), (sx.DecisionRule(sx.LogisticRegression()), Y),
            (sx.OneVsRest(sx.LogisticRegression()), THREE), (sx.OneVsOne(sx.LogisticRegression()), THREE),
        ]
    ),
    # Class weights
    ("unknown class weight", fits(sx.LogisticRegression(class_weight={7: 2})), DataError, "7", "labels are 0, 1"),
    ("negative class weight", fits(LDA(class_weight={0: -2})), ValueError, "factor of 0 is -2", "at least 0"),
    ("class weights of zero", fits(LDA(class_weight={0: 0, 1: 0})), DataError, "class_weight", "positive weight"),
    ("class weights of zero of lazy rows",
     fits(sx.LogisticRegression(class_weight={0: 0, 1: 0}), da.from_array(X), Y), DataError, "class_weight of its row"),
    ("class weight NaN", fits(NB(class_weight={1: np.nan})), ValueError, "factor of 1 is nan"),
    ("class weights in a list", fits(sx.Perceptron(class_weight=[1, 2])), ValueError, "[1, 2]", "'balanced'"),
    ("class weight 'auto'", fits(sx.FisherDiscriminant(class_weight="auto")), ValueError, "'auto'", "'balanced'"),
    ("balanced batches", lambda: LDA(class_weight="balanced").partial_fit(X, Y), ValueError, "{label: factor}"),
    ("balanced posterior batches",
     lambda: sx.BayesianLogisticRegression(class_weight="balanced").partial_fit(X, Y), ValueError, "{label: factor}"),
    ("correction of a class without weight",
     fits(sx.LogisticRegression(class_weight={0: 0}, prior_correction=True)), ValueError, "factor 0", "positive"),
    ("correction of wrong labels",
     fits(sx.LabelNoiseLogisticRegression(prior_correction=True)), ValueError, "DecisionRule"),
    ("correction of a Bayesian probit",
     fits(sx.BayesianLogisticRegression(likelihood="probit", prior_correction=True)), ValueError, "log-odds"),
    ("a corrected path without intercept",
     lambda: sx.regularization_path(
         sx.ProbitRegression(prior=sx.ElasticNet(), fit_intercept=False, prior_correction=True), X, Y),
     ValueError, "fit_intercept=True"),
    ("correction without intercept",
     fits(sx.LogisticRegression(fit_intercept=False, prior_correction=True)), ValueError, "fit_intercept=True"),
    ("correction with unlabelled rows",
     fits(LDA(prior_correction=True, unlabelled=-1), X, np.where(np.arange(60) < 5, -1, Y)), DataError, "5 rows"),
    # Text columns
    ("a frame without its text", encoded(FRAME, 1), DataError, "'b'", "text"),
    ("an array without its text", encoded(X, 1), DataError, "'x1'", "text"),
    ("objects with numbers", encoded(np.array([["a"], [3]], dtype=object), 0), DataError, "'x0'", "text"),
    ("text and numbers", lambda: ZEROS + ZEROS.renamed(0, np.array(["a"])), DataError, "'a'", "one type"),
    # Statistics that determine no parameters
    ("no spread", lambda: NormalKnownVariance.ml(ONES), FactsError, "column 0", "give sd"),
    ("a negative sd", lambda: FAMILIES["normal"]([0.0], [-2.0]), ValueError, "Normal: sd", "positive", "-2"),
    ("a rate of NaN", lambda: FAMILIES["poisson"](np.nan), ValueError, "Poisson: rate", "positive", "nan"),
    ("the mode of a wide prior", lambda: NormalGamma(0.0, 1.0, 1.0, 1.0).mode, ValueError, "shape", "3/2"),
)  # fmt: skip

# Discriminative models, likelihoods, priors, solvers, separation
COUNTS, POLYNOMIAL = np.arange(60) % 4, sx.basis.Polynomial(2)


def with_fourth(values: Any, value: float) -> Any:
    """Copy with another fourth value, in the first column if it is a table."""
    changed = np.array(values, dtype=np.float64)
    changed[(3, 0) if changed.ndim == 2 else 3] = value
    return changed


def path(Y=Y, prior=None, **options):
    return sx.regularization_path(sx.LogisticRegression(prior=prior or sx.ElasticNet()), X, Y, **options)


def logistic(y: Any = Y, **options: Any) -> Any:
    return sx.LogisticRegression(**options).fit(X, y)


def label_noise(noise: Any, y: Any = Y) -> Any:
    return sx.LabelNoiseLogisticRegression(noise=noise).fit(X, y)


def glm(family: str, link: str | None = None, *, rows: Any = X, y: Any = COUNTS + 1.0, **given: Any) -> Any:
    return sx.GeneralizedLinearModel(family, link).fit(rows, y, **given)


POISSON = glm("poisson")
PAIRS = sx.OneVsOne(SVC(kernel="precomputed"))
DISCRIMINATIVE = mistakes(
    ("alpha below 0", lambda: logistic(alpha=-1.0), ValueError, "alpha=-1.0", "at least 0"),
    ("alpha not a number", lambda: logistic(alpha=np.nan), ValueError, "alpha=nan"),
    ("tol of 0", lambda: logistic(tol=0.0), ValueError, "tol=0.0", "greater than 0"),
    ("steps in parts", lambda: logistic(max_steps=2.5), ValueError, "max_steps=2.5", "integer"),
    ("unknown solver", lambda: logistic(solver="cg"), ValueError, "solver='cg'", "'auto'", "solver object"),
    ("solver class", lambda: logistic(solver=Newton), ValueError, "is a class", "Newton()"),
    ("tol twice", lambda: logistic(solver=Newton(), tol=1e-4), ValueError, "tol=0.0001", "own settings"),
    ("rng twice", lambda: logistic(solver=Newton(), rng=0), ValueError, "rng=0", "own settings"),
    ("a Newton step to a corner", lambda: logistic(prior=sx.ElasticNet(), solver="newton"), ValueError,
     "solver='newton'", "solver='auto'"),
    ("a group per class", lambda: logistic(prior=sx.ElasticNet(groups=[0, 1])), DataError, "(2,)", "one label per"),
    ("groups with None", lambda: logistic(prior=sx.ElasticNet(groups=["a", *[None] * (X.shape[1] - 1)])), DataError,
     "groups=", "all numbers or all text"),
    ("a path down to zero", lambda: path(ratio=0.0), ValueError, "ratio=0", "greater than 0"),
    ("a ratio above one", lambda: logistic(prior=sx.ElasticNet(l1_ratio=2.0)), ValueError, "l1_ratio=2.0", "between 0"),
    ("a negative strength", lambda: logistic(prior=sx.ElasticNet(-1.0)), ValueError, "alpha=-1.0", "at least 0"),
    ("label noise with a corner", lambda: sx.LabelNoiseLogisticRegression(prior=sx.ElasticNet()).fit(X, Y), ValueError,
     "ElasticNet()", "Gaussian(...)"),
    ("a path without an elastic net", lambda: sx.regularization_path(sx.LogisticRegression(), X, Y), ValueError,
     "prior=ElasticNet(...)", "None"),
    ("a path of another model", lambda: sx.regularization_path(sx.LinearDiscriminantAnalysis(), X, Y), ValueError,
     "LinearDiscriminantAnalysis", "GridSearchCV"),
    ("a path of a ridge without alphas", lambda: path(prior=sx.ElasticNet(l1_ratio=0.0)), ValueError, "l1_ratio=0",
     "alphas=..."),
    ("alphas of zero", lambda: path(alphas=[1.0, 0.0]), ValueError, "alphas=", "greater than 0"),
    ("one fold", lambda: path(folds=1), ValueError, "folds=1", "at least 2"),
    ("a class in one fold", lambda: path(Y=[0] * 59 + [1], folds=3), DataError, "class 1", "one fold"),
    ("a choice without cross-validation", lambda: path(n_alphas=2).best, DataError, "folds=5"),
    ("prior as a word", lambda: logistic(prior="normal"), ValueError, "prior='normal'", "Gaussian(...)"),
    ("soft targets that sum to 1.2", lambda: logistic(np.full((60, 2), 0.6)), DataError, "Row 1", "1.2"),
    ("soft targets above 1", lambda: logistic(np.tile([1.5, -0.5], (60, 1))), DataError, "Row 1", "1.5"),
    ("text in two columns of y", lambda: logistic([("a", "b"), ("c", "d")] * 30), DataError, "(60, 2)", "one label"),
    ("soft targets too few", lambda: logistic(np.full((59, 2), 0.5)), DataError, "60 rows", "59 labels"),
    ("probit of three classes", lambda: sx.ProbitRegression().fit(X, THREE), DataError, "0, 1, 2", "OneVsRest"),
    ("Newton with a negative tol", lambda: Newton(tol=-1e-3), ValueError, "Newton(tol=-0.001)"),
    ("L-BFGS without memory", lambda: LBFGS(memory=0), ValueError, "LBFGS(memory=0)"),
    ("descent of -1 steps", lambda: GradientDescent(max_steps=-1), ValueError, "GradientDescent(max_steps=-1)"),
    ("Perceptron overflows", lambda: sx.Perceptron().fit(X * 1e300, Y), DataError, "overflowed", "Standard"),
    ("functions of neighbours", lambda: linear_functions(KNeighborsClassifier().fit(X, Y)), DataError, "no coef_"),
    ("functions of a basis", lambda: linear_functions(logistic(basis=POLYNOMIAL)), DataError, "with a basis"),
    ("functions without a fit", lambda: linear_functions(sx.LogisticRegression()), NotFittedError, "not fitted"),
    # Label noise
    ("noise of one half", lambda: label_noise(0.5), ValueError, "noise=0.5", "below 0.5"),
    ("noise of three classes", lambda: label_noise(0.7, THREE), ValueError, "0.7", "below 0.667"),
    ("noise as a word", lambda: label_noise("much"), ValueError, "noise='much'", "number"),
    ("noise of another shape", lambda: label_noise(np.eye(3)), DataError, "(3, 3)", "2 classes"),
    ("confusion above 1", lambda: label_noise([[1.2, -0.2], [0, 1]]), DataError, "confusion[0, 0] is 1.2"),
    ("confusion of 1.1", lambda: label_noise([[0.9, 0.2], [0.1, 0.9]]), DataError, "confusion[0]", "1.1", "Divide"),
    ("rival label", lambda: label_noise([[0.4, 0.6], [0.1, 0.9]]), DataError, "confusion[0, 1] = 0.6", "transpose"),
    ("noisy soft targets", lambda: label_noise(0.1, np.eye(2)[Y]), DataError, "2 columns", "LogisticRegression"),
    ("new label", lambda: label_noise(0.1).mislabelled(X[:2], [0, 7]), DataError, "label 7", "0, 1"),
    ("too few labels", lambda: label_noise(0.1).mislabelled(X[:2], [0]), DataError, "2 rows", "1 label;"),
    ("rates of one half", lambda: LabelNoise(0.5), ValueError, "eps0=0.5", "less than 1"),
    ("rate below 0", lambda: LabelNoise(-0.1), ValueError, "eps0=-0.1"),
    ("confusion not square", lambda: SoftmaxLabelNoise(np.ones((2, 3)) / 3), DataError, "(2, 3)", "(K, K)"),
    ("noisy shares", lambda: SoftmaxLabelNoise(np.eye(2)).posterior(X[:, :2], X), DataError, "not probabilities"),
    ("label never given", lambda: SoftmaxLabelNoise([[1, 0], [1, 0]]), DataError, "confusion[:, 1]", "Drop"),
    # Generalised linear models
    ("unknown family", lambda: glm("normal"), ValueError, "family='normal'", "'gaussian'"),
    ("unknown link", lambda: glm("poisson", "logit"), ValueError, "link='logit'", "'log'"),
    ("negative count", lambda: glm("poisson", y=with_fourth(COUNTS, -1)), DataError, "y is -1 in row 4", "Counts"),
    ("gamma target of 0", lambda: glm("gamma", y=with_fourth(COUNTS + 1, 0)), DataError, "y is 0 in row 4", "Drop"),
    ("bernoulli of 2", lambda: glm("bernoulli", y=with_fourth(Y, 2)), DataError, "y is 2 in row 4", "fract"),
    ("large target", lambda: glm("gaussian", y=with_fourth(Y, 1e200)), DataError, "1e+200 in row 4", "Divide"),
    ("target not a number", lambda: glm("gaussian", y=with_fourth(Y, np.nan)), DataError, "NaN in row 4"),
    ("targets as words", lambda: glm("gaussian", y=["a"] * 60), DataError, "y must contain numbers"),
    ("targets too few", lambda: glm("gaussian", y=np.ones(7)), DataError, "60 rows", "7 targets"),
    ("no events", lambda: glm("poisson", y=np.zeros(60)), DataError, "is 0", "events"),
    ("only successes", lambda: glm("bernoulli", y=np.ones(60)), DataError, "is 1", "+infinity"),
    ("no trials", lambda: glm("binomial", y=np.zeros((60, 2))), DataError, "no trials"),
    ("failures below 0", lambda: glm("binomial", y=with_fourth(np.ones((60, 2)), -1)), DataError, "1.0] in row 4"),
    ("infinite row", lambda: glm("gaussian", rows=with_fourth(X, np.inf)), DataError, "column 'x0'"),
    ("weight below 0", lambda: glm("gaussian", sample_weight=with_fourth(Y, -1)), DataError, "sample_weight[3]"),
    ("weights of 0", lambda: glm("gaussian", sample_weight=np.zeros(60)), DataError, "sample_weight is zero"),
    ("offsets too few", lambda: glm("poisson", offset=np.zeros(7)), DataError, "offset.shape == (7,)", "each row"),
    ("exposure of 0", lambda: glm("poisson", exposure=Y), DataError, "exposure is 0 in row 1", "Drop"),
    ("exposure and identity", lambda: glm("gaussian", exposure=1.0), ValueError, "'identity'", "offset"),
    ("log of a mean of -1", lambda: glm("gaussian", "log", y=-np.ones(60)), DataError, "-1", "link='identity'"),
    ("unknown coefficient", lambda: POISSON.test(["x0", "z"]), ValueError, "'z'", "'x0', 'x1'", "'intercept'"),
    ("coefficient out of range", lambda: POISSON.test(9), ValueError, "columns=9", "positions"),
    ("unknown test", lambda: POISSON.test("x0", method="lr"), ValueError, "method='lr'", "'wald'"),
    ("unknown interval", lambda: POISSON.summary(interval="exact"), ValueError, "interval='exact'", "'profile'"),
    ("level in percent", lambda: POISSON.summary(level=95), ValueError, "level=95", "0.95"),
    ("predicted offsets too few", lambda: POISSON.predict(X, offset=np.zeros(3)), DataError, "one offset"),
    ("predicted row with NaN", lambda: POISSON.predict(with_fourth(X, np.nan)), DataError, "column 'x0'"),
    # Separation
    ("separability of one class", lambda: sx.is_separable(X, np.zeros(60)), DataError, "only one class"),
    ("separability of 59 labels", lambda: sx.is_separable(X, Y[1:]), DataError, "60 rows but y has 59"),
    ("class without weight", lambda: sx.is_separable(X, Y, sample_weight=Y), DataError, "class 0 has weight 0"),
    ("no weights", lambda: sx.is_separable(X, Y, sample_weight=0 * Y), DataError, "Every sample_weight is zero"),
    ("batches without classes", lambda: sx.OneVsRest(NB()).partial_fit(X, THREE), ValueError, "classes=..."),
    ("a batch of other classes",
     lambda: sx.OneVsOne(NB()).partial_fit(X, THREE, classes=[0, 1, 2]).partial_fit(X, THREE, classes=[0, 1]),
     DataError, "[0, 1]", "first batch"),
    ("a batch with a class that was not named",
     lambda: sx.OneVsOne(NB()).partial_fit(X, THREE, classes=[0, 1]), DataError, "Label 2"),
    ("pairs of a kernel", lambda: PAIRS.fit(X @ X.T, THREE), DataError, "SVC needs similarities", "OneVsRest"),
    ("margin of overlapping classes", lambda: sx.is_separable(X, Y[::-1]).margin, DataError, "'overlapping'"),
    ("bound of three classes", lambda: sx.is_separable(X, THREE).novikoff, DataError, "y has 3", "two classes"),
    ("separability of NaN", lambda: sx.is_separable(with_fourth(X, np.nan), Y), DataError, "column 'x0'"),
)  # fmt: skip


# Bayesian models
def tune(**arguments: Any) -> Any:
    return sx.bayesian.tune_model(lambda noise: sx.BayesianLogisticRegression(noise=noise), X, Y, **arguments)


def bayesian(rows: Any = X, y: Any = Y, **arguments: Any) -> Any:
    return sx.BayesianLogisticRegression(**{"tune": None} | arguments).fit(rows, y)


def tuned(**arguments: Any) -> Any:
    return bayesian(tune="evidence", **arguments)


def evidence_of(y: Any = Y, **arguments: Any) -> Any:
    axes = {"basis_of_width": lambda width: sx.basis.RBF(width=width), "widths": [1.0], "scales": [1.0]}
    return sx.evidence_surface(X, y, **axes | arguments)


def batches(y: Any, **arguments: Any) -> Any:
    model = sx.BayesianLogisticRegression(**{"tune": None} | arguments).partial_fit(X, Y)
    return model.partial_fit(X, y, classes=np.unique(y))


BAYESIAN = mistakes(
    ("an unknown likelihood", lambda: bayesian(likelihood="normal"), ValueError, "'normal'", "'probit'"),
    ("an unknown approximation", lambda: bayesian(approximation="mcmc"), ValueError, "'mcmc'", "'laplace'"),
    ("an unknown predictive rule", lambda: bayesian(predictive="mean"), ValueError, "'mean'", "'exact'"),
    ("an unknown structure", lambda: bayesian(structure="sparse"), ValueError, "'sparse'", "'dual'"),
    ("an unknown way to tune", lambda: bayesian(tune="cv"), ValueError, "'cv'", "'evidence', or None"),
    ("a tolerance of 0", lambda: bayesian(tol=0), ValueError, "tol=0", "greater than 0"),
    ("mostly wrong labels", lambda: bayesian(noise=0.7), ValueError, "noise=0.7", "0.5"),
    ("groups but no tuning", lambda: bayesian(groups="columns"), ValueError, "'columns'", "tune='evidence'"),
    ("too few groups", lambda: tuned(groups=[0, 1]), DataError, "2 labels", "one label for each column"),
    ("an unknown kind of groups", lambda: tuned(groups="rows"), DataError, "'rows'", "'columns'"),
    ("groups for a full covariance",
     lambda: tuned(groups="columns", prior=sx.Gaussian(covariance=0.5 + np.eye(X.shape[1]))), DataError,
     "one scale to tune", "groups=None"),
    ("groups for a diagonal structure", lambda: tuned(groups="columns", structure="diagonal"), DataError, "'diagonal'",
     "groups=None"),
    ("dual with many rows", lambda: bayesian(structure="dual"), DataError, "60 rows", "structure=None"),
    ("by class for two classes", lambda: bayesian(structure="by class"), DataError, "more than two"),
    ("expectation propagation of a diagonal structure", lambda: bayesian(structure="diagonal", approximation="ep"),
     DataError, "'ep'", "'diagonal'", "approximation='laplace'"),
    ("expectation propagation of three classes", lambda: bayesian(y=THREE, approximation="ep"), ValueError, "Softmax",
     "importance"),
    ("probit of 3 classes", lambda: bayesian(y=THREE, likelihood="probit"), DataError, "probit", "OneVs"),
    ("a prior that is a number", lambda: bayesian(prior=1.0), ValueError, "prior=1.0", "Gaussian"),
    ("a flat prior", lambda: bayesian(prior=sx.Flat()), DataError, "evidence", "LogisticRegression"),
    ("a prior with corners", lambda: bayesian(prior=sx.ElasticNet(2.0)), ValueError, "ElasticNet(alpha=2.0)",
     "LogisticRegression", "tune='evidence'"),
    ("an infinite scale", lambda: bayesian(prior=sx.Gaussian([1, np.inf, 1, 1])), DataError, "'x1'", "finite scales"),
    ("a prior too wide for three classes", lambda: bayesian(y=THREE, prior=sx.Gaussian(1e7)), DataError,
     "too wide for 3 classes", "smaller scale"),
    ("sample weights that leave no digit for the prior of many weights", lambda: sx.BayesianLogisticRegression().fit(
        np.sin(np.arange(6000.0) ** 2).reshape(100, 60), np.arange(100) % 4, np.full(100, 1e30)), DataError,
     "rounding error hides", "Divide the sample weights"),
    ("a batch with a new class", lambda: batches(THREE), DataError, "first batch", "[0, 1]"),
    ("a second batch of a diagonal structure", lambda: batches(Y, structure="diagonal"), DataError, "'diagonal'",
     "fit all rows at once"),
    ("an odd number of integration points", lambda: bayesian(y=THREE).predict_with_error(X, n=100), ValueError, "n=100",
     "power of two", "n=128"),
    ("a negative width", lambda: evidence_of(widths=[1.0, -1.0]), ValueError, "widths", "greater than 0"),
    ("no scale", lambda: evidence_of(scales=[]), ValueError, "scales", "greater than 0"),
    ("an evidence of one class", lambda: evidence_of(np.ones(60)), DataError, "every label is 1.0", "two"),
    ("an evidence of too few labels", lambda: evidence_of(Y[1:]), DataError, "60 rows", "59 labels"),
    ("a flat intercept in an evidence surface", lambda: evidence_of(intercept_scale=np.inf), DataError, "intercept",
     "intercept_scale="),
    ("neither bounds nor values to tune over", lambda: tune(), ValueError, "either bounds=", "values="),
    ("both bounds and values to tune over", lambda: tune(bounds=(0.1, 0.2), values=[0.1]), ValueError, "either bounds=",
     "not both"),
    ("no value to tune over", lambda: tune(values=[]), ValueError, "values=[]", "at least one"),
    ("one bound to tune between", lambda: tune(bounds=0.5), ValueError, "bounds=0.5", "two numbers"),
    ("bounds in the wrong order", lambda: tune(bounds=(2.0, 1.0)), ValueError, "(2.0, 1.0)", "low < high"),
    ("a bound of 0 on a logarithmic scale", lambda: tune(bounds=(0.0, 0.4)), ValueError, "(0.0,", "log="),
    ("tuning a model without evidence", lambda: sx.bayesian.tune_model(sx.LogisticRegression, X, Y, values=[1.0]),
     TypeError, "LogisticRegression(", "BayesianLogisticRegression"),
)  # fmt: skip

# Basis functions, sufficient statistics, rows in memory, on Dask and on a device
HALVES = da.arange(60, chunks=9) % 2
WRAP = "sx.TableClassifier(model)"
CITIES = {"ok": [1.0, 2.0], "city": ["Oslo", "Rome"], "when": np.array(["2020-01-01"] * 2, "datetime64[us]")}


def _lazy_fit(rows: Any) -> None:
    sx.LogisticRegression().fit(rows, np.arange(60) % 2)


def _other_part(change: Callable[[pd.DataFrame], pd.DataFrame]) -> None:
    frame = pd.DataFrame(np.ones((60, 2)), columns=["a", "b"])
    parts = [dask.delayed(change(half)) for half in (frame[:30], frame[30:])]
    _lazy_fit(dd.from_delayed(parts, meta=frame[:0], verify_meta=False))


def _lazy_labels(y: Any, weight: Any = None, **rules: Any) -> None:
    open_rows(da.zeros((60, 1), chunks=((25, 0, 30, 5), 1))).with_labels(y, weight, LabelRules(**rules))


def _labels(y: Any, weight: Any = None, **rules: Any) -> None:
    pair(y, weight, 3, LabelRules(**rules))


def _shares(*row: float) -> None:
    _labels(np.array([[0.2, 0.3, 0.5], row, [0.0, 0.25, 0.75]]), soft=True)


def _support(family: str, *row: float) -> None:
    FAMILIES[family].check_support(np.array([row]), ("a", "b"))


ROWS = mistakes(
    # Bases
    ("a name as basis", lambda: logistic(basis="rbf"), TypeError, "neither a basis nor a transformer", "Pass None"),
    ("a classifier as basis", lambda: logistic(basis=GaussianNB()), TypeError, "neither a basis nor a transformer"),
    ("a basis of labels", lambda: logistic(basis=sx.FisherDiscriminant()), TypeError, "the targets", "Pipeline"),
    *(
        (f"a union of {bases}", lambda bases=bases: sx.basis.Union(bases).fit(X), TypeError, words)
        for bases, words in (
            ([], "list of at least one"),
            (sx.basis.RBF(), "list of"),
            ([None], "number 0 is None"),
            ([sx.basis.RBF], "RBF is a class"),
        )
    ),
    # Tables in memory
    *(
        (f"text in {kind.__module__}", lambda kind=kind: open_rows(kind(CITIES)), DataError, city, "'when' (", WRAP)
        for kind, city in (
            (pd.DataFrame, "'city' ("),
            (pl.DataFrame, "'city' (String)"),
            (pa.table, "'city' (String)"),
        )
    ),
    ("text in a list", lambda: open_rows([[1.0, "x"]]), ValueError, "'x1' holds 'x' in row 1"),
    ("complex numbers", lambda: open_rows(X + 1j), ValueError, "Complex data not supported"),
    ("a vector", lambda: open_rows(X[:, 0]), ValueError, "Reshape your data"),
    ("a cube", lambda: open_rows(X[None]), ValueError, "dim 3"),
    ("a series", lambda: open_rows(pd.Series([1.0])), DataError, "to_frame"),
    ("a lazy frame of numbers", lambda: open_rows(pl.LazyFrame({"a": [1.0]})), DataError, "collect"),
    ("no rows", lambda: open_rows(pd.DataFrame({"a": []})), DataError, "0 sample"),
    # Labels and weights in memory
    ("no labels", lambda: _labels(None), ValueError, "requires y"),
    ("a label is None", lambda: _labels([1, "a", None]), DataError, "1 of 3 labels are missing", "row 3"),
    ("every label marks none", lambda: _labels([-1] * 3, unlabelled=-1), DataError, "None of 3 rows"),
    ("unknown label", lambda: _labels(["z", "b", "b"], known=np.array(["b", "c"])), DataError, "'z'"),
    ("probability below 0", lambda: _shares(0.5, 0.6, -0.1), DataError, "Row 2", "(0.5, 0.6, -0.1)", "1 of 3"),
    ("probability of NaN", lambda: _shares(np.nan, 0.5, 0.5), DataError, "Row 2", "(nan"),
    ("probabilities of 0.9", lambda: _shares(0.5, 0.4, 0.0), DataError, "Row 2", "sums to 0.9", "Divide"),
    # Dask collections
    ("a Dask vector", lambda: _lazy_fit(da.ones(5)), DataError, "1 dimension;", "X.reshape(-1, 1)"),
    ("a Dask cube", lambda: _lazy_fit(da.ones((5, 2, 2))), DataError, "3 dimensions"),
    ("a Dask array without columns", lambda: _lazy_fit(da.ones((5, 0))), DataError, "0 feature"),
    ("complex Dask", lambda: _lazy_fit(da.ones((5, 2), dtype=complex)), DataError, "complex128", "X.astype(float)"),
    ("a Dask series", lambda: _lazy_fit(dd.from_pandas(pd.Series([1.0]))), DataError, "X.to_frame()"),
    ("a Dask bag", lambda: _lazy_fit(db.from_sequence([1, 2])), DataError, "Dask Bag", "to_dataframe"),
    ("text in Dask", lambda: _lazy_fit(dd.from_pandas(pd.DataFrame({"city": ["Rome"]}))), DataError, "'city' (",
     "get_dummies", "TableClassifier"),
    ("an empty Dask array", lambda: _lazy_fit(da.ones((6, 3))[da.zeros(6) > 0]), DataError, "0 sample"),
    ("a partition with another column", lambda: _other_part(lambda part: part.rename(columns={"b": "bb"})), DataError,
     "no column 'b'", "'bb'", "map_partitions"),
    ("a partition with a column twice", lambda: _other_part(lambda part: part[["a", "b", "a"]]), DataError,
     "2 columns named 'a'"),
    ("text in a partition", lambda: _other_part(lambda part: part.assign(b="x")), DataError, "In partition", "'b'"),
    ("too many Dask labels", lambda: _lazy_labels(da.zeros(61, chunks=9)), DataError, "60 rows", "61 labels"),
    ("one class in Dask", lambda: _lazy_labels(da.zeros(60, chunks=9)), DataError, "every label is 0.0"),
    ("Dask labels that mark none", lambda: _lazy_labels(0 * HALVES, unlabelled=0), DataError, "None of 60 rows"),
    ("NaN in Dask labels", lambda: _lazy_labels(da.where(HALVES > 0, np.nan, 1.0)), DataError, "of y:", "missing"),
    ("Dask labels of two types",
     lambda: _lazy_labels(da.concatenate([HALVES[:30].astype(object), da.full(30, "a", dtype=object, chunks=30)])),
     DataError, "int, str"),
    ("Dask labels of three dimensions", lambda: _lazy_labels(da.ones((60, 2, 2))), DataError, "3 dimensions"),
    ("a bag of labels", lambda: _lazy_labels(db.from_sequence([1, 2])), DataError, "y is a Dask Bag"),
    ("no labels for Dask", lambda: _lazy_labels(None, da.ones(60)), ValueError, "requires y"),
    ("too few Dask weights", lambda: _lazy_labels(HALVES, da.ones(59)), DataError, "59 values, expected 60"),
    ("Dask weights below 0", lambda: _lazy_labels(HALVES, -da.ones(60)), DataError, "In partition 0 of sample_w"),
    ("no Dask weight", lambda: _lazy_labels(HALVES, 0 * HALVES), DataError, "Every sample_weight is zero"),
    # Values outside the support of a family
    ("Bernoulli of 2", lambda: _support("bernoulli", 0.0, 2.0), SupportError, "'b' contains 2", "Recode"),
    ("category of -1", lambda: _support("categorical", -1.0, 0.0), SupportError, "'a' contains -1", "0, 1, 2"),
    ("Poisson of 1.5", lambda: _support("poisson", 1.5, 0.0), SupportError, "'a' contains 1.5", "family"),
    ("multinomial of NaN", lambda: _support("multinomial", 1.0, np.nan), DataError, "'b' has 1 missing"),
    ("exponential of -1", lambda: _support("exponential", -1.0, 0.0), SupportError, "'a' contains -1"),
    ("gamma of 0", lambda: _support("gamma", 1.0, 0.0), SupportError, "'b' contains 0"),
    ("beta of 1.5", lambda: _support("beta", 1.5, 0.5), SupportError, "'a' contains 1.5", "percentages"),
    ("Dirichlet of 0.9", lambda: _support("dirichlet", 0.5, 0.4), SupportError, "is 0.9 in row 1", "Divide"),
    ("Dirichlet of 0", lambda: _support("dirichlet", 1 - 1e-9, 0.0), SupportError, "'b' contains 0"),
    ("normal of infinity", lambda: _support("normal", 0.0, np.inf), SupportError, "'b' contains inf"),
    ("normal row with NaN", lambda: _support("multivariate_normal", np.nan, 0.0), DataError, "'a' has 1 missing"),
)  # fmt: skip

# Files, queries and scans
CELLS = pa.table({"a": [1, 2, 3], "A": [4, 5, 6], "b c": ["x", "y", "z"], "d": [1.0, 2.0, 3.0]})


def _read(name: str, content: str | bytes, folder: Path) -> None:
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    open_table(folder / name).read()


def _scan(arguments: dict[str, Any], _: Path) -> None:
    list(scan(CELLS, **arguments).batches())


def _read_sparse(text: str | bytes, arguments: dict[str, Any], folder: Path) -> None:
    path = folder / ("t.svm.gz" if isinstance(text, bytes) else "t.svm")
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    sx.LogisticRegression().fit(LibsvmFile(path, **arguments))


def _write(name: str, cell: Any, folder: Path) -> None:
    with open_writer(folder / name) as writer:
        writer.write(pa.table({"a": [cell]}))


UNREADABLE: dict[str, tuple[str, str | bytes, tuple[str, ...]]] = {
    "a line with too many fields": ("t.csv", 'a,b\n1,2\n"two\nlines",3\n\n4,5,6\n7,8\n',
        ("t.csv, line 6", "expected 2", "found 3", "'4,5,6'", "quotes")),
    "a line with too few fields": ("t.csv", "a,b\n1\n2,3\n", ("line 2", "expected 2", "found 1", "delimiters (',')")),
    "a wrong line under a title": ("t.csv", "Sales of 2020\n\nname;price\nAda;1,5\nAlan;7\nx;1;2\n",
        ("line 6", "expected 2 fields, as in line 3", "found 3")),
    "a title above a list of names": ("t.csv", "names\nSmith,John\nDoe,Jane\n", ("line 2", "if line 1 is a title")),
    "a quote that is never closed": ("t.csv", 'a,b\n1,"2, 2"\n3,"4\n' + "1,2\n" * 600_000, ("never closed",)),
    "a CSV file without a line": ("t.csv", "", ("t.csv is empty",)),
    "equal column names": ("t.csv", "a,b, a ,b\n1,2,3,4\n", ("columns 1 and 3", "'a'", "'b'", "Rename")),
    "Parquet named CSV": ("t.csv", b"PAR1....", ("is not text", "a Parquet file", "Rename")),
    "gzip named CSV": ("t.csv", b"\x1f\x8b\x08\x00", ("is not text", "compressed with gzip")),
    "a workbook named CSV": ("t.csv", b"PK\x03\x04", ("is not text", "an Excel workbook")),
    "a zero byte": ("t.csv", b"a,b\n1\x002\n", ("byte 5 is zero", "UTF-16")),
    "JSON without a value": ("t.jsonl", '{"a": 1}\n{"a": }\n', ("line 2: not JSON", "Expecting value", "'}")),
    "JSON that is not a record": ("t.jsonl", '{"a": 1}\n5\n', ("line 2: 5 is not a record",)),
    "a wrong item of a JSON list": ("t.json", '[{"a": 1},\n{"a": 2},\n{"a": oops}]', ("line 3: not JSON", "oops")),
    "a JSON list without end": ("t.json", '[{"a": 1},\n{"a": 2}', ("line 2: not JSON", "The list is not closed")),
    "an empty JSON list": ("t.json", "[]", ("is empty", "no record")),
    "an empty file of JSON lines": ("t.jsonl", "", ("is empty", "no record")),
    "ids as names in JSON": ("t.jsonl", json.dumps({"by day": {f"day {i}": i for i in range(10_001)}}),
        ("more than 10000 different names", "'by day.day 10000'")),
    "a workbook that is text": ("t.xlsx", b"a,b\n1,2\n", ("t.xlsx is damaged", "save it as .xlsx")),
    "an empty Arrow file": ("t.arrow", b"", ("t.arrow is damaged", "Arrow")),
    "an Arrow file without end": ("t.arrow", b"ARROW1", ("t.arrow is damaged",)),
    "an Arrow file that is text": ("t.arrow", b"not a table, but long enough to look", ("t.arrow is damaged",)),
    "a truncated Parquet file": ("t.parquet", b"PAR1" + b"\0" * 50, ("t.parquet is damaged", "Parquet")),
    "an SQLite database without tables": ("t.sqlite", b"", ("has no tables",)),
    "an SQLite database that is text": ("t.sqlite", b"text" * 100, ("t.sqlite cannot be read", "SQLite database")),
    "a DuckDB database that is text": ("t.duckdb", b"text" * 1000, ("t.duckdb cannot be read", "DuckDB database")),
    "a truncated archive": ("t.csv.gz", gzip.compress(b"1,2\n" * 1000)[:-9], ("truncated", "gzip", "Copy or download")),
    "text named gzip": ("t.csv.gz", b"a,b\n1,2\n", ("is damaged or not compressed as its suffix",)),
    "a zip archive that is text": ("t.zip", b"PK not really", ("t.zip is damaged", "zip archive")),
    "an unknown suffix": ("t.doc", b"", ("'.doc' is not a supported suffix", "parquet (.parquet .pq)", "Rename")),
    "no suffix": ("plain", b"", ("it has no suffix",)),
}  # fmt: skip
UNSCANNABLE: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "a target that is not a column": ({"target": "bc"}, ("no column 'bc'", "Did you mean 'b c'")),
    "a feature that is not a column": ({"columns": ["x9"]}, ("no column 'x9'", "There are 'a'")),
    "a target among the features": ({"target": "a", "columns": ["a", "d"]}, ("'a'", "would see the answer")),
    "a scan without features": ({"columns": []}, ("Choose columns=",)),
    "a feature named twice": ({"columns": ["a", "d", "a"]}, ("'a' 2 times",)),
    "a weight that is the target": ({"target": "a", "weight": "a"}, ("'a' is both the target and the weight",)),
    "types of a table in memory": ({"types": {"a": "number"}}, ("types= is for CSV files",)),
    "a connection without a query": ({"connection": "postgresql://"}, ("With connection=", "query in SQL")),
    "a condition on another column": ({"where": "bc > 1"}, ("where='bc > 1'", "no column 'bc'", "Did you mean")),
    "a condition without end": ({"where": "a >"}, ("where='a >' is not understood",)),
    "an aggregate condition": ({"where": "sum(a) > 2"}, ("is not understood", "aggregates")),
    "a window condition": ({"where": "row_number() OVER () = 1"}, ("is not understood", "window")),
    "a condition on a wrong type": ({"where": "a = 'word'"}, ("is not understood", "word")),
    "a random condition": ({"where": "abs(a) > 1 AND random() < 0.5"}, ("random()", "hash(id)")),
    "a condition that is a number": ({"where": 3}, ("where=3", "condition in SQL")),
    "a condition that is not boolean": ({"where": "a"}, ("neither true nor false", "a > 0")),
    "names that differ in case alone": ({"where": "a > 1 AND A > 5"}, ("(a, A)", "Arrow expression")),
    "an expression on a wrong type": ({"where": pc.field("b c") > 1}, ("is not understood",)),
    "an expression with a column number": ({"where": pc.field(1) == 5}, ("by its number", "Name it")),
}
SPARSE: dict[str, tuple[str | bytes, dict[str, Any], type[Exception], tuple[str, ...]]] = {
    "a sparse file without rows": ("# nothing\n  \n", {}, FileReadError, ("t.svm has no rows", "label index:value")),
    "a truncated archive of rows": (gzip.compress(b"1 1:1\n" * 1000)[:-20], {}, FileReadError,
        ("t.svm.gz", "truncated")),
    "an index below the first": ("1 1:1\n0 0:1\n", {"zero_based": False}, FileReadError,
        ("line 2: index 0", "below 1")),
    "an index above the last": ("1 1:1\n0 3:1\n", {"n_features": 2, "zero_based": False}, FileReadError,
        ("line 2: index 3", "n_features=2")),
    "one index more than features": ("1 0:1\n0 2:1\n", {"n_features": 2}, FileReadError, ("0 to 2", "n_features=3")),
    "sparse labels that are not whole": ("0.5 1:1\n1 1:2\n", {}, DataError, ("label 0.5", "fit(file, y)")),
    "sparse labels of one class": ("3 1:1\n3 1:2\n", {}, DataError, ("one class", "3")),
}  # fmt: skip
FILES = [
    *(
        Mistake(name, partial(_read_sparse, text, given), error, words)
        for name, (text, given, error, words) in SPARSE.items()
    ),
    Mistake("several sparse files", lambda _: scan(["a.svm", "b.svm"]), FileReadError, ("together", "cat part")),
    Mistake("a pattern of sparse files", lambda _: scan("*.svm"), FileReadError, ("together", "cat part")),
    Mistake("a missing sparse file", lambda _: scan("none.svm"), FileReadError, ("none.svm does not exist",)),
    Mistake("a target of a sparse file", lambda _: scan("a.svm", target="y"), DataError, ("a.svm", "target='y'")),
    *(
        Mistake(f"a list in {name}", partial(_write, name, [1]), FileWriteError, ("'a' has type list", "Parquet"))
        for name in ("t.csv", "t.xlsx", "t.sqlite")
    ),
    Mistake("a long text in a workbook", partial(_write, "t.xlsx", "x" * 40_000), FileWriteError, ("40000", "CSV")),
    Mistake("a control character", partial(_write, "t.xlsx", "bell\x07"), FileWriteError, ("control character", "CSV")),
    Mistake("equal names in a query",
            lambda _: list(scan("SELECT 1 AS a, 2 AS a", connection=duckdb.connect()).batches()), DataError,
            ("2 columns named 'a'", 'AS "a_2"')),
    *(
        Mistake(name, partial(_read, file, content), FileReadError, words)
        for name, (file, content, words) in UNREADABLE.items()
    ),
    *(Mistake(name, partial(_scan, given), DataError, words) for name, (given, words) in UNSCANNABLE.items()),
    Mistake("a URL", lambda _: open_table("https://example.org/a.csv"), FileReadError, ("is a URL", "Download")),
    Mistake("a missing file", lambda folder: scan(folder / "a.csv"), FileReadError, ("no file", "a.csv")),
    Mistake("a pattern without files", lambda folder: scan(folder / "*.csv"), FileReadError, ("No file matches",)),
    Mistake("an empty list of files", lambda _: scan([]), FileReadError, ("empty",)),
    Mistake("a dictionary", lambda _: scan({"a": [1]}), DataError, ("A dict cannot be scanned",)),
    Mistake("another database", lambda _: scan("SELECT 1", connection="mysql://host"), DataError, ("mysql://host",)),
    Mistake("no connection", lambda _: scan("SELECT 1", connection=3), DataError, ("builtins.int", "DuckDB")),
    Mistake("a server that is not there",
            lambda _: scan("SELECT 1", connection="postgresql://postgres@/postgres?host=/nowhere"), QueryError,
            ("PostgreSQL did not answer", "Check the query")),
    Mistake("an output suffix", lambda folder: open_writer(folder / "b.doc"), FileWriteError, ("'.doc'", "written")),
    Mistake("an output folder that does not exist", lambda folder: open_writer(folder / "missing" / "a.csv"),
            FileWriteError, ("no folder", "missing", "Create it first")),
    Mistake("writing outside a block", lambda folder: open_writer(folder / "t.csv").write(CELLS), FileWriteError,
            ("inside a with block",)),
]  # fmt: skip

# Arguments that other libraries have
ARGUMENTS = [
    Mistake(f"{model.__name__}({name}=...)", lambda _, m=model, n=name: m(**{n: 1}), TypeError, (
        f"{model.__name__} has no argument {name!r}", *words))
    for model, name, *words in [
        (sx.LogisticRegression, "C", "alpha=1/C", "prior=sx.Gaussian(scale=C**0.5)"),
        (sx.LogisticRegression, "penalty", "prior=sx.Gaussian", "sx.ElasticNet(alpha="),
        (sx.LogisticRegression, "l1_ratio", "sx.ElasticNet(alpha="),
        (sx.LogisticRegression, "max_iter", "max_steps"),
        (sx.GeneralizedLinearModel, "class_weight", "sample_weight="),
        (sx.OneVsRest, "class_weight", "model inside"),
        (sx.LogisticRegression, "aplha", "Did you mean 'alpha'?"),
        (sx.LogisticRegression, "n_jobs", "'max_steps'"),
        (sx.ProbitRegression, "random_state", "rng"),
        (sx.BayesianLogisticRegression, "C", "prior=sx.Gaussian(scale=C**0.5)", "standardize=False"),
        (sx.BayesianLogisticRegression, "alpha", "prior=sx.Gaussian(scale=alpha**-0.5)"),
        (sx.GeneralizedLinearModel, "penalty", "alpha"),
        (sx.Perceptron, "max_iter", "max_epochs"),
        (QDA, "reg_param", "shrinkage"),
        (QDA, "solver", "shrinkage alone"),
        (QDA, "store_covariance", "covariance_"),
        (NB, "class_prior", "Use priors."),
        (NB, "fit_prior", "Use priors"),
        (NB, "var_smoothing", "estimate='map'"),
        (NB, "alpha", "pseudo_count"),
        (sx.TableClassifier, "C", "model inside"),
        (table.TableEncoder, "max_level", "'max_levels'"),
        (sx.basis.Polynomial, "degre", "'degree'"),
    ]
] + [
    Mistake("set_params(prior__C=1)", lambda _: sx.LogisticRegression(prior=sx.ElasticNet()).set_params(prior__C=1),
            ValueError, ("ElasticNet", "'C'")),
    Mistake("set_params(C=1)", lambda _: sx.LogisticRegression().set_params(C=1), ValueError, ("'C'", "alpha=1/C")),
    Mistake("too many arguments", lambda _: sx.LogisticRegression(*range(20)), TypeError,
            ("LogisticRegression(alpha, ",)),
    Mistake("no model to wrap", lambda _: sx.OneVsRest(), TypeError, ("OneVsRest(", "'estimator'")),
]  # fmt: skip

# Tables: columns, types, encoder
AGES = pd.DataFrame({"Age": [1.5, 2.0, 3.0], "sex": ["m", "f", "m"]})
MIXED = pd.DataFrame({"a": [1, 2], "notes": pd.Series([1, "x"], dtype=object)})
TYPED = pd.DataFrame({"age": [1, 2, 3], "colour": ["red", "blue", "green"], "when": pd.to_datetime(["2024-01-01"] * 3)})


def _zeros(*names: Any) -> pd.DataFrame:
    return pd.DataFrame(np.zeros((2, len(names))), columns=list(names))


def _read(*values: Any) -> Any:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return table.read_values(column)


def _inferred(frame: Any, types: dict[str, str] | None = None, **options: Any) -> table.Schema:
    return table.infer_types(table.table_statistics(frame), types, **options)


def _ages(**columns: Any) -> Any:
    return _inferred(AGES).encode(pd.DataFrame(columns))


def _restored(damage: Callable[[str], str]) -> table.Schema:
    return table.Schema.from_json(damage(_inferred(AGES).to_json()))


def _target(column: Any, **options: Any) -> Any:
    return table.encode_target(column, name="price", **options)


def _added(*columns: dict[str, Any]) -> Any:
    batches = [table.table_statistics(pd.DataFrame(each), name=f"{i}.csv") for i, each in enumerate(columns)]
    return sum(batches, table.TableStatistics())


TABLES = mistakes(
    ("dates instead of numbers", lambda: _read(dt.date(2024, 1, 1)).as_numbers("c"), DataError, "'c' had numbers",
     "dates"),
    ("lists instead of numbers", lambda: _read([1]).as_numbers("c"), DataError, "'c' had numbers", "neither"),
    ("numbers instead of dates", lambda: _read(1).as_dates("c"), DataError, "'c' had dates", "has numbers"),
    *(
        (f"{what} of two columns of one name", call, DataError, "'a'", "more than once", "Rename")
        for what, call in {
            "a batch": lambda: table.open_batch(_zeros("a", "a")),
            "a fit": fits(sx.LogisticRegression(), FRAME.set_axis(list("aabc"), axis=1)),
            "a fit of a class per column": fits(NB(), FRAME.set_axis(list("aabc"), axis=1)),
            "a fit to an Arrow stream": lambda: lda(pa.record_batch([[1.0, 2.0]] * 2, names=["a", "a"]), [0, 1]),
            "a scan of a frame": lambda: scan(FRAME.set_axis(list("aabc"), axis=1)),
            "a scan of an Arrow table": lambda: scan(pa.table([[1.0, 2.0]] * 2, names=["a", "a"])),
            "a Dask dataframe": fits(LDA(), dd.from_pandas(FRAME.set_axis(list("aabc"), axis=1), npartitions=2)),
            "a comparison": lambda: sx.compare([CLASSIFIER], FRAME.set_axis(list("aabc"), axis=1), Y),
        }.items()
    ),
    ("columns '1' and 1", lambda: table.open_batch(_zeros("1", 1)), DataError, "'1'", "Rename"),
    ("a series as table", lambda: table.open_batch(pd.Series([1])), DataError, "single column", "to_frame"),
    ("a lazy frame", lambda: table.open_batch(pl.LazyFrame({"a": [1]})), DataError, "LazyFrame", "collect()"),
    ("columns of two lengths", lambda: table.open_batch({"a": [1], "b": [1, 2]}), DataError, "'a': 1", "'b': 2"),
    ("an array of one dimension as table", lambda: table.open_batch(np.zeros(3)), ValueError, "Reshape your data"),
    ("a sparse matrix as table", lambda: table.open_batch(sparse.csr_array(np.eye(2))), TypeError, "parse"),
    ("an Arrow type that text cannot have", lambda: table.kind_of_type(pa.list_(pa.int8())), TypeError, "list"),
    ("misspelled column", lambda: _ages(age=[1], sex=["m"]), DataError, "no column 'Age'", "Did you mean 'age'"),
    ("dates instead of categories", lambda: _ages(Age=[1], sex=pd.to_datetime(["2024-01-01"])), DataError,
     "'sex' had categories", "has dates"),
    ("JSON that ends early", lambda: table.Schema.from_json("{"), DataError, "not a saved table schema"),
    ("JSON of 100 000 brackets", lambda: table.Schema.from_json("[" * 100_000), DataError, "not a saved table schema"),
    ("JSON of something else", lambda: table.Schema.from_json("[]"), DataError, "not a saved table schema"),
    ("schema of a later version", lambda: _restored(lambda s: s.replace('"version": 6', '"version": 7')), DataError,
     "version 7", "up to 6"),
    ("schema with an unknown type", lambda: _restored(lambda s: s.replace('"number"', '"os.system"')), DataError,
     "damaged", "os.system"),
    ("schema that lacks a field", lambda: _restored(lambda s: s.replace('"levels"', '"lvls"')), DataError, "damaged",
     "lvls"),
    ("numbers, then text", lambda: _added({"n": [None]}, {"n": [1.0]}, {"n": ["many"]}), DataError,
     "'n' has numbers in 1.csv", "text in 2.csv"),
    ("a column in the first batch only", lambda: _added({"n": [1], "m": [1]}, {"n": [1]}), DataError, "'m' is in 0.csv",
     "not in 1.csv"),
    ("a column in the last batch only", lambda: _added({"n": [1]}, {"n": [1], "m": [1]}), DataError, "'m' is in 1.csv",
     "not in 0.csv"),
    ("unread column that is missing", lambda: table.table_statistics(MIXED, unread=["note"]), DataError,
     "no column 'note'", "Did you mean 'notes'"),
    ("type of a missing column", lambda: _inferred(TYPED, {"agee": "number"}), DataError, "'agee'",
     "Did you mean 'age'"),
    ("unknown type", lambda: _inferred(TYPED, {"age": "categoric"}), DataError, "'age'", "Did you mean 'categorical'"),
    ("text as number", lambda: _inferred(TYPED, {"colour": "number"}), DataError, "'colour' cannot be 'number'",
     "'red'"),
    ("text as date", lambda: _inferred(TYPED, {"colour": "date"}), DataError, "'colour' cannot be 'date'"),
    ("many numbers as boolean", lambda: _inferred({"n": np.arange(20_000) / 3}, {"n": "boolean"}), DataError,
     "'n' cannot be 'boolean'", "distinct values", "Drop it"),
    ("three words as boolean", lambda: _inferred(TYPED, {"colour": "boolean"}), DataError, "'colour'",
     "3 distinct values"),
    ("dates as category", lambda: _inferred(TYPED, {"when": "categorical"}), DataError, "'when'", "it has dates"),
    ("dates as number", lambda: _inferred(TYPED, {"when": "number"}), DataError, "'when'", "it has dates"),
    ("category of too many values",
     lambda: table.infer_types(
         table.table_statistics({"c": [f"v{i}" for i in range(30)] * 9}, max_distinct=20), {"c": "categorical"}),
     DataError, "'c' cannot be 'categorical'", "at most 20 are counted"),
    ("target that is missing", lambda: _inferred(AGES, target="age"), DataError, "no column 'age'", "'Age'"),
    ("table without rows", lambda: _inferred(AGES[:0]), DataError, "no rows"),
    ("no batches", lambda: table.TableEncoder().fit_batches([]), DataError, "no columns"),
    ("table of constants", lambda: table.TableEncoder().fit(pd.DataFrame({"a": [1, 1]})), DataError,
     "No column is left", "a was dropped"),
    ("table of identifiers", lambda: table.TableEncoder().fit(pd.DataFrame({"id": range(50)})), DataError,
     "No column is left", "id was dropped", "types={COLUMN: 'categorical'}"),
    ("unknown value of sparse", lambda: table.TableEncoder(sparse="yes").fit(AGES), ValueError, "sparse='yes'",
     "'auto'"),
    ("real numbers as target", lambda: _target(np.array([0.5, 1.0, 0.5])), DataError, "'price' looks continuous",
     "types={'price': 'categorical'}", "categorical=True"),
    ("counts as target", lambda: _target(np.arange(60)), DataError, "60 distinct values in 60 rows",
     "categorical=True"),
    ("ids as target", lambda: _target([f"id{i}" for i in range(30)]), DataError, "'price' has 30 distinct values",
     "ids"),
    ("distinct numbers as classes", lambda: _target(np.arange(60), categorical=True), DataError,
     "60 distinct values in 60 rows"),
    ("target without labels", lambda: _target(pd.Series([None, np.nan, " "], dtype=object)), DataError,
     "label of 'price' is missing", "3 rows"),
    ("dates as target", lambda: _target(pd.Series(pd.to_datetime(["2024-01-01"]))), DataError, "'price' has dates"),
    ("target of two dimensions", lambda: _target([[1], [2]]), DataError, "one column of labels"),
)  # fmt: skip

# Tables given to models of numbers, and to TableClassifier
LR, TABLES_OF = sx.LogisticRegression(), sx.TableClassifier(sx.LogisticRegression())
FEW = pd.DataFrame({"n": [1.0, 2.0, 3.0, 4.0], "text": list("abab"), "when": pd.to_datetime(["2024-01-01"] * 4)})
PAIRS_OF = lambda pairs: sx.TableClassifier(LR, interactions=pairs).fit(FEW, [0, 1, 1, 0])  # noqa: E731
FORMS = mistakes(
    ("text in a scan", lambda: LR.fit(scan(FEW, target="n")), DataError, "'text' (", "TableClassifier"),
    ("dates in a model of numbers", lambda: LR.fit(FEW[["n", "when"]], [0, 1] * 2), DataError, "'when'", WRAP),
    ("objects in a model of numbers", lambda: LR.fit(FEW.to_numpy(), [0, 1] * 2), ValueError, "'x1'", "'a'", WRAP),
    ("an array of dates", lambda: LR.fit(FEW[["when"]].to_numpy(), [0, 1] * 2), DataError, "datetime64", WRAP),
    ("missing numbers", lambda: LR.fit(HOLES, Y), DataError, "'x0'", "9 of 60 rows", WRAP),
    ("a path for a model of numbers", lambda: LR.fit("t.csv", Y), DataError, "'t.csv'", "sx.scan("),
    ("a name for a model of numbers", lambda: LR.fit(FRAME, "a"), DataError, "'a'", "TableClassifier"),
    ("a name that no column has", lambda: TABLES_OF.fit(FEW, "txt"), DataError, "'txt'", "'text'"),
    ("a name and an array", lambda: TABLES_OF.fit(X, "x0"), DataError, "'x0'", "target="),
    ("a name and a scan", lambda: TABLES_OF.fit(scan(FEW), "text"), DataError, "'text'", "target="),
    ("a name and a lazy frame", lambda: TABLES_OF.fit(pl.LazyFrame({"a": [1]}), "a"), DataError, "collect()"),
    ("weights by name", lambda: TABLES_OF.fit(FRAME, Y, "a"), DataError, "sample_weight", "'a'", "each row"),
    ("a path to nothing", lambda: TABLES_OF.fit("nowhere.csv", "y"), FileReadError, "nowhere.csv"),
    ("interactions of a model without a basis",
     lambda: sx.TableClassifier(GaussianNB(), interactions=True).fit(FEW, [0, 1, 1, 0]), ValueError,
     "no parameter 'basis'", "sx.LogisticRegression"),
    ("interactions by position", lambda: PAIRS_OF([(0, 1)]), DataError, "interactions names 0", "not a column"),
    ("interactions by a word", lambda: PAIRS_OF("all"), ValueError, "interactions='all'", "a list of pairs"),
    ("an interaction of one column", lambda: PAIRS_OF(["n"]), ValueError, "'n'", "two different columns"),
    ("an interaction of no column", lambda: PAIRS_OF([("n", "txt")]), DataError, "'txt'", "'text'"),
    ("a constant column", lambda: PAIRS_OF([("n", "when")]), DataError, "'when'", "constant", "leave it out"),
)  # fmt: skip

# Comparisons, studies, command line, report
CLASSIFIER, BAYES = GaussianNB(), sx.BayesianLogisticRegression(sx.Gaussian(1.0))
INPUTS, CUSTOMER = make_mixed_types(600, as_frame=True, rng=0)
TABLE = INPUTS.assign(customer=CUSTOMER)
TWICE = pd.concat([TABLE, TABLE], axis=1)
NINE = np.where(np.arange(60) < 2, 9, 0)
STUDIES = [
    Mistake(name, call, error, tuple(words))
    for name, error, call, *words in [
        ("test rows without labels", ValueError, lambda _: sx.compare([CLASSIFIER], X, Y, X_test=X), "needs y_test"),
        ("test labels without rows", ValueError, lambda _: sx.compare([CLASSIFIER], X, Y, y_test=Y), "needs X_test"),
        ("a new test label", DataError, lambda _: sx.compare([CLASSIFIER], X, Y, X_test=X, y_test=Y + 6), "label 6"),
        ("labels of one class", DataError, lambda _: sx.compare([CLASSIFIER], X, 0 * Y), "every label is 0"),
        ("a class of one row", DataError, lambda _: sx.compare([CLASSIFIER], X[1:], NINE[1:]), "Class 9", "X_test"),
        ("no training row", DataError, lambda _: sx.compare([CLASSIFIER], X, NINE, test_size=0.9), "class 9", "Lower"),
        ("every row held out", ValueError, lambda _: sx.compare([CLASSIFIER], X, Y, test_size=60), "test_size=60"),
        ("a scan to split", DataError, lambda _: sx.compare([BAYES], scan(TABLE), None), "a Scan", "read_table"),
        ("lazy rows to split", DataError, lambda _: sx.compare([BAYES], da.from_array(X), Y), "Array", "X.compute()"),
        ("no model", ValueError, lambda _: sx.compare([], X, Y), "models is empty"),
        ("a model without a list", TypeError, lambda _: sx.compare(CLASSIFIER, X, Y), "GaussianNB()", "[model, ...]"),
        ("a class for a model", TypeError, lambda _: sx.compare([GaussianNB], X, Y), "pass GaussianNB()"),
        ("a text for a model", TypeError, lambda _: sx.compare(["lda"], X, Y), "'lda'", "needs fit and predict"),
        ("names of a mapping", ValueError, lambda _: sx.compare({"a": BAYES}, X, Y, names=["b"]), "Omit names="),
        ("a name used twice", ValueError, lambda _: sx.compare([BAYES, BAYES], X, Y, names=["a", "a"]), "'a' is used"),
        ("too few names", ValueError, lambda _: sx.compare([BAYES, BAYES], X, Y, names=["a"]), "each of the 2 models"),
        ("an unknown criterion", ValueError, lambda _: sx.compare([BAYES], X, Y).best("f1"), "'f1'", "'brier'"),
        ("a criterion without values", ValueError, lambda _: sx.compare([CLASSIFIER], X, Y).best("bic"), "'bic'"),
        ("an average without evidence", ValueError, lambda _: sx.compare([CLASSIFIER], X, Y).average(), "evidence"),
        ("a model not compared", KeyError, lambda _: sx.compare([CLASSIFIER], X, Y)["qda"], "'qda'", "'GaussianNB'"),
        ("an average of points", ValueError, lambda _: sx.ModelAverage({"p": CLASSIFIER}).fit(X, Y), "'p'", "Remove"),
        ("a prior without a model", ValueError, lambda _: sx.ModelAverage({"a": BAYES}, {}).fit(X, Y), "'a'", "weight"),
        ("a prior below zero", ValueError, lambda _: sx.ModelAverage({"a": BAYES}, {"a": -1}).fit(X, Y), "negative"),
        ("a prior of zero", ValueError, lambda _: sx.ModelAverage({"a": BAYES}, {"a": 0}).fit(X, Y), "not all zero"),
        (
            "weights of other models",
            ValueError,
            lambda _: sx.ModelAverage({"a": BAYES}, weights={"b": 1}).fit(X, Y),
            "weights={'b': 1}",
            "check 'a'",
        ),
        ("a misspelled target", DataError, lambda _: conduct(TABLE, "custommer"), "Did you mean 'customer'"),
        ("nothing but the target", DataError, lambda _: conduct(TABLE[["customer"]], "customer"), "only column"),
        ("an array for a table", DataError, lambda _: conduct(X, "customer"), "ndarray", "data frame"),
        ("no label at all", DataError, lambda _: conduct(TABLE.assign(customer=None), "customer"), "is missing"),
        ("two columns of one name", DataError, lambda _: conduct(TWICE, "customer"), "'charge'", "Rename"),
        ("one label", DataError, lambda _: conduct(TABLE.assign(customer="stays"), "customer"), "'stays' (600)"),
        ("a class of one row each", DataError, lambda _: conduct(TABLE[:3], "customer"), "two rows each"),
        ("a continuous target", DataError, lambda _: conduct(TABLE, "charge"), "'charge' looks continuous"),
        ("no value at all", DataError, lambda _: conduct(TABLE[["customer"]].assign(x=None), "customer"), "x was"),
        ("a type of no column", DataError, lambda _: conduct(TABLE, "customer", types={"cals": "drop"}), "'calls'"),
        ("text as numbers", DataError, lambda _: conduct(TABLE, "customer", types={"contract": "number"}), "contract"),
        ("numeric target", DataError, lambda _: conduct(TABLE, "customer", types={"customer": "number"}), "'customer'"),
        ("a model misspelt", ValueError, lambda _: conduct(TABLE, "customer", models=["naive bays"]), "'naive Bayes'"),
        ("a study of no model", ValueError, lambda _: conduct(TABLE, "customer", models=[]), "models is empty"),
        ("too few rows for a model", ValueError, lambda _: conduct(TABLE[:40], "customer", models=MODELS), "not suit"),
        ("too many test rows", ValueError, lambda _: conduct(TABLE, "customer", test_share=0.9), "test_share=0.9"),
        ("an impossible level", ValueError, lambda _: conduct(TABLE, "customer", level=1.0), "level=1.0"),
        ("no such class", ValueError, lambda _: conduct(TABLE[:9], "customer", positive="maybe"), "'maybe'", "'stays'"),
        ("a study of no time", ValueError, lambda _: conduct(TABLE, "customer", time=0), "time=0"),
        ("falling knots", ValueError, lambda _: Ramps([0], knots=[[1.0, 0.0]]).fit(X), "[1.0, 0.0]", "increasing"),
        ("an infinite knot", ValueError, lambda _: Ramps([0], knots=[[0.0, np.inf]]).fit(X), "inf", "increasing"),
        ("knots of too many columns", ValueError, lambda _: Ramps([0], knots=[[0, 1]] * 2).fit(X), "knots for 2"),
        ("a ramp along no column", DataError, lambda _: Ramps([7]).fit(X), "column 7", "0 to 3"),
        ("too few knots", ValueError, lambda _: Ramps([0], n_knots=2).fit(X), "n_knots=2", "at least 3"),
    ]
]  # fmt: skip

# Saved models, ONNX, geometry, plots, datasets
PLANE, PLANE_Y = blobs(60, n_features=2, n_classes=2)
FISHER, LOGISTIC = sx.FisherDiscriminant().fit(PLANE, PLANE_Y), sx.LogisticRegression().fit(PLANE, PLANE_Y)
POSTERIOR = sx.BayesianLogisticRegression(sx.Gaussian(1.0), approximation="laplace").fit(PLANE, PLANE_Y)
ZIP_CODES = pd.DataFrame({"zip": (np.arange(800) % 200).astype(str)})
OF_THREE = sx.LogisticRegression().fit(X, THREE)
RBF = sx.basis.RBF(n_centres=3, centres="grid")
REGIONS = sx.geometry.LinearRegions([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0])
boundary, weights = sx.plots.DecisionBoundaryDisplay.from_estimator, sx.plots.CoefficientDisplay
surface, path_of = sx.plots.LikelihoodSurfaceDisplay.from_estimator, sx.plots.FitPathDisplay.of_fit
STEPS = path_of(sx.LogisticRegression(solver="newton"), PLANE, PLANE_Y)


def in_use(folder: Path) -> Path:
    (folder / "model").touch()
    return folder / "model"


def not_exported(what: str, fit: Callable[[], Any], *words: str, **options: Any) -> Mistake:
    """Mistake of exporting a model that has no ONNX graph."""
    return Mistake(f"ONNX of {what}", lambda _: sx.to_onnx(fit(), **options), ExportError, words)


def drawn(what: str, call: Callable[[], Any], *words: str, error: type[Exception] = DataError) -> Mistake:
    return Mistake(f"drawing {what}", lambda _: call(), error, words)


def argument(name: str, call: Callable[[], Any], *words: str) -> Mistake:
    return Mistake(name, lambda _: call(), ValueError, words)


EXPORT = [
    Mistake(
        "saving over a file", lambda path: sx.save(LOGISTIC, in_use(path)), FileError, ("exists", "name", "force=True")
    ),
    Mistake("saving into no folder", lambda path: sx.save(LOGISTIC, path / "a" / "b"), FileError, ("mkdir",)),
    Mistake("saving before fitting", lambda path: sx.save(sx.Perceptron(), path / "a"), NotFittedError, ("fit",)),
    Mistake(
        "saving a model of scikit-learn", lambda path: sx.save(GaussianNB().fit(X, Y), path / "a"), FileError,
        ("GaussianNB", "not a model of this package"),
    ),
    Mistake(
        "saving a model around one of scikit-learn",
        lambda path: sx.save(sx.OneVsRest(GaussianNB()).fit(X, Y), path / "a"), FileError,
        ("model.estimator is a sklearn", "save other parts"),
    ),
    Mistake(
        "exporting over a file", lambda path: sx.to_onnx(LOGISTIC, in_use(path)), ExportError, ("exists", "force=True")
    ),
    Mistake("exporting before fitting", lambda _: sx.to_onnx(sx.LogisticRegression()), NotFittedError, ("fit",)),
    argument("exporting float16", lambda: sx.to_onnx(LOGISTIC, dtype="float16"), "dtype='float16'", "'float32'"),
    argument("an interval of level 1", lambda: sx.to_onnx(POSTERIOR, intervals=True, level=1.0), "level=1.0", "0.95"),
    not_exported("counts", lambda: sx.NaiveBayes("poisson").fit(abs(X).round(), Y), "Poisson columns", "sx.save"),
    not_exported("one-vs-rest", lambda: sx.OneVsRest(sx.LogisticRegression()).fit(X, THREE), "OneVsRest", "one by one"),
    not_exported("a calibration", lambda: sx.Calibrated(sx.LogisticRegression(), cv=2).fit(X, Y), "Calibrated"),
    not_exported("a rule", lambda: sx.DecisionRule(sx.LogisticRegression(), reject=0.6).fit(X, Y), "DecisionRule"),
    not_exported(
        "an average of a model that cannot be exported",
        lambda: sx.ModelAverage({"a": sx.OneVsRest(POSTERIOR)}, weights={"a": 1.0}).fit(X, THREE),
        "OneVsRest",
    ),
    not_exported("splines", lambda: sx.LogisticRegression(basis=sx.basis.Spline()).fit(X, Y), "BSplines", "RBF"),
    not_exported("a transformer", lambda: sx.LogisticRegression(basis=StandardScaler()).fit(X, Y), "Wrapped", "RBF"),
    not_exported("scikit-learn", lambda: GaussianNB().fit(X, Y), "GaussianNB", "skl2onnx"),
    not_exported(
        "quasi-Monte Carlo",
        lambda: sx.BayesianLogisticRegression(tune=None, predictive="qmc").fit(X, THREE),
        "predictive='exact'",
    ),
    not_exported(
        "intervals of three classes", lambda: sx.BayesianLogisticRegression(tune=None).fit(X, THREE), "3 classes",
        "predict_interval", intervals=True,
    ),
    not_exported(
        "hashed levels",
        lambda: sx.TableClassifier(sx.LogisticRegression(), types={"zip": "categorical"}, hashing=16).fit(
            ZIP_CODES, np.arange(800) % 3),
        "'zip'", "hashing=None",
    ),
    drawn("unknown labels", lambda: boundary(FISHER, PLANE[:3], [0, 7, 5]), "7, 5", "are 0, 1"),
    drawn("too few labels", lambda: boundary(FISHER, PLANE[:4], [0, 1]), "4 rows", "(2,)"),
    drawn("probabilities of a rule", lambda: boundary(FISHER, PLANE, response="probability"), "predict_proba"),
    drawn("the uncertainty of a point estimate", lambda: boundary(LOGISTIC, PLANE, response="uncertainty"),
          "predict_interval", "BayesianLogisticRegression"),
    drawn("the posterior of a rule", lambda: sx.plots.DecisionBoundaryDisplay.map_and_posterior(FISHER, PLANE),
          "FisherDiscriminant has no posterior", "BayesianLogisticRegression"),
    drawn("33 classes", lambda: boundary(sx.LeastSquaresClassifier().fit(PLANE, np.arange(60) % 33), PLANE),
          "32 classes", "there are 33", "one against the rest", error=ValueError),
    drawn("four columns on a plane", lambda: boundary(sx.FisherDiscriminant().fit(X, Y), X), "two columns", "4"),
    drawn("rows that are not finite", lambda: boundary(FISHER, np.vstack([PLANE, [np.inf, 0.0]])), "'x0'", "1 of 61"),
    drawn("weights of naive Bayes", lambda: weights.from_estimator(sx.NaiveBayes("normal").fit(X, Y)), "coef_"),
    drawn("weights without names", lambda: weights.from_values(["a", "b", "c"], [1.0, 2.0]), "(1, 2)", "(1, 3)"),
    drawn("weights of nine classes", lambda: weights.from_values(["a"], np.ones((9, 1)), labels=range(9)),
          "9 classes", "8 colours", error=ValueError),
    drawn("the density of two columns",
          lambda: sx.plots.ClassDensityDisplay.from_estimator(FISHER, PLANE), "one column", "2: x0, x1"),
    drawn("the evidence of a model without basis",
          lambda: sx.plots.EvidenceSurfaceDisplay.from_estimator(POSTERIOR, PLANE, PLANE_Y), "RBF()"),
    drawn("the evidence of a prior per column",
          lambda: sx.plots.EvidenceSurfaceDisplay.from_estimator(
              sx.LogisticRegression(prior=sx.Gaussian(np.arange(1.0, 10.0)), basis=RBF).fit(PLANE, Y), PLANE, Y),
          "no common scale", "prior="),
    drawn("steps of a closed form", lambda: path_of(sx.FisherDiscriminant(), PLANE, PLANE_Y), "FisherDiscriminant"),
    drawn("steps of three classes", lambda: path_of(sx.LogisticRegression(), PLANE, THREE), "y has 3", "y == label"),
    drawn("steps of four columns", lambda: path_of(sx.LogisticRegression(), X, Y), "4 columns"),
    drawn("steps with a basis", lambda: path_of(sx.LogisticRegression(basis=RBF), PLANE, PLANE_Y), "and a basis"),
    drawn("the likelihood of a density",
          lambda: surface(sx.LinearDiscriminantAnalysis().fit(PLANE, PLANE_Y), PLANE, PLANE_Y), "logistic"),
    drawn("the likelihood over a basis",
          lambda: surface(sx.LogisticRegression(basis=RBF).fit(PLANE, PLANE_Y), PLANE, PLANE_Y), "without a basis"),
    drawn("the likelihood of three classes", lambda: surface(OF_THREE, X, THREE), "3 classes", "two classes"),
    drawn("the likelihood of four weights",
          lambda: surface(sx.LogisticRegression().fit(X, Y), X, Y), "4 columns", "directions="),
    drawn("directions of other columns", lambda: surface(LOGISTIC, PLANE, PLANE_Y, directions=np.eye(3)), "(2, 2)"),
    drawn("parallel directions",
          lambda: surface(LOGISTIC, PLANE, PLANE_Y, directions=[[1, 2], [-2, -4]]), "directions[1]", "parallel"),
    drawn("directions and a prior per column",
          lambda: surface(sx.LogisticRegression(prior=sx.Gaussian([1.0, 2.0])).fit(PLANE, PLANE_Y), PLANE, PLANE_Y,
                          of="posterior", directions=np.eye(2)), "Use alpha"),
    drawn("the posterior of a model without alpha",
          lambda: surface(POSTERIOR, PLANE, PLANE_Y, of="posterior"), "no alpha", "of='likelihood'"),
    drawn("discriminants of logistic regression",
          lambda: sx.plots.ProjectionDisplay.from_estimator(OF_THREE, X, THREE), "3 classes", "FisherDiscriminant"),
    drawn("the reliability of other classes",
          lambda: sx.plots.ReliabilityDisplay.from_predictions(np.full((4, 2), 0.5), [0, 1, 0, 1], classes="abc"),
          "2 columns", "3 classes"),
    drawn("the reliability of scores",
          lambda: sx.plots.ReliabilityDisplay.from_predictions(np.ones((2, 2)), [0, 1]),
          "probabilities that sum to one"),
    argument("frame 99", lambda: STEPS.plot(frames=[0, 99]), "frames=[0, 99]", "no frame 99, only 0 to"),
    argument("no frame", lambda: STEPS.plot(frames=0), "frames must be an integer, at least 1"),
    argument("two axes for two frames", lambda: STEPS.plot(plt.subplots(1, 2)[1], frames=2), "need 3 axes, not 2"),
    argument("a film", lambda: STEPS.animate("path.mp4"), "path.mp4", "must end in .gif", "to_jshtml"),
    argument("no frame per second", lambda: STEPS.animate("path.gif", fps=0), "fps must be an integer"),
    argument("a response that does not exist", lambda: boundary(FISHER, PLANE, response="contours"), "'regions'"),
    argument("a surface that does not exist", lambda: surface(LOGISTIC, PLANE, PLANE_Y, of="evidence"), "'evidence'"),
    argument("one bin", lambda: sx.plots.ProjectionDisplay.from_estimator(FISHER, PLANE, PLANE_Y, n_bins=1), "n_bins"),
    argument("a grid of one point", lambda: sx.geometry.grid_predictions(FISHER, PLANE, resolution=1), "at least 2"),
    argument("a negative margin", lambda: sx.geometry.grid_predictions(FISHER, PLANE, margin=-1), "margin=-1"),
    argument("regions of two sizes", lambda: sx.geometry.LinearRegions(np.ones((3, 2)), [0.0, 1.0]), "(3, 2)", "(2,)"),
    argument("regions that are not finite", lambda: sx.geometry.LinearRegions([[1.0], [np.nan]], [0, 1]), "finite"),
    argument("a region that does not exist", lambda: REGIONS.half_spaces(2), "no class 2", "0 to 1"),
    drawn("regions of other columns", lambda: REGIONS.contains(0, np.ones((4, 3))), "X has 3 columns", "have 2"),
    drawn("regions of missing values", lambda: REGIONS.contains(0, [[1.0, np.nan]]), "'x1'"),
    drawn("regions with a basis", lambda: sx.geometry.LinearRegions.of(sx.FisherDiscriminant(basis=RBF).fit(PLANE, Y)),
          "without a basis"),
    argument("no margin", lambda: sx.datasets.make_separable(margin=0.0), "margin=0.0", "greater than 0"),
    argument("a single row", lambda: sx.datasets.make_separable(1), "make_separable(n=1)", "at least 2"),
    argument("a circle of one column", lambda: sx.datasets.make_overlapping(n_features=1, n_classes=3), "=1"),
    argument("more noise than labels", lambda: sx.datasets.make_label_noise(noise=0.7), "noise=0.7", "0 and 0.5"),
    argument("fewer rows than cells", lambda: sx.datasets.make_gaussian_grid(10), "n=10", "at least 25"),
    argument("an unknown pattern", lambda: sx.datasets.make_gaussian_grid(pattern="spiral"), "'spiral'", "'random'"),
    argument("negative test rows", lambda: sx.datasets.make_rbf_experiment(n_test=-1), "n_test=-1"),
]  # fmt: skip

MISTAKES = RULES + GENERATIVE + DISCRIMINATIVE + BAYESIAN + ROWS + FILES + ARGUMENTS + TABLES + FORMS + STUDIES + EXPORT


@pytest.mark.parametrize("mistake", MISTAKES, ids=[mistake.name for mistake in MISTAKES])
def test_the_message_names_the_invalid_value_and_the_remedy(mistake, tmp_path):
    with pytest.raises(mistake.error) as caught:
        mistake.call(tmp_path)
    assert type(caught.value) is mistake.error
    message = str(caught.value)
    assert [word for word in mistake.words if word not in message] == [], message


def test_every_mistake_has_its_own_name():
    assert len({mistake.name for mistake in MISTAKES}) == len(MISTAKES)
    assert all(mistake.words for mistake in MISTAKES)
