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
    for n_ticks in (4, 6, 9):  # finer, where a range between round numbers leaves one word or none
        scale = nice_scale(x, n_ticks=n_ticks)
        ticks = spaced(scale, [_date(tick, days) if is_date else _short(tick) for tick in scale.ticks], NARROWEST)
        if len({word for _, word in ticks}) > 1:
            break
    return Axis(scale.of(x), tuple(ticks))


def _is_crowded(x: Float) -> bool:
    low, middle, high = np.quantile(x, [0.0, 0.5, 1.0])
    return bool(min(middle - low, high - middle) < CROWDED * (high - low))


def _bent(x: Float) -> Axis:
    size = np.abs(x[x != 0])
    s = float(np.median(size)) / 5
    u = np.arcsinh(x / s)
    ends = Scale(float(u.min()), float(u.max()))
    powers = 10.0 ** np.arange(math.floor(math.log10(s)), math.ceil(math.log10(float(size.max()))) + 1)
    rounds = [0.0, *powers.tolist(), *(m * power for m in (5.0, 2.0) for power in powers.tolist())]
    ticks = [(ends(float(np.arcsinh(tick / s))), tick) for size in rounds for tick in {size, -size}]
    inside = [(at, tick) for at, tick in ticks if -1e-9 <= at <= 1.02]
    return Axis(ends.of(u), tuple(_apart(inside)))


def _apart(ticks: list[tuple[float, float]]) -> list[tuple[float, str]]:
    """Those that leave room for the ones before: zero first of all, then powers of ten from both ends, then others."""
    kept: list[tuple[float, str]] = []
    for at, tick in sorted(ticks, key=lambda item: (item[1] != 0, not _is_power(item[1]), -abs(item[0] - 0.5))):
        if all(abs(at - other) > 0.16 for other, _ in kept):
            kept.append((min(max(at, 0.0), 1.0), _short(tick)))
    return sorted(kept)


def _is_power(value: float) -> bool:
    """Of ten, with either sign."""
    return value != 0 and math.log10(abs(value)).is_integer()


def _date(day: float, span: float) -> str:
    unit = "M" if span > 120 else "D"
    return str(np.datetime64(int(day), "D").astype(f"datetime64[{unit}]"))


def _short(value: float) -> str:
    """Thousands as k and M: there is little room below a picture."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size and (abs(value) >= 10 * size or value % size == 0):
            return f"{number(value / size)}{letter}"
    return number(value, 4)
