# SPDX-License-Identifier: BSD-3-Clause
"""A readable record of an inference: the strategy, the reason for it, and what each of its steps found and cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from html import escape
from math import isnan

from separatrix._text import counted

STEPS = ("tune", "shape", "fit", "check", "average", "hold out")


@dataclass(frozen=True)
class Candidate:
    """A way to predict: its log score per held-out row, and its share in the predictions."""

    name: str
    log_score: float
    share: float


@dataclass(frozen=True)
class PlanStep:
    """A step of an inference: a sentence on what it did, or why it was left out, and its cost.

    Attributes
    ----------
    name : str
        One of "tune", "shape", "fit", "check", "average" and "hold out".
    outcome : str
        What the step found.
    log_evidence : float
        ln p(D) after the step; NaN if the step did not compute it.
    passes : int
        Passes over the rows; 0 if the step was left out.
    candidates : tuple of Candidate
        What the step "hold out" compared on held-out rows.
    """

    name: str
    outcome: str
    log_evidence: float
    passes: int
    candidates: tuple[Candidate, ...] = ()


@dataclass(frozen=True)
class Plan:
    """How a posterior was computed. ``print(model.plan_)`` shows it as a table.

    Attributes
    ----------
    strategy : str
        Name of the strategy, which ``structure=`` accepts.
    keeps : str
        What the strategy keeps of the posterior.
    reason : str
        Why it was chosen.
    steps : tuple of PlanStep
        In the order in which they were taken.
    others : tuple of (str, str)
        The strategies that come first in the table, and why each was not chosen.
    """

    strategy: str
    keeps: str
    reason: str
    steps: tuple[PlanStep, ...] = ()
    others: tuple[tuple[str, str], ...] = ()

    def then(self, step: PlanStep) -> Plan:
        """Return the plan with another step."""
        return replace(self, steps=(*self.steps, step))

    def __str__(self) -> str:
        lines = [f"{self.strategy}: {self.keeps}", f"  chosen   {self.reason}"]
        lines += [f"  not {name!r}: {why}" for name, why in self.others]
        lines += [f"  {name:8} {outcome}" for name, outcome in self._rows()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Show the plan as a table in a notebook."""
        rows = [("chosen", self.reason), *((f"not {name}", why) for name, why in self.others), *self._rows()]
        cells = "".join(
            f"<tr><th scope='row' style='text-align:left'>{escape(name)}</th>"
            f"<td style='text-align:left'>{escape(text)}</td></tr>"
            for name, text in rows
        )
        caption = f"<caption style='text-align:left'>{escape(self.strategy)}: {escape(self.keeps)}</caption>"
        return f"<table>{caption}{cells}</table>"

    def _rows(self) -> Iterator[tuple[str, str]]:
        """Yield the name of each step, and its outcome with the evidence, if it has changed, and the cost."""
        before = float("nan")
        for step in self.steps:
            now = step.log_evidence
            evidence = "" if now == before or isnan(now) else f"; ln p(D) = {now:.2f}"
            passes = f"; {counted(step.passes, 'pass')}" if step.passes else ""
            before = now
            yield step.name, step.outcome + evidence + passes
