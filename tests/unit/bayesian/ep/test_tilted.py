"""Normalisers and cumulants against sums over a fine grid, differences, and each other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from separatrix.bayesian.ep import Tilted, sigmoid_derivatives, tilted
from separatrix.bayesian.predictive import logit_normal_log_odds
from separatrix.likelihoods import LabelNoise, Logit, Probit

LIKELIHOODS = {"logit": Logit(), "probit": Probit(), "label_noise": LabelNoise(0.1, 0.02)}
NODES = np.polynomial.hermite_e.hermegauss(120)
#: Mean and variance of the Gaussian: narrow and wide, on the right side, the wrong side, and far out on it.
CASES = [(0.0, 0.01), (0.0, 1.0), (2.0, 4.0), (-2.0, 4.0), (-10.0, 1.0), (-30.0, 25.0), (5.0, 100.0), (-3.0, 1e-6)]


def on_a_grid(log_p, mu, v):
    """ln Z and the derivatives that mean, variance and third cumulant stand for: the trapezium rule, plainly."""
    s = np.sqrt(v)
    a = np.linspace(mu - v - 12 * s, mu + v + 12 * s, 200_001)
    log_f = log_p(a) - 0.5 * (a - mu) ** 2 / v - 0.5 * np.log(2 * np.pi * v)
    f = np.exp(log_f - log_f.max())
    Z = f.sum()
    mean = f @ a / Z
    var, third = (f @ (a - mean) ** j / Z for j in (2, 3))
    log_z = log_f.max() + np.log(Z * (a[1] - a[0]))
    return np.array([log_z, (mean - mu) / v, (v - var) / v**2, -third / v**3])


def one(likelihood, mu, v, t, power=None):
    found = tilted(likelihood, np.array([mu]), np.array([v]), np.array([t]), power=power)
    return np.array([part[0] for part in found])


@pytest.mark.parametrize(("mu", "v"), CASES)
@pytest.mark.parametrize("name", LIKELIHOODS)
@pytest.mark.parametrize("t", [0, 1])
def test_closed_forms_are_the_integrals(name, mu, v, t):
    likelihood = LIKELIHOODS[name]
    found = one(likelihood, mu, v, t)
    expected = on_a_grid(lambda a: likelihood.derivatives(a, np.full(len(a), t)).log_p, mu, v)
    unit = np.array([1.0, v**0.5, v, v**1.5])  # derivatives as cumulants, in standard deviations of the Gaussian
    assert_allclose(found * unit, expected * unit, rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("name", LIKELIHOODS)
@given(mu=st.floats(-12, 12), v=st.floats(1e-4, 30), t=st.sampled_from([0, 1]))
@settings(max_examples=20)
def test_each_is_the_derivative_of_the_one_before(name, mu, v, t):
    h = 1e-3
    ahead, here, behind = (one(LIKELIHOODS[name], mu + d, v, t) for d in (h, 0.0, -h))
    difference = (ahead - behind) / (2 * h)
    assert_allclose(here[1], difference[0], rtol=1e-5, atol=1e-6)
    assert_allclose(-here[2], difference[1], rtol=1e-5, atol=1e-6)
    assert_allclose(here[3], difference[2], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_a_gaussian_without_width_leaves_the_likelihood_itself(name, rng):
    likelihood, a, t = LIKELIHOODS[name], rng.normal(size=50, scale=5), rng.integers(2, size=50)
    found = tilted(likelihood, a, np.full(50, 1e-14), t)
    for part, expected in zip(found, (*likelihood.derivatives(a, t), likelihood.skew(a, t)), strict=True):
        assert_allclose(part, expected, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("name", ["logit", "probit"])
@given(mu=st.floats(-40, 40), v=st.floats(1e-6, 500), t=st.sampled_from([0, 1]))
@settings(max_examples=40)
def test_a_concave_likelihood_narrows_and_moves_to_its_own_side(name, mu, v, t):
    log_z, slope, curvature, _ = one(LIKELIHOODS[name], mu, v, t)
    assert log_z <= 0
    assert (2 * t - 1) * slope >= 0
    assert -1e-9 <= curvature * v <= 1 + 1e-9


def test_the_normaliser_is_the_predictive_probability(rng):
    mu, v = rng.normal(size=200, scale=4), rng.gamma(1.0, 9.0, size=200)
    up, down = (tilted(Logit(), mu, v, np.full(200, t)).log_z for t in (1, 0))
    assert_allclose(up - down, logit_normal_log_odds(mu, v), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", LIKELIHOODS)
@given(mu=st.floats(-4, 4), v=st.floats(1e-3, 4), t=st.floats(0, 1))
@settings(max_examples=12)
def test_targets_between_0_and_1_weigh_both_log_likelihoods(name, mu, v, t):
    likelihood = LIKELIHOODS[name]
    x, w = NODES
    a = mu + np.sqrt(v) * x
    f = np.exp(likelihood.derivatives(a, np.full(120, t)).log_p) * w / np.sqrt(2 * np.pi)
    Z = f.sum()
    mean = f @ a / Z
    expected = [np.log(Z), (mean - mu) / v, (v - f @ (a - mean) ** 2 / Z) / v**2]
    assert_allclose(one(likelihood, mu, v, t)[:3], expected, rtol=1e-6, atol=1e-6 / v)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_a_power_of_one_changes_nothing_and_powers_of_nothing_leave_the_gaussian(name, rng):
    likelihood, mu, v, t = LIKELIHOODS[name], rng.normal(size=20), rng.gamma(2.0, size=20), rng.integers(2, size=20)
    power = np.tile([1.0, 1.0 - 1e-12, 1e-12], 7)[:20]
    found = tilted(likelihood, mu, v, t, power=power)
    plain = tilted(likelihood, mu, v, t)
    for part, whole in zip(found, plain, strict=True):
        assert (part[power == 1.0] == whole[power == 1.0]).all()
        near = (power < 1.0) & (power > 0.5)
        assert_allclose(part[near], whole[near], rtol=1e-4, atol=1e-5)  # sums against quadrature
        assert_allclose(part[power < 0.5], 0.0, atol=1e-9)


def test_a_likelihood_that_is_not_known_in_closed_form_is_integrated(rng):
    class Unknown:
        n_outputs = 1

        def derivatives(self, a, t):
            return Logit().derivatives(a, t)

    mu, v, t = rng.normal(size=30), rng.gamma(2.0, size=30), rng.integers(2, size=30)
    for part, exact in zip(tilted(Unknown(), mu, v, t), tilted(Logit(), mu, v, t), strict=True):
        assert_allclose(part, exact, rtol=1e-4, atol=1e-6)


def test_averages_of_the_sigmoid_and_its_derivatives_by_quadrature():
    x, w = np.polynomial.hermite_e.hermegauss(200)
    w = w / w.sum()
    for m, s in [(0.0, 0.5), (1.0, 1.0), (3.0, 1.5), (0.2, 2.0)]:
        a = -m + s * x
        up, down = 1 / (1 + np.exp(-a)), 1 / (1 + np.exp(a))
        first = up * down
        moments = [w @ up, w @ first, w @ (first * (down - up)), w @ (first * ((down - up) ** 2 - 2 * first))]
        log_q, log_c, second, third = sigmoid_derivatives(np.array([m]), np.array([s]))
        assert_allclose([log_q[0], log_c[0]], np.log(moments[:2]), rtol=1e-10, atol=1e-12)
        assert_allclose([second[0], third[0]], np.array(moments[2:]) / moments[1], rtol=1e-7, atol=1e-9)


def test_the_record_unpacks_in_the_order_of_derivatives():
    assert Tilted._fields == ("log_z", "slope", "curvature", "skew")
