# SPDX-License-Identifier: BSD-3-Clause
"""From probabilities to decisions: which classes are taken for which, and what a threshold trades for what."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix._array import Array, Float
from separatrix.report.facts import Facts
from separatrix.report.words import NOTHING, number, percent
from separatrix.study import Study

__all__ = [
    "ClassScore",
    "ConfusionCell",
    "ConfusionRow",
    "DecisionsView",
    "ThresholdRow",
    "decisions_of",
    "thresholds_for",
]

ROUND = (
    0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5,
    0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99, 0.995, 0.998, 0.999,
)  # fmt: skip
LEVELS = (0.02, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995)  # quantiles of the probabilities predicted
HALF = 0.5
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
        thresholds=_threshold_rows(P[:, 1], codes == 1) if two and not facts.is_prior_only else (),
        scores=() if two else tuple(_score(facts.labels[k], counts.astype(np.float64), k) for k in range(K)),
    )


def thresholds_for(p: Float) -> list[float]:
    """Round thresholds where the probabilities are: near their quantiles, so that each changes what is acted on.

    Of a class of one row in a hundred nearly all are below a tenth, and thresholds from there on would tell nothing
    apart. One half, where the most probable class is decided for, is always among them.

    Examples
    --------
    >>> thresholds_for(np.linspace(0.0, 0.04, 1001) ** 1.5)  # at most 0.8 %
    [0.0001, 0.0002, 0.001, 0.002, 0.005, 0.01, 0.5]
    """
    choices = np.array(ROUND)
    odds = np.log(choices / (1 - choices))
    inside = np.clip(np.quantile(p, LEVELS), ROUND[0], ROUND[-1])
    nearest = np.abs(np.log(inside / (1 - inside))[:, None] - odds).argmin(axis=1)
    return sorted({*choices[nearest].tolist(), HALF})


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


def _threshold_rows(p: Float, is_event: Array) -> tuple[ThresholdRow, ...]:
    return tuple(_threshold_row(threshold, p, is_event) for threshold in thresholds_for(p))


def _threshold_row(threshold: float, p: Float, is_event: Array) -> ThresholdRow:
    flagged = p >= threshold
    hits = float((flagged & is_event).sum())
    return ThresholdRow(
        threshold=percent(threshold),
        flagged=_share(float(flagged.sum()), len(p)),
        precision=_share(hits, float(flagged.sum())),
        recall=_share(hits, float(is_event.sum())),
        cost=number((1 - threshold) / threshold, 2),
        is_default=threshold == HALF,
    )


def _score(label: str, counts: Float, k: int) -> ClassScore:
    hits, rows = float(counts[k, k]), float(counts[k].sum())
    return ClassScore(label, f"{rows:,.0f}", _share(hits, rows), _share(hits, float(counts[:, k].sum())))


def _share(part: float, whole: float) -> str:
    return percent(part / whole) if whole else NOTHING
