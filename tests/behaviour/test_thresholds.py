"""Curves over the threshold of a decision, and the costs of decisions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.integrate import trapezoid
from sklearn.metrics import roc_auc_score, roc_curve

import separatrix as sx
from separatrix.decisions import decide
from separatrix.exceptions import DataError
from separatrix.metrics import auc
from separatrix.thresholds import CURVES, cost_report, cost_threshold, require_choice, threshold_curve

L = np.array([[0.0, 1.0], [5.0, 0.5]])


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    p = np.round(rng.beta(1.0, 2.5, size=400), 2)  # with ties
    return p, rng.uniform(size=400) < p


def at(curve, x):
    return np.interp(x, curve.x, curve.y)


def test_roc_is_that_of_scikit_learn(rows):
    p, event = rows
    curve, (fpr, tpr, _) = threshold_curve("roc", p, event), roc_curve(event, p, drop_intermediate=False)
    inner = np.linspace(0.01, 0.99, 77)
    np.testing.assert_allclose(np.interp(inner, fpr, tpr), at(threshold_curve("roc", p, event), inner), atol=0.02)
    assert trapezoid(curve.y, curve.x) == pytest.approx(roc_auc_score(event, p), abs=1e-3)


def test_points_of_all_curves_follow_their_definitions(rows):
    p, event = rows
    W, P, N = len(p), event.sum(), (~event).sum()
    for t in (0.115, 0.305, 0.505):
        selected = p > t
        tp, fp = (selected & event).sum(), (selected & ~event).sum()
        assert at(threshold_curve("precision", p, event), tp / P) == pytest.approx(tp / (tp + fp), abs=0.02)
        assert at(threshold_curve("lift", p, event), selected.mean()) == pytest.approx(
            tp / P / selected.mean(), rel=0.02
        )
        benefit = threshold_curve("net benefit", p, event)
        near = benefit.x[np.abs(benefit.x - t).argmin()]
        inside = ((p > near) & event).sum() / W - ((p > near) & ~event).sum() / W * near / (1 - near)
        assert at(benefit, near) == pytest.approx(inside, abs=1e-12)
        cost = threshold_curve("cost", p, event, costs=L)
        tp, fp = ((p > t) & event).sum(), ((p > t) & ~event).sum()
        total = L[1, 1] * tp + L[1, 0] * (P - tp) + L[0, 1] * fp + L[0, 0] * (N - fp)
        assert at(cost, t) == pytest.approx(total / W, abs=1e-12)


@pytest.mark.parametrize("kind", CURVES)
def test_a_weight_of_k_equals_k_copies(kind, rows):
    p, event = rows
    weight = np.arange(len(p)) % 3
    one = threshold_curve(kind, p, event, weight, costs=L)
    other = threshold_curve(kind, np.repeat(p, weight), np.repeat(event, weight), costs=L)
    for name in ("y", "lower", "upper", "reference"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=1e-12)


def test_the_band_of_roc_has_the_width_of_delong(rows):
    p, event = rows
    low, high = (
        trapezoid(threshold_curve("roc", p, event).__dict__[side], CURVES["roc"][1]) for side in ("lower", "upper")
    )
    error = auc(np.column_stack([1 - p, p]), event.astype(int)).standard_error
    assert 2 * 1.96 * error < high - low < 3.5 * 1.96 * error  # pointwise bands are wider than that of the area


def test_bands_cover_the_true_curve():
    rng, x, covered = np.random.default_rng(0), 0.3, 0
    many = rng.uniform(size=200_000)
    truth = at(threshold_curve("net benefit", many, rng.uniform(size=len(many)) < many), x)
    for _ in range(60):
        p = rng.uniform(size=150)
        curve = threshold_curve("net benefit", p, rng.uniform(size=150) < p, level=0.9)
        covered += np.interp(x, curve.x, curve.lower) <= truth <= np.interp(x, curve.x, curve.upper)
    assert 46 <= covered <= 60  # of 60 with probability 0.9


def test_decisions_by_expected_cost_are_cheapest_if_probabilities_are_correct():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=50_000)
    codes = (rng.uniform(size=len(p)) < p).astype(int)
    found = cost_report(np.column_stack([1 - p, p]), codes, [[0, 1], [5, 0]], ("good", "bad"))
    assert found.threshold == pytest.approx(1 / 6)
    assert found.cost.value < min(found.by_probability.value, *(each.value for each in found.constant))
    assert found.predicted == pytest.approx(found.cost.value, abs=4 * found.cost.standard_error)
    assert found.saved.value == pytest.approx(found.constant[found.cheapest].value - found.cost.value)
    curve = threshold_curve("cost", p, codes == 1, costs=[[0, 1], [5, 0]])
    assert abs(curve.x[curve.y.argmin()] - 1 / 6) < 0.05
    assert at(curve, 1 / 6) == pytest.approx(found.cost.value, abs=1e-3)


def test_costs_of_three_classes_have_no_threshold():
    P = np.array([[0.6, 0.3, 0.1], [0.1, 0.5, 0.4]])
    found = cost_report(P, [0, 2], 1 - np.eye(3), ("a", "b", "c"))
    assert np.isnan(found.threshold)
    assert found.cost.value == found.by_probability.value == 0.5


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ([[0, 0], [0, 0]], "all decisions cost the same"),
        ([[0, 0], [5, 0]], "deciding well never costs less than deciding ill, so no row .*Give deciding ill for well"),
        ([[0, 1], [1, 1]], "deciding ill never costs less than deciding well"),
        ([[0, -1], [-5, 0]], "costs -[15], less than the correct decision .0."),
    ],
)
def test_costs_without_a_choice_are_refused(costs, message):
    labels = ("well", "ill")
    with pytest.raises(DataError, match=message):
        cost_report([[0.9, 0.1], [0.2, 0.8]], [0, 1], costs, labels)
    named = {(labels[k], labels[j]): costs[k][j] for k in (0, 1) for j in (0, 1)}
    with pytest.raises(DataError, match=message):
        sx.DecisionRule(sx.LogisticRegression(), costs=named).fit([[0.0], [1.0], [0.5], [0.2]], [*labels, *labels])


def test_gains_fees_and_equal_mistakes_of_three_classes_are_costs():
    require_choice([[0, 1], [0, -5]], ["well", "ill"])
    require_choice([[0, 1], [10, 1]], ["well", "ill"])
    require_choice([[0, 0, 4], [0, 0, 4], [9, 9, 0]], ["mild", "severe", "well"])
    with pytest.raises(DataError, match="deciding mild never costs less than deciding severe"):
        require_choice([[0, 0, 4], [1, 0, 4], [9, 9, 0]], ["mild", "severe", "well"])


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_a_class_is_chosen_above_its_threshold(seed):
    rng = np.random.default_rng(seed)
    L = rng.normal(size=(2, 2))
    L[[0, 1], [1, 0]] = np.diag(L) + rng.exponential(size=2)
    require_choice(L, ["a", "b"])
    p = rng.random(50)
    for k in (0, 1):
        P = np.column_stack([1 - p, p] if k else [p, 1 - p])
        assert_array_equal(decide(P, costs=L) == k, p > cost_threshold(L, k))


def test_bad_input_is_named(rows):
    p, event = rows
    with pytest.raises(DataError, match="with one class"):
        threshold_curve("roc", p, np.ones(len(p), dtype=bool))
    with pytest.raises(ValueError, match="'roc'"):
        threshold_curve("rocs", p, event)
    with pytest.raises(DataError, match="shape"):
        threshold_curve("cost", p, event, costs=[1, 2])
    with pytest.raises(DataError, match="2 classes"):
        cost_report(np.column_stack([1 - p, p]), event.astype(int), np.zeros((3, 3)), ("a", "b"))


def test_a_display_draws_the_curve_of_the_positive_class():
    X, y = sx.datasets.make_overlapping(300, rng=0)
    model = sx.LogisticRegression().fit(X[:150], y[:150])
    display = sx.plots.ThresholdDisplay.from_estimator(model, X[150:], y[150:], kind="cost", costs=L, positive=0)
    expected = threshold_curve("cost", model.predict_proba(X[150:])[:, 0], y[150:] == 0, costs=L)
    np.testing.assert_array_equal(display.curve.y, expected.y)
    other = sx.plots.ThresholdDisplay.from_predictions(
        y[150:], np.full(150, 0.3), kind="cost", costs=L, name="constant"
    )
    other.plot(display.ax_)
    assert "constant" in [text.get_text() for text in display.ax_.get_legend().get_texts()]
    with pytest.raises(ValueError, match="not a class"):
        sx.plots.ThresholdDisplay.from_estimator(model, X, y, positive="yes")
    three = sx.LogisticRegression().fit(X, (X[:, 0] > 0).astype(int) + y)
    with pytest.raises(ValueError, match="name the event"):
        sx.plots.ThresholdDisplay.from_estimator(three, X, y)
    with pytest.raises(DataError, match="no probabilities"):
        sx.plots.ThresholdDisplay.from_estimator(sx.FisherDiscriminant().fit(X, y), X, y)
