"""Which structure a problem gets, what it is refused, and that each is made."""

import numpy as np
import pytest
from scipy import sparse

from problems import blobs
from separatrix.bayesian.posterior import memory, structure
from separatrix.bayesian.posterior.approximation import Approximation, laplace
from separatrix.bayesian.posterior.structure import STRUCTURES, choose_structure, laplace_of, memory_needed
from separatrix.exceptions import DataError
from separatrix.likelihoods import Logit, Softmax
from separatrix.priors import Gaussian
from separatrix.rows import as_source
from separatrix.solvers import Auto, pose


def posed(n=60, n_features=3, n_classes=3, *, store=np.asarray, scale=1.0):
    X, y = blobs(n, n_features, n_classes)
    likelihood = Logit() if n_classes == 2 else Softmax(n_classes)
    prior = Gaussian(scale, intercept_scale=5.0)
    return pose(as_source(store(X), y), likelihood, prior, fit_intercept=True, standardize=True)


@pytest.fixture
def tiny(monkeypatch):
    """A world where five weights are many."""
    monkeypatch.setattr(structure, "LARGEST", 5)


@pytest.mark.parametrize(
    ("sizes", "chosen"),
    [
        ({"n_features": 3, "n_classes": 2}, "full"),
        ({"n_features": 3, "n_classes": 3}, "by class"),
        ({"n_features": 8, "n_classes": 2}, "full"),  # nothing lies between it and a diagonal
        ({"n_features": 12, "n_classes": 2}, "diagonal"),
        ({"n_features": 8, "n_classes": 3}, "diagonal"),
        ({"n_features": 8, "n_classes": 2, "store": sparse.csr_array}, "diagonal"),
        ({"n": 8, "n_features": 12, "n_classes": 2}, "dual"),
        ({"n": 8, "n_features": 12, "n_classes": 3}, "dual"),
        ({"n": 8, "n_features": 12, "n_classes": 2, "scale": np.inf}, "diagonal"),  # no proper prior, no dual
    ],
)
@pytest.mark.usefixtures("tiny")
def test_the_most_exact_structure_of_moderate_cost_is_chosen(sizes, chosen):
    assert choose_structure(posed(**sizes)) == chosen


def test_small_problems_are_kept_in_full_unless_asked_otherwise():
    objective = posed(8, 12)
    assert choose_structure(objective) == "full"
    for name in STRUCTURES:
        assert choose_structure(objective, name) == name


@pytest.mark.parametrize(
    "sizes", [{}, {"n_classes": 2}, {"n": 8, "n_features": 12}, {"n": 8, "n_features": 12, "n_classes": 2}]
)
def test_every_structure_is_made_and_says_which_it_is(sizes, rng):
    objective = posed(**sizes)
    mode = Auto().minimise(objective, np.zeros(objective.shape)).value
    full = laplace(objective, mode)
    X = rng.normal(size=(5, objective.shape[1] - 1))
    possible = [s for s in STRUCTURES if (s != "by class" or len(mode) > 1) and (s != "dual" or "n" in sizes)]
    for name in possible:
        made = laplace_of(name, objective, mode, steps=3)
        assert (made.structure, made.name, made.steps) == (name, "laplace", 3)
        assert np.allclose(made.mean, mode, atol=1e-6)
        assert made.std.shape == mode.shape
        assert made.sample(4, rng).shape == (4, *mode.shape)
        a, b = made.activations(X, objective.design), full.activations(X, objective.design)
        assert (a.mean.shape, a.cov.shape) == (b.mean.shape, b.cov.shape)
        assert np.allclose(a.mean, b.mean, atol=1e-6)
        assert made.log_evidence <= full.log_evidence + 1e-8
        assert np.isclose(made.log_likelihood, full.log_likelihood)


@pytest.mark.usefixtures("tiny")
def test_the_thin_problem_of_many_classes_is_taken_by_class():
    objective = posed(8, 12, 3)
    made = laplace_of("dual", objective, np.zeros(objective.shape))
    assert made.thin.structure == "by class"
    two = posed(8, 12, 2)
    assert isinstance(laplace_of("dual", two, np.zeros(two.shape)).thin, Approximation)


def test_full_is_refused_with_what_it_needs_and_what_there_is(monkeypatch):
    objective = posed(50, 20, 4)  # 84 weights: 4 x 84² numbers
    monkeypatch.setattr(memory, "machine_memory", lambda: 2.0**17)
    monkeypatch.setattr(structure, "machine_memory", lambda: 2.0**17)
    monkeypatch.setattr(structure, "LARGEST", 50)
    with pytest.raises(
        DataError, match=r"structure='full' for 4 x 21 weights needs 220 KiB of memory, .* has 128 KiB. 'by class' fits"
    ):
        choose_structure(objective, "full")
    assert choose_structure(objective) == "by class"


def test_memory_needed_falls_from_full_to_diagonal():
    objective = posed(50, 200, 4)
    needed = {name: memory_needed(objective, name) for name in STRUCTURES}
    assert needed["full"] == 8 * 4 * (4 * 201) ** 2
    assert needed["full"] > needed["by class"] > needed["dual"] > needed["diagonal"]


@pytest.mark.parametrize(
    ("sizes", "requested", "error", "message"),
    [
        ({"n": 60}, "dual", DataError, r"fewer rows than columns.*60 rows, 3 columns"),
        ({"n": 8, "n_features": 12, "scale": np.inf}, "dual", DataError, r"prior with mean 0 and a finite scale"),
        ({"n_classes": 2}, "by class", DataError, r"more than two classes"),
        ({}, "banded", ValueError, r"structure='banded'.*'full', 'dual', 'by class', 'diagonal', or None"),
    ],
)
def test_structures_that_do_not_suit_are_refused(sizes, requested, error, message):
    with pytest.raises(error, match=message):
        choose_structure(posed(**sizes), requested)
