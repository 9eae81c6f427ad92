"""Numbers in every spelling: written by hand, read back; what is no number in any."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix.table.text import MISSING_WORDS, PLAIN, SPELLINGS, format_number, read_numbers, split_units

WAYS = {
    "1234.5": ("", "."),
    "1,234.5": (",", "."),
    "1234,5": ("", ","),
    "1.234,5": (".", ","),
    "1 234.5": ("\u00a0", "."),
    "1 234,5": (" ", ","),
    "1'234.5": ("\u2019", "."),
    "1'234,5": ("'", ","),
}


def spelled(number, decimals, group, point):
    """By Python's own formatting, whose marks are then exchanged."""
    return f"{number:,.{decimals}f}".translate({ord(","): group, ord("."): point})


def read(text, spelling=PLAIN, unit=""):
    numbers = read_numbers([text], spelling, unit)
    return None if numbers is None else numbers[0]


def test_every_spelling_is_tried_here():
    assert list(WAYS) == list(SPELLINGS)
    assert [read(name, name) for name in SPELLINGS] == [1234.5] * len(SPELLINGS)


@settings(max_examples=150)
@given(st.floats(-1e12, 1e12), st.integers(0, 4), st.sampled_from(sorted(WAYS)), st.sampled_from(["", "€", "%", "CHF"]))
def test_a_number_survives_being_spelled(number, decimals, name, unit):
    text = spelled(number, decimals, *WAYS[name])
    expected = float(f"{number:.{decimals}f}")
    assert read(text, name) == expected
    assert read(f"{text} {unit}", name, unit) == expected
    assert read(f"{unit}{text}", name, unit) == expected
    if unit and text.startswith("-"):
        assert read(f"-{unit} {text[1:]}", name, unit) == expected
        assert read("\u2212" + text[1:], name) == expected


@settings(max_examples=100)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_as_python_writes_it_is_plain(number):
    assert read(format_number(number)) == number


@pytest.mark.parametrize(("text", "number"), [(" 1889.5 ", 1889.5), ("0", 0), ("-0.5", -0.5), ("1e3", 1000), ("+7", 7)])
def test_numbers_are(text, number):
    assert read(text) == number
    for name, spelling in SPELLINGS.items():
        assert read(text.replace(".", spelling.point), name) == number


@pytest.mark.parametrize(
    "text",
    ["07030", "-01", "1_000", "inf", "abc", "0x1f", "2024-01-01", "1e400", "12 kg", "€", "03.01.2020", "1 %%", "."],
)
def test_codes_and_words_are_no_numbers_in_any_spelling(text):
    assert [read(text, name, "€") for name in SPELLINGS if text not in MISSING_WORDS] == [None] * len(SPELLINGS) * (
        text not in MISSING_WORDS
    )


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("1,5", "1,234.5"),
        ("0,512", "1,234.5"),
        ("12,34,567", "1,234.5"),
        ("1,2345", "1,234.5"),
        ("1.5", "1.234,5"),
        ("1.5", "1234,5"),
        ("1 234'567", "1 234.5"),
        ("1.234.567", "1234.5"),
        ("1234 567", "1 234.5"),
    ],
)
def test_thousands_come_in_threes_and_marks_are_kept_apart(text, name):
    assert read(text, name) is None


@pytest.mark.parametrize("word", [*sorted(MISSING_WORDS), " N/A "])
def test_words_for_gaps_are_gaps(word):
    assert all(math.isnan(read(word, name)) for name in SPELLINGS)
    np.testing.assert_array_equal(read_numbers([word, "1,5"], "1234,5"), [np.nan, 1.5])


def test_one_text_may_be_two_numbers():
    assert (read("1,234", "1234,5"), read("1,234", "1,234.5")) == (1.234, 1234.0)


def test_units_are_told_and_another_one_is_refused():
    assert split_units(["5 %", "", "-€3", "7"]) == ({"%", "€", ""}, ["5", "", "-3", "7"])
    assert split_units(["", ""]) == (set(), ["", ""])
    assert read("$5", unit="€") is None
    assert read("5", unit="€") == 5
