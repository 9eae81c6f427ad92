from itertools import pairwise

import numpy as np
import pytest

from posteriors import PROBLEMS, Problem, overlapping
from separatrix.priors import Gaussian
from separatrix.solvers import factorise
from separatrix.solvers.newton import Newton
from separatrix.solvers.result import Status


def start_of(objective):
    return np.zeros(objective.shape)


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


def test_a_start_whose_full_step_overshoots_is_brought_back():
    """From where |a| is large the Newton step of a logistic model leaps over the optimum by far."""
    objective = PROBLEMS["logit_flat"].posterior()
    far = np.full(objective.shape, 5.0)
    solution = Newton(trace=True).minimise(objective, far)
    assert solution.status is Status.GRADIENT
    assert solution.passes > solution.steps + 1  # some steps were halved
    assert (np.diff([s.value for s in solution.trace]) <= 0).all()
    near = Newton().minimise(objective, start_of(objective)).value
    np.testing.assert_allclose(solution.value, near, atol=1e-7)


def test_collinear_columns_without_a_prior_give_the_shortest_weights():
    X, t = overlapping()
    twice = np.column_stack([X, X[:, 0]])
    once, doubled = (Problem(rows, t).posterior() for rows in (X, twice))
    expected = Newton().minimise(once, start_of(once)).value[0]
    found = Newton().minimise(doubled, start_of(doubled)).value[0]
    np.testing.assert_allclose(found, [expected[0] / 2, *expected[1:4], expected[0] / 2, expected[4]], atol=1e-6)


def test_a_constant_column_without_a_prior_has_no_weight():
    X, t = overlapping()
    objective = Problem(np.column_stack([X, np.full(len(X), 3.0)]), t).posterior()
    solution = Newton().minimise(objective, start_of(objective))
    assert solution.status is Status.GRADIENT
    assert solution.value[0, 4] == 0.0


def test_class_weights_without_a_prior_sum_to_zero():
    objective = PROBLEMS["softmax_flat"].posterior()
    solution = Newton().minimise(objective, start_of(objective))
    assert solution.status is Status.GRADIENT
    np.testing.assert_allclose(solution.value.sum(axis=0), 0.0, atol=1e-9)


def test_a_prior_alone_is_solved_in_one_step():
    """Rows of no information: two equal rows of different classes, and a Gaussian prior with a mean."""
    problem = Problem(np.zeros((2, 1)), np.array([0, 1]), Gaussian(scale=0.5, mean=2.0))
    objective = problem.posterior()
    solution = Newton().minimise(objective, start_of(objective))
    assert solution.steps == 1
    np.testing.assert_allclose(solution.value, [[2.0, 0.0]], atol=1e-12)


def test_the_limit_of_steps_is_kept_and_said():
    objective = PROBLEMS["logit"].posterior()
    solution = Newton(tol=1e-12, max_steps=2, trace=True).minimise(objective, start_of(objective))
    assert (solution.status, solution.steps, len(solution.trace)) == (Status.MAX_STEPS, 2, 3)
    assert not solution.is_converged


def test_an_impossible_tolerance_ends_at_the_precision_of_the_objective():
    objective = PROBLEMS["logit_flat"].posterior()
    solution = Newton(tol=0.0).minimise(objective, start_of(objective))
    assert solution.status in (Status.PRECISION, Status.GRADIENT)
    assert solution.steps < 20
    assert objective.gradient_size(objective.value_grad(solution.value).grad) < 1e-12


def test_a_factor_adds_curvature_only_along_the_bias_that_all_classes_share():
    objective = PROBLEMS["softmax"].posterior()
    hess = objective.value_grad_hess(start_of(objective)).hess
    factor = factorise(hess, objective.shape[0], objective.prior.free)
    g = np.random.default_rng(0).normal(size=objective.shape)
    hess = hess + _bias_curvature(objective, hess)
    np.testing.assert_allclose(hess @ factor.solve(g).ravel(), g.ravel(), atol=1e-8)


def _bias_curvature(objective, hess):
    """What `factorise` adds along the bias that all classes share, which nothing determines."""
    C, P = objective.shape
    typical = np.einsum("kpkp->p", hess.reshape(C, P, C, P))[-1] / C**2
    at = np.zeros(P)
    at[-1] = 1.0
    return typical * np.kron(np.ones((C, C)), np.outer(at, at))


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_a_factor_solves_where_the_gradient_can_be(n_outputs):
    objective = PROBLEMS["logit_flat" if n_outputs == 1 else "softmax_flat"].posterior()
    here = objective.value_grad_hess(np.zeros(objective.shape))
    factor = factorise(here.hess, n_outputs, objective.prior.free)
    assert factor.singular is None
    np.testing.assert_allclose(here.hess @ factor.solve(here.grad).ravel(), here.grad.ravel(), atol=1e-9)
