"""The ambiguous regions of PRML §4.1.2: definition, existence, and models without such regions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression, RidgeClassifier

from separatrix.reductions import OneVsOne, OneVsRest

SEEDS = st.integers(0, 2**32 - 1)


class Given(ClassifierMixin, BaseEstimator):
    """Classifier with given affine discriminants: y_k against the rest, y_j - y_i for the pair of classes i and j.

    ``fit`` expects one row per class, which contains the number of the class.
    """

    def __init__(self, W):
        self.W = W

    def fit(self, X, t):
        self.classes_ = np.unique(t)
        others, (k,) = (X[t == c, 0].astype(int) for c in self.classes_)
        self.w_ = self.W[k] - (self.W[others[0]] if len(others) == 1 else 0)
        return self

    def decision_function(self, X):
        return X @ self.w_[1:] + self.w_[0]


def reduced(reduction, W):
    """A reduction whose binary classifiers have the given discriminants."""
    classes = np.arange(len(W))
    return reduction(Given(W)).fit(classes[:, None], classes)


def circle(radius, n=64):
    angle = 2 * np.pi * (np.arange(n) + 0.5) / n
    return radius * np.column_stack([np.cos(angle), np.sin(angle)])


def test_figure_4_2_the_ambiguous_region_is_where_not_exactly_one_discriminant_is_positive(rng):
    centres = np.array([[0.0, 0.0], [4.0, 0.0], [2.0, 3.5]])
    y = np.repeat([0, 1, 2], 40)
    X = centres[y] + 0.6 * rng.normal(size=(120, 2))
    side = np.linspace(-3, 7, 60)
    grid = np.column_stack([g.ravel() for g in np.meshgrid(side, side)])
    model = OneVsRest(LogisticRegression()).fit(X, y)
    Y = np.column_stack([LogisticRegression().fit(X, y == k).decision_function(grid) for k in range(3)])
    claimed = (Y > 0).sum(axis=1)
    assert set(claimed) == {0, 1, 2}  # no claim in the central triangle, one in the regions, two in the outer wedges
    assert_array_equal(model.is_ambiguous(grid), claimed != 1)
    assert_array_equal(model.predict(grid), Y.argmax(axis=1))


@given(seed=SEEDS)
@settings(max_examples=50)
def test_three_lines_in_the_plane_always_leave_an_ambiguous_region(seed):
    """On a large circle each discriminant is positive on one half, so a point has 3/2 claims on average.

    At least a fraction f = 1/4 of the directions has two claims or more: 3/2 <= 1 (1 - f) + 3 f.
    """
    W = np.random.default_rng(seed).normal(size=(3, 3))
    ambiguous = reduced(OneVsRest, W).is_ambiguous(circle(radius=1e9))
    assert ambiguous.mean() >= 0.25 - 3 / 64  # each half-circle has 32 of 64 points, give or take one


@given(seed=SEEDS, K=st.integers(3, 7))
@settings(max_examples=50)
def test_pairs_of_a_joint_linear_model_have_no_ambiguous_region(seed, K):
    """Differences y_j - y_i of K functions are transitive: the largest function wins all its pairs (4.9)."""
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(K, 3))
    X = np.concatenate([rng.normal(size=(50, 2)), circle(radius=1e6)])
    model = reduced(OneVsOne, W)
    A = X @ W[:, 1:].T + W[:, 0]
    assert not model.is_ambiguous(X).any()
    assert_array_equal(model.predict(X), A.argmax(axis=1))
    assert_array_equal(model.claims(X), A.argsort(axis=1).argsort(axis=1))  # one vote per smaller value


@given(seed=SEEDS, K=st.integers(3, 6))
@settings(max_examples=20)
def test_every_pair_votes_once_and_unambiguous_claims_decide(seed, K):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % K
    for model in (OneVsRest(RidgeClassifier()).fit(X, y), OneVsOne(RidgeClassifier()).fit(X, y)):
        claims, sole = model.claims(X), ~model.is_ambiguous(X)
        if isinstance(model, OneVsOne):
            assert_array_equal(claims.sum(axis=1), K * (K - 1) // 2)
        assert_array_equal(model.predict(X), model.decision_function(X).argmax(axis=1))
        assert_array_equal(model.predict(X)[sole], claims[sole].argmax(axis=1))


@pytest.mark.parametrize("reduction", [OneVsRest, OneVsOne])
@given(seed=SEEDS)
@settings(max_examples=15)
def test_names_and_order_of_classes_do_not_matter(reduction, seed):
    rng = np.random.default_rng(seed)
    X, y, order = rng.normal(size=(60, 3)), np.arange(60) % 4, rng.permutation(4)
    a = reduction(RidgeClassifier()).fit(X, y)
    b = reduction(RidgeClassifier()).fit(X, order[y])
    np.testing.assert_allclose(b.decision_function(X)[:, order], a.decision_function(X), rtol=1e-9, atol=1e-9)
    assert_array_equal(b.claims(X)[:, order], a.claims(X))
    assert_array_equal(b.is_ambiguous(X), a.is_ambiguous(X))
