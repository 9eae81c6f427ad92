"""Laws of logistic regression with wrong labels, for any data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from problems import blobs
from separatrix.discriminative import LabelNoiseLogisticRegression, LogisticRegression

SEEDS = st.integers(0, 10_000)
OPTIONS = st.sampled_from([{"noise": 0.1}, {}, {"rates": "per-class"}, {"rates": "full"}])
CLASSES = st.integers(2, 4)


def same(a, b, atol=1e-5):
    assert_allclose(a.confusion_, b.confusion_, atol=atol)
    assert_allclose(a.coef_, b.coef_, atol=10 * atol)


@settings(max_examples=12)
@given(SEEDS, OPTIONS, CLASSES)
def test_a_weight_of_k_equals_k_copies_of_the_row(seed, options, K):
    X, y = blobs(120, n_classes=K, seed=seed)
    times = np.random.default_rng(seed).integers(0, 4, size=len(y))
    times[:K] = 1
    weighted = LabelNoiseLogisticRegression(**options).fit(X, y, sample_weight=times)
    repeated = LabelNoiseLogisticRegression(**options).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    same(weighted, repeated)
    assert_allclose(np.repeat(weighted.mislabelled_, times), repeated.mislabelled_, atol=1e-5)


@settings(max_examples=12)
@given(SEEDS, OPTIONS, st.integers(3, 4))
def test_permuted_classes_give_permuted_results(seed, options, K):
    X, y = blobs(150, n_classes=K, seed=seed)
    order = np.random.default_rng(seed).permutation(K)
    one = LabelNoiseLogisticRegression(**options).fit(X, y)
    other = LabelNoiseLogisticRegression(**options).fit(X, order[y])
    assert_allclose(other.confusion_[np.ix_(order, order)], one.confusion_, atol=1e-5)
    assert_allclose(other.coef_[order], one.coef_, atol=1e-4)
    assert_allclose(other.mislabelled_, one.mislabelled_, atol=1e-5)


@settings(max_examples=10)
@given(SEEDS, OPTIONS)
def test_swapped_labels_change_the_sign_of_the_weights(seed, options):
    X, y = blobs(150, n_classes=2, seed=seed)
    one, other = (LabelNoiseLogisticRegression(**options).fit(X, t) for t in (y, 1 - y))
    assert_allclose(other.coef_, -one.coef_, atol=1e-4)
    assert_allclose(other.confusion_[::-1, ::-1], one.confusion_, atol=1e-5)


@settings(max_examples=10)
@given(SEEDS, CLASSES, st.floats(0.0, 0.4))
def test_noise_may_be_a_rate_a_vector_of_rates_or_a_matrix(seed, K, eps):
    X, y = blobs(120, n_classes=K, seed=seed)
    C = np.full((K, K), eps / (K - 1))
    np.fill_diagonal(C, 1 - eps)
    one, each, whole = (LabelNoiseLogisticRegression(noise=noise).fit(X, y) for noise in (eps, np.full(K, eps), C))
    same(one, each)
    same(one, whole)


@settings(max_examples=10)
@given(SEEDS, OPTIONS, CLASSES)
def test_mislabelling_and_class_probabilities_lie_in_0_1(seed, options, K):
    X, y = blobs(100, n_classes=K, seed=seed)
    model = LabelNoiseLogisticRegression(**options).fit(X, y)
    assert ((model.mislabelled_ >= 0) & (model.mislabelled_ <= 1)).all()
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert_allclose(model.confusion_.sum(axis=1), 1.0)


@pytest.mark.slow
@settings(max_examples=10)
@given(SEEDS, CLASSES)
def test_a_rate_of_zero_is_the_limit_of_logistic_regression(seed, K):
    X, y = blobs(100, n_classes=K, seed=seed)
    gap = [
        np.abs(LabelNoiseLogisticRegression(noise=eps).fit(X, y).coef_ - LogisticRegression().fit(X, y).coef_).max()
        for eps in (1e-3, 1e-5, 0.0)
    ]
    assert gap[2] < 1e-6
    assert gap[1] <= gap[0] + 1e-6
    assert gap[1] < 0.05
