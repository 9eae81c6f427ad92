"""Text that is a number, a date or a gap."""

import datetime as dt
import math

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix.data.table.parse import GAP_WORDS, days_of, number_text, parse_date, parse_number


@settings(max_examples=100)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_survives_being_written(number):
    assert parse_number(number_text(number)) == number


@settings(max_examples=50)
@given(st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1)))
def test_a_date_survives_being_written_and_is_that_of_pandas(moment):
    days = parse_date(moment.isoformat())
    assert days == days_of(moment)
    assert days == pytest.approx(pd.Timestamp(moment).timestamp() / 86_400, rel=1e-12)


@pytest.mark.parametrize("text", ["07030", "-01", "1_000", "inf", "1,5", "12 %", "abc", "0x1f", "2024-01-01"])
def test_codes_and_words_are_not_numbers(text):
    assert parse_number(text) is None


@pytest.mark.parametrize(("text", "number"), [(" 1889.5 ", 1889.5), ("0", 0), ("-0.5", -0.5), ("1e3", 1000), ("+7", 7)])
def test_numbers_are(text, number):
    assert parse_number(text) == number


@pytest.mark.parametrize("text", ["2024-02-30", "31/12/2024", "20241231", "2024-W01-1", "2024", "2024-01-01 nonsense"])
def test_what_is_not_an_iso_date_is_not_a_date(text):
    assert parse_date(text) is None


def test_an_offset_is_left_aside_and_slashes_are_dashes():
    assert (
        parse_date("2024-03-01T18:00:00+05:00") == parse_date("2024/03/01 18:00") == days_of(dt.date(2024, 3, 1)) + 0.75
    )


@pytest.mark.parametrize("word", [*sorted(GAP_WORDS), " N/A "])
def test_words_for_gaps_are_gaps_among_numbers_and_dates(word):
    assert math.isnan(parse_number(word))
    assert math.isnan(parse_date(word))
