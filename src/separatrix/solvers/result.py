# SPDX-License-Identifier: BSD-3-Clause
"""Convergence is a value with a reason; the caller decides what to do about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Generic, NamedTuple, TypeVar

__all__ = ["End", "Solution", "Status", "Step", "at_rest"]

SLACK = 1e-5  # a gradient, per row and standard deviation, that rounding may leave; no test of a weight would notice it

Value = TypeVar("Value")


class Status(Enum):
    """Why a solver stopped; the value is the sentence a person reads."""

    SOLVED = "solved in closed form"
    SEPARATED = "an epoch passed without a mistake: the classes are separated"
    LIKELIHOOD = "converged: the likelihood no longer rises"
    GRADIENT = "converged: the gradient is zero to the tolerance"
    PRECISION = "converged as far as floating point goes: no step lowers the objective any more"
    STALLED = (
        "stopped where no step lowers the objective any more, although the gradient is not small: centre and scale the "
        "columns, drop those that repeat others, or use Newton's method"
    )
    MAX_STEPS = "stopped at the limit of steps"
    DIVERGED = "diverged: steps of this length overshoot; give a shorter step, or none for a line search"


class Step(NamedTuple):
    """Where a solver stood: parameters, objective, and the size of the gradient that the stopping rule looks at."""

    theta: Any
    value: float
    gradient: float


class End(NamedTuple):
    """What a solver knew when it stopped: the gradient, and the inverse Hessian that it took its last steps with.

    ``is_exact`` if that is the factor of the Hessian of all rows where it stopped.
    """

    grad: Any
    inverse: Any
    is_exact: bool = False


@dataclass(frozen=True)
class Solution(Generic[Value]):
    """What was found, why the solver stopped, and what it cost.

    ``trace`` holds one record per step where a trace was asked for, and ``end`` what the solver knew when it stopped.
    """

    value: Value
    status: Status
    steps: int
    passes: int
    trace: tuple[Any, ...] = ()
    end: End | None = field(default=None, repr=False, compare=False)

    @property
    def is_converged(self) -> bool:
        """Whether the solver stopped because it was done."""
        return self.status not in (Status.STALLED, Status.MAX_STEPS, Status.DIVERGED)


def at_rest(size: float, tol: float) -> Status:
    """Why there are no more steps, where none leads down: the minimum but for rounding, if the gradient says so too."""
    return Status.PRECISION if size <= max(tol, SLACK) else Status.STALLED
