# SPDX-License-Identifier: BSD-3-Clause
"""Where the values of a column stand along a picture, and which of them are named below it.

Numbers such as incomes crowd at one end, and a few large ones would take nearly all of the width. Their axis is
asinh(x / s), which is linear up to about s and logarithmic beyond, on both sides of zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from separatrix._array import Float
from separatrix.report.svg import Scale, nice_scale, spaced
from separatrix.report.words import number

__all__ = ["Axis", "axis_along"]

NARROWEST = 230.0  # pixels that a picture is wide, at least
CROWDED = 0.15  # of the range, within which half of the values lie


@dataclass(frozen=True, eq=False)
class Axis:
    """Places (G,) from 0 to 1, and ticks: places with their words."""

    at: Float
    ticks: tuple[tuple[float, str], ...]


def axis_along(x: Float, *, is_date: bool = False) -> Axis:
    """The axis of values in order, of which there are at least two; dates are days since 1970.

    Examples
    --------
    >>> axis = axis_along(np.array([0.0, 100.0, 1000.0, 2000.0, 5000.0, 99999.0]))
    >>> [word for _, word in axis.ticks]
    ['0', '1k', '10k', '100k']
    >>> axis.at[2] > 0.1  # where a linear axis would have 0.01
    np.True_
    """
    if not is_date and _is_crowded(x):
        return _bent(x)
    scale = nice_scale(x)
    days = scale.high - scale.low
    words = [_date(tick, days) if is_date else _short(tick) for tick in scale.ticks]
    return Axis(scale.of(x), tuple(spaced(scale, words, NARROWEST)))


def _is_crowded(x: Float) -> bool:
    low, middle, high = np.quantile(x, [0.0, 0.5, 1.0])
    return bool(min(middle - low, high - middle) < CROWDED * (high - low))


def _bent(x: Float) -> Axis:
    size = np.abs(x[x != 0])
    s = float(np.median(size)) / 5
    u = np.arcsinh(x / s)
    ends = Scale(float(u.min()), float(u.max()))
    powers = 10.0 ** np.arange(math.floor(math.log10(s)), math.ceil(math.log10(float(size.max()))) + 1)
    rounds = np.concatenate([-powers[::-1], [0.0], powers])
    ticks = [(ends(float(np.arcsinh(tick / s))), _short(float(tick))) for tick in rounds]
    return Axis(ends.of(u), tuple(_apart([(at, word) for at, word in ticks if 0 <= at <= 1.02])))


def _apart(ticks: list[tuple[float, str]]) -> list[tuple[float, str]]:
    """From both ends, those that leave room for the one before; zero comes first of all."""
    kept: list[tuple[float, str]] = []
    for at, word in sorted(ticks, key=lambda tick: (tick[1] != "0", -abs(tick[0] - 0.5))):
        if all(abs(at - other) > 0.16 for other, _ in kept):
            kept.append((min(at, 1.0), word))
    return sorted(kept)


def _date(day: float, span: float) -> str:
    unit = "M" if span > 120 else "D"
    return str(np.datetime64(int(day), "D").astype(f"datetime64[{unit}]"))


def _short(value: float) -> str:
    """Thousands as k and M: there is little room below a picture."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size and (abs(value) >= 10 * size or value % size == 0):
            return f"{number(value / size)}{letter}"
    return number(value, 4)
