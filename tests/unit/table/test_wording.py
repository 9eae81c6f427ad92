"""Facts in words."""

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from separatrix.table.facts import table_facts
from separatrix.table.wording import brief, how_many, of_what, only_value, percent, share_missing, written


def facts(values, **options):
    return table_facts(pd.DataFrame({"c": values}), **options).columns["c"]


def test_numbers_are_as_short_as_they_can_be():
    assert [brief(7.0), brief(0.1234567), brief(1e12)] == ["7", "0.123457", "1e+12"]
    assert [written(7030.0), written(0.1), written("a")] == ["7030", "0.1", "a"]


def test_text_and_truth_are_quoted_and_numbers_not():
    assert [only_value(facts(values)) for values in (["a"], [True], [3.0])] == ["'a'", "True", "3"]


def test_small_shares_keep_two_digits():
    assert share_missing(1, 3000) == "1 missing (0.033 %)"
    assert share_missing(1, 3) == "1 missing (33 %)"


@given(st.integers(0, 10**7), st.integers(1, 10**7))
def test_a_percentage_is_right_to_two_digits_and_exact_at_the_ends(part, whole):
    share = min(part, whole) / whole
    shown = percent(share)
    number = float(shown.removesuffix(" %"))
    assert abs(number - 100 * share) <= max(0.051 * 100 * min(share, 1 - share), 1e-12)
    assert (shown == "0 %") == (share == 0)
    assert (shown == "100 %") == (share == 1)
    assert len(shown) <= 12


def test_an_estimate_is_called_one():
    values = [f"v{i}" for i in range(50)]
    assert how_many(facts(values)) == "50 of 50"
    assert how_many(facts(values, max_distinct=10)) == "about 50 of 50"


def test_levels_are_text_or_numbers():
    assert of_what(facts(["a", "b"])) == "text, "
    assert of_what(facts([1, 2])) == "numbers taken as names, "
