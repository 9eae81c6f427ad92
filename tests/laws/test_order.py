"""Posteriors do not depend on the order of columns, rows or classes, or on units; "auto" has the largest evidence."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_wine

import separatrix as sx
from separatrix.exceptions import ApproximationWarning, SeparationWarning

NAMES = np.array(["a", "b", "c", "d", "e"])


def mixed(n_classes, seed=0, n=150):
    """A table of four numbers and three categories, all of which have an effect."""
    rng = np.random.default_rng(seed)
    numbers, levels = rng.normal(size=(n, 4)), rng.integers([2, 4, 7], size=(n, 3))
    effects = [rng.normal(size=7) for _ in range(3)]
    a = numbers @ rng.normal(size=4) + sum(effect[level] for effect, level in zip(effects, levels.T, strict=True))
    activations = np.outer(a, np.linspace(-1, 1, n_classes)) + rng.gumbel(size=(n, n_classes))
    columns = {f"n{d}": numbers[:, d] for d in range(4)} | {f"c{d}": NAMES[levels[:, d] % 5] for d in range(3)}
    return pd.DataFrame(columns), NAMES[activations.argmax(axis=1)]


def numeric(n, d, n_classes, *, useful=None, seed=0):
    rng = np.random.default_rng(seed)
    X, W = rng.normal(size=(n, d)), np.zeros((n_classes, d))
    W[:, :useful] = rng.normal(size=W[:, :useful].shape)
    y = (X @ W.T + rng.gumbel(size=(n, n_classes))).argmax(axis=1)
    y[:n_classes] = np.arange(n_classes)
    return pd.DataFrame(X).add_prefix("x"), y


BAYES = sx.BayesianLogisticRegression
CASES = {
    "table": (sx.TableClassifier(), *mixed(2)),
    "table of three classes": (sx.TableClassifier(), *mixed(3)),
    "curved table": (sx.TableClassifier(curved=True), *mixed(2, 1)),
    "curved table of three classes": (sx.TableClassifier(curved=True), *mixed(3, 1)),
    "few rows": (BAYES(), *numeric(30, 3, 2)),
    "few useful columns": (BAYES(), *numeric(150, 12, 2, useful=2)),
    "a scale of each column": (BAYES(tune="evidence", groups="columns"), *numeric(150, 12, 2, useful=2)),
    "more columns than rows": (BAYES(), *numeric(40, 120, 2, useful=3)),
    "three classes": (BAYES(), *numeric(100, 5, 3)),
    "five classes": (BAYES(), *numeric(200, 10, 5)),
    "wine": (BAYES(), *load_wine(return_X_y=True, as_frame=True)),
}


def predictions(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApproximationWarning)
        warnings.simplefilter("ignore", SeparationWarning)
        fitted = clone(model).fit(X, y)
    return fitted.predict_proba(X), np.asarray(fitted.predict_interval(X))


@pytest.fixture(scope="module", params=CASES)
def case(request):
    model, X, y = CASES[request.param]
    y = np.asarray(y)
    return model, X, y, predictions(model, X, y)


def assert_equal_predictions(found, expected, n_classes):
    assert_allclose(found[0], expected[0], rtol=0, atol=1e-6 if n_classes == 2 else 1e-3)
    assert_allclose(found[1], expected[1], rtol=0, atol=5e-3)


def test_the_order_of_columns_does_not_matter(case):
    model, X, y, expected = case
    for order in (X.columns[::-1], np.random.default_rng(1).permutation(X.columns)):
        assert_equal_predictions(predictions(model, X[order], y), expected, len(np.unique(y)))


def test_the_order_of_rows_does_not_matter(case):
    model, X, y, expected = case
    rows = np.random.default_rng(2).permutation(len(X))
    P, bounds = predictions(model, X.iloc[rows].reset_index(drop=True), y[rows])
    back = np.argsort(rows)
    assert_equal_predictions((P[back], bounds[back]), expected, len(np.unique(y)))


def test_units_of_columns_do_not_matter(case):
    model, X, y, expected = case
    rng = np.random.default_rng(3)
    units = {name: 10.0 ** rng.integers(-4, 5) for name in X.columns if X[name].dtype.kind == "f"}
    assert_equal_predictions(predictions(model, X.assign(**{d: X[d] * u for d, u in units.items()}), y), expected, 3)
    assert units


def test_names_of_classes_do_not_matter(case):
    model, X, y, (P, bounds) = case
    classes, codes = np.unique(y, return_inverse=True)
    found, found_bounds = predictions(model, X, NAMES[::-1][codes])
    expected_bounds = 1 - bounds[:, ::-1] if len(classes) == 2 else bounds[:, ::-1]
    assert_equal_predictions((found, found_bounds), (P[:, ::-1], expected_bounds), len(classes))


@pytest.mark.parametrize("kind", ["frame", "dict"])
@pytest.mark.parametrize("name", CASES)
def test_a_weight_of_k_equals_k_copies_of_the_row(name, kind):
    """Also in the means of missing numbers, in rare and missing levels, and in the knots of curves."""
    model, X, y = CASES[name]
    rng = np.random.default_rng(4)
    y, weight = np.asarray(y), rng.integers(0, 4, len(X))
    weight[:12] = 2  # every class has rows
    if isinstance(model, sx.TableClassifier):
        X = X.assign(n0=X["n0"].where(rng.random(len(X)) > 0.1), c2=X["c2"].where(rng.random(len(X)) > 0.1))
    elif kind == "dict":
        pytest.skip("only tables may be dictionaries")
    rows = np.repeat(np.arange(len(X)), weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApproximationWarning)
        warnings.simplefilter("ignore", SeparationWarning)
        given = X if kind == "frame" else {name: X[name].to_numpy() for name in X.columns}
        weighted = clone(model).fit(given, y, sample_weight=weight)
        repeated = clone(model).fit(X.iloc[rows].reset_index(drop=True), y[rows])
    found, expected = ((m.predict_proba(X), m.predict_interval(X)) for m in (weighted, repeated))
    assert_equal_predictions(found, expected, len(np.unique(y)))


@pytest.mark.parametrize(("n", "d", "useful"), [(1500, 60, 2), (400, 20, 3), (60, 5, 5)])
def test_auto_has_at_least_the_evidence_of_every_method(n, d, useful):
    X, y = numeric(n, d, 2, useful=useful)
    methods = ("auto", "laplace", "ep", "variational")
    evidence = {method: BAYES(approximation=method).fit(X, y).log_evidence_ for method in methods}
    assert evidence["auto"] > max(evidence.values()) - 0.3
