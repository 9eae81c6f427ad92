"""Fewer rows than columns: the optimum in the space of the rows is that of the columns."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from posteriors import Problem, identified
from separatrix.priors import Flat, Gaussian
from separatrix.solvers import Auto, Newton, dual, is_wide

N, M = 30, 70


def table(n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, M)) * (rng.random((N, M)) < 0.5)
    t = np.append(np.arange(n_classes), rng.integers(n_classes, size=N - n_classes))
    return X, t


def problems():
    rng = np.random.default_rng(1)
    weight = rng.integers(1, 4, size=N).astype(float)
    weight[7] = 0.0
    found = {}
    for n_classes in (2, 3):
        X, t = table(n_classes)
        again = np.arange(N) % 20  # a third of the rows are there twice
        for name, problem in {
            "plain": Problem(X, t, Gaussian(1.0)),
            "strong": Problem(X, t, Gaussian(0.03)),
            "scales": Problem(X, t, Gaussian(10.0 ** rng.uniform(-1, 1, M))),
            "weights": Problem(X, t, Gaussian(1.0), weight=weight),
            "offset": Problem(X, t, Gaussian(0.5), offset=rng.normal(size=N)),
            "no_intercept": Problem(X, t, Gaussian(1.0), fit_intercept=False),
            "repeated": Problem(X[again], t, Gaussian(1.0)),
            "constant_column": Problem(np.column_stack([X, np.full(N, 5.0)]), t, Gaussian(1.0)),
            "all_scales": Problem(X * 10.0 ** np.linspace(-2, 2, M), t, Gaussian(10.0 ** np.linspace(2, -2, M))),
        }.items():
            found[f"{name}_{n_classes}"] = problem
    return found


PROBLEMS = problems()


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("store", [np.asarray, np.float32, sparse.csr_array], ids=["dense", "float32", "csr"])
def test_the_optimum_is_that_of_newtons_method_on_the_columns(name, store):
    problem = PROBLEMS[name]
    if store is np.float32:
        problem = replace(problem, X=problem.X.astype(np.float32).astype(float))
    objective = problem.posed(store)
    assert is_wide(objective)
    solution = Auto(tol=1e-11).minimise(objective, np.zeros(objective.shape))
    assert solution.is_converged
    plain = problem.posterior()
    expected = Newton(tol=1e-12).minimise(plain, np.zeros(plain.shape))
    assert expected.is_converged
    W, w0 = identified(objective.design.in_user_units(solution.value), problem)
    W_all, w0_all = identified(plain.design.in_user_units(expected.value), problem)
    np.testing.assert_allclose(W, W_all, atol=1e-6 * np.abs(W_all).max())
    np.testing.assert_allclose(w0, w0_all, atol=1e-6)
    assert objective.gradient_size(objective.value_grad(solution.value).grad) < 1e-8


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("distance", [1e2, 1e4, 1e6, 1e8])
def test_rows_far_from_zero(n_classes, distance):
    X, t = table(n_classes)
    X = (X + distance) - distance
    near, far = (Problem(rows, t, Gaussian(1.0)).posed() for rows in (X, X + distance))
    at_zero, away = (Auto(tol=1e-11).minimise(each, np.zeros(each.shape)).value for each in (near, far))
    np.testing.assert_allclose(away[:, :M], at_zero[:, :M], atol=1e-8)
    np.testing.assert_allclose(away[:, M], at_zero[:, M], atol=1e-7)  # both biases are those at the mean


@pytest.mark.parametrize("name", ["plain_2", "weights_3", "repeated_2", "scales_3"])
def test_the_dual_has_the_value_of_the_primal_at_every_point(name, rng):
    objective = PROBLEMS[name].posed()
    small = dual(objective)
    theta = 0.3 * rng.normal(size=small.objective.shape)
    there = objective.value_grad(small.to_primal(theta)).value
    assert there == pytest.approx(small.objective.value_grad(theta).value, rel=1e-10)
    assert small.objective.shape[1] <= N + 1


def test_a_table_is_wide_only_under_a_proper_diagonal_prior():
    X, t = table()
    assert is_wide(Problem(X, t, Gaussian(1.0)).posed())
    partly_flat, correlated = Gaussian(np.append(np.ones(M - 1), np.inf)), Gaussian(covariance=np.eye(M) + 0.5)
    for prior in (Flat(), partly_flat, Gaussian(mean=np.eye(M)[3]), correlated):
        assert not is_wide(Problem(X, t, prior).posed())
    assert not is_wide(Problem(X[:, : N - 1], t, Gaussian(1.0)).posed())


def test_sparse_rows_stay_sparse_and_no_matrix_over_pairs_of_columns_is_formed():
    X = sparse.random_array((60, 200_000), density=1e-3, rng=0, format="csr")  # 320 GB as a square of this width
    objective = Problem(X, np.arange(60) % 2, Gaussian(1.0)).posed(sparse.csr_array)
    solution = Auto().minimise(objective, np.zeros(objective.shape))
    assert solution.is_converged
    assert objective.gradient_size(objective.value_grad(solution.value).grad) < 1e-7
