# SPDX-License-Identifier: BSD-3-Clause
"""Newton's method: one pass, one Cholesky factor and one step at a time.                 PRML §4.3.3

    θ ← θ - s H⁻¹ g

For the logistic model this is iterative reweighted least squares: with s = 1 the new weights solve the normal
equations (4.99) for the working response z = Φ w - R⁻¹ (p - t)  (4.100).

s = 1 is tried first, and shortened where the objective does not fall (`descent`). The trial is a full evaluation,
Hessian and all, because nearly always it is accepted and then it is the next step.
"""

from __future__ import annotations

from dataclasses import dataclass

from separatrix._arguments import check_count, check_number
from separatrix._array import Float
from separatrix.solvers.descent import Progress, descend
from separatrix.solvers.factor import Factor, factorise
from separatrix.solvers.posterior import Posterior
from separatrix.solvers.precondition import diagonal
from separatrix.solvers.result import End, Solution, Status, Step, at_rest
from separatrix.stats import ValueGradHess

__all__ = ["Newton"]

STALL = 3  # steps without progress after which there will be none


@dataclass(frozen=True)
class Newton:
    """Newton's method with step halving.

    ``tol`` bounds the gradient, per row and per standard deviation of each column.
    """

    tol: float = 1e-8
    max_steps: int = 50
    trace: bool = False

    def __post_init__(self) -> None:
        check_number("Newton", "tol", self.tol, low=0.0)
        check_count("Newton", "max_steps", self.max_steps, least=0)

    def minimise(self, objective: Posterior, start: Float) -> Solution[Float]:
        """From ``start`` (C, P) to a minimum."""
        evaluate, rounding = objective.value_grad_hess, objective.rounding
        theta, here, passes = start, evaluate(start), 1
        trace, progress = [], Progress(STALL)
        for step in range(self.max_steps + 1):
            size = objective.gradient_size(here.grad)
            if self.trace:
                trace.append(Step(theta, here.value, size))
            factor, more = _factor(objective, theta, here)
            passes += more
            end = Status.GRADIENT if size <= self.tol else Status.MAX_STEPS
            if size <= self.tol or step == self.max_steps:
                break
            if progress.ends(here.value, size):
                end = at_rest(size, self.tol)
                break
            # Where the curvature underflows there is no Newton step, but there is still a downhill.
            moved, tries = descend(evaluate, theta, here, -factor.solve(here.grad), rounding=rounding)
            if moved is None:
                moved, more = descend(evaluate, theta, here, -diagonal(objective).solve(here.grad), rounding=rounding)
                tries += more
            passes += tries
            if moved is None:
                end = at_rest(size, self.tol)
                break
            theta, here = moved
        return Solution(theta, end, step, passes, tuple(trace), End(here.grad, factor, is_exact=True))


def _factor(objective: Posterior, theta: Float, here: ValueGradHess) -> tuple[Factor, int]:
    """The factor of the Hessian, and the passes it took: one more where ln p is not concave, and here not convex."""
    C, free = objective.shape[0], objective.free
    if objective.likelihood.is_log_concave:
        return factorise(here.hess, C, free), 0
    if (here.hess.diagonal() > 0).all():
        factor = factorise(here.hess, C, free)
        if factor.singular is None:
            return factor, 0
    return factorise(objective.value_grad_hess(theta, exact=False).hess, C, free), 1
