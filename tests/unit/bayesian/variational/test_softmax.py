"""The variational posterior of a softmax against that of one output, long Markov chains, and its own gradient."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse, special
from sklearn.metrics import log_loss

import separatrix.bayesian.variational.softmax as module
from exact import at_the_mode, posed
from oracles.gold import load
from separatrix.bayesian.predictive.integral import class_probabilities
from separatrix.bayesian.variational.ascent import Bound
from separatrix.bayesian.variational.softmax import estimated_seconds, variational_softmax
from separatrix.bayesian.variational.two_classes import variational
from separatrix.exceptions import DataError
from separatrix.likelihoods import Logit, Softmax
from separatrix.priors import Flat, Gaussian
from separatrix.rows import as_source
from separatrix.solvers import pose

VEHICLE = Path(__file__).parents[4].parent / "shared" / "data" / "mlbench_vehicle" / "vehicle.parquet"


def skewed(rng, n=150, K=4, scale=5.0):
    """Classes with a rare column that only one of them has."""
    X = np.column_stack([rng.normal(size=(n, 2)), np.arange(n) < 5]).astype(float)
    t = (2 * X[:, :1] * np.arange(K) / K + rng.gumbel(size=(n, K))).argmax(axis=1)
    t[:5] = K - 1
    return posed(X, t, scale=scale, likelihood=Softmax(K), fit_intercept=True)


def test_two_classes_are_one_output_under_the_prior_of_a_difference(rng):
    """w_1 - w_0 of two weights N(0, s²) is N(0, 2 s²), and their sum learns nothing."""
    X = rng.normal(size=(60, 3))
    t = (X @ [2.0, -1.0, 0.5] + rng.logistic(size=60) > 0).astype(int)
    one = pose(as_source(X, t), Logit(), Gaussian(np.sqrt(8.0), intercept_scale=np.sqrt(18.0)), fit_intercept=True)
    two = pose(as_source(X, t), Softmax(2), Gaussian(2.0, intercept_scale=3.0), fit_intercept=True)
    expected = variational(one, at_the_mode(one))
    found = variational_softmax(two, at_the_mode(two), tol=1e-6, n_points=256)
    assert found.is_converged
    assert found.log_evidence == pytest.approx(expected.log_evidence, abs=0.01)
    assert_allclose(found.mean[1] - found.mean[0], expected.mean[0], atol=0.02 * expected.std.max())
    contrast = np.kron([[-1.0, 1.0]], np.eye(4))
    assert_allclose(np.sqrt(np.diag(contrast @ found.covariance @ contrast.T)), expected.std[0], rtol=0.02)


def test_three_classes_of_the_gold_standard():
    gold = load("three_classes")
    problem = gold.problem
    prior = Gaussian(problem.scale, intercept_scale=problem.intercept_scale)
    objective = pose(as_source(problem.X, problem.y), Softmax(3), prior, fit_intercept=True)
    mode = at_the_mode(objective)
    found = variational_softmax(objective, mode)
    assert found.is_converged
    assert found.name == "variational"
    assert gold.log_evidence - 0.2 < found.log_evidence < gold.log_evidence + 3 * gold.log_evidence_se
    means = np.column_stack(objective.design.in_user_units(found.mean)).ravel()
    assert np.abs((means - gold.means) / gold.sds).max() < 0.05

    def error(approximation):
        activations = approximation.activations(problem.X_test, objective.design)
        return np.abs(class_probabilities(objective.likelihood, activations, "exact") - gold.probabilities).mean()

    assert error(found) < 0.002 < error(mode)


def test_derivatives_are_those_of_the_averages(rng):
    """The bound rises as fast as they say, in the mean and in the covariance, with the points held fixed."""
    objective = skewed(rng)
    mode, points = at_the_mode(objective), module._points(3, 64)
    bound = Bound(objective, partial(module._averages, points=points, design=objective.design), 1e-6)
    here = bound.at(mode.mean, mode.factor)
    there, share = bound.ascend(here, 1e-5)
    root = here.factor.root
    change = root.T @ here.hess @ root - np.eye(len(root))
    rate = np.sum((root.T @ here.grad.ravel()) ** 2) + 0.5 * np.sum(change**2)
    assert (there.bound - here.bound) / share == pytest.approx(rate, rel=0.01)


@pytest.mark.parametrize("K", [2, 3, 6])
def test_averages_of_a_row_are_those_of_many_draws(K, rng):
    mu, root = rng.normal(size=(1, K)), rng.normal(size=(K, K))
    against = root[:-1] - root[-1]
    L = np.linalg.cholesky(against @ against.T)[None]
    points = module._points(K - 1, 1024)
    found = [module._moderated(mu, L, z) for z in points]
    a = mu + rng.normal(size=(200_000, K)) @ root.T
    P = special.softmax(a, axis=1)
    second = np.diag(P.mean(axis=0)) - P.T @ P / len(P)
    assert np.mean([f.log_sum for f in found]) == pytest.approx(special.logsumexp(a, axis=1).mean(), abs=0.03)
    assert_allclose(np.mean([f.P[0] for f in found], axis=0), P.mean(axis=0), atol=0.005)
    curvature = np.mean([f.curvature[0] for f in found], axis=0)
    assert_allclose(L[0].T @ curvature @ L[0], L[0].T @ second[:-1, :-1] @ L[0], atol=0.01)


@pytest.mark.parametrize(("dimension", "n"), [(1, 2), (3, 64), (30, 64)])
def test_points_are_balanced(dimension, n):
    points = module._points(dimension, n)
    assert points.shape[1] >= n
    assert_allclose(points.mean(axis=1), 0.0, atol=1e-12)
    for z in points:
        assert_allclose(z.T @ z / len(z), np.eye(dimension), atol=1e-10)


def test_the_bound_never_falls(monkeypatch, rng):
    ascend, seen = Bound.ascend, []

    def recorded(self, here, share):
        moved = ascend(self, here, share)
        seen.append((here.bound, moved[0].bound, moved[1]))
        return moved

    monkeypatch.setattr(Bound, "ascend", recorded)
    assert variational_softmax(skewed(rng), at_the_mode(skewed(rng))).is_converged
    assert len(seen) > 2
    assert all(after >= before - 1e-10 * abs(before) for before, after, _ in seen)
    assert min(share for *_, share in seen) < 1.0, "whole steps would have done: this is no test of the safeguard"


def test_neither_blocks_nor_the_order_of_rows_matter_and_a_row_of_weight_k_is_k_rows(rng):
    X, t, weight = rng.normal(size=(40, 2)), rng.integers(3, size=40), rng.integers(0, 4, size=40)
    each = rng.permutation(np.repeat(np.arange(40), weight))
    weighted = posed(X, t, likelihood=Softmax(3), weight=weight.astype(float), fit_intercept=True)
    repeated = posed(X[each], t[each], likelihood=Softmax(3), fit_intercept=True, rows=7)
    a, b = (variational_softmax(objective, at_the_mode(objective)) for objective in (weighted, repeated))
    assert a.log_evidence == pytest.approx(b.log_evidence, abs=1e-8)
    assert_allclose(a.mean, b.mean, atol=1e-8)


def test_sets_of_points_take_turns(rng):
    """Evenly, whether rows are numbers or zeros and ones; and dense or sparse."""
    for X in (rng.normal(size=(4000, 3)), rng.integers(2, size=(4000, 15)).astype(float)):
        counts = np.bincount(module._turns(X, 16).astype(int), minlength=16)
        assert counts.min() > 150
        assert counts.max() < 350
        assert (module._turns(sparse.csr_array(X), 16) == module._turns(X, 16)).all()


def test_weights_multiply_and_soft_targets_mix(rng):
    """A row of weight 3, one of weight 1 and a soft target (¾, ¼) of weight 4 say the same, at equal points."""
    X, mean = rng.normal(size=(1, 2)), rng.normal(size=(3, 2))
    root = np.linalg.cholesky(np.eye(6) + 0.3).T
    soft = posed(X, np.array([[0.75, 0.0, 0.25]]), likelihood=Softmax(3), weight=np.array([4.0]))
    points = module._points(2, 64)

    def at(objective):
        average = partial(module._averages, mean=mean, root=root, points=points, design=objective.design)
        return objective.source.reduce(average)

    first, last = (
        posed(X, np.array([k]), likelihood=Softmax(3), weight=np.array([w])) for k, w in ((0, 3.0), (2, 1.0))
    )
    parts, whole = at(first) + at(last), at(soft)
    assert whole.value == pytest.approx(parts.value, rel=1e-12)
    assert_allclose(whole.grad, parts.grad, atol=1e-12)
    assert_allclose(whole.hess, parts.hess, atol=1e-12)


def test_a_row_of_zeros_is_no_trouble(rng):
    X, t = rng.normal(size=(30, 2)), rng.integers(3, size=30)
    X[7] = 0.0
    objective = posed(X, t, likelihood=Softmax(3))
    assert variational_softmax(objective, at_the_mode(objective)).is_converged


def test_the_limit_of_steps_is_said(rng):
    objective = skewed(rng)
    found = variational_softmax(objective, at_the_mode(objective), tol=1e-12, max_steps=1)
    assert not found.is_converged
    assert found.steps == 1


def test_a_start_that_cannot_be_left_is_not_converged(monkeypatch, rng):
    objective = skewed(rng)
    monkeypatch.setattr(Bound, "ascend", lambda *arguments: None)
    assert not variational_softmax(objective, at_the_mode(objective)).is_converged


def test_a_flat_prior_and_other_likelihoods_are_refused(rng):
    objective = posed(rng.normal(size=(30, 2)), rng.integers(2, size=30))
    with pytest.raises(ValueError, match="is for Softmax, not Logit"):
        variational_softmax(objective, at_the_mode(objective))
    proper = skewed(rng)
    flat = pose(proper.source, proper.likelihood, Flat(), fit_intercept=True)
    with pytest.raises(DataError, match="the prior is flat along some weight"):
        variational_softmax(flat, at_the_mode(proper))


def test_the_estimate_of_time_grows_as_the_work_does(rng):
    small, large = skewed(rng, n=100), skewed(rng, n=1000)
    assert 5 < estimated_seconds(large) / estimated_seconds(small) < 10
    assert estimated_seconds(large) < 2.0


@pytest.mark.data
@pytest.mark.skipif(not VEHICLE.exists(), reason="the data sets are kept beside the project, and are not here")
@pytest.mark.parametrize("scale", [1.0, 5.0])
def test_vehicles_are_predicted_better_than_by_laplace(scale):
    import pandas as pd

    frame = pd.read_parquet(VEHICLE)
    X = frame.drop(columns="Class").to_numpy(float)
    t = np.unique(frame["Class"], return_inverse=True)[1]
    order = np.random.default_rng(0).permutation(len(t))
    train, test = order[:564], order[564:]
    prior = Gaussian(scale, intercept_scale=10.0)
    objective = pose(as_source(X[train], t[train]), Softmax(4), prior, fit_intercept=True, standardize=True)
    mode = at_the_mode(objective)
    found = variational_softmax(objective, mode)
    assert found.is_converged

    def loss(approximation):
        activations = approximation.activations(X[test], objective.design)
        return log_loss(t[test], class_probabilities(objective.likelihood, activations, "exact"))

    assert loss(found) < loss(mode)
