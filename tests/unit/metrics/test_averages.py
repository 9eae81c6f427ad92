import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics as oracle

from separatrix import metrics


def predictions(seed, n=60, K=3):
    """Probabilities, codes, and whole-number weights some of which are zero."""
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(K), size=n), rng.integers(K, size=n), rng.integers(0, 4, size=n)


@pytest.mark.parametrize("K", [2, 3, 5])
def test_values_are_those_of_scikit_learn(K):
    P, codes, weight = predictions(K, K=K)
    labels = np.arange(K)
    log_loss = oracle.log_loss(codes, P, sample_weight=weight, labels=labels)
    half_brier = oracle.brier_score_loss(codes, P, sample_weight=weight, labels=labels, scale_by_half=True)
    hits = oracle.accuracy_score(codes, P.argmax(axis=1), sample_weight=weight)
    assert metrics.log_likelihood(P, codes, weight).value == pytest.approx(-log_loss, rel=1e-12)
    assert metrics.brier(P, codes, weight).value == pytest.approx(half_brier, rel=1e-12)
    assert metrics.accuracy(P, codes, weight).value == pytest.approx(hits, rel=1e-12)


def test_for_two_classes_the_brier_score_is_the_mean_squared_error():
    P, codes, _ = predictions(0, K=2)
    assert metrics.brier(P, codes).value == pytest.approx(np.mean((P[:, 1] - codes) ** 2), rel=1e-13)


def test_standard_errors_are_those_of_means():
    P, codes, _ = predictions(1)
    rows = np.log(P[np.arange(len(P)), codes])
    assert metrics.log_likelihood(P, codes).standard_error == pytest.approx(stats.sem(rows), rel=1e-12)
    np.testing.assert_allclose(metrics.log_likelihoods(P, codes), rows, rtol=1e-15)
    p, n = metrics.accuracy(P, codes).value, len(P)
    assert metrics.accuracy(P, codes).standard_error == pytest.approx(np.sqrt(p * (1 - p) / (n - 1)), rel=1e-12)


@given(seed=st.integers(0, 10**6), K=st.integers(2, 4))
@settings(max_examples=20)
def test_a_weight_of_k_is_the_row_k_times(seed, K):
    P, codes, weight = predictions(seed, K=K)
    again = np.repeat(P, weight, axis=0), np.repeat(codes, weight)
    for figure in (metrics.log_likelihood, metrics.accuracy, metrics.brier, metrics.ece, metrics.auc):
        np.testing.assert_allclose(figure(P, codes, weight), figure(*again), rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(
        metrics.ece_if_calibrated(P, codes, weight), metrics.ece_if_calibrated(*again), rtol=1e-10
    )


def test_a_proper_score_is_best_for_the_truth(rng):
    """E[score] under t ~ q is largest at P = q, for every q: checked by sums over t, without noise."""
    for q in rng.dirichlet(np.ones(3), size=10):
        others = rng.dirichlet(np.ones(3), size=50)
        for figure, sign in ((metrics.log_likelihood, 1), (metrics.brier, -1)):
            truth, *rest = (sign * figure(np.tile(p, (3, 1)), [0, 1, 2], q).value for p in [q, *others])
            assert truth >= max(rest)


def test_zero_probability_of_what_came_true_is_not_clipped():
    P = [[1.0, 0.0], [0.5, 0.5]]
    assert metrics.log_likelihood(P, [1, 0]).value == -np.inf
    assert np.isnan(metrics.log_likelihood(P, [1, 0]).standard_error)
    np.testing.assert_array_equal(metrics.log_likelihoods(P, [1, 0]), [-np.inf, np.log(0.5)])


def test_confusion_is_that_of_scikit_learn():
    P, codes, weight = predictions(2, K=4)
    found = metrics.confusion(P, codes, weight)
    expected = oracle.confusion_matrix(codes, P.argmax(axis=1), sample_weight=weight, normalize="true")
    np.testing.assert_allclose(found.share, expected, rtol=1e-13)
    hits = (P.argmax(axis=1) == 1)[codes == 1]
    assert metrics.confusion(P, codes).standard_error[1, 1] == pytest.approx(stats.sem(hits), rel=1e-12)


def test_a_class_that_does_not_occur_has_no_row_in_the_confusion():
    share, error = metrics.confusion([[0.2, 0.8, 0.0], [0.6, 0.4, 0.0]], [0, 0])
    np.testing.assert_array_equal(share, [[0.5, 0.5, 0.0], [np.nan] * 3, [np.nan] * 3])
    assert np.isnan(error[1:]).all()
