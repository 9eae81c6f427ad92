# SPDX-License-Identifier: BSD-3-Clause
"""Pictures that are one row of a table: a bar, or a dot with its whisker; and the axis that stands above them.

The table is the figure: names and numbers are text in cells, and can be read, searched and copied without the picture.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from separatrix.report.svg import Picture, Scale, element, picture, place, spaced, text

__all__ = ["Mark", "axis_row", "bar", "whiskers"]

HEIGHT = 22
MIDDLE = "50%"


def bar(share: float, title: str, *, kind: str = "k0") -> Picture:
    """A bar over a share of the width."""
    box = {"class": f"bar {kind}", "x": 0, "y": "25%", "width": place(share), "height": "50%", "rx": 2}
    track = {"class": "track", "x": 0, "y": "25%", "width": "100%", "height": "50%", "rx": 2}
    return picture(HEIGHT, title, [element("rect", track), element("rect", box)], kind="row")


@dataclass(frozen=True)
class Mark:
    """A dot at the value, and a line over its interval where that is not NaN."""

    value: float
    lower: float
    upper: float
    kind: str = "k0"


def whiskers(marks: Sequence[Mark], scale: Scale, title: str, *, reference: float = math.nan) -> Picture:
    """Marks in one row, over the ticks of the scale and a line at the reference; what is outside is cut."""
    parts = [_upright(tick, scale, "grid") for tick in scale.ticks]
    if math.isfinite(reference):
        parts.append(_upright(reference, scale, "reference"))
    for mark in marks:
        parts += _drawn(mark, scale)
    return picture(HEIGHT, title, parts, kind="row")


def _drawn(mark: Mark, scale: Scale) -> list[Picture]:
    parts = []
    if math.isfinite(mark.lower) and math.isfinite(mark.upper):
        ends = [place(min(max(scale(x), 0.0), 1.0)) for x in (mark.lower, mark.upper)]
        across = {"x1": ends[0], "x2": ends[1], "y1": MIDDLE, "y2": MIDDLE}
        parts.append(element("line", {"class": f"whisker {mark.kind}", **across}))
    if math.isfinite(mark.value) and 0 <= scale(mark.value) <= 1:
        at = {"cx": place(scale(mark.value)), "cy": MIDDLE, "r": 4}
        parts.append(element("circle", {"class": f"dot {mark.kind}", **at}))
    return parts


def axis_row(scale: Scale, wording: Callable[[float], str], title: str, *, width: float) -> Picture:
    """The ticks of whiskers below, in words, for rows at least ``width`` pixels wide; those at the ends are inside."""
    parts = []
    for at, word in spaced(scale, [wording(tick) for tick in scale.ticks], width):
        anchor = "start" if at < 0.02 else "end" if at > 0.98 else "middle"
        parts.append(text(place(at), "80%", word, kind=f"tick {anchor}"))
    return picture(HEIGHT - 4, title, parts, kind="row axis")


def _upright(value: float, scale: Scale, kind: str) -> Picture:
    at = place(scale(value))
    return element("line", {"class": kind, "x1": at, "x2": at, "y1": "0%", "y2": "100%"})
