# SPDX-License-Identifier: BSD-3-Clause
"""What a study of one table found. Plain records: the report and the command line draw and print them, and no more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from separatrix._array import Array, Codes, Float
from separatrix.comparison import Comparison
from separatrix.data.table import Schema
from separatrix.tables import TableClassifier

__all__ = ["Choice", "Coefficient", "Effect", "HeldOut", "Study"]


@dataclass(frozen=True)
class Choice:
    """Which of the models compared was taken, and why, in whole sentences."""

    name: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Rows that the model judged did not learn from: their class codes (N,), and what it said of them, P (N, K)."""

    codes: Codes
    P: Float
    classes: Array


@dataclass(frozen=True)
class Coefficient:
    """One weight in the user's units, with a credible (or confidence) interval.

    ``column`` is the table's, ``name`` that of the number it became (``colour=red``); ``label`` the class whose
    log-odds it raises, against the other class or, of K classes, against their average. A level of a category is
    against the average of the levels over the rows, where every level has a weight. ``per_spread`` is the weight
    per standard deviation of its number, by which weights can be compared. Intervals are NaN where the model has none.
    """

    column: str
    name: str
    label: Any
    weight: float
    lower: float
    upper: float
    per_spread: float


@dataclass(frozen=True, eq=False)
class Effect:
    """How the probabilities move with one column of the table, all others left as they are in each row.

    ``values`` (G,) are numbers, dates or levels; ``mean``, ``lower`` and ``upper`` (G, K) the probability of each class
    there, averaged over rows, with its credible band (NaN where the model has no posterior); ``share`` (G,) the part
    of the rows at or around each value; ``importance`` how much the column moves the log-odds of a typical row, in nats
    (the standard deviation over rows of its part of the activation).
    """

    column: str
    kind: str
    values: Array
    mean: Float
    lower: Float
    upper: Float
    share: Float
    importance: float


@dataclass(frozen=True, eq=False)
class Study:
    """A table, the models compared on it, the one chosen, and what it says.

    ``comparison`` and ``choice`` are None where one model was examined and none compared. ``notes`` are sentences in
    plain words on what to know before acting: dropped columns, separation, poor approximations, imbalance.
    """

    name: str
    target: str
    n_rows: int
    classes: Array
    counts: Codes
    schema: Schema
    comparison: Comparison | None
    choice: Choice | None
    model: TableClassifier
    held_out: HeldOut
    coefficients: tuple[Coefficient, ...]
    effects: tuple[Effect, ...]
    notes: tuple[str, ...]
    level: float = 0.95
    seconds: float = float("nan")
