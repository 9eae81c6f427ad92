import matplotlib.pyplot as plt
import numpy as np
from scipy import stats
from sklearn.calibration import calibration_curve

import separatrix as sx
from problems import blobs
from separatrix import metrics

Display = sx.plots.ReliabilityDisplay


def calibrated(rng, n=2000, sharpen=1.0):
    """Labels drawn from logits; probabilities that exaggerate these logits by a factor."""
    logits = rng.normal(0, 1.5, n)
    t = (rng.random(n) < 1 / (1 + np.exp(-logits))).astype(int)
    p = 1 / (1 + np.exp(-sharpen * logits))
    return np.column_stack([1 - p, p]), t


def test_the_curve_agrees_with_scikit_learn(rng):
    P, t = calibrated(rng)
    display = Display.from_predictions(P, t)
    observed, predicted = calibration_curve(t, P[:, 1], n_bins=10, strategy="quantile")
    np.testing.assert_allclose(display.curve.predicted, predicted, atol=1e-3)  # a row may be in the next bin
    np.testing.assert_allclose(display.curve.observed, observed, atol=1e-2)
    assert display.ece == metrics.ece(P, t)
    assert display.ece_if_calibrated == metrics.ece_if_calibrated(P, t)


def test_the_band_contains_most_bins_of_a_calibrated_model(rng):
    inside = [
        1 - Display.from_predictions(*calibrated(rng, 400), ax=plt.subplots(2)[1]).outside.mean() for _ in range(8)
    ]
    plt.close("all")
    assert 0.9 < np.mean(inside) <= 1.0


def test_the_band_is_the_binomial_interval_of_each_bin(rng):
    P, t = calibrated(rng, 500)
    display = Display.from_predictions(P, t, n_bins=5, level=0.8)
    for b in range(5):
        n, p = int(display.curve.count[b]), display.curve.predicted[b]
        mass = stats.binom(n, p).pmf(np.arange(n + 1)).cumsum()
        assert round(display.band_lower[b] * n, 9) == np.searchsorted(mass, 0.1)
        assert round(display.band_upper[b] * n, 9) == np.searchsorted(mass, 0.9)


def test_overconfident_probabilities_are_highlighted(rng):
    display = Display.from_predictions(*calibrated(rng, sharpen=3.0))
    assert display.outside.sum() >= 6
    assert display.ece.value > 3 * display.ece_if_calibrated
    assert "outside the band" in display.ax_.get_legend_handles_labels()[1]
    honest = Display.from_predictions(*calibrated(rng, sharpen=1.0), level=0.9999)
    assert "outside the band" not in honest.ax_.get_legend_handles_labels()[1]


def test_the_histogram_counts_every_row_once(rng):
    P, t = calibrated(rng, 300)
    display = Display.from_predictions(P, t)
    assert display.hits.sum() == t.sum()
    assert display.misses.sum() == (1 - t).sum()
    expected, _ = np.histogram(P[:, 1], display.edges)
    assert np.array_equal(display.hits + display.misses, expected)


def test_a_weight_of_two_equals_the_row_twice(rng):
    P, t = calibrated(rng, 200)
    twice = rng.random(200) < 0.5
    one = Display.from_predictions(P, t, sample_weight=1.0 + twice)
    two = Display.from_predictions(np.vstack([P, P[twice]]), np.append(t, t[twice]))
    for part in ("band_lower", "band_upper", "hits", "misses"):
        np.testing.assert_allclose(getattr(one, part), getattr(two, part))
    np.testing.assert_allclose(one.ece, two.ece)


def test_the_event_of_many_classes_is_the_most_probable_class():
    X, y = blobs(200, n_features=2, n_classes=3, distance=1.0)
    model = sx.LinearDiscriminantAnalysis().fit(X[::2], y[::2])
    display = Display.from_estimator(model, X[1::2], y[1::2])
    assert display.hits.sum() == (model.predict(X[1::2]) == y[1::2]).sum()
    assert display.edges[np.flatnonzero(display.hits)[0] + 1] > 1 / 3
    assert display.axes_[1].get_xlabel() == "predicted probability of the most probable class"


def test_the_event_of_two_classes_is_named():
    X, y = blobs(100, n_features=2, n_classes=2)
    labels = np.array(["well", "ill"])[y]  # sorted: ill, well
    model = sx.LinearDiscriminantAnalysis().fit(X, labels)
    display = Display.from_estimator(model, X, labels, title="Patients")
    assert display.axes_[1].get_xlabel() == "predicted probability of class well"
    assert display.hits.sum() == (labels == "well").sum()
    assert display.ax_.get_title() == "Patients"
