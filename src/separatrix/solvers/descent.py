# SPDX-License-Identifier: BSD-3-Clause
"""How far along a direction: the safeguard that every method with a direction shares.

The whole step is tried first, because a Newton direction knows its length. It is shortened, to the minimum of a
parabola through what was seen, until the objective falls by a ten-thousandth of what the slope promises (Armijo).
Near the minimum the promise is smaller than the rounding of the objective; there the slope at the new point decides,
which must not be steeper upwards than the old one was downwards (Hager & Zhang 2005).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from separatrix._array import Float
from separatrix.stats import ValueGrad, ValueGradHess

__all__ = ["ARMIJO", "ROUNDING", "SINGLE_ROUNDING", "Progress", "descend"]

ARMIJO = 1e-4
ROUNDING = 1e-12  # of the objective, relative: sums over rows are no better
SINGLE_ROUNDING = 1e-9  # ... where activations are computed in single precision, as on a GPU
TINY = 1e-3  # a promise of so little of the rounding is none
TRIES = 40

Point = TypeVar("Point", ValueGrad, ValueGradHess)


class Progress:
    """Whether there is any: for so many steps neither the gradient nor the objective has fallen."""

    def __init__(self, patience: int) -> None:
        self.patience = patience
        self.size, self.value, self.since = np.inf, np.inf, 0

    def ends(self, value: float, size: float) -> bool:
        """Take note of a step; true where it was one too many."""
        if size < self.size or value < self.value:  # records, which noise soon runs out of
            self.size, self.value, self.since = min(size, self.size), min(value, self.value), 0
        else:
            self.since += 1
        return self.since > self.patience


def descend(
    evaluate: Callable[[Float], Point], theta: Float, here: Point, direction: Float, *, rounding: float = ROUNDING
) -> tuple[tuple[Float, Point] | None, int]:
    """The point that a step along ``direction`` leads to, or None where it cannot; and the evaluations it took.

    ``rounding`` is that of the objective, relative.
    """
    promised = float(np.vdot(here.grad, direction))
    noise = rounding * abs(here.value)
    share = 1.0
    for tries in range(1, TRIES) if promised < 0 else ():
        trial = theta + share * direction
        there = evaluate(trial)
        if there.value <= here.value + ARMIJO * share * promised:
            return (trial, there), tries
        if -share * promised <= noise and there.value <= here.value + noise:
            slope = float(np.vdot(there.grad, direction))
            if slope <= (2 * ARMIJO - 1) * promised:
                return (trial, there), tries
            share *= promised / (promised - slope)  # where a straight line through both slopes is zero
        elif -share * promised <= TINY * noise:
            return None, tries
        else:
            share = _shorter(share, there.value - here.value, promised)
    return None, TRIES if promised < 0 else 0


def _shorter(share: float, rise: float, promised: float) -> float:
    """The minimum of the parabola through both values and the slope, between a tenth and a half of the step."""
    bend = rise - share * promised
    best = -0.5 * promised * share**2 / bend if np.isfinite(bend) and bend > 0 else 0.0
    return float(np.clip(best, 0.1 * share, 0.5 * share))
