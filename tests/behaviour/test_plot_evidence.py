import numpy as np
import pytest
from matplotlib.contour import QuadContourSet

import separatrix as sx
from separatrix.bayesian.surface import EvidenceSurface
from separatrix.exceptions import DataError
from separatrix.plots.evidence import N_CELLS

Display = sx.plots.EvidenceSurfaceDisplay


def paraboloid(widths, scales, curvature=20.0):
    """ln p(D) = -70 at width 1 and scale 2, less ``curvature`` nats for each squared factor of e away from there."""
    u, v = np.log(np.asarray(widths)), np.log(np.asarray(scales) / 2.0)
    log_evidence = -70.0 - curvature * (u[:, None] ** 2 + v[None, :] ** 2)
    return EvidenceSurface(np.asarray(widths), np.asarray(scales), log_evidence, np.ones(len(widths)))


def test_depths_are_measured_from_the_maximum_and_axes_are_sorted():
    display = Display.from_surface(paraboloid([np.e, 1.0, 1 / np.e], [2 * np.e**2, 2.0]))
    assert np.array_equal(display.widths, [1 / np.e, 1.0, np.e])
    assert np.array_equal(display.scales, [2.0, 2 * np.e**2])
    np.testing.assert_allclose(display.depth, [[20, 100], [0, 80], [20, 100]], atol=1e-12)
    assert display.best == (1.0, 2.0)
    assert display.maximum == -70.0
    assert display.levels == (1, 3, 10, 30)


def test_contours_are_in_nats_below_the_maximum():
    display = Display.from_surface(paraboloid(np.geomspace(0.05, 20, 81), np.geomspace(0.1, 40, 81)))
    (lines,) = [c for c in display.ax_.collections if isinstance(c, QuadContourSet)]
    assert tuple(lines.levels) == display.levels
    for level, path in zip(lines.levels, lines.get_paths(), strict=True):
        distance = np.hypot(np.log(path.vertices[:, 0]), np.log(path.vertices[:, 1] / 2))
        inside = distance[np.isfinite(distance)]
        np.testing.assert_allclose(20 * inside**2, level, rtol=0.15)


def test_the_maximum_and_other_points_are_marked():
    display = Display.from_surface(
        paraboloid([0.5, 1.0, 2.0], [1.0, 2.0, 4.0]), marks={"guess": (0.5, 4.0)}, title="Evidence"
    )
    ax = display.ax_
    handles, texts = ax.get_legend_handles_labels()
    where = {text: handle.get_xydata()[0].tolist() for text, handle in zip(texts, handles, strict=True)}
    assert where == {"best of the grid: ln p(D) = −70.0": [1.0, 2.0], "guess": [0.5, 4.0]}
    assert (ax.get_xscale(), ax.get_yscale(), ax.get_title()) == ("log", "log", "Evidence")
    assert "width" in ax.get_xlabel()
    assert "standard deviation" in ax.get_ylabel()
    assert "nats" in display.figure_.axes[1].get_ylabel()


@pytest.mark.parametrize(
    ("widths", "scales"), [([1.0], [1.0, 2.0]), ([1.0], [2.0]), ([0.9, 1.1], [2.0]), ([0.9, 1.1], [1.9, 2.1])]
)
def test_a_line_a_point_and_a_flat_surface_have_no_contours(widths, scales):
    display = Display.from_surface(paraboloid(widths, scales))
    display.figure_.canvas.draw()
    assert not [c for c in display.ax_.collections if isinstance(c, QuadContourSet)]


def test_cells_must_be_finite():
    surface = paraboloid([1.0, 2.0], [1.0, 2.0])
    surface.log_evidence[0, 0] = -np.inf
    with pytest.raises(DataError, match="finite"):
        Display.from_surface(surface)


@pytest.mark.filterwarnings("ignore:The posterior is far:separatrix.exceptions.ApproximationWarning")
@pytest.mark.parametrize("standardize", [pytest.param(True, marks=pytest.mark.slow), False])
def test_the_surface_of_a_model_is_centred_on_the_model(standardize):
    X, y = sx.datasets.make_overlapping(60, rng=3)
    basis = sx.basis.RBF(centres="grid", n_centres=3, width=2.0)
    options = {"approximation": "laplace", "standardize": standardize}
    model = sx.BayesianLogisticRegression(basis=basis, tune="evidence", **options).fit(X, y)
    display = Display.from_estimator(model, X, y)
    middle = N_CELLS // 2
    assert display.widths[middle] == pytest.approx(2.0)
    stated = sx.BayesianLogisticRegression(model.prior_, basis=basis, tune=None, **options).fit(X, y)
    assert display.maximum - display.depth[middle, middle] == pytest.approx(stated.log_evidence_, abs=1e-6)
    # The scale is the most probable one; a change of ln scale from its law adds a quadratic.
    u = np.log(display.scales / display.scales[middle])
    slope = np.polyfit(u[middle - 1 : middle + 2], -display.depth[middle][middle - 1 : middle + 2], 2)[1]
    per_std = model.prior_.scale if standardize else model.prior_.scale * model.basis_.transform(X).std(axis=0)
    level = 0.5 * np.log(np.mean(np.square(per_std))) - np.log(2 / 9**0.5)  # nine columns
    assert slope == pytest.approx(level, abs=0.15)
    point = sx.LogisticRegression(alpha=0.25, basis=basis).fit(X, y)
    assert Display.from_estimator(point, X, y).scales[middle] == pytest.approx(2.0)
