"""∂ ln p(D)/∂Λ against differences of the evidence, fitted anew at each prior."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from separatrix.bayesian.evidence.fitter import FitLaplace
from separatrix.bayesian.evidence.gradient import (
    effective_parameters,
    laplace_slope,
    log_det_slope,
    stationary_slope,
    well_determined,
)
from separatrix.bayesian.evidence.hyper import hyper
from separatrix.bayesian.posterior.approximation import Approximation, laplace
from separatrix.likelihoods import LabelNoise, Logit, Probit, Softmax, SoftmaxLabelNoise
from separatrix.priors import Gaussian
from separatrix.rows import as_source
from separatrix.solvers.factor import factorise
from separatrix.solvers.posterior import pose

CONFUSION = [[0.9, 0.05, 0.05], [0.1, 0.8, 0.1], [0.0, 0.1, 0.9]]
LIKELIHOODS = {
    "logit": Logit(),
    "probit": Probit(),
    "label_noise": LabelNoise(0.05, 0.1),
    "softmax": Softmax(3),
    "softmax_label_noise": SoftmaxLabelNoise(CONFUSION),
}
GROUPS = {"isotropic": None, "groups": ["a", "a", "b", "b"], "columns": "columns"}


def problem(likelihood, *, standardize=True, weight=False, prior=None, n=120):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 4)) * [1.0, 3.0, 0.2, 1.0] + [0.0, 2.0, 1.0, 0.0]
    a = (X - X.mean(axis=0)) @ [1.0, 0.3, -2.0, 0.0]
    if likelihood.n_outputs == 1:
        t = (rng.random(n) < 1 / (1 + np.exp(-a))).astype(np.intp)
    else:
        t = np.argmax(a[:, None] * [1, 0, -1] + rng.gumbel(size=(n, 3)), axis=1)
    weights = rng.integers(1, 4, size=n).astype(float) if weight else None
    prior = prior or Gaussian(0.7, mean=0.1, intercept_scale=3.0)
    return pose(as_source(X, t, weights), likelihood, prior, fit_intercept=True, standardize=standardize)


def differences(objective, over, eta, step=1e-4):
    fit = FitLaplace(1e-12)

    def value(at):
        return fit.fit(replace(objective, prior=over.prior(at)), None).log_evidence

    return np.array([(value(eta + e) - value(eta - e)) / (2 * step) for e in step * np.eye(len(eta))])


@pytest.mark.parametrize("groups", GROUPS.values(), ids=GROUPS)
@pytest.mark.parametrize("standardize", [True, False], ids=["standardized", "as_is"])
@pytest.mark.parametrize("likelihood", LIKELIHOODS.values(), ids=LIKELIHOODS)
def test_the_gradient_of_the_evidence_knows_how_the_mode_moves(likelihood, standardize, groups):
    objective = problem(likelihood, standardize=standardize, weight=True)
    over = hyper(objective, groups)
    eta = np.linspace(-0.4, 0.3, over.size)
    here = replace(objective, prior=over.prior(eta))
    slope = laplace_slope(here, FitLaplace(1e-12).fit(here, None))
    assert_allclose(over.gradient(eta, slope), differences(objective, over, eta), atol=1e-6)


def test_the_gradient_for_a_full_covariance(rng):
    root = rng.normal(size=(4, 4))
    objective = problem(Logit(), standardize=False, prior=Gaussian(covariance=root @ root.T, intercept_scale=2.0))
    over = hyper(objective)
    eta = np.array([0.3])
    here = replace(objective, prior=over.prior(eta))
    slope = laplace_slope(here, FitLaplace(1e-12).fit(here, None))
    assert_allclose(over.gradient(eta, slope), differences(objective, over, eta), atol=1e-6)


@pytest.mark.parametrize("likelihood", LIKELIHOODS.values(), ids=LIKELIHOODS)
def test_the_slope_of_the_log_determinant_against_differences(likelihood, rng):
    objective = problem(likelihood, weight=True)
    theta = 0.5 * rng.normal(size=objective.shape) / objective.column_units
    if not likelihood.is_log_concave:
        theta = FitLaplace().fit(objective, None).mean

    def log_det(at):
        return factorise(objective.value_grad_hess(at).hess, objective.shape[0], objective.prior.free).log_det

    root = laplace(objective, theta).factor.root
    block = objective.source._block(slice(0, objective.source.n_rows))
    v = log_det_slope(block, theta, root, likelihood, objective.design).grad
    step = 1e-5 / objective.column_units
    for c, p in np.ndindex(*theta.shape):
        e = np.zeros_like(theta)
        e[c, p] = step[p]
        assert_allclose(v[c, p] * step[p], (log_det(theta + e) - log_det(theta - e)) / 2, rtol=2e-5, atol=1e-9)


def test_chunks_of_rows_do_not_change_the_slope(monkeypatch):
    objective = problem(Softmax(3))
    found = FitLaplace().fit(objective, None)
    whole = laplace_slope(objective, found)
    monkeypatch.setattr("separatrix.bayesian.evidence.gradient.CHUNK", 500)
    assert_allclose(laplace_slope(objective, found), whole, rtol=1e-12)


def test_a_gaussian_likelihood_needs_no_movement(rng):
    """With a parabola for a log likelihood the evidence is known: its slope is the stationary one."""
    objective = problem(Logit())
    H = np.eye(5) + np.ones((5, 5))
    centre = rng.normal(size=5)

    def exact(prior):
        A = H + prior.matrix()
        m = np.linalg.solve(A, H @ centre + prior.matrix() @ prior.mean[0])
        d = m - prior.mean[0]
        energy = 0.5 * (m - centre) @ H @ (m - centre) + 0.5 * d @ prior.matrix() @ d
        value = -energy + 0.5 * prior.log_det() - 0.5 * np.linalg.slogdet(A)[1]
        return Approximation(m[None], factorise(A, 1, prior.free), 0.0, value, "exact")

    over = hyper(objective, "columns")
    eta = np.array([0.3, -0.2, 0.1, 0.4])
    here = replace(objective, prior=over.prior(eta))
    gradient = over.gradient(eta, stationary_slope(here, exact(here.prior)))
    step = 1e-5 * np.eye(4)
    change = [exact(over.prior(eta + e)).log_evidence - exact(over.prior(eta - e)).log_evidence for e in step]
    assert_allclose(gradient, np.array(change) / 2e-5, atol=1e-8)


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("likelihood", [Logit(), Softmax(3)], ids=["logit", "softmax"])
def test_effective_parameters_are_a_trace_and_an_eigenvalue_sum(likelihood, standardize):
    objective = problem(likelihood, standardize=standardize)
    found = FitLaplace().fit(objective, None)
    Lambda = objective.prior.matrix()
    A = found.factor.matrix
    gamma = effective_parameters(found, objective.prior)
    assert_allclose(gamma, len(A) - np.trace(np.linalg.solve(A, Lambda)), rtol=1e-9)
    root = np.linalg.cholesky(np.linalg.inv(Lambda))
    mu = np.linalg.eigvalsh(root.T @ (A - Lambda) @ root)
    assert_allclose(gamma, (mu / (1 + mu)).sum(), rtol=1e-9)  # PRML (3.91)
    assert 0 < gamma < len(A)


def test_what_the_data_determine_runs_from_nothing_to_everything():
    for scale, low, high in [(1e-6, 0.0, 1e-6), (1e6, 3.9, 4.0)]:
        objective = problem(Logit(), prior=Gaussian(scale, intercept_scale=1.0))
        found = FitLaplace().fit(objective, None)
        assert low <= well_determined(found, objective.prior)[:4].sum() <= high
