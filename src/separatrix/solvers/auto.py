# SPDX-License-Identifier: BSD-3-Clause
"""The default solver, which tries cheap methods before reliable ones.

A gradient reads the rows once. A Hessian costs N P² operations, about as much as P/20 gradients, and saves many steps.

1. If the Hessian of all weights takes negligible time, Newton's method is used.
2. If there are many rows per weight, a sixteenth of the rows is fitted first. The optimum and the Hessian of this
   sample differ from those of all rows by sampling noise, a few hundredths of a standard deviation. L-BFGS continues on
   all rows with the inverse of the sample's Hessian, and each step costs one gradient. Each step gains more than a
   digit, so six steps reach 1e-8. A Hessian of all rows would need four steps, but costs more than two gradients.
3. Otherwise L-BFGS is tried with preconditioners in the order of their cost: a diagonal (if rows are sparse, or few per
   weight), then a Hessian in single precision (one block per class). Newton's method is last. Each stage may take about
   as many steps as the next stage costs, so the total is never much more than the cost of the best stage.
4. If there are fewer rows than columns, the same stages solve the problem with one unknown per row (`dual`).
5. If there are too many weights for a Hessian, L-BFGS uses a diagonal.

All of them end with the same stopping rule, on the gradient over all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from separatrix._array import Float
from separatrix.solvers.dual import MAX_DUAL_ROWS, dual
from separatrix.solvers.hessian import MAX_JOINT_WEIGHTS, by_class, factorise, fits_in_memory
from separatrix.solvers.lbfgs import LBFGS
from separatrix.solvers.newton import Newton
from separatrix.solvers.posterior import Posterior
from separatrix.solvers.proximal import ProximalNewton
from separatrix.solvers.result import Limits, Solution, Status
from separatrix.stats import ValueGrad

SAMPLE_TOL = 1e-3  # tolerance of the fit to a sample, smaller than the sampling noise
RENEWAL_STEPS = 25  # steps after which a new preconditioner is worth its cost
COLUMNS_PER_STEP = 10  # a Hessian costs as much as one L-BFGS step per this number of columns
SPARSE_HESSIAN = 4  # a Hessian of sparse rows costs this many times more
MIN_ROWS_PER_WEIGHT = 10  # with fewer rows per weight, a diagonal is tried before a Hessian
PAIRS, SPARSE_PAIRS = 50, 15  # memory of L-BFGS; products with more pairs would take longer than a pass of sparse rows
CHEAP_HESSIAN_FLOPS = 2e8  # number of operations per Newton step that takes negligible time
CHEAP_GRAM_FLOPS = 1e10  # if the inner products of all rows take more operations, L-BFGS is tried first

Stage = Callable[[Posterior, Float, int], Solution[Float]]  # (objective, start, maximum number of steps)


@dataclass(frozen=True)
class Auto(Limits):
    """Newton's method, L-BFGS or the dual, started from a fit to a sample; see the module docstring."""

    tol: float = 1e-8
    max_steps: int = 2000
    trace: bool = False
    single: bool = False  # Hessians of Newton's method
    max_change: float = np.inf  # of the Hessian, from the last point of Newton's method to the minimum

    def minimise(self, objective: Posterior, start: Float) -> Solution[Float]:
        """Minimise from ``start`` (C, P)."""
        if objective.prior.corner is not None:
            return ProximalNewton(self.tol, self.max_steps, self.trace).minimise(objective, start)
        if is_wide(objective):
            N, M = objective.source.n_rows, len(objective.design.origin)
            is_costly = N * N * M > CHEAP_GRAM_FLOPS or not objective.units.has_fast_products
            first = [self._gradients(RENEWAL_STEPS + N // COLUMNS_PER_STEP)] if is_costly else []

            def in_dual(objective: Posterior, start: Float, steps: int) -> Solution[Float]:
                small, rest = dual(objective), replace(self, max_steps=steps)
                return small.primal(rest._few_rows(small.objective, np.zeros(small.objective.shape)))

            return self._run(objective, start, [*first, in_dual])
        if objective.sample is None or has_cheap_hessian(objective):
            return self._few_rows(objective, start)
        if not fits_in_memory(objective):
            return self._run(objective, start, [self._gradients()])
        sample, (C, P) = objective.of_sample(), objective.shape
        rough = Auto(SAMPLE_TOL, min(RENEWAL_STEPS, self.max_steps), single=self.single)
        near = rough._few_rows(sample, start).value
        is_joint = C == 1 or C * P <= MAX_JOINT_WEIGHTS
        first = [self._hessian(is_joint=is_joint, limit=RENEWAL_STEPS, sample=sample)]
        return self._run(objective, near, [*first, *self._last_stages(objective)])

    def _few_rows(self, objective: Posterior, start: Float) -> Solution[Float]:
        C, P = objective.shape
        if has_cheap_hessian(objective, times=2 if C == 1 else 1):
            return self._newton(objective, start, self.max_steps)
        if not fits_in_memory(objective):
            return self._run(objective, start, [self._gradients()])
        is_sparse = not objective.units.has_fast_products
        is_first = is_sparse or objective.source.n_rows < MIN_ROWS_PER_WEIGHT * P
        worth = P // COLUMNS_PER_STEP * (SPARSE_HESSIAN if is_sparse else 1)
        first = [self._gradients(RENEWAL_STEPS + worth)] if is_first else []
        middle = self._hessian(is_joint=C == 1, limit=RENEWAL_STEPS)
        return self._run(objective, start, [*first, middle, *self._last_stages(objective)])

    def _last_stages(self, objective: Posterior) -> Sequence[Stage]:
        """The most reliable stages, which are tried last."""
        C, P = objective.shape
        if C == 1:
            return [self._newton]
        return [self._hessian(is_joint=False), *([self._newton] if C * P <= MAX_JOINT_WEIGHTS else [])]

    def _run(self, objective: Posterior, start: Float, stages: Sequence[Stage]) -> Solution[Float]:
        """Run stages in turn, each from the result of the previous one, until one converges or no steps are left."""
        found = Solution(start, Status.MAX_STEPS, 0, 0)
        for stage in stages:
            found = found.followed_by(stage(objective, found.value, self.max_steps - found.steps))
            if found.is_converged or found.steps >= self.max_steps:
                break
        return found

    def _newton(self, objective: Posterior, start: Float, steps: int) -> Solution[Float]:
        newton = Newton(self.tol, steps, self.trace, self.single, self.max_change)
        return newton.minimise(objective, start, is_stretched=True)

    def _gradients(self, limit: int | None = None) -> Stage:
        """L-BFGS with a diagonal preconditioner."""

        def stage(objective: Posterior, start: Float, steps: int) -> Solution[Float]:
            memory = PAIRS if objective.units.has_fast_products else SPARSE_PAIRS
            return self._lbfgs(steps, limit, memory).minimise(objective, objective.centre_classes(start))

        return stage

    def _hessian(self, *, is_joint: bool, limit: int | None = None, sample: Posterior | None = None) -> Stage:
        """L-BFGS with the Hessian at the start: joint or one block per class, from all rows or from a sample."""

        def stage(objective: Posterior, start: Float, steps: int) -> Solution[Float]:
            start = objective.centre_classes(start)
            rows, lbfgs = sample or objective, self._lbfgs(steps, limit)
            if not is_joint:
                found = lbfgs.minimise(objective, start, inverse=by_class(rows, start))
            else:
                here = rows.value_grad_hess(start, exact=False, single=True)
                inverse = factorise(here.hess, len(start), rows.prior.free)
                known = ValueGrad(here.value, here.grad) if sample is None else None
                found = lbfgs.minimise(objective, start, inverse=inverse, known=known)
            return found if sample is not None else replace(found, passes=found.passes + 1)

        return stage

    def _lbfgs(self, steps: int, limit: int | None, memory: int = PAIRS) -> LBFGS:
        return LBFGS(self.tol, steps if limit is None else min(steps, limit), memory, self.trace)


def is_wide(objective: Posterior) -> bool:
    """Whether `dual` applies: N < min(M, 4000), some column varies, and the prior is diagonal, proper and of mean 0."""
    prior, M = objective.prior, len(objective.design.origin)
    proper = prior.precision.ndim == 1 and bool((prior.precision[:M] > 0).all()) and not prior.mean.any()
    return proper and objective.source.n_rows < min(M, MAX_DUAL_ROWS) and bool(objective.units.spread.any())


def has_cheap_hessian(objective: Posterior, times: float = 1.0) -> bool:
    """Whether a Hessian of all weights takes negligible time."""
    C, P = objective.shape
    return C * P <= MAX_JOINT_WEIGHTS and objective.source.n_rows * (C * P) ** 2 <= times * CHEAP_HESSIAN_FLOPS
