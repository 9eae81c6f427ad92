"""Words for gaps, days since 1970, and numbers as one writes them."""

import datetime as dt

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix.table.parse import GAP_WORDS, days_of, number_text, tidied


@settings(max_examples=100)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_survives_being_written(number):
    assert float(number_text(number)) == number
    assert not number_text(number).endswith(".0")


@settings(max_examples=50)
@given(st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1)))
def test_days_are_those_of_pandas(moment):
    assert days_of(moment) == pytest.approx(pd.Timestamp(moment).timestamp() / 86_400, rel=1e-12)
    assert days_of(moment.date()) == (pd.Timestamp(moment).normalize() - pd.Timestamp(0)).days


@pytest.mark.parametrize("word", [*sorted(GAP_WORDS), " N/A "])
def test_words_for_gaps_are_nothing(word):
    assert tidied([word, " 1 ", word.strip() + "x"]) == ["", "1", word.strip() + "x"]
