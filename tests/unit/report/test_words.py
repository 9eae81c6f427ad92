import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.report import words


@given(st.floats(min_value=-1e12, max_value=1e12, allow_subnormal=False))
def test_a_number_reads_back_to_its_digits(value):
    text = words.number(value).replace(words.MINUS, "-").replace(",", "")
    assert math.isclose(float(text), value, rel_tol=0.006, abs_tol=0)


@given(st.floats(min_value=0, max_value=1))
def test_a_percentage_is_within_its_last_digit_and_never_wrongly_all_or_nothing(share):
    text = words.percent(share).removesuffix(f"{words.SPACE}%")
    if text[0] in "<>":
        assert min(share, 1 - share) < 0.0005
    else:
        assert abs(float(text) - 100 * share) <= 0.5
        assert (text in ("0", "100")) == (share in (0, 1))


def test_what_is_not_a_number_is_a_dash():
    assert {words.number(np.nan), words.percent(np.nan), words.fixed(np.nan), words.seconds(np.nan)} == {words.NOTHING}


@pytest.mark.parametrize(
    ("bounds", "text"),
    [((1.4142, 1.31, 1.532), "1.4 (1.3 to 1.5)"), ((1.0031, 1.0021, 1.0041), "1.003 (1.002 to 1.004)")],
)
def test_an_interval_has_the_digits_that_tell_its_ends_apart(bounds, text):
    assert words.interval(*bounds, 2) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.0001, "1 ms"), (0.25, "250 ms"), (0.99999, "1.0 s"), (2.34, "2.3 s"), (200.0, "3 min 20 s")]
)
def test_durations(value, text):
    assert words.seconds(value).replace(words.SPACE, " ") == text


@pytest.mark.parametrize(
    ("n", "what", "text"), [(1, "row", "1 row"), (2, "class", "2 classes"), (9e4, "row", "90,000 rows")]
)
def test_things_are_counted(n, what, text):
    assert words.counted(n, what).replace(words.SPACE, " ") == text


@given(st.text(max_size=80), st.integers(8, 40))
def test_a_short_text_stays_and_a_long_one_keeps_both_ends(text, room):
    short = words.shortened(text, room)
    assert len(short) <= room
    assert short == text if len(text) <= room else "…" in short


@given(st.floats(0.05, 20.0), st.floats(0.0, 3.0))
def test_a_factor_is_one_in_words_only_if_it_is_one(value, reach):
    text = words.factor_interval(value, value * math.exp(-reach), value * math.exp(reach))
    low = text.partition("(")[2].partition(" to ")[0] or text
    if abs(value * math.exp(-reach) - 1) > 1e-5:
        assert low != "1"


def test_labels():
    assert [words.label_text(x) for x in (np.str_("a\n b"), np.int64(3), 2.0, "", None)] == [
        "a b",
        "3",
        "2",
        "(blank)",
        "None",
    ]
