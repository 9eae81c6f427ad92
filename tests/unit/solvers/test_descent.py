"""Steps along a direction: taken whole where they may be, shortened where not, refused where nothing falls."""

import numpy as np
import pytest

from separatrix.solvers.descent import descend
from separatrix.stats.objective import ValueGrad


def parabola(theta):
    return ValueGrad(float(theta @ theta), 2 * theta)


def test_the_whole_step_is_taken_where_the_objective_falls():
    theta = np.array([3.0])
    (trial, there), tries = descend(parabola, theta, parabola(theta), np.array([-3.0]))
    assert trial == 0.0
    assert there.value == 0.0
    assert tries == 1


def test_a_step_too_long_is_shortened_to_the_minimum_of_the_parabola():
    theta = np.array([3.0])
    (trial, _), tries = descend(parabola, theta, parabola(theta), np.array([-9.0]))
    assert trial == pytest.approx(0.0)
    assert tries == 2


@pytest.mark.parametrize("outside", [np.nan, np.inf])
def test_a_step_into_the_undefined_is_shortened(outside):
    def bounded(theta):
        return parabola(theta) if theta[0] > 0 else ValueGrad(outside, np.array([outside]))

    theta = np.array([3.0])
    moved, tries = descend(bounded, theta, bounded(theta), np.array([-9.0]))
    assert moved is not None
    assert 0 < moved[0][0] < 3
    assert tries > 1


def test_a_direction_that_rises_is_refused_without_an_evaluation():
    theta = np.array([3.0])
    assert descend(parabola, theta, parabola(theta), np.array([1.0])) == (None, 0)


def test_where_the_objective_is_rounding_the_slope_decides():
    def flat(theta):  # a parabola of curvature 1e-10 on top of a large constant
        return ValueGrad(1e6 + 5e-11 * float(theta @ theta), 1e-10 * theta)

    theta = np.array([1.0])
    moved, _ = descend(flat, theta, flat(theta), np.array([-1.0]))
    assert moved is not None
    (trial, _), tries = descend(flat, theta, flat(theta), np.array([-2.5]))  # ends uphill, steeper than it was downhill
    assert trial == pytest.approx(0.0, abs=1e-9)
    assert tries == 2
