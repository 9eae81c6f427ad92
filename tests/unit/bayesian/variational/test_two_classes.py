"""The bound is one, is largest where it is said to be, and never falls on the way."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize

import separatrix.bayesian.variational as module
from exact import LIKELIHOODS, at_the_mode, on_a_grid, posed, two_weights
from separatrix.bayesian.variational import Bound, variational
from separatrix.likelihoods import Softmax
from separatrix.solvers import factorise


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_the_bound_is_below_the_evidence_and_near_it(name):
    objective, X, t = two_weights(name)
    found = variational(objective, at_the_mode(objective))
    exact = on_a_grid(objective, X, t, 2.0)
    assert found.is_converged
    assert exact.log_evidence - 0.15 < found.log_evidence < exact.log_evidence
    sd = np.sqrt(np.diag(exact.covariance))
    assert_allclose(found.mean[0], exact.mean, atol=0.05 * sd.max())
    assert (found.std[0] < sd).all()  # KL(q || p) keeps q inside p


@pytest.mark.parametrize("name", LIKELIHOODS)
@pytest.mark.parametrize(("mu", "var"), [(0.5, 1.0), (3.0, 4.5), (-8.0, 30.0), (40.0, 100.0), (-3.0, 2500.0)])
@pytest.mark.parametrize("t", [0, 1])
def test_derivatives_are_averaged_at_every_width(name, mu, var, t):
    found = np.stack(module._moderated(LIKELIHOODS[name], np.array([mu]), np.array([var]), np.array([t])))[:, 0]
    a = np.linspace(mu - 10 * np.sqrt(var), mu + 10 * np.sqrt(var), 400_001)
    density = np.exp(-0.5 * (a - mu) ** 2 / var) / np.sqrt(2 * np.pi * var) * (a[1] - a[0])
    expected = np.stack(LIKELIHOODS[name].derivatives(a, np.full(len(a), t))) @ density
    assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_no_gaussian_nearby_has_a_larger_bound(name):
    objective, _, _ = two_weights(name)
    found = variational(objective, at_the_mode(objective), tol=1e-8)

    def bound(x):
        """Of mean x[:2] and precision L L' with the triangle x[2:]."""
        L = np.array([[np.exp(x[2]), 0.0], [x[3], np.exp(x[4])]])
        factor = factorise(L @ L.T, 1, objective.prior.free)
        return module._bound(objective).at(x[None, :2], factor).bound

    L = np.linalg.cholesky(found.factor.matrix)
    start = np.array([*found.mean[0], np.log(L[0, 0]), L[1, 0], np.log(L[1, 1])])
    best = optimize.minimize(lambda x: -bound(x), start + 0.05, method="BFGS", options={"gtol": 1e-7})
    assert found.log_evidence == pytest.approx(bound(start), abs=1e-10)
    assert found.log_evidence == pytest.approx(-best.fun, abs=1e-8)
    assert_allclose(best.x, start, atol=1e-3)


def test_the_bound_never_falls(monkeypatch, rng):
    X = np.column_stack([rng.normal(size=(200, 2)), np.arange(200) < 5]).astype(float)
    t = (rng.random(200) < 0.4).astype(int)
    t[:5] = 1
    objective = posed(X, t, scale=10.0, fit_intercept=True)
    ascend, seen = Bound.ascend, []

    def recorded(self, here, share):
        moved = ascend(self, here, share)
        seen.append((here.bound, moved[0].bound, moved[1]))
        return moved

    monkeypatch.setattr(Bound, "ascend", recorded)
    assert variational(objective, at_the_mode(objective)).is_converged
    assert all(after >= before - 1e-10 * abs(before) for before, after, _ in seen)
    assert min(share for *_, share in seen) < 1.0, "whole steps would have done: this is no test of the safeguard"


def test_a_row_of_weight_k_is_k_rows(rng):
    X, t, weight = rng.normal(size=(20, 3)), rng.integers(2, size=20), rng.integers(1, 4, size=20)
    each = np.repeat(np.arange(20), weight)
    weighted, plain = posed(X, t, weight=weight.astype(float)), posed(X[each], t[each])
    a, b = (variational(objective, at_the_mode(objective), tol=1e-8) for objective in (weighted, plain))
    assert_allclose(a.mean, b.mean, atol=1e-7)
    assert a.log_evidence == pytest.approx(b.log_evidence, abs=1e-9)


def test_a_known_part_of_the_activation_is_a_prior_mean_moved(rng):
    X, t, d = rng.normal(size=(25, 3)), rng.integers(2, size=25), np.array([0.5, -1.0, 0.2])
    offset, moved = posed(X, t, offset=X @ d), posed(X, t, mean=d)
    a, b = (variational(objective, at_the_mode(objective), tol=1e-8) for objective in (offset, moved))
    assert_allclose(a.mean + d, b.mean, atol=1e-7)
    assert a.log_evidence == pytest.approx(b.log_evidence, abs=1e-9)
    assert a.log_likelihood == pytest.approx(b.log_likelihood, abs=1e-6)


def test_the_limit_of_steps_is_said():
    objective, _, _ = two_weights()
    found = variational(objective, at_the_mode(objective), tol=1e-12, max_steps=1)
    assert not found.is_converged
    assert found.steps == 1


def test_k_activations_are_refused_by_name(rng):
    objective = posed(rng.normal(size=(30, 2)), rng.integers(3, size=30), likelihood=Softmax(3))
    with pytest.raises(
        ValueError, match=r"one activation per row, and Softmax\(n_outputs=3\) has 3; variational_softmax"
    ):
        variational(objective, at_the_mode(objective))
