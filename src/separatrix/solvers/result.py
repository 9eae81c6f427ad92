# SPDX-License-Identifier: BSD-3-Clause
"""Result of a solver: convergence is a value with a reason, and the caller decides what to do about it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Generic, NamedTuple, TypeVar

from separatrix._arguments import check_count, check_number

MAX_ROUNDING_GRADIENT = 1e-5  # per row and standard deviation; too small to matter for any test of a weight

Value = TypeVar("Value")


class Status(Enum):
    """Why a solver stopped; the value is a sentence for users."""

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


class Limits:
    """Checks the limits of a solver when it is constructed; 0 is allowed for both."""

    tol: float
    max_steps: int

    def __post_init__(self) -> None:
        check_number(type(self).__name__, "tol", self.tol, low=0.0)
        check_count(type(self).__name__, "max_steps", self.max_steps, least=0)


class Step(NamedTuple):
    """One step of a solver: parameters, objective, and the size of the gradient used by the stopping rule."""

    theta: Any
    value: float
    gradient: float


class End(NamedTuple):
    """Gradient at the end, and the inverse Hessian of the last steps.

    ``is_exact`` if that inverse is the factor of the Hessian of all rows at the end.
    """

    grad: Any
    inverse: Any
    is_exact: bool = False


@dataclass(frozen=True)
class Solution(Generic[Value]):
    """Parameters found, the reason why the solver stopped, and the cost.

    ``trace`` contains one record per step if a trace was requested; ``end`` the state of the solver when it stopped.
    """

    value: Value
    status: Status
    steps: int
    passes: int
    trace: tuple[Any, ...] = ()
    end: End | None = field(default=None, repr=False, compare=False)

    @property
    def is_converged(self) -> bool:
        """Whether the solver reached its goal."""
        return self.status not in (Status.STALLED, Status.MAX_STEPS, Status.DIVERGED)

    def followed_by(self, part: Solution[Value]) -> Solution[Value]:
        """Result of a second solver that continued from here, with the cost of both."""
        return replace(
            part,
            steps=self.steps + part.steps,
            passes=self.passes + part.passes,
            trace=self.trace + part.trace[bool(self.trace) :],
        )


def status_at_rest(size: float, tol: float) -> Status:
    """Status if no step leads down: converged up to rounding if the gradient is small, else stalled."""
    return Status.PRECISION if size <= max(tol, MAX_ROUNDING_GRADIENT) else Status.STALLED
