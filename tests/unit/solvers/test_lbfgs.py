import numpy as np
import pytest

from posteriors import PROBLEMS, Problem, overlapping
from separatrix.priors import Gaussian
from separatrix.solvers import factorise
from separatrix.solvers.lbfgs import LBFGS
from separatrix.solvers.newton import Newton
from separatrix.solvers.precondition import diagonal
from separatrix.solvers.result import Status


def start_of(objective):
    return np.zeros(objective.shape)


def test_a_good_inverse_hessian_makes_the_steps_newtons():
    problem = PROBLEMS["softmax"]
    objective = problem.posterior()
    optimum = Newton(tol=1e-12).minimise(objective, start_of(objective)).value
    factor = factorise(objective.value_grad_hess(optimum).hess, objective.shape[0], objective.prior.free)
    blind, guided = (LBFGS().minimise(objective, start_of(objective), inverse=inverse) for inverse in (None, factor))
    assert guided.status is Status.GRADIENT
    assert guided.passes < blind.passes
    assert guided.passes <= 12
    np.testing.assert_allclose(guided.value, optimum, atol=1e-6)


def test_what_is_known_at_the_start_saves_a_pass():
    objective = PROBLEMS["logit"].posterior()
    start = start_of(objective)
    known = objective.value_grad(start)
    without, given = LBFGS().minimise(objective, start), LBFGS().minimise(objective, start, known=known)
    assert given.passes == without.passes - 1
    np.testing.assert_array_equal(given.value, without.value)


def test_the_scale_of_the_first_inverse_does_not_matter_for_the_result():
    objective = PROBLEMS["logit"].posterior()
    expected = Newton().minimise(objective, start_of(objective)).value
    curvature = diagonal(objective).curvature
    for factor in (1e-4, 1.0, 1e4):
        inverse = type(diagonal(objective))(curvature * factor)
        solution = LBFGS().minimise(objective, start_of(objective), inverse=inverse)
        assert solution.status is Status.GRADIENT
        np.testing.assert_allclose(solution.value, expected, atol=1e-6)


@pytest.mark.parametrize("memory", [1, 3, 20])
def test_memory_is_worth_passes(memory):
    X, t = overlapping(n=400, n_features=12)
    X = X + 5 * X[:, :1]  # correlated
    objective = Problem(X, t, Gaussian(scale=1.0)).posterior()
    solution = LBFGS(memory=memory).minimise(objective, start_of(objective))
    most = LBFGS(memory=100).minimise(objective, start_of(objective))
    assert solution.status is Status.GRADIENT
    assert solution.passes >= 0.8 * most.passes
    lowest = objective.value_grad(Newton().minimise(objective, start_of(objective)).value).value
    assert objective.value_grad(solution.value).value == pytest.approx(lowest, rel=1e-10)


def test_the_limit_of_steps_is_kept_and_said():
    objective = PROBLEMS["logit"].posterior()
    solution = LBFGS(max_steps=3, trace=True).minimise(objective, start_of(objective))
    assert (solution.status, solution.steps, len(solution.trace)) == (Status.MAX_STEPS, 3, 4)
    assert not solution.is_converged


def test_an_impossible_tolerance_ends_at_the_precision_of_the_objective():
    objective = PROBLEMS["logit"].posterior()
    solution = LBFGS(tol=0.0).minimise(objective, start_of(objective))
    assert solution.status in (Status.PRECISION, Status.GRADIENT)
    assert solution.steps < 200
    assert objective.gradient_size(objective.value_grad(solution.value).grad) < 1e-7
