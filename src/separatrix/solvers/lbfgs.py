# SPDX-License-Identifier: BSD-3-Clause
"""L-BFGS: a quasi-Newton method that remembers its last steps.                   Liu & Nocedal (1989)

The inverse Hessian is a given matrix B, corrected by the last m pairs (s, y) of a step and its change of the gradient.
If B comes from a subsample or from the last full Hessian, a step is almost a Newton step, but costs only one gradient;
the pairs correct the error of B. A diagonal B gives standard L-BFGS. It starts as a bound. With sparse rows and classes
that are nearly separated, the curvature is soon far below the bound, so that it is computed a few times (`head_at`).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas

from separatrix._arguments import check_count
from separatrix._array import Float
from separatrix.solvers.hessian import Inverse, average_diagonal, diagonal, head_at
from separatrix.solvers.newton import Progress, descend
from separatrix.solvers.posterior import Posterior
from separatrix.solvers.result import End, Limits, Solution, Status, Step, status_at_rest
from separatrix.stats import ValueGrad

MAX_IDLE_LBFGS_STEPS = 50  # number of steps without progress after which L-BFGS stops
MIN_CURVATURE = 1e-14  # smallest s'y relative to its terms; below this it is rounding error
MIN_GRADIENT_DECREASE = 0.5  # a step -B g is accepted if the gradient shrinks by this factor
BOUND_STEPS, RENEWAL = 10, 4  # steps with a bound on the diagonal, and the ratio of the steps of its renewals
MAX_RISE_IN_ROUNDINGS = 10  # largest rise of the objective by a step -B g, in units of its rounding error


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
        """Minimise from ``start`` (C, P), with ``inverse`` as the matrix B.

        If value and gradient at the start are ``known``, a pass is saved.
        """
        theta, passes = start, 0 if known else 1
        here = known or objective.value_grad(theta)
        is_rough = inverse is None and not objective.units.has_fast_products  # dense rows have better preconditioners
        renewal = BOUND_STEPS if is_rough else self.max_steps + 1
        if inverse is None:  # the average bound is exceeded by some classes, but sparse passes are cheap
            inverse = (diagonal if objective.units.has_fast_products else average_diagonal)(objective)
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
            if step == renewal:
                inverse, passes, renewal = head_at(objective, theta), passes + 1, RENEWAL * renewal
                pairs = _Pairs(inverse, self.memory)
            moved, trials, is_idle = None, 0, progress.ends(here.value, size)
            if not is_idle:
                direction = -pairs.dot(here.grad)
                moved, trials = descend(objective.value_grad, theta, here, direction, rounding=objective.units.rounding)
            passes += trials
            if moved is not None:
                pairs.add(moved[0] - theta, moved[1].grad - here.grad)
            else:
                # Some weights are determined by the prior more than by the rows, and change the objective by less than
                # its rounding error. For them B is nearly exact, but scaled B is not: its scale comes from the other
                # weights. So a step -B g is tried, and accepted if it halves the gradient.
                trial = theta - inverse.solve(here.grad)
                there, passes = objective.value_grad(trial), passes + 1
                noise = MAX_RISE_IN_ROUNDINGS * objective.units.rounding * abs(here.value)
                is_halved = objective.gradient_size(there.grad) <= MIN_GRADIENT_DECREASE * size
                moved = (trial, there) if is_halved and there.value <= here.value + noise else None
                if moved is None and (is_idle or not pairs.pairs):
                    end = status_at_rest(size, self.tol)
                    break
                pairs = _Pairs(inverse, self.memory)  # restart without the old pairs, which can spoil the direction
                progress = Progress(MAX_IDLE_LBFGS_STEPS)
            theta, here = moved or (theta, here)
        return Solution(theta, end, step, passes, tuple(trace), End(here.grad, inverse, step=-pairs.dot(here.grad)))


class _Pairs:
    """The inverse Hessian: B, corrected by the last pairs (s, y)."""

    def __init__(self, inverse: Inverse, memory: int) -> None:
        self.inverse = inverse
        self.pairs: deque[tuple[Float, Float, float]] = deque(maxlen=memory)
        self.scale = 1.0

    def add(self, s: Float, y: Float) -> None:
        """Keep the pair if the curvature s'y is positive; L-BFGS needs positive curvature."""
        products = s * y  # products have no units, unlike |s| and |y|
        sy, yBy = float(products.sum()), float(np.vdot(y, self.inverse.solve(y)))
        if sy > MIN_CURVATURE * np.abs(products).sum() and yBy > 0:  # y'By underflows for tiny sample weights
            self.pairs.append((s.ravel(), y.ravel(), sy))
            self.scale = sy / yBy

    def dot(self, g: Float) -> Float:
        """Corrected inverse Hessian times g, by the two loops of Nocedal (1980); just B g if they overflow."""
        q, coefficients = g.flatten(), []
        with np.errstate(over="ignore", invalid="ignore"):
            for s, y, sy in reversed(self.pairs):
                coefficients.append(float(s @ q) / sy)
                blas.daxpy(y, q, a=-coefficients[-1])  # q -= c y without a temporary array
            r = (self.scale * self.inverse.solve(q.reshape(g.shape))).ravel()
            for (s, y, sy), coefficient in zip(self.pairs, reversed(coefficients), strict=True):
                blas.daxpy(s, r, a=coefficient - float(y @ r) / sy)
        return r.reshape(g.shape) if np.isfinite(r).all() else self.inverse.solve(g)
