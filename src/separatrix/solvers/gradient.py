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

from collections.abc import Iterator
from dataclasses import dataclass

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

Move = tuple[Float, ValueGrad, int, Status | None]  # point reached, number of passes, and the reason to stop, if any


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
        first = start, objective.value_grad(start)
        moves = searched_steps(objective, *first) if self.step is None else fixed_steps(objective, *first, self.step)
        (theta, here), passes = first, 1
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
                theta, here, trials, status = next(moves)
            passes += trials
            if status is not None:
                end = status_at_rest(size, self.tol) if status is Status.PRECISION else status
                break
        return Solution(theta, end, step, passes, tuple(trace), End(here.grad, diagonal(objective)))


def fixed_steps(objective: Posterior, theta: Float, here: ValueGrad, step: float) -> Iterator[Move]:
    """Steps with a fixed rate η. If the objective diverges, the lowest point is returned.

    If the curvature is at most c, a rise of the objective proves η > 2/c. Later the curvature may decrease and the
    objective may fall again, so descent does not stop at the first rise.
    """
    rate, lowest, above = step / objective.units.total, (theta, here), 0
    while True:
        theta = theta - rate * here.grad
        here, low = objective.value_grad(theta), lowest[1].value
        above = 0 if here.value <= low + DOUBLE_ROUNDING * abs(low) else above + 1
        if above > MAX_IDLE_GRADIENT_STEPS or not (np.isfinite(here.value) and np.isfinite(here.grad).all()):
            yield *lowest, 1, Status.DIVERGED
        if here.value < low:
            lowest = theta, here
        yield theta, here, 1, None


def searched_steps(objective: Posterior, theta: Float, here: ValueGrad) -> Iterator[Move]:
    """Steps along -D⁻¹g that start at a Barzilai-Borwein length and shrink until the objective falls."""
    D = diagonal(objective).curvature
    rate, is_long, smallest, idle = 1.0, True, np.inf, 0
    while True:
        direction = -here.grad / D
        slope = float(np.vdot(here.grad, direction))
        for trials in range(1, MAX_GRADIENT_TRIALS + 1):
            trial = theta + rate * direction
            there = objective.value_grad(trial)
            falls_enough = there.value <= here.value + ARMIJO * rate * slope  # false for NaN
            if falls_enough or is_lower(here, there, D):
                break
            if trials == MAX_GRADIENT_TRIALS:
                yield theta, here, trials, Status.PRECISION
            rate *= parabola_minimum(there.value - here.value, rate * slope)
        change = there.grad - here.grad
        rise, length = float(np.vdot(change, direction)), float(np.vdot(direction, D * direction))
        if rise > DOUBLE_ROUNDING * length:  # use the two secant estimates in turn; Δθ = rate · direction
            is_long = not is_long
            rate *= length / rise if is_long else rise / squared_length(change, D)
        else:  # no measurable curvature
            rate *= 10.0
        size = squared_length(there.grad, D)
        is_new = size < smallest or there.value < here.value - DOUBLE_ROUNDING * abs(here.value)
        smallest, idle = min(smallest, size), 0 if is_new else idle + 1
        if idle > MAX_IDLE_GRADIENT_STEPS:
            yield theta, here, trials, Status.PRECISION
        theta, here = trial, there
        yield theta, here, trials, None


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
