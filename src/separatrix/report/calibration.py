# SPDX-License-Identifier: BSD-3-Clause
"""Calibration: whether what is given a probability of p happens in a share p of cases."""

from __future__ import annotations

from dataclasses import dataclass

from separatrix import metrics
from separatrix.report.facts import Facts
from separatrix.report.svg import Picture
from separatrix.report.svg_reliability import histogram, reliability_diagram, scale_for
from separatrix.report.verdict import calibration_in_words
from separatrix.report.words import percent, shortened
from separatrix.study import Study

__all__ = ["BinRow", "CalibrationView", "calibration_of"]


@dataclass(frozen=True)
class BinRow:
    """Rows of like probability: what was predicted, what came true, with its interval."""

    predicted: str
    observed: str
    interval: str
    count: str


@dataclass(frozen=True)
class CalibrationView:
    """The whole section."""

    words: str
    event: str
    diagram: Picture
    histogram: Picture
    bins: tuple[BinRow, ...]
    level: str


def calibration_of(study: Study, facts: Facts) -> CalibrationView:
    """The reliability diagram and its numbers."""
    P, codes = study.held_out.P, study.held_out.codes
    curve = metrics.reliability(P, codes, level=study.level)
    two = len(facts.labels) == 2
    event = shortened(facts.event) if two else "the most probable class"
    return CalibrationView(
        words=calibration_in_words(facts),
        event=event,
        diagram=reliability_diagram(curve, f"Observed share of {event} against its predicted probability"),
        histogram=histogram(
            P[:, 1] if two else P.max(axis=1),
            f"How many rows were given which probability of {event}",
            scale_for(curve),
        ),
        bins=tuple(
            BinRow(percent(p), percent(share), f"{percent(low)} to {percent(high)}", f"{n:,.0f}")
            for p, share, low, high, n in zip(
                curve.predicted, curve.observed, curve.lower, curve.upper, curve.count, strict=True
            )
        ),
        level=percent(curve.level),
    )
