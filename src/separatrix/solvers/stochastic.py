# SPDX-License-Identifier: BSD-3-Clause
"""Stochastic gradient descent: one step per mini-batch.                                                PRML (3.22)

The first epoch is the book's sequential update, on mini-batches B of rows in random order,

    θ ← θ - η D⁻¹ g_B(θ),      g_B = (N / |B|) Σ_{n ∈ B} ∇E_n - ∇ ln p(θ),      η = r / √Σ |g_B|²,

where r is the distance of θ from its start and the sum is over the steps so far (distance over gradients: Ivgi, Hinder
& Carmon 2023). After one pass the fit is accurate to the noise of the rows.

Because of the noise of g_B such steps never converge, so later epochs remove the noise (SVRG: Johnson & Zhang 2013).
They start from the gradient of all rows at an anchor θ₀, and use mini-batches only for its change since θ₀,

    θ ← θ - (1/c) D⁻¹ [ ∇E(θ₀) + g_B(θ) - g_B(θ₀) ],

which is unbiased, and exact at the minimum. The error falls by a constant factor with every epoch. c is twice the
largest |g_B(θ) - g_B(θ₀)| / |θ - θ₀| of the last epoch, the measured curvature of mini-batches. The result of an epoch
is the average of its θ, with larger weights for later ones. An epoch costs two passes: one for the steps, and one for
value and gradient at the result. If the objective did not fall, the epoch is repeated with half the step length.

Lengths are in the metric D of `hessian.diagonal` and have no units: |θ|² = θ'Dθ, |g|² = g'D⁻¹g.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from separatrix._arguments import check_count, check_number, generator
from separatrix._array import Array, Float
from separatrix._threads import single_thread_blas
from separatrix.rows import Block
from separatrix.solvers.gradient import is_lower, squared_length
from separatrix.solvers.hessian import diagonal
from separatrix.solvers.posterior import Posterior
from separatrix.solvers.result import Solution, Status, Step, status_at_rest

MIN_BATCHES = 8  # smallest number of mini-batches per epoch; averages of fewer are too noisy
FIRST_REACH = 0.1  # |θ - start|/√(total weight) after the first step, which changes activations by about 0.2
AVERAGING_POWER = 3.0  # how strongly an average favours later θ (Shamir & Zhang 2013); 0 is the plain mean
MIN_CAUTION = 2.0  # smallest ratio of c to the largest measured curvature
MAX_REPEATS = 15  # consecutive epochs without progress, each with half the step length

Update = Callable[[Float, Block, slice], Float]  # (θ, mini-batch, its position in the block) -> next θ


@dataclass(frozen=True)
class StochasticGradient:
    """Stochastic gradient descent, first with averaging, then with variance reduction. No step size needs tuning.

    Parameters
    ----------
    batch : int, default 64
        Rows per step, at most an eighth of all rows.
    tol : float, default 1e-6
        Bound on the gradient of all rows, per unit of weight and per standard deviation of each column.
    max_epochs : int, default 500
        Maximum number of epochs. Each takes two passes. With 1, only plain averaged descent runs.
    rng : None, int or numpy Generator, default None
        Seed for the order of the rows. None is a fixed seed, so repeated calls give the same model.
    trace : bool, default False
        Whether to keep the result of every epoch.
    """

    batch: int = 64
    tol: float = 1e-6
    max_epochs: int = 500
    rng: int | np.random.Generator | None = None
    trace: bool = False

    def __post_init__(self) -> None:
        check_count("StochasticGradient", "batch", self.batch)
        check_number("StochasticGradient", "tol", self.tol, low=0.0)
        check_count("StochasticGradient", "max_epochs", self.max_epochs, least=0)

    def minimise(self, objective: Posterior, start: Float) -> Solution[Float]:
        """Minimise from ``start`` (C, P). ``steps`` of the solution counts epochs."""
        run = _Run(objective, min(self.batch, max(1, objective.source.n_rows // MIN_BATCHES)), generator(self.rng))
        theta, here, passes = start, objective.value_grad(start), 1
        trace = []
        for epoch in range(self.max_epochs + 1):
            size = objective.gradient_size(here.grad)
            if self.trace:
                trace.append(Step(theta, here.value, size))
            if size <= self.tol:
                return Solution(theta, Status.GRADIENT, epoch, passes, tuple(trace))
            if run.repeats > MAX_REPEATS:
                return Solution(theta, status_at_rest(size, self.tol), epoch, passes, tuple(trace))
            if epoch == self.max_epochs:
                break
            with np.errstate(over="ignore", invalid="ignore"):  # steps that overflow are not taken
                trial = run.corrected(theta, here.grad) if epoch else run.sequential(theta)
                there = objective.value_grad(trial)
            passes += 2
            if is_lower(here, there, run.D):
                theta, here = trial, there
                run.curvature, run.caution, run.repeats = run.seen, max(MIN_CAUTION, 0.8 * run.caution), 0
            else:  # repeat the epoch with steps of half the length
                run.caution, run.repeats = 2 * run.caution, run.repeats + 1
        return Solution(theta, Status.MAX_STEPS, self.max_epochs, passes, tuple(trace))


class _Run:
    """State of one fit: the metric D, and the measured curvature that limits the steps."""

    def __init__(self, objective: Posterior, batch: int, rng: np.random.Generator) -> None:
        self.objective, self.batch, self.rng = objective, batch, rng
        self.D = diagonal(objective).curvature
        self.curvature = self.seen = 1.0
        self.caution = MIN_CAUTION
        self.repeats = 0

    def sequential(self, start: Float) -> Float:
        """Run an epoch of steps θ ← θ - η D⁻¹ g_B(θ) with η = r / √Σ |g_B|²; return the averaged θ."""
        objective, prior, D = self.objective, self.objective.prior, self.D
        reach, squares = FIRST_REACH * np.sqrt(objective.units.total), 0.0

        def step(theta: Float, part: Block, rows: slice) -> Float:
            nonlocal reach, squares
            slope = _slope(objective, part, theta)
            grad = _batch_grad(objective, part, slope) + prior.dot(theta - prior.mean)
            squares += squared_length(grad, D)
            if squares == 0:  # all rows so far have weight 0
                return theta
            theta = theta - (reach / np.sqrt(squares)) * (grad / D)
            away = theta - start
            reach = max(reach, np.sqrt(float(np.vdot(away, D * away))))
            return theta

        return self._epoch(lambda block: step, start)

    def corrected(self, anchor: Float, grad: Float) -> Float:
        """Run an epoch with variance reduction, from an anchor and the gradient of all rows there.

        θ ← θ - (1/c) D⁻¹ [ ∇E(θ₀) + g_B(θ) - g_B(θ₀) ]. c increases immediately if a larger curvature is measured.
        """
        objective, D, seen = self.objective, self.D, 0.0

        def enter(block: Block) -> Update:
            at_anchor = _slope(objective, block, anchor)

            def step(theta: Float, part: Block, rows: slice) -> Float:
                nonlocal seen
                away = theta - anchor
                slope = _slope(objective, part, theta) - at_anchor[rows]
                change = _batch_grad(objective, part, slope) + objective.prior.dot(away)
                length = float(np.vdot(away, D * away))
                if length > 0:
                    seen = max(seen, np.sqrt(squared_length(change, D) / length))
                c = self.caution * max(self.curvature, seen)
                return np.asarray(theta - (grad + change) / (c * D))

            return step

        result = self._epoch(enter, anchor)
        self.seen = seen or self.curvature  # an epoch of one step does not measure a curvature
        return result

    def _epoch(self, enter: Callable[[Block], Update], start: Float) -> Float:
        """Weighted average of θ over the mini-batches of one pass; ``enter(block)`` returns the update."""

        def show(state: tuple[Float, Float, int], block: Block) -> tuple[Float, Float, int]:
            # Double precision, because the small difference of two gradients would be rounding error in float32.
            block = replace(block, X=block.X.astype(np.float64, copy=False))
            theta, mean, n_steps = state  # mean is the weighted average of all θ so far
            step = enter(block)
            n, parts = len(block), -(-len(block) // self.batch)
            for i in range(parts):  # mini-batches of nearly equal size
                rows = slice(n * i // parts, n * (i + 1) // parts)
                t, weight, offset = (None if x is None else x[rows] for x in (block.t, block.weight, block.offset))
                theta = step(theta, Block(block.X[rows], t, weight, block.row[rows], offset), rows)
                n_steps += 1
                mean = mean + (1 + AVERAGING_POWER) / (n_steps + AVERAGING_POWER) * (theta - mean)
            return theta, mean, n_steps

        with single_thread_blas():
            return self.objective.source.fold(show, (start, start, 0), self.rng)[1]


def _slope(objective: Posterior, block: Block, theta: Float) -> Array:
    """∂ ln p/∂a of each row, times its weight."""
    slope = objective.likelihood.derivatives(objective.design.activate(block, theta), block.targets).slope
    if block.weight is None:
        return slope
    return slope * (block.weight if slope.ndim == 1 else block.weight[:, None])


def _batch_grad(objective: Posterior, part: Block, slope: Array) -> Float:
    """Estimate of the gradient of the likelihood over all N rows, from one mini-batch."""
    return -(objective.source.n_rows / len(part)) * objective.design.collect(part, slope)
