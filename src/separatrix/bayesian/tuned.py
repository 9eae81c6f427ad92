# SPDX-License-Identifier: BSD-3-Clause
"""What tuning by evidence found, why it stopped, and what it ran into."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from separatrix._array import Float
from separatrix.bayesian.approximation import Approximation
from separatrix.solvers.posterior import Posterior

__all__ = ["Boundary", "Tuned", "TuningStatus", "TuningStep"]

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


class Boundary(NamedTuple):
    """A group of columns whose scale ran to a bound: the lower one if it ``is_narrow``, else the upper."""

    label: Any
    columns: tuple[str, ...]
    is_narrow: bool

    def describe(self) -> str:
        """What it means, in a sentence."""
        more = len(self.columns) - NAMED
        names = ", ".join(map(repr, self.columns[:NAMED])) + (f" and {more} more" if more > 0 else "")
        if self.is_narrow:
            verb = "is" if len(self.columns) == 1 else "are"
            return (
                f"tuning ran to the boundary: {names} {verb} irrelevant; the data are most probable with the weight "
                "at its prior mean."
            )
        return (
            f"tuning ran to the boundary: the scale of {names} grows without limit. The classes are separable there, "
            "or the prior is not needed."
        )


@dataclass(frozen=True, eq=False)
class Tuned:
    """The prior of highest evidence, and the posterior under it.

    Attributes
    ----------
    objective : Posterior
        With the tuned prior.
    approximation : Approximation
        Of its posterior.
    labels, factors : tuple and array of shape (G,)
        The groups of columns, and by how much each has widened its scales.
    column_factors : array of shape (M,)
        The same for each column.
    gradient : array of shape (G,)
        ∂ ln p(D)/∂ ln factor at the end.
    status : TuningStatus
    boundary : tuple of Boundary
        The groups whose scale ran to a bound.
    trace : tuple of TuningStep
        The start, and every step that was taken: the evidence rises along it.
    fits : int
        Posteriors that were fitted on the way, steps that were not taken included.
    """

    objective: Posterior
    approximation: Approximation
    labels: tuple[Any, ...]
    factors: Float
    column_factors: Float
    gradient: Float
    status: TuningStatus
    boundary: tuple[Boundary, ...]
    trace: tuple[TuningStep, ...]
    fits: int

    @property
    def log_evidence(self) -> float:
        """ln p(D) at the tuned scales."""
        return self.approximation.log_evidence
