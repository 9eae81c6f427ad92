# SPDX-License-Identifier: BSD-3-Clause
"""The solver that is chosen when nobody chooses: from coarse to fine, and from cheap to sure.

A gradient reads the rows once. A Hessian costs N P² operations, as much as P/20 gradients or so, and saves many.

1. A Hessian that takes no time to speak of: Newton's method.
2. Many rows for each weight: a sixteenth of them is fitted first. Its optimum is as far from that of all rows as
   sampling noise, a few hundredths of a standard deviation, and so is its Hessian; from there L-BFGS steps with the
   inverse of that, which cost a gradient of all rows each. Each wins more than a digit, so six of them reach 1e-8; with
   a Hessian of all rows it would be four, and a Hessian costs more than two gradients.
3. Otherwise L-BFGS, with preconditioners in the order of their price: a diagonal (where rows are few for each weight),
   a Hessian in single precision (of several classes, a block for each), and if need be Newton's method. Each has about
   as many steps as the next one costs, so that the whole is never much dearer than the best of them.
4. Fewer rows than columns: the same in the space of the rows (`wide`).
5. So many weights that a Hessian no longer fits: L-BFGS with a diagonal.

Every path ends with the same stopping rule, on the gradient over all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from separatrix._arguments import check_count, check_number
from separatrix._array import Float
from separatrix.solvers.factor import factorise
from separatrix.solvers.lbfgs import LBFGS
from separatrix.solvers.newton import Newton
from separatrix.solvers.posterior import Posterior
from separatrix.solvers.precondition import Inverse, by_class, level
from separatrix.solvers.result import Solution, Status
from separatrix.solvers.wide import dual, is_wide
from separatrix.stats import ValueGrad

__all__ = ["Auto", "is_small"]

JOINT = 1500  # weights in all, up to which a Hessian of all of them is factorised
BLOCK = 5000  # weights per class, up to which a Hessian for each class is
ROUGH = 1e-3  # how well: beyond, the sample's own noise
PATIENCE = 25  # steps after which a preconditioner is worth renewing
PER_HESSIAN = 10  # columns, for each of which a Hessian costs one such step
FEW = 10  # rows for each weight, below which a Hessian is not the first thing to try
FLOPS = 2e8  # one Newton step over the rows may cost this without a second thought
ALONE = 2  # ... and so many times as much for two classes of rows too few to draw a sample from
GRAM = 1e10  # what inner products of all rows may cost before gradients alone are tried

Hessian = Callable[[Posterior, Float], tuple[Inverse, ValueGrad | None]]
Way = Callable[[Posterior, Float, int], Solution[Float]]  # from a start, in so many steps


@dataclass(frozen=True)
class Auto:
    """Newton, L-BFGS or the dual, with subsampled starts: see the module."""

    tol: float = 1e-8
    max_steps: int = 2000
    trace: bool = False

    def __post_init__(self) -> None:
        check_number("Auto", "tol", self.tol, low=0.0)
        check_count("Auto", "max_steps", self.max_steps, least=0)

    def minimise(self, objective: Posterior, start: Float) -> Solution[Float]:
        """From ``start`` (C, P) to a minimum."""
        if is_wide(objective):
            return self._in_turn(objective, start, self._wide(objective))
        if objective.sample is None or is_small(objective):
            return self._in_turn(objective, start, self._few_rows(objective))
        if not _fits(objective):
            return self._in_turn(objective, start, [self._gradients()])
        sample = objective.of_sample()
        rough = replace(self, tol=ROUGH, max_steps=min(PATIENCE, self.max_steps), trace=False)
        near = rough._in_turn(sample, start, rough._few_rows(sample)).value
        return self._in_turn(objective, near, self._many_rows(objective, sample))

    def _few_rows(self, objective: Posterior) -> Sequence[Way]:
        C, P = objective.shape
        if is_small(objective, ALONE if C == 1 else 1):
            return [self._newton]
        if not _fits(objective):
            return [self._gradients()]
        first = [self._gradients(PATIENCE + P // PER_HESSIAN)] if objective.source.n_rows < FEW * P else []
        return [*first, self._hessian(joint if C == 1 else classes, PATIENCE), *self._surely(objective)]

    def _many_rows(self, objective: Posterior, sample: Posterior) -> Sequence[Way]:
        C, P = objective.shape
        kind = joint if C == 1 or C * P <= JOINT else classes
        return [self._hessian(kind, PATIENCE, sample), *self._surely(objective)]

    def _wide(self, objective: Posterior) -> Sequence[Way]:
        N, M = objective.source.n_rows, len(objective.design.origin)
        first = [self._gradients(PATIENCE + N // PER_HESSIAN)] if N * N * M > GRAM else []
        return [*first, self._dual]

    def _surely(self, objective: Posterior) -> Sequence[Way]:
        """What leads to the end if anything does."""
        C, P = objective.shape
        if C == 1:
            return [self._newton]
        return [self._hessian(classes), *([self._newton] if C * P <= JOINT else [])]

    def _in_turn(self, objective: Posterior, start: Float, ways: Sequence[Way]) -> Solution[Float]:
        """One way after the other, each from where the last one ended, until there is no need or no step left."""
        found = Solution(start, Status.MAX_STEPS, 0, 0)
        for way in ways:
            part = way(objective, found.value, self.max_steps - found.steps)
            found = replace(
                part,
                steps=found.steps + part.steps,
                passes=found.passes + part.passes,
                trace=found.trace + part.trace[bool(found.trace) :],
            )
            if found.is_converged or found.steps >= self.max_steps:
                break
        return found

    def _newton(self, objective: Posterior, start: Float, steps: int) -> Solution[Float]:
        return Newton(self.tol, steps, self.trace).minimise(objective, start)

    def _dual(self, objective: Posterior, start: Float, steps: int) -> Solution[Float]:
        small = dual(objective)
        rest, nothing = replace(self, max_steps=steps), np.zeros(small.objective.shape)
        return small.primal(rest._in_turn(small.objective, nothing, rest._few_rows(small.objective)))

    def _gradients(self, patience: int | None = None) -> Way:
        """L-BFGS with a diagonal."""
        return lambda objective, start, steps: self._lbfgs(steps, patience).minimise(objective, start)

    def _hessian(self, kind: Hessian, patience: int | None = None, sample: Posterior | None = None) -> Way:
        """L-BFGS with a Hessian where it starts, of all rows or of a sample."""

        def way(objective: Posterior, start: Float, steps: int) -> Solution[Float]:
            start = level(objective, start)
            inverse, known = kind(sample or objective, start)
            lbfgs = self._lbfgs(steps, patience)
            if sample is not None:
                return lbfgs.minimise(objective, start, inverse=inverse)
            found = lbfgs.minimise(objective, start, inverse=inverse, known=known)
            return replace(found, passes=found.passes + 1)

        return way

    def _lbfgs(self, steps: int, patience: int | None) -> LBFGS:
        return LBFGS(self.tol, steps if patience is None else min(steps, patience), memory=50, trace=self.trace)


def joint(objective: Posterior, theta: Float) -> tuple[Inverse, ValueGrad | None]:
    """The Hessian of all weights, and what the same pass found besides."""
    here = objective.value_grad_hess(theta, exact=False, single=True)
    return factorise(here.hess, len(theta), objective.free), ValueGrad(here.value, here.grad)


def classes(objective: Posterior, theta: Float) -> tuple[Inverse, ValueGrad | None]:
    """The Hessian of each class alone."""
    return by_class(objective, theta), None


def is_small(objective: Posterior, times: float = 1.0) -> bool:
    """Whether a Hessian of everything costs nothing to speak of."""
    C, P = objective.shape
    return C * P <= JOINT and objective.source.n_rows * (C * P) ** 2 <= times * FLOPS


def _fits(objective: Posterior) -> bool:
    """Whether Hessians per class are worth their memory and time."""
    return objective.design.width <= (JOINT if objective.units.is_sparse else BLOCK)
