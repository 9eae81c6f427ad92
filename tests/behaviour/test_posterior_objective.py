"""The negative log posterior: value, gradient and Hessian, units, samples, and inverse Hessians."""

import pickle
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest
from scipy import sparse

from posteriors import PROBLEMS, Problem, overlapping
from separatrix.likelihoods import Logit, Probit
from separatrix.priors import Flat, Gaussian, Penalty
from separatrix.rows import Block, as_source
from separatrix.solvers import LBFGS, Newton, Units, hessian, pose
from separatrix.solvers.hessian import average_diagonal, by_class, diagonal
from separatrix.stats import Design, class_grams, max_slope_change

STORES = {"dense": np.asarray, "csr": sparse.csr_array}


def somewhere(objective, rng):
    """Return θ with activations of order one."""
    return rng.normal(size=objective.shape) / objective.column_units / np.sqrt(objective.shape[1])


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("store", STORES)
def test_value_and_gradient_agree_with_a_direct_function_of_coefficients(name, store, rng):
    problem = PROBLEMS[name]
    objective = problem.posterior(STORES[store])
    theta, V = somewhere(objective, rng), somewhere(objective, rng)
    here = objective.value_grad(theta)
    coef, intercept = objective.design.in_user_units(theta)
    flat = np.column_stack([coef, intercept]) if problem.fit_intercept else coef
    value, grad = problem.plain(flat.ravel())
    assert here.value == pytest.approx(value, rel=1e-11)
    # θ -> (coef, intercept) is linear, so the slope along a direction is the same in both coordinates
    coef, intercept = objective.design.in_user_units(V)
    along = np.column_stack([coef, intercept]) if problem.fit_intercept else coef
    np.testing.assert_allclose(np.vdot(here.grad, V), grad @ along.ravel(), rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("store", STORES)
def test_the_hessian_is_the_derivative_of_the_gradient(name, store, rng):
    objective = PROBLEMS[name].posterior(STORES[store])
    theta, V = somewhere(objective, rng), somewhere(objective, rng)
    here = objective.value_grad_hess(theta)
    product = (here.hess @ V.ravel()).reshape(V.shape)
    scale = objective.units.total * objective.column_units
    step = 1e-5
    ahead, behind = (objective.value_grad(theta + sign * step * V).grad for sign in (1, -1))
    np.testing.assert_allclose((ahead - behind) / (2 * step) / scale, product / scale, atol=1e-7)
    np.testing.assert_allclose(here.hess, here.hess.T, rtol=1e-12, atol=1e-12 * np.abs(here.hess).max())


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("store", STORES)
def test_a_small_table_read_once_has_the_sums_of_many_blocks(name, store, rng):
    whole = PROBLEMS[name].posterior(STORES[store])
    parts = replace(whole, source=replace(whole.source, height=7))
    theta = somewhere(whole, rng)
    assert whole.regressors is not None
    assert parts.regressors is None
    one, many = whole.value_grad_hess(theta), parts.value_grad_hess(theta)
    scale = np.abs(many.hess).max()  # of entries that cancel, the rounding error is that of the largest
    np.testing.assert_allclose(one.value, many.value, rtol=1e-12)
    np.testing.assert_allclose(one.grad, many.grad, rtol=0, atol=1e-12 * np.abs(many.grad).max())
    np.testing.assert_allclose(one.hess, many.hess, rtol=0, atol=1e-12 * scale)


def test_a_stored_source_does_not_contain_its_rows_twice(rng):
    source = as_source(rng.normal(size=(50, 3)))
    size = len(pickle.dumps(source))
    assert source.block is not None
    assert len(pickle.dumps(source)) == size


def test_every_evaluation_is_one_pass(rng):
    objective = PROBLEMS["softmax"].posterior(rows_per_block=50)
    theta = somewhere(objective, rng)
    share = partial(objective.reduce, max_slope_change, V=theta)
    for evaluate in (objective.value_grad, objective.value_grad_hess, share):
        before = objective.source.passes
        evaluate(theta=theta)
        assert objective.source.passes == before + 1


@pytest.mark.parametrize("likelihood", [Logit(), Probit()], ids=["logit", "probit"])
def test_the_quick_bound_on_changes_of_slopes_is_never_below_them(likelihood):
    """A bound that is too small would prove that separable classes overlap."""
    a, design = np.geomspace(1e-3, 1e4, 100), Design(np.zeros(1), bias=False)
    for x, t in product([*a, *-a], (0, 1)):
        row = Block(np.array([[x]]), np.array([t]), None, range(1))
        change = partial(max_slope_change, row, np.ones((1, 1)), np.ones((1, 1)), likelihood, design)
        assert change().value <= change(enough=np.inf).value < np.inf
    assert change(enough=1e-9) == change()  # a bound that is not small enough is not used


def test_the_size_of_a_gradient_does_not_depend_on_units_or_the_number_of_rows():
    X, t = overlapping()
    units = np.array([1e-3, 1.0, 50.0, 1e4])
    once = Problem(X, t).posterior()
    scaled = Problem(X * units, t).posterior()
    twice = Problem(np.vstack([X, X]), np.append(t, t)).posterior()
    theta = np.array([[0.5, -0.2, 0.1, 0.3, 0.2]])
    size = once.gradient_size(once.value_grad(theta).grad)
    assert 0 < size < 1
    moved = theta / np.append(units, 1.0)
    assert scaled.gradient_size(scaled.value_grad(moved).grad) == pytest.approx(size, rel=1e-9)
    assert twice.gradient_size(twice.value_grad(theta).grad) == pytest.approx(size, rel=1e-9)


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_units_are_means_and_spreads(store, fit_intercept, rng):
    X = 3.0 + rng.normal(size=(500, 3)) * [1e-3, 1.0, 1e3]
    X[:, 1] = 7.0
    weight = rng.random(500)
    units = Units.of(as_source(STORES[store](X), None, weight), fit_intercept=fit_intercept)
    mean = np.average(X, axis=0, weights=weight)
    about = mean if fit_intercept else 0.0
    np.testing.assert_allclose(units.mean, mean)
    np.testing.assert_allclose(units.spread, np.sqrt(np.average((X - about) ** 2, axis=0, weights=weight)), atol=1e-12)
    assert units.total == pytest.approx(weight.sum())
    assert (units.spread[1] == 0.0) == fit_intercept


def test_only_objectives_with_many_rows_have_a_sample(rng):
    few = pose(as_source(rng.normal(size=(300, 2)), np.arange(300) % 2), Logit(), Flat(), fit_intercept=True)
    assert few.sample is None
    n = 40_000
    X = rng.normal(size=(n, 60))
    many = pose(as_source(X, np.arange(n) % 2), Logit(), Gaussian(), fit_intercept=True)
    assert many.sample is not None
    assert many.shape == (1, 61)
    assert many.units.total == pytest.approx(n, rel=1e-9)
    sampled = many.of_sample()
    assert sampled.source.n_rows < n / 10
    theta = rng.normal(size=many.shape) / 10
    assert sampled.value_grad(theta).value == pytest.approx(many.value_grad(theta).value, rel=0.05)


def test_units_use_all_rows_even_if_the_sample_misses_a_rare_value(rng):
    n = 40_000
    X = rng.normal(size=(n, 60))
    X[:, 5] = 0.0
    X[12_345, 5] = 1.0
    posed = pose(as_source(X, np.arange(n) % 2), Logit(), Gaussian(), fit_intercept=True)
    assert posed.units.spread[5] == pytest.approx(np.std(X[:, 5]))


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize(("n", "fit_intercept"), [(300, True), (300, False), (40_000, True)])
def test_the_reach_is_the_largest_distance_from_the_origin(store, n, fit_intercept, rng):
    """It is measured in the pass for the units, or later in another one."""
    X = rng.normal(size=(n, 60)) * (rng.random((n, 60)) < 0.05)
    X[:, 5], X[n // 2, 5] = 0.0, 3.0  # a sample may miss the only value of this column
    source, options = as_source(STORES[store](X), np.arange(n) % 2), {"fit_intercept": fit_intercept}
    later, before = pose(source, Logit(), Gaussian(), **options), source.passes
    posed = pose(source, Logit(), Gaussian(), **options, with_extent=True)
    assert source.passes == 2 * before
    exact = np.append(np.abs(X - posed.design.origin).max(axis=0), np.ones(int(fit_intercept)))
    np.testing.assert_allclose(later.reach, exact)
    np.testing.assert_allclose(posed.reach, exact)
    assert source.passes <= 2 * before + 1


def test_the_reach_of_a_large_table_is_that_of_all_rows(rng):
    X = rng.normal(size=(40_000, 60))
    X[12_345] = 50.0
    source = as_source(X, np.arange(len(X)) % 2)
    posed = pose(source, Logit(), Gaussian(), fit_intercept=True, with_extent=True)
    assert posed.sample is not None
    assert (posed.sample.as_block().X < 50.0).all()
    np.testing.assert_allclose(posed.reach[:-1], 50.0 - posed.design.origin)


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


def test_equal_curvatures_of_all_classes_need_one_gram_matrix(monkeypatch):
    objective, count = SOFTMAX["softmax"].posterior(), []
    gram = type(objective.design).gram

    def counted(*args, **how):
        count.append(1)
        return gram(*args, **how)

    monkeypatch.setattr(type(objective.design), "gram", counted)
    theta = np.zeros(objective.shape)
    factors = by_class(objective, theta).factors
    assert len(count) == 1
    blocks = class_blocks(objective.value_grad_hess(theta).hess, len(theta))
    for factor, block in zip(factors, blocks, strict=True):
        np.testing.assert_allclose(factor.matrix, block, rtol=1e-5, atol=1e-5 * np.abs(block).max())


@pytest.mark.parametrize("columns", ["twins", "constant", "zero"])
def test_a_singular_block_still_gives_a_descent_direction(columns, rng):
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
def test_the_diagonal_is_an_upper_bound_of_the_hessian_diagonal(name, store, rng):
    objective = PROBLEMS[name].posterior(store)
    bound = diagonal(objective).curvature
    for size in (0.0, 0.1, 1.0, 10.0):
        theta = size * rng.normal(size=objective.shape) / objective.column_units
        curvature = np.diag(objective.value_grad_hess(theta).hess).reshape(objective.shape)
        assert (curvature <= bound * (1 + 1e-12)).all()
        average = average_diagonal(objective).curvature.mean(axis=0)  # the bound of L-BFGS, for all classes together
        assert (curvature.mean(axis=0) <= average * (1 + 1e-12)).all()


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("n_columns", [0, 2, 300])
def test_the_head_of_a_hessian_is_its_average_over_classes(name, store, n_columns, rng, monkeypatch):
    monkeypatch.setattr(hessian, "MAX_HEAD_COLUMNS", n_columns)
    monkeypatch.setattr(hessian, "MIN_HEAD_VARIANCE", 1e-9)
    objective = PROBLEMS[name].posterior(store, rows_per_block=50)
    (C, P), M = objective.shape, len(objective.design.origin)
    theta = 0.3 * rng.normal(size=(C, P)) / objective.column_units
    blocks = objective.value_grad_hess(theta, exact=False).hess.reshape(C, P, C, P)
    mean = np.einsum("kpkq->pq", blocks) / C
    top = np.sort(np.argsort(-objective.units.spread, kind="stable")[:n_columns])
    weights = np.append(top, M) if objective.design.bias else top
    grad = rng.normal(size=(C, P)) * objective.column_units
    expected = grad / np.diag(mean)
    if n_columns:
        expected[:, weights] = np.linalg.solve(mean[np.ix_(weights, weights)], grad[:, weights].T).T
    found = hessian.head_at(objective, theta).solve(grad)
    np.testing.assert_allclose(found * objective.column_units, expected * objective.column_units, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", SOFTMAX)
def test_centred_classes_have_the_same_likelihood_and_no_higher_objective(name, rng):
    objective = SOFTMAX[name].posterior()
    theta = rng.normal(size=objective.shape)
    moved = objective.centre_classes(theta)
    assert np.ptp(moved - theta, axis=0).max() < 1e-12
    assert objective.value_grad(moved).value <= objective.value_grad(theta).value * (1 + 1e-12)
    np.testing.assert_allclose(moved.mean(axis=0), objective.prior.mean[0], atol=1e-12)
