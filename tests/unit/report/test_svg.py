from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.report.svg import Scale, area, element, line, nice_scale, picture, spaced, stretched, text

NUMBERS = st.floats(min_value=-1e9, max_value=1e9, allow_subnormal=False)


@given(
    st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="￾￿"), min_size=1)
)
def test_any_text_survives_as_content_and_as_an_attribute(words):
    parsed = ElementTree.fromstring(element("text", {"title": words}, words).markup)
    assert (parsed.text, parsed.get("title")) == (words, words)


@given(st.lists(NUMBERS, min_size=1, max_size=6), st.booleans())
def test_a_scale_holds_its_values_and_its_ticks_are_evenly_spaced_inside(values, at_ticks):
    scale = nice_scale(values, at_ticks=at_ticks)
    places = scale.of(np.array(values))
    assert ((places >= -1e-9) & (places <= 1 + 1e-9)).all()
    assert all(-1e-6 <= scale(tick) <= 1 + 1e-6 for tick in scale.ticks)
    steps = np.diff(scale.ticks)
    assert np.allclose(steps, steps[:1], rtol=1e-6)
    if at_ticks:
        assert (scale.low, scale.high) == (scale.ticks[0], scale.ticks[-1])


def test_a_scale_of_nothing_is_the_unit_interval():
    assert (nice_scale([np.nan]).low, nice_scale([np.nan]).high) == (0.0, 1.0)


def test_words_of_ticks_do_not_touch_and_zero_keeps_its_own():
    scale = Scale(-1.0, 1.0, tuple(np.linspace(-1, 1, 9).tolist()))
    kept = spaced(scale, [f"{tick:.2f}" for tick in scale.ticks], 150.0)
    assert (0.5, "0.00") in kept
    assert len(kept) < len(scale.ticks)
    assert min(np.diff([at for at, _ in kept])) * 150.0 >= 5 * 6.8


def test_a_line_is_interrupted_where_a_number_is_missing():
    y = np.array([0.0, 1.0, np.nan, 1.0, 0.0])
    path = ElementTree.fromstring(line(np.linspace(0, 1, 5), y, "k").markup).get("d")
    assert path == "M0,1000L250,0M750,0L1000,1000"


def test_a_band_goes_out_above_and_back_below():
    path = ElementTree.fromstring(area(np.array([0.0, 1.0]), np.zeros(2), np.ones(2), "k").markup).get("d")
    assert path == "M0,0L1000,0L1000,1000L0,1000Z"


@pytest.mark.parametrize("missing", [np.full(3, np.nan), np.array([0.2, np.nan, np.nan])])
def test_a_band_of_fewer_than_two_points_is_not_drawn(missing):
    assert area(np.linspace(0, 1, 3), missing, missing, "k").markup == ""


def test_a_picture_has_a_name_for_those_who_do_not_see_it():
    parts = [
        stretched([line(np.array([0.0, 1.0]), np.array([0.0, 1.0]), "k")]),
        text("0%", "50%", "a < b", kind="tick"),
    ]
    parsed = ElementTree.fromstring(picture(20, 'the "title" & more', parts).markup)
    assert (parsed.get("role"), parsed.get("aria-label")) == ("img", 'the "title" & more')
    assert parsed.find("text").text == "a < b"
