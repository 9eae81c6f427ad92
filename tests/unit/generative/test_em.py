import numpy as np
import pytest

from separatrix.exceptions import ConvergenceWarning
from separatrix.generative.em import Expectation, maximise_expectation
from separatrix.rows import as_source
from separatrix.solvers import Status
from separatrix.stats import Tally


def halve(block, parameters):
    """A toy E step: facts move half the way to 1 in one pass, the likelihood rises accordingly."""
    target = parameters + (1 - parameters) / 2
    return Expectation(Tally(np.array([target * len(block) / 10])), -((1 - target) ** 2) * len(block) / 10)


def test_steps_until_the_likelihood_stops_rising():
    source = as_source(np.zeros((10, 1)), np.zeros(10, dtype=int))
    solution = maximise_expectation(source, Tally(np.zeros(1)), halve, lambda facts: float(facts.count.sum()))
    assert solution.value.count[0] == pytest.approx(1, abs=1e-3)
    assert solution.status is Status.LIKELIHOOD
    assert len(solution.trace) == solution.passes == solution.steps
    assert (np.diff(solution.trace) >= 0).all()


def test_the_limit_is_a_warning_that_says_how_far_it_got():
    source = as_source(np.zeros((10, 1)), np.zeros(10, dtype=int))
    with pytest.warns(ConvergenceWarning, match="still rising by"):
        maximise_expectation(source, Tally(np.zeros(1)), halve, lambda facts: float(facts.count.sum()), max_steps=3)
