"""The Laplace approximation is exact for Gaussians, agrees with known integrals, and reports its errors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as cases
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import integrate, special, stats

from separatrix.bayesian import LaplaceError, laplace_approximation
from separatrix.exceptions import ApproximationWarning


def gaussian(rng, D, spread=1.0):
    """Return the log density f of an unnormalised Gaussian, its mean, covariance and ln Z."""
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
def test_the_result_is_independent_of_units_and_start(offset, log_scale, away):
    """The tolerance is six digits if the mode is a million standard deviations from the origin."""
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
    assert 0.05 < q.log_z - log_z < 0.1  # a known error: the density is nearly half a Gaussian
    assert isinstance(q.mode, float)
    assert isinstance(q.covariance, float)


def test_the_mode_of_a_student_t_is_found_from_its_tail():
    """f = -(ν+1)/2 ln(1 + x²/ν) curves upwards in its tail. Laplace's variance is ν/(ν+1)."""
    q = laplace_approximation(lambda x: -2 * np.log1p((x - 3) ** 2 / 3), 500.0)
    assert abs(q.mode - 3) < 1e-8
    assert_allclose(q.covariance, 0.75, rtol=1e-8)


@pytest.mark.parametrize("start", [-20.0, 0.0, 30.0])
@pytest.mark.parametrize("shape", [0.5, 4.0, 1e4])
def test_laplace_of_a_log_gamma_density_gives_stirlings_formula(shape, start):
    """∫ e^(ay - e^y) dy = Γ(a), and Laplace's ln Z is Stirling's formula."""
    q = laplace_approximation(lambda y: shape * y - np.exp(y), start)
    assert_allclose(q.mode, np.log(shape), atol=1e-8)
    assert_allclose(q.covariance, 1 / shape, rtol=1e-7)
    stirling = shape * np.log(shape) - shape + 0.5 * np.log(2 * np.pi / shape)
    assert abs(q.log_z - stirling) < 1e-8 * max(1, abs(stirling))


def test_the_error_of_log_z_decreases_as_one_over_n():
    """The density is a Bernoulli posterior in log-odds, with 30 % ones. Its integral is a beta function."""
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
    """Return f, gradient and Hessian of a logistic posterior of ten weights."""
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
def test_finite_differences_agree_with_given_derivatives(logistic, given):
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


def test_a_density_with_bounded_support():
    q = laplace_approximation(lambda x: 3 * np.log(x) - x if x > 0 else -np.inf, 0.1)
    assert_allclose([q.mode, q.covariance], [3, 3], rtol=1e-7)


def test_the_mode_is_found_from_near_a_saddle():
    q = laplace_approximation(lambda x: -(x[0] ** 2) + x[1] ** 2 - x[1] ** 4, [1.0, 1e-3])
    assert np.allclose(q.mode, [0, np.sqrt(0.5)], atol=1e-7)


X = np.column_stack([np.ones(6), [-2.0, -1.0, -0.5, 0.5, 1.0, 2.0]])
AT_INFINITY = ("still rises", r"along \+x", "mode lies at infinity")
DIAGONAL = r"along [+-]0\.71 x\[[01]\] [+-]0\.71 x\[[01]\]"


def ridge(x):
    return -((x[0] + x[1]) ** 2) - x[0] - x[1]


def turned_saddle(x):
    return (x[0] + x[1]) ** 2 - (x[0] - x[1]) ** 2 - (x**4).sum()


def separable(w):
    return -np.logaddexp(0, -np.sign(X[:, 1]) * (X @ w)).sum()


#: What the user does: f, x0, derivatives; and words of the message.
ERRORS = {
    "NaN": (lambda x: np.nan, 1.0, {}, ("not finite at x0 = 1", "Start inside")),
    "outside the support": (lambda x: -np.inf, 1.0, {}, ("not finite at x0 = 1",)),
    "an infinite density": (lambda x: np.inf, 1.0, {}, ("not finite at x0 = 1",)),
    **{
        f"start {x0}": (lambda x: 0.0, x0, {}, ("x0 must be a finite number",))
        for x0 in (np.nan, [0.0, np.inf], [], [[0.0]])
    },
    "a saddle": (lambda x: x[1] ** 2 - x @ x / 2, [0, 0], {}, ("a saddle", r"upwards along [+-]1 x\[1\]")),
    "a turned saddle": (turned_saddle, [0.0, 0.0], {}, ("a saddle", DIAGONAL, "Start at another x0")),
    "a minimum": (lambda x: x**2 - x**4, 0.0, {}, ("x = 0 is a minimum",)),
    "a minimum with derivatives": (
        lambda x: x**2 - x**4,
        0.0,
        {"gradient": lambda x: 2 * x, "hessian": lambda x: 2.0},
        ("is a minimum",),
    ),
    "a line": (lambda x: x, 0.5, {}, AT_INFINITY),
    "a gentle line": (lambda x: 0.5 * x, 0.5, {}, AT_INFINITY),
    "a growing logarithm": (lambda x: np.log1p(x * x), 0.5, {}, AT_INFINITY),
    "a slow logarithm": (lambda x: np.log1p(x**2) / 10 + 1e-3 * x, 0.5, {}, AT_INFINITY),
    "a sigmoid": (lambda w: -np.logaddexp(0, -w), 0.0, {}, ("mode lies at infinity",)),
    "a sigmoid with derivatives": (
        lambda w: -np.logaddexp(0, -w),
        0.0,
        {"gradient": lambda w: special.expit(-w), "hessian": lambda w: -special.expit(w) * special.expit(-w)},
        ("not a reliable mode", r"along \+x", "Add a prior"),
    ),
    "separable rows": (separable, [0.0, 0.0], {}, ("mode lies at infinity",)),
    "a flat direction": (lambda x: -(x[0] ** 2), [0.0, 0.0], {}, (r"flat at x = \(0, 0\) along \+1 x\[1\]",)),
    "a constant": (lambda x: 7.0, 1.0, {}, ("flat at x = 1 along",)),
    "a turned flat direction": (ridge, [0.0, 0.0], {}, ("flat", DIAGONAL, "add a prior")),
    "a flat direction with a gradient": (
        ridge,
        [0.0, 0.0],
        {"gradient": lambda x: -np.ones(2) * (2 * (x[0] + x[1]) + 1)},
        ("flat", DIAGONAL),
    ),
    **{f"no curvature from {x0}": (lambda x: -(x**4), x0, {}, ("flat at x",)) for x0 in (0.0, 1.0, -30.0)},
    "a wrong gradient": (lambda x: -(x**2), 1.0, {"gradient": lambda x: 2 * x}, ("compare it with finite",)),
    "a mode at an edge": (lambda x: -x if x >= 0 else -np.inf, 1.0, {}, ("flat at x",)),
}


@pytest.mark.parametrize(("f", "x0", "derivatives", "words"), ERRORS.values(), ids=ERRORS)
def test_a_density_without_a_mode_raises_an_error_that_names_the_direction(f, x0, derivatives, words):
    with pytest.raises(LaplaceError, match=".*".join(words)):
        laplace_approximation(f, x0, **derivatives)


def test_a_gradient_of_the_wrong_shape():
    with pytest.raises(ValueError, match=r"gradient\(x\) must have shape \(3,\) for x of shape \(3,\), but has \(2,\)"):
        laplace_approximation(lambda x: -x @ x, np.ones(3), gradient=lambda x: x[:2])


@pytest.mark.parametrize("D", [1, 3])
@pytest.mark.parametrize("share", [0.5, 0.2])
def test_a_second_mode_is_reported_with_its_integral(D, share):
    away = np.zeros(D)
    away[0] = 8.0

    def f(x):
        near, far = (-0.5 * np.sum((x - centre) ** 2) for centre in (np.zeros(D), away))
        return np.logaddexp(near + np.log(1 - share), far + np.log(share))

    log_z = D / 2 * np.log(2 * np.pi)
    with pytest.warns(ApproximationWarning, match="another mode at x = ") as caught:
        q = laplace_approximation(f, np.full(D, 0.5))
    assert q.log_z == pytest.approx(log_z + np.log(1 - share), abs=1e-6)
    assert f"ln Z = {log_z + np.log(share):.4g}" in str(caught[0].message)


@pytest.mark.parametrize(
    ("f", "x0"),
    [
        (lambda z: 2 * np.log(z) - z, 1.0),
        (lambda z: -0.6 * np.log1p(z**2), 0.3),  # heavy tails fall everywhere
        (lambda z: -(z**4) / 4 - z**2 / 2, 1.0),
        (lambda z: -0.5 * np.sum(z**2) + 1e-3 * np.cos(50 * z[0]), np.ones(2)),
        (lambda z: np.logaddexp(-0.5 * z**2, -20 - 0.5 * (z - 9) ** 2), 0.1),  # its second mode has e^-20 of Z
    ],
)
def test_a_density_with_one_mode_of_weight_gives_no_warning(f, x0):
    laplace_approximation(f, x0)  # warnings are errors
