"""What a person reads when tuning runs into something."""

import pytest

from separatrix.bayesian.tuning import Boundary, Limit, TuningStatus


@pytest.mark.parametrize("limit", Limit)
def test_a_limit_names_its_columns_and_what_it_means(limit):
    text = Boundary("g", ("age", "height"), limit).describe()
    assert text.startswith("Tuning ran to the boundary: 'age', 'height' are ")
    assert text.endswith(limit.value + ".")
    assert "'age' is " in Boundary("g", ("age",), limit).describe()


def test_many_columns_are_counted():
    text = Boundary("all", tuple(f"x{i}" for i in range(12)), Limit.NARROW).describe()
    assert "'x4' and 7 more are irrelevant" in text


def test_each_status_is_a_sentence():
    assert len({status.value for status in TuningStatus}) == len(TuningStatus) == 3
