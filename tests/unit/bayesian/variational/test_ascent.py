"""The bound of any averaged likelihood: its KL part by the textbook's formula, and how fast a step raises it."""

from functools import partial

import numpy as np
import pytest

from exact import at_the_mode, posed, two_weights
from separatrix.bayesian.variational.ascent import Bound
from separatrix.bayesian.variational.two_classes import _averages
from separatrix.likelihoods import Softmax
from separatrix.priors import Penalty
from separatrix.solvers.factor import factorise
from separatrix.stats.objective import ValueGradHess


def nothing(block, mean, root):
    """A likelihood that says nothing."""
    return ValueGradHess(0.0, np.zeros_like(mean), np.zeros_like(root))


def random_precision(rng, size):
    root = rng.normal(size=(size, size + 3))
    return root @ root.T


@pytest.mark.parametrize("kind", ["diagonal", "one for every class", "all together"])
def test_without_rows_the_bound_is_minus_the_divergence_from_the_prior(kind, rng):
    """KL(N(m, S) || N(m0, Λ⁻¹)), by the formula with whole matrices."""
    objective = posed(rng.normal(size=(20, 2)), rng.integers(3, size=20), likelihood=Softmax(3))
    precision = {
        "diagonal": np.array([0.5, 2.0]),
        "one for every class": random_precision(rng, 2),
        "all together": random_precision(rng, 6),
    }[kind]
    prior = Penalty(rng.normal(size=(3, 2)), precision)
    object.__setattr__(objective, "prior", prior)
    mean, A = rng.normal(size=(3, 2)), random_precision(rng, 6)
    here = Bound(objective, nothing, 0.5).at(mean, factorise(A, 3, prior.free))
    Lambda, away = prior.matrix(), (mean - prior.mean).ravel()
    divergence = 0.5 * (
        np.trace(Lambda @ np.linalg.inv(A))
        + away @ Lambda @ away
        - 6
        + np.linalg.slogdet(A)[1]
        - np.linalg.slogdet(Lambda)[1]
    )
    assert here.bound == pytest.approx(-divergence, rel=1e-10)


def test_without_rows_one_whole_step_is_the_prior(rng):
    objective, _, _ = two_weights()
    bound = Bound(objective, nothing, 0.5)
    start = bound.at(rng.normal(size=(1, 2)), factorise(random_precision(rng, 2), 1, objective.prior.free))
    there, share = bound.ascend(start, 1.0)
    assert share == 1.0
    assert there.bound == pytest.approx(0.0, abs=1e-12)
    assert there.distance() == pytest.approx(0.0, abs=1e-12)


def test_the_bound_rises_at_the_rate_of_the_natural_gradient():
    """|R'g|² + ½ |R'HR - I|² for each unit of the share."""
    objective, _, _ = two_weights()
    bound = Bound(objective, partial(_averages, objective=objective), 1e-6)
    mode = at_the_mode(objective)
    here = bound.at(mode.mean + 0.3, mode.factor)
    there, share = bound.ascend(here, 1e-5)
    root = here.factor.root
    change = root.T @ here.hess @ root - np.eye(2)
    rate = np.sum((root.T @ here.grad[0]) ** 2) + 0.5 * np.sum(change**2)
    assert (there.bound - here.bound) / share == pytest.approx(rate, rel=1e-3)


def test_where_every_step_lowers_the_bound_there_is_none():
    """A likelihood whose gradient has the wrong sign."""
    objective, _, _ = two_weights()

    def backwards(block, mean, root):
        found = _averages(block, mean, root, objective)
        return ValueGradHess(found.value, -50 * found.grad, found.hess)

    best = at_the_mode(objective)
    bound = Bound(objective, backwards, 2.0**-4)
    assert bound.ascend(bound.at(best.mean - 2.0, best.factor), 1.0) is None
