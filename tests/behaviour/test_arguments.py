# SPDX-License-Identifier: BSD-3-Clause
import math

import numpy as np
import pytest

from separatrix._arguments import check_count, check_option, check_positive, generator


@pytest.mark.parametrize("value", [0, -1, 2.0, "3", True, None])
def test_a_count_is_an_integer_of_at_least_one(value):
    with pytest.raises(ValueError, match=r"RBF\(n_centres=.*\): n_centres must be an integer, at least 1"):
        check_count("RBF", "n_centres", value)


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)])
def test_any_integer_type_counts(value):
    count = check_count("RBF", "n_centres", value)
    assert (count, type(count)) == (3, int)


@pytest.mark.parametrize("value", [0, -0.5, math.nan, math.inf, -math.inf, "1", True, None, [1.0]])
def test_a_width_is_finite_and_above_zero(value):
    with pytest.raises(ValueError, match=r"RBF\(width=.*\): width must be a finite number greater than 0"):
        check_positive("RBF", "width", value)


def test_an_unknown_option_is_answered_with_the_known_ones():
    with pytest.raises(ValueError, match=r"RBF\(centres='gird'\): choose one of 'data', 'grid', or an array\."):
        check_option("RBF", "centres", "gird", ["data", "grid"], otherwise=", or an array")


def test_no_seed_is_always_the_same_seed():
    assert generator(None).random() == generator(None).random()
    assert generator(1).random() == generator(1).random() != generator(2).random()


def test_a_generator_is_used_as_it_stands():
    rng = np.random.default_rng(3)
    assert generator(rng) is rng
