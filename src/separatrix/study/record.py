# SPDX-License-Identifier: BSD-3-Clause
"""What a study of one table found. Plain records: the report and the command line draw and print them, and no more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from separatrix._array import Array, Codes, Float
from separatrix.comparison import Comparison
from separatrix.solvers import SeparationStatus
from separatrix.table import Schema
from separatrix.tables import TableClassifier

__all__ = ["Choice", "Coefficient", "Effect", "HeldOut", "Note", "Study", "Topic"]

Topic = Literal[
    "unlabelled",  # rows without a label
    "rare class",  # of a single row, which is left out
    "many classes",  # numbers that may be amounts
    "dropped",  # a column
    "missing",  # values
    "imbalance",
    "few rows",
    "sampled",  # not all rows were used
    "nothing beats the shares",
    "separation",
    "separation not checked",
    "approximation",
    "tuning",  # of the prior ran to a limit
    "convergence",
    "collinear",
    "new values",  # that the model has not learnt from
    "effects",  # are shown for some columns only
    "warning",  # of any other kind: a column that could be read in two ways, a library under the model
    "failure",  # of a model that was compared
    "other model",  # something on one that was compared and not chosen
]


@dataclass(frozen=True)
class Note:
    """A sentence on what to know before acting, and what it is about. As text it is the sentence.

    Examples
    --------
    >>> from separatrix.study import Note
    >>> str(Note("dropped", "planet was dropped: every value is 'earth'."))
    "planet was dropped: every value is 'earth'."
    """

    topic: Topic
    text: str

    def __str__(self) -> str:
        return self.text


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
    of the rows at or around each value; ``importance`` how much the column moves the log-odds of a typical row, in
    nats: the standard deviation over rows of its part of them.
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

    Attributes
    ----------
    name, target : str
        Of the table, and of its column of labels.
    n_rows, classes, counts : int and arrays of shape (K,)
        Rows with a label, the labels, and the rows of each.
    schema : what the columns were taken for
    comparison, choice : None where one model was examined and none compared
    model : the model chosen, fitted to all rows (``model.n_rows_`` of them)
    held_out : rows to judge by, and what was said of them
    coefficients, effects, notes : what the model says, and what to know before acting on it
    level : of intervals and bands
    seconds : that the study took
    n_train, n_test : int
        Rows that the model learnt from which was judged, and rows that it was judged on. In a comparison that model is
        not the one in ``model``, but the same kind of model without the rows held out. ``n_train`` is None where a
        model does not know.
    is_held_out : True where the model judged has not learnt from the rows it was judged on; None where nobody knows
    seed, test_share, types : how the study was asked for; None where it was not
    separation : str
        Whether hyperplanes separate the classes: "complete", "quasi-complete", "overlapping"; "unknown" where that
        was not checked.
    positive : the class of interest, which odds and decisions are told for, of more than two classes against all
        others; None if none was named
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
    notes: tuple[Note, ...]
    level: float = 0.95
    seconds: float = float("nan")
    n_train: int | None = None
    n_test: int = 0
    is_held_out: bool | None = None
    seed: int | None = None
    test_share: float | None = None
    types: Mapping[str, str] | None = None
    separation: SeparationStatus = "unknown"
    positive: Any = None
