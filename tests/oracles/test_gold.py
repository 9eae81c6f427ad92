"""The reference posteriors are precise, and agree with importance sampling, quadrature and independent formulas."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, special, stats

from oracles.gold import ALL_PROBLEMS, load, make
from separatrix.bayesian.sampling import pareto_smooth


@pytest.fixture(scope="module", params=ALL_PROBLEMS)
def gold(request):
    return load(request.param)


def test_the_chains_are_long_enough_and_agree_with_the_other_estimates(gold):
    stored = gold.diagnostics
    assert stored["rhat"] < 1.005
    assert stored["effective_size"] > 20_000
    assert np.all(np.concatenate([gold.means_mcse, gold.sds_mcse]) < 0.01 * np.tile(gold.sds, 2))
    assert np.all(gold.probabilities_mcse < (0.002 if gold.problem.scale == 5.0 else 0.001))  # p varies from 0 to 1
    assert gold.log_evidence_se < 0.01
    error = math.hypot(gold.log_evidence_se, stored["log_evidence_importance_se"])
    assert abs(gold.log_evidence - stored["log_evidence_importance"]) < 4 * error  # bridge against importance sampling
    for name, exact in (gold.quadrature or {}).items():
        error = gold.log_evidence_se if name == "log_evidence" else getattr(gold, f"{name}_mcse")
        assert np.all(np.abs(getattr(gold, name) - exact) < 4 * error), name


@pytest.mark.slow  # the stored values do not change
def test_importance_sampling_from_the_stored_moments_reproduces_the_summaries(gold, rng):
    """The proposal is a Student's t with the stored mean and covariance, and weights use the log joint density."""
    problem = gold.problem
    size = 3_000 if problem.n_classes > 4 else 8_000
    q = stats.multivariate_t(gold.means, gold.covariance, df=8)
    draws = q.rvs(size, random_state=rng).reshape(size, -1)
    smoothed = pareto_smooth(problem.log_joint(draws) - q.logpdf(draws))
    assert smoothed.k < 0.7
    weights = smoothed.weights

    def check(values, stored, stored_error):
        mean = np.tensordot(weights, values, axes=1)
        error = np.sqrt(np.tensordot(weights**2, (values - mean) ** 2, axes=1) + np.square(stored_error))
        assert np.all(np.abs(mean - stored) < 4.5 * error)

    check(draws, gold.means, gold.means_mcse)
    check((draws - gold.means) ** 2, gold.sds**2, 2 * gold.sds * gold.sds_mcse)
    check(draws[:, None] <= gold.quantiles, np.array([[0.025], [0.5], [0.975]]), 0.001)
    check(problem.probabilities(problem.X_test, draws), gold.probabilities, gold.probabilities_mcse)
    error = math.hypot(math.sqrt(1 / smoothed.effective_size - 1 / size), gold.log_evidence_se)
    assert abs(smoothed.log_mean - gold.log_evidence) < 4 * error


def test_adaptive_quadrature_over_one_weight():
    gold = load("one_weight")
    x, y = gold.problem.X[:, 0], gold.problem.y

    def joint(w):
        return math.exp(-0.5 * w * w) / math.sqrt(2 * math.pi) * np.prod(special.expit(np.where(y == 1, w * x, -w * x)))

    mass = integrate.quad(joint, -12, 12, epsabs=0, epsrel=1e-12, points=[0, 1, 2])[0]
    mean = integrate.quad(lambda w: w * joint(w), -12, 12, epsabs=0, epsrel=1e-11, points=[0, 1, 2])[0] / mass
    assert_allclose(gold.quadrature["log_evidence"], math.log(mass), atol=1e-6)
    assert_allclose(gold.quadrature["means"], [mean], atol=1e-7)
    assert abs(gold.log_evidence - math.log(mass)) < 4 * gold.log_evidence_se


def test_adaptive_quadrature_over_weight_and_bias():
    gold = load("weight_and_bias")
    x, y = gold.problem.X[:, 0], gold.problem.y

    def joint(w0, w):
        a = w * x + w0
        prior = math.exp(-0.5 * (w * w + w0 * w0 / 25)) / (2 * math.pi * 5)
        return prior * np.prod(special.expit(np.where(y == 1, a, -a)))

    mass = integrate.dblquad(joint, -4, 8, -10, 8, epsabs=0, epsrel=1e-7)[0]
    assert_allclose(gold.quadrature["log_evidence"], math.log(mass), atol=1e-6)
    assert abs(gold.log_evidence - math.log(mass)) < 4 * gold.log_evidence_se


@pytest.mark.parametrize("name", ["moderate", "probit", "label_noise", "three_classes", "ten_classes"])
def test_the_likelihood_is_the_product_of_the_probabilities_of_the_labels(name, rng):
    problem = make(name)
    draws = 0.3 * rng.normal(size=(5, problem.prior_sds.size))
    P = problem.probabilities(problem.X, draws)
    if P.ndim == 2:
        P = np.stack([1 - P, P], axis=-1)
    P = problem.noise + (1 - P.shape[-1] * problem.noise) * P
    expected = np.log(P[:, np.arange(len(problem.y)), problem.y]).sum(axis=1)
    assert_allclose(problem.log_likelihood(draws), expected, rtol=1e-12)
    prior = stats.norm.logpdf(draws, scale=problem.prior_sds).sum(axis=1)
    assert_allclose(problem.log_joint(draws), expected + prior, rtol=1e-12)
