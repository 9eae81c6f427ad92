"""Importance sampling against sums over a grid, and proposals that are good, poor, and no use."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

import separatrix.bayesian.sampling.importance as module
from exact import LIKELIHOODS, at_the_mode, on_a_grid, posed, two_weights
from separatrix.bayesian.sampling.importance import Proposal, importance, weighted_draws
from separatrix.exceptions import DataError
from separatrix.likelihoods import Logit, Softmax
from separatrix.priors import Gaussian
from separatrix.rows import Counted, as_source
from separatrix.solvers import pose
from separatrix.solvers.factor import factorise


def factor_of(precision):
    return factorise(np.asarray(precision, dtype=float), 1, np.zeros(len(precision), dtype=bool))


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_moments_evidence_and_predictions_are_those_of_the_posterior(name, rng):
    objective, X, t = two_weights(name)
    found = importance(objective, at_the_mode(objective), n=4096)
    exact = on_a_grid(objective, X, t, 2.0)
    sd = np.sqrt(np.diag(exact.covariance))
    assert found.k < 0.7
    assert found.approximation.is_converged
    assert found.approximation.log_evidence == pytest.approx(exact.log_evidence, abs=0.01)
    assert_allclose(found.approximation.mean[0], exact.mean, atol=0.01 * sd.min())
    assert_allclose(found.approximation.std[0], sd, rtol=0.02)
    rows = rng.normal(size=(30, 2), scale=3)
    predicted = found.draws.probability(rows, objective.design, objective.likelihood)
    assert_allclose(predicted, exact.probability(rows, objective.likelihood), atol=0.003)


def test_a_poor_proposal_is_replaced_by_a_better_one():
    objective, X, t = two_weights()
    laplace = at_the_mode(objective)
    narrow = replace(laplace, mean=laplace.mean + 1.5 * laplace.std, factor=factor_of(9 * laplace.factor.matrix))
    once, often = (importance(objective, narrow, n=4096, max_rounds=rounds) for rounds in (1, 4))
    exact = on_a_grid(objective, X, t, 2.0)
    assert once.k > 0.7
    assert not once.approximation.is_converged
    assert often.k < 0.7
    assert often.effective_size > 10 * once.effective_size
    assert often.approximation.log_evidence == pytest.approx(exact.log_evidence, abs=0.02)


def test_a_good_proposal_costs_one_pass_for_its_draws():
    X, t = two_weights(n=400)[1:]
    counted = Counted(as_source(X, t))
    objective = pose(counted, Logit(), Gaussian(2.0), fit_intercept=False)
    laplace = at_the_mode(objective)
    before = counted.passes
    assert importance(objective, laplace, n=1024).k < 0.5
    assert counted.passes == before + 2  # the draws, and their mean


def test_two_classes_as_a_softmax_are_the_logistic_model(rng):
    """θ_1 - θ_0 ~ N(0, 2 scale²): the prior of the logistic model, if that has √2 of the scale."""
    X, t = rng.normal(size=(40, 2)), rng.integers(2, size=40)
    soft = posed(X, t, scale=1.0, likelihood=Softmax(2))
    hard = posed(X, t, scale=np.sqrt(2.0))
    a, b = (importance(objective, at_the_mode(objective), n=8192) for objective in (soft, hard))
    assert a.approximation.log_evidence == pytest.approx(b.approximation.log_evidence, abs=0.01)
    assert_allclose(a.approximation.mean[1] - a.approximation.mean[0], b.approximation.mean[0], atol=0.01)
    p = a.draws.probability(X, soft.design, soft.likelihood)
    assert_allclose(p[:, 1], b.draws.probability(X, hard.design, hard.likelihood), atol=0.005)


@pytest.mark.parametrize("degrees", [None, 15.0])
def test_the_density_of_a_proposal_is_the_one_it_draws_from(degrees, rng):
    mean, precision = np.array([[1.0, -2.0, 0.5]]), np.array([[3.0, 1.0, 0.0], [1.0, 2.0, 0.3], [0.0, 0.3, 1.0]])
    theta, log_q = Proposal(mean, factor_of(precision), degrees).draw(8192, rng)
    S = np.linalg.inv(precision)
    law = stats.multivariate_normal(mean[0], S) if degrees is None else stats.multivariate_t(mean[0], S, df=degrees)
    assert_allclose(log_q, law.logpdf(theta[:, 0]), rtol=1e-9, atol=1e-9)
    widened = S if degrees is None else S * degrees / (degrees - 2)
    assert_allclose(theta.mean(axis=0), mean, atol=1e-12)  # mirror images
    assert_allclose(np.cov(theta[:, 0].T), widened, atol=0.03 * np.sqrt(np.outer(np.diag(S), np.diag(S))).max())


def test_weights_are_all_equal_where_the_proposal_is_the_posterior():
    """Rows that say nothing (x = 0) leave the prior."""
    objective = posed(np.zeros((3, 2)), np.array([0, 1, 1]), scale=2.0)
    found = weighted_draws(
        objective, Proposal(np.zeros((1, 2)), factor_of(np.eye(2) / 4), None), 64, np.random.default_rng(0)
    )
    assert found.smoothed.k == -np.inf
    assert found.smoothed.log_mean == pytest.approx(3 * np.log(0.5), abs=1e-10)


def test_equal_seeds_give_equal_draws():
    objective, _, _ = two_weights()
    laplace = at_the_mode(objective)
    a, b, c = (importance(objective, laplace, n=256, rng=seed) for seed in (None, None, 5))
    assert (a.draws.theta == b.draws.theta).all()
    assert (a.draws.theta != c.draws.theta).any()


def test_weights_of_very_few_draws_still_leave_a_covariance(rng):
    X, t = rng.normal(size=(300, 12)), rng.integers(2, size=300)
    objective = posed(X, t)
    laplace = at_the_mode(objective)
    far = replace(laplace, mean=laplace.mean + 6 * laplace.std)
    found = importance(objective, far, n=64, max_rounds=1)
    assert found.effective_size < 12
    assert not found.approximation.is_converged
    assert np.isfinite(found.approximation.std).all()


def test_a_flat_prior_is_refused_with_a_remedy(rng):
    X, t = rng.normal(size=(60, 2)), rng.integers(2, size=60)
    objective = pose(as_source(X, t), Logit(), Gaussian(1.0), fit_intercept=True)
    with pytest.raises(DataError, match=r"flat along some weight.*intercept_scale=10"):
        importance(objective, at_the_mode(objective))


def test_what_would_take_for_ever_is_refused(monkeypatch):
    objective, _, _ = two_weights()
    monkeypatch.setattr(module, "EVALUATIONS", 1e4)
    with pytest.raises(DataError, match=r"importance\(n=4096\): 25 rows would take 1e\+05 evaluations"):
        importance(objective, at_the_mode(objective), n=4096)


def test_fewer_draws_than_four_for_each_weight_are_refused():
    objective, _, _ = two_weights()
    with pytest.raises(ValueError, match=r"importance\(n=7\): n must be an integer, at least 8"):
        importance(objective, at_the_mode(objective), n=7)
