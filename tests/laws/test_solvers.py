"""Every solver on every problem: the optimum is that of SciPy, the objective never rises, passes are counted."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from posteriors import PROBLEMS, Problem, identified, overlapping
from separatrix.solvers import LBFGS, GradientDescent, Newton, Status, StochasticGradient

SOLVERS = {"newton": Newton, "lbfgs": LBFGS, "gradient": GradientDescent, "stochastic": StochasticGradient}
STORES = {"dense": np.asarray, "csr": sparse.csr_array}

every_problem = pytest.mark.parametrize("name", PROBLEMS)
every_solver = pytest.mark.parametrize("solver", SOLVERS)


@cache
def oracle(name):
    return PROBLEMS[name].oracle()


def optimum(problem, solver, store=np.asarray, **options):
    objective = problem.posterior(store)
    solution = SOLVERS[solver](tol=1e-9, **options).minimise(objective, np.zeros(objective.shape))
    return objective, solution


@every_problem
@every_solver
@pytest.mark.parametrize("store", STORES)
def test_the_optimum_is_the_one_that_scipy_finds(name, solver, store):
    problem = PROBLEMS[name]
    objective, solution = optimum(problem, solver, STORES[store])
    W, w0 = identified(objective.design.in_user_units(solution.value), problem)
    W_oracle, w0_oracle = oracle(name)
    spread = problem.X.std(axis=0)
    np.testing.assert_allclose(W * spread, W_oracle * spread, atol=1e-6)
    shift = problem.X.mean(axis=0)  # compare the bias at the mean, because errors of all weights add at zero
    if problem.fit_intercept:
        np.testing.assert_allclose(w0[:, 0] + W @ shift, w0_oracle[:, 0] + W_oracle @ shift, atol=1e-6)


@every_problem
@every_solver
def test_the_objective_never_rises_along_the_trace_and_the_solution_reports_status_and_passes(name, solver):
    objective, solution = optimum(PROBLEMS[name], solver, trace=True)
    assert solution.status in (Status.GRADIENT, Status.PRECISION)
    assert solution.is_converged
    assert solution.passes == objective.source.passes
    assert len(solution.trace) == solution.steps + 1 > 3
    values = np.array([step.value for step in solution.trace])
    assert (np.diff(values) <= 1e-12 * np.abs(values[:-1])).all()
    assert values[-1] < values[0]
    last = solution.trace[-1]
    here = objective.value_grad(solution.value)
    np.testing.assert_array_equal(last.theta, solution.value)
    assert last.value == here.value
    assert last.gradient == objective.gradient_size(here.grad) < 1e-7


@every_solver
def test_a_start_at_the_optimum_is_returned(solver):
    objective = PROBLEMS["logit"].posterior()
    start = Newton(tol=1e-12).minimise(objective, np.zeros(objective.shape)).value
    solution = SOLVERS[solver](tol=1e-6).minimise(objective, start)
    assert (solution.steps, solution.passes) == (0, 1)
    assert solution.value is start


@every_solver
def test_a_start_where_every_probability_is_saturated_leads_to_the_same_optimum(solver):
    objective, expected = optimum(PROBLEMS["logit"], "newton")
    found = SOLVERS[solver](tol=1e-9).minimise(objective, np.full(objective.shape, 30.0)).value
    np.testing.assert_allclose(found, expected.value, atol=1e-6)


@every_solver
def test_equal_calls_give_bit_identical_results(solver):
    first, second = (optimum(PROBLEMS["softmax"], solver)[1] for _ in range(2))
    np.testing.assert_array_equal(first.value, second.value)
    assert (first.steps, first.passes) == (second.steps, second.passes)


@settings(max_examples=5)
@given(exponents=st.lists(st.integers(-6, 6), min_size=4, max_size=4), solver=st.sampled_from(sorted(SOLVERS)))
def test_units_of_the_columns_change_only_the_units_of_the_weights(exponents, solver):
    X, t = overlapping(seed=3)
    units = 2.0 ** np.array(exponents)  # powers of two do not change the rounding
    plain, scaled = (optimum(Problem(rows, t), solver)[1] for rows in (X, X * units))
    np.testing.assert_allclose(scaled.value * np.append(units, 1.0), plain.value, rtol=1e-6, atol=1e-7)
    assert scaled.passes == plain.passes


@settings(max_examples=5)
@given(rows_per_block=st.integers(20, 300), solver=st.sampled_from(sorted(SOLVERS)))
def test_blocks_do_not_matter(rows_per_block, solver):
    problem = PROBLEMS["softmax_weights_offset"]
    objective = problem.posterior(rows_per_block=rows_per_block)
    found = SOLVERS[solver](tol=1e-9).minimise(objective, np.zeros(objective.shape)).value
    np.testing.assert_allclose(found, optimum(problem, "newton")[1].value, atol=1e-6)
