"""Covertype, class 7 against the rest: rare 0/1 columns nearly separate the classes, and Laplace is worse than MAP."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import log_loss

from separatrix.bayesian.checks import skewness
from separatrix.bayesian.ep import expectation_propagation
from separatrix.bayesian.joint import choose
from separatrix.bayesian.posterior import laplace
from separatrix.bayesian.predictive import logit_normal
from separatrix.bayesian.variational import variational
from separatrix.likelihoods import Logit
from separatrix.priors import Gaussian
from separatrix.rows import as_source
from separatrix.solvers import Auto, pose

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "covertype_20k" / "covertype_20k.npz"

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not DATA.exists(), reason="the data sets are not in the folder next to the repository"),
]

SEEDS = [0, 1]


@cache
def problem(seed):
    """Return 2000 training rows with the columns that vary among them, and all other rows for testing."""
    stored = np.load(DATA)
    X, y = stored["X"].astype(float), (stored["y"] == 7).astype(int)
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[:2000], order[2000:]
    columns = np.ptp(X[train], axis=0) > 0
    prior = Gaussian(1.0, intercept_scale=10.0)
    source = as_source(X[train][:, columns], y[train])
    objective = pose(source, Logit(), prior, fit_intercept=True, standardize=True)
    mode = Auto().minimise(objective, np.zeros(objective.shape)).value
    return objective, laplace(objective, mode), X[test][:, columns], y[test]


def loss(approximation, objective, X, y):
    a = approximation.activations(X, objective.design)
    return log_loss(y, logit_normal(a.mean, a.cov))


@pytest.mark.parametrize("approximate", [expectation_propagation, variational])
@pytest.mark.parametrize("seed", SEEDS)
def test_better_approximations_predict_better_than_map_and_laplace(seed, approximate):
    objective, start, X, y = problem(seed)
    found = approximate(objective, start)
    mode = log_loss(y, Logit().probability(objective.design.regressors(X) @ start.mean[0]))
    assert found.is_converged
    assert approximate is variational or found.steps <= 25
    assert loss(start, objective, X, y) > 1.1 * mode  # plain Laplace is worse than MAP
    assert loss(found, objective, X, y) < mode


@pytest.mark.parametrize("seed", SEEDS)
def test_skewness_detects_the_poor_approximation(seed):
    objective, start, _, _ = problem(seed)
    found = skewness(objective, start)
    assert found.largest > 2.0
    assert choose(objective, found) == "ep"
