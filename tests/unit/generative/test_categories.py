"""Counts by value: facts agree on what they counted, in any order of learning."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from separatrix.exceptions import DataError
from separatrix.families import Categorical
from separatrix.generative.categories import ValueCounts, ValuedCategorical, codes_of

VALUES = st.sampled_from([-3.0, 0.5, 2.0, 1e6, np.nan])


def same(a, b):
    assert all(map(np.array_equal, a.values, b.values))
    np.testing.assert_allclose(a.counts, b.counts, atol=1e-12)


@given(arrays(float, (12, 2), elements=VALUES), st.integers(1, 11))
@settings(max_examples=40)
def test_counts_of_two_parts_add_to_those_of_the_whole(x, cut):
    R = np.random.default_rng(0).random((12, 3))
    same(ValueCounts.of(x[:cut], R[:cut]) + ValueCounts.of(x[cut:], R[cut:]), ValueCounts.of(x, R))


def test_counts_are_sums_of_responsibilities():
    x, R = np.array([[7.0], [-1.0], [7.0], [np.nan]]), np.array([[1.0, 0], [0, 2], [0.25, 0.75], [5, 5]])
    facts = ValueCounts.of(x, R)
    assert facts.values[0].tolist() == [-1.0, 7.0]
    np.testing.assert_allclose(facts.counts[:, 0], [[0, 1.25], [2, 0.75]])
    assert facts.levels.tolist() == [2]


def test_values_of_rows_without_weight_are_no_categories():
    facts = ValueCounts.of(np.array([[1.0], [2.0]]), np.array([[1.0], [0.0]]))
    assert facts.values[0].tolist() == [1.0]


def test_classes_and_columns_can_be_taken_and_moved():
    x = np.array([[1.0, 5.0], [2.0, 5.0], [2.0, 6.0]])
    facts = ValueCounts.of(x, np.eye(3))
    moved = facts.on_classes(np.array([3, 0, 1]), 4)
    np.testing.assert_array_equal(moved.counts[[3, 0, 1]], facts.counts)
    assert not moved.counts[2].any()
    assert facts[:, [1]].values[0].tolist() == [5.0, 6.0]
    np.testing.assert_array_equal(facts[1:].counts, facts.counts[1:])


def test_codes_get_the_names_they_stand_for():
    facts = ValueCounts.of(np.array([[0.0], [2.0]]), np.eye(2)).renamed(0, np.array(["a", "b", "c"]))
    assert facts.values[0].tolist() == ["a", "c"]


def test_text_and_numbers_do_not_mix():
    numbers = ValueCounts.of(np.array([[4.0]]), np.ones((1, 1)))
    with pytest.raises(DataError, match="holds text in one part of the rows \\('a'\\) and numbers in another \\(4\\)"):
        _ = numbers + ValueCounts.of(np.array([[0.0]]), np.ones((1, 1))).renamed(0, np.array(["a"]))


def test_densities_look_values_up_and_draw_them():
    facts = ValueCounts.of(np.array([[-3.0], [10.0], [10.0], [10.0]]), np.ones((4, 1)))
    density = ValuedCategorical.of(facts, Categorical.of_mean_u([[[0.25, 0.75]]]))
    expected = np.log([[0.25], [0.75]])
    np.testing.assert_allclose(density.log_density_sum(np.array([[-3.0], [10.0]])), expected)
    assert density.log_density_sum(np.array([[0.0], [np.nan]])).tolist() == [[-np.inf], [0.0]]
    drawn = density[0].sample(np.random.default_rng(0), 4000)
    assert set(drawn.ravel()) == {-3.0, 10.0}
    assert abs((drawn == 10.0).mean() - 0.75) < 4 * np.sqrt(0.75 * 0.25 / 4000)


def test_a_value_absent_from_a_short_list_has_the_code_after_the_longest():
    codes = codes_of(np.array([[1.0, 1.0], [9.0, 9.0]]), [np.array([1.0]), np.array([1.0, 2.0, 3.0])])
    assert codes.tolist() == [[0, 0], [3, 3]]
