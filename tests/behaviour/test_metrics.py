"""Scores of predicted probabilities against scikit-learn, SciPy, brute force and simulation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics as oracle
from sklearn.calibration import calibration_curve

from separatrix import metrics
from separatrix.exceptions import DataError

TWO_ROWS = [[0.5, 0.5], [0.2, 0.8]]


def predictions(seed, n=60, K=3, levels=None):
    """Probabilities (with ``levels``, with many ties), codes, and whole-number weights of which some are zero."""
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.ones(K), size=levels or n)
    P = P if levels is None else P[rng.integers(levels, size=n)]
    codes = rng.integers(K, size=n)
    codes[: 2 * K] = np.tile(np.arange(K), 2)
    return P, codes, rng.integers(0, 4, size=n)


def two_classes(p):
    return np.column_stack([1 - p, p])


def simulate(rng, n=400, slope=1.0, runs=400):
    """Predicted probabilities whose log-odds are wrong by a factor, and true classes, for many data sets."""
    a = rng.normal(size=(runs, n)) * 2
    t = rng.random((runs, n)) < 1 / (1 + np.exp(-a))
    return 1 / (1 + np.exp(-slope * a)), t.astype(int)


@pytest.mark.parametrize("K", [2, 3, 5])
def test_values_are_those_of_scikit_learn(K):
    P, codes, weight = predictions(K, K=K)
    labels = np.arange(K)
    log_loss = oracle.log_loss(codes, P, sample_weight=weight, labels=labels)
    half_brier = oracle.brier_score_loss(codes, P, sample_weight=weight, labels=labels, scale_by_half=True)
    hits = oracle.accuracy_score(codes, P.argmax(axis=1), sample_weight=weight)
    confusion = oracle.confusion_matrix(codes, P.argmax(axis=1), sample_weight=weight, normalize="true")
    assert metrics.log_likelihood(P, codes, weight).value == pytest.approx(-log_loss, rel=1e-12)
    assert metrics.brier(P, codes, weight).value == pytest.approx(half_brier, rel=1e-12)
    assert metrics.accuracy(P, codes, weight).value == pytest.approx(hits, rel=1e-12)
    np.testing.assert_allclose(metrics.confusion(P, codes, weight).share, confusion, rtol=1e-13)
    area = oracle.roc_auc_score(codes, P[:, 1]) if K == 2 else oracle.roc_auc_score(codes, P, multi_class="ovo")
    assert metrics.auc(P, codes).value == pytest.approx(area, rel=1e-12)


def test_standard_errors_are_those_of_means():
    P, codes, _ = predictions(1)
    rows = np.log(P[np.arange(len(P)), codes])
    assert metrics.log_likelihood(P, codes).standard_error == pytest.approx(stats.sem(rows), rel=1e-12)
    np.testing.assert_allclose(metrics.log_likelihoods(P, codes), rows, rtol=1e-15)
    p, n = metrics.accuracy(P, codes).value, len(P)
    assert metrics.accuracy(P, codes).standard_error == pytest.approx(np.sqrt(p * (1 - p) / (n - 1)), rel=1e-12)
    hits = (P.argmax(axis=1) == 1)[codes == 1]
    assert metrics.confusion(P, codes).standard_error[1, 1] == pytest.approx(stats.sem(hits), rel=1e-12)


@given(seed=st.integers(0, 10**6), K=st.integers(2, 4))
@settings(max_examples=20)
def test_a_weight_of_k_equals_k_copies_of_the_row(seed, K):
    P, codes, weight = predictions(seed, K=K)
    copies = np.repeat(P, weight, axis=0), np.repeat(codes, weight)
    for score in (metrics.log_likelihood, metrics.accuracy, metrics.brier, metrics.ece, metrics.auc):
        np.testing.assert_allclose(score(P, codes, weight), score(*copies), rtol=1e-10, atol=1e-14)
    expected = metrics.ece_if_calibrated(*copies)
    np.testing.assert_allclose(metrics.ece_if_calibrated(P, codes, weight), expected, rtol=1e-10)


def test_a_proper_score_is_best_for_the_true_probabilities(rng):
    """E[score] under t ~ q is largest at P = q, for every q: computed by sums over t, without noise."""
    for q in rng.dirichlet(np.ones(3), size=10):
        others = rng.dirichlet(np.ones(3), size=50)
        for score, sign in ((metrics.log_likelihood, 1), (metrics.brier, -1)):
            truth, *rest = (sign * score(np.tile(p, (3, 1)), [0, 1, 2], q).value for p in [q, *others])
            assert truth >= max(rest)


def test_probability_zero_of_the_true_class_is_not_clipped():
    P = [[1.0, 0.0], [0.5, 0.5]]
    assert metrics.log_likelihood(P, [1, 0]).value == -np.inf
    assert np.isnan(metrics.log_likelihood(P, [1, 0]).standard_error)
    np.testing.assert_array_equal(metrics.log_likelihoods(P, [1, 0]), [-np.inf, np.log(0.5)])
    assert np.isnan(metrics.weighted_mean([3.0]).standard_error)  # one row


def test_a_class_that_does_not_occur_has_no_row_in_the_confusion_matrix():
    share, error = metrics.confusion([[0.2, 0.8, 0.0], [0.6, 0.4, 0.0]], [0, 0])
    np.testing.assert_array_equal(share, [[0.5, 0.5, 0.0], [np.nan] * 3, [np.nan] * 3])
    assert np.isnan(error[1:]).all()


# -- calibration -------------------------------------------------------------------------------------------------------


def test_calibration_error_by_brute_force_over_sorted_rows(rng):
    p, t = rng.random(120), rng.integers(2, size=120)
    bins = np.array_split(np.argsort(p), 10)
    expected = sum(len(b) / 120 * abs(t[b].mean() - p[b].mean()) for b in bins)
    assert metrics.ece(two_classes(p), t).value == pytest.approx(expected, rel=1e-12)


def test_calibration_of_many_classes_is_that_of_the_most_probable_one(rng):
    P, codes = rng.dirichlet(np.ones(4), size=200), rng.integers(4, size=200)
    p, hit = P.max(axis=1), P.argmax(axis=1) == codes
    assert metrics.ece(P, codes, n_bins=7) == metrics.ece(two_classes(p), hit.astype(int), n_bins=7)
    assert metrics.reliability(P, codes).event == "the most probable class"


def test_the_reliability_curve_is_that_of_scikit_learn_with_intervals_of_wilson(rng):
    p = rng.permutation(np.linspace(0.01, 0.99, 200))
    t = (rng.random(200) < p).astype(int)
    curve = metrics.reliability(two_classes(p), t, n_bins=8, level=0.9)
    observed, predicted = calibration_curve(t, p, n_bins=8, strategy="quantile")
    np.testing.assert_allclose(curve.observed, observed, rtol=1e-12)
    np.testing.assert_allclose(curve.predicted, predicted, rtol=1e-12)
    assert curve.count.tolist() == [25] * 8
    for hits, n, low, high in zip(curve.observed * curve.count, curve.count, curve.lower, curve.upper, strict=True):
        interval = stats.binomtest(round(hits), round(n)).proportion_ci(0.9, method="wilson")
        assert (low, high) == pytest.approx(tuple(interval), rel=1e-10)
    everything = metrics.reliability(two_classes(p), t, level=1.0)
    assert (everything.lower == 0).all()
    assert (everything.upper == 1).all()


def test_rows_of_equal_probability_share_a_bin_in_any_order(rng):
    p, t = rng.choice([0.1, 0.3, 0.31, 0.9], size=300), rng.integers(2, size=300)
    np.testing.assert_allclose(metrics.reliability(two_classes(p), t).predicted, [0.1, 0.3, 0.31, 0.9], rtol=1e-12)
    order = rng.permutation(300)
    found = metrics.ece(two_classes(p), t)
    np.testing.assert_allclose(metrics.ece(two_classes(p[order]), t[order]), found, rtol=1e-12)
    by_value = sum(np.sum(p == v) / 300 * abs(t[p == v].mean() - v) for v in np.unique(p))
    assert found.value == pytest.approx(by_value, rel=1e-12)


def test_the_standard_error_of_the_calibration_error_is_its_spread_over_data_sets(rng):
    p, t = simulate(rng, slope=3.0)
    found = np.array([metrics.ece(two_classes(row), hit) for row, hit in zip(p, t, strict=True)])
    assert found[:, 1].mean() == pytest.approx(found[:, 0].std(), rel=0.1)


def test_correct_probabilities_have_the_calibration_error_that_is_expected_of_them(rng):
    p, t = simulate(rng)
    found = np.mean([metrics.ece(two_classes(row), hit).value for row, hit in zip(p, t, strict=True)])
    expected = np.mean([metrics.ece_if_calibrated(two_classes(row), hit) for row, hit in zip(p, t, strict=True)])
    assert found == pytest.approx(expected, rel=0.05)


def test_certain_correct_predictions_are_calibrated():
    assert metrics.ece([[1.0, 0.0], [0.0, 1.0]], [0, 1]) == (0.0, 0.0)
    assert metrics.ece_if_calibrated([[1.0, 0.0], [0.0, 1.0]], [0, 1]) == 0.0


# -- ranking -----------------------------------------------------------------------------------------------------------


def wins(a, b):
    """How often a row of ``a`` is ranked above each of ``b``: 1, ½ or 0."""
    return (a[:, None] > b) + 0.5 * (a[:, None] == b)


def test_the_area_is_that_of_mann_and_whitney_with_the_variance_of_delong():
    P, codes, weight = predictions(4, n=80, K=2, levels=12)
    a, b = P[codes == 1, 1], P[codes == 0, 1]
    area = stats.mannwhitneyu(a, b).statistic / (len(a) * len(b))
    won = wins(a, b)
    variance = won.mean(axis=1).var(ddof=1) / len(a) + won.mean(axis=0).var(ddof=1) / len(b)
    assert metrics.auc(P, codes) == pytest.approx((area, np.sqrt(variance)), rel=1e-12)
    weighted = oracle.roc_auc_score(codes, P[:, 1], sample_weight=weight)
    assert metrics.auc(P, codes, weight).value == pytest.approx(weighted, rel=1e-12)


@pytest.mark.parametrize("K", [2, 3])
def test_the_standard_error_of_the_area_is_its_spread_over_data_sets(rng, K):
    found = []
    for _ in range(300):
        codes = rng.integers(K, size=150)
        A = rng.normal(size=(150, K)) + 1.0 * np.eye(K)[codes]
        found.append(metrics.auc(np.exp(A) / np.exp(A).sum(axis=1, keepdims=True), codes))
    found = np.array(found)
    assert found[:, 1].mean() == pytest.approx(found[:, 0].std(), rel=0.1)


def test_classes_that_do_not_occur_are_left_out_of_the_area():
    P, codes, _ = predictions(5, n=80, K=4, levels=12)
    kept = codes < 3
    pairs = [(i, j) for i in range(3) for j in range(3) if i != j]
    expected = np.mean([wins(P[codes == i, i], P[codes == j, i]).mean() for i, j in pairs])
    assert metrics.auc(P[kept], codes[kept]).value == pytest.approx(expected, rel=1e-12)
    assert np.isnan(metrics.auc(TWO_ROWS, [1, 1])).all()
    value, error = metrics.auc([*TWO_ROWS, [0.9, 0.1]], [1, 0, 0])
    assert value == 0.5
    assert np.isnan(error)  # one row of a class


# -- arguments ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("P", "codes", "weight", "message"),
    [
        ([0.2, 0.8], [0, 1], None, r"shape \(2,\).*column_stack"),
        ([[1.0], [1.0]], [0, 0], None, r"shape \(2, 1\)"),
        (np.empty((0, 2)), [], None, r"shape \(0, 2\)"),
        ([[0.5, 0.5], [0.3, 0.8]], [0, 1], None, r"1 of 2 rows .* row 2"),
        (TWO_ROWS, [0, 2], None, r"codes is 2 in row 2"),
        (TWO_ROWS, ["a", "b"], None, r"searchsorted\(model.classes_, y\)"),
        (TWO_ROWS, [0], None, r"shape \(1,\)"),
        (TWO_ROWS, [0, 1], [1.0, -1.0], r"none negative"),
        (TWO_ROWS, [0, 1], [0.0, 0.0], r"not all zero"),
        (TWO_ROWS, [0, 1], [1.0], r"2 finite numbers"),
    ],
)
def test_invalid_arguments_are_named(P, codes, weight, message):
    with pytest.raises(DataError, match=message):
        metrics.accuracy(P, codes, weight)
