# SPDX-License-Identifier: BSD-3-Clause
"""What tuning by evidence found, why it stopped, and what it ran into."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum
from typing import Any, NamedTuple

from separatrix._array import Float
from separatrix.bayesian.posterior.approximation import Approximation
from separatrix.solvers import Posterior

__all__ = ["Boundary", "Limit", "Tuned", "TuningReport", "TuningStatus", "TuningStep"]

NAMED = 5  # columns that a sentence names


class TuningStatus(Enum):
    """Why tuning stopped; the value is the sentence a person reads."""

    CONVERGED = "converged: no change of the scales promises a gain in evidence worth a fit"
    STALLED = "stopped: a gain in evidence is promised, but no step, however short, brings it"
    MAX_STEPS = "stopped at the limit of steps"


class TuningStep(NamedTuple):
    """Where tuning stood: logarithms of the factors (G,), log evidence, its gradient (G,)."""

    eta: Float
    log_evidence: float
    gradient: Float


class Limit(Enum):
    """What a scale ran into; the value is what it means, of some columns."""

    NARROW = "irrelevant: the data are most probable with their weights at the prior mean"
    WIDE = "without a limit to the scale: it grew to the largest that is tried, and the prior is not needed"
    SEPARATED = (
        "without a limit to the scale: the classes are separable, and the evidence hardly tells large scales apart"
    )


class Boundary(NamedTuple):
    """A group of columns whose scale ran to a limit."""

    label: Any
    columns: tuple[str, ...]
    limit: Limit

    def describe(self) -> str:
        """A sentence."""
        more = len(self.columns) - NAMED
        names = ", ".join(map(repr, self.columns[:NAMED])) + (f" and {more} more" if more > 0 else "")
        return f"Tuning ran to the boundary: {names} {'is' if len(self.columns) == 1 else 'are'} {self.limit.value}."


@dataclass(frozen=True, eq=False)
class TuningReport:
    """How the prior of highest evidence was found.

    Attributes
    ----------
    labels, factors : tuple and array of shape (G,)
        The groups of columns, and by how much each has widened its scales.
    column_factors : array of shape (M,)
        The same for each column.
    gradient : array of shape (G,)
        ∂ ln p(D)/∂ ln factor at the end.
    status : TuningStatus
    boundary : tuple of Boundary
        The groups whose scale ran to a limit, and which.
    trace : tuple of TuningStep
        The start, and every step that was taken: the evidence rises along it.
    fits : int
        Posteriors that were fitted on the way, steps that were not taken included.
    """

    labels: tuple[Any, ...]
    factors: Float
    column_factors: Float
    gradient: Float
    status: TuningStatus
    boundary: tuple[Boundary, ...]
    trace: tuple[TuningStep, ...]
    fits: int


@dataclass(frozen=True, eq=False)
class Tuned(TuningReport):
    """The same, with what was found: the objective under the tuned prior, and the approximation of its posterior."""

    objective: Posterior
    approximation: Approximation

    @property
    def log_evidence(self) -> float:
        """ln p(D) at the tuned scales."""
        return self.approximation.log_evidence

    def report(self) -> TuningReport:
        """Without the rows that the objective is a sum over."""
        return TuningReport(**{field.name: getattr(self, field.name) for field in fields(TuningReport)})
