from xml.etree import ElementTree

import numpy as np

from separatrix.metrics import reliability
from separatrix.report.svg_reliability import N_BARS, histogram, reliability_diagram, scale_for


def percent(text):
    return float(text.removesuffix("%")) / 100


def test_every_bin_is_a_dot_at_predicted_and_observed_with_wilsons_interval(rng):
    p = rng.random(400)
    curve = reliability(np.column_stack([1 - p, p]), (rng.random(400) < p).astype(int))
    drawn = ElementTree.fromstring(reliability_diagram(curve, "title").markup)
    dots = np.array([[percent(c.get("cx")), 1 - percent(c.get("cy"))] for c in drawn.iter("circle")])
    np.testing.assert_allclose(dots, np.column_stack([curve.predicted, curve.observed]), atol=1e-4)
    ends = [
        (1 - percent(x.get("y1")), 1 - percent(x.get("y2"))) for x in drawn.iter("line") if "whisker" in x.get("class")
    ]
    np.testing.assert_allclose(ends, np.column_stack([curve.lower, curve.upper]), atol=1e-4)


def test_a_rare_event_fills_the_picture(rng):
    p = rng.beta(1, 40, size=3000)
    curve = reliability(np.column_stack([1 - p, p]), (rng.random(3000) < p).astype(int))
    scale = scale_for(curve)
    assert max(curve.upper.max(), curve.predicted.max()) <= scale.high < 0.6
    drawn = ElementTree.fromstring(reliability_diagram(curve, "title").markup)
    dots = np.array([[percent(c.get("cx")), 1 - percent(c.get("cy"))] for c in drawn.iter("circle")])
    np.testing.assert_allclose(dots * scale.high, np.column_stack([curve.predicted, curve.observed]), atol=1e-4)
    bars = ElementTree.fromstring(histogram(p, "title", scale).markup)
    counts = np.histogram(np.minimum(p, scale.high), N_BARS, (0, scale.high))[0]
    heights = np.array([percent(r.get("height")) for r in bars.iter("rect")])
    np.testing.assert_allclose(heights, counts[counts > 0] / counts.max(), atol=1e-4)


def test_the_histogram_has_heights_in_proportion_to_counts(rng):
    p = rng.beta(2, 5, size=1000)
    drawn = ElementTree.fromstring(histogram(p, "title").markup)
    heights = np.array([percent(r.get("height")) for r in drawn.iter("rect")])
    counts = np.histogram(p, N_BARS, (0, 1))[0]
    np.testing.assert_allclose(heights, counts[counts > 0] / counts.max(), atol=1e-4)
