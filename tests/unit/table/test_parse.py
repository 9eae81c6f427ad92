"""Words for gaps, days since 1970, and numbers as one writes them."""

import datetime as dt

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix.table.text import MISSING_WORDS, days_since_1970, format_number, tidy


@settings(max_examples=100)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_survives_being_written(number):
    assert float(format_number(number)) == number
    assert not format_number(number).endswith(".0")


@settings(max_examples=50)
@given(st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1)))
def test_days_are_those_of_pandas(moment):
    assert days_since_1970(moment) == pytest.approx(pd.Timestamp(moment).timestamp() / 86_400, rel=1e-12)
    assert days_since_1970(moment.date()) == (pd.Timestamp(moment).normalize() - pd.Timestamp(0)).days


@pytest.mark.parametrize("word", [*sorted(MISSING_WORDS), " N/A "])
def test_words_for_gaps_are_nothing(word):
    assert tidy([word, " 1 ", word.strip() + "x"]) == ["", "1", word.strip() + "x"]
