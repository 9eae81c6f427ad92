# SPDX-License-Identifier: BSD-3-Clause
"""The models compared: how each did on the same held-out rows, which was taken, and why."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.comparison import Comparison, Trial, notes_on
from separatrix.metrics import Estimate
from separatrix.report.advice import ELSEWHERE
from separatrix.report.svg import Picture, Scale, nice_scale
from separatrix.report.svg_rows import Mark, axis_row, whiskers
from separatrix.report.words import NOTHING, counted, fixed, number, percent, seconds
from separatrix.study import Study

__all__ = ["Cell", "ModelRow", "ModelsView", "models_of", "notes_on_models"]

TINY = 1e-9  # a probability that is written as less than 0.1 %
REACH = 1.96  # standard errors of a whisker
WORST = 12.0  # standard errors and more behind the best, where a model would flatten the picture of all others


@dataclass(frozen=True)
class Cell:
    """A figure over its standard error."""

    value: str
    error: str


@dataclass(frozen=True)
class ModelRow:
    """One model; ``mark`` is its picture."""

    name: str
    is_chosen: bool
    mark: Picture
    cells: tuple[Cell, ...]
    failure: str


@dataclass(frozen=True)
class ModelsView:
    """The whole section."""

    name: str
    reasons: tuple[str, ...]
    heads: tuple[str, ...]
    axis: Picture | None
    rows: tuple[ModelRow, ...]
    notes: tuple[str, ...]
    n_test: str
    n_train: str


def models_of(study: Study) -> ModelsView | None:
    """The comparison, best first; None where one model was examined."""
    comparison = study.comparison
    if comparison is None:
        return None
    chosen = study.choice.name if study.choice is not None else comparison.best()
    scale = _scale(comparison)
    columns = {head: cells for head, cells in _columns(comparison).items() if any(c.value != NOTHING for c in cells)}
    rows = tuple(
        ModelRow(
            trial.name,
            trial.name == chosen,
            _mark(trial, scale, comparison),
            tuple(cells[i] for cells in columns.values()),
            trial.failure,
        )
        for i, trial in enumerate(comparison)
    )
    return ModelsView(
        name=chosen,
        reasons=study.choice.reasons if study.choice is not None else (),
        heads=tuple(columns),
        axis=axis_row(scale, number, "log-loss on the rows held out", width=150.0),
        rows=rows,
        notes=notes_on_models(study),
        n_test=counted(len(comparison.test_rows), "row"),
        n_train=counted(len(comparison.train_rows), "row"),
    )


def notes_on_models(study: Study) -> tuple[str, ...]:
    """What there is to know of the comparison, and what the study says of models that were not chosen."""
    if study.comparison is None:
        return ()
    said = [note.text for note in study.notes if note.topic in ELSEWHERE]
    return tuple(dict.fromkeys([*notes_on(study.comparison), *said]))


def _columns(comparison: Comparison) -> dict[str, list[Cell]]:
    found = comparison.to_dict()
    alone = int(np.isfinite(found["probability"]).sum()) < 2

    def plain(key: str, decimals: int) -> list[Cell]:
        return [Cell(fixed(value, decimals), "") for value in found[key].tolist()]

    def with_error(key: str, decimals: int = 3, sign: int = 1) -> list[Cell]:
        return [_cell(Estimate(sign * v, se), decimals) for v, se in zip(found[key], found[f"{key}_se"], strict=True)]

    gap = with_error("difference", 4, -1)
    best = next((i for i, cell in enumerate(gap) if cell.value != NOTHING), None)
    if best is not None:
        gap[best] = Cell("best", "")
    return {
        "log-loss": with_error("test_log_likelihood", 4, -1),
        "behind the best": gap,
        "accuracy": with_error("test_accuracy"),
        "AUC": with_error("test_auc"),
        "Brier": with_error("test_brier"),
        "ECE": with_error("test_ece"),
        "log evidence": plain("log_evidence", 1),
        "P(model)": [Cell(NOTHING if alone else _chance(p), "") for p in found["probability"].tolist()],
        "time to fit": [Cell(seconds(s), "") for s in found["fit_seconds"].tolist()],
    }


def _chance(p: float) -> str:
    """No model is certain, and none is impossible: what a float rounds to 0 or 1 is neither."""
    return percent(min(max(p, TINY), 1 - TINY)) if np.isfinite(p) else NOTHING


def _cell(estimate: Estimate, decimals: int) -> Cell:
    error = estimate.standard_error
    return Cell(fixed(estimate.value, decimals), f"± {fixed(error, decimals)}" if np.isfinite(error) else "")


def _bounds(trial: Trial) -> tuple[float, float]:
    value, error = trial.test.log_likelihood
    return -value - REACH * error, -value + REACH * error


def _scale(comparison: Comparison) -> Scale:
    """All whiskers, but for those so far behind that the others could not be told apart."""
    found = [trial.test.log_likelihood for trial in comparison if np.isfinite(trial.test.log_likelihood.value)]
    if not found:
        return nice_scale([0.0, 1.0])
    best = found[0]
    floor = best.value - WORST * best.standard_error
    near = [e for e in found if not e.value < floor]
    return nice_scale([-e.value + side * REACH * e.standard_error for e in near for side in (-1, 0, 1)])


def _mark(trial: Trial, scale: Scale, comparison: Comparison) -> Picture:
    loss = -trial.test.log_likelihood.value
    best = -comparison.trials[0].test.log_likelihood.value
    title = f"{trial.name}: log-loss {fixed(loss, 4)} on the rows held out"
    lower, upper = _bounds(trial)
    mark = Mark(loss, lower if lower < scale.high else np.nan, upper)
    return whiskers([mark], scale, title, reference=best)
