"""The variational bound is below the evidence, and is largest at the result."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, special, stats

from exact import LIKELIHOODS, at_the_mode, on_a_grid, posed, two_weights
from oracles.gold import CLASS_PROBLEMS, load
from separatrix.bayesian import variational as module
from separatrix.bayesian.predictive import class_probabilities
from separatrix.bayesian.uncoupled import laplace_by_class
from separatrix.bayesian.variational import (
    Bound,
    expected_derivatives,
    softmax_averages,
    variational,
    variational_by_class,
)
from separatrix.likelihoods import Logit, Softmax
from separatrix.priors import Gaussian, Penalty
from separatrix.rows import as_source
from separatrix.solvers import factorise, pose
from separatrix.stats import ValueGradHess


def nothing(block, mean, root):
    """Return E[ln p] = 0 and its derivatives, as for a likelihood without information."""
    return ValueGradHess(0.0, np.zeros_like(mean), np.zeros_like(root))


def scalar_bound(objective):
    """Return the bound for a likelihood of one activation."""
    average = partial(module.scalar_average, likelihood=objective.likelihood, design=objective.design)
    return Bound(objective, average)


def at(bound, mean, factor):
    """Return the bound and its derivatives at N(mean, A⁻¹)."""
    return bound.derivatives(mean, factor.root, factor.log_det)


def natural_step(bound, mean, factor, fraction):
    """Return the mean and precision after a fraction of a full step along the natural gradient."""
    here = at(bound, mean, factor)
    A = factorise((1 - fraction) * factor.matrix + fraction * here.hess, len(mean), bound.objective.prior.free)
    return mean + fraction * A.solve(here.grad), A


def promised(bound, mean, factor):
    """Return the rise of the bound per unit of the fraction of a step, |R'g|² + ½ |R'HR - I|²."""
    here, root = at(bound, mean, factor), factor.root
    change = root.T @ here.hess @ root - np.eye(len(root))
    return np.sum((root.T @ here.grad.ravel()) ** 2) + 0.5 * np.sum(change**2)


def random_precision(rng, size):
    root = rng.normal(size=(size, size + 3))
    return root @ root.T


@pytest.mark.parametrize("kind", ["diagonal", "one for every class", "all together"])
def test_without_rows_the_bound_is_minus_the_divergence_from_the_prior(kind, rng):
    """KL(N(m, S) || N(m0, Λ⁻¹)) is computed with full matrices."""
    objective = posed(rng.normal(size=(20, 2)), rng.integers(3, size=20), likelihood=Softmax(3))
    precision = {
        "diagonal": np.array([0.5, 2.0]),
        "one for every class": random_precision(rng, 2),
        "all together": random_precision(rng, 6),
    }[kind]
    prior = Penalty(rng.normal(size=(3, 2)), precision)
    object.__setattr__(objective, "prior", prior)
    mean, A = rng.normal(size=(3, 2)), random_precision(rng, 6)
    here = at(Bound(objective, nothing), mean, factorise(A, 3, prior.free))
    Lambda, away = prior.matrix(), (mean - prior.mean).ravel()
    divergence = 0.5 * (
        np.trace(Lambda @ np.linalg.inv(A))
        + away @ Lambda @ away
        - 6
        + np.linalg.slogdet(A)[1]
        - np.linalg.slogdet(Lambda)[1]
    )
    assert here.value == pytest.approx(-divergence, rel=1e-10)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_the_bound_is_below_the_evidence_and_near_it(name):
    objective, X, t = two_weights(name)
    found = variational(objective, at_the_mode(objective))
    exact = on_a_grid(objective, X, t, 2.0)
    assert found.is_converged
    assert exact.log_evidence - 0.15 < found.log_evidence < exact.log_evidence
    sd = np.sqrt(np.diag(exact.covariance))
    assert_allclose(found.mean[0], exact.mean, atol=0.05 * sd.max())
    assert (found.std[0] < sd).all()  # minimising KL(q || p) makes q too narrow


@pytest.mark.parametrize("name", LIKELIHOODS)
@pytest.mark.parametrize(("mu", "var"), [(0.5, 1.0), (3.0, 4.5), (-8.0, 30.0), (40.0, 100.0), (-3.0, 2500.0)])
@pytest.mark.parametrize("t", [0, 1])
def test_derivatives_are_averaged_at_every_width(name, mu, var, t):
    found = np.stack(expected_derivatives(LIKELIHOODS[name], np.array([mu]), np.array([var]), np.array([t])))[:, 0]
    a = np.linspace(mu - 10 * np.sqrt(var), mu + 10 * np.sqrt(var), 400_001)
    density = np.exp(-0.5 * (a - mu) ** 2 / var) / np.sqrt(2 * np.pi * var) * (a[1] - a[0])
    expected = np.stack(LIKELIHOODS[name].derivatives(a, np.full(len(a), t))) @ density
    assert_allclose(found, expected, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_no_gaussian_nearby_has_a_larger_bound(name):
    objective, _, _ = two_weights(name)
    found = variational(objective, at_the_mode(objective), tol=1e-10)

    def bound(x):
        """Return the bound for mean x[:2] and precision L L', where x[2:] is the lower triangle of L."""
        L = np.array([[np.exp(x[2]), 0.0], [x[3], np.exp(x[4])]])
        return at(scalar_bound(objective), x[None, :2], factorise(L @ L.T, 1, objective.prior.free)).value

    L = np.linalg.cholesky(found.factor.matrix)
    start = np.array([*found.mean[0], np.log(L[0, 0]), L[1, 0], np.log(L[1, 1])])
    best = optimize.minimize(lambda x: -bound(x), start + 0.05, method="BFGS", options={"gtol": 1e-7})
    assert found.log_evidence == pytest.approx(bound(start), abs=1e-10)
    assert found.log_evidence == pytest.approx(-best.fun, abs=1e-8)
    assert_allclose(best.x, start, atol=1e-3)


def skewed(rng, n=150, K=4, scale=5.0):
    """Return an objective of K classes in which a rare column is non-zero for one class only."""
    X = np.column_stack([rng.normal(size=(n, 2)), np.arange(n) < 5]).astype(float)
    t = (2 * X[:, :1] * np.arange(K) / K + rng.gumbel(size=(n, K))).argmax(axis=1)
    t[:5] = K - 1
    return posed(X, t, scale=scale, likelihood=Softmax(K), fit_intercept=True)


@pytest.mark.parametrize(("likelihood", "shift", "rtol"), [("logit", 0.3, 1e-3), ("softmax", 0.0, 0.01)])
def test_the_bound_rises_at_the_rate_of_the_natural_gradient(likelihood, shift, rtol, rng):
    """The bound rises by |R'g|² + ½ |R'HR - I|² per unit of the fraction of a step."""
    if likelihood == "softmax":
        objective = skewed(rng)
        average = partial(
            module.softmax_average, points=module.point_sets(3, 64), design=objective.design, order=np.arange(4)
        )
        bound = Bound(objective, average)
    else:
        objective, _, _ = two_weights()
        bound = scalar_bound(objective)
    mode = at_the_mode(objective)
    mean, factor, fraction = mode.mean + shift, mode.factor, 1e-5
    there = natural_step(bound, mean, factor, fraction)
    rise = at(bound, *there).value - at(bound, mean, factor).value
    assert rise / fraction == pytest.approx(promised(bound, mean, factor), rel=rtol)


def test_a_softmax_of_two_classes_equals_one_output_with_the_prior_of_their_difference(rng):
    """If w_k ~ N(0, s²), w_1 - w_0 ~ N(0, 2 s²). The likelihood does not depend on w_0 + w_1."""
    X = rng.normal(size=(60, 3))
    t = (X @ [2.0, -1.0, 0.5] + rng.logistic(size=60) > 0).astype(int)
    one = pose(as_source(X, t), Logit(), Gaussian(np.sqrt(8.0), intercept_scale=np.sqrt(18.0)), fit_intercept=True)
    two = pose(as_source(X, t), Softmax(2), Gaussian(2.0, intercept_scale=3.0), fit_intercept=True)
    expected = variational(one, at_the_mode(one))
    found = variational(two, at_the_mode(two), tol=1e-6, n_points=256)
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
    found = variational(objective, mode)
    assert found.is_converged
    assert found.name == "variational"
    assert gold.log_evidence - 0.2 < found.log_evidence < gold.log_evidence + 3 * gold.log_evidence_se
    means = np.column_stack(objective.design.in_user_units(found.mean)).ravel()
    assert np.abs((means - gold.means) / gold.sds).max() < 0.05

    def error(approximation):
        activations = approximation.activations(problem.X_test, objective.design)
        return np.abs(class_probabilities(objective.likelihood, activations, "exact") - gold.probabilities).mean()

    assert error(found) < 0.002 < error(mode)


@pytest.mark.parametrize("K", [2, 3, 6])
def test_averages_of_a_row_agree_with_many_draws(K, rng):
    mu, root = rng.normal(size=(1, K)), rng.normal(size=(K, K))
    against = root[:-1] - root[-1]
    L = np.linalg.cholesky(against @ against.T)[None]
    points = module.point_sets(K - 1, 1024)
    found = zip(*(softmax_averages(mu, L, z) for z in points), strict=True)
    log_sum, probability, curvature = (np.mean(part, axis=0)[0] for part in found)
    a = mu + rng.normal(size=(200_000, K)) @ root.T
    P = special.softmax(a, axis=1)
    second = np.diag(P.mean(axis=0)) - P.T @ P / len(P)
    assert log_sum == pytest.approx(special.logsumexp(a, axis=1).mean(), abs=0.03)
    assert_allclose(probability, P.mean(axis=0), atol=0.005)
    assert_allclose(L[0].T @ curvature @ L[0], L[0].T @ second[:-1, :-1] @ L[0], atol=0.01)


def test_the_ascent_from_a_poor_start_converges():
    """Only five rows determine the weight, and the bound of Laplace's Gaussian is eight nats too low."""
    x = np.append(np.ones(5), np.zeros(40))[:, None]
    objective = posed(x, np.append(np.ones(5, dtype=int), np.tile([0, 1], 20)), scale=30.0)
    bound, start = scalar_bound(objective), at_the_mode(objective)
    first = at(bound, start.mean, start.factor).value
    found = variational(objective, start, tol=1e-10)
    assert found.is_converged
    assert found.log_evidence > first + 8
    assert promised(bound, found.mean, found.factor) < 1e-8


@pytest.mark.parametrize(("n", "scale"), [(150, 5.0), (60, 1.0), (60, 20.0)])
def test_the_softmax_ascent_ends_where_the_natural_gradient_vanishes(n, scale, rng):
    """From the result, further natural-gradient steps move q by a fraction of a standard deviation."""
    objective = skewed(rng, n=n, scale=scale)
    mode = at_the_mode(objective)
    order = np.argsort(np.square(mode.mean / mode.std).sum(axis=1))
    points = module.point_sets(3, 256)
    average = partial(module.softmax_average, points=points, design=objective.design, order=order)
    bound = Bound(objective, average)
    found = variational(objective, mode, n_points=256)
    assert found.is_converged
    assert found.steps < 40
    factor = factorise(module._in_order(found.factor.matrix, order), 4, objective.prior.free)
    here = end = found.mean[order], factor
    assert promised(bound, *end) < 0.02
    for _ in range(10):
        here = natural_step(bound, *here, 0.5)
    assert at(bound, *here).value - at(bound, *end).value < 0.01


def test_the_evidence_of_a_softmax_is_the_bound_of_its_gaussian(rng):
    """The bound is an average over draws from q. With the points of the ascent it would be two nats too high."""
    X = rng.normal(size=(60, 14))
    t = (2 * X[:, :6] + rng.gumbel(size=(60, 6))).argmax(axis=1)
    objective = posed(X, t, scale=2.0, likelihood=Softmax(6), fit_intercept=True)
    q = variational(objective, at_the_mode(objective), n_points=64)
    draws = q.sample(4000, rng)
    A = draws @ objective.design.regressors(X).T  # (S, K, N)
    log_p = (A[:, t, np.arange(60)] - special.logsumexp(A, axis=1)).sum(axis=1)
    prior = stats.norm.logpdf(draws, scale=objective.prior.diagonal**-0.5).sum(axis=(1, 2))
    entropy = 0.5 * draws[0].size * np.log(2 * np.pi * np.e) - 0.5 * q.factor.log_det
    exact = log_p + prior
    assert abs(q.log_evidence - exact.mean() - entropy) < 4 * exact.std() / np.sqrt(4000) + 0.3  # 64 points


@pytest.mark.parametrize("name", ["three_classes", *CLASS_PROBLEMS])
def test_contrasts_without_coupling_predict_almost_as_well(name):
    """The bound is lower, because the family is smaller, and Laplace's errors are at least five times as large."""
    gold = load(name)
    problem = gold.problem
    prior = Gaussian(problem.scale, intercept_scale=problem.intercept_scale)
    objective = pose(as_source(problem.X, problem.y), Softmax(problem.n_classes), prior, fit_intercept=True)
    mode = at_the_mode(objective)
    full = variational(objective, mode)
    found = variational_by_class(objective, laplace_by_class(objective, mode.mean))

    def error(approximation):
        activations = approximation.activations(problem.X_test, objective.design)
        return np.abs(class_probabilities(objective.likelihood, activations, "exact") - gold.probabilities).mean()

    assert found.is_converged
    assert found.steps < 20
    assert full.log_evidence - 3 < found.log_evidence < full.log_evidence
    assert error(found) < 0.2 * error(mode)


def test_contrasts_of_two_classes_have_no_coupling(rng):
    """With two classes, the family of `variational_by_class` contains the full optimum."""
    X = rng.normal(size=(60, 3))
    t = (X @ [2.0, -1.0, 0.5] + rng.logistic(size=60) > 0).astype(int)
    objective = pose(as_source(X, t), Softmax(2), Gaussian(2.0, intercept_scale=3.0), fit_intercept=True)
    mode = at_the_mode(objective)
    full = variational(objective, mode, tol=1e-7, n_points=1024)
    found = variational_by_class(objective, laplace_by_class(objective, mode.mean), tol=1e-7)
    assert found.log_evidence == pytest.approx(full.log_evidence, abs=1e-3)
    assert_allclose(found.mean, full.mean, atol=1e-3)
    assert_allclose(found.covariance, full.covariance, atol=1e-3 * full.covariance.max())
