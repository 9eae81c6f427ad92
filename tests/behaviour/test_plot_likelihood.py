import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest

import separatrix as sx
from problems import separable
from separatrix.datasets import make_overlapping
from separatrix.exceptions import DataError, SeparationWarning
from separatrix.plots.likelihood import LikelihoodSurfaceDisplay


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def surface(model, X, y, **options):
    return LikelihoodSurfaceDisplay.from_estimator(model, X, y, **({"resolution": 9} | options))


def value_at(display, i, j, X, y):
    """E by its definition: the boundary turned about the centre, and made steeper."""
    angle = np.radians(display.angle[j])
    w = display.length[i] * (np.array([np.cos(angle), np.sin(angle)]) @ display.directions)
    a = (X - display.centre) @ w
    return np.logaddexp(0, np.where(y == 1, -a, a)).sum(), w


def test_the_surface_is_what_its_axes_say():
    X, y = make_overlapping(50, 2)
    model = sx.LogisticRegression(alpha=0).fit(X, y)
    display = surface(model, X, y)
    for i, j in ((0, 0), (3, 7), (8, 2)):
        assert display.values[i, j] == pytest.approx(value_at(display, i, j, X, y)[0])
    assert model.decision_function(display.centre[None]) == pytest.approx(0, abs=1e-9)


def test_its_minimum_is_the_maximum_likelihood_fit():
    X, y = make_overlapping(50, 2)
    model = sx.LogisticRegression(alpha=0).fit(X, y)
    display = surface(model, X, y)
    (w,) = model.coef_
    assert display.minimum.length == pytest.approx(np.linalg.norm(w))
    assert display.minimum.angle == pytest.approx(np.degrees(np.arctan2(w[1], w[0])))
    log_p = model.predict_log_proba(X)[np.arange(50), y].sum()
    assert display.floor == display.minimum.value == pytest.approx(-log_p)
    assert display.values.min() >= display.floor


def test_the_prior_is_added_where_it_is_asked_for():
    X, y = make_overlapping(50, 2)
    model = sx.LogisticRegression(alpha=3.0).fit(X, y)
    display = surface(model, X, y, of="posterior")
    assert display.minimum.length == pytest.approx(np.linalg.norm(model.coef_))
    nll, w = value_at(display, 4, 4, X, y)
    assert display.values[4, 4] == pytest.approx(nll + 1.5 * w @ w)
    assert surface(model, X, y).minimum.length > display.minimum.length


def test_separable_rows_have_no_minimum_and_with_a_prior_they_do():
    X, y = separable(18, n_features=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparationWarning)
        model = sx.LogisticRegression(alpha=0).fit(X, y)
    display = surface(model, X, y, resolution=21)
    assert display.minimum is None
    assert display.quadratic is None
    best = display.values.min(axis=1)
    assert (np.diff(best) < 0).all()  # the longer the better
    assert "no minimum" in display.ax_.get_legend_handles_labels()[1][0]
    assert surface(sx.LogisticRegression().fit(X, y), X, y, of="posterior").minimum is not None


def test_a_thousand_rows_are_nearly_a_parabola_and_eighteen_are_not():
    gaps = []
    for n, rng in ((18, 5), (1000, 2)):
        X, y = make_overlapping(n, rng=rng)
        display = surface(sx.LogisticRegression(alpha=0).fit(X, y), X, y, resolution=41)
        near = display.values - display.floor <= 2
        gaps.append(np.abs(display.values - display.quadratic)[near].max())
    assert gaps[1] < 0.2
    assert gaps[0] > 1


def test_a_model_without_bias_turns_about_the_origin():
    X, y = make_overlapping(50, 2)
    model = sx.LogisticRegression(alpha=0, fit_intercept=False).fit(X, y)
    display = surface(model, X, y)
    np.testing.assert_allclose(display.centre, 0, atol=1e-12)
    assert display.minimum.length == pytest.approx(np.linalg.norm(model.coef_))


def test_a_plane_of_more_columns_is_spanned_by_two_directions():
    X, y = make_overlapping(80, 4)
    model = sx.LogisticRegression(alpha=0).fit(X, y)
    (w,) = model.coef_
    display = surface(model, X, y, directions=[w, [1.0, 0.0, 0.0, 0.0]])
    np.testing.assert_allclose(display.directions @ display.directions.T, np.eye(2), atol=1e-12)
    assert display.minimum.angle == pytest.approx(0, abs=1e-4)  # the plane holds w, and w is the best there is
    assert display.minimum.length == pytest.approx(np.linalg.norm(w))
    assert display.values[2, 3] == pytest.approx(value_at(display, 2, 3, X, y)[0])


def test_probit_has_a_surface_of_its_own():
    X, y = make_overlapping(50, 2)
    model = sx.ProbitRegression(alpha=0).fit(X, y)
    display = surface(model, X, y)
    assert display.minimum.length == pytest.approx(np.linalg.norm(model.coef_))


def test_angles_and_lengths_can_be_named():
    X, y = make_overlapping(50, 2)
    display = surface(sx.LogisticRegression().fit(X, y), X, y, angles=(-90, 90), lengths=(0, 2))
    assert display.angle[[0, -1]].tolist() == [-90, 90]
    assert display.length[[0, -1]].tolist() == [0, 2]
    np.testing.assert_allclose(display.values[0], 50 * np.log(2))  # w = 0 has no direction
    assert display.ax_.get_xlabel() == "direction of w (degrees from x0 towards x1)"


def test_planes_that_are_none():
    X, y = make_overlapping(50, 3)
    model = sx.LogisticRegression().fit(X, y)
    with pytest.raises(DataError, match="X has 3 columns.*directions="):
        surface(model, X, y)
    with pytest.raises(DataError, match=r"shape \(2, 2\), but must be"):
        surface(model, X, y, directions=np.eye(2))
    with pytest.raises(DataError, match=r"directions\[1\] is zero or parallel"):
        surface(model, X, y, directions=[[1.0, 2.0, 0.0], [-2.0, -4.0, 0.0]])
    ridge = sx.LogisticRegression(prior=sx.Gaussian([1.0, 2.0, 3.0])).fit(X, y)
    with pytest.raises(DataError, match="Use alpha"):
        surface(ridge, X, y, of="posterior", directions=np.eye(3)[:2])
    bayesian = sx.BayesianLogisticRegression().fit(X[:, :2], y)
    with pytest.raises(DataError, match="BayesianLogisticRegression has no alpha"):
        surface(bayesian, X[:, :2], y, of="posterior")
    with pytest.raises(ValueError, match="of='evidence'"):
        surface(model, X, y, of="evidence")


@pytest.mark.parametrize(
    ("model", "n_classes", "reason"),
    [
        (sx.LinearDiscriminantAnalysis(), 2, "does not maximise a likelihood"),
        (sx.LogisticRegression(basis=sx.basis.RBF(n_centres=3, centres="grid")), 2, "curved"),
        (sx.LogisticRegression(), 3, "3 classes"),
    ],
)
def test_a_model_without_a_likelihood_surface_is_refused(model, n_classes, reason):
    X, y = make_overlapping(60, n_classes=n_classes, rng=3)
    with pytest.raises(DataError, match=reason):
        surface(model.fit(X, y), X, y)
