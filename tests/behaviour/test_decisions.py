# SPDX-License-Identifier: BSD-3-Clause
"""Decisions against brute force, against scikit-learn's threshold, and the theorems about them."""

from unittest import SkipTest

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import FixedThresholdClassifier, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import estimator_checks_generator

from problems import blobs
from separatrix.calibration import Calibrated
from separatrix.decisions import DecisionRule, decide, expected_cost
from separatrix.exceptions import DataError
from separatrix.reductions import OneVsOne

newton = LogisticRegression(solver="newton-cholesky")


SEEDS = st.integers(0, 2**32 - 1)


def draw(seed, K, columns=None, N=40):
    """Random probabilities (N, K) and costs (K, columns); no two decisions cost the same."""
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(K, 0.7), size=N), rng.normal(size=(K, columns or K))


# --- the functions ------------------------------------------------------------------------------------------
@given(seed=SEEDS, K=st.integers(2, 5), extra=st.booleans())
@settings(max_examples=30)
def test_the_decision_has_the_smallest_expected_cost(seed, K, extra):
    P, L = draw(seed, K, K + extra)
    R = [[sum(p[k] * L[k, j] for k in range(K)) for j in range(K + extra)] for p in P]
    assert_allclose(expected_cost(P, L), R, rtol=1e-12, atol=1e-14)
    assert_array_equal(decide(P, costs=L), [min(range(K + extra), key=row.__getitem__) for row in R])


@given(seed=SEEDS, K=st.integers(2, 5))
@settings(max_examples=30)
def test_without_costs_the_most_probable_class_is_chosen(seed, K):
    P, _ = draw(seed, K)
    assert_array_equal(decide(P), P.argmax(axis=1))
    assert_array_equal(decide(P, costs=1 - np.eye(K)), P.argmax(axis=1))


@given(seed=SEEDS, K=st.integers(2, 5), extra=st.booleans())
@settings(max_examples=30)
def test_a_factor_and_a_constant_per_true_class_change_no_decision(seed, K, extra):
    P, L = draw(seed, K, K + extra)
    sunk = np.random.default_rng(seed + 1).normal(size=(K, 1))
    assert_array_equal(decide(P, costs=3.5 * L + sunk), decide(P, costs=L))


@given(seed=SEEDS, K=st.integers(2, 5), theta=st.floats(0, 1))
@settings(max_examples=50)
def test_a_threshold_equals_a_cost_of_rejecting(seed, K, theta):
    P, _ = draw(seed, K)
    P = P[np.abs(P.max(axis=1) - theta) > 1e-12]  # ties are decided by rounding
    L = np.column_stack([1 - np.eye(K), np.full(K, 1 - theta)])
    assert_array_equal(decide(P, reject=theta), decide(P, costs=L))
    assert_array_equal(decide(P, reject=theta) == K, P.max(axis=1) <= theta)


def test_ties_go_to_the_first_class_and_a_threshold_applies_after_costs():
    assert_array_equal(decide([[0.25, 0.25, 0.5], [0.5, 0.5, 0]], costs=np.ones((3, 3))), [0, 0])
    assert_array_equal(decide([[0.5, 0.5]]), [0])
    P = np.array([[0.9, 0.1], [0.55, 0.45]])  # a threshold applies after the costs
    assert_array_equal(decide(P, costs=[[0, 1], [1000, 0]], reject=0.6), [1, 2])


# --- the estimator ------------------------------------------------------------------------------------------
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize(
    "rule",
    [DecisionRule(newton), DecisionRule(GaussianNB(), reject=0.2, reject_label=99)],
    ids=["plain", "threshold"],
)
def test_scikit_learn_contract(rule):
    with np.errstate(all="warn"):
        for estimator, check in estimator_checks_generator(rule):
            try:
                check(estimator)
            except SkipTest:
                continue


@pytest.mark.parametrize(("c01", "c10"), [(1, 1), (1, 9), (5, 1), (0.3, 0.1)])
def test_two_classes_agree_with_scikit_learns_threshold(c01, c10):
    X, y = blobs(400, n_classes=2, distance=0.5)
    ours = DecisionRule(newton, costs=[[0, c01], [c10, 0]]).fit(X, y)
    theirs = FixedThresholdClassifier(newton, threshold=c01 / (c01 + c10), response_method="predict_proba")
    assert_array_equal(ours.predict(X), theirs.fit(X, y).predict(X))
    assert 0 < ours.predict(X).mean() < 1


def named(n=150, K=3):
    X, t = blobs(n, n_classes=K, distance=0.7)
    return X, np.array(["air", "earth", "fire", "water"])[t]


@pytest.mark.parametrize(
    ("mapping", "matrix"),
    [
        (
            {("fire", "air"): 20, ("air", "earth"): 0.5, ("air", "air"): 0.1},
            [[0.1, 0.5, 1], [1, 0, 1], [20, 1, 0]],
        ),
        (
            {(label, "reject"): 0.3 for label in ("air", "earth", "fire")},
            [[0, 1, 1, 0.3], [1, 0, 1, 0.3], [1, 1, 0, 0.3]],
        ),
    ],
    ids=["classes", "rejecting"],
)
def test_a_mapping_of_costs_equals_its_matrix(mapping, matrix):
    X, y = named()
    by_label, by_code = (DecisionRule(newton, costs=costs).fit(X, y) for costs in (mapping, matrix))
    assert_array_equal(by_label.predict(X), by_code.predict(X))
    assert_allclose(by_label.expected_cost(X), by_code.expected_cost(X))
    assert (by_label.predict(X) != DecisionRule(newton).fit(X, y).predict(X)).any()


def test_the_reject_label_matters_only_if_rows_can_be_rejected():
    X, t = blobs(60, n_classes=2)
    y = 2 * t - 1
    assert set(DecisionRule(newton).fit(X, y).predict(X)) == {-1, 1}
    with pytest.raises(DataError, match="reject label -1 is also a class"):
        DecisionRule(newton, reject=0.9).fit(X, y)
    assert set(DecisionRule(newton, reject=0.9, reject_label=0).fit(X, y).predict(X)) == {-1, 0, 1}


def test_a_classifier_without_probabilities_is_refused():
    X, y = blobs(60)
    ridge = RidgeClassifier().fit(X, y)
    fits = (lambda prefit=prefit: DecisionRule(ridge, prefit=prefit).fit(X, y) for prefit in (False, True))
    for call in (*fits, lambda: DecisionRule(ridge, prefit=True).predict(X)):
        with pytest.raises(TypeError, match=r"RidgeClassifier has no predict_proba.*sx\.Calibrated"):
            call()
    calibrated = Calibrated(RidgeClassifier())
    assert_allclose(DecisionRule(calibrated).fit(X, y).predict_proba(X).sum(axis=1), 1)


def test_probabilities_pass_through_untouched_and_costs_act_afterwards():
    X, y = named()
    rule = DecisionRule(newton, reject=0.6).fit(X, y)
    P = LogisticRegression(solver="newton-cholesky").fit(X, y).predict_proba(X)
    assert_array_equal(rule.predict_proba(X), P)
    assert_array_equal(rule.predict(X), np.array(["air", "earth", "fire", "reject"])[decide(P, reject=0.6)])
    rule.set_params(reject=None, costs={("fire", "air"): 9})
    assert_array_equal(rule.predict(X), DecisionRule(newton, costs={("fire", "air"): 9}).fit(X, y).predict(X))


def test_a_fitted_classifier_is_not_refitted():
    X, y = named()
    model = GaussianNB().fit(X, y)
    before = model.theta_.copy()
    rule = DecisionRule(model, reject=0.6, prefit=True)
    expected = DecisionRule(GaussianNB(), reject=0.6).fit(X, y).predict(X)
    assert_array_equal(rule.predict(X), expected)
    assert_array_equal(rule.fit(X[:5], y[:5]).predict(X), expected)
    assert_array_equal(model.theta_, before)
    assert "estimator_" not in vars(rule)
    assert_array_equal(rule.classes_, model.classes_)
    frozen = DecisionRule(FrozenEstimator(model), reject=0.6)
    assert_array_equal(sklearn.base.clone(frozen).fit(X[:5], y[:5]).predict(X), expected)


def test_weights_reach_the_wrapped_classifier_or_are_refused(rng):
    X, y = named()
    k = rng.integers(1, 4, size=len(y))
    weighted = DecisionRule(newton).fit(X, y, sample_weight=k)
    repeated = DecisionRule(newton).fit(np.repeat(X, k, axis=0), np.repeat(y, k))
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-5)
    with pytest.raises(TypeError, match=r"KNeighborsClassifier\.fit does not accept it"):
        DecisionRule(KNeighborsClassifier()).fit(X, y, sample_weight=k)
    with sklearn.config_context(enable_metadata_routing=True):
        rule = DecisionRule(LogisticRegression().set_fit_request(sample_weight=True))
        cross_val_score(rule.set_score_request(sample_weight=True), X, y, params={"sample_weight": k})


def test_a_rule_can_wrap_a_reduction():
    X, y = named(K=4)
    rule = DecisionRule(OneVsOne(newton), costs={("water", "fire"): 30}, reject=0.3).fit(X, y)
    P = OneVsOne(newton).fit(X, y).predict_proba(X)
    L = 1 - np.eye(4)
    L[3, 2] = 30
    assert_array_equal(rule.predict(X), np.append(rule.classes_, "reject")[decide(P, costs=L, reject=0.3)])


def test_a_failed_fit_leaves_the_rule_unchanged():
    X, y = blobs(60, n_classes=2)
    rule = DecisionRule(GaussianNB(), costs=[[0, 1], [5, 0]]).fit(X, y)
    before = rule.estimator_
    with pytest.raises(ValueError, match="3"):
        rule.fit(*blobs(60, n_classes=3))  # costs of two classes
    assert rule.estimator_ is before
