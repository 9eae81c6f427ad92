from itertools import pairwise

import numpy as np
import pytest
from PIL import Image
from scipy.special import ndtri

import separatrix as sx
from problems import blobs, separable
from separatrix.datasets import make_overlapping
from separatrix.likelihoods import Logit, Probit
from separatrix.plots.path import FitPathDisplay, contours_of


@pytest.fixture(scope="module")
def perceptron():
    return FitPathDisplay.of_fit(sx.Perceptron(), *separable(40, n_features=2, gap=0.02))


@pytest.fixture(scope="module")
def newton():
    X, y = blobs(80, n_features=2, n_classes=2)
    return FitPathDisplay.of_fit(sx.LogisticRegression(solver="newton"), X, np.array(["no", "yes"])[y])


def test_there_is_a_panel_for_each_frame_and_one_for_the_objective():
    X, y = blobs(80, n_features=2, n_classes=2)
    display = FitPathDisplay.from_estimator(sx.LogisticRegression(solver="newton"), X, y, frames=3)
    assert len(display.axes_) == 4
    assert [ax.get_title() for ax in display.axes_[[0, 2]]] == [
        f"step {k}: E = {display.frames[k].objective:.4g} nats" for k in (0, len(display.frames) - 1)
    ]
    assert display.axes_[0].get_xlabel() == "x0"
    assert display.axes_[-1].get_ylabel() == "E above its lowest value (nats)"


def drawn_lines(ax, colour):
    """The ends of the straight lines of one colour."""
    sets = [c for c in ax.collections if not getattr(c, "filled", True)]
    return [c.get_paths()[0].vertices for c in sets if np.allclose(c.get_edgecolor()[0][:3], colour)]


def test_the_drawn_lines_are_contours_of_the_activation(newton):
    newton.plot(frames=[2])
    frame = newton.frames[2]
    newton.figure_.canvas.draw()
    activations = sorted(float(np.mean(ends @ frame.w + frame.w0)) for ends in drawn_lines(newton.axes_[0], (0, 0, 0)))
    assert len(activations) == 2  # the boundary, and one set of two contours
    for ends in drawn_lines(newton.axes_[0], (0, 0, 0)):
        a = ends @ frame.w + frame.w0
        assert np.min(np.abs(a[:, None] - [0.0, -np.log(9), np.log(9)]), axis=1).max() < 1e-9


def test_the_dashed_line_is_the_boundary_after_the_update(perceptron):
    k = len(perceptron.frames) - 2
    perceptron.plot(frames=[k])
    perceptron.figure_.canvas.draw()
    after = perceptron.frames[k + 1]
    (ends,) = [e for e in drawn_lines(perceptron.axes_[0], (0xD5 / 255, 0x5E / 255, 0)) if len(e) == 2]
    np.testing.assert_allclose(ends @ after.w + after.w0, 0, atol=1e-9)


def test_early_frames_are_chosen_more_densely_than_late_ones(newton):
    last = len(newton.frames) - 1
    for count in range(1, last + 2):
        chosen = newton.chosen(count)
        assert len(chosen) == len(set(chosen)) == count
        assert list(chosen) == sorted(chosen)
        assert chosen[0] == 0
        assert count == 1 or chosen[-1] == last
    assert newton.chosen(1000) == tuple(range(last + 1))
    assert newton.chosen([2, 0]) == (2, 0)
    long = FitPathDisplay(newton.frames * 40, newton.points, newton.codes, newton.classes, newton.columns, "", False)
    gaps = np.diff(long.chosen(6))
    assert (np.diff(gaps) > 0).all()


def test_a_row_at_the_origin_changes_only_the_bias():
    X, y = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [2.0, 2.0]]), [0, 1, 1, 1]
    display = FitPathDisplay.from_estimator(sx.Perceptron(), X, y, frames=1)
    assert display.frames[0].row == 0
    assert not display.frames[1].w.any()
    assert display.frames[1].w0 == -1


def test_a_gif_has_a_picture_for_each_frame_and_the_requested_speed(perceptron, tmp_path):
    perceptron.animate(tmp_path / "path.gif", fps=5, frames=3)
    with Image.open(tmp_path / "path.gif") as moving:
        assert moving.n_frames == 3
        assert moving.info["duration"] == 200  # ms
    assert perceptron.axes_[0].get_title() == f"update {len(perceptron.frames) - 1}: 0 rows misclassified"


def test_every_update_of_a_perceptron_adds_a_misclassified_row():
    X, y = separable(60, n_features=2, gap=0.05)
    display = FitPathDisplay.of_fit(sx.Perceptron(learning_rate=0.5), X, y)
    path, fitted = display.frames, sx.Perceptron(learning_rate=0.5).fit(X, y)
    assert display.is_perceptron
    assert len(path) == fitted.n_mistakes_ + 1
    for here, there in pairwise(path):
        t = 2 * y[here.row] - 1
        assert t * (here.w @ X[here.row] + here.w0) <= 0
        np.testing.assert_allclose(there.w, here.w + 0.5 * t * X[here.row])  # PRML (4.55)
        assert there.w0 == here.w0 + 0.5 * t
    assert path[-1].row is None
    assert path[-1].objective == 0
    assert path[0].objective == 60  # w = 0 has every row on the boundary
    np.testing.assert_array_equal(path[-1].w, fitted.coef_[0])


@pytest.mark.parametrize("solver", ["newton", "gradient", "lbfgs", "auto"])
def test_frames_are_the_steps_of_the_solver_with_their_objectives(solver):
    X, y = make_overlapping(80, 2)
    model = sx.LogisticRegression(alpha=0.5, solver=solver)
    display = FitPathDisplay.of_fit(model, X, y)
    path, fitted = display.frames, model.fit(X, y)
    assert len(path) == fitted.n_steps_ + 1
    np.testing.assert_allclose(path[-1].w, fitted.coef_[0])
    for frame in (path[0], path[len(path) // 2], path[-1]):
        a = X @ frame.w + frame.w0
        nll = np.logaddexp(0, np.where(y == 1, -a, a)).sum()
        assert frame.objective == pytest.approx(nll + 0.25 * frame.w @ frame.w)
    assert not display.is_perceptron


def test_newton_steps_are_those_of_reweighted_least_squares():
    X, y = make_overlapping(80, 2)
    path = FitPathDisplay.of_fit(sx.LogisticRegression(alpha=0, solver="newton"), X, y).frames
    Phi = np.column_stack([X, np.ones(80)])
    for here, there in pairwise(path[:5]):
        w = np.append(here.w, here.w0)
        p = 1 / (1 + np.exp(-Phi @ w))
        R = p * (1 - p)
        z = Phi @ w - (p - y) / R  # PRML (4.100)
        expected = np.linalg.solve(Phi.T @ (R[:, None] * Phi), Phi.T @ (R * z))  # (4.99)
        np.testing.assert_allclose(np.append(there.w, there.w0), expected, rtol=1e-7)


def test_the_given_model_is_not_changed():
    X, y = make_overlapping(80, 2)
    model = sx.LogisticRegression()
    FitPathDisplay.of_fit(model, X, y)
    assert "coef_" not in vars(model)
    assert model.trace is False


def test_contours_are_at_probabilities_of_one_and_nine_tenths():
    np.testing.assert_allclose(contours_of(Logit()), [-np.log(9), np.log(9)])
    np.testing.assert_allclose(contours_of(Probit()), ndtri([0.1, 0.9]))
