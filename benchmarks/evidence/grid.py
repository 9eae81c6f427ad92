# SPDX-License-Identifier: BSD-3-Clause
"""The textbook experiment: 800 rows in the plane, a radial function on each, ln p(D) over widths and variances.

Three ways, in one run. The plain loop is timed on five of its cells, spread over the grid, and their mean time stands
for that of all; the same five cells check that both compute the same thing.
"""

from __future__ import annotations

import csv
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import TypeVar

import numpy as np

from benchmarks.evidence.plain import log_evidence
from benchmarks.measure import timed
from separatrix import BayesianLogisticRegression, evidence_surface
from separatrix.basis import RBF
from separatrix.bayesian import EvidenceSurface, TunedModel, tune_model
from separatrix.datasets import make_rbf_experiment
from separatrix.exceptions import ApproximationWarning

__all__ = ["Result", "explore", "text", "write"]

Outcome = TypeVar("Outcome")

WIDTHS = (0.05, 5.0)
VARIANCES = (1e-2, 1e4)
INTERCEPT_SCALE = 10.0
ROUNDS = 3  # of the two fast ways; the median counts


@dataclass(frozen=True)
class Result:
    """Seconds of each way, the best log evidence that it found, and how far the two disagree on the cells checked."""

    rows: int
    side: int
    cells: int
    plain: float
    surface: float
    tuned: float
    surface_best: float
    tuned_best: float
    disagreement: float

    @property
    def speed_up(self) -> float:
        """Time of the plain loop over that of `evidence_surface`."""
        return self.plain / self.surface


def explore(rows: int = 800, side: int = 10, cells: int = 5) -> Result:
    """Run all three; the plain loop on ``cells`` cells of a ``side`` x ``side`` grid."""
    X, y, _, _ = make_rbf_experiment(rows, n_test=0)
    widths, scales = np.geomspace(*WIDTHS, side), np.sqrt(np.geomspace(*VARIANCES, side))

    def surface() -> EvidenceSurface:
        return evidence_surface(
            X, y, basis_of_width=_basis, widths=widths, scales=scales, intercept_scale=INTERCEPT_SCALE
        )

    def tuned() -> TunedModel:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ApproximationWarning)  # of the best model: its evidence is what counts here
            return tune_model(_model, X, y, bounds=WIDTHS)

    grid, surface_seconds = _median_time(surface)
    best, tuned_seconds = _median_time(tuned)
    rng, spent, off = np.random.default_rng(0), [], []
    for i, j in _spread(side, cells):
        cell = partial(log_evidence, X, y, float(widths[i]), float(scales[j]), INTERCEPT_SCALE, rng)
        plain, seconds = timed(cell)
        spent.append(seconds)
        off.append(abs(plain - grid.log_evidence[i, j]))
    return Result(
        rows,
        side,
        cells,
        side**2 * float(np.mean(spent)),
        surface_seconds,
        tuned_seconds,
        float(grid.log_evidence.max()),
        max(trial.log_evidence for trial in best.tried),
        max(off),
    )


def _basis(width: float) -> RBF:
    return RBF(width=width)


def _model(width: float) -> BayesianLogisticRegression:
    return BayesianLogisticRegression(basis=RBF(width=width), tune="evidence", standardize=False)


def _median_time(action: Callable[[], Outcome]) -> tuple[Outcome, float]:
    result, _ = timed(action)  # the warm-up
    return result, median(timed(action)[1] for _ in range(ROUNDS))


def _spread(side: int, cells: int) -> list[tuple[int, int]]:
    """Cells of a Latin square: every one has a width and a scale of its own, from end to end."""
    at = np.linspace(0, side - 1, cells).round().astype(int)
    return [(int(at[i]), int(at[(2 * i + 1) % cells])) for i in range(cells)]


def text(result: Result) -> str:
    """Four lines."""
    n = result.side**2
    return "\n".join(
        [
            f"ln p(D) of {result.rows} rows for {result.side} x {result.side} widths and variances:",
            f"  plain loop        {result.plain:9.2f} s   ({result.cells} of {n} cells timed; "
            f"they differ by {result.disagreement:.1e} nats at most)",
            f"  evidence_surface  {result.surface:9.2f} s   {result.speed_up:.0f} times faster; "
            f"best cell {result.surface_best:.2f}",
            f"  tune_model        {result.tuned:9.2f} s   {result.tuned / result.surface:.2f} of that; "
            f"found {result.tuned_best:.2f}, with the fitted model",
        ]
    )


def write(result: Result, file: Path) -> None:
    """One line of CSV, under a header."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(vars(result))
        writer.writerow([f"{value:.6g}" if isinstance(value, float) else value for value in vars(result).values()])
