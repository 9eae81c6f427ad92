# SPDX-License-Identifier: BSD-3-Clause
"""Elements and axes of pictures that fit any width.

A picture has a fixed height and the width of its place. Marks and text stand at percentages of it, so that type keeps
its size on a telephone and on a wall; only paths, which know no percentages, are stretched, inside an inner drawing of
1000 by 1000 units, with strokes that are not. Colours are classes of the style sheet: the same picture is light, dark
and printed. Text is escaped here, once, and nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from separatrix._array import Float

__all__ = [
    "Picture",
    "Scale",
    "area",
    "element",
    "line",
    "nice_scale",
    "picture",
    "place",
    "round_step",
    "spaced",
    "stretched",
    "text",
]

UNITS = 1000  # of the inner drawing: a thousandth of the width is under a pixel
LETTER, GAP = 6.8, 8.0  # pixels that a letter takes at most, and that are left between words


@dataclass(frozen=True)
class Picture:
    """Finished markup, which templates insert as it is."""

    markup: str

    def __html__(self) -> str:
        """What a template inserts without escaping it again."""
        return self.markup


def element(tag: str, attributes: Mapping[str, object], *children: str | Picture) -> Picture:
    """One element. Children that are text are escaped; attributes that are None are left out."""
    inside = "".join(child.markup if isinstance(child, Picture) else escape(child) for child in children)
    stated = "".join(f' {name}="{escape(str(value))}"' for name, value in attributes.items() if value is not None)
    return Picture(f"<{tag}{stated}>{inside}</{tag}>" if inside else f"<{tag}{stated}/>")


def picture(height: int, title: str, parts: Iterable[Picture], *, kind: str = "") -> Picture:
    """The whole picture; ``title`` is what a screen reader says of it."""
    attributes = {"class": f"picture {kind}".strip(), "role": "img", "aria-label": title, "height": height}
    return element("svg", {**attributes, "width": "100%"}, *parts)


def place(fraction: float) -> str:
    """A percentage of the width or the height."""
    return f"{100 * fraction:.2f}".rstrip("0").rstrip(".") + "%"


def text(x: str, y: str, content: str, *, kind: str, shift: tuple[float, float] = (0, 0)) -> Picture:
    """Text at a place, moved from it by pixels."""
    dx, dy = shift
    return element("text", {"x": x, "y": y, "dx": dx or None, "dy": dy or None, "class": kind}, content)


def stretched(parts: Iterable[Picture]) -> Picture:
    """The inner drawing, for what `line` and `area` make."""
    box = {"viewBox": f"0 0 {UNITS} {UNITS}", "preserveAspectRatio": "none", "width": "100%", "height": "100%"}
    return element("svg", box, *parts)


def line(x: Float, y: Float, kind: str) -> Picture:
    """A line through points of the unit square, y upwards; it is interrupted where a number is missing."""
    known = np.isfinite(x) & np.isfinite(y)
    moves = np.concatenate([[True], ~known[:-1]])[: len(known)]
    path = "".join(
        f"{'M' if move else 'L'}{_point(a, b)}" for a, b, ok, move in zip(x, y, known, moves, strict=True) if ok
    )
    return element("path", {"class": kind, "d": path})


def area(x: Float, lower: Float, upper: Float, kind: str) -> Picture:
    """The band between two lines, where both are known."""
    known = np.isfinite(lower) & np.isfinite(upper)
    if known.sum() < 2:
        return Picture("")
    around = [*zip(x[known], upper[known], strict=True), *reversed([*zip(x[known], lower[known], strict=True)])]
    return element("path", {"class": kind, "d": f"M{'L'.join(_point(a, b) for a, b in around)}Z"})


def _point(x: float, y: float) -> str:
    return f"{UNITS * x:.0f},{UNITS * (1 - y):.0f}"


@dataclass(frozen=True)
class Scale:
    """From values to the unit interval; ``ticks`` are round values in it."""

    low: float
    high: float
    ticks: tuple[float, ...] = ()

    def __call__(self, value: float) -> float:
        """0 at the low end, 1 at the high end."""
        return (value - self.low) / (self.high - self.low)

    def of(self, values: Float) -> Float:
        """The same of an array."""
        return np.asarray((values - self.low) / (self.high - self.low))


def nice_scale(values: Sequence[float] | Float, *, n_ticks: int = 4, at_ticks: bool = False) -> Scale:
    """A scale that holds all finite values, with about ``n_ticks`` round ticks; ``at_ticks`` if it should end at them.

    Examples
    --------
    >>> nice_scale([0.1, 0.93], at_ticks=True)
    Scale(low=0.0, high=1.0, ticks=(0.0, 0.2, 0.4, 0.6, 0.8, 1.0))
    >>> nice_scale([17, 90]).ticks
    (20.0, 40.0, 60.0, 80.0)
    """
    finite = np.asarray(values, dtype=np.float64)
    finite = finite[np.isfinite(finite)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    if high - low <= 1e-12 * max(abs(low), abs(high)):  # one value: it stands in the middle
        low, high = low - (abs(low) / 2 or 0.5), high + (abs(high) / 2 or 0.5)
    step = round_step((high - low) / n_ticks)
    first, last = (math.floor(low / step), math.ceil(high / step)) if at_ticks else _inside(low, high, step)
    ticks = tuple(float(f"{step * i:.12g}") + 0.0 for i in range(first, last + 1))
    return Scale(ticks[0], ticks[-1], ticks) if at_ticks else Scale(low, high, ticks)


def spaced(scale: Scale, words: Sequence[str], width: float) -> list[tuple[float, str]]:
    """Places and words of ticks that do not touch in a picture at least ``width`` pixels wide: all, or every second...

    Ticks are counted from the one nearest to zero, so that it stays.
    """
    zero = int(np.argmin(np.abs(scale.ticks))) if scale.ticks else 0
    room = (max(map(len, words), default=0) * LETTER + GAP) / width
    apart = min(np.diff([scale(tick) for tick in scale.ticks]), default=1.0)
    every = max(math.ceil(room / apart), 1)
    return [
        (scale(tick), word)
        for i, (tick, word) in enumerate(zip(scale.ticks, words, strict=True))
        if (i - zero) % every == 0
    ]


def _inside(low: float, high: float, step: float) -> tuple[int, int]:
    slack = 1e-9
    return math.ceil(low / step - slack), math.floor(high / step + slack)


def round_step(step: float) -> float:
    """1, 2 or 5 times a power of ten: the one nearest in ratio.

    Examples
    --------
    >>> round_step(37.0), round_step(0.13)
    (50.0, 0.1)
    """
    power = 10.0 ** math.floor(math.log10(step))
    return min((power * m for m in (1, 2, 5, 10)), key=lambda s: abs(math.log(s / step)))
