"""The reference posteriors are consistent with two sampling methods, quadrature, and independent formulas."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, special, stats

import oracles.gold
from oracles.gold import FOLDER, PROBLEMS, load, make
from separatrix.bayesian.sampling import pareto_smooth

SMALL = ["one_weight", "weight_and_bias"]


@pytest.fixture(scope="module", params=PROBLEMS)
def gold(request):
    return load(request.param)


def test_the_chains_are_long_enough(gold):
    assert gold.diagnostics["rhat"] < 1.005
    assert gold.diagnostics["effective_size"] > 20_000
    assert np.all(gold.means_mcse < 0.01 * gold.sds)
    assert np.all(gold.sds_mcse < 0.01 * gold.sds)
    assert np.all(gold.probabilities_mcse < 0.001)
    assert gold.log_evidence_se < 0.01


def test_the_summaries_describe_one_distribution(gold):
    low, median, high = gold.quantiles
    assert np.all((low < median) & (median < high))
    assert np.all(np.abs(gold.means - median) < gold.sds)  # holds for every distribution
    assert np.linalg.eigvalsh(gold.correlation)[0] > 0
    assert np.all((gold.probabilities > 0) & (gold.probabilities < 1))
    if gold.problem.likelihood == "softmax":
        assert_allclose(gold.probabilities.sum(axis=1), 1.0, atol=1e-6)
    if gold.problem.likelihood != "label_noise":  # a log-concave likelihood can only narrow the prior (Brascamp & Lieb)
        assert np.all(gold.sds < gold.problem.prior_sds)


def test_importance_sampling_from_the_stored_moments_reproduces_the_summaries(gold, rng):
    """The proposal is a Student's t with the stored mean and covariance, and weights use the log joint density."""
    problem, size = gold.problem, 8_000
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


def test_bridge_and_importance_agree_on_the_evidence(gold):
    error = math.hypot(gold.log_evidence_se, gold.diagnostics["log_evidence_importance_se"])
    assert abs(gold.log_evidence - gold.diagnostics["log_evidence_importance"]) < 4 * error


@pytest.mark.parametrize("name", SMALL)
def test_chains_agree_with_quadrature(name):
    gold = load(name)
    exact = {key: np.array(value) for key, value in gold.quadrature.items()}
    assert np.all(np.abs(gold.means - exact["means"]) < 4 * gold.means_mcse)
    assert np.all(np.abs(gold.sds - exact["sds"]) < 4 * gold.sds_mcse)
    assert np.all(np.abs(gold.probabilities - exact["probabilities"]) < 4 * gold.probabilities_mcse)
    assert abs(gold.log_evidence - exact["log_evidence"]) < 4 * gold.log_evidence_se


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


@pytest.mark.parametrize("name", ["moderate", "probit", "label_noise", "three_classes"])
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


@pytest.mark.parametrize(
    ("name", "lowest_k", "highest_k", "lowest_gap", "highest_gap"),
    [
        ("well_identified", -1.0, 0.5, 0.0, 0.25),
        ("correlated", -1.0, 0.5, 0.0, 0.25),
        ("rare_dummy", 0.55, 1.0, 0.5, 1.0),
        ("many_dummies", 0.7, 1.2, 0.5, 1.0),
    ],
)
def test_some_problems_are_easy_for_laplace_and_some_are_not(name, lowest_k, highest_k, lowest_gap, highest_gap, rng):
    """Test k, the median of nine values, and the distance of the mode from the mean in standard deviations."""
    gold = load(name)
    mode, covariance = laplace(gold.problem)
    q = stats.multivariate_normal(mode, covariance)
    draws = q.rvs((9, 4_000), random_state=rng)
    k = np.median([pareto_smooth(gold.problem.log_joint(w) - q.logpdf(w)).k for w in draws])
    assert lowest_k < k < highest_k
    assert lowest_gap < (np.abs(mode - gold.means) / gold.sds).max() < highest_gap


def laplace(problem):
    """Return mode and inverse Hessian of a logistic posterior, by plain Newton steps."""
    Phi, precision = problem.design(problem.X), problem.prior_sds**-2.0
    mode = np.zeros(Phi.shape[1])
    for _ in range(30):
        p = special.expit(Phi @ mode)
        hess = (Phi.T * (p * (1 - p))) @ Phi + np.diag(precision)
        mode = mode + np.linalg.solve(hess, Phi.T @ (problem.y - p) - precision * mode)
    return mode, np.linalg.inv(hess)


def test_summaries_of_other_data_are_rejected(monkeypatch):
    generate, seed = PROBLEMS["moderate"]
    monkeypatch.setitem(oracles.gold.PROBLEMS, "moderate", (generate, seed + 1))
    with pytest.raises(AssertionError, match="moderate: the generator no longer gives the data"):
        load("moderate")


def test_every_file_has_a_problem_and_stays_small():
    files = {path.stem: path.stat().st_size for path in FOLDER.glob("*.json")}
    assert files.keys() == PROBLEMS.keys()
    assert max(files.values()) < 30_000
