from xml.etree import ElementTree

import numpy as np
import pytest

from separatrix.report.svg import Scale
from separatrix.report.svg_rows import Mark, axis_row, bar, whiskers

SCALE = Scale(0.0, 10.0, (0.0, 5.0, 10.0))


def parse(picture):
    return ElementTree.fromstring(picture.markup)


def test_a_bar_is_as_long_as_its_share():
    assert [rect.get("width") for rect in parse(bar(0.375, "title")).iter("rect")] == ["100%", "37.5%"]


def test_a_mark_stands_at_its_value_over_its_interval():
    drawn = parse(whiskers([Mark(2.5, 1.0, 4.0)], SCALE, "title", reference=5.0))
    assert drawn.find("circle").get("cx") == "25%"
    assert next((x.get("x1"), x.get("x2")) for x in drawn.iter("line") if "whisker" in x.get("class")) == ("10%", "40%")
    assert next(x.get("x1") for x in drawn.iter("line") if x.get("class") == "reference") == "50%"


@pytest.mark.parametrize("bound", [np.nan, np.inf])
def test_where_there_is_no_interval_the_dot_stands_alone(bound):
    drawn = parse(whiskers([Mark(2.5, -bound, bound)], SCALE, "title"))
    assert not [x for x in drawn.iter("line") if "whisker" in x.get("class")]
    assert drawn.find("circle") is not None


def test_what_is_beyond_the_scale_is_cut():
    drawn = parse(whiskers([Mark(12.0, -3.0, 30.0)], SCALE, "title"))
    assert drawn.find("circle") is None
    assert next((x.get("x1"), x.get("x2")) for x in drawn.iter("line") if "whisker" in x.get("class")) == ("0%", "100%")


def test_the_words_at_the_ends_of_an_axis_stay_inside():
    classes = [t.get("class") for t in parse(axis_row(SCALE, "{:g}".format, "axis", width=300.0)).iter("text")]
    assert classes == ["tick start", "tick middle", "tick end"]
