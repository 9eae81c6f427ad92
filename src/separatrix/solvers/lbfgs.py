# SPDX-License-Identifier: BSD-3-Clause
"""L-BFGS: a quasi-Newton method that remembers its last steps.                   Liu & Nocedal (1989)

The inverse Hessian is a given one, B, corrected by the last m pairs of steps s and changes y of the gradient. With B
from a subsample, or from the last full Hessian, a step is almost Newton's and costs a gradient; the memory takes out
what B got wrong. With B a diagonal it is the usual method.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from separatrix._array import Float
from separatrix.solvers.newton import ROUNDING, accepts
from separatrix.solvers.posterior import Posterior
from separatrix.solvers.result import Solution, Status, Step
from separatrix.stats.objective import ValueGrad

__all__ = ["LBFGS", "Inverse"]

Inverse = Callable[[Float], Float]


@dataclass(frozen=True)
class LBFGS:
    """Limited-memory BFGS with backtracking.

    ``tol`` bounds the gradient, per row and per standard deviation of each column.
    """

    tol: float = 1e-8
    max_steps: int = 2000
    memory: int = 20
    trace: bool = False

    def minimise(
        self, objective: Posterior, start: Float, *, inverse: Inverse | None = None, known: ValueGrad | None = None
    ) -> Solution[Float]:
        """From ``start`` (C, P) to a minimum, with ``inverse`` as the first guess of g -> H⁻¹ g.

        Value and gradient at the start save a pass where they are ``known``.
        """
        theta, passes = start, 0 if known else 1
        here = known or objective.value_grad(theta)
        pairs = _Pairs(diagonal_bound(objective) if inverse is None else inverse, self.memory)
        trace = []
        for step in range(self.max_steps + 1):
            size = objective.gradient_size(here.grad)
            if self.trace:
                trace.append(Step(theta, here.value, size))
            if size <= self.tol:
                return Solution(theta, Status.GRADIENT, step, passes, tuple(trace))
            if step == self.max_steps:
                break
            direction = -pairs.dot(here.grad)
            moved, tries = _backtrack(objective, theta, here, direction)
            passes += tries
            if moved is None:
                if not pairs:
                    return Solution(theta, Status.PRECISION, step, passes, tuple(trace))
                pairs.clear()  # a stale memory can spoil the direction: once more without
                continue
            pairs.add(moved[0] - theta, moved[1].grad - here.grad)
            theta, here = moved
        return Solution(theta, Status.MAX_STEPS, self.max_steps, passes, tuple(trace))


class _Pairs:
    """The inverse Hessian: B, corrected by the pairs (s, y) seen last."""

    def __init__(self, inverse: Inverse, memory: int) -> None:
        self.inverse = inverse
        self.pairs: deque[tuple[Float, Float, float]] = deque(maxlen=memory)
        self.scale = 1.0

    def __bool__(self) -> bool:
        return bool(self.pairs)

    def clear(self) -> None:
        self.pairs.clear()
        self.scale = 1.0

    def add(self, s: Float, y: Float) -> None:
        """Keep a pair along which the gradient rose; others say nothing about a minimum."""
        sy = float(np.vdot(s, y))
        if sy > ROUNDING * np.linalg.norm(s) * np.linalg.norm(y):
            self.pairs.append((s, y, sy))
            self.scale = sy / float(np.vdot(y, self.inverse(y)))

    def dot(self, g: Float) -> Float:
        """The two loops of Nocedal (1980)."""
        q = g.copy()
        shares = []
        for s, y, sy in reversed(self.pairs):
            share = float(np.vdot(s, q)) / sy
            shares.append(share)
            q -= share * y
        r = self.scale * self.inverse(q)
        for (s, y, sy), share in zip(self.pairs, reversed(shares), strict=True):
            r += (share - float(np.vdot(y, r)) / sy) * s
        return r


def _backtrack(
    objective: Posterior, theta: Float, here: ValueGrad, direction: Float
) -> tuple[tuple[Float, ValueGrad] | None, int]:
    """The point that the step leads to, or None where no fraction of it lowers the objective; and the passes taken."""
    promised = float(np.vdot(here.grad, direction))
    if promised >= 0:
        return None, 0
    share = 1.0
    for tries in range(1, 40):
        trial = theta + share * direction
        there = objective.value_grad(trial)
        if accepts(here.value, there.value, share * promised):
            return (trial, there), tries
        if -share * promised <= ROUNDING * abs(here.value):
            return None, tries
        share = _interpolated(share, here.value, there.value, promised)
    return None, tries


def _interpolated(share: float, before: float, after: float, promised: float) -> float:
    """The minimum of the parabola through both values and the slope; between a tenth and a half of the step."""
    rise = after - before - share * promised
    best = -0.5 * promised * share**2 / rise if np.isfinite(rise) and rise > 0 else 0.0
    return float(np.clip(best, 0.1 * share, 0.5 * share))


def diagonal_bound(objective: Posterior) -> Inverse:
    """The inverse of a bound on the Hessian's diagonal: a quarter of each column's sum of squares, and the prior."""
    diagonal = 0.25 * objective.units.total * objective.column_units**2 + objective.prior.diagonal
    return lambda grad: grad / diagonal
