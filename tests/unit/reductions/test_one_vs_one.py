"""One-vs-one against scikit-learn's and against a count of votes by hand."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsOneClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from problems import blobs
from separatrix.exceptions import DataError
from separatrix.reductions import OneVsOne
from separatrix.reductions.coupling import pairs
from separatrix.reductions.one_vs_one import sides, votes


@pytest.mark.parametrize("inner", [LogisticRegression(), RidgeClassifier()], ids=repr)
@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_labels_and_decision_values_are_scikit_learns(inner, n_classes):
    X, y = blobs(300, n_classes=n_classes, distance=0.7)
    ours, theirs = OneVsOne(inner).fit(X, y), OneVsOneClassifier(inner).fit(X, y)
    assert_array_equal(ours.predict(X), theirs.predict(X))
    if n_classes > 2:  # for two, ours are the values of the wrapped classifier
        assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-12)


def test_labels_are_scikit_learns_wherever_votes_settle_them():
    """Ties of classifiers with probabilities alone differ: scikit-learn sums p, we sum 2 p - 1."""
    X, y = blobs(300, n_classes=5, distance=0.7)
    ours, theirs = OneVsOne(GaussianNB()).fit(X, y), OneVsOneClassifier(GaussianNB()).fit(X, y)
    settled = ~ours.is_ambiguous(X)
    assert_array_equal(ours.predict(X)[settled], theirs.predict(X)[settled])


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
    sole = ~model.is_ambiguous(X)
    assert_array_equal(model.predict(X)[sole], model.classes_[count.argmax(axis=1)][sole])


def test_each_classifier_keeps_the_labels_of_its_pair():
    X, y = blobs(80, n_classes=3)
    names = np.array(["a", "b", "c"])
    model = OneVsOne(RidgeClassifier()).fit(X, names[y])
    assert [tuple(e.classes_) for e in model.estimators_] == [("a", "b"), ("a", "c"), ("b", "c")]


def test_equal_votes_are_settled_by_the_sum_of_values_and_votes_never_overruled():
    Y = np.array([[-1.0, 2.0, -5.0], [9.0, -1.0, 1e9]])  # y_01, y_02, y_12
    K = 3
    assert_array_equal(votes(Y, K), [[1, 1, 1], [1, 1, 1]])
    assert_array_equal(Y @ sides(K), [[1 - 2, -1 + 5, 2 - 5], [-9 + 1, 9 - 1e9, -1 + 1e9]])
    model = OneVsOne(None)
    model.classes_ = np.arange(K)
    assert_array_equal(model._strength(Y).argmax(axis=1), [1, 2])
    loud = np.array([[-1e-9, -1e-9, 1e300]])  # class 0 wins both its pairs, barely
    assert model._strength(loud).argmax() == 0


def test_a_value_of_zero_is_a_vote_for_the_first_of_the_pair():
    assert_array_equal(votes(np.zeros((1, 6)), 4), [[3, 2, 1, 0]])


def test_probabilities_of_pairs_that_are_consistent_are_recovered():
    """Pairwise posteriors of naive Bayes with equal class shares are ratios of densities: consistent."""
    X, _ = blobs(120, n_classes=3)
    y = np.arange(120) % 3
    joint = GaussianNB(var_smoothing=0).fit(X, y)
    model = OneVsOne(GaussianNB(var_smoothing=0)).fit(X, y)
    assert_allclose(model.predict_proba(X), joint.predict_proba(X), rtol=1e-8, atol=1e-12)


def test_a_precomputed_kernel_is_refused_with_a_way_out():
    X, y = blobs(30)
    with pytest.raises(DataError, match=r"SVC wants similarities to all training rows.*OneVsRest"):
        OneVsOne(SVC(kernel="precomputed")).fit(X @ X.T, y)


def test_pairs_are_counted_once():
    assert pairs(4) == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
