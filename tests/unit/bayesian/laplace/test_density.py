"""The Laplace approximation: exact for Gaussians, against known modes, curvatures and integrals elsewhere."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as cases
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import integrate, special, stats

from separatrix.bayesian.laplace import laplace_approximation


def gaussian(rng, D, spread=1.0):
    """ln of an unnormalised Gaussian with columns of very different size: f, mean, covariance and ln Z."""
    B = rng.normal(size=(D, D))
    size = 10.0 ** rng.uniform(-spread, spread, D)
    S = (B @ B.T + 0.1 * np.eye(D)) * np.outer(size, size)
    A, m = np.linalg.inv(S), 5 * rng.normal(size=D) * size
    log_z = -300 + D / 2 * np.log(2 * np.pi) + 0.5 * np.linalg.slogdet(S)[1]
    return lambda x: -300 - 0.5 * (x - m) @ A @ (x - m), m, S, log_z


@pytest.mark.parametrize("D", [1, 2, 5, 12])
@pytest.mark.parametrize("spread", [0.0, 4.0])
def test_a_gaussian_is_its_own_approximation(rng, D, spread):
    f, m, S, log_z = gaussian(rng, D, spread)
    q = laplace_approximation(f, np.zeros(D))
    std = np.sqrt(np.diag(S))
    assert_allclose(q.mode / std, m / std, atol=1e-9)
    assert_allclose(q.covariance / np.outer(std, std), S / np.outer(std, std), atol=1e-8)
    assert_allclose(q.std, std, rtol=1e-8)
    assert_allclose(q.precision @ q.covariance, np.eye(D), atol=1e-6)
    assert abs(q.log_z - log_z) < 1e-9
    assert_allclose(q.factor, np.tril(q.factor))
    assert (np.diag(q.factor) > 0).all()


@cases(max_examples=40)
@given(st.floats(-1e6, 1e6), st.floats(-8, 8), st.floats(-1e3, 1e3))
def test_units_and_starting_points_do_not_matter(offset, log_scale, away):
    """Six digits of the answer, where the mode may lie a million standard deviations from the origin."""
    scale = 10.0**log_scale
    q = laplace_approximation(lambda x: -0.5 * (x / scale - offset) ** 2, (offset + away) * scale)
    assert abs(q.mode / scale - offset) < 1e-6
    assert_allclose(q.std, scale, rtol=1e-6)


def test_a_gaussian_times_a_sigmoid():
    """PRML §4.4, figure 4.14: p(z) ∝ exp(-z²/2) σ(20 z + 4)."""

    def f(z):
        return -(z**2) / 2 - np.logaddexp(0, -20 * z - 4)

    q = laplace_approximation(f, 0.0)
    assert_allclose(q.mode, 20 * special.expit(-20 * q.mode - 4), rtol=1e-8)  # f' = 0
    tail = special.expit(-20 * q.mode - 4)
    assert_allclose(1 / q.covariance, 1 + 400 * tail * (1 - tail), rtol=1e-7)
    log_z = np.log(integrate.quad(lambda z: np.exp(f(z)), -8, 8, points=[-0.2, 0], epsabs=1e-12)[0])
    assert 0.05 < q.log_z - log_z < 0.1  # the approximation's own gap: the density is half a Gaussian, nearly
    assert isinstance(q.mode, float)
    assert isinstance(q.covariance, float)


def test_student_t():
    """f = -(ν+1)/2 ln(1 + x²/ν): the mode is found from the far tail, where f curves upwards; variance ν/(ν+1)."""
    q = laplace_approximation(lambda x: -2 * np.log1p((x - 3) ** 2 / 3), 500.0)
    assert abs(q.mode - 3) < 1e-8
    assert_allclose(q.covariance, 0.75, rtol=1e-8)


@pytest.mark.parametrize("start", [-20.0, 0.0, 30.0])
@pytest.mark.parametrize("shape", [0.5, 4.0, 1e4])
def test_gamma_in_log_coordinates_is_stirling(shape, start):
    """∫ e^(ay - e^y) dy = Γ(a), and Laplace's ln Z is Stirling's formula."""
    q = laplace_approximation(lambda y: shape * y - np.exp(y), start)
    assert_allclose(q.mode, np.log(shape), atol=1e-8)
    assert_allclose(q.covariance, 1 / shape, rtol=1e-7)
    stirling = shape * np.log(shape) - shape + 0.5 * np.log(2 * np.pi / shape)
    assert abs(q.log_z - stirling) < 1e-8 * max(1, abs(stirling))


def test_banana():
    """x_1 ~ N(0, 4), x_2 | x_1 ~ N(x_1², 1/25): at the mode the covariance is diagonal, and ln Z is exact."""
    q = laplace_approximation(lambda x: -(x[0] ** 2) / 8 - 12.5 * (x[1] - x[0] ** 2) ** 2, [-3.0, -5.0])
    assert_allclose(q.mode, 0, atol=1e-7)
    assert_allclose(q.std, [2.0, 0.2], rtol=1e-6)
    assert abs(q.log_z - np.log(2 * np.pi * 0.4)) < 1e-7


def test_the_gap_of_log_z_closes_like_one_over_n():
    """Bernoulli posterior, 30 % ones, flat prior on p, in log-odds: the integral is a beta function."""
    gaps = []
    for n in (10, 100, 1000, 10_000):
        ones, zeros = 0.3 * n + 1, 0.7 * n + 1

        def f(a, ones=ones, zeros=zeros):
            return -ones * np.logaddexp(0, -a) - zeros * np.logaddexp(0, a)

        gaps.append(abs(laplace_approximation(f, 0.0).log_z - special.betaln(ones, zeros)))
    ratios = np.divide(gaps[:-1], gaps[1:])
    assert (ratios > 7).all()
    assert (ratios < 13).all()


@pytest.fixture(scope="module")
def logistic():
    """A logistic posterior of ten weights: f, gradient, Hessian."""
    rng = np.random.default_rng(5)
    X, w = rng.normal(size=(200, 10)), rng.normal(size=10)
    sign = np.where(rng.random(200) < special.expit(X @ w), 1.0, -1.0)

    def f(w):
        return -np.logaddexp(0, -sign * (X @ w)).sum() - 0.5 * w @ w

    def gradient(w):
        return X.T @ (sign * special.expit(-sign * (X @ w))) - w

    def hessian(w):
        p = special.expit(X @ w)
        return -(X.T * (p * (1 - p))) @ X - np.eye(10)

    return f, gradient, hessian


@pytest.mark.parametrize("given", [(), ("gradient",), ("hessian",)])
def test_derivatives_by_differences_are_the_derivatives(logistic, given):
    f, gradient, hessian = logistic
    exact = laplace_approximation(f, np.zeros(10), gradient=gradient, hessian=hessian)
    known = {"gradient": gradient, "hessian": hessian}
    found = laplace_approximation(f, np.zeros(10), **{name: known[name] for name in given})
    assert_allclose(gradient(exact.mode), 0, atol=1e-7)
    assert_allclose(exact.precision, -hessian(exact.mode), rtol=1e-10)
    assert_allclose(found.mode, exact.mode, atol=1e-9)
    assert_allclose(found.covariance, exact.covariance, atol=1e-9)
    assert abs(found.log_z - exact.log_z) < 1e-8
    assert exact.n_evaluations < found.n_evaluations


def test_evaluations_are_counted(logistic):
    calls = 0

    def counted(w):
        nonlocal calls
        calls += 1
        return logistic[0](w)

    assert laplace_approximation(counted, np.zeros(10)).n_evaluations == calls


def test_log_density_is_the_normal_density(rng):
    f, m, S, _ = gaussian(rng, 3)
    q = laplace_approximation(f, np.zeros(3))
    x = m + rng.normal(size=(2, 5, 3)) @ np.linalg.cholesky(S).T
    assert_allclose(q.log_density(x), stats.multivariate_normal(q.mode, q.covariance).logpdf(x), rtol=1e-8)
    assert q.log_density(m).shape == ()
    one = laplace_approximation(lambda x: -2.0 * (x - 1) ** 2, 0.0)
    assert_allclose(one.log_density([0.0, 1.0]), stats.norm(1.0, 0.5).logpdf([0.0, 1.0]), atol=1e-8)


def test_samples_have_the_moments(rng):
    f, _, S, _ = gaussian(rng, 3)
    q = laplace_approximation(f, np.zeros(3))
    x = q.sample(100_000, rng)
    std = np.sqrt(np.diag(S))
    assert_allclose((x.mean(axis=0) - q.mode) / std, 0, atol=0.02)
    assert_allclose(np.cov(x.T) / np.outer(std, std), S / np.outer(std, std), atol=0.03)
    assert laplace_approximation(lambda x: -(x**2), 0.5).sample(4, 1).shape == (4,)
    assert_allclose(q.sample(5, 7), q.sample(5, 7))


def test_an_edge_of_the_support_does_not_hurt():
    q = laplace_approximation(lambda x: 3 * np.log(x) - x if x > 0 else -np.inf, 0.1)
    assert_allclose([q.mode, q.covariance], [3, 3], rtol=1e-7)
