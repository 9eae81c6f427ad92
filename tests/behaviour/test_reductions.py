# SPDX-License-Identifier: BSD-3-Clause
"""One-vs-rest, one-vs-one and pairwise coupling."""

import itertools
from unittest import SkipTest

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import indexable
from sklearn.utils._mocking import CheckingClassifier
from sklearn.utils.estimator_checks import estimator_checks_generator

import separatrix as sx
from problems import STORAGES, blobs
from separatrix.exceptions import DataError
from separatrix.reductions import OneVsOne, OneVsRest, couple, pairs, take_rows

BOTH = pytest.mark.parametrize("reduction", [OneVsRest, OneVsOne])
newton = LogisticRegression(solver="newton-cholesky")


@pytest.mark.filterwarnings(
    "ignore::RuntimeWarning",
    "ignore::sklearn.exceptions.SkipTestWarning",
    "ignore::separatrix.exceptions.CollinearWarning",
)
@pytest.mark.parametrize(
    "inner",
    [GaussianNB(), *(pytest.param(inner, marks=pytest.mark.slow) for inner in (newton, sx.LeastSquaresClassifier()))],
    ids=repr,
)
@BOTH
def test_scikit_learn_contract(reduction, inner):
    with np.errstate(all="warn"):
        for estimator, check in estimator_checks_generator(reduction(inner)):
            try:
                check(estimator)
            except SkipTest:
                continue


@pytest.mark.parametrize("inner", [newton, RidgeClassifier(), GaussianNB(), DecisionTreeClassifier(random_state=0)])
@BOTH
def test_two_classes_are_the_wrapped_classifier(reduction, inner):
    X, t = blobs(100, n_classes=2)
    y = np.array(["no", "yes"])[t]
    model, alone = reduction(inner, ambiguous="reject").fit(X, y), clone(inner).fit(X, y)
    assert len(model.estimators_) == 1
    assert_array_equal(model.predict(X), alone.predict(X))
    assert_array_equal(model.claims(X), np.eye(2)[(alone.predict(X) == "yes").astype(int)])
    assert not model.is_ambiguous(X).any()
    if not isinstance(inner, RidgeClassifier):
        assert_array_equal(model.predict_proba(X), alone.predict_proba(X))


@pytest.mark.parametrize("storage", STORAGES)
@BOTH
def test_storage_does_not_matter(reduction, storage):
    X, y = blobs(90, n_classes=3)
    plain = reduction(sx.LeastSquaresClassifier()).fit(X, y)
    stored = reduction(sx.LeastSquaresClassifier()).fit(STORAGES[storage](X), y)
    assert_allclose(stored.decision_function(STORAGES[storage](X)), plain.decision_function(X), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("kind", [list, pd.Series, np.array])
@BOTH
def test_rows_need_not_be_numbers(reduction, kind):
    texts = kind(["red apple", "green apple", "blue sky", "grey sky", "deep sea", "blue sea"])
    y = ["fruit", "fruit", "air", "air", "water", "water"]
    model = reduction(make_pipeline(CountVectorizer(), MultinomialNB())).fit(texts, y)
    assert_array_equal(model.predict(kind(["an apple", "the sky", "the sea"])), ["fruit", "air", "water"])


@BOTH
def test_a_weight_of_k_equals_k_copies_of_the_row(reduction, rng):
    X, y = blobs(80, n_classes=3)
    k = rng.integers(0, 4, size=80)
    k[:3] = 1
    weighted = reduction(RidgeClassifier()).fit(X, y, sample_weight=k)
    repeated = reduction(RidgeClassifier()).fit(np.repeat(X, k, axis=0), np.repeat(y, k))
    assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-8, atol=1e-10)
    assert not np.allclose(weighted.decision_function(X), reduction(RidgeClassifier()).fit(X, y).decision_function(X))


@BOTH
def test_only_ambiguous_rows_are_rejected(reduction):
    X, t = blobs(400, n_classes=6, distance=0.3)
    y = np.array(list("abcdef"))[t]
    resolved = reduction(RidgeClassifier()).fit(X, y)
    rejecting = reduction(RidgeClassifier(), ambiguous="reject", reject_label="?").fit(X, y)
    ambiguous = resolved.is_ambiguous(X)
    assert 0 < ambiguous.sum() < len(X)
    assert_array_equal(rejecting.predict(X), np.where(ambiguous, "?", resolved.predict(X)))


@BOTH
def test_probabilities_exist_if_the_wrapped_classifier_has_them(reduction):
    X, y = blobs(60, n_classes=3)
    P = reduction(newton).fit(X, y).predict_proba(X)
    assert_allclose(P.sum(axis=1), 1)
    without = reduction(RidgeClassifier()).fit(X, y)
    with pytest.raises(AttributeError, match="predict_proba"):
        without.predict_proba(X)


@pytest.mark.parametrize(
    ("inner", "options", "y", "error", "match"),
    [
        (KMeans(), {}, [0, 1, 2], TypeError, "KMeans has neither decision_function nor predict_proba"),
        (RidgeClassifier(), {}, [1, 1, 1], DataError, "only one class is present: every label is"),
        (RidgeClassifier(), {}, [0, 1, None], DataError, "1 of 3 labels are missing"),
        (RidgeClassifier(), {}, [0, 1], ValueError, "inconsistent numbers of samples"),
        (RidgeClassifier(), {"ambiguous": "hide"}, [0, 1, 2], ValueError, "ambiguous='hide'.*'reject'"),
        (RidgeClassifier(), {"ambiguous": "reject"}, [-1, 0, 1], DataError, "reject label -1 is also a class"),
    ],
)
@BOTH
def test_invalid_input_is_refused(reduction, inner, options, y, error, match):
    with pytest.raises(error, match=match):
        reduction(inner, **options).fit([[0.0], [1.0], [2.0]], y)


@pytest.mark.parametrize("inner", [LogisticRegression(), RidgeClassifier(), GaussianNB()], ids=repr)
@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_one_vs_rest_agrees_with_scikit_learn(inner, n_classes):
    X, y = blobs(300, n_classes=n_classes)
    ours, theirs = OneVsRest(inner).fit(X, y), OneVsRestClassifier(inner).fit(X, y)
    assert_array_equal(ours.predict(X), theirs.predict(X))
    if n_classes > 2 and not isinstance(inner, RidgeClassifier):
        assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-12)


def test_claims_are_those_of_classifiers_fitted_by_hand():
    X, y = blobs(300, n_classes=4, distance=0.7)
    model = OneVsRest(RidgeClassifier()).fit(X, y)
    by_hand = np.column_stack([clone(model.estimator).fit(X, y == k).predict(X) for k in range(4)])
    assert_array_equal(model.claims(X), by_hand)
    assert_array_equal(model.is_ambiguous(X), [sum(row) != 1 for row in by_hand.tolist()])


class Never(ClassifierMixin, BaseEstimator):
    """Gives every row probability zero."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.tile([1.0, 0.0], (len(X), 1))


def test_a_row_with_probability_zero_for_every_class_is_uniform():
    model = OneVsRest(Never()).fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    assert_allclose(model.predict_proba([[0.0]]), 1 / 3)
    assert model.is_ambiguous([[0.0]]).all()


@pytest.mark.parametrize("inner", [LogisticRegression(), RidgeClassifier()], ids=repr)
@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_one_vs_one_agrees_with_scikit_learn(inner, n_classes):
    X, y = blobs(300, n_classes=n_classes, distance=0.7)
    ours, theirs = OneVsOne(inner).fit(X, y), OneVsOneClassifier(inner).fit(X, y)
    assert_array_equal(ours.predict(X), theirs.predict(X))
    if n_classes > 2:  # for two, ours are the values of the wrapped classifier
        assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-12)


def test_votes_are_those_of_classifiers_fitted_by_hand():
    X, y = blobs(200, n_classes=4, distance=0.7)
    names = np.array(["d", "b", "a", "c"])
    model = OneVsOne(RidgeClassifier()).fit(X, names[y])
    count = np.zeros((200, 4), dtype=int)
    for i, a in enumerate(model.classes_):
        for b in model.classes_[i + 1 :]:
            rows = np.isin(names[y], [a, b])
            winner = clone(model.estimator).fit(X[rows], names[y][rows]).predict(X)
            count[np.arange(200), np.searchsorted(model.classes_, winner)] += 1
    assert_array_equal(model.claims(X), count)
    best = np.sort(count, axis=1)
    assert_array_equal(model.is_ambiguous(X), best[:, -1] == best[:, -2])


def test_equal_votes_are_resolved_by_the_sum_of_values():
    Y = np.array([[-1.0, 2.0, -5.0], [9.0, -1.0, 1e9]])  # y_01, y_02, y_12
    model = OneVsOne(None)
    model.classes_ = np.arange(3)
    assert_array_equal(model._strength(Y).argmax(axis=1), [1, 2])
    loud = np.array([[-1e-9, -1e-9, 1e300]])  # class 0 barely wins both of its pairs
    assert model._strength(loud).argmax() == 0


def test_probabilities_of_pairs_that_are_consistent_are_recovered():
    """Pairwise posteriors of naive Bayes with equal class proportions are ratios of densities, and so consistent."""
    X, _ = blobs(120, n_classes=3)
    y = np.arange(120) % 3
    joint = GaussianNB(var_smoothing=0).fit(X, y)
    model = OneVsOne(GaussianNB(var_smoothing=0)).fit(X, y)
    assert_allclose(model.predict_proba(X), joint.predict_proba(X), rtol=1e-8, atol=1e-12)


def pairwise(P):
    """p_j / (p_i + p_j) for each pair (i, j): the probabilities of consistent pairwise classifiers."""
    return np.column_stack([P[:, j] / (P[:, i] + P[:, j]) for i, j in pairs(P.shape[1])])


def matrix(r, K):
    """R_ij = probability of i against j."""
    R = np.zeros((K, K))
    for value, (i, j) in zip(r, pairs(K), strict=True):
        R[j, i], R[i, j] = value, 1 - value
    return R


def objective(p, R):
    """Σ_i Σ_{j≠i} (r_ji p_i - r_ij p_j)², term by term."""
    K = len(p)
    return sum((R[j, i] * p[i] - R[i, j] * p[j]) ** 2 for i in range(K) for j in range(K) if i != j)


@given(seed=st.integers(0, 2**32 - 1), K=st.integers(2, 8), spread=st.floats(0.1, 12))
@settings(max_examples=40)
def test_consistent_pairs_are_coupled_exactly(seed, K, spread):
    A = spread * np.random.default_rng(seed).normal(size=(5, K))
    P = np.exp(A - A.max(axis=1, keepdims=True))
    P /= P.sum(axis=1, keepdims=True)
    assert_allclose(couple(pairwise(P), K), P, rtol=1e-7, atol=1e-13)


@pytest.mark.parametrize("K", [3, 5])
def test_no_feasible_point_is_better_according_to_a_general_minimiser(K, rng):
    for r in rng.uniform(size=(4, K * (K - 1) // 2)):
        R = matrix(r, K)
        found = minimize(
            objective,
            np.full(K, 1 / K),
            args=(R,),
            method="SLSQP",
            bounds=[(0, 1)] * K,
            constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
            options={"ftol": 1e-14, "maxiter": 500},
        )
        assert_allclose(couple(r[None], K)[0], found.x, atol=1e-5)  # accuracy of SLSQP


@pytest.mark.parametrize("K", [3, 4, 5])
def test_probabilities_of_zero_and_one_have_a_solution(K):
    """With zeros and ones, including cycles, the system is not singular and the solution is a distribution."""
    outcomes = np.array(list(itertools.product([0.0, 1.0], repeat=K * (K - 1) // 2)))
    P = couple(outcomes, K)
    assert np.isfinite(P).all()
    assert (P >= 0).all()
    assert_allclose(P.sum(axis=1), 1)
    undefeated = np.array([[all(matrix(r, K)[i, j] for j in range(K) if j != i) for i in range(K)] for r in outcomes])
    assert_allclose(P[undefeated], 1)
    assert_allclose(couple(np.array([[1.0, 0.0, 1.0]]), 3), 1 / 3)  # a cycle of wins


@pytest.mark.parametrize("storage", STORAGES)
def test_rows_are_selected_in_the_given_order(storage):
    X, rows = np.arange(10.0).reshape(5, 2), np.array([3, 0, 3])
    table = indexable(STORAGES[storage](X))[0]
    some = take_rows(table, rows)
    assert_array_equal(some.toarray() if sparse.issparse(some) else np.asarray(some, dtype=float), X[rows])
    assert type(some) is type(table)


# Batches


@BOTH
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_batches_give_the_fit_of_all_rows_if_the_inner_batches_do(reduction, n_classes):
    X, y = blobs(400, n_classes=n_classes)
    labels, weight = np.array(list("dbca"))[y], np.random.default_rng(0).random(400)
    whole = reduction(sx.LinearDiscriminantAnalysis()).fit(X, labels, sample_weight=weight)
    model = reduction(sx.LinearDiscriminantAnalysis())
    order = np.argsort(y, kind="stable")  # some batches have one class only
    for rows in np.array_split(order, 5):
        model.partial_fit(X[rows], labels[rows], classes=np.unique(labels), sample_weight=weight[rows])
    assert model.classes_.tolist() == sorted(set(labels))
    assert model.n_classes_ == n_classes
    assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-9)
    assert (model.predict(X) == whole.predict(X)).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_batches_agree_with_scikit_learn(n_classes):
    X, y = blobs(300, n_classes=n_classes)
    inner = SGDClassifier(random_state=0)
    pairs = [(OneVsRest, OneVsRestClassifier), (OneVsOne, OneVsOneClassifier)]
    for ours, theirs in ((ours(inner), theirs(inner)) for ours, theirs in pairs):
        for rows in (slice(0, 100), slice(100, 300)):
            ours.partial_fit(X[rows], y[rows], classes=range(n_classes))
            theirs.partial_fit(X[rows], y[rows], classes=np.arange(n_classes))
        assert (ours.predict(X) == theirs.predict(X)).all()
        if n_classes > 2:  # scikit-learn squashes the values of a single pair
            assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-10)


@BOTH
def test_a_batch_that_fails_changes_nothing(reduction):
    X, y = blobs(300)
    model = reduction(sx.LinearDiscriminantAnalysis()).partial_fit(X, y, classes=[0, 1, 2])
    before = model.predict_proba(X)
    bad = X.copy()
    bad[y == 2] = np.inf  # the pair of the first two classes has no such row
    with pytest.raises(DataError, match="infinity"):
        model.partial_fit(bad, y)
    assert (model.predict_proba(X) == before).all()


@BOTH
def test_only_a_classifier_with_batches_gives_batches(reduction):
    assert hasattr(reduction(sx.NaiveBayes()), "partial_fit")
    assert not hasattr(reduction(SVC()), "partial_fit")
    with pytest.raises(AttributeError) as raised:
        _ = reduction(SVC()).partial_fit
    assert "SVC" in str(raised.value.__cause__)


def test_weights_of_batches_are_routed():
    X, y = blobs(300)
    weight = np.random.default_rng(0).random(300)
    with config_context(enable_metadata_routing=True):
        inner = sx.NaiveBayes("normal").set_partial_fit_request(sample_weight=True)
        routed = OneVsRest(inner).partial_fit(X, y, classes=[0, 1, 2], sample_weight=weight)
    plain = OneVsRest(sx.NaiveBayes("normal")).fit(X, y, sample_weight=weight)
    assert_allclose(routed.predict_proba(X), plain.predict_proba(X), atol=1e-10)


@BOTH
def test_weights_that_are_all_one_are_passed_on(reduction):
    X, y = blobs(60)
    strict = CheckingClassifier(expected_sample_weight=True, methods_to_check=[])
    reduction(strict).fit(X, y, sample_weight=np.ones(60))
