"""Where there is no Gaussian to be put, the error says why, where, and what to do."""

import numpy as np
import pytest
from scipy import special

from separatrix.bayesian.laplace.density import LaplaceError, laplace_approximation


def expect(message, log_density, x0, **derivatives):
    with pytest.raises(LaplaceError, match=message) as caught:
        laplace_approximation(log_density, x0, **derivatives)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("value", [np.nan, -np.inf, np.inf])
def test_nothing_at_the_start(value):
    expect("not finite at x0 = 1. Start where there is density", lambda x: value, 1.0)


@pytest.mark.parametrize("x0", [np.nan, [0.0, np.inf], [], [[0.0]]])
def test_no_start(x0):
    expect("x0 must be a finite number or a vector", lambda x: 0.0, x0)


def test_saddle_names_the_direction():
    expect(r"a saddle and not a maximum: .* curves upwards along [+-]1 x\[1\]", lambda x: x[1] ** 2 - x @ x / 2, [0, 0])
    turned = r"a saddle .* along [+-]0\.71 x\[[01]\] [+-]0\.71 x\[[01]\]\. Start at another x0"
    expect(turned, lambda x: (x[0] + x[1]) ** 2 - (x[0] - x[1]) ** 2 - (x**4).sum(), [0.0, 0.0])


def test_minimum():
    expect("x = 0 is a minimum and not a maximum", lambda x: x**2 - x**4, 0.0)
    expect("is a minimum", lambda x: x**2 - x**4, 0.0, gradient=lambda x: 2 * x, hessian=lambda x: 2.0)


def test_beside_a_saddle_the_mode_is_found():
    q = laplace_approximation(lambda x: -(x[0] ** 2) + x[1] ** 2 - x[1] ** 4, [1.0, 1e-3])
    assert np.allclose(q.mode, [0, np.sqrt(0.5)], atol=1e-7)


@pytest.mark.parametrize(
    "f", [lambda x: x, lambda x: 0.5 * x, lambda x: np.log1p(x * x), lambda x: np.log1p(x**2) / 10 + 1e-3 * x]
)
def test_a_density_that_rises_for_ever(f):
    expect(r"still rises, .* from x0 = 0.5 the search came to x = .*, along \+x\. The mode lies at infinity", f, 0.5)


def test_rising_in_one_direction_of_two():
    expect(r"still rises, .* along \+1 x\[0\]", lambda x: x[0] - x[1] ** 2, [0.0, 0.0])


def test_separable_data_without_a_prior():
    """A likelihood that levels off: with exact derivatives the gradient does vanish, and still there is no mode."""
    expect("mode lies at infinity", lambda w: -np.logaddexp(0, -w), 0.0)
    expect(
        r"does not fall along \+x .* the mode lies at infinity in that direction.* Add a prior",
        lambda w: -np.logaddexp(0, -w),
        0.0,
        gradient=lambda w: special.expit(-w),
        hessian=lambda w: -special.expit(w) * special.expit(-w),
    )
    X = np.column_stack([np.ones(6), [-2.0, -1.0, -0.5, 0.5, 1.0, 2.0]])
    sign = np.sign(X[:, 1])
    expect("mode lies at infinity", lambda w: -np.logaddexp(0, -sign * (X @ w)).sum(), [0.0, 0.0])


def test_flat_directions_are_named():
    expect(r"flat at x = \(0, 0\) along \+1 x\[1\]: its curvature there is zero", lambda x: -(x[0] ** 2), [0.0, 0.0])
    expect("flat at x = 1 along", lambda x: 7.0, 1.0)

    def f(x):
        return -((x[0] + x[1]) ** 2) - x[0] - x[1]

    turned = r"flat at x = .* along [+-]0\.71 x\[[01]\] [+-]0\.71 x\[[01]\].* add a prior"
    expect(turned, f, [0.0, 0.0])
    expect(turned, f, [0.0, 0.0], gradient=lambda x: -np.ones(2) * (2 * (x[0] + x[1]) + 1))


@pytest.mark.parametrize("start", [0.0, 1.0, -30.0])
def test_a_peak_without_curvature(start):
    expect("flat at x = .*: its curvature there is zero", lambda x: -(x**4), start)


def test_a_wrong_gradient_is_suspected():
    expect(
        "does not rise along its gradient.*compare it with differences",
        lambda x: -(x**2),
        1.0,
        gradient=lambda x: 2 * x,
    )


def test_a_gradient_of_the_wrong_shape():
    with pytest.raises(ValueError, match=r"gradient\(x\) must have shape \(3,\) for x of shape \(3,\), and has \(2,\)"):
        laplace_approximation(lambda x: -x @ x, np.ones(3), gradient=lambda x: x[:2])


def test_an_edge_that_is_the_maximum():
    with pytest.raises(LaplaceError):
        laplace_approximation(lambda x: -x if x >= 0 else -np.inf, 1.0)
