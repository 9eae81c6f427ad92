# SPDX-License-Identifier: BSD-3-Clause
"""Gradient descent on all rows at once.                                                        PRML §3.1.3, §5.2.4

    θ ← θ - η ∇E(θ) / Σ_n weight_n                                          a fixed step η, as in the book
    θ ← θ - s D⁻¹ ∇E(θ)                                                     a line search for s

A fixed step is in the units of the columns, so the right one is a guess. The line search divides by D first, a bound
on the diagonal of the Hessian that the units of the columns and the scales of the prior cancel in, and starts from
the steps of Barzilai and Borwein (1988): the last step Δθ and the change Δg of the gradient along it give two secant
estimates of the curvature,

    1/s = Δθ'Δg / Δθ'DΔθ      and, never less,      1/s = Δg'D⁻¹Δg / Δθ'Δg,

which are used in turn. A step is halved or more until the objective falls enough, so it never rises. That costs
little: hundreds of passes become tens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from separatrix._arguments import check_count, check_number, check_positive
from separatrix._array import Float
from separatrix.solvers.descent import ARMIJO
from separatrix.solvers.posterior import Posterior
from separatrix.solvers.precondition import diagonal
from separatrix.solvers.result import End, Solution, Status, Step, at_rest
from separatrix.stats import ValueGrad

__all__ = ["GradientDescent", "is_lower", "squared_length"]

SAME = 1e-12  # relative differences of the objective that may be rounding, however far the columns are from zero
PATIENCE = 100  # steps that may pass above the lowest point seen, or without any gain
MAX_TRIES = 30  # of a line search; each at least halves the step


@dataclass(frozen=True)
class GradientDescent:
    """Batch gradient descent, with a fixed step or a line search that needs no tuning.

    Parameters
    ----------
    step : float, optional
        η in θ ← θ - η ∇E(θ) / Σ_n weight_n: E is the sum over rows, so η multiplies the gradient per unit of weight and
        does not depend on the number of rows. θ holds the weights in the units of the columns, and the bias at the
        mean of the rows. None searches for the length of each step.
    tol : float, default 1e-8
        Bound on the gradient, per unit of weight and per standard deviation of each column.
    max_steps : int, default 10000
        The limit on steps. A fixed step is one pass; one of the line search is one pass and a few more now and then.
    trace : bool, default False
        Whether to keep every step.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from separatrix.rows import as_source
    >>> from separatrix.likelihoods import Logit
    >>> from separatrix.priors import Gaussian
    >>> from separatrix.solvers.posterior import pose
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> objective = pose(as_source(X[:, :5], y), Logit(), Gaussian(), fit_intercept=True)
    >>> solution = GradientDescent().minimise(objective, np.zeros(objective.shape))
    >>> solution.status.value
    'converged: the gradient is zero to the tolerance'
    """

    step: float | None = None
    tol: float = 1e-8
    max_steps: int = 10_000
    trace: bool = False

    def __post_init__(self) -> None:
        if self.step is not None:
            check_positive("GradientDescent", "step", self.step)
        check_number("GradientDescent", "tol", self.tol, low=0.0)
        check_count("GradientDescent", "max_steps", self.max_steps, least=0)

    def minimise(self, objective: Posterior, start: Float) -> Solution[Float]:
        """From ``start`` (C, P) to a minimum."""
        move = _Search(objective) if self.step is None else _Fixed(objective, self.step)
        theta, here, passes = start, objective.value_grad(start), 1
        trace = []
        for step in range(self.max_steps + 1):
            size = objective.gradient_size(here.grad)
            if self.trace:
                trace.append(Step(theta, here.value, size))
            if size <= self.tol:
                return Solution(theta, Status.GRADIENT, step, passes, tuple(trace), _end(objective, here))
            if step == self.max_steps:
                break
            with np.errstate(over="ignore", invalid="ignore"):  # a step too long may overflow: it is not taken then
                moved = move(theta, here)
            theta, here, passes = moved.theta, moved.here, passes + moved.passes
            if moved.status is not None:
                end = at_rest(size, self.tol) if moved.status is Status.PRECISION else moved.status
                return Solution(theta, end, step, passes, tuple(trace), _end(objective, here))
        return Solution(theta, Status.MAX_STEPS, self.max_steps, passes, tuple(trace), _end(objective, here))


def _end(objective: Posterior, here: ValueGrad) -> End:
    return End(here.grad, diagonal(objective))


class _Moved(NamedTuple):
    """Where a step led, the passes it took, and why there is no other where that is so."""

    theta: Float
    here: ValueGrad
    passes: int
    status: Status | None = None


class _Fixed:
    """Steps of one length. Where they overshoot, the lowest point is what there is to return.

    On a function with curvature at most c a rise proves that the step is longer than 2/c; but it may come to lower
    points again once the curvature has fallen, so a rise is not the end.
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
        self.above = 0 if there.value <= low + SAME * abs(low) else self.above + 1
        if self.above > PATIENCE or not (np.isfinite(there.value) and np.isfinite(there.grad).all()):
            return _Moved(*self.lowest, 1, Status.DIVERGED)
        return _Moved(trial, there, 1)


class _Search:
    """Steps along -D⁻¹g that start at a Barzilai-Borwein length and shrink until the objective falls."""

    def __init__(self, objective: Posterior) -> None:
        self.objective, self.D = objective, diagonal(objective).curvature
        self.share = 1.0
        self.long = True
        self.smallest = np.inf
        self.idle = 0

    def __call__(self, theta: Float, here: ValueGrad) -> _Moved:
        direction = -here.grad / self.D
        slope = float(np.vdot(here.grad, direction))
        share = self.share
        for tries in range(1, MAX_TRIES + 1):
            trial = theta + share * direction
            there = self.objective.value_grad(trial)
            falls_enough = there.value <= here.value + ARMIJO * share * slope  # never so of NaN
            if falls_enough or is_lower(here, there, self.D):
                self.share = self._next_share(share, direction, there.grad - here.grad)
                if self._is_idle(here, there):
                    break
                return _Moved(trial, there, tries)
            share *= _bottom_of_parabola(here.value, there.value, share * slope)
        return _Moved(theta, here, tries, Status.PRECISION)

    def _next_share(self, share: float, direction: Float, change: Float) -> float:
        """The two secant estimates in turn, with Δθ = share · direction."""
        rise = float(np.vdot(change, direction))
        length = float(np.vdot(direction, self.D * direction))
        if not rise > SAME * length:  # no curvature seen
            return 10.0 * share
        self.long = not self.long
        return share * (length / rise if self.long else rise / squared_length(change, self.D))

    def _is_idle(self, here: ValueGrad, there: ValueGrad) -> bool:
        """Whether for long now neither the objective nor the gradient has got any smaller."""
        size = squared_length(there.grad, self.D)
        is_new = size < self.smallest or there.value < here.value - SAME * abs(here.value)
        self.smallest = min(self.smallest, size)
        self.idle = 0 if is_new else self.idle + 1
        return self.idle > PATIENCE


def is_lower(here: ValueGrad, there: ValueGrad, D: Float) -> bool:
    """Whether one point is lower than another, by the gradient where the objective is the same but for rounding.

    The objective is quadratic that near to its minimum: an excess of 1e-16 over it is a gradient of 1e-8.
    """
    rise = there.value - here.value
    if abs(rise) <= SAME * abs(here.value):
        return squared_length(there.grad, D) < squared_length(here.grad, D)
    return rise < 0


def squared_length(grad: Float, D: Float) -> float:
    """g'D⁻¹g."""
    return float(np.vdot(grad, grad / D))


def _bottom_of_parabola(before: float, after: float, promised: float) -> float:
    """The share of a step where the parabola through both values and the first slope is lowest: a tenth to a half."""
    excess = after - before - promised
    return float(np.clip(-0.5 * promised / excess, 0.1, 0.5)) if np.isfinite(excess) and excess > 0 else 0.1
