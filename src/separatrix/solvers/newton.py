# SPDX-License-Identifier: BSD-3-Clause
"""Newton's method: each step takes one pass and one Cholesky factor.                     PRML §4.3.3

    θ ← θ - s H⁻¹ g

For the logistic model this is iterative reweighted least squares: with s = 1 the new weights solve the normal equations
(4.99) for the working response z = Φ w - R⁻¹ (p - t)  (4.100).

**Line search** (`descend`, shared with L-BFGS). s = 1 is tried first, since a Newton step has the right length. Then s
is shortened to the minimum of a parabola through the known values, until the objective falls by 1e-4 of the decrease
that the slope predicts (Armijo). Near the minimum, this decrease is below the rounding error of the objective. There
the slope at the new point decides: it must not be steeper upwards than the old slope was downwards (Hager & Zhang
2005). Each trial also computes the Hessian, because nearly every trial is accepted and the next step needs it.

**First step.** From zero, the Newton step of two classes is the least-squares fit to their labels. Divided by 1 - R²,
it has the weights of linear discriminant analysis (PRML §4.1.5), the weights of the logistic model for normal
classes (4.65). The default solver takes this step, which saves one or two others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np

from separatrix._array import Float
from separatrix.solvers.hessian import Factor, change_of_curvature, diagonal, factorise
from separatrix.solvers.posterior import Posterior
from separatrix.solvers.result import End, Limits, Solution, Status, Step, status_at_rest
from separatrix.stats import DOUBLE_ROUNDING, ValueGrad, ValueGradHess

ARMIJO = 1e-4
MIN_DECREASE_OF_ROUNDING = 1e-3  # a predicted decrease below this fraction of the rounding error cannot be verified
MAX_NEWTON_TRIALS = 40  # trials per line search
MAX_IDLE_NEWTON_STEPS = 3  # number of steps without progress after which Newton's method stops
MAX_FIRST_LENGTH = 2.0  # largest length of the first step, if it starts at zero

Point = TypeVar("Point", ValueGrad, ValueGradHess)


class Progress:
    """Counts consecutive steps without a new minimum of the objective or of the size of the gradient."""

    def __init__(self, patience: int) -> None:
        self.patience = patience
        self.size, self.value, self.since = np.inf, np.inf, 0

    def ends(self, value: float, size: float) -> bool:
        """Record a step; return whether more than ``patience`` consecutive steps made no progress."""
        if size < self.size or value < self.value:
            self.size, self.value, self.since = min(size, self.size), min(value, self.value), 0
        else:
            self.since += 1
        return self.since > self.patience


def descend(
    evaluate: Callable[[Float], Point],
    theta: Float,
    here: Point,
    direction: Float,
    *,
    rounding: float = DOUBLE_ROUNDING,
    length: float = 1.0,
) -> tuple[tuple[Float, Point] | None, int]:
    """Point reached along ``direction``, or None if no step lowers the objective; and the number of evaluations.

    ``rounding`` is the relative rounding error of the objective, and ``length`` the first step s.
    """
    slope = float(np.vdot(here.grad, direction))
    noise = rounding * abs(here.value)
    s = length
    for trials in range(1, MAX_NEWTON_TRIALS) if slope < 0 else ():
        trial = theta + s * direction
        there = evaluate(trial)
        if there.value <= here.value + ARMIJO * s * slope:
            return (trial, there), trials
        if -s * slope <= noise and there.value <= here.value + noise:
            new_slope = float(np.vdot(there.grad, direction))
            if new_slope <= (2 * ARMIJO - 1) * slope:
                return (trial, there), trials
            s *= slope / (slope - new_slope)  # secant step: zero of the line through both slopes
        elif -s * slope <= MIN_DECREASE_OF_ROUNDING * noise:
            return None, trials
        else:
            s *= parabola_minimum(there.value - here.value, s * slope)
    return None, MAX_NEWTON_TRIALS if slope < 0 else 0


def parabola_minimum(rise: float, slope: float) -> float:
    """Minimum of the parabola with this slope at 0 and the value ``rise`` at 1, clipped to [0.1, 0.5]."""
    bend = rise - slope
    return float(np.clip(-0.5 * slope / bend, 0.1, 0.5)) if np.isfinite(bend) and bend > 0 else 0.1


@dataclass(frozen=True)
class Newton(Limits):
    """Newton's method with step halving.

    ``tol`` bounds the gradient, per row and per standard deviation of each column. ``max_change`` bounds the relative
    change of the Hessian from the last point to the minimum, which is not small if a column has a value in few rows
    only: their curvature may fall by a factor of e with each step. With ``single``, Hessians are in single precision.
    """

    tol: float = 1e-8
    max_steps: int = 50
    trace: bool = False
    single: bool = False
    max_change: float = np.inf

    def minimise(self, objective: Posterior, start: Float, *, is_stretched: bool = False) -> Solution[Float]:
        """Minimise from ``start`` (C, P); with ``is_stretched``, a first step from zero is divided by 1 - R²."""
        evaluate, rounding = partial(objective.value_grad_hess, single=self.single), objective.units.rounding
        (C, _), free, is_concave = objective.shape, objective.prior.free, objective.likelihood.is_log_concave
        theta, here, passes = start, evaluate(start), 1
        trace, progress = [], Progress(MAX_IDLE_NEWTON_STEPS)
        for step in range(self.max_steps + 1):
            size = objective.gradient_size(here.grad)
            if self.trace:
                trace.append(Step(theta, here.value, size))
            is_usable = is_concave or bool((here.hess.diagonal() > 0).all())
            factor = factorise(here.hess, C, free) if is_usable else None
            if factor is None or (factor.singular is not None and not is_concave):  # the objective is not convex here
                factor, passes = factorise(evaluate(theta, exact=False).hess, C, free), passes + 1
            end = Status.GRADIENT if size <= self.tol else Status.MAX_STEPS
            if step == self.max_steps or (size <= self.tol and self._ends(objective, factor, theta, here.grad)):
                break
            if progress.ends(here.value, size):
                end = status_at_rest(size, self.tol)
                break
            direction = -factor.solve(here.grad)
            length = 1.0
            if is_stretched and step == 0 and C == 1 and not start.any():
                R2 = -float(np.vdot(here.grad, direction)) / objective.units.total
                length = 1 / max(1 - R2, 1 / MAX_FIRST_LENGTH)
            moved, trials = descend(evaluate, theta, here, direction, rounding=rounding, length=length)
            if moved is None:  # if the curvature underflows, gradient descent may still lower the objective
                moved, more = descend(evaluate, theta, here, -diagonal(objective).solve(here.grad), rounding=rounding)
                trials += more
            passes += trials
            if moved is None:
                end = status_at_rest(size, self.tol)
                break
            theta, here = moved
        return Solution(theta, end, step, passes, tuple(trace), End(here.grad, factor, is_exact=True, value=here.value))

    def _ends(self, objective: Posterior, factor: Factor, theta: Float, grad: Float) -> bool:
        """Whether the Hessian is that at the minimum, to which Newton's step leads, up to ``max_change``."""
        if self.max_change == np.inf or factor.singular is not None:
            return True
        return change_of_curvature(objective, factor, theta, -factor.solve(grad)) <= self.max_change
