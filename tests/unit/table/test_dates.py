"""Dates in every order: written by Python, read back, and as pandas and dateutil read them."""

import datetime as dt

import dateutil.parser
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix.table.text import DAY_FIRST, MONTH_FIRST, ORDERS, SHORT_YEARS, YEAR_FIRST, days_since_1970, read_dates

DAYS = {
    YEAR_FIRST: ["%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d"],
    DAY_FIRST: ["%d.%m.%Y", "%d/%m/%Y", "%d-%m-%Y"],
    MONTH_FIRST: ["%m/%d/%Y", "%m-%d-%Y"],
}
SHORT_DAYS = dict(
    zip(SHORT_YEARS, (["%d.%m.%y", "%d/%m/%y", "%d-%m-%y"], ["%m/%d/%y", "%m-%d-%y"], ["%y-%m-%d"]), strict=True)
)
CLOCKS = {"": "day", " %H:%M": "minute", "T%H:%M:%S": "second", " %H:%M:%S.%f": "microsecond", ", %I:%M %p": "minute"}
MOMENTS = st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1))


def read(text, order):
    dates = read_dates([text], order)
    return None if dates is None else dates[0]


@settings(max_examples=150)
@given(MOMENTS, st.sampled_from(sorted(DAYS)), st.sampled_from(sorted(CLOCKS)), st.data())
def test_a_date_survives_being_written(moment, order, clock, data):
    kept = {"day": 3, "minute": 5, "second": 6, "microsecond": 7}[CLOCKS[clock]]
    whole = dt.datetime(*[*moment.timetuple()[:6], moment.microsecond][:kept])
    text = whole.strftime(data.draw(st.sampled_from(DAYS[order])) + clock)
    assert read(text, order) == days_since_1970(whole)
    if order != YEAR_FIRST:
        assert dateutil.parser.parse(text, dayfirst=order == DAY_FIRST) == whole


@settings(max_examples=50)
@given(MOMENTS, st.sampled_from(["", "Z", "+05:00", "-0330", "+02"]))
def test_iso_times_are_those_of_the_clock_whatever_the_offset(moment, offset):
    assert read(moment.isoformat() + (offset if moment.isoformat().count(":") else ""), YEAR_FIRST) == days_since_1970(
        moment
    )


def test_whole_columns_are_those_of_pandas():
    moments = pd.Series(pd.date_range("1899-12-30 23:00", periods=400, freq="97h"))
    for order, formats in DAYS.items():
        for format in formats:
            texts = [*moments.dt.strftime(f"{format} %H:%M:%S"), "NA"]
            expected = [*(moments - pd.Timestamp(0)) / pd.Timedelta("1D"), np.nan]
            np.testing.assert_allclose(read_dates(texts, order), expected, rtol=1e-15)


@pytest.mark.parametrize(
    "text",
    [
        "2024-02-30", "30.02.2024", "29.02.2023", "31/04/2024", "20241231", "2024-W01-1", "2024", "2024-01-01 nonsense",
        "01.02/2024", "1.2.24", "2024-13-01", "00/01/2024", "01/01/2024 24:00", "01/01/2024 13:00 PM", "0000-01-01",
        "01/01/2024 10:60", "1/1/2024 1",
    ],
)  # fmt: skip
def test_what_is_no_date_is_none_in_any_order(text):
    assert [read(text, order) for order in ORDERS] == [None] * 6


def test_the_order_decides_and_points_mean_day_first():
    assert read("03/04/2024", DAY_FIRST) == days_since_1970(dt.date(2024, 4, 3))
    assert read("03/04/2024", MONTH_FIRST) == days_since_1970(dt.date(2024, 3, 4))
    assert read("03.04.2024", MONTH_FIRST) is None
    assert read("25/12/2024", MONTH_FIRST) is None
    assert read("12/25/2024", DAY_FIRST) is None


def test_noon_and_midnight():
    noon, midnight = (read(f"1/1/1970 12:00 {half}", MONTH_FIRST) for half in ("p.m.", "AM"))
    assert (noon, midnight) == (0.5, 0.0)


@settings(max_examples=100)
@given(st.dates(dt.date(1900, 1, 1), dt.date(2099, 12, 31)), st.sampled_from(SHORT_YEARS), st.data())
def test_years_of_two_digits_are_of_the_century_that_python_has_for_them(day, order, data):
    format = data.draw(st.sampled_from(SHORT_DAYS[order]))
    text = day.strftime(format)
    try:
        expected = days_since_1970(dt.datetime.strptime(text, format))
    except ValueError:  # 29 February of 1900
        expected = None
    assert read(text, order) == expected
    assert [read(text, long) for long in DAYS] == [None] * 3


def test_with_points_and_one_digit_it_may_be_a_version():
    assert [read("1.2.24", order) for order in SHORT_YEARS] == [None] * 3
    assert read("1/2/24", SHORT_YEARS[1]) == days_since_1970(dt.date(2024, 1, 2))
