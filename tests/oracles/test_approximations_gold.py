"""Approximations are compared with summaries of posteriors by long Markov chains (`gold`).

Expectation propagation and importance sampling are tested on all problems. The variational posterior underestimates the
standard deviations of the three most skewed posteriors (by 12 to 30 %). Its evidence is a lower bound (0.2 to 1.1 too
low on three problems). With 60 rows for 21 weights, the average error of its probabilities is 0.0022. Laplace's
approximation is tested only with a corrected mean, and strictly only if the estimated shift is below 0.5 sd.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from scipy import stats

from oracles.gold import PROBLEMS, Gold, load
from separatrix.bayesian.checks import skewness, third_order
from separatrix.bayesian.ep import expectation_propagation
from separatrix.bayesian.posterior import Approximation, laplace
from separatrix.bayesian.predictive import logit_normal, probit_normal, softmax_normal
from separatrix.bayesian.sampling import Proposal, importance, weighted_draws
from separatrix.bayesian.variational import variational
from separatrix.likelihoods import LabelNoise, Logit, Probit, Softmax
from separatrix.priors import Gaussian
from separatrix.rows import as_source
from separatrix.solvers import Auto, pose
from separatrix.solvers.posterior import Posterior

ONE_OUTPUT = [name for name in PROBLEMS if name != "three_classes"]
SKEWED = {"rare_dummy", "label_noise", "many_dummies"}


@dataclass(frozen=True, eq=False)
class Posed:
    gold: Gold
    objective: Posterior
    laplace: Approximation

    def to_user_units(self):
        """Return T, (P, P), which maps weights and the bias at the mean of the columns to the bias at x = 0."""
        T = np.eye(self.objective.shape[1])
        if self.objective.design.bias:
            T[-1, :-1] = -self.objective.design.origin
        return T

    def errors(self, approximation):
        """Return the largest error of a mean in sds, the largest relative error of an sd, and the error of ln p(D)."""
        T = np.kron(np.eye(len(approximation.mean)), self.to_user_units())
        sds = np.sqrt(((T @ approximation.root) ** 2).sum(axis=1))
        mean = np.abs((T @ approximation.mean.ravel() - self.gold.means) / self.gold.sds).max()
        log_evidence = approximation.log_evidence - self.gold.log_evidence
        return mean, np.abs(sds / self.gold.sds - 1).max(), log_evidence

    def probability_errors(self, approximation):
        """Return errors at the test rows, predicted by the approximation's Gaussian activations."""
        a = approximation.activations(self.gold.problem.X_test, self.objective.design)
        predict = {"probit": probit_normal, "softmax": softmax_normal}.get(self.gold.problem.likelihood, logit_normal)
        return np.abs(predict(a.mean, a.cov) - self.gold.probabilities)


@cache
def posed(name):
    gold = load(name)
    problem = gold.problem
    likelihood = {
        "logit": Logit(),
        "probit": Probit(),
        "label_noise": LabelNoise(problem.noise),
        "softmax": Softmax(problem.n_classes),
    }[problem.likelihood]
    prior = Gaussian(problem.scale, intercept_scale=problem.intercept_scale or np.inf)
    source = as_source(problem.X, problem.y)
    objective = pose(source, likelihood, prior, fit_intercept=problem.intercept_scale is not None)
    return Posed(gold, objective, laplace(objective, Auto().minimise(objective, np.zeros(objective.shape)).value))


@cache
def by_ep(name):
    return expectation_propagation(posed(name).objective, posed(name).laplace)


@cache
def by_importance(name):
    case = posed(name)
    return importance(case.objective, case.laplace if name == "three_classes" else by_ep(name))


@pytest.mark.parametrize("name", ONE_OUTPUT)
def test_expectation_propagation(name):
    case, found = posed(name), by_ep(name)
    mean, sd, log_evidence = case.errors(found)
    assert found.is_converged
    assert found.steps <= 15
    assert mean < 0.05
    assert sd < 0.05
    assert abs(log_evidence) < 0.05
    errors = case.probability_errors(found)
    assert errors.mean() < 0.002
    assert np.quantile(errors, 0.99) < 0.01


@pytest.mark.parametrize("name", ONE_OUTPUT)
def test_third_cumulants_reduce_the_errors_of_evidence_and_sds(name):
    case = posed(name)
    plain = expectation_propagation(case.objective, case.laplace, corrected=False)
    for before, after, noise in zip(case.errors(plain)[1:], case.errors(by_ep(name))[1:], (0.006, 0.005), strict=True):
        assert abs(after) < max(0.5 * abs(before), noise)


@pytest.mark.parametrize("name", ONE_OUTPUT)
def test_the_variational_posterior(name):
    case = posed(name)
    found = variational(case.objective, case.laplace)
    mean, sd, log_evidence = case.errors(found)
    assert found.is_converged
    assert mean < 0.05
    assert (0.05 < sd < 0.35) if name in SKEWED else (sd < 0.05)
    assert -1.2 < log_evidence < 3 * case.gold.log_evidence_se  # the evidence is a lower bound
    assert (log_evidence > -0.1) == (name not in {"few_rows", "rare_dummy", "many_dummies"})
    errors = case.probability_errors(found)
    assert errors.mean() < 0.0025
    assert np.quantile(errors, 0.99) < 0.01


@pytest.mark.parametrize("name", PROBLEMS)
def test_importance_sampling(name):
    case, found = posed(name), by_importance(name)
    assert found.k < 0.7
    mean, sd, log_evidence = case.errors(found.approximation)
    assert mean < 0.05
    assert sd < 0.05
    assert abs(log_evidence) < 0.02
    problem = case.gold.problem
    p = found.draws.probability(problem.X_test, case.objective.design, case.objective.likelihood)
    assert np.abs(p - case.gold.probabilities).max() < 0.01


@pytest.mark.parametrize("name", PROBLEMS)
def test_quantiles_of_the_weighted_draws(name):
    case, found = posed(name), by_importance(name)
    in_user_units = type(found.draws)(found.draws.theta @ case.to_user_units().T, found.draws.weights)
    levels = np.array([0.025, 0.5, 0.975])
    C, P = case.objective.shape
    quantiles = in_user_units.functions(np.eye(P), np.eye(C)).quantiles(levels).T.reshape(3, -1)
    # Four standard errors of a quantile of a normal, in its sds, for this many effective draws. At 2.5 % that is
    # 0.08 sd with 16 000 effective draws, and 0.18 sd with 3 500 (many_dummies).
    error = 4 * np.sqrt(levels * (1 - levels) / found.effective_size) / stats.norm.pdf(stats.norm.ppf(levels))
    assert (
        np.abs(quantiles - case.gold.quantiles) < error[:, None] * case.gold.sds + 4 * case.gold.quantiles_mcse
    ).all()


@pytest.mark.parametrize("name", PROBLEMS)
def test_skewness_estimates_the_distance_of_the_mode_from_the_mean(name):
    case = posed(name)
    found = skewness(case.objective, case.laplace)
    before = case.errors(case.laplace)[0]
    if found.largest < 0.5:
        assert found.largest == pytest.approx(before, rel=0.25)
    else:
        assert before > 0.5  # large, but smaller than the first-order estimate


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_corrected_mean(name):
    case = posed(name)
    found = skewness(case.objective, case.laplace)
    after = case.errors(third_order(case.objective, case.laplace, found))[0]
    assert after < (0.025 if found.largest < 0.5 else 0.5 * case.errors(case.laplace)[0])


def test_pareto_k_is_poor_if_the_mean_of_laplace_is_far_off():
    k = {}
    for name in PROBLEMS:
        objective, q = posed(name).objective, posed(name).laplace
        proposal = Proposal(q.mean, q.factor, None)
        draws = [weighted_draws(objective, proposal, 4096, np.random.default_rng(seed)) for seed in range(5)]
        k[name] = np.mean([each.smoothed.k for each in draws])
    far = {name for name in PROBLEMS if posed(name).errors(posed(name).laplace)[0] > 0.5}
    assert min(k[name] for name in far) > 0.5
    assert max(k[name] for name in k.keys() - far) < 0.5
