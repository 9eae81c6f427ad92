# SPDX-License-Identifier: BSD-3-Clause
"""L-BFGS: a quasi-Newton method that remembers its last steps.                   Liu & Nocedal (1989)

The inverse Hessian is a given one, B, corrected by the last m pairs of steps s and changes y of the gradient. With B
from a subsample, or from the last full Hessian, a step is almost Newton's and costs a gradient; the memory takes out
what B got wrong. With B a diagonal it is the usual method.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from separatrix._arguments import check_count, check_number
from separatrix._array import Float
from separatrix.solvers.descent import Progress, descend
from separatrix.solvers.posterior import Posterior
from separatrix.solvers.precondition import Inverse, diagonal
from separatrix.solvers.result import End, Solution, Status, Step, at_rest
from separatrix.stats import ValueGrad

__all__ = ["LBFGS"]

STALL = 50  # steps without progress after which there will be none
SMALLEST = 1e-14  # a sum, as a share of the sizes of its terms, that is more than their rounding

SMALLER = 0.5  # of a gradient, that is
SAME = 10  # times the rounding of the objective


@dataclass(frozen=True)
class LBFGS:
    """Limited-memory BFGS with backtracking.

    ``tol`` bounds the gradient, per row and per standard deviation of each column.
    """

    tol: float = 1e-8
    max_steps: int = 2000
    memory: int = 20
    trace: bool = False

    def __post_init__(self) -> None:
        check_number("LBFGS", "tol", self.tol, low=0.0)
        check_count("LBFGS", "max_steps", self.max_steps, least=0)
        check_count("LBFGS", "memory", self.memory)

    def minimise(
        self, objective: Posterior, start: Float, *, inverse: Inverse | None = None, known: ValueGrad | None = None
    ) -> Solution[Float]:
        """From ``start`` (C, P) to a minimum, with ``inverse`` as the first guess of g -> H⁻¹ g.

        Value and gradient at the start save a pass where they are ``known``.
        """
        theta, passes = start, 0 if known else 1
        here = known or objective.value_grad(theta)
        inverse = diagonal(objective) if inverse is None else inverse
        pairs = _Pairs(inverse, self.memory)
        trace, progress, end = [], Progress(STALL), Status.MAX_STEPS
        for step in range(self.max_steps + 1):
            size = objective.gradient_size(here.grad)
            if self.trace:
                trace.append(Step(theta, here.value, size))
            if size <= self.tol:
                end = Status.GRADIENT
                break
            if step == self.max_steps:
                break
            moved, tries, is_idle = None, 0, progress.ends(here.value, size)
            if not is_idle:
                direction = -pairs.dot(here.grad)
                moved, tries = descend(objective.value_grad, theta, here, direction, rounding=objective.rounding)
            passes += tries
            if moved is not None:
                pairs.add(moved[0] - theta, moved[1].grad - here.grad)
            else:
                moved, passes = _by_gradient(objective, theta, here, inverse), passes + 1
                if moved is None and (is_idle or not pairs):
                    end = at_rest(size, self.tol)
                    break
                pairs.clear()  # a stale memory can spoil the direction: once more without
                progress = Progress(STALL)
            theta, here = moved or (theta, here)
        return Solution(theta, end, step, passes, tuple(trace), End(here.grad, inverse))


def _by_gradient(
    objective: Posterior, theta: Float, here: ValueGrad, inverse: Inverse
) -> tuple[Float, ValueGrad] | None:
    """A plain step -B g that the objective is too rounded to judge, if it makes the gradient a good deal smaller.

    Weights that the prior holds more than the rows do change the objective by less than its rounding; for them B is
    nearly exact, but not times the curvature that was seen along the others.
    """
    trial = theta - inverse.solve(here.grad)
    there = objective.value_grad(trial)
    is_smaller = objective.gradient_size(there.grad) <= SMALLER * objective.gradient_size(here.grad)
    same = SAME * objective.rounding * abs(here.value)
    return (trial, there) if is_smaller and there.value <= here.value + same else None


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
        products = s * y  # each without units, whatever those of the columns are, which |s| and |y| are not
        sy = float(products.sum())
        if sy > SMALLEST * np.abs(products).sum():
            self.pairs.append((s, y, sy))
            self.scale = sy / float(np.vdot(y, self.inverse.solve(y)))

    def dot(self, g: Float) -> Float:
        """The two loops of Nocedal (1980)."""
        q = g.copy()
        shares = []
        for s, y, sy in reversed(self.pairs):
            share = float(np.vdot(s, q)) / sy
            shares.append(share)
            q -= share * y
        r = self.scale * self.inverse.solve(q)
        for (s, y, sy), share in zip(self.pairs, reversed(shares), strict=True):
            r += (share - float(np.vdot(y, r)) / sy) * s
        return r
