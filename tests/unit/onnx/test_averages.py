"""Integrals over a Gaussian in closed form, against mpmath and against the library's own."""

import mpmath
import numpy as np
import pytest
from scipy import special

from separatrix.bayesian.logistic_normal import soften as exact_soften
from separatrix.bayesian.predictive import logit_normal
from separatrix.onnx.averages import logistic_mean, mixture, normal_cdf, soften

A = np.linspace(-60.0, 60.0, 4001)
MU, VAR = (
    grid.ravel() for grid in np.meshgrid([0.0, -0.3, -2.0, -9.0, -40.0, -300.0], [0.0, 1e-6, 0.2, 3.0, 50.0, 900.0])
)


def even(a, tau):
    return a * (special.ndtr(a / tau) - 0.5) + tau * np.exp(-0.5 * (a / tau) ** 2) / np.sqrt(2 * np.pi)


def test_the_sigmoid_is_a_mixture_of_probits():
    tau, c, _ = mixture()
    np.testing.assert_allclose(special.ndtr(A[:, None] / tau) @ c, special.expit(A), atol=1e-10)
    assert c.sum() == pytest.approx(1.0, abs=1e-12)


def test_integrated_and_squared():
    tau, c, d = mixture()
    softplus = np.logaddexp(0.0, A)
    np.testing.assert_allclose(0.5 * A + even(A[:, None], tau) @ c, softplus, atol=1e-10)
    np.testing.assert_allclose(0.25 * A**2 + even(A[:, None], tau) @ d, (softplus - 0.5 * A) ** 2, atol=3e-9)


def test_the_normal_distribution_function_in_both_tails(evaluate):
    z = np.linspace(-37.0, 37.0, 2001)
    np.testing.assert_allclose(evaluate(normal_cdf, z), special.ndtr(z), rtol=1e-11)


def test_far_out_it_is_zero_and_one(evaluate):
    assert evaluate(normal_cdf, [-1e9, -50.0, 50.0, 1e9]).tolist() == [0.0, special.ndtr(-50.0), 1.0, 1.0]


@pytest.mark.parametrize(("mu", "var"), [(0.3, 0.01), (2.0, 9.0), (-4.0, 1.0), (1.0, 400.0)])
def test_the_average_of_the_sigmoid_against_mpmath(mu, var, evaluate):
    def integrand(z):
        return mpmath.npdf(z) / (1 + mpmath.exp(-(mu + mpmath.sqrt(var) * z)))

    exact = float(
        mpmath.quad(integrand, [-12, -4, -mu / np.sqrt(var), 4, 12] if abs(mu) < 4 * var**0.5 else [-12, 0, 12])
    )
    assert evaluate(logistic_mean, [mu], [var])[0] == pytest.approx(exact, abs=1e-9)


def test_the_average_of_the_sigmoid_against_the_library(evaluate):
    mu = np.concatenate([MU, -MU])
    var = np.concatenate([VAR, VAR])
    np.testing.assert_allclose(evaluate(logistic_mean, mu, var), logit_normal(mu, var), atol=1e-9)


def test_the_soft_maximum_against_the_library(evaluate):
    found = evaluate(lambda mu, var: tuple(soften(mu, var)), MU, VAR)
    exact = exact_soften(MU, VAR)
    for name, ours, theirs in zip(exact._fields, found, exact, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-8, rtol=1e-8, err_msg=name)
