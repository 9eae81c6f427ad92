import numpy as np
import pytest
from scipy.optimize import minimize

from problems import separable
from separatrix.datasets import make_overlapping
from separatrix.likelihoods import Logit
from separatrix.plots.likelihood import MAX_TYPICAL_ACTIVATION, take_slice
from separatrix.priors import Flat, Gaussian
from separatrix.rows import as_source
from separatrix.solvers.posterior import pose


def cut_of(Z, t, prior=None):
    prior = prior or Flat()
    return take_slice(pose(as_source(Z, np.asarray(t)), Logit(), prior, fit_intercept=False), prior)


def nll(s, Z, t):
    a = Z @ s
    return float(np.logaddexp(0, np.where(t == 1, -a, a)).sum())


def overlapping():
    X, y = make_overlapping(60, 2)
    return X - X.mean(axis=0), y


def test_values_are_those_of_the_formula(rng):
    Z, t = overlapping()
    S = rng.normal(size=(2, 3, 2))
    np.testing.assert_allclose(cut_of(Z, t).evaluate(S), [[nll(s, Z, t) for s in row] for row in S])
    penalised = cut_of(Z, t, Gaussian(0.5)).evaluate(S)
    np.testing.assert_allclose(penalised, [[nll(s, Z, t) + 2 * s @ s for s in row] for row in S])


def test_the_minimum_is_where_another_search_finds_it():
    Z, t = overlapping()
    cut = cut_of(Z, t)
    other = minimize(nll, np.zeros(2), args=(Z, t), method="BFGS", options={"gtol": 1e-8})
    np.testing.assert_allclose(cut.point, other.x, atol=1e-5)
    assert cut.floor == pytest.approx(other.fun)
    np.testing.assert_allclose(cut.direction, cut.point / np.linalg.norm(cut.point))


def test_the_parabola_touches_to_second_order():
    Z, t = overlapping()
    cut = cut_of(Z, t)
    for step in ([1.0, 0.0], [0.6, -0.8]):
        gaps = []
        for size in (0.1, 0.05):
            at = cut.point + size * np.array(step)
            gaps.append(abs(cut.parabola(at) - nll(at, Z, t)))
        assert gaps[1] < gaps[0] / 6  # a cubic, to be divided by eight


def test_where_a_line_separates_there_is_no_minimum_but_a_direction_of_descent():
    Z, t = separable(30, n_features=2, gap=0.1)
    cut = cut_of(Z, t)
    assert cut.point is None
    assert cut.parabola(np.zeros((1, 2))) is None
    assert ((2 * t - 1) * (Z @ cut.direction) > 0).all()
    values = cut.evaluate(np.outer([1.0, 10.0, 100.0], cut.direction))
    assert (np.diff(values) < 0).all()
    assert 0 <= cut.floor < 1e-15  # ln p = 0 for every row
    (low, high), (shortest, longest) = cut.window()
    assert high - low == 360
    assert shortest == 0
    assert longest * np.median(np.abs(Z @ cut.direction)) == pytest.approx(MAX_TYPICAL_ACTIVATION)


def test_a_prior_gives_separable_rows_a_minimum():
    Z, t = separable(30, n_features=2, gap=0.1)
    cut = cut_of(Z, t, Gaussian(1.0))
    np.testing.assert_allclose(cut.objective.value_grad(cut.point[None]).grad, 0, atol=1e-6)


def test_the_window_holds_five_standard_deviations_each_way():
    Z, t = overlapping()
    cut = cut_of(np.tile(Z, (50, 1)), np.tile(t, 50))
    (low, high), (shortest, longest) = cut.window()
    covariance = np.linalg.inv(cut.hess)
    assert (longest - shortest) / 10 == pytest.approx(np.sqrt(cut.direction @ covariance @ cut.direction))
    across = np.array([-cut.direction[1], cut.direction[0]])
    turn = np.degrees(np.sqrt(across @ covariance @ across) / np.linalg.norm(cut.point))
    assert (high - low) / 10 == pytest.approx(turn)


def test_rows_that_say_nothing_about_the_direction():
    Z, t = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]] * 2), np.repeat([0, 1], 4)
    cut = cut_of(Z, t)
    np.testing.assert_allclose(cut.point, 0, atol=1e-12)
    (low, high), (shortest, _) = cut.window()
    assert high - low == 360
    assert shortest == 0
