# SPDX-License-Identifier: BSD-3-Clause
"""L-BFGS: a quasi-Newton method that remembers its last steps.                   Liu & Nocedal (1989)

The inverse Hessian is a given matrix B, corrected by the last m pairs of steps s and changes y of the gradient. With B
from a subsample, or from the last full Hessian, a step is almost Newton's and costs a gradient; the pairs correct the
error of B. With a diagonal B it is the usual method.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from separatrix._arguments import check_count
from separatrix._array import Float
from separatrix.solvers.hessian import Inverse, diagonal
from separatrix.solvers.newton import Progress, descend
from separatrix.solvers.posterior import Posterior
from separatrix.solvers.result import End, Limits, Solution, Status, Step, status_at_rest
from separatrix.stats import ValueGrad

MAX_IDLE_LBFGS_STEPS = 50  # steps without progress after which L-BFGS stops
MIN_CURVATURE = 1e-14  # s'y relative to the sizes of its terms: smaller sums are rounding
MIN_GRADIENT_DECREASE = 0.5  # factor by which a plain step must reduce the gradient
MAX_RISE_IN_ROUNDINGS = 10  # rise of the objective, in units of its rounding error, that a plain step may have


@dataclass(frozen=True)
class LBFGS(Limits):
    """Limited-memory BFGS with backtracking.

    ``tol`` bounds the gradient, per row and per standard deviation of each column.
    """

    tol: float = 1e-8
    max_steps: int = 2000
    memory: int = 20
    trace: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("LBFGS", "memory", self.memory)

    def minimise(
        self, objective: Posterior, start: Float, *, inverse: Inverse | None = None, known: ValueGrad | None = None
    ) -> Solution[Float]:
        """From ``start`` (C, P) to a minimum, with ``inverse`` as the first guess of g -> H⁻¹ g.

        ``known`` value and gradient at the start save a pass.
        """
        theta, passes = start, 0 if known else 1
        here = known or objective.value_grad(theta)
        inverse = diagonal(objective) if inverse is None else inverse
        pairs = _Pairs(inverse, self.memory)
        trace, progress, end = [], Progress(MAX_IDLE_LBFGS_STEPS), Status.MAX_STEPS
        for step in range(self.max_steps + 1):
            size = objective.gradient_size(here.grad)
            if self.trace:
                trace.append(Step(theta, here.value, size))
            if size <= self.tol:
                end = Status.GRADIENT
                break
            if step == self.max_steps:
                break
            moved, trials, is_idle = None, 0, progress.ends(here.value, size)
            if not is_idle:
                direction = -pairs.dot(here.grad)
                moved, trials = descend(objective.value_grad, theta, here, direction, rounding=objective.units.rounding)
            passes += trials
            if moved is not None:
                pairs.add(moved[0] - theta, moved[1].grad - here.grad)
            else:
                # Weights held more by the prior than by the rows change the objective by less than its rounding error.
                # For them B is nearly exact, but not after scaling by the curvature along the other weights: so a step
                # -B g is tried, and kept if it halves the gradient.
                trial = theta - inverse.solve(here.grad)
                there, passes = objective.value_grad(trial), passes + 1
                noise = MAX_RISE_IN_ROUNDINGS * objective.units.rounding * abs(here.value)
                is_halved = objective.gradient_size(there.grad) <= MIN_GRADIENT_DECREASE * size
                moved = (trial, there) if is_halved and there.value <= here.value + noise else None
                if moved is None and (is_idle or not pairs.pairs):
                    end = status_at_rest(size, self.tol)
                    break
                pairs = _Pairs(inverse, self.memory)  # old pairs can spoil the direction: start again without them
                progress = Progress(MAX_IDLE_LBFGS_STEPS)
            theta, here = moved or (theta, here)
        return Solution(theta, end, step, passes, tuple(trace), End(here.grad, inverse))


class _Pairs:
    """The inverse Hessian: B, corrected by the last pairs (s, y)."""

    def __init__(self, inverse: Inverse, memory: int) -> None:
        self.inverse = inverse
        self.pairs: deque[tuple[Float, Float, float]] = deque(maxlen=memory)
        self.scale = 1.0

    def add(self, s: Float, y: Float) -> None:
        """Keep a pair along which the gradient rose; other pairs contain no information about a minimum."""
        products = s * y  # each product has no units, unlike |s| and |y|
        sy = float(products.sum())
        if sy > MIN_CURVATURE * np.abs(products).sum():
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
