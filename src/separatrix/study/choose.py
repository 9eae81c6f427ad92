# SPDX-License-Identifier: BSD-3-Clause
"""Which model to take: held-out rows say which are good, evidence and simplicity decide among those.

1. The best on held-out rows, and all within two standard errors of it: the rows cannot tell those apart.
2. Of these, those that state the evidence of the same labels are compared by it; a lead of less than `TIE` nats, odds
   of 20 to 1, is none. Where none of them states one, the best on held-out rows is taken.
3. Of those still tied, the simplest.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from separatrix.comparison import Comparison, Trial
from separatrix.exceptions import DataError
from separatrix.meta import enumerated
from separatrix.study.candidates import MODELS, PRIOR
from separatrix.study.record import Choice

__all__ = ["choose"]

TIE = float(np.log(20))
NEAR = 2.0  # standard errors, within which the rows cannot tell two models apart
UNSEEN = 5e-5  # nats a row, which four digits do not show


def choose(comparison: Comparison) -> Choice:
    """The model to take, and why.

    Raises
    ------
    DataError
        Where no model could be fitted.
    """
    judged = [trial for trial in comparison if not trial.failure and trial.test.rows is not None]
    if not judged:
        why = " ".join(f"{trial.name}: {trial.failure}" for trial in comparison)
        raise DataError(f"No model could be fitted to this table. {why}")
    near = _near(comparison, judged)
    stating = [trial for trial in near if trial.evidence.of_labels]
    best_evidence = max((trial.evidence.log_evidence for trial in stating), default=-np.inf)
    tied = [trial for trial in stating if best_evidence - trial.evidence.log_evidence < TIE]
    chosen = min(tied, key=_richness) if tied else judged[0]
    reasons = _reasons(comparison, judged, near, tied, chosen)
    return Choice(chosen.name, tuple(reasons))


def _near(comparison: Comparison, judged: list[Trial]) -> list[Trial]:
    gaps = comparison.differences()
    return [t for t in judged if t is judged[0] or -gaps[t.name].value <= NEAR * gaps[t.name].standard_error]


def _richness(trial: Trial) -> int:
    """Place in the order from simple to rich; models that the order does not know come last."""
    return MODELS.index(trial.name) if trial.name in MODELS else len(MODELS)


def _reasons(
    comparison: Comparison, judged: list[Trial], near: list[Trial], tied: list[Trial], chosen: Trial
) -> Iterator[str]:
    best = judged[0]
    loss = best.test.log_likelihood
    yield (
        f"On the {len(comparison.test_rows)} held-out rows, {best.name} is best: a log-loss of {-loss.value:.4f} "
        f"± {loss.standard_error:.4f} nats a row."
    )
    yield _neighbours(comparison, judged, near)
    yield from _by_evidence(near, tied, chosen)
    yield from _dissent(comparison, near)
    gap = comparison.differences()[chosen.name]
    if chosen is not best and -gap.value > UNSEEN:
        yield (
            f"Taking {chosen.name} instead of {best.name} gives up {-gap.value:.4f} ± {gap.standard_error:.4f} "
            "nats a row, which may be nothing."
        )
    yield from _against_shares(comparison, judged, chosen)


def _neighbours(comparison: Comparison, judged: list[Trial], near: list[Trial]) -> str:
    gaps = comparison.differences()
    others = [f"{t.name} ({-gaps[t.name].value:.4f} ± {gaps[t.name].standard_error:.4f} behind)" for t in near[1:]]
    if others:
        return f"Within two standard errors of it, so that these rows do not tell them apart: {enumerated(others)}."
    if len(judged) == 1:
        return "It is the only model there is to choose from."
    second = gaps[judged[1].name]
    if not np.isfinite(second.value):
        return "No other model is within two standard errors of it."
    return (
        f"No other is within two standard errors of it: next comes {judged[1].name}, {-second.value:.4f} "
        f"± {second.standard_error:.4f} behind."
    )


def _by_evidence(near: list[Trial], tied: list[Trial], chosen: Trial) -> Iterator[str]:
    if len(near) == 1:
        return
    if not tied:
        yield f"None of these states the evidence p(t | x) of the labels, so {chosen.name}, the best, is taken."
        return
    silent = [trial.name for trial in near if not trial.evidence.of_labels]
    if len(tied) > 1:
        lead = max(t.evidence.log_evidence for t in tied) - min(t.evidence.log_evidence for t in tied)
        names = enumerated([trial.name for trial in sorted(tied, key=_richness)])
        yield (
            f"The evidence of {names} differs by {lead:.1f} nats, less than odds of 20 to 1; {chosen.name} is the "
            "simplest of them."
        )
    else:
        others = [t for t in near if t.evidence.of_labels and t is not chosen]
        leads = [f"{chosen.evidence.log_evidence - t.evidence.log_evidence:.1f} nats over {t.name}" for t in others]
        ahead = f", ahead by {enumerated(leads)}" if leads else ""
        yield f"Of these, {chosen.name} has the largest evidence, ln p = {chosen.evidence.log_evidence:.1f}{ahead}."
    if silent:
        yield f"{enumerated(silent)}: no evidence that could be compared with it, and no intervals of probabilities."


def _dissent(comparison: Comparison, near: list[Trial]) -> Iterator[str]:
    """Where the evidence of all models prefers one that the held-out rows do not."""
    stating = [trial for trial in comparison if trial.evidence.of_labels]
    if not stating:
        return
    favourite = max(stating, key=lambda trial: trial.evidence.log_evidence)
    if favourite not in near:
        gap = comparison.differences()[favourite.name]
        yield (
            f"The evidence alone would prefer {favourite.name}, but the held-out rows do not: it is {-gap.value:.4f} "
            f"± {gap.standard_error:.4f} behind. Rows that no model has seen count first."
        )


def _against_shares(comparison: Comparison, judged: list[Trial], chosen: Trial) -> Iterator[str]:
    """What the columns are worth at all."""
    base = next((trial for trial in judged if trial.name == PRIOR), None)
    if chosen is base:
        yield (
            "No model predicts clearly better than the shares of the classes alone: these columns say little, or "
            "nothing, about the label."
        )
    elif base is not None:
        gain = chosen.test.log_likelihood.value - base.test.log_likelihood.value
        seen = f"{gain:.4f} nats a row" if abs(gain) > UNSEEN else "nothing that these rows could show"
        yield f"It gains {seen} over the shares of the classes alone."
