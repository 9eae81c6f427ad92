import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

import separatrix as sx
from problems import blobs

Display = sx.plots.ComparisonDisplay
X, Y = blobs(n=300, n_classes=2, distance=0.8)


@pytest.fixture(scope="module")
def comparison():
    models = {
        "wide": sx.BayesianLogisticRegression(prior=sx.Gaussian(scale=10.0), approximation="laplace"),
        "narrow": sx.BayesianLogisticRegression(sx.Gaussian(1.0), approximation="laplace"),
        "blind": sx.BayesianLogisticRegression(prior=sx.Gaussian(scale=1e-6), approximation="laplace"),
        "lda": sx.LinearDiscriminantAnalysis(),
        "neighbours": KNeighborsClassifier(1),
        "rule": sx.LeastSquaresClassifier(),
        "broken": LogisticRegression(C=-1.0),
    }
    return sx.compare(models, X, Y)


@pytest.fixture
def display(comparison):
    return Display.from_comparison(comparison)


def test_a_comparison_is_plotted_by_its_display(comparison):
    display = comparison.plot(title="Blobs")
    assert isinstance(display, Display)
    assert display.names == comparison.names
    found = comparison.to_dict()
    for mine, theirs in (("log_likelihood", "test_log_likelihood"), ("standard_error", "test_log_likelihood_se")):
        np.testing.assert_array_equal(getattr(display, mine), found[theirs])
    assert display.ax_.get_title() == "Blobs"
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == list(comparison.names)


def test_dots_are_filled_if_the_paired_difference_is_within_two_standard_errors(comparison, display):
    close = dict(zip(display.names, display.close, strict=True))
    for name, difference in comparison.differences().items():
        if np.isfinite(difference.value):
            assert close[name] == (abs(difference.value) <= 2 * difference.standard_error)
    assert close[comparison.best()]
    assert not close["blind"]
    dots = {bars.get_label(): bars[0].get_ydata().tolist() for bars in display.ax_.containers}
    drawn = np.flatnonzero(np.isfinite(display.log_likelihood))
    assert dots["test rows ± standard error"] == [i for i in drawn if display.close[i]]
    assert dots["worse than the best ± standard error"] == [i for i in drawn if not display.close[i]]


def test_whiskers_reach_one_standard_error(display):
    for bars in display.ax_.containers:
        (segments,) = bars[2]
        for place, segment in zip(bars[0].get_ydata(), segments.get_segments(), strict=True):
            i = int(place)
            reach = display.log_likelihood[i] + np.array([-1, 1]) * display.standard_error[i]
            np.testing.assert_allclose(segment[:, 0], reach)


def test_models_without_a_log_likelihood_are_annotated_with_the_reason(display):
    reasons = {display.names[int(note.xy[1])]: note.get_text() for note in display.ax_.texts}
    assert reasons == {
        "neighbours": "← −∞: probability zero for an observed class",
        "rule": "no probabilities",
        "broken": "failed",
    }


def test_the_second_panel_shows_evidences_and_probabilities(comparison, display):
    right = display.axes_[1]
    (dots,) = right.get_lines()
    stated = [i for i, name in enumerate(display.names) if name in ("wide", "narrow", "blind")]
    assert dots.get_ydata().tolist() == stated
    evidence = np.array([comparison[display.names[i]].evidence.log_evidence for i in stated])
    np.testing.assert_allclose(dots.get_xdata(), evidence - evidence.max())
    p = comparison.probabilities()
    assert [note.get_text() for note in right.texts] == [f"{p[display.names[i]]:.2g}" for i in stated]


def test_without_an_evidence_there_is_one_panel():
    display = sx.compare({"lda": sx.LinearDiscriminantAnalysis(), "bayes": sx.NaiveBayes("normal")}, X, Y).plot()
    assert not display.has_evidence
    assert len(display.axes_) == 1


def test_the_legend_is_inside_the_figure_and_axes_can_be_given(comparison):
    figure = comparison.plot().figure_
    figure.canvas.draw()
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert box.y0 >= 0
    assert box.x1 <= figure.bbox.x1
    axes = plt.subplots(1, 2)[1]
    assert comparison.plot(axes).axes_ == tuple(axes)
