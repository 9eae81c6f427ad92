"""Moments of numbers, merged: those of NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix.table.statistics import NumberStatistics


@settings(max_examples=60)
@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=40), st.sampled_from([0.0, 1e9]))
def test_moments_are_numpys(numbers, offset):
    x = np.array(numbers) + offset
    facts = NumberStatistics.of(x[: len(x) // 2]) + NumberStatistics.of(x[len(x) // 2 :])
    assert facts.count == len(x)
    assert (facts.low, facts.high) == (x.min(), x.max())
    assert facts.mean == pytest.approx(x.mean(), rel=1e-12, abs=1e-6)
    assert facts.variance == pytest.approx(x.var(), rel=1e-9, abs=1e-12 * x.var() + 1e-6)
    assert facts.whole == bool((x == np.floor(x)).all())


def test_counted_numbers_are_repeated_numbers():
    x, times = np.array([1.0, 2.5, 7.0]), np.array([3, 1, 2])
    counted, repeated = NumberStatistics.of(x, times), NumberStatistics.of(np.repeat(x, times))
    assert counted.count == repeated.count
    assert counted.mean == pytest.approx(repeated.mean, rel=1e-15)
    assert counted.squares == pytest.approx(repeated.squares, rel=1e-14)


def test_numbers_too_large_to_square_have_a_mean_all_the_same():
    facts = NumberStatistics.of(np.array([1e308, -1e308, 1e308])) + NumberStatistics.of(np.array([1.5e308, 1.5e308]))
    assert facts.mean == pytest.approx(0.8e308)
    assert facts.variance == np.inf


def test_equal_numbers_have_their_own_mean_and_no_variance():
    facts = NumberStatistics.of(np.full(7, 0.1)) + NumberStatistics.of(np.full(3, 0.1))
    assert facts.mean == 0.1
    assert facts.variance == 0.0
