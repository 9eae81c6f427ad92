from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from posteriors import PROBLEMS, Problem, overlapping
from separatrix.priors import Gaussian, Penalty
from separatrix.solvers import LBFGS, Newton
from separatrix.solvers.precondition import Diagonal, by_class, class_grams, diagonal, level

SOFTMAX = {name: problem for name, problem in PROBLEMS.items() if problem.n_outputs > 1}


def class_blocks(hess, n_classes):
    P = len(hess) // n_classes
    return np.stack([hess[k * P : (k + 1) * P, k * P : (k + 1) * P] for k in range(n_classes)])


@pytest.mark.parametrize("name", SOFTMAX)
@pytest.mark.parametrize("store", [np.asarray, np.float32, sparse.csr_array], ids=["dense", "float32", "csr"])
def test_class_grams_are_the_diagonal_blocks_of_the_hessian(name, store, rng):
    objective = SOFTMAX[name].posterior(store, rows_per_block=50)
    theta = 0.3 * rng.normal(size=objective.shape)
    given = {"theta": theta, "likelihood": objective.likelihood, "design": objective.design}
    grams = objective.source.reduce(lambda block: class_grams(block, **given)).grad
    flat = replace(objective, prior=Penalty(np.zeros(objective.shape), np.zeros(objective.shape[1])))
    expected = class_blocks(flat.value_grad_hess(theta).hess, len(theta))
    scale = np.sqrt(np.einsum("kpp->kp", expected))
    np.testing.assert_allclose(grams / scale[:, :, None], expected / scale[:, :, None], atol=1e-5 * scale.max())


@pytest.mark.parametrize("name", SOFTMAX)
def test_by_class_inverts_each_block_and_takes_out_the_mean(name, rng):
    objective = SOFTMAX[name].posterior()
    theta, grad = (rng.normal(size=objective.shape) for _ in range(2))
    step = by_class(objective, theta).solve(grad)
    blocks = class_blocks(objective.value_grad_hess(theta).hess, len(theta))
    expected = np.stack([np.linalg.solve(block, row) for block, row in zip(blocks, grad, strict=True)])
    np.testing.assert_allclose(step, expected - expected.mean(axis=0), rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(step.sum(axis=0), 0.0, atol=1e-12)


def test_a_precision_for_all_classes_together_adds_its_diagonal_blocks(rng):
    objective = SOFTMAX["softmax"].posterior()
    C, P = objective.shape
    root = rng.normal(size=(C * P, C * P))
    objective = replace(objective, prior=replace(objective.prior, precision=100 * root @ root.T))
    theta, grad = (rng.normal(size=(C, P)) for _ in range(2))
    inverse = by_class(objective, theta)
    assert not inverse.keeps_mean
    blocks = class_blocks(objective.value_grad_hess(theta).hess, C)
    expected = np.stack([np.linalg.solve(block, row) for block, row in zip(blocks, grad, strict=True)])
    np.testing.assert_allclose(inverse.solve(grad), expected, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("columns", ["twins", "constant", "zero"])
def test_a_singular_block_still_gives_a_way_down(columns, rng):
    X, t = overlapping(n_classes=3)
    more = {"twins": X[:, 0], "constant": np.full(len(X), 3.0), "zero": np.zeros(len(X))}[columns]
    objective = Problem(np.column_stack([X, more]), t).posterior()
    theta = np.zeros(objective.shape)
    inverse = by_class(objective, theta)
    here = objective.value_grad(theta)
    step = -inverse.solve(here.grad)
    assert np.isfinite(step).all()
    assert np.vdot(step, here.grad) < 0
    solution = LBFGS(tol=1e-9).minimise(objective, theta, inverse=inverse)
    assert solution.is_converged
    plain = Problem(X, t).posterior()
    best = Newton(tol=1e-12).minimise(plain, np.zeros(plain.shape))
    assert objective.value_grad(solution.value).value == pytest.approx(plain.value_grad(best.value).value, rel=1e-10)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_the_diagonal_bounds_that_of_the_hessian_everywhere(name, store, rng):
    objective = PROBLEMS[name].posterior(store)
    bound = diagonal(objective).curvature
    for size in (0.0, 0.1, 1.0, 10.0):
        theta = size * rng.normal(size=objective.shape) / objective.column_units
        curvature = np.diag(objective.value_grad_hess(theta).hess).reshape(objective.shape)
        assert (curvature <= bound * (1 + 1e-12)).all()
    np.testing.assert_array_equal(Diagonal(bound).solve(bound), np.ones(objective.shape))


def test_one_row_of_most_of_the_weight_does_not_break_the_bound():
    """Units are weighted: one row far out that counts for a thousand is a spread of its own."""
    X = np.append(np.zeros(99), 50.0)[:, None]
    problem = Problem(X, np.arange(100) % 2, weight=np.append(np.ones(99), 1000.0))
    objective = problem.posterior()
    curvature = np.diag(objective.value_grad_hess(np.zeros((1, 2))).hess)
    assert (curvature <= diagonal(objective).curvature[0] * (1 + 1e-12)).all()


@pytest.mark.parametrize("name", SOFTMAX)
def test_level_changes_no_probability_and_never_raises_the_objective(name, rng):
    objective = SOFTMAX[name].posterior()
    theta = rng.normal(size=objective.shape)
    moved = level(objective, theta)
    assert np.ptp(moved - theta, axis=0).max() < 1e-12
    assert objective.value_grad(moved).value <= objective.value_grad(theta).value * (1 + 1e-12)
    np.testing.assert_allclose(moved.mean(axis=0), objective.prior.mean[0], atol=1e-12)


def test_level_is_where_the_prior_is_highest_whatever_its_mean(rng):
    X, t = overlapping(n_classes=3)
    prior = Gaussian(scale=[0.1, 1.0, 2.0, 0.5], mean=[1.0, 0.0, -1.0, 0.5])
    objective = Problem(X, t, prior).posterior()
    best = Newton(tol=1e-12).minimise(objective, np.zeros(objective.shape)).value
    np.testing.assert_allclose(level(objective, best), best, atol=1e-9)


def test_level_leaves_one_output_and_a_joint_prior_alone(rng):
    one = PROBLEMS["logit_mean"].posterior()
    theta = rng.normal(size=one.shape)
    assert level(one, theta) is theta
    objective = SOFTMAX["softmax"].posterior()
    joint = replace(objective, prior=replace(objective.prior, precision=np.eye(np.prod(objective.shape))))
    theta = rng.normal(size=objective.shape)
    assert level(joint, theta) is theta
