# SPDX-License-Identifier: BSD-3-Clause
"""The solver that is chosen when nobody chooses: from coarse to fine.

1. Few rows: Newton's method. Fewer rows than columns: the same in the space of the rows (`wide`).
2. Many rows: a sixteenth of them is fitted first. Its optimum is as far from that of all rows as sampling noise, a few
   hundredths of a standard deviation; from there one Hessian of all rows in single precision, and L-BFGS steps with its
   inverse that cost a gradient each. Each such step wins one to two digits, so four of them reach 1e-8.
3. So many weights that a Hessian no longer fits: L-BFGS with one block for each class, or with a diagonal.

Every path ends with the same stopping rule, on the gradient over all rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from separatrix._arguments import check_count, check_number
from separatrix._array import Float
from separatrix.solvers.factor import factorise
from separatrix.solvers.lbfgs import LBFGS
from separatrix.solvers.newton import Newton
from separatrix.solvers.posterior import Posterior
from separatrix.solvers.precondition import Inverse, by_class, level
from separatrix.solvers.result import Solution
from separatrix.solvers.wide import dual, is_wide
from separatrix.stats.objective import ValueGrad

__all__ = ["Auto"]

JOINT = 1500  # weights in all, up to which a Hessian of all of them is factorised
BLOCK = 5000  # weights per class, up to which a Hessian for each class is
ROUGH = 1e-3  # how well: beyond, the sample's own noise
PATIENCE = 25  # steps after which a preconditioner is worth renewing
FLOPS = 2e8  # one Newton step over the rows may cost this without a second thought


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
            small = dual(objective)
            return small.primal(self._few_rows(small.objective, np.zeros(small.objective.shape)))
        if objective.sample is None or _is_small(objective):
            return self._few_rows(objective, start)
        if not _fits(objective):
            return self._lbfgs().minimise(objective, start)
        sample = objective.of_sample()
        coarse = replace(self, tol=ROUGH, max_steps=PATIENCE, trace=False)._few_rows(sample, start)
        return self._many_rows(objective, sample, coarse.value)

    def _few_rows(self, objective: Posterior, start: Float) -> Solution[Float]:
        if (objective.shape[0] == 1 and _fits(objective)) or _is_small(objective):
            return Newton(self.tol, min(self.max_steps, 100), self.trace).minimise(objective, start)
        if not _fits(objective):
            return self._lbfgs().minimise(objective, start)
        start = level(objective, start)
        return self._renewing(objective, start, by_class(objective, start))

    def _many_rows(self, objective: Posterior, sample: Posterior, start: Float) -> Solution[Float]:
        C, P = objective.shape
        if C == 1:
            here = objective.value_grad_hess(start, exact=False, single=True)
            inverse = factorise(here.hess, C, objective.prior.free)
            return self._renewing(objective, start, inverse, ValueGrad(here.value, here.grad))
        if C * P <= JOINT:
            hess = sample.value_grad_hess(start, exact=False, single=True).hess
            return self._renewing(objective, start, factorise(hess, C, objective.prior.free))
        start = level(objective, start)
        return self._renewing(objective, start, by_class(sample, start))

    def _renewing(
        self, objective: Posterior, start: Float, inverse: Inverse, known: ValueGrad | None = None
    ) -> Solution[Float]:
        """L-BFGS that takes a fresh Hessian of all rows where the one it has leads on too slowly."""
        first = self._lbfgs(PATIENCE).minimise(objective, start, inverse=inverse, known=known)
        if first.is_converged or self.max_steps <= PATIENCE:
            return first
        if objective.shape[0] == 1:
            rest = Newton(self.tol, min(self.max_steps, 100), self.trace).minimise(objective, first.value)
        else:
            start = level(objective, first.value)
            fresh = by_class(objective, start)
            rest = self._lbfgs(self.max_steps - PATIENCE).minimise(objective, start, inverse=fresh)
        return replace(
            rest,
            steps=first.steps + rest.steps,
            passes=first.passes + rest.passes,
            trace=first.trace + rest.trace[1:],
        )

    def _lbfgs(self, max_steps: int | None = None) -> LBFGS:
        steps = self.max_steps if max_steps is None else min(max_steps, self.max_steps)
        return LBFGS(self.tol, steps, memory=50, trace=self.trace)


def _is_small(objective: Posterior) -> bool:
    """Whether a Hessian of everything costs nothing to speak of."""
    C, P = objective.shape
    return C * P <= JOINT and objective.source.n_rows * (C * P) ** 2 <= FLOPS


def _fits(objective: Posterior) -> bool:
    """Whether Hessians per class are worth their memory and time."""
    return objective.design.width <= (JOINT if objective.units.is_sparse else BLOCK)
