"""One-vs-rest against scikit-learn's and against its definition."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB

from problems import blobs
from separatrix.reductions import OneVsRest

INNER = [LogisticRegression(), RidgeClassifier(), GaussianNB()]


@pytest.mark.parametrize("inner", INNER, ids=repr)
@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_labels_are_scikit_learns(inner, n_classes):
    X, y = blobs(300, n_classes=n_classes)
    ours, theirs = OneVsRest(inner).fit(X, y), OneVsRestClassifier(inner).fit(X, y)
    assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("inner", [LogisticRegression(), GaussianNB()], ids=repr)
def test_probabilities_are_scikit_learns(inner):
    X, y = blobs(300, n_classes=4)
    ours, theirs = OneVsRest(inner).fit(X, y), OneVsRestClassifier(inner).fit(X, y)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-12)


def test_claims_are_those_of_classifiers_fitted_by_hand():
    X, y = blobs(300, n_classes=4, distance=0.7)
    model = OneVsRest(RidgeClassifier()).fit(X, y)
    by_hand = np.column_stack([clone(model.estimator).fit(X, y == k).predict(X) for k in range(4)])
    assert_array_equal(model.claims(X), by_hand)
    assert_array_equal(model.is_ambiguous(X), [sum(row) != 1 for row in by_hand.tolist()])
    sole = ~model.is_ambiguous(X)
    assert_array_equal(model.predict(X)[sole], by_hand[sole].argmax(axis=1))


class Never(ClassifierMixin, BaseEstimator):
    """Gives every row probability zero."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.tile([1.0, 0.0], (len(X), 1))


def test_a_row_that_nobody_thinks_possible_is_left_undecided():
    model = OneVsRest(Never()).fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    assert_allclose(model.predict_proba([[0.0]]), 1 / 3)
    assert model.is_ambiguous([[0.0]]).all()
