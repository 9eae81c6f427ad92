# SPDX-License-Identifier: BSD-3-Clause
"""The reliability diagram: what was predicted against what came true, over a histogram of the predictions."""

from __future__ import annotations

import numpy as np

from separatrix._array import Float
from separatrix.metrics import Reliability
from separatrix.report.svg import Picture, Scale, element, line, nice_scale, picture, place, stretched, text
from separatrix.report.words import percent

__all__ = ["histogram", "reliability_diagram", "scale_for"]

HEIGHT = 320
BARS_HEIGHT = 56
N_BARS = 20
UNIT = Scale(0.0, 1.0, (0.0, 0.25, 0.5, 0.75, 1.0))
ROOM = 0.6  # of the unit, under which a smaller range fills the picture


def scale_for(curve: Reliability) -> Scale:
    """From 0 to 1; of a rare event from 0 to where the highest whisker ends."""
    top = float(max(curve.predicted.max(), curve.upper.max()))
    return UNIT if top > ROOM else nice_scale([0.0, top], at_ticks=True)


def reliability_diagram(curve: Reliability, title: str) -> Picture:
    """Dots near the dotted diagonal are probabilities that mean what they say; whiskers are their intervals."""
    scale = scale_for(curve)
    grid = [_grid(tick, scale) for tick in scale.ticks]
    ends = np.array([0.0, 1.0])
    through = line(scale.of(curve.predicted), scale.of(curve.observed), "line k0 thin")
    inner = stretched([line(ends, ends, "diagonal"), through])
    marks = [
        _mark(scale(p), scale(share), scale(low), scale(high))
        for p, share, low, high in zip(curve.predicted, curve.observed, curve.lower, curve.upper, strict=True)
    ]
    return picture(HEIGHT, title, [*grid, inner, *marks], kind="square")


def histogram(p: Float, title: str, scale: Scale = UNIT) -> Picture:
    """How many rows were given which probability, in bars of equal width, the axis of the diagram below them.

    The last bar holds all rows beyond the scale, too.
    """
    counts = np.histogram(np.minimum(scale.of(p), 1.0), bins=N_BARS, range=(0.0, 1.0))[0]
    tallest = max(int(counts.max(initial=1)), 1)
    bars = [
        element(
            "rect",
            {
                "class": "bar k0",
                "x": place((i + 0.06) / N_BARS),
                "width": place(0.88 / N_BARS),
                "y": place(1 - count / tallest),
                "height": place(count / tallest),
            },
        )
        for i, count in enumerate(counts.tolist())
        if count
    ]
    named = [(place(scale(tick)), percent(tick)) for tick in scale.ticks]
    words = [text(at, "100%", word, kind="tick middle", shift=(0, 16)) for at, word in named]
    return picture(BARS_HEIGHT, title, [*bars, *words], kind="bars")


def _grid(tick: float, scale: Scale) -> Picture:
    x, y = place(scale(tick)), place(1 - scale(tick))
    return element(
        "g",
        {},
        element("line", {"class": "grid", "x1": "0%", "x2": "100%", "y1": y, "y2": y}),
        element("line", {"class": "grid", "x1": x, "x2": x, "y1": "0%", "y2": "100%"}),
        text("0%", y, percent(tick), kind="tick end", shift=(-6, 4)),
    )


def _mark(predicted: float, observed: float, lower: float, upper: float) -> Picture:
    x = place(predicted)
    reach = {"class": "whisker k0", "x1": x, "x2": x, "y1": place(1 - lower), "y2": place(1 - upper)}
    dot = {"class": "dot k0", "cx": x, "cy": place(1 - observed), "r": 4.5}
    return element("g", {}, element("line", reach), element("circle", dot))
