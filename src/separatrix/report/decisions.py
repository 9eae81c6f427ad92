# SPDX-License-Identifier: BSD-3-Clause
"""From probabilities to decisions: which classes are taken for which, and what a threshold trades for what."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix._array import Float
from separatrix.report.facts import Facts
from separatrix.report.words import NOTHING, number, percent
from separatrix.study import Study

__all__ = ["ClassScore", "ConfusionCell", "ConfusionRow", "DecisionsView", "ThresholdRow", "decisions_of"]

THRESHOLDS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
N_SHADES = 10


@dataclass(frozen=True)
class ConfusionCell:
    """Rows of one class decided as another; ``shade`` is a class of the style sheet."""

    share: str
    count: str
    shade: str
    is_right: bool


@dataclass(frozen=True)
class ConfusionRow:
    """All rows of one class."""

    label: str
    cells: tuple[ConfusionCell, ...]


@dataclass(frozen=True)
class ThresholdRow:
    """What follows from acting where the probability is at least ``threshold``.

    ``cost`` is how many false alarms a miss must be worth for this threshold to be the best: (1 - p) / p.
    """

    threshold: str
    flagged: str
    precision: str
    recall: str
    cost: str
    is_default: bool


@dataclass(frozen=True)
class ClassScore:
    """One class of many: how many of its rows are found, and how many found are right."""

    label: str
    rows: str
    recall: str
    precision: str


@dataclass(frozen=True)
class DecisionsView:
    """The whole section; thresholds for two classes, scores of classes for more."""

    labels: tuple[str, ...]
    confusion: tuple[ConfusionRow, ...]
    event: str
    thresholds: tuple[ThresholdRow, ...]
    scores: tuple[ClassScore, ...]


def decisions_of(study: Study, facts: Facts) -> DecisionsView:
    """Decisions for the most probable class, then for other thresholds."""
    P, codes = study.held_out.P, study.held_out.codes
    K = len(facts.labels)
    counts = np.bincount(K * codes + P.argmax(axis=1), minlength=K * K).reshape(K, K)
    two = K == 2
    return DecisionsView(
        labels=facts.labels,
        confusion=tuple(_confusion_row(facts.labels[k], counts[k].astype(np.float64), k) for k in range(K)),
        event=facts.event if two else "",
        thresholds=tuple(_threshold_row(t, P[:, 1], codes == 1) for t in THRESHOLDS) if two else (),
        scores=() if two else tuple(_score(facts.labels[k], counts.astype(np.float64), k) for k in range(K)),
    )


def _confusion_row(label: str, counts: Float, true: int) -> ConfusionRow:
    total = float(counts.sum())
    return ConfusionRow(
        label,
        tuple(
            ConfusionCell(_share(n, total), f"{n:,.0f}", f"shade{_shade(n, total)}", k == true)
            for k, n in enumerate(counts.tolist())
        ),
    )


def _shade(part: float, whole: float) -> int:
    return round(N_SHADES * part / whole) if whole else 0


def _threshold_row(threshold: float, p: Float, is_event: Float) -> ThresholdRow:
    flagged = p >= threshold
    hits = float((flagged & (is_event > 0)).sum())
    return ThresholdRow(
        threshold=percent(threshold),
        flagged=_share(float(flagged.sum()), len(p)),
        precision=_share(hits, float(flagged.sum())),
        recall=_share(hits, float(is_event.sum())),
        cost=number((1 - threshold) / threshold, 2),
        is_default=threshold == 0.5,
    )


def _score(label: str, counts: Float, k: int) -> ClassScore:
    hits, rows = float(counts[k, k]), float(counts[k].sum())
    return ClassScore(label, f"{rows:,.0f}", _share(hits, rows), _share(hits, float(counts[:, k].sum())))


def _share(part: float, whole: float) -> str:
    return percent(part / whole) if whole else NOTHING
