import numpy as np
import pytest
from scipy import stats
from sklearn.calibration import calibration_curve

from separatrix.metrics import ece, ece_if_calibrated, reliability


def two_classes(p):
    return np.column_stack([1 - p, p])


def simulate(rng, n=400, slope=1.0, runs=400):
    """Predicted probabilities whose log-odds are off by a factor, and what came true; many data sets of them."""
    a = rng.normal(size=(runs, n)) * 2
    t = rng.random((runs, n)) < 1 / (1 + np.exp(-a))
    return 1 / (1 + np.exp(-slope * a)), t.astype(int)


def test_error_by_brute_force_over_sorted_rows(rng):
    p, t = rng.random(120), rng.integers(2, size=120)
    bins = np.array_split(np.argsort(p), 10)
    expected = sum(len(b) / 120 * abs(t[b].mean() - p[b].mean()) for b in bins)
    assert ece(two_classes(p), t).value == pytest.approx(expected, rel=1e-12)


def test_for_many_classes_it_is_that_of_the_most_probable_one(rng):
    P, codes = rng.dirichlet(np.ones(4), size=200), rng.integers(4, size=200)
    p, hit = P.max(axis=1), P.argmax(axis=1) == codes
    assert ece(P, codes, n_bins=7) == ece(two_classes(p), hit.astype(int), n_bins=7)
    assert reliability(P, codes).event == "the most probable class"


def test_the_curve_is_scikit_learns_where_quantiles_fall_between_rows(rng):
    p = rng.permutation(np.linspace(0.01, 0.99, 200))
    t = (rng.random(200) < p).astype(int)
    curve = reliability(two_classes(p), t, n_bins=8)
    observed, predicted = calibration_curve(t, p, n_bins=8, strategy="quantile")
    np.testing.assert_allclose(curve.observed, observed, rtol=1e-12)
    np.testing.assert_allclose(curve.predicted, predicted, rtol=1e-12)
    assert curve.count.tolist() == [25] * 8


def test_intervals_are_wilsons(rng):
    p, t = rng.random(60), rng.integers(2, size=60)
    curve = reliability(two_classes(p), t, n_bins=4, level=0.9)
    for hits, n, low, high in zip(curve.observed * curve.count, curve.count, curve.lower, curve.upper, strict=True):
        interval = stats.binomtest(round(hits), round(n)).proportion_ci(0.9, method="wilson")
        assert (low, high) == pytest.approx(tuple(interval), rel=1e-10)


def test_an_interval_of_everything():
    curve = reliability(two_classes(np.array([0.2, 0.8])), [0, 1], level=1.0)
    assert curve.lower.tolist() == [0, 0]
    assert curve.upper.tolist() == [1, 1]


def test_rows_of_equal_probability_share_a_bin_in_any_order(rng):
    p, t = rng.choice([0.1, 0.3, 0.31, 0.9], size=300), rng.integers(2, size=300)
    curve = reliability(two_classes(p), t)
    np.testing.assert_allclose(curve.predicted, [0.1, 0.3, 0.31, 0.9], rtol=1e-12)
    order = rng.permutation(300)
    np.testing.assert_allclose(ece(two_classes(p[order]), t[order]), ece(two_classes(p), t), rtol=1e-12)
    by_value = sum(np.sum(p == v) / 300 * abs(t[p == v].mean() - v) for v in np.unique(p))
    assert ece(two_classes(p), t).value == pytest.approx(by_value, rel=1e-12)


def test_the_standard_error_is_the_spread_over_data_sets(rng):
    p, t = simulate(rng, slope=3.0)
    found = np.array([ece(two_classes(row), hit) for row, hit in zip(p, t, strict=True)])
    assert found[:, 1].mean() == pytest.approx(found[:, 0].std(), rel=0.1)


def test_exact_probabilities_show_the_error_that_is_expected_of_them(rng):
    p, t = simulate(rng)
    found = np.mean([ece(two_classes(row), hit).value for row, hit in zip(p, t, strict=True)])
    expected = np.mean([ece_if_calibrated(two_classes(row), hit) for row, hit in zip(p, t, strict=True)])
    assert found == pytest.approx(expected, rel=0.05)


def test_certain_and_right_is_calibrated():
    assert ece([[1.0, 0.0], [0.0, 1.0]], [0, 1]) == (0.0, 0.0)
    assert ece_if_calibrated([[1.0, 0.0], [0.0, 1.0]], [0, 1]) == 0.0


@pytest.mark.parametrize("n_bins", [0, 2.5, True])
def test_a_number_of_bins_that_is_none(n_bins):
    with pytest.raises(ValueError, match="n_bins must be an integer, at least 1"):
        ece([[1.0, 0.0]], [0], n_bins=n_bins)
