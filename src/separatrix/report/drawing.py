# SPDX-License-Identifier: BSD-3-Clause
"""SVG pictures that fit any width: bars, dots with whiskers, probability curves, the reliability diagram.

A picture has a fixed height and fills the width of its container. Positions of marks and text are in percent of the
width, so text keeps its size on every screen. Paths cannot use percentages: they are drawn in an inner SVG of 1000 x
1000 units, which is stretched while its strokes keep their width. Colours are CSS classes, so that one picture works in
light mode, in dark mode and on paper. All text is escaped in `element`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np

from separatrix._array import Float
from separatrix.effects import round_step
from separatrix.metrics import Reliability
from separatrix.report.words import number, percent

INNER_UNITS = 1000  # width and height of the stretched inner SVG
LETTER_PIXELS, WORD_GAP_PIXELS = 6.8, 8.0  # width of the widest letter, and space between two tick labels
ROW_PIXELS, CURVE_PIXELS, RELIABILITY_PIXELS, HISTOGRAM_PIXELS = 22, 150, 320, 56  # heights
MIN_CARD_PIXELS = 230.0  # smallest width of a picture with an axis below it
CROWDED_FRACTION = 0.15  # if half of the values lie within this fraction of the range, the axis is asinh(x / s)
RUG_FRACTION = 0.16  # height of the bars that show the distribution of the rows, relative to the picture
MIN_RUG_WIDTH = 0.01  # width of the bar of one value, relative to the picture
N_HISTOGRAM_BARS = 20


class Picture(str):
    """Finished markup; templates call ``__html__`` and insert it without escaping."""

    __slots__ = ()
    __html__ = str.__str__


@dataclass(frozen=True)
class Scale:
    """Linear map from ``low`` .. ``high`` to 0 .. 1; ``ticks`` are round values in that range."""

    low: float
    high: float
    ticks: tuple[float, ...] = ()

    def __call__(self, value: Any) -> Any:
        return (value - self.low) / (self.high - self.low)


UNIT_SCALE = Scale(0.0, 1.0, (0.0, 0.25, 0.5, 0.75, 1.0))


class Mark(NamedTuple):
    """Dot at a value with a whisker over its interval, or a curve of values with a band; ``kind`` is its CSS class.

    There is no whisker or band if a bound is not finite.
    """

    value: Any
    lower: Any
    upper: Any
    kind: str = "k0"


class Axis(NamedTuple):
    """Positions (G,) of values on a scale from 0 to 1, and ticks as pairs of position and text."""

    at: Float
    ticks: tuple[tuple[float, str], ...]


def element(tag: str, attributes: Mapping[str, object], *children: str) -> Picture:
    """One SVG element. Children that are plain text are escaped; attributes that are None are left out."""
    inside = "".join(child if isinstance(child, Picture) else escape(child) for child in children)
    stated = "".join(f' {name}="{escape(str(value))}"' for name, value in attributes.items() if value is not None)
    return Picture(f"<{tag}{stated}>{inside}</{tag}>" if inside else f"<{tag}{stated}/>")


def picture(height: int, title: str, parts: Iterable[Picture], *, kind: str = "") -> Picture:
    """Whole picture; screen readers read ``title``."""
    attributes = {"class": f"picture {kind}".strip(), "role": "img", "aria-label": title, "height": height}
    return element("svg", {**attributes, "width": "100%"}, *parts)


def place(fraction: float) -> str:
    """Format a fraction of the width or height as an SVG position in percent."""
    return f"{100 * fraction:.2f}".rstrip("0").rstrip(".") + "%"


def text(x: str, y: str, content: str, *, kind: str, shift: tuple[float, float] = (0, 0)) -> Picture:
    """Text at a position, shifted by pixels."""
    dx, dy = shift
    return element("text", {"x": x, "y": y, "dx": dx or None, "dy": dy or None, "class": kind}, content)


def rule(kind: str, *, x: float | None = None, y: float | None = None) -> Picture:
    """Vertical line at ``x`` or horizontal line at ``y``, in fractions from the left and from the bottom."""
    x1, x2 = ("0%", "100%") if x is None else (place(x),) * 2
    y1, y2 = ("0%", "100%") if y is None else (place(1 - y),) * 2
    return element("line", {"class": kind, "x1": x1, "x2": x2, "y1": y1, "y2": y2})


def stretched(parts: Iterable[Picture]) -> Picture:
    """Inner SVG for the paths of `line`."""
    size = INNER_UNITS
    box = {"viewBox": f"0 0 {size} {size}", "preserveAspectRatio": "none", "width": "100%", "height": "100%"}
    return element("svg", box, *parts)


def line(x: Float, y: Float, kind: str, *, end: str = "") -> Picture:
    """Line through points of the unit square, y upwards; it is interrupted at missing values."""
    known = np.isfinite(x) & np.isfinite(y)
    steps = []
    for i in np.flatnonzero(known):
        move = "L" if i and known[i - 1] else "M"
        steps.append(f"{move}{INNER_UNITS * x[i]:.0f},{INNER_UNITS * (1 - y[i]):.0f}")
    return element("path", {"class": kind, "d": "".join(steps) + end})


def nice_scale(values: Sequence[float] | Float, *, n_ticks: int = 4, at_ticks: bool = False) -> Scale:
    """Scale that contains all finite values, with about ``n_ticks`` round ticks; ``at_ticks`` makes it end at ticks.

    >>> nice_scale([0.1, 0.93], at_ticks=True)
    Scale(low=0.0, high=1.0, ticks=(0.0, 0.2, 0.4, 0.6, 0.8, 1.0))
    >>> nice_scale([17, 90]).ticks
    (20.0, 40.0, 60.0, 80.0)
    """
    finite = np.asarray(values, dtype=np.float64)
    finite = finite[np.isfinite(finite)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    if high - low <= 1e-12 * max(abs(low), abs(high)):  # a single value is placed in the middle
        low, high = low - (abs(low) / 2 or 0.5), high + (abs(high) / 2 or 0.5)
    step = round_step((high - low) / n_ticks)
    if at_ticks:
        first, last = math.floor(low / step), math.ceil(high / step)
    else:
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    ticks = tuple(float(f"{step * i:.12g}") + 0.0 for i in range(first, last + 1))
    return Scale(ticks[0], ticks[-1], ticks) if at_ticks else Scale(low, high, ticks)


def spaced(scale: Scale, words: Sequence[str], width: float) -> list[tuple[float, str]]:
    """Positions and texts of the ticks that fit into ``width`` pixels without touching.

    These are all ticks, every second tick, or fewer. The tick nearest to zero is always kept.
    """
    zero = int(np.argmin(np.abs(scale.ticks))) if scale.ticks else 0
    room = (max(map(len, words), default=0) * LETTER_PIXELS + WORD_GAP_PIXELS) / width
    apart = min(np.diff([scale(tick) for tick in scale.ticks]), default=1.0)
    every = max(math.ceil(room / apart), 1)
    named = zip(scale.ticks, words, strict=True)
    return [(scale(tick), word) for i, (tick, word) in enumerate(named) if (i - zero) % every == 0]


def axis_along(x: Float, *, is_date: bool = False) -> Axis:
    """Axis of at least two increasing values; dates are days since 1970.

    Values that crowd at one end, such as incomes, get the axis asinh(x / s): linear up to about s, logarithmic beyond.

    >>> axis = axis_along(np.array([0.0, 100.0, 1000.0, 2000.0, 5000.0, 99999.0]))
    >>> [word for _, word in axis.ticks]
    ['0', '1k', '10k', '100k']
    >>> print(axis.at[2] > 0.1)  # a linear axis has 0.01
    True
    """
    low, middle, high = np.quantile(x, [0.0, 0.5, 1.0])
    if not is_date and min(middle - low, high - middle) < CROWDED_FRACTION * (high - low):
        size = np.abs(x[x != 0])
        s = float(np.median(size)) / 5
        u = np.arcsinh(x / s)
        ends = Scale(float(u.min()), float(u.max()))
        powers = (10.0 ** np.arange(math.floor(math.log10(s)), math.ceil(math.log10(float(size.max()))) + 1)).tolist()
        # Candidates in order of preference: zero, powers of ten from the ends inwards, then 5 and 2 times them.
        groups = [[0.0], powers, [m * power for m in (5.0, 2.0) for power in powers]]
        kept: list[tuple[float, str]] = []
        for group in groups:
            places = [(ends(float(np.arcsinh(tick / s))), tick) for value in group for tick in {value, -value}]
            for at, tick in sorted(places, key=lambda item: -abs(item[0] - 0.5)):
                if -1e-9 <= at <= 1.02 and all(abs(at - other) > 0.16 for other, _ in kept):
                    kept.append((min(max(at, 0.0), 1.0), _short(tick)))
        return Axis(ends(u), tuple(sorted(kept)))
    for n_ticks in (4, 6, 9):  # more ticks if a narrow range leaves fewer than two labels
        scale = nice_scale(x, n_ticks=n_ticks)
        unit = "M" if scale.high - scale.low > 120 else "D"
        dates = [str(np.datetime64(int(tick), "D").astype(f"datetime64[{unit}]")) for tick in scale.ticks if is_date]
        ticks = spaced(scale, dates or [_short(tick) for tick in scale.ticks], MIN_CARD_PIXELS)
        if len({word for _, word in ticks}) > 1:
            break
    return Axis(scale(x), tuple(ticks))


def _short(value: float) -> str:
    """Format a number, with k for thousands and M for millions."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size and (abs(value) >= 10 * size or value % size == 0):
            return f"{number(value / size)}{letter}"
    return number(value, 4)


def bar(fraction: float, title: str, kind: str = "k0", ends: tuple[float, float] | None = None) -> Picture:
    """Bar over a fraction of the width, with a whisker between two other fractions if they are given."""
    box = {"x": 0, "y": "25%", "height": "50%", "rx": 2}
    track = element("rect", {"class": "track", "width": "100%", **box})
    filled = element("rect", {"class": f"bar {kind}", "width": place(fraction), **box})
    parts = [track, filled]
    if ends is not None:
        x1, x2 = map(place, ends)
        parts.append(element("line", {"class": "whisker ink", "x1": x1, "x2": x2, "y1": "50%", "y2": "50%"}))
    return picture(ROW_PIXELS, title, parts, kind="row")


def whiskers(marks: Sequence[Mark], scale: Scale, title: str, *, reference: float = math.nan) -> Picture:
    """Marks in one row, with grid lines at the ticks and a line at the reference; marks are cut at the ends."""
    parts = [rule("grid", x=scale(tick)) for tick in scale.ticks]
    if math.isfinite(reference):
        parts.append(rule("reference", x=scale(reference)))
    for mark in marks:
        if math.isfinite(mark.lower) and math.isfinite(mark.upper):
            x1, x2 = (place(min(max(scale(x), 0.0), 1.0)) for x in (mark.lower, mark.upper))
            ends = {"x1": x1, "x2": x2, "y1": "50%", "y2": "50%"}
            parts.append(element("line", {"class": f"whisker {mark.kind}", **ends}))
        if math.isfinite(mark.value) and 0 <= scale(mark.value) <= 1:
            centre = {"cx": place(scale(mark.value)), "cy": "50%", "r": 4}
            parts.append(element("circle", {"class": f"dot {mark.kind}", **centre}))
    return picture(ROW_PIXELS, title, parts, kind="row")


def axis_row(scale: Scale, wording: Callable[[float], str], title: str, *, width: float) -> Picture:
    """Tick labels above rows of whiskers that are at least ``width`` pixels wide."""
    parts = []
    for at, word in spaced(scale, [wording(tick) for tick in scale.ticks], width):
        anchor = "start" if at < 0.02 else "end" if at > 0.98 else "middle"
        parts.append(text(place(at), "80%", word, kind=f"tick {anchor}"))
    return picture(ROW_PIXELS - 4, title, parts, kind="row axis")


def curves(
    axis: Axis,
    found: Sequence[Mark],
    density: Float,
    upright: Scale,
    title: str,
    *,
    reference: float = math.nan,
    others: Sequence[Float] = (),
    wording: Callable[[float], str] = percent,
) -> Picture:
    """Curves with bands over grey bars whose areas are the fractions of rows, ``density`` (G,).

    ``reference`` is a value at which a dashed line is drawn, and ``others`` (G,) are dashed curves. ``wording`` formats
    the ticks of the vertical axis.
    """
    grid = [_labelled_rule(tick, upright, wording) for tick in upright.ticks]
    # Each bar reaches half way to its neighbours.
    edges = np.concatenate([[0.0], 0.5 * (axis.at[1:] + axis.at[:-1]), [1.0]])
    heights = density / np.maximum(np.diff(edges), MIN_RUG_WIDTH)
    path, highest = "", heights.max(initial=0.0)
    for a, b, height in zip(edges[:-1], edges[1:], heights, strict=True):
        if height > 0:
            top = 1 - RUG_FRACTION * height / highest
            path += f"M{1000 * a:.0f},1000V{1000 * top:.0f}H{1000 * b:.0f}V1000Z"
    rug = element("path", {"class": "rug", "d": path}) if path else Picture("")
    inner = [rug, line(np.array([0.0, 1.0]), np.full(2, upright(reference)), "level")]
    inner += [line(axis.at, upright(other), "level") for other in others]
    for c in found:
        known = np.isfinite(c.lower) & np.isfinite(c.upper)
        if known.sum() > 1:  # outline: forwards along the upper bound, back along the lower bound
            x, lower, upper = axis.at[known], upright(c.lower[known]), upright(c.upper[known])
            inner.append(line(np.r_[x, x[::-1]], np.r_[upper, lower[::-1]], f"band {c.kind}", end="Z"))
    inner += [line(axis.at, upright(c.value), f"line {c.kind}") for c in found]
    below = [text(place(at), "100%", word, kind="tick middle", shift=(0, 16)) for at, word in axis.ticks]
    return picture(CURVE_PIXELS, title, [*grid, stretched(inner), *below], kind="curves")


def _labelled_rule(tick: float, upright: Scale, wording: Callable[[float], str] = percent) -> Picture:
    y = upright(tick)
    label = text("0%", place(1 - y), wording(tick), kind="tick end", shift=(-6, 4))
    return element("g", {}, rule("grid", y=y), label)


def reliability_diagram(curve: Reliability, scale: Scale, title: str) -> Picture:
    """Observed frequencies against predicted probabilities, with intervals; the diagonal means perfect calibration."""
    grid = [element("g", {}, _labelled_rule(tick, scale), rule("grid", x=scale(tick))) for tick in scale.ticks]
    ends = np.array([0.0, 1.0])
    through = line(scale(curve.predicted), scale(curve.observed), "line k0 thin")
    marks = []
    for p, observed, low, high in zip(curve.predicted, curve.observed, curve.lower, curve.upper, strict=True):
        x, y, y1, y2 = place(scale(p)), place(1 - scale(observed)), place(1 - scale(low)), place(1 - scale(high))
        whisker = element("line", {"class": "whisker k0", "x1": x, "x2": x, "y1": y1, "y2": y2})
        marks.append(element("g", {}, whisker, element("circle", {"class": "dot k0", "cx": x, "cy": y, "r": 4.5})))
    inner = stretched([line(ends, ends, "diagonal"), through])
    return picture(RELIABILITY_PIXELS, title, [*grid, inner, *marks], kind="square")


def histogram(p: Float, scale: Scale, title: str, weight: Float | None = None) -> Picture:
    """Number of rows by predicted probability; rows beyond the scale are counted in the last bar."""
    counts = np.histogram(np.minimum(scale(p), 1.0), bins=N_HISTOGRAM_BARS, range=(0.0, 1.0), weights=weight)[0]
    width = {"width": place(0.88 / N_HISTOGRAM_BARS)}
    bars = []
    for i, height in enumerate((counts / max(counts.max(), 1)).tolist()):
        if height:
            at = {"x": place((i + 0.06) / N_HISTOGRAM_BARS), "y": place(1 - height), "height": place(height)}
            bars.append(element("rect", {"class": "bar k0", **at, **width}))
    words = [text(place(scale(tick)), "100%", percent(tick), kind="tick middle", shift=(0, 16)) for tick in scale.ticks]
    return picture(HISTOGRAM_PIXELS, title, [*bars, *words], kind="bars")
