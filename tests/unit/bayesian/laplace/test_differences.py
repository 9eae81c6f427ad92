"""Derivatives by differences, against derivatives by hand, in every coordinate system."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from separatrix.bayesian.laplace import Surface


def f(x):
    return np.sin(x[0]) * np.exp(x[1]) + x[2] ** 3 * x[0] + 50.0


def gradient(x):
    return np.array([np.cos(x[0]) * np.exp(x[1]) + x[2] ** 3, np.sin(x[0]) * np.exp(x[1]), 3 * x[2] ** 2 * x[0]])


def hessian(x):
    s, c, e = np.sin(x[0]), np.cos(x[0]), np.exp(x[1])
    return np.array([[-s * e, c * e, 3 * x[2] ** 2], [c * e, s * e, 0], [3 * x[2] ** 2, 0, 6 * x[2] * x[0]]])


X, T = np.array([0.7, -0.3, 1.1]), np.array([[1.0, 0.2, 0.0], [0.5, 1.0, 0.1], [0.0, -0.3, 0.8]])


@pytest.mark.parametrize(
    "given", [{}, {"gradient": gradient}, {"hessian": hessian}, {"gradient": gradient, "hessian": hessian}]
)
def test_polished_derivatives(given):
    value, grad, hess = Surface(f, is_number=False, **given).polished(X, T)
    assert value == f(X)
    assert_allclose(grad, T.T @ gradient(X), atol=1e-9)
    assert_allclose(hess, T.T @ hessian(X) @ T, atol=1e-8)


def test_plain_differences_are_a_first_look():
    _, grad, hess = Surface(f, is_number=False).local(X, T)
    assert_allclose(grad, T.T @ gradient(X), atol=0.05)
    assert_allclose(hess, T.T @ hessian(X) @ T, atol=0.05)


def test_evaluations_of_a_hessian():
    surface = Surface(f, is_number=False)
    surface.local(X, T)
    assert surface.n_evaluations == 3**2 + 3 + 1


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_units_are_where_f_changes_by_about_one(scale):
    (unit,) = Surface(lambda x: -((x / scale) ** 2), is_number=True).units(np.zeros(1))
    assert 0.1 <= (unit / scale) ** 2 <= 2


def test_a_variable_without_effect_has_no_unit():
    assert np.isinf(Surface(lambda x: x[0], is_number=False).units(np.zeros(2))).tolist() == [False, True]


def test_near_an_edge_the_step_is_shorter():
    surface = Surface(lambda x: np.log(x) if x > 0 else -np.inf, is_number=True)
    _, grad, hess = surface.polished(np.array([1e-3]), np.array([[1.0]]))
    assert_allclose([grad[0], hess[0, 0]], [1e3, -1e6], rtol=1e-3)


def test_infinities_are_no_density():
    assert Surface(lambda x: np.inf, is_number=True).value(np.zeros(1)) == -np.inf
