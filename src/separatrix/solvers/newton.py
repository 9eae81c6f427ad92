# SPDX-License-Identifier: BSD-3-Clause
"""Newton's method: one pass, one Cholesky factor and one step at a time.                 PRML §4.3.3

    θ ← θ - s H⁻¹ g

For the logistic model this is iterative reweighted least squares: with s = 1 the new weights solve the normal
equations (4.99) for the working response z = Φ w - R⁻¹ (p - t)  (4.100).

The safeguard: s = 1 is tried first, and halved until the objective falls by a ten-thousandth of what the gradient
promises (Armijo). The trial is a full evaluation, because nearly always it is accepted and then it is the next step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from separatrix._array import Array, Float
from separatrix._linalg import SingularError, cholesky_of_correlation, solve_minimum_norm
from separatrix._threads import single_thread_blas
from separatrix.solvers.posterior import Posterior
from separatrix.solvers.result import Solution, Status, Step
from separatrix.stats.objective import ValueGradHess

__all__ = ["Factor", "Newton", "factorise"]

ARMIJO = 1e-4
ROUNDING = 8 * float(np.finfo(np.float64).eps)  # of the objective, relative


@dataclass(frozen=True, eq=False)
class Factor:
    """H⁻¹ for a positive definite H = D L L' D; for a singular one its pseudo-inverse, and the columns at fault."""

    scale: Float
    L: Float
    singular: SingularError | None = None
    hess: Float | None = None

    def solve(self, grad: Float) -> Float:
        """H⁻¹ g, in the shape of g."""
        with single_thread_blas():
            if self.singular is not None and self.hess is not None:
                return solve_minimum_norm(self.hess, grad.reshape(-1, 1)).reshape(grad.shape)
            x = linalg.cho_solve((self.L, True), grad.ravel() / self.scale, check_finite=False) / self.scale
        return np.asarray(x.reshape(grad.shape))


def factorise(hess: Float, n_outputs: int, free: Array) -> Factor:
    """The factor of a Hessian (CP, CP) of C outputs; ``free`` (P,) marks weights that have no prior.

    With C classes, a vector added to the weights of every class changes nothing, so H is singular along it unless a
    prior says otherwise. The gradient has no part there; any curvature along it gives the step that has none either.
    """
    if n_outputs > 1 and free.any():
        P = len(free)
        blocks = hess.reshape(n_outputs, P, n_outputs, P)
        typical = np.einsum("kpkp->p", blocks) / n_outputs**2 * free
        hess = (blocks + np.diag(typical)[None, :, None, :]).reshape(hess.shape)
    with single_thread_blas():  # NumPy and SciPy bring a BLAS each, and their threads wait on each other
        try:
            return Factor(*cholesky_of_correlation(hess))
        except SingularError as singular:
            return Factor(np.ones(len(hess)), np.eye(0), singular, hess)


@dataclass(frozen=True)
class Newton:
    """Newton's method with step halving.

    ``tol`` bounds the gradient, per row and per standard deviation of each column.
    """

    tol: float = 1e-8
    max_steps: int = 50
    trace: bool = False

    def minimise(self, objective: Posterior, start: Float) -> Solution[Float]:
        """From ``start`` (C, P) to a minimum."""
        theta, passes = start, 1
        here = objective.value_grad_hess(theta, exact=False)
        trace = []
        for step in range(self.max_steps + 1):
            size = objective.gradient_size(here.grad)
            if self.trace:
                trace.append(Step(theta, here.value, size))
            if size <= self.tol:
                return Solution(theta, Status.GRADIENT, step, passes, tuple(trace))
            if step == self.max_steps:
                break
            direction = -factorise(here.hess, objective.shape[0], objective.prior.free).solve(here.grad)
            moved, tries = _descend(objective, theta, here, direction)
            passes += tries
            if moved is None:
                return Solution(theta, Status.PRECISION, step, passes, tuple(trace))
            theta, here = moved
        return Solution(theta, Status.MAX_STEPS, self.max_steps, passes, tuple(trace))


def _descend(
    objective: Posterior, theta: Float, here: ValueGradHess, direction: Float
) -> tuple[tuple[Float, ValueGradHess] | None, int]:
    """The point that the step leads to, or None where no fraction of it lowers the objective; and the passes taken."""
    promised = float(np.vdot(here.grad, direction))
    if promised >= 0:
        return None, 0
    share = 1.0
    for tries in range(1, 40):
        trial = theta + share * direction
        there = objective.value_grad_hess(trial, exact=False)
        if accepts(here.value, there.value, share * promised):
            return (trial, there), tries
        if -share * promised <= ROUNDING * abs(here.value):
            return None, tries
        share /= 2
    return None, tries


def accepts(before: float, after: float, promised: float) -> bool:
    """Whether a step that promised this change (negative) may be taken. NaN and infinity never are."""
    return after <= before + ARMIJO * promised
