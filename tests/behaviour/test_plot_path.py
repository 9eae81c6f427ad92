import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image

import separatrix as sx
from problems import blobs, separable
from separatrix.plots.path import FitPathDisplay


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def perceptron():
    return FitPathDisplay.of_fit(sx.Perceptron(), *separable(40, n_features=2, gap=0.02))


@pytest.fixture(scope="module")
def newton():
    X, y = blobs(80, n_features=2, n_classes=2)
    return FitPathDisplay.of_fit(sx.LogisticRegression(solver="newton"), X, np.array(["no", "yes"])[y])


def test_numbers_first_then_a_panel_for_each_frame_and_one_for_the_objective():
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


def test_the_boundary_drawn_is_where_the_activation_is_zero(newton):
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


def test_frames_are_chosen_from_the_first_to_the_last_and_denser_at_the_start(newton):
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


def test_frames_and_axes_that_are_not_there(newton):
    with pytest.raises(ValueError, match=r"frames=\[0, 99\].*no frame 99, only 0 to"):
        newton.plot(frames=[0, 99])
    with pytest.raises(ValueError, match="2 frames and their objective need 3 axes, not 2"):
        newton.plot(plt.subplots(1, 2)[1], frames=2)
    with pytest.raises(ValueError, match="frames must be an integer, at least 1"):
        newton.plot(frames=0)


def test_a_gif_has_a_picture_for_each_frame(perceptron, tmp_path):
    perceptron.animate(tmp_path / "path.gif", fps=5, frames=3)
    with Image.open(tmp_path / "path.gif") as moving:
        assert moving.n_frames == 3
        assert moving.info["duration"] == 200  # ms
    assert perceptron.axes_[0].get_title() == f"update {len(perceptron.frames) - 1}: 0 rows misclassified"


def test_a_page_is_written_where_the_name_says_so(newton, tmp_path):
    newton.animate(str(tmp_path / "path.html"), frames=2)
    page = (tmp_path / "path.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64") == 2
    assert "<title>The path of LogisticRegression</title>" in page


def test_animations_of_other_kinds_are_refused_before_any_work(newton, tmp_path):
    with pytest.raises(ValueError, match=r"path.mp4.*must end in .gif or .html"):
        newton.animate(tmp_path / "path.mp4")
    with pytest.raises(ValueError, match="fps must be an integer"):
        newton.animate(tmp_path / "path.gif", fps=0)
    assert not list(tmp_path.iterdir())


def test_a_row_at_the_origin_moves_the_bias_alone():
    X, y = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [2.0, 2.0]]), [0, 1, 1, 1]
    display = FitPathDisplay.from_estimator(sx.Perceptron(), X, y, frames=1)
    assert display.frames[0].row == 0
    assert not display.frames[1].w.any()
    assert display.frames[1].w0 == -1
