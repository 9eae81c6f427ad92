"""Law: on badly scaled tables, probabilities are finite and sum to one, or the model raises a DataError."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import separatrix as sx
from separatrix.exceptions import CollinearWarning, DataError
from separatrix.families import SupportError

MODELS = {
    "LDA": sx.LinearDiscriminantAnalysis,
    "LDA, shrunk": lambda: sx.LinearDiscriminantAnalysis(shrinkage=0.1),
    "LDA, evidence": lambda: sx.LinearDiscriminantAnalysis(shrinkage="evidence"),
    "LDA, predictive": lambda: sx.LinearDiscriminantAnalysis(estimate="predictive"),
    "QDA": sx.QuadraticDiscriminantAnalysis,
    "QDA, evidence": lambda: sx.QuadraticDiscriminantAnalysis(shrinkage="evidence"),
    "naive Bayes": sx.NaiveBayes,
    "naive Bayes, normal": lambda: sx.NaiveBayes("normal"),
    "exponential family": sx.ExponentialFamilyClassifier,
    "multivariate normal": lambda: sx.ExponentialFamilyClassifier("multivariate_normal"),
    "logistic": sx.LogisticRegression,
    "logistic, flat": lambda: sx.LogisticRegression(alpha=0.0),
    "probit": sx.ProbitRegression,
    "label noise": sx.LabelNoiseLogisticRegression,
    "Bayesian": sx.BayesianLogisticRegression,
    "one against rest": lambda: sx.OneVsRest(sx.LogisticRegression()),
    "one against one": lambda: sx.OneVsOne(sx.LogisticRegression()),
}
#: Models that are fitted to probabilities of the classes, too.
SOFT = ["logistic", "logistic, flat", "probit", "Bayesian"]

seeds = st.integers(0, 2**32 - 1)
scales = st.lists(st.sampled_from([-300, -160, -74, -9, 0, 9, 74, 150]), min_size=3, max_size=3)
offsets = st.sampled_from([0.0, 1.0, -1e6, 1e12])
kinds = st.sampled_from(["nearly constant within classes", "nearly collinear", "ordinary"])
classes = st.sampled_from([2, 3])


def bad_table(seed, scale, offset, kind, n_classes):
    rng = np.random.default_rng(seed)
    y = np.arange(36) % n_classes
    X = rng.normal(size=(36, 3))
    if kind == "nearly constant within classes":
        X[:, 0] = (y == 1) + X[:, 0] * 1e-9
    elif kind == "nearly collinear":
        X[:, 1] = X[:, 0] + X[:, 1] * 1e-7
    return (X + offset) * 10.0 ** np.array(scale, dtype=float), y


def probabilities(model, X, y, weight=None):
    """Probabilities of the rows and of rows far from them; None if the fit raises a DataError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("error", RuntimeWarning)
        try:
            model.fit(X, y, sample_weight=weight)
        except DataError:
            return None
        try:
            return model.predict_proba(np.vstack([X, 3 * X, -X]))
        except SupportError:  # the family of a column has no negative values
            return model.predict_proba(np.vstack([X, 3 * X]))


def require_probabilities(P):
    if P is not None:
        assert np.isfinite(P).all()
        assert (P >= 0).all()
        assert_allclose(P.sum(axis=1), 1.0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=4, deadline=None)
@given(seeds, scales, offsets, kinds, classes, st.sampled_from([None, -300, -20, 20, 300]))
def test_probabilities_sum_to_one_on_badly_scaled_tables(name, seed, scale, offset, kind, n_classes, power):
    X, y = bad_table(seed, scale, offset, kind, 2 if name == "probit" else n_classes)
    weight = None if power is None else 10.0 ** (power * np.linspace(0, 1, len(y)))
    require_probabilities(probabilities(MODELS[name](), X, y, weight))


@settings(max_examples=20, deadline=None)
@given(seeds, scales, offsets, kinds, classes)
def test_scores_of_rules_are_finite_and_least_squares_outputs_sum_to_one(seed, scale, offset, kind, n_classes):
    """Outputs are not probabilities: they may be large, and then their sum has the rounding error of its terms."""
    X, y = bad_table(seed, scale, offset, kind, n_classes)
    rules = (sx.LeastSquaresClassifier(), sx.FisherDiscriminant(), sx.FisherDiscriminant(shrinkage=0.1))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", CollinearWarning)
        for rule in rules:
            try:
                rule.fit(X, y)
            except DataError:
                continue
            assert np.isfinite(rule.decision_function(X)).all()
            if rule is rules[0]:
                W, w0 = rule.solution_.value.W, rule.solution_.value.w0
                terms = 1 + np.abs(W[:, None] * X).sum(axis=(0, 2)) + np.abs(w0).sum()
                assert (np.abs(rule.outputs(X).sum(axis=1) - 1) <= 1e-13 * terms).all()


@pytest.mark.parametrize("name", SOFT)
@settings(max_examples=3, deadline=None)
@given(seed=seeds, scale=scales, offset=offsets, power=st.sampled_from([None, -300, 300]))
def test_probabilities_sum_to_one_for_soft_targets(name, seed, scale, offset, power):
    X, y = bad_table(seed, scale, offset, "ordinary", 2)
    T = np.where(np.eye(2)[y] == 1, 0.9, 0.1)
    weight = None if power is None else np.full(len(y), 10.0**power)
    require_probabilities(probabilities(MODELS[name](), X, T, weight))


@pytest.mark.parametrize("noise", [1e-6, 1e-8, 1e-9])
@pytest.mark.parametrize(
    "model",
    [sx.LinearDiscriminantAnalysis(), sx.QuadraticDiscriminantAnalysis(), sx.FisherDiscriminant()],
    ids=lambda model: type(model).__name__,
)
def test_classes_that_a_column_does_not_separate_are_told_apart_by_the_others(model, noise):
    """The first column gives class 1 away. The other classes must not depend on how precisely it does so."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    first, second = (y == 1), rng.normal(size=60) + y
    spread = rng.normal(size=60)
    tables = [np.c_[first + spread * size, second] for size in (noise, 1e-3)]
    fine, coarse = (model.fit(X, y).decision_function(X)[y != 1] for X in tables)
    assert_allclose(fine[:, 0] - fine[:, 2], coarse[:, 0] - coarse[:, 2], atol=1e-4)
