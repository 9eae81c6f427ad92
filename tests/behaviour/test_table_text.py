"""Numbers and dates written as text are read as Python, pandas and dateutil read them."""

import datetime as dt

import dateutil.parser
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix.table.statistics import text_readings
from separatrix.table.text import (
    DAY_FIRST,
    MONTH_FIRST,
    ORDERS,
    PLAIN,
    SHORT_YEARS,
    SPELLINGS,
    YEAR_FIRST,
    format_number,
    parse_dates,
    read_numbers,
    tidy,
)

MARKS = {
    "1234.5": ("", "."),
    "1,234.5": (",", "."),
    "1234,5": ("", ","),
    "1.234,5": (".", ","),
    "1 234.5": ("\u00a0", "."),
    "1 234,5": (" ", ","),
    "1'234.5": ("\u2019", "."),
    "1'234,5": ("'", ","),
}


def days_since_1970(moment):
    return (moment - dt.datetime(1970, 1, 1)) / dt.timedelta(days=1)


def spelled(number, decimals, group, point):
    """Format a number with Python, then replace decimal point and separators."""
    return f"{number:,.{decimals}f}".translate({ord(","): group, ord("."): point})


def read_number(text, spelling=PLAIN, unit=""):
    (number,) = read_numbers([text], spelling, unit)
    return None if np.isnan(number) else number


def test_every_spelling_is_tested():
    indian, negatives = "12,34,567.5", ("{}", "({})", "{}-")
    assert [form.format(name) for form in negatives for name in [*MARKS, indian]] == list(SPELLINGS)
    numbers = [1234.5] * len(MARKS) + [1234567.5]
    assert [read_number(name, name) for name in SPELLINGS] == [*numbers, *[-number for number in [*numbers, *numbers]]]


@settings(max_examples=150)
@given(
    st.floats(-1e12, 1e12), st.integers(0, 4), st.sampled_from(sorted(MARKS)), st.sampled_from(["", "€", "%", "CHF"])
)
def test_a_formatted_number_is_read_back(number, decimals, name, unit):
    text = spelled(number, decimals, *MARKS[name])
    expected = float(f"{number:.{decimals}f}")
    assert read_number(text, name) == expected
    assert read_number(f"{text} {unit}", name, unit) == expected
    assert read_number(f"{unit}{text}", name, unit) == expected
    if unit and text.startswith("-"):
        assert read_number(f"-{unit} {text[1:]}", name, unit) == expected
        assert read_number("\u2212" + text[1:], name) == expected


@settings(max_examples=150)
@given(st.floats(-1e12, 1e12), st.integers(0, 4), st.sampled_from(sorted(MARKS)), st.sampled_from(["€", "%", "CHF"]))
def test_a_negative_number_of_accounts_is_read_back(number, decimals, name, unit):
    text, expected = spelled(abs(number), decimals, *MARKS[name]), float(f"{number:.{decimals}f}")
    accounts = {
        f"({name})": ["({0})", "({0} {1})", "({1}{0})", "{1} ({0})"],
        f"{name}-": ["{0}-", "{0}- {1}", "{1}{0}-"],
    }
    for spelling, forms in accounts.items():
        for form in forms if number < 0 else ["{0}", "{0} {1}", "{1}{0}"]:
            assert read_number(form.format(text, unit), spelling, unit) == expected
        assert read_number(f"-{text}", spelling) == -abs(expected)
        for wrong in (f"-({text})", f"(-{text})", f"({text}", f"{text})", f"-{text}-", f"({text}-)", f"(({text}))"):
            assert read_number(wrong, spelling) is None
        if number < 0:
            assert read_number(forms[0].format(text, ""), name) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12,34,567", 1234567), ("1,23,45,678.25", 12345678.25), ("-1,00,000", -1e5), ("1,234", 1234),
        ("99,999", 99999), ("123,456", None), ("1,234,567", None), ("1,23,4567", None), ("1,2,345", None),
        ("0,12,345", None),
    ],
)  # fmt: skip
def test_indian_thousands_are_grouped_in_twos_before_the_last_three(text, expected):
    assert read_number(text, "12,34,567.5") == expected


@settings(max_examples=100)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_formatted_by_python_is_read_back(number):
    assert read_number(format_number(number)) == number


@pytest.mark.parametrize(
    "text", ["07030", "-01", "1_000", "inf", "abc", "0x1f", "2024-01-01", "1e400", "12 kg", "€", "03.01.2020", "1 %%"]
)
def test_codes_and_words_are_not_numbers(text):
    assert [read_number(text, name, "€") for name in SPELLINGS] == [None] * len(SPELLINGS)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("1,5", "1,234.5"), ("0,512", "1,234.5"), ("12,34,567", "1,234.5"), ("1,2345", "1,234.5"), ("1.5", "1.234,5"),
        ("1.5", "1234,5"), ("1 234'567", "1 234.5"), ("1.234.567", "1234.5"), ("1234 567", "1 234.5"),
    ],
)  # fmt: skip
def test_thousands_are_grouped_in_threes(text, name):
    assert read_number(text, name) is None


DAY_FORMATS = {
    YEAR_FIRST: ["%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d"],
    DAY_FIRST: ["%d.%m.%Y", "%d/%m/%Y", "%d-%m-%Y"],
    MONTH_FIRST: ["%m/%d/%Y", "%m-%d-%Y"],
}
SHORT_DAYS = dict(
    zip(SHORT_YEARS, (["%d.%m.%y", "%d/%m/%y", "%d-%m-%y"], ["%m/%d/%y", "%m-%d-%y"], ["%y-%m-%d"]), strict=True)
)
CLOCKS = {"": "day", " %H:%M": "minute", "T%H:%M:%S": "second", " %H:%M:%S.%f": "microsecond", ", %I:%M %p": "minute"}
MOMENTS = st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1))


def read_date(text, order):
    (date,) = parse_dates([text], order)
    return None if np.isnan(date) else date


@settings(max_examples=150)
@given(MOMENTS, st.sampled_from(sorted(DAY_FORMATS)), st.sampled_from(sorted(CLOCKS)), st.data())
def test_a_formatted_date_is_read_back(moment, order, clock, data):
    kept = {"day": 3, "minute": 5, "second": 6, "microsecond": 7}[CLOCKS[clock]]
    whole = dt.datetime(*[*moment.timetuple()[:6], moment.microsecond][:kept])
    text = whole.strftime(data.draw(st.sampled_from(DAY_FORMATS[order])) + clock)
    assert read_date(text, order) == days_since_1970(whole)
    if order != YEAR_FIRST:
        assert dateutil.parser.parse(text, dayfirst=order == DAY_FIRST) == whole


@settings(max_examples=50)
@given(MOMENTS, st.sampled_from(["", "Z", "+05:00", "-0330", "+02"]))
def test_iso_times_are_local_whatever_the_offset(moment, offset):
    assert read_date(moment.isoformat() + offset, YEAR_FIRST) == days_since_1970(moment)


def test_columns_of_dates_agree_with_pandas():
    moments = pd.Series(pd.date_range("1899-12-30 23:00", periods=400, freq="97h"))
    for order, formats in DAY_FORMATS.items():
        for format in formats:
            texts = [*moments.dt.strftime(f"{format} %H:%M:%S"), "NA"]
            expected = [*(moments - pd.Timestamp(0)) / pd.Timedelta("1D"), np.nan]
            np.testing.assert_allclose(parse_dates(tidy(texts), order), expected, rtol=1e-15)


@pytest.mark.parametrize(
    "text",
    [
        "2024-02-30", "30.02.2024", "29.02.2023", "31/04/2024", "20241231", "2024-W01-1", "2024", "2024-01-01 nonsense",
        "01.02/2024", "1.2.24", "2024-13-01", "00/01/2024", "01/01/2024 24:00", "01/01/2024 13:00 PM", "0000-01-01",
        "01/01/2024 10:60", "1/1/2024 1",
    ],
)  # fmt: skip
def test_invalid_dates_are_not_dates_in_any_order(text):
    assert [read_date(text, order) for order in ORDERS] == [None] * 6


def test_noon_and_midnight():
    noon, midnight = (read_date(f"1/1/1970 12:00 {half}", MONTH_FIRST) for half in ("p.m.", "AM"))
    assert (noon, midnight) == (0.5, 0.0)


@settings(max_examples=100)
@given(st.dates(dt.date(1900, 1, 1), dt.date(2099, 12, 31)), st.sampled_from(SHORT_YEARS), st.data())
def test_years_of_two_digits_have_the_century_of_python(day, order, data):
    format = data.draw(st.sampled_from(SHORT_DAYS[order]))
    text = day.strftime(format)
    try:
        expected = days_since_1970(dt.datetime.strptime(text, format))
    except ValueError:  # 29 February of 1900
        expected = None
    assert read_date(text, order) == expected
    assert [read_date(text, long) for long in DAY_FORMATS] == [None] * 3


def read_column(texts):
    """The column as numbers, and as dates."""
    return text_readings(texts, np.ones(len(texts), dtype=int), np.arange(len(texts)))


@pytest.mark.parametrize(
    ("texts", "expected", "unit", "high", "rival"),
    [
        (["1.5", "20"], "1234.5", "", 20, ""),
        (["1,5", "20"], "1234,5", "", 20, ""),
        (["1.188,62", "20"], "1.234,5", "", 1188.62, ""),
        (["1,188.62", "20"], "1,234.5", "", 1188.62, ""),
        (["1 188,62", "20"], "1 234,5", "", 1188.62, ""),
        (["1'188.62", "20"], "1'234.5", "", 1188.62, ""),
        (["12.345.678", "20"], "1.234,5", "", 12345678, ""),
        (["12,345", "9"], "1,234.5", "", 12345, "1234,5"),
        (["12,345", "0,5"], "1234,5", "", 12.345, ""),
        (["12.345", "9"], "1234.5", "", 12.345, "1.234,5"),
        (["12 %", "9%"], "1234.5", "%", 12, ""),
        (["€ 1.234,50", "9 €"], "1.234,5", "€", 1234.5, ""),
        (["-$1,234.50", "$9"], "1,234.5", "$", 9, ""),
        (["($1,234.50)", "$9"], "(1,234.5)", "$", 9, ""),
        (["(1.234,50)", "9"], "(1.234,5)", "", 9, ""),
        (["12.5-", "9", "-3"], "1234.5-", "", 9, ""),
        (["12,34,567", "1,234", "9"], "12,34,567.5", "", 1234567, ""),
    ],
)
def test_the_column_decides_the_spelling_of_its_numbers(texts, expected, unit, high, rival):
    found, _ = read_column([*texts, "NA"])
    assert (found.key, found.best.high, found.rival) == ((expected, unit), high, rival)
    assert found.best.count == len(texts)
    assert not found.n_odd


@pytest.mark.parametrize(
    "texts", [["1.5", "1,5"], ["5 %", "5"], ["5 €", "5 $"], ["1.234,5", "1,234.5"], ["a", "1"], ["(1)", "1-"]]
)
def test_columns_in_several_spellings_are_not_numbers(texts):
    assert read_column(texts)[0].n_odd == 1


@pytest.mark.parametrize(
    ("texts", "expected", "rival"),
    [
        (["2024-12-25"], YEAR_FIRST, ""),
        (["03/04/2024", "25/12/2024"], DAY_FIRST, ""),
        (["03/04/2024", "12/25/2024"], MONTH_FIRST, ""),
        (["03/04/2024", "05/06/2024"], DAY_FIRST, MONTH_FIRST),
        (["03/03/2024", "06/06/2024"], DAY_FIRST, ""),
        (["03.04.2024"], DAY_FIRST, ""),
    ],
)
def test_the_column_decides_the_order_of_day_and_month(texts, expected, rival):
    _, found = read_column([*texts, "?"])
    assert (found.key[0], found.rival) == (expected, rival)
