"""A Gaussian over weights against the matrices it stands for."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from posteriors import PROBLEMS
from separatrix.bayesian.posterior.approximation import Activations, laplace, row_squares
from separatrix.exceptions import DataError
from separatrix.solvers import Auto
from separatrix.solvers.factor import factorise

PROPER = ["logit", "logit_mean", "logit_covariance", "logit_weights_offset", "logit_no_intercept", "softmax"]


def fitted(name):
    objective = PROBLEMS[name].posterior()
    if objective.prior.free.any():  # a bias of its own scale
        precision = objective.prior.precision.copy()
        precision[(-1,) * precision.ndim] = 0.1
        objective = replace(objective, prior=replace(objective.prior, precision=precision))
    mode = Auto().minimise(objective, np.zeros(objective.shape)).value
    return objective, laplace(objective, mode, steps=3)


@pytest.mark.parametrize("name", PROPER)
def test_laplace_is_the_mode_and_the_inverse_hessian(name):
    objective, q = fitted(name)
    here = objective.value_grad_hess(q.mean)
    assert_allclose(here.grad, 0.0, atol=1e-5)
    assert_allclose(q.covariance, np.linalg.inv(here.hess), rtol=1e-6, atol=1e-9)
    assert_allclose(q.std.ravel(), np.sqrt(np.diag(np.linalg.inv(here.hess))), rtol=1e-6)
    assert (q.name, q.structure, q.steps, q.is_converged) == ("laplace", "full", 3, True)


@pytest.mark.parametrize("name", PROPER)
def test_evidence_is_the_height_times_the_volume(name):
    """ln p(D) = ln p(D | θ) + ln N(θ | m0, Λ⁻¹) + ½ CP ln 2π - ½ ln |A|, from dense matrices."""
    objective, q = fitted(name)
    prior, D = objective.prior, q.mean.size
    Lambda = prior.matrix()
    away = (q.mean - prior.mean).ravel()
    log_prior = 0.5 * np.linalg.slogdet(Lambda)[1] - 0.5 * D * np.log(2 * np.pi) - 0.5 * away @ Lambda @ away
    hess = objective.value_grad_hess(q.mean).hess
    volume = 0.5 * D * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(hess)[1]
    assert_allclose(q.log_evidence, q.log_likelihood + log_prior + volume, rtol=1e-9)
    assert_allclose(q.log_likelihood, prior.value_grad(q.mean)[0] - objective.value_grad(q.mean).value, rtol=1e-12)


@pytest.mark.parametrize("name", PROPER)
def test_activations_of_rows(name):
    objective, q = fitted(name)
    X = PROBLEMS[name].X[:7]
    Phi = objective.design.regressors(X)
    C = len(q.mean)
    a = q.activations(X, objective.design)
    wide = np.stack([np.kron(np.eye(C), phi) for phi in Phi])  # (n, C, CP)
    cov = wide @ q.covariance @ wide.transpose(0, 2, 1)
    assert_allclose(a.mean.reshape(7, C), Phi @ q.mean.T, rtol=1e-12)
    assert_allclose(a.cov.reshape(7, C, C), cov, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["logit", "softmax"])
def test_draws_have_the_mean_and_the_covariance(name, rng):
    _, q = fitted(name)
    draws = q.sample(60_000, rng).reshape(60_000, -1)
    sd = q.std.ravel()
    assert_allclose((draws.mean(axis=0) - q.mean.ravel()) / sd, 0.0, atol=0.02)
    assert_allclose(np.cov(draws, rowvar=False) / np.outer(sd, sd), q.covariance / np.outer(sd, sd), atol=0.03)


def test_better_moments_are_reported_and_do_not_predict():
    """A skewed posterior is wider than the Gaussian that predicts best."""
    objective, q = fitted("logit")
    P = q.mean.size
    wider = replace(q, moments=factorise(q.factor.matrix / 4, 1, np.zeros(P, dtype=bool)))
    assert_allclose(wider.std, 2 * q.std, rtol=1e-10)
    assert_allclose(wider.covariance, 4 * q.covariance, rtol=1e-8)
    X = PROBLEMS["logit"].X[:5]
    assert_allclose(wider.activations(X, objective.design).cov, q.activations(X, objective.design).cov)


def test_a_flat_direction_is_named():
    problem = replace(PROBLEMS["logit_flat"], X=np.column_stack([PROBLEMS["logit_flat"].X, np.full(240, 3.0)]))
    objective = problem.posterior()
    mode = np.zeros(objective.shape)
    with pytest.raises(DataError, match="posterior has no end along some direction: 'x4'"):
        laplace(objective, mode)


@pytest.mark.parametrize("C", [1, 3])
def test_rows_without_an_activation_are_known(C, rng):
    mean = rng.normal(size=(5,) if C == 1 else (5, C))
    mean[1 if C == 1 else (1, 2)] = np.nan
    mean[3 if C == 1 else (3, 0)] = np.inf
    a = Activations(mean, np.ones((5,) if C == 1 else (5, C, C)))
    assert a.is_finite.tolist() == [True, False, True, False, True]
    assert np.isfinite(a.take(a.is_finite).mean).all()
    assert len(a.take(a.is_finite).cov) == 3


def test_row_squares(rng):
    Z = rng.normal(size=(6, 4))
    assert_allclose(row_squares(Z), (Z**2).sum(axis=1))
