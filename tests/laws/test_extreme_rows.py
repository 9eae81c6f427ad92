# SPDX-License-Identifier: BSD-3-Clause
"""Rows up to the largest float: every classifier returns probabilities, and no row changes the result of another."""

import warnings
from functools import cache

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import is_classifier

import separatrix as sx
from problems import ESTIMATORS, FAMILIES, ONE_AGAINST_THE_REST, SETTINGS, blobs, names

MAGNITUDES = (1e3, 1e100, 1e154, 1e200, 1e300, 1.79e308)
LARGEST = float(np.finfo(np.float64).max)
N_ORDINARY = 20

#: Every public classifier, and every way in which scores become probabilities.
MODELS = {name: make for name, make in ESTIMATORS.items() if name != "poisson_model"} | {
    "lda_predictive": lambda: sx.LinearDiscriminantAnalysis(estimate="predictive"),
    "qda_predictive": lambda: sx.QuadraticDiscriminantAnalysis(estimate="predictive"),
    "qda_polynomial": lambda: sx.QuadraticDiscriminantAnalysis(basis=sx.basis.Polynomial(2), shrinkage=0.1),
    "naive_bayes_normal": lambda: sx.NaiveBayes("normal", estimate="predictive"),
    "logistic_polynomial": lambda: sx.LogisticRegression(basis=sx.basis.Polynomial(3)),
    "probit_corrected": lambda: sx.ProbitRegression(class_weight="balanced", prior_correction=True),
    "one_vs_one_qda": lambda: sx.OneVsOne(sx.QuadraticDiscriminantAnalysis()),
    "one_vs_one_perceptron": lambda: sx.OneVsOne(sx.Perceptron(max_epochs=5)),
    "calibrated_decisions": lambda: sx.Calibrated(sx.LeastSquaresClassifier(), "temperature", cv=2),
    "table_qda": lambda: sx.TableClassifier(sx.QuadraticDiscriminantAnalysis()),
    **{
        f"bayesian_{rule}": lambda rule=rule: sx.BayesianLogisticRegression(
            sx.Gaussian(1.0), approximation="laplace", predictive=rule
        )
        for rule in ("qmc", "probit", "map")
    },
    **{name: SETTINGS[name] for name in ("bayesian_probit", "bayesian_noise", "bayesian_hmc", "rbf", "spline")},
}
HAS_SHARED_PARAMETERS = ("gamma", "multivariate_normal")
TWO_CLASSES = ONE_AGAINST_THE_REST | {"probit_corrected"}
DENSE_ONLY = {name for name in MODELS if name.startswith("table")}
STORAGES = {"dense": np.asarray, "csr": sparse.csr_array, "single": lambda X: X.astype(np.float32)}
CASES = [
    pytest.param(name, K, storage, id=f"{name}-{K}-{storage}")
    for name in MODELS
    for K in (2, 3)
    for storage in STORAGES
    if not (K == 3 and name in TWO_CLASSES) and not (storage != "dense" and name in DENSE_ONLY)
]


def extreme_rows(D, magnitudes=MAGNITUDES, signs=(1.0, -1.0), rest=0.25):
    """Rows with one extreme column, with all of them, and with columns of both signs and several magnitudes."""
    one = rest + np.eye(D) * (1.0 - rest)
    is_one = np.eye(D, dtype=bool)
    rows = [
        row
        for size in magnitudes
        for sign in signs
        for row in (*np.where(is_one, sign * size, one), np.full(D, sign * size), sign * size * mixed(D, signs))
    ]
    return np.array(rows)


def mixed(D, signs):
    """Columns of different size, which have both signs if the support allows it."""
    return 0.5 ** np.arange(D) * (np.where(np.arange(D) % 2, -1.0, 1.0) if len(signs) > 1 else 1.0)


@cache
def fitted(name, K, storage):
    X, y = blobs(90, 3, K, seed=1)
    rows = STORAGES[storage](X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the fit
        model = MODELS[name]().fit(rows, y)
    return model, rows[:N_ORDINARY]


def check(model, ordinary, extreme):
    """The law for one model, whose ordinary rows are predicted alone and together with extreme rows."""
    both = sparse.vstack([ordinary, extreme]).tocsr() if sparse.issparse(ordinary) else np.vstack([ordinary, extreme])
    found = {}
    for method in ("predict_proba", "predict_log_proba", "decision_function", "predict"):
        if hasattr(model, method):
            alone, together = getattr(model, method)(ordinary), np.asarray(getattr(model, method)(both))
            # Products of float32 are rounded differently if a block has more rows.
            tolerance = 1e-12 if ordinary.dtype == np.float64 else 1e-4
            if method == "predict":
                assert np.array_equal(together[:N_ORDINARY], alone)
            else:
                np.testing.assert_allclose(together[:N_ORDINARY], alone, rtol=tolerance, atol=tolerance)
            found[method] = together[N_ORDINARY:]
    if "predict_proba" in found:
        P = found["predict_proba"]
        assert np.isfinite(P).all()
        assert (P >= 0).all()
        np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    for method in found.keys() & {"predict_log_proba", "decision_function"}:
        assert not np.isnan(found[method]).any()
    return found


@pytest.mark.parametrize(("name", "K", "storage"), CASES)
def test_finite_rows_have_probabilities(name, K, storage):
    model, ordinary = fitted(name, K, storage)
    magnitudes = MAGNITUDES if storage != "single" else (1e3, 1e19, 1e30, 3.4e38)
    rows = extreme_rows(3, magnitudes, rest=0.0 if storage == "csr" else 0.25)
    check(model, ordinary, STORAGES[storage](rows))


def test_every_public_classifier_is_tested():
    public = {getattr(sx, name) for name in sx.__all__ if isinstance(getattr(sx, name), type)}
    classifiers = {kind for kind in public if hasattr(kind, "predict") and hasattr(kind, "fit")}
    assert classifiers - {type(make()) for make in MODELS.values()} == {sx.GeneralizedLinearModel}
    assert all(is_classifier(make()) for make in MODELS.values())


FAMILY_MODELS = [
    (kind, family, estimate)
    for kind, family in [
        *((sx.NaiveBayes, family) for family in ("poisson", "exponential", "gamma")),
        *((sx.ExponentialFamilyClassifier, family) for family in ("poisson", "exponential", "gamma", "multinomial")),
        (sx.ExponentialFamilyClassifier, "multivariate_normal"),
    ]
    for estimate in ("ml", "map", "predictive")
    # Parameters that classes share have no predictive density.
    if (kind, estimate) != (sx.ExponentialFamilyClassifier, "predictive") or family not in HAS_SHARED_PARAMETERS
]


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize(("kind", "family", "estimate"), FAMILY_MODELS)
def test_finite_rows_of_a_family_have_probabilities(kind, family, estimate, K):
    X = FAMILIES[family](np.random.default_rng(0)).astype(np.float64)
    model = kind(family, estimate=estimate).fit(X, np.arange(60) % K)
    is_count = family in ("poisson", "multinomial")
    rows = extreme_rows(3, signs=(1.0, -1.0) if family.endswith("normal") else (1.0,), rest=1.0 if is_count else 0.25)
    check(model, X[:N_ORDINARY], np.floor(rows) if is_count else rows)


def test_counts_and_codes_next_to_an_extreme_value_keep_their_meaning():
    """Only extreme entries of a row are shortened, so its code stays a code and its count a whole number."""
    rng, y = np.random.default_rng(0), np.arange(200) % 3
    X = np.column_stack([rng.normal(size=200), rng.poisson(3, 200), rng.integers(4, size=200)])
    model = sx.NaiveBayes({0: "normal", 1: "poisson", 2: "categorical"}).fit(X, y)
    rows = [[sign * size, count, 2] for size in MAGNITUDES for sign in (1, -1) for count in (1, 7, 1e200, 1e308)]
    check(model, X[:N_ORDINARY], np.array(rows, dtype=np.float64))


LIMITS = [
    "least_squares", "fisher", "perceptron", "lda", "qda", "qda_polynomial", "exponential_family", "logistic",
    "label_noise", "logistic_polynomial", "bayesian", "bayesian_qmc", "bayesian_probit", "probit",
]  # fmt: skip


@pytest.mark.parametrize(("name", "K"), [(n, K) for n in LIMITS for K in (2, 3) if K == 2 or n not in TWO_CLASSES])
def test_results_have_a_limit_along_a_ray(name, K):
    """Beyond 1e60, where squares do not overflow, a row has the class and the probabilities of every longer row."""
    model, _ = fitted(name, K, "dense")
    directions = np.random.default_rng(0).uniform(-1.0, 1.0, size=(40, 3))
    directions /= np.abs(directions).max(axis=1, keepdims=True)
    lengths = (1e60, 1e154, 1e200, 1e300, LARGEST)
    labels = np.stack([model.predict(directions * length) for length in lengths])
    assert (labels == labels[0]).all()
    for method in ("predict_proba", "predict_interval"):
        if hasattr(model, method):
            P = np.stack([getattr(model, method)(directions * length) for length in lengths])
            np.testing.assert_allclose(P, np.broadcast_to(P[0], P.shape), rtol=0, atol=1e-9)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("name", ["lda", "qda", "logistic", "naive_bayes_normal"])
def test_rows_of_single_precision_have_the_results_of_double_precision(name, K):
    X, y = blobs(200, 4, K)
    model = MODELS[name]().fit(X, y)
    rays = np.random.default_rng(0).normal(size=(20, 4))
    rays /= np.abs(rays).max(axis=1, keepdims=True)
    rows = np.float32(np.concatenate([rays * size for size in (1e30, 1e37, 1e38, 3.4e38)]))
    np.testing.assert_allclose(model.predict_proba(rows), model.predict_proba(rows.astype(np.float64)), atol=1e-5)
    assert (model.predict(rows) == model.predict(rows.astype(np.float64))).all()


@pytest.mark.parametrize("name", ["least_squares", "perceptron", "logistic", "lda", "qda", "probit", "bayesian"])
def test_decision_functions_do_not_decrease_along_a_ray(name):
    model, _ = fitted(name, 2, "dense")
    directions = np.random.default_rng(0).uniform(-1.0, 1.0, size=(40, 3))
    a = np.stack([model.decision_function(directions * length) for length in (1e60, *MAGNITUDES[1:], LARGEST)])
    assert np.isfinite(a).all()
    assert (np.diff(np.abs(a), axis=0) >= 0).all()
    assert (np.sign(a) == np.sign(a[0])).all()


@pytest.mark.parametrize("model", [sx.LinearDiscriminantAnalysis(), sx.FisherDiscriminant()], ids=repr)
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_coordinates_of_extreme_rows_are_finite(model, convert):
    rng = np.random.default_rng(0)
    model.fit(rng.normal(size=(30, 3)), np.arange(30) % 3)
    rows = rng.choice([-LARGEST, LARGEST], size=(20, 3))
    Z = model.transform(convert(rows))
    assert np.isfinite(Z).all()
    expected = (rows * 2.0**-10) @ model.scalings_
    ratio = np.abs(expected).max(axis=1, keepdims=True) / np.abs(Z).max(axis=1, keepdims=True)
    np.testing.assert_allclose(Z * ratio, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_infinity_and_missing_values_are_errors_even_next_to_an_extreme_value():
    model, _ = fitted("logistic", 3, "dense")
    for value in (np.inf, -np.inf, np.nan):
        with pytest.raises(sx.exceptions.DataError, match="'x1'"):
            model.predict_proba([[1e308, value, 0.0], [1e308, 1e308, 1e308]])


def test_moments_of_an_activation_that_overflows_are_an_error():
    """Probabilities have a limit, but a mean and a variance have none."""
    model, _ = fitted("bayesian_map", 2, "dense")
    with pytest.raises(sx.exceptions.DataError, match=r"'x0' \(up to 1.79e\+308\).*Correct these values"):
        model.decision_distribution(np.full((2, 3), 1.79e308))


def test_rows_that_can_be_read_only_once():
    X, y = blobs(90, 3, 3, seed=1)
    model = sx.LogisticRegression().fit(pd.DataFrame(X, columns=names(X)), y)
    rows = np.vstack([X[:N_ORDINARY], extreme_rows(3)])
    table = pa.table(dict(zip(names(rows), rows.T, strict=True)))
    P = model.predict_proba(sx.scan(table.to_reader(max_chunksize=20)))
    np.testing.assert_allclose(P, model.predict_proba(table), rtol=0, atol=1e-12)
