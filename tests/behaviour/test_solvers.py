"""Newton's method, L-BFGS, gradient descent and the default solver: steps, limits, and problems once solved badly."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from posteriors import PROBLEMS, Problem, overlapping
from separatrix import LogisticRegression
from separatrix.likelihoods import Logit, Softmax
from separatrix.priors import Flat, Gaussian
from separatrix.rows import as_source
from separatrix.solvers import LBFGS, Auto, GradientDescent, Newton, Status, pose

SOLVERS = [Newton, LBFGS, GradientDescent, Auto]


def start_of(objective):
    return np.zeros(objective.shape)


def posed(X, t, prior=None, weight=None, fit_intercept=True):
    n_classes = int(t.max()) + 1
    likelihood = Logit() if n_classes == 2 else Softmax(n_classes)
    return pose(as_source(X, t, weight), likelihood, prior or Flat(), fit_intercept=fit_intercept)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_limit_of_steps_is_kept_and_reported(solver):
    objective = PROBLEMS["logit"].posterior()
    solution = solver(tol=1e-12, max_steps=2, trace=True).minimise(objective, start_of(objective))
    assert (solution.status, solution.steps, len(solution.trace)) == (Status.MAX_STEPS, 2, 3)
    assert not solution.is_converged
    assert "limit" in solution.status.value


@pytest.mark.parametrize("solver", SOLVERS)
def test_an_impossible_tolerance_ends_at_the_precision_of_the_objective(solver):
    objective = PROBLEMS["logit"].posterior()
    solution = solver(tol=0.0).minimise(objective, start_of(objective))
    assert solution.status in (Status.PRECISION, Status.GRADIENT)
    assert solution.steps < 1000
    assert objective.gradient_size(objective.value_grad(solution.value).grad) < 1e-7


# Newton's method


def test_a_newton_step_is_iterative_reweighted_least_squares():
    """PRML (4.99), (4.100): w = (Φ'RΦ)⁻¹ Φ'R z with z = Φw - R⁻¹(p - t)."""
    problem = PROBLEMS["logit_flat"]
    objective = problem.posterior()
    solution = Newton(trace=True).minimise(objective, start_of(objective))
    Phi = np.column_stack([problem.X - objective.design.origin, np.ones(len(problem.X))])
    for before, after in pairwise(solution.trace):
        w = before.theta[0]
        p = 1 / (1 + np.exp(-Phi @ w))
        R = p * (1 - p)
        z = Phi @ w - (p - problem.t) / R
        expected = np.linalg.solve(Phi.T @ (R[:, None] * Phi), Phi.T @ (R * z))
        np.testing.assert_allclose(after.theta[0], expected, rtol=1e-7, atol=1e-9)


def test_convergence_is_quadratic():
    objective = PROBLEMS["softmax"].posterior()
    sizes = np.array([s.gradient for s in Newton(tol=1e-12, trace=True).minimise(objective, start_of(objective)).trace])
    near = sizes[(sizes < 1e-1) & (sizes > 1e-12)]
    assert len(near) >= 3
    assert (near[1:] < 10 * near[:-1] ** 2 + 1e-15).all()
    assert len(sizes) < 10


def test_collinear_columns_without_a_prior_give_the_shortest_weights():
    X, t = overlapping()
    twice = np.column_stack([X, X[:, 0]])
    once, doubled = (Problem(rows, t).posterior() for rows in (X, twice))
    expected = Newton().minimise(once, start_of(once)).value[0]
    found = Newton().minimise(doubled, start_of(doubled)).value[0]
    np.testing.assert_allclose(found, [expected[0] / 2, *expected[1:4], expected[0] / 2, expected[4]], atol=1e-6)


def test_a_column_that_varies_only_by_rounding_does_not_slow_down_a_weak_prior(rng):
    y = np.arange(30) % 2
    X = np.column_stack([y + 1e-12 * rng.normal(size=30), 1e15 + rng.normal(size=(30, 5))])
    solution = LogisticRegression(alpha=1e-200).fit(X, y).solution_
    assert solution.is_converged
    assert solution.passes < 100


# Gradient descent


@pytest.mark.parametrize("name", ["logit", "logit_weights_offset", "softmax"])
def test_a_fixed_step_is_the_gradient_per_unit_of_weight(name):
    objective = PROBLEMS[name].posterior()
    trace = GradientDescent(step=0.3, max_steps=5, trace=True).minimise(objective, start_of(objective)).trace
    assert len(trace) == 6
    for before, after in pairwise(trace):
        grad = objective.value_grad(before.theta).grad
        np.testing.assert_allclose(after.theta, before.theta - 0.3 * grad / objective.units.total, rtol=1e-12)


def test_a_step_below_two_over_the_curvature_descends_and_arrives():
    objective = PROBLEMS["logit"].posterior()
    curvature = objective.value_grad_hess(start_of(objective)).hess / objective.units.total  # the largest of all θ
    step = 1.9 / np.linalg.eigvalsh(curvature)[-1]
    solution = GradientDescent(step=step, trace=True).minimise(objective, start_of(objective))
    assert solution.status is Status.GRADIENT
    assert solution.passes == solution.steps + 1
    assert (np.diff([s.value for s in solution.trace]) <= 1e-10).all()
    np.testing.assert_allclose(solution.value, Newton().minimise(objective, start_of(objective)).value, atol=1e-6)


@pytest.mark.parametrize("factor", [3.0, 1e3, 1e200])
@pytest.mark.parametrize("name", ["logit", "logit_flat", "softmax"])
def test_a_step_that_is_too_long_is_reported_and_the_lowest_point_returned(name, factor):
    objective = PROBLEMS[name].posterior()
    optimum = Newton().minimise(objective, start_of(objective)).value
    prior_curvature = objective.prior.diagonal.max() / objective.units.total
    # The curvature at the optimum is less than the largest one; beyond twice its inverse nothing can settle there.
    hess = objective.value_grad_hess(optimum).hess / objective.units.total
    step = factor * 2 / max(np.linalg.eigvalsh(hess)[-1], prior_curvature)
    solution = GradientDescent(step=step, max_steps=3000, trace=True).minimise(objective, start_of(objective))
    assert solution.status is Status.DIVERGED
    assert not solution.is_converged
    assert "shorter" in solution.status.value
    values = [s.value for s in solution.trace]
    assert np.isfinite(values).all()
    assert np.isfinite(solution.value).all()
    assert objective.value_grad(solution.value).value == min(values)
    assert solution.steps < 1000


# Problems that earlier versions solved badly


def size_at(objective, solution):
    return objective.gradient_size(objective.value_grad(solution.value).grad)


# Columns of all sizes


@pytest.mark.parametrize("scale", [pytest.param(1e18, marks=pytest.mark.slow), 1e-25, 1e30])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n", [1_500, 40_000], ids=["few", "many"])
def test_the_size_of_a_column_changes_nothing(scale, n_classes, n):
    """Single-precision Hessians overflow at 1e38, but fits must not fail."""
    M = 150 if n < 10_000 else 60
    X, t = overlapping(n, M, n_classes)
    plain = posed(X, t)
    expected = Auto(tol=1e-9).minimise(plain, np.zeros(plain.shape))
    units = np.ones(M)
    units[[0, 2]] = scale
    scaled = posed(X * units, t)
    found = Auto(tol=1e-9).minimise(scaled, np.zeros(scaled.shape))
    assert found.status is Status.GRADIENT
    assert found.steps <= expected.steps + 2
    np.testing.assert_allclose(found.value[:, :-1] * units, expected.value[:, :-1], atol=1e-6)


def mixed(seed):
    """A small table whose columns differ by up to 1e24 in size and lie up to 1e7 standard deviations from zero."""
    rng = np.random.default_rng(seed)
    K, M = int(rng.integers(2, 5)), int(rng.integers(2, 5))
    N = int(rng.integers(K + 1, 40))
    X = rng.normal(size=(N, M)) + (10.0 ** rng.integers(0, 5) if rng.random() < 0.5 else 0.0)
    return X * 10.0 ** rng.integers(-12, 12, size=M), np.append(np.arange(K), rng.integers(0, K, N - K))


@pytest.mark.parametrize("solver", [LBFGS(), Auto()], ids=["lbfgs", "auto"])
def test_columns_of_mixed_sizes_are_fitted(solver):
    for seed in range(60):
        objective = posed(*mixed(seed), prior=Gaussian())
        found = solver.minimise(objective, np.zeros(objective.shape))
        assert found.status in (Status.GRADIENT, Status.PRECISION), seed
        assert size_at(objective, found) < (1e-7 if found.status is Status.GRADIENT else 1e-6), seed


@pytest.mark.parametrize("n_live", [12, 100, 5_000])
def test_rows_of_weight_zero_have_no_effect(n_live):
    """The fit to half a million rows, most of weight zero, is the fit to the others."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500_000, 5))
    t = (X[:, 0] + rng.logistic(size=len(X)) > 0).astype(int)
    t[:2] = 0, 1
    weight = np.zeros(len(X))
    weight[:n_live] = 1.0
    model = LogisticRegression().fit(X, t, weight)
    few = LogisticRegression().fit(X[:n_live], t[:n_live])
    assert model.solution_.is_converged
    np.testing.assert_allclose(model.coef_, few.coef_, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, few.intercept_, atol=1e-6)


def test_no_sample_is_used_if_a_few_rows_have_most_of_the_weight():
    """Samples of one row in sixteen would miss these rows, so no sample is used."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200_000, 12))
    t = (X[:, 0] + rng.logistic(size=len(X)) > 0).astype(int)
    weight = np.ones(len(X))
    weight[5:9] = 1e9
    objective = posed(X, t, Gaussian(), weight)
    assert objective.sample is None
    assert objective.units.total == pytest.approx(weight.sum(), rel=1e-12)
    assert posed(X, t, Gaussian(), np.full(len(X), 3.0)).sample is not None
    found = Auto().minimise(objective, np.zeros(objective.shape))
    assert found.is_converged
    assert size_at(objective, found) < 1e-7


@pytest.mark.parametrize("offset", [1e6, 1e8])
def test_more_sparse_columns_than_rows_with_one_of_them_far_from_zero(offset):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(60, 90)), 3) * (rng.random((60, 90)) < 0.3)
    X[:, 0] = np.round(rng.normal(size=60), 3)
    t = (2 * X[:, 0] + rng.logistic(size=60) > 0).astype(int)
    near = LogisticRegression().fit(X, t)
    X[:, 0] += offset
    far = LogisticRegression().fit(sparse.csr_array(X), t)
    assert far.solution_.is_converged
    np.testing.assert_allclose(far.coef_, near.coef_, atol=1e-5)


class WrongInverse:
    """An inverse Hessian with the wrong sign, or without finite values."""

    def __init__(self, factor):
        self.factor = factor

    def solve(self, grad):
        return self.factor * grad


@pytest.mark.parametrize("factor", [-1.0, np.nan, np.inf])
def test_a_direction_that_does_not_descend_is_not_convergence(factor):
    objective = Problem(*overlapping()).posterior()
    with np.errstate(invalid="ignore", over="ignore"):
        found = LBFGS().minimise(objective, np.zeros(objective.shape), inverse=WrongInverse(factor))
    assert found.status is Status.STALLED
    np.testing.assert_array_equal(found.value, 0.0)
