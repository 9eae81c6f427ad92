"""One number more: profiles with one hill, with two, and with none."""

from collections import namedtuple

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from separatrix.bayesian.tuning.outer import tune_choice, tune_outer

Fit = namedtuple("Fit", "log_evidence at")


def profile(function, seen=None):
    def fit(x, near):
        if seen is not None:
            seen.append((x, near))
        return Fit(float(function(x)), x)

    return fit


@settings(max_examples=30)
@given(st.floats(-3.0, 3.0), st.floats(0.5, 200.0))
@example(-2.1671889, 158.03831)  # a parabola through far points has its top where the highest of them is, by chance
@example(2.5551462, 182.59474)
def test_a_hill_is_climbed_to_its_top(top, height):
    """A hill as evidence makes them: steep on one side, a plateau on the other."""

    def hill(x):
        u = np.log(x) - top
        return -height * (np.exp(-u) + u)

    found = tune_outer(profile(hill), np.exp(-4.0), np.exp(4.0), tol=1e-3, max_fits=40)
    assert_allclose(hill(found.value), -height, atol=0.01)
    assert found.result.at == found.value
    assert not found.at_boundary
    assert max(trial.log_evidence for trial in found.tried) == found.result.log_evidence


@pytest.mark.parametrize("coarse", [3, 4, 5])
def test_a_hill_whose_top_was_seen_at_first_is_not_fitted_there_again(coarse):
    seen = []
    middle = (coarse // 2 + 0.5) / coarse  # one of the points of the first look
    found = tune_outer(profile(lambda u: -((u - middle) ** 2), seen), 0.0, 1.0, log=False, coarse=coarse, max_fits=9)
    assert found.value == pytest.approx(middle, abs=1e-6)
    assert len({x for x, _ in seen}) == len(seen) <= 9


def test_of_two_hills_the_higher_is_climbed():
    found = tune_outer(profile(lambda u: -20 * min((u - 1) ** 2, (u - 3) ** 2 - 0.2)), 0.0, 4.0, log=False, tol=1e-6)
    assert_allclose(found.value, 3.0, atol=1e-3)


@pytest.mark.parametrize(("slope", "end"), [(1.0, 100.0), (-1.0, 0.01)])
def test_a_slope_ends_at_the_boundary_and_says_so(slope, end):
    found = tune_outer(profile(lambda x: slope * np.log(x)), 0.01, 100.0, max_fits=30)
    assert found.at_boundary
    assert_allclose(found.value, end)


def test_each_fit_gets_the_nearest_one_before_it_and_the_limit_holds():
    seen = []
    found = tune_outer(profile(lambda x: -((np.log(x) - 0.3) ** 2), seen), 0.1, 10.0, max_fits=9)
    assert len(seen) == len(found.tried) <= 9
    assert seen[0][1] is None
    for i, (x, near) in enumerate(seen[1:], start=1):
        distances = [abs(np.log(before / x)) for before, _ in seen[:i]]
        assert near.at == seen[int(np.argmin(distances))][0]


def test_smooth_profiles_take_few_fits():
    found = tune_outer(profile(lambda x: -30 * (np.log(x) - 0.3) ** 2), 0.05, 3.0)
    assert len(found.tried) <= 8
    assert_allclose(np.log(found.value), 0.3, atol=0.02)


def test_choices_are_all_fitted_and_the_last_is_a_boundary():
    found = tune_choice(profile(lambda degree: -((degree - 3) ** 2)), range(1, 6))
    assert (found.value, found.at_boundary, len(found.tried)) == (3, False, 5)
    assert tune_choice(profile(float), range(1, 6)).at_boundary
    assert not tune_choice(profile(float), ["7"]).at_boundary
    with pytest.raises(ValueError, match="nothing to choose"):
        tune_choice(profile(float), [])


def test_ranges_that_are_none_are_refused():
    with pytest.raises(ValueError, match="need low < high"):
        tune_outer(profile(float), 2.0, 1.0)
    with pytest.raises(ValueError, match="0 < low"):
        tune_outer(profile(float), 0.0, 1.0)
    with pytest.raises(ValueError, match="coarse"):
        tune_outer(profile(float), 1.0, 2.0, coarse=2)
