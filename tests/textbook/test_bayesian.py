"""PRML §4.4.1 and §4.5: every equation is computed independently with NumPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, special, stats

import separatrix as sx
from separatrix.bayesian import laplace_approximation
from separatrix.exceptions import ApproximationWarning

SCALE, BIAS_SCALE = np.array([0.8, 1.5, 2.0]), 3.0


@pytest.fixture(scope="module")
def case():
    """Return Φ with a column of ones, t, S0, and the fitted model."""
    rng = np.random.default_rng(45)
    X = rng.normal(size=(70, 3)) + np.array([0.0, 2.0, -1.0])
    t = (X @ [1.0, -0.7, 0.4] + 1.5 + rng.logistic(size=70) > 0).astype(int)
    prior = sx.Gaussian(SCALE, intercept_scale=BIAS_SCALE)
    model = sx.BayesianLogisticRegression(prior, standardize=False, approximation="laplace").fit(X, t)
    return X, np.column_stack([X, np.ones(70)]), t, np.diag(np.append(SCALE, BIAS_SCALE) ** 2), model


def test_4_142_the_mean_is_the_maximum_of_the_posterior(case):
    _, Phi, t, S0, model = case
    w = model.posterior_.mean
    gradient = Phi.T @ (t - special.expit(Phi @ w)) - np.linalg.solve(S0, w)
    assert_allclose(gradient, 0.0, atol=1e-6)


def test_4_143_the_precision_is_the_sum_of_prior_precision_and_likelihood_hessian(case):
    _, Phi, _, S0, model = case
    y = special.expit(Phi @ model.posterior_.mean)
    S_N = np.linalg.inv(np.linalg.inv(S0) + (Phi.T * (y * (1 - y))) @ Phi)
    assert_allclose(model.posterior_.covariance, S_N, rtol=1e-6, atol=1e-10)
    assert_allclose(model.posterior_.std, np.sqrt(np.diag(S_N)), rtol=1e-6)


def test_4_149_and_4_150_the_activation_is_normal(case):
    X, Phi, _, _, model = case
    mean, variance = model.decision_distribution(X)
    assert_allclose(mean, Phi @ model.posterior_.mean, rtol=1e-9)
    assert_allclose(variance, np.einsum("np,pq,nq->n", Phi, model.posterior_.covariance, Phi), rtol=1e-9)
    assert_allclose(model.decision_function(X), mean, rtol=1e-9)


def test_4_151_the_predictive_integral(case):
    X, _, _, _, model = case
    for mu, var, p in zip(*model.decision_distribution(X[:8]), model.predict_proba(X[:8])[:, 1], strict=True):
        q = stats.norm(mu, np.sqrt(var))
        reach = (mu - 10 * np.sqrt(var), mu + 10 * np.sqrt(var))
        exact = integrate.quad(lambda a, q=q: special.expit(a) * q.pdf(a), *reach, epsabs=1e-12)[0]
        assert_allclose(p, exact, atol=1e-9)


def test_4_152_the_average_of_a_probit_is_a_probit(case):
    X, _, t, _, _ = case
    model = sx.BayesianLogisticRegression(sx.Gaussian(1.0), tune=None, likelihood="probit", approximation="laplace")
    a = model.fit(X, t).decision_distribution(X)
    average = [
        integrate.quad(lambda x, m=m, s=s: stats.norm.cdf(x) * stats.norm.pdf(x, m, s), m - 12 * s, m + 12 * s)[0]
        for m, s in zip(a.mean[:20], np.sqrt(a.variance[:20]), strict=True)
    ]
    closed = stats.norm.cdf(a.mean / np.sqrt(1 + a.variance))  # λ = 1
    assert_allclose(closed[:20], average, rtol=1e-7)  # the error of the quadrature is 1e-8
    assert_allclose(model.predict_proba(X)[:, 1], closed, rtol=1e-9)


def test_4_153_the_probit_rule(case):
    X, _, _, _, model = case
    mu, var = model.decision_distribution(X)
    P = model.set_params(predictive="probit").predict_proba(X)
    model.set_params(predictive="exact")
    kappa = (1 + np.pi * var / 8) ** -0.5
    assert_allclose(P[:, 1], special.expit(kappa * mu), rtol=1e-12)
    assert 0 < np.abs(P - model.predict_proba(X)).max() < 0.02


def test_4_137_the_evidence_and_its_two_parts(case):
    _, Phi, t, S0, model = case
    w, A = model.posterior_.mean, np.linalg.inv(model.posterior_.covariance)
    fit = special.log_expit((2 * t - 1) * (Phi @ w)).sum()
    occam = stats.multivariate_normal(cov=S0).logpdf(w) + 2 * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(A)[1]
    assert_allclose(model.log_likelihood_, fit, rtol=1e-10)
    assert_allclose(model.occam_factor_, occam, rtol=1e-6)
    assert_allclose(model.log_evidence_, fit + occam, rtol=1e-7)
    assert model.occam_factor_ < 0


def test_4_139_bic_and_1_73_aic(case):
    _, _, t, _, model = case
    assert_allclose(model.bic_, 4 * np.log(len(t)) - 2 * model.log_likelihood_, rtol=1e-12)
    assert_allclose(model.aic_, 2 * 4 - 2 * model.log_likelihood_, rtol=1e-12)


def test_3_91_effective_parameters(case):
    """γ is computed from eigenvalues of the Hessian of the likelihood, in units in which the prior is the identity."""
    _, Phi, _, S0, model = case
    y = special.expit(Phi @ model.posterior_.mean)
    half = np.sqrt(S0)
    values = np.linalg.eigvalsh(half @ (Phi.T * (y * (1 - y))) @ Phi @ half)
    assert_allclose(model.effective_parameters_, (values / (values + 1)).sum(), rtol=1e-6)
    assert 0 < model.effective_parameters_ < 4


def test_figure_4_14_the_mean_is_shifted_from_the_mode_towards_the_longer_tail():
    """p(z) ∝ exp(-z²/2) σ(20 z + 4) is the posterior of one row, most of whose mass lies above the mode."""
    z = np.linspace(-6, 8, 20_001)
    density = np.exp(-0.5 * z**2) * special.expit(20 * z + 4)
    density /= density.sum()
    mean = density @ z
    found = laplace_approximation(lambda z: -0.5 * z[0] ** 2 + special.log_expit(20 * z[0] + 4), np.array([0.5]))
    assert_allclose(found.mode, z[density.argmax()], atol=1e-3)
    assert mean - found.mode[0] > 0.3


def test_section_4_5_narrow_radial_functions_overfit_and_tuning_by_evidence_prevents_it():
    """With an RBF on every row and a far too wide prior, a tuned scale predicts held-out rows better."""
    rng = np.random.default_rng(1)

    def clouds(n):
        t = rng.integers(2, size=n)
        centres = np.array([[[0.0, 0.0], [2.0, 2.0]], [[1.0, -1.0], [-1.0, 2.0]]])
        return centres[t, rng.integers(2, size=n)] + 0.8 * rng.normal(size=(n, 2)), t

    (X, t), (X_new, t_new) = clouds(120), clouds(2000)

    def held_out(model):
        P = model.predict_proba(X_new)[np.arange(len(t_new)), t_new]
        return np.log(P).mean()

    basis = sx.basis.RBF(centres="data", width=0.4)
    wide = sx.Gaussian(30.0)
    best = sx.LogisticRegression(prior=wide, basis=basis).fit(X, t)
    model = sx.BayesianLogisticRegression(wide, standardize=False, basis=basis, approximation="laplace")
    with pytest.warns(ApproximationWarning, match="far from its Gaussian"):
        model.fit(X, t)
    average = held_out(model)
    assert held_out(best) < average
    tuned = sx.BayesianLogisticRegression(wide, standardize=False, basis=basis, tune="evidence").fit(X, t)
    assert average < held_out(tuned)
    assert held_out(tuned) > np.log(0.5)
    assert tuned.prior_.scale < 10
    assert tuned.log_evidence_ > model.log_evidence_
    assert tuned.effective_parameters_ < model.effective_parameters_
