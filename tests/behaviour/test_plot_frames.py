import warnings
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import ndtri

import separatrix as sx
from problems import blobs, separable
from separatrix.basis import Polynomial
from separatrix.datasets import make_overlapping
from separatrix.exceptions import DataError
from separatrix.plots.path import FitPathDisplay, contours_of


def test_every_update_of_a_perceptron_adds_the_row_that_was_wrong():
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
def test_steps_are_those_of_the_solver_and_so_are_their_objectives(solver):
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


def test_the_model_given_is_left_alone():
    X, y = make_overlapping(80, 2)
    model = sx.LogisticRegression()
    FitPathDisplay.of_fit(model, X, y)
    assert "coef_" not in vars(model)
    assert model.trace is False


def test_contours_are_where_the_probability_is_one_tenth_and_nine():
    X, y = make_overlapping(80, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = [kind().fit(X, y) for kind in (sx.LogisticRegression, sx.ProbitRegression)]
    np.testing.assert_allclose(contours_of(models[0].likelihood_), [-np.log(9), np.log(9)])
    np.testing.assert_allclose(contours_of(models[1].likelihood_), ndtri([0.1, 0.9]))


def test_fits_that_cannot_be_drawn():
    X, y = make_overlapping(80, 2)
    with pytest.raises(DataError, match="FisherDiscriminant does not record"):
        FitPathDisplay.of_fit(sx.FisherDiscriminant(), X, y)
    with pytest.raises(DataError, match="needs two classes, but y has 3.*y == label"):
        FitPathDisplay.of_fit(sx.LogisticRegression(), *blobs(80, n_features=2, n_classes=3))
    with pytest.raises(DataError, match="has 3 columns"):
        FitPathDisplay.of_fit(sx.LogisticRegression(), *make_overlapping(80, 3))
    with pytest.raises(DataError, match="2 columns and a basis"):
        FitPathDisplay.of_fit(sx.LogisticRegression(basis=Polynomial(2)), X, y)
