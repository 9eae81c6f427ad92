# SPDX-License-Identifier: BSD-3-Clause
"""Probabilities along a column of numbers or dates: a line for each class with its band, and where the rows are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from separatrix._array import Float
from separatrix.report.svg import Picture, Scale, area, element, line, picture, place, stretched, text
from separatrix.report.words import percent

__all__ = ["Curve", "curves"]

HEIGHT = 150
RUG = 0.16  # part of the height that the shares of the rows take
THINNEST = 0.01  # of the width: a bar for one value among many


@dataclass(frozen=True, eq=False)
class Curve:
    """The probability of one class along a column, with its band; ``kind`` is the class of its colour."""

    mean: Float
    lower: Float
    upper: Float
    kind: str


def curves(
    at: Float,
    found: list[Curve],
    share: Float,
    ticks: Sequence[tuple[float, str]],
    upright: Scale,
    title: str,
    *,
    reference: float = math.nan,
) -> Picture:
    """Lines over places ``at`` from 0 to 1 of the width; ``share`` is the part of the rows at each.

    ``ticks`` are places with their words, and ``reference`` is a level to hold the lines against.
    """
    grid = [_level(tick, upright) for tick in upright.ticks]
    ends = np.array([0.0, 1.0])
    inner = [_histogram(at, share), line(ends, np.full(2, upright(reference)), "level")]
    inner += [area(at, upright.of(c.lower), upright.of(c.upper), f"band {c.kind}") for c in found]
    inner += [line(at, upright.of(c.mean), f"line {c.kind}") for c in found]
    return picture(HEIGHT, title, [*grid, stretched(inner), *_below(ticks)], kind="curves")


def _level(tick: float, upright: Scale) -> Picture:
    y = place(1 - upright(tick))
    rule = element("line", {"class": "grid", "x1": "0%", "x2": "100%", "y1": y, "y2": y})
    return element("g", {}, rule, text("0%", y, percent(tick), kind="tick end", shift=(-6, 4)))


def _histogram(at: Float, share: Float) -> Picture:
    """One path for all bars, each reaching half way to its neighbours; their areas are the shares."""
    edges = np.concatenate([[0.0], 0.5 * (at[1:] + at[:-1]), [1.0]])
    density = share / np.maximum(np.diff(edges), THINNEST)
    tallest = float(density.max(initial=0.0))
    if not tallest > 0:
        return Picture("")
    tops = RUG * density / tallest
    path = "".join(
        f"M{1000 * a:.0f},1000V{1000 * (1 - top):.0f}H{1000 * b:.0f}V1000Z"
        for a, b, top in zip(edges[:-1], edges[1:], tops, strict=True)
        if top > 0
    )
    return element("path", {"class": "rug", "d": path})


def _below(ticks: Sequence[tuple[float, str]]) -> list[Picture]:
    return [text(place(at), "100%", word, kind="tick middle", shift=(0, 16)) for at, word in ticks]
