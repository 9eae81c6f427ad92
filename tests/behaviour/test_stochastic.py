"""Stochastic gradient descent: the optimum does not depend on batches, seeds, order or storage of the rows."""

import numpy as np
import pytest

from posteriors import Problem, overlapping
from separatrix.likelihoods import Logit
from separatrix.priors import Gaussian
from separatrix.rows import as_source
from separatrix.solvers import Newton, Status, StochasticGradient, pose


def start_of(objective):
    return np.zeros(objective.shape)


def excess(objective, theta):
    """Objective minus its minimum, per unit of weight."""
    lowest = objective.value_grad(Newton().minimise(objective, start_of(objective)).value).value
    return (objective.value_grad(theta).value - lowest) / objective.units.total


@pytest.fixture(scope="module")
def many():
    """Ten thousand rows in blocks of a thousand, with columns that are not correlated."""
    X, t = overlapping(n=10_000, n_features=8)
    X = X @ np.linalg.inv(np.linalg.cholesky(np.cov(X.T))).T
    return Problem(X, t, Gaussian(scale=1.0)).posterior(rows_per_block=1000)


def test_after_one_epoch_the_fit_is_within_the_noise_of_the_rows(many):
    """The excess of the maximum likelihood estimate itself over the truth is about P/2N."""
    solution = StochasticGradient(max_epochs=1).minimise(many, start_of(many))
    assert solution.status is Status.MAX_STEPS
    assert (solution.steps, solution.passes) == (1, 3)
    P, N = many.shape[1], many.source.n_rows
    assert excess(many, solution.value) < 4 * P / (2 * N)
    assert excess(many, start_of(many)) > 100 * P / (2 * N)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("batch", [1, 16, 64, 5000])
def test_neither_the_seed_nor_the_batch_moves_the_optimum(batch, seed):
    X, t = overlapping(n=600)
    objective = Problem(X, t, Gaussian(scale=1.0)).posterior()
    solution = StochasticGradient(batch=batch, tol=1e-9, rng=seed).minimise(objective, start_of(objective))
    assert solution.status is Status.GRADIENT
    np.testing.assert_allclose(solution.value, Newton().minimise(objective, start_of(objective)).value, atol=1e-6)


def test_rows_sorted_by_class_and_by_size_do_not_mislead():
    X, t = overlapping(n=6000)
    order = np.lexsort((X[:, 0], t))
    objective = Problem(X[order], t[order], Gaussian(scale=1.0)).posterior(rows_per_block=500)
    solution = StochasticGradient(tol=1e-9).minimise(objective, start_of(objective))
    assert solution.status is Status.GRADIENT
    np.testing.assert_allclose(solution.value, Newton().minimise(objective, start_of(objective)).value, atol=1e-6)


def test_rows_of_weight_zero_have_no_effect():
    """The first mini-batches have weight zero: they must cause no step and no division by zero."""
    X, t = overlapping(n=400)
    weight = (np.arange(400) < 6).astype(np.float64)
    t[:6] = [0, 1, 0, 1, 0, 1]
    objective = Problem(X, t, Gaussian(scale=1.0), weight=weight).posterior()
    solution = StochasticGradient(batch=4, tol=1e-9).minimise(objective, start_of(objective))
    expected = Newton().minimise(objective, start_of(objective)).value
    np.testing.assert_allclose(solution.value * objective.column_units, expected * objective.column_units, atol=1e-6)


def test_single_precision_rows_reach_the_tolerance():
    X, t = overlapping(n=2000)
    objective = Problem(X.astype(np.float32), t, Gaussian(scale=1.0)).posterior()
    solution = StochasticGradient().minimise(objective, start_of(objective))
    assert solution.status is Status.GRADIENT
    exact = Problem(X.astype(np.float32).astype(np.float64), t, Gaussian(scale=1.0)).posterior()
    np.testing.assert_allclose(solution.value, Newton().minimise(exact, start_of(exact)).value, atol=1e-4)


class Squares:
    """φ(x) = (x, x²), which records the number of rows of each call."""

    def __init__(self):
        self.tallest = 0

    def evaluate(self, X):
        self.tallest = max(self.tallest, len(X))
        return np.column_stack([X, X**2])

    def names(self, columns):
        return (*columns, *(f"{name}²" for name in columns))


def test_basis_functions_are_never_evaluated_for_all_rows():
    X, t = overlapping(n=1500, n_features=2)
    basis = Squares()
    objective = pose(as_source(X, t).mapped(basis).sized_for(2**10), Logit(), Gaussian(), fit_intercept=True)
    solution = StochasticGradient(tol=1e-9).minimise(objective, start_of(objective))
    assert basis.tallest < 1500
    whole = Problem(np.column_stack([X, X**2]), t, Gaussian()).posterior()
    expected = Newton().minimise(whole, start_of(whole)).value
    np.testing.assert_allclose(solution.value * whole.column_units, expected * whole.column_units, atol=1e-6)
