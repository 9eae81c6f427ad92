from itertools import pairwise

import numpy as np
import pytest

from posteriors import PROBLEMS, Problem, overlapping
from separatrix.priors import Gaussian
from separatrix.solvers.gradient import GradientDescent, is_lower
from separatrix.solvers.newton import Newton
from separatrix.solvers.result import Status
from separatrix.stats.objective import ValueGrad


def start_of(objective):
    return np.zeros(objective.shape)


def largest_curvature(objective):
    """The largest eigenvalue of the Hessian per unit of weight, over all θ: at θ = 0, for a logistic model."""
    return np.linalg.eigvalsh(objective.value_grad_hess(start_of(objective)).hess)[-1] / objective.units.total


@pytest.mark.parametrize("name", ["logit", "logit_weights_offset", "softmax"])
def test_a_fixed_step_is_the_gradient_per_unit_of_weight(name):
    objective = PROBLEMS[name].posterior()
    trace = GradientDescent(step=0.3, max_steps=5, trace=True).minimise(objective, start_of(objective)).trace
    assert len(trace) == 6
    for before, after in pairwise(trace):
        grad = objective.value_grad(before.theta).grad
        np.testing.assert_allclose(after.theta, before.theta - 0.3 * grad / objective.units.total, rtol=1e-12)


def test_rows_twice_take_the_same_steps():
    X, t = overlapping()
    once, twice = (
        GradientDescent(step=0.5, max_steps=20).minimise(objective, start_of(objective)).value
        for objective in (Problem(X, t).posterior(), Problem(np.vstack([X, X]), np.append(t, t)).posterior())
    )
    np.testing.assert_allclose(once, twice, rtol=1e-10)


def test_a_step_below_two_over_the_curvature_descends_and_arrives():
    objective = PROBLEMS["logit"].posterior()
    step = 1.9 / largest_curvature(objective)
    solution = GradientDescent(step=step, trace=True).minimise(objective, start_of(objective))
    assert solution.status is Status.GRADIENT
    assert solution.passes == solution.steps + 1
    assert (np.diff([s.value for s in solution.trace]) <= 1e-10).all()
    np.testing.assert_allclose(solution.value, Newton().minimise(objective, start_of(objective)).value, atol=1e-6)


@pytest.mark.parametrize("factor", [3.0, 1e3, 1e200])
@pytest.mark.parametrize("name", ["logit", "logit_flat", "softmax"])
def test_a_step_too_long_is_said_and_the_lowest_point_returned(name, factor):
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


def test_the_line_search_never_rises_and_needs_few_passes():
    for name, problem in PROBLEMS.items():
        objective = problem.posterior()
        solution = GradientDescent(trace=True).minimise(objective, start_of(objective))
        values = np.array([s.value for s in solution.trace])
        assert solution.status is Status.GRADIENT, name
        assert (np.diff(values) <= 1e-12 * values[:-1]).all(), name
        assert solution.passes < 100, name


def test_the_line_search_does_not_know_units_and_a_fixed_step_does():
    X, t = overlapping()
    units = 2.0 ** np.array([-10, 0, 6, 12])
    plain, scaled = Problem(X, t).posterior(), Problem(X * units, t).posterior()
    found = [GradientDescent().minimise(objective, start_of(objective)) for objective in (plain, scaled)]
    assert found[0].passes == found[1].passes
    step = 1 / largest_curvature(plain)
    fixed = [
        GradientDescent(step=step, tol=1e-6).minimise(objective, start_of(objective)) for objective in (plain, scaled)
    ]
    assert fixed[0].status is Status.GRADIENT
    assert fixed[1].status is Status.DIVERGED


def test_correlated_columns_and_priors_of_different_scales_are_no_obstacle():
    X, t = overlapping(n=600, n_features=8)
    X = X + 3 * X[:, :1]
    objective = Problem(X, t, Gaussian(scale=np.logspace(-3, 1, 8))).posterior()
    solution = GradientDescent().minimise(objective, start_of(objective))
    assert solution.status is Status.GRADIENT
    expected = Newton().minimise(objective, start_of(objective)).value
    np.testing.assert_allclose(solution.value * objective.column_units, expected * objective.column_units, atol=1e-5)


def test_an_impossible_tolerance_ends_at_the_precision_of_the_objective():
    objective = PROBLEMS["logit"].posterior()
    solution = GradientDescent(tol=0.0).minimise(objective, start_of(objective))
    assert solution.status is Status.PRECISION
    assert solution.is_converged
    assert solution.steps < 1000
    assert objective.gradient_size(objective.value_grad(solution.value).grad) < 1e-12


def test_separable_rows_without_a_prior_lead_to_the_limit_of_steps():
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    objective = Problem(X, np.array([0, 0, 1, 1])).posterior()
    solution = GradientDescent(tol=0.0, max_steps=30).minimise(objective, start_of(objective))
    assert solution.status is not Status.GRADIENT
    assert objective.value_grad(solution.value).value < 1e-3


def test_the_gradient_decides_where_the_objective_cannot():
    D = np.ones((1, 2))
    here = ValueGrad(1.0, np.array([[1e-8, 0.0]]))
    assert is_lower(here, ValueGrad(1.0 + 1e-15, np.array([[1e-9, 0.0]])), D)
    assert not is_lower(here, ValueGrad(1.0 - 1e-15, np.array([[1e-7, 0.0]])), D)
    assert is_lower(here, ValueGrad(1.0 - 1e-9, np.array([[1e-7, 0.0]])), D)
    assert not is_lower(here, ValueGrad(1.0 + 1e-9, np.array([[1e-9, 0.0]])), D)
    assert not is_lower(here, ValueGrad(np.nan, np.array([[1e-9, 0.0]])), D)


@pytest.mark.parametrize(
    "options", [{"step": 0.0}, {"step": -1.0}, {"step": np.nan}, {"tol": -1.0}, {"max_steps": 1.5}]
)
def test_options_that_make_no_sense_are_named(options):
    (name,) = options
    with pytest.raises(ValueError, match=rf"GradientDescent\({name}="):
        GradientDescent(**options)
