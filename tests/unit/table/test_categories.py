"""Which levels of a _category get a column, which share one, and what cannot be a _category."""

import numpy as np
import pandas as pd
import pytest

from separatrix.table.inference import Options, _cannot_be, _category
from separatrix.table.statistics import table_statistics

LEVELS = np.repeat(["a", "b", "c", "d"], [40, 30, 20, 3])


def facts(values, **options):
    return table_statistics(pd.DataFrame({"c": values}), **options).columns["c"]


def test_frequent_levels_come_first_and_rare_ones_share():
    plan = _category("c", facts(LEVELS), Options(max_levels=2, min_count=1, drop="none", hashing=None))
    assert (plan.levels, plan.pooled) == (("a", "b"), ("c", "d"))
    plan = _category("c", facts(LEVELS), Options(max_levels=9, min_count=10, drop="first", hashing=None))
    assert (plan.levels, plan.pooled, plan.reference) == (("a", "b", "c"), ("d",), "a")


@pytest.mark.parametrize(("max_levels", "hashed"), [(3, True), (4, False)])
def test_only_more_levels_than_have_a_column_are_hashed(max_levels, hashed):
    options = Options(max_levels=max_levels, min_count=1, drop="none", hashing=16)
    assert options.hashes(facts(LEVELS)) == hashed
    assert len(_category("c", facts(LEVELS), options).names) == (16 if hashed else 4)


def test_why_not_is_said_with_an_example():
    assert "'c' cannot be 'date': it holds text, such as 'a', 4 different values" in str(
        _cannot_be("c", facts(LEVELS), "date")
    )
    many = facts([f"v{i}" for i in range(50)], max_distinct=20)
    assert "only up to 20 are counted (max_distinct=20)" in str(_cannot_be("c", many, "categorical"))
