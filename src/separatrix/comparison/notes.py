# SPDX-License-Identifier: BSD-3-Clause
"""What a reader must know to read a comparison right, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from separatrix.comparison.trial import Trial
from separatrix.meta import enumerated

if TYPE_CHECKING:
    from separatrix.comparison.result import Comparison

__all__ = ["notes_on"]


def notes_on(comparison: Comparison) -> list[str]:
    """Failures first, then what the figures do not show."""
    failures = [f"{trial.name} failed. {trial.failure}" for trial in comparison if trial.failure]
    return failures + [note for note in _notes(comparison) if note]


def _notes(comparison: Comparison) -> Iterator[str]:
    ran = [trial for trial in comparison if not trial.failure]
    judged = [trial for trial in ran if trial.test.rows is not None]
    yield from (_impossible(trial, comparison) for trial in judged)
    yield _within_noise(comparison)
    yield _calibration(judged)
    silent = [trial.name for trial in ran if trial.test.rows is None]
    if silent:
        yield f"{enumerated(silent)}: no predict_proba, so that only decisions can be judged."
    yield _evidence(ran)


def _impossible(trial: Trial, comparison: Comparison) -> str:
    """Where a model gave no chance to what happened."""
    missed = comparison.test_rows[np.isneginf(np.asarray(trial.test.rows))]
    if not len(missed):
        return ""
    count = "a test row" if len(missed) == 1 else f"{len(missed)} test rows"
    return (
        f"{trial.name} gave probability zero to the true class of {count} (the first: row {missed[0]}), "
        "whose log-likelihood is -inf; it is not clipped."
    )


def _within_noise(comparison: Comparison) -> str:
    gaps = comparison.differences()
    near = [name for name, gap in gaps.items() if gap.value < 0 and -gap.value < 2 * gap.standard_error]
    return f"Within two standard errors of the best log-likelihood: {enumerated(near)}." if near else ""


def _calibration(judged: list[Trial]) -> str:
    if not judged:
        return ""
    floor = judged[0].test.ece_if_calibrated
    return f"Probabilities that are exactly right would still show an ECE of about {floor:.2g} on so many rows."


def _evidence(ran: list[Trial]) -> str:
    compared = [trial.name for trial in ran if trial.evidence.of_labels]
    if len(compared) < 2 or len(compared) == len(ran):
        return ""
    return (
        f"P(model) compares {enumerated(compared)} alone: they state the evidence p(t | x) of the training labels. "
        "That of a generative model is one of p(x, t), and cannot be compared with it; other models state none."
    )
