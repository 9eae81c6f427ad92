"""Numbers as text, and pictures as SVG."""

import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.metrics import reliability
from separatrix.report import drawing, words

TEN = drawing.Scale(0.0, 10.0, (0.0, 5.0, 10.0))
VALUES = st.lists(
    st.floats(-1e6, 1e6, allow_subnormal=False).map(lambda x: round(x, 3)), min_size=2, max_size=30, unique=True
)
NUMBERS = st.floats(min_value=-1e9, max_value=1e9, allow_subnormal=False)
TEXT = st.text(
    alphabet=st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="￾￿"), min_size=1
)


@given(st.floats(min_value=-1e12, max_value=1e12, allow_subnormal=False))
def test_a_number_reads_back_to_its_digits(value):
    text = words.number(value).replace(words.MINUS, "-").replace(",", "")
    assert math.isclose(float(text), value, rel_tol=0.006, abs_tol=0)


@given(st.floats(min_value=0, max_value=1))
def test_a_percentage_is_never_rounded_to_0_or_100(fraction):
    text = words.percent(fraction).removesuffix(f"{words.SPACE}%")
    if text[0] in "<>":
        assert min(fraction, 1 - fraction) < 0.0005
    else:
        assert abs(float(text) - 100 * fraction) <= 0.5
        assert (text in ("0", "100")) == (fraction in (0, 1))


@given(st.floats(0.05, 20.0), st.floats(0.0, 3.0))
def test_a_factor_reads_1_only_if_it_is_1(value, reach):
    text = words.interval(value, value * math.exp(-reach), value * math.exp(reach))
    low = text.partition("(")[2].partition(" to ")[0] or text
    if abs(value * math.exp(-reach) - 1) > 1e-5:
        assert low != "1"


@given(st.text(max_size=80), st.integers(8, 40))
def test_a_long_name_keeps_both_ends(text, room):
    short, whole = words.shortened(text, room), words.label_text(text)
    assert len(short) <= room
    assert short == whole if len(whole) <= room else "…" in short


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (words.seconds(0.0001), "1 ms"),
        (words.seconds(0.99999), "1.0 s"),
        (words.seconds(200.0), "3 min 20 s"),
        (words.counted(1, "row"), "1 row"),
        (words.counted(2, "class"), "2 classes"),
        (words.counted(9e4, "row"), "90,000 rows"),
        (words.label_text(np.str_("a\n b")), "a b"),
        (words.label_text(np.int64(3)), "3"),
        (words.label_text(""), "(blank)"),
        (words.number(np.nan) + words.percent(np.nan) + words.fixed(np.nan) + words.seconds(np.nan), 4 * words.UNKNOWN),
    ],
)
def test_text_of_values(text, expected):
    assert text.replace(words.SPACE, " ") == expected


@given(TEXT)
def test_any_text_survives_as_content_and_as_an_attribute(text):
    parsed = ElementTree.fromstring(drawing.element("text", {"title": text}, text))
    assert (parsed.text, parsed.get("title")) == (text, text)


@given(st.lists(NUMBERS, min_size=1, max_size=6), st.booleans())
def test_a_scale_contains_its_values_and_has_evenly_spaced_ticks(values, at_ticks):
    scale = drawing.nice_scale(values, at_ticks=at_ticks)
    places = scale(np.array(values))
    assert ((places >= -1e-9) & (places <= 1 + 1e-9)).all()
    assert all(-1e-6 <= scale(tick) <= 1 + 1e-6 for tick in scale.ticks)
    steps = np.diff(scale.ticks)
    assert np.allclose(steps, steps[:1], rtol=1e-6)
    if at_ticks:
        assert (scale.low, scale.high) == (scale.ticks[0], scale.ticks[-1])


@given(VALUES)
def test_an_axis_keeps_the_order_and_both_ends_and_names_two_places(values):
    x = np.sort(np.array(values))
    axis = drawing.axis_along(x)
    assert (np.diff(axis.at) > 0).all()
    assert max(abs(axis.at[0]), abs(axis.at[-1] - 1)) < 1e-9
    assert all(-1e-6 <= at <= 1 + 1e-6 for at, _ in axis.ticks)
    assert len({word for _, word in axis.ticks}) > 1


def by_class(picture, tag, name):
    return [e for e in ElementTree.fromstring(picture).iter(tag) if name in e.get("class", "").split()]


def fraction(text):
    return float(text.removesuffix("%")) / 100


def test_a_mark_is_at_its_value_over_its_interval_and_cut_at_the_scale():
    drawn = drawing.whiskers([drawing.Mark(2.5, 1.0, 40.0)], TEN, 'the "title" & more', reference=5.0)
    assert ElementTree.fromstring(drawn).get("aria-label") == 'the "title" & more'
    assert [dot.get("cx") for dot in by_class(drawn, "circle", "dot")] == ["25%"]
    assert [(x.get("x1"), x.get("x2")) for x in by_class(drawn, "line", "whisker")] == [("10%", "100%")]
    assert [x.get("x1") for x in by_class(drawn, "line", "reference")] == ["50%"]


def test_curves_have_their_band_their_reference_and_bars_with_areas_in_proportion():
    curve = drawing.Mark(np.array([0.1, 0.5, 0.9]), np.array([0.0, 0.4, 0.8]), np.array([0.2, 0.6, 1.0]), "k0 c0")
    axis = drawing.Axis(np.array([0.0, 0.5, 1.0]), ((0.5, "middle"),))
    density = np.array([0.2, 0.6, 0.2])
    drawn = drawing.curves(axis, [curve], density, drawing.Scale(0.0, 1.0, (0.0, 1.0)), "title", reference=0.25)
    paths = {p.get("class"): p.get("d") for p in ElementTree.fromstring(drawn).iter("path")}
    assert paths["line k0 c0"] == "M0,900L500,500L1000,100"
    assert paths["band k0 c0"] == "M0,800L500,400L1000,0L1000,200L500,600L0,1000Z"
    assert paths["level"] == "M0,750L1000,750"
    bars = re.findall(r"M(\d+),1000V(\d+)H(\d+)V1000Z", paths["rug"])
    areas = np.array([(int(b) - int(a)) * (1000 - int(top)) for a, top, b in bars], dtype=float)
    np.testing.assert_allclose(areas / areas.sum(), density, atol=0.01)
    assert max(1000 - int(top) for _, top, _ in bars) == 1000 * drawing.RUG_FRACTION


@pytest.mark.parametrize("high", [1.0, 0.2])
def test_the_reliability_diagram_shows_every_bin(rng, high):
    p, scale = rng.beta(1, 1 if high == 1 else 40, size=3000), drawing.Scale(0.0, high, (0.0, high / 2, high))
    curve = reliability(np.column_stack([1 - p, p]), (rng.random(3000) < p).astype(int))
    drawn = drawing.reliability_diagram(curve, scale, "title")
    dots = [(fraction(c.get("cx")), 1 - fraction(c.get("cy"))) for c in by_class(drawn, "circle", "dot")]
    np.testing.assert_allclose(
        np.array(dots) * scale.high, np.column_stack([curve.predicted, curve.observed]), atol=1e-4
    )
    ends = [(1 - fraction(x.get("y1")), 1 - fraction(x.get("y2"))) for x in by_class(drawn, "line", "whisker")]
    np.testing.assert_allclose(np.array(ends) * scale.high, np.column_stack([curve.lower, curve.upper]), atol=1e-4)
    counts = np.histogram(np.minimum(p, scale.high), drawing.N_HISTOGRAM_BARS, (0, scale.high))[0]
    heights = [fraction(r.get("height")) for r in by_class(drawing.histogram(p, scale, "title"), "rect", "bar")]
    np.testing.assert_allclose(heights, counts[counts > 0] / counts.max(), atol=1e-4)
