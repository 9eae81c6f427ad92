# SPDX-License-Identifier: BSD-3-Clause
"""The choice of a model: held-out rows show which models are good; evidence and simplicity decide among those.

1. Take the best model on held-out rows and all within two standard errors of it, which the rows do not distinguish.
2. Among these, compare the models that report the evidence of the labels; a lead of less than ln 20 nats (odds of 20 to
   1) does not count. If none reports an evidence, the best on held-out rows is chosen.
3. Among those still tied, choose the simplest.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from separatrix.comparison import Comparison, Trial
from separatrix.exceptions import DataError
from separatrix.meta import enumerated
from separatrix.study.candidates import MODELS, PRIOR
from separatrix.study.records import Choice

MIN_LEAD_NATS = float(np.log(20))
NEAR_IN_STANDARD_ERRORS = 2.0
MIN_SHOWN_NATS = 5e-5  # per row: less is zero in four digits


def choose(comparison: Comparison) -> Choice:
    """Choose a model, with reasons.

    Raises
    ------
    DataError
        If no model could be fitted.
    """
    scored = [trial for trial in comparison if not trial.failure and trial.test.rows is not None]
    if not scored:
        why = " ".join(f"{trial.name}: {trial.failure}" for trial in comparison)
        raise DataError(f"No model could be fitted to this table. {why}")
    gaps = comparison.differences()
    near = [
        trial
        for trial in scored
        if trial is scored[0] or -gaps[trial.name].value <= NEAR_IN_STANDARD_ERRORS * gaps[trial.name].standard_error
    ]
    with_evidence = [trial for trial in near if trial.evidence.of_labels]
    best_evidence = max((trial.evidence.log_evidence for trial in with_evidence), default=-np.inf)
    tied = [trial for trial in with_evidence if best_evidence - trial.evidence.log_evidence < MIN_LEAD_NATS]
    chosen = min(tied, key=_richness) if tied else scored[0]
    reasons = (
        *_on_held_out_rows(comparison, scored, near),
        *_by_evidence(near, tied, chosen),
        *_trade_offs(comparison, scored, near, chosen),
    )
    return Choice(chosen.name, reasons)


def _richness(trial: Trial) -> int:
    """Position in the order from simple to rich; unknown models come last."""
    return MODELS.index(trial.name) if trial.name in MODELS else len(MODELS)


def _on_held_out_rows(comparison: Comparison, scored: list[Trial], near: list[Trial]) -> Iterator[str]:
    best, gaps = scored[0], comparison.differences()
    loss = best.test.log_likelihood
    yield (
        f"On {len(comparison.test_rows):,} held-out rows, {best.name} is best, with a log-loss of {-loss.value:.4f} "
        f"± {loss.standard_error:.4f} nats per row."
    )
    behind = {t.name: f"{-gaps[t.name].value:.4f} ± {gaps[t.name].standard_error:.4f} behind" for t in scored}
    if len(near) > 1:
        others = [f"{trial.name} ({behind[trial.name]})" for trial in near[1:]]
        yield f"Within two standard errors of it, so not distinguishable on these rows: {enumerated(others)}."
    elif len(scored) == 1:
        yield "It is the only model to choose from."
    elif not np.isfinite(gaps[scored[1].name].value):
        yield "No other model is within two standard errors of it."
    else:
        second = scored[1].name
        yield f"No other model is within two standard errors of it: the next is {second}, {behind[second]}."


def _by_evidence(near: list[Trial], tied: list[Trial], chosen: Trial) -> Iterator[str]:
    if len(near) == 1:
        return
    if not tied:
        yield f"None of these reports the evidence p(t | x) of the labels, so the best, {chosen.name}, is chosen."
        return
    if len(tied) > 1:
        values = [trial.evidence.log_evidence for trial in tied]
        names = enumerated([trial.name for trial in sorted(tied, key=_richness)])
        yield (
            f"The log evidences of {names} differ by {max(values) - min(values):.1f} nats, less than odds of 20 to 1; "
            f"{chosen.name} is the simplest of them."
        )
    else:
        others = [t for t in near if t.evidence.of_labels and t is not chosen]
        leads = [f"{chosen.evidence.log_evidence - t.evidence.log_evidence:.1f} nats over {t.name}" for t in others]
        ahead = f", a lead of {enumerated(leads)}" if leads else ""
        yield f"Of these, {chosen.name} has the largest evidence, ln p = {chosen.evidence.log_evidence:.1f}{ahead}."
    without = [trial.name for trial in near if not trial.evidence.of_labels]
    if without:
        yield f"{enumerated(without)}: no comparable evidence, and no intervals for probabilities."


def _trade_offs(comparison: Comparison, scored: list[Trial], near: list[Trial], chosen: Trial) -> Iterator[str]:
    """Where the evidence disagrees, what the choice costs, and what it gains over the class proportions."""
    gaps = comparison.differences()
    with_evidence = [trial for trial in comparison if trial.evidence.of_labels]
    favourite = max(with_evidence, key=lambda trial: trial.evidence.log_evidence, default=None)
    if favourite is not None and favourite not in near:
        gap = gaps[favourite.name]
        yield (
            f"The evidence alone would favour {favourite.name}, which is {-gap.value:.4f} ± {gap.standard_error:.4f} "
            "behind on the held-out rows; held-out rows take precedence."
        )
    gap = gaps[chosen.name]
    if chosen is not scored[0] and -gap.value > MIN_SHOWN_NATS:
        yield (
            f"Choosing {chosen.name} instead of {scored[0].name} costs {-gap.value:.4f} ± {gap.standard_error:.4f} "
            "nats per row, which may be due to chance."
        )
    base = next((trial for trial in scored if trial.name == PRIOR), None)
    if chosen is base:
        yield (
            "No model predicts clearly better than the class proportions: these columns contain little or no "
            "information about the label."
        )
    elif base is not None:
        gain = chosen.test.log_likelihood.value - base.test.log_likelihood.value
        seen = f"It gains {gain:.4f} nats per row" if abs(gain) > MIN_SHOWN_NATS else "It gains nothing measurable"
        yield f"{seen} over the class proportions."
