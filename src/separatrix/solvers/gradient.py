# SPDX-License-Identifier: BSD-3-Clause
"""Gradient descent on all rows at once.                                                        PRML §3.1.3, §5.2.4

    θ ← θ - η ∇E(θ) / Σ_n weight_n                                          a fixed step η, as in the book
    θ ← θ - s D⁻¹ ∇E(θ)                                                     a line search for s

The best fixed step depends on the units of the columns. The line search first divides the gradient by D, a bound on the
diagonal of the Hessian, so that the units of the columns and the scales of the prior cancel. The first trial is a step
of Barzilai and Borwein (1988): the last step Δθ and the change Δg of the gradient along it give two secant estimates of
the curvature,

    1/s = Δθ'Δg / Δθ'DΔθ      and, never less,      1/s = Δg'D⁻¹Δg / Δθ'Δg,

which are used in turn. A step is shortened by half or more until the objective falls enough, so the objective never
rises. This reduces hundreds of passes to tens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from separatrix._arguments import check_positive
from separatrix._array import Float
from separatrix.solvers.hessian import diagonal
from separatrix.solvers.newton import ARMIJO, parabola_minimum
from separatrix.solvers.posterior import Posterior
from separatrix.solvers.result import End, Limits, Solution, Status, Step, status_at_rest
from separatrix.stats import DOUBLE_ROUNDING, ValueGrad

MAX_IDLE_GRADIENT_STEPS = 100  # number of steps without progress after which descent stops
MAX_GRADIENT_TRIALS = 30  # trials per line search; each at least halves the step


@dataclass(frozen=True)
class GradientDescent(Limits):
    """Batch gradient descent, with a fixed step or a line search that needs no tuning.

    Parameters
    ----------
    step : float, optional
        η in θ ← θ - η ∇E(θ) / Σ_n weight_n. E is a sum over rows, so η multiplies the gradient per unit of weight and
        does not depend on the number of rows. θ contains the weights in the units of the columns, and the bias at the
        mean of the rows. None: a line search finds the length of each step.
    tol : float, default 1e-8
        Bound on the gradient, per unit of weight and per standard deviation of each column.
    max_steps : int, default 10000
        Maximum number of steps. A fixed step takes one pass, a line search one or a few passes.
    trace : bool, default False
        Whether to keep every step.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from separatrix import LogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> LogisticRegression(solver=GradientDescent()).fit(X[:, :5], y).solution_.status.value
    'converged: the gradient is zero to the tolerance'
    """

    step: float | None = None
    tol: float = 1e-8
    max_steps: int = 10_000
    trace: bool = False

    def __post_init__(self) -> None:
        if self.step is not None:
            check_positive("GradientDescent", "step", self.step)
        super().__post_init__()

    def minimise(self, objective: Posterior, start: Float) -> Solution[Float]:
        """Minimise from ``start`` (C, P)."""
        move = _LineSearch(objective) if self.step is None else _FixedStep(objective, self.step)
        theta, here, passes = start, objective.value_grad(start), 1
        trace, end = [], Status.MAX_STEPS
        for step in range(self.max_steps + 1):
            size = objective.gradient_size(here.grad)
            if self.trace:
                trace.append(Step(theta, here.value, size))
            if size <= self.tol:
                end = Status.GRADIENT
                break
            if step == self.max_steps:
                break
            with np.errstate(over="ignore", invalid="ignore"):  # a step that overflows is not taken
                moved = move(theta, here)
            theta, here, passes = moved.theta, moved.here, passes + moved.passes
            if moved.status is not None:
                end = status_at_rest(size, self.tol) if moved.status is Status.PRECISION else moved.status
                break
        return Solution(theta, end, step, passes, tuple(trace), End(here.grad, diagonal(objective)))


class _Moved(NamedTuple):
    """Point reached by a step, number of passes, and the reason to stop, if any."""

    theta: Float
    here: ValueGrad
    passes: int
    status: Status | None = None


class _FixedStep:
    """Steps with a fixed rate η. If the objective diverges, the lowest point is returned.

    If the curvature is at most c, a rise of the objective proves η > 2/c. Later the curvature may decrease and the
    objective may fall again, so descent does not stop at the first rise.
    """

    def __init__(self, objective: Posterior, step: float) -> None:
        self.objective, self.rate = objective, step / objective.units.total
        self.lowest: tuple[Float, ValueGrad] | None = None
        self.above = 0

    def __call__(self, theta: Float, here: ValueGrad) -> _Moved:
        if self.lowest is None or here.value < self.lowest[1].value:
            self.lowest = theta, here
        trial = theta - self.rate * here.grad
        there = self.objective.value_grad(trial)
        low = self.lowest[1].value
        self.above = 0 if there.value <= low + DOUBLE_ROUNDING * abs(low) else self.above + 1
        if self.above > MAX_IDLE_GRADIENT_STEPS or not (np.isfinite(there.value) and np.isfinite(there.grad).all()):
            return _Moved(*self.lowest, 1, Status.DIVERGED)
        return _Moved(trial, there, 1)


class _LineSearch:
    """Steps along -D⁻¹g that start at a Barzilai-Borwein length and shrink until the objective falls."""

    def __init__(self, objective: Posterior) -> None:
        self.objective, self.D = objective, diagonal(objective).curvature
        self.rate = 1.0
        self.long = True
        self.smallest = np.inf
        self.idle = 0

    def __call__(self, theta: Float, here: ValueGrad) -> _Moved:
        direction = -here.grad / self.D
        slope = float(np.vdot(here.grad, direction))
        rate = self.rate
        for trials in range(1, MAX_GRADIENT_TRIALS + 1):
            trial = theta + rate * direction
            there = self.objective.value_grad(trial)
            falls_enough = there.value <= here.value + ARMIJO * rate * slope  # false for NaN
            if falls_enough or is_lower(here, there, self.D):
                break
            if trials == MAX_GRADIENT_TRIALS:
                return _Moved(theta, here, trials, Status.PRECISION)
            rate *= parabola_minimum(there.value - here.value, rate * slope)
        change = there.grad - here.grad
        rise, length = float(np.vdot(change, direction)), float(np.vdot(direction, self.D * direction))
        if rise > DOUBLE_ROUNDING * length:  # use the two secant estimates in turn; Δθ = rate · direction
            self.long = not self.long
            self.rate = rate * (length / rise if self.long else rise / squared_length(change, self.D))
        else:  # no measurable curvature
            self.rate = 10.0 * rate
        size = squared_length(there.grad, self.D)
        is_new = size < self.smallest or there.value < here.value - DOUBLE_ROUNDING * abs(here.value)
        self.smallest = min(self.smallest, size)
        self.idle = 0 if is_new else self.idle + 1
        if self.idle > MAX_IDLE_GRADIENT_STEPS:
            return _Moved(theta, here, trials, Status.PRECISION)
        return _Moved(trial, there, trials)


def is_lower(here: ValueGrad, there: ValueGrad, D: Float) -> bool:
    """Whether ``there`` is lower than ``here``; if the objectives are equal up to rounding, the gradients decide.

    Near its minimum the objective is quadratic, so an objective 1e-16 above the minimum has a gradient of 1e-8.
    """
    rise = there.value - here.value
    if abs(rise) <= DOUBLE_ROUNDING * abs(here.value):
        return squared_length(there.grad, D) < squared_length(here.grad, D)
    return rise < 0


def squared_length(grad: Float, D: Float) -> float:
    """g'D⁻¹g."""
    return float(np.vdot(grad, grad / D))
