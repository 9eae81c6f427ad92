import numpy as np
import pytest

import separatrix as sx
from problems import separable
from separatrix.datasets import make_overlapping
from separatrix.likelihoods import Logit
from separatrix.plots.likelihood import LikelihoodSurfaceDisplay, take_slice
from separatrix.priors import Flat
from separatrix.rows import as_source
from separatrix.solvers import pose


def surface(model, X, y, **options):
    return LikelihoodSurfaceDisplay.from_estimator(model, X, y, **({"resolution": 9} | options))


def value_at(display, i, j, X, y):
    """E by its definition: the boundary turned about the centre, and made steeper."""
    angle = np.radians(display.angle[j])
    w = display.length[i] * (np.array([np.cos(angle), np.sin(angle)]) @ display.directions)
    a = (X - display.centre) @ w
    return np.logaddexp(0, np.where(y == 1, -a, a)).sum(), w


def test_the_surface_is_the_negative_log_likelihood():
    X, y = make_overlapping(50, 2)
    model = sx.LogisticRegression(alpha=0).fit(X, y)
    display = surface(model, X, y)
    for i, j in ((0, 0), (3, 7), (8, 2)):
        assert display.values[i, j] == pytest.approx(value_at(display, i, j, X, y)[0])
    assert model.decision_function(display.centre[None]) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("kind", [sx.LogisticRegression, sx.ProbitRegression])
def test_the_minimum_is_the_maximum_likelihood_fit(kind):
    X, y = make_overlapping(50, 2)
    model = kind(alpha=0).fit(X, y)
    display = surface(model, X, y)
    (w,) = model.coef_
    assert display.minimum.length == pytest.approx(np.linalg.norm(w))
    assert display.minimum.angle == pytest.approx(np.degrees(np.arctan2(w[1], w[0])))
    log_p = model.predict_log_proba(X)[np.arange(50), y].sum()
    assert display.floor == display.minimum.value == pytest.approx(-log_p)
    assert display.values.min() >= display.floor


def test_the_prior_is_added_on_request():
    X, y = make_overlapping(50, 2)
    model = sx.LogisticRegression(alpha=3.0).fit(X, y)
    display = surface(model, X, y, of="posterior")
    assert display.minimum.length == pytest.approx(np.linalg.norm(model.coef_))
    nll, w = value_at(display, 4, 4, X, y)
    assert display.values[4, 4] == pytest.approx(nll + 1.5 * w @ w)
    assert surface(model, X, y).minimum.length > display.minimum.length


@pytest.mark.filterwarnings("ignore::separatrix.exceptions.SeparationWarning")
def test_separable_rows_have_a_minimum_only_with_a_prior():
    X, y = separable(18, n_features=2)
    display = surface(sx.LogisticRegression(alpha=0).fit(X, y), X, y, resolution=21)
    assert display.minimum is None
    assert display.quadratic is None
    assert (np.diff(display.values.min(axis=1)) < 0).all()  # the longer the better
    assert "no minimum" in display.ax_.get_legend_handles_labels()[1][0]
    assert surface(sx.LogisticRegression().fit(X, y), X, y, of="posterior").minimum is not None


def test_the_surface_of_a_thousand_rows_is_nearly_quadratic_and_of_eighteen_is_not():
    errors = []
    for n, rng in ((18, 5), (1000, 2)):
        X, y = make_overlapping(n, rng=rng)
        display = surface(sx.LogisticRegression(alpha=0).fit(X, y), X, y, resolution=41)
        near = display.values - display.floor <= 2
        errors.append(np.abs(display.values - display.quadratic)[near].max())
    assert errors[1] < 0.2
    assert errors[0] > 1


def test_a_model_without_intercept_is_centred_at_the_origin():
    X, y = make_overlapping(50, 2)
    model = sx.LogisticRegression(alpha=0, fit_intercept=False).fit(X, y)
    display = surface(model, X, y)
    np.testing.assert_allclose(display.centre, 0, atol=1e-12)
    assert display.minimum.length == pytest.approx(np.linalg.norm(model.coef_))


def test_two_directions_span_the_plane_of_more_columns():
    X, y = make_overlapping(80, 4)
    model = sx.LogisticRegression(alpha=0).fit(X, y)
    (w,) = model.coef_
    display = surface(model, X, y, directions=[w, [1.0, 0.0, 0.0, 0.0]])
    np.testing.assert_allclose(display.directions @ display.directions.T, np.eye(2), atol=1e-12)
    assert display.minimum.angle == pytest.approx(0, abs=1e-4)  # the plane holds w, and w is the best there is
    assert display.minimum.length == pytest.approx(np.linalg.norm(w))
    assert display.values[2, 3] == pytest.approx(value_at(display, 2, 3, X, y)[0])


def test_angles_and_lengths_can_be_given():
    X, y = make_overlapping(50, 2)
    display = surface(sx.LogisticRegression().fit(X, y), X, y, angles=(-90, 90), lengths=(0, 2))
    assert display.angle[[0, -1]].tolist() == [-90, 90]
    assert display.length[[0, -1]].tolist() == [0, 2]
    np.testing.assert_allclose(display.values[0], 50 * np.log(2))  # w = 0 has no direction
    assert display.ax_.get_xlabel() == "direction of w (degrees from x0 towards x1)"


def cut_of(Z, t):
    return take_slice(pose(as_source(Z, np.asarray(t)), Logit(), Flat(), fit_intercept=False), Flat())


def nll(s, Z, t):
    a = Z @ s
    return float(np.logaddexp(0, np.where(t == 1, -a, a)).sum())


def overlapping():
    X, y = make_overlapping(60, 2)
    return X - X.mean(axis=0), y


def test_the_parabola_is_exact_to_second_order():
    Z, t = overlapping()
    cut = cut_of(Z, t)
    for step in ([1.0, 0.0], [0.6, -0.8]):
        errors = []
        for size in (0.1, 0.05):
            at = cut.point + size * np.array(step)
            errors.append(abs(cut.parabola(at) - nll(at, Z, t)))
        assert errors[1] < errors[0] / 6  # a cubic, to be divided by eight


def test_the_window_has_five_standard_deviations_on_each_side():
    Z, t = overlapping()
    cut = cut_of(np.tile(Z, (50, 1)), np.tile(t, 50))
    (low, high), (shortest, longest) = cut.window()
    covariance = np.linalg.inv(cut.hess)
    assert (longest - shortest) / 10 == pytest.approx(np.sqrt(cut.direction @ covariance @ cut.direction))
    across = np.array([-cut.direction[1], cut.direction[0]])
    turn = np.degrees(np.sqrt(across @ covariance @ across) / np.linalg.norm(cut.point))
    assert (high - low) / 10 == pytest.approx(turn)


def test_all_angles_are_shown_if_the_minimum_is_at_zero():
    Z, t = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]] * 2), np.repeat([0, 1], 4)
    cut = cut_of(Z, t)
    np.testing.assert_allclose(cut.point, 0, atol=1e-12)
    (low, high), (shortest, _) = cut.window()
    assert high - low == 360
    assert shortest == 0
