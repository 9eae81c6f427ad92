# SPDX-License-Identifier: BSD-3-Clause
"""Result of a solver. It contains the reason for stopping; the caller decides whether to warn."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Generic, NamedTuple, TypeVar

from separatrix._arguments import check_count, check_flags, check_number

MAX_ROUNDING_GRADIENT = 1e-5  # a gradient this small is harmless if rounding prevents further steps

Value = TypeVar("Value")


class Status(Enum):
    """Why a solver stopped; the value is a sentence for users."""

    SOLVED = "solved in closed form"
    SEPARATED = "an epoch passed without a mistake: the classes are separated"
    LIKELIHOOD = "converged: the likelihood no longer rises"
    GRADIENT = "converged: the gradient is zero to the tolerance"
    PRECISION = "converged up to rounding: no step lowers the objective any more"
    STALLED = (
        "stopped because no step lowers the objective, although the gradient is not small: centre and scale the "
        "columns, drop columns that repeat others, or use Newton's method"
    )
    MAX_STEPS = "stopped at the limit of steps"
    DIVERGED = "diverged because the step is too long; set a shorter step, or None for a line search"


class Limits:
    """Checks ``tol`` and ``max_steps`` when a solver is constructed; both may be 0."""

    tol: float
    max_steps: int

    def __post_init__(self) -> None:
        check_number(type(self).__name__, "tol", self.tol, low=0.0)
        check_count(type(self).__name__, "max_steps", self.max_steps, least=0)
        check_flags(self)


class Step(NamedTuple):
    """Parameters, objective and size of the gradient after one step."""

    theta: Any
    value: float
    gradient: float


class End(NamedTuple):
    """Gradient at the solution, and the inverse Hessian that the solver used last.

    ``is_exact`` is true if this is the inverse of the Hessian of all rows at the solution. ``step`` is the next step of
    L-BFGS, which was not taken. ``value`` is the objective there, if the solver keeps it.
    """

    grad: Any
    inverse: Any
    is_exact: bool = False
    step: Any = None
    value: float | None = None


@dataclass(frozen=True)
class Solution(Generic[Value]):
    """Parameters found, the reason why the solver stopped, and the cost.

    ``trace`` has one record per step if requested. ``end`` is the state of the solver when it stopped.
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
        """Result of a second solver that started from this solution, with the total cost of both."""
        return replace(
            part,
            steps=self.steps + part.steps,
            passes=self.passes + part.passes,
            trace=self.trace + part.trace[bool(self.trace) :],
        )


def status_at_rest(size: float, tol: float) -> Status:
    """Status if no step lowers the objective: PRECISION if the gradient is small, else STALLED."""
    return Status.PRECISION if size <= max(tol, MAX_ROUNDING_GRADIENT) else Status.STALLED
