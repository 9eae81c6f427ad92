# SPDX-License-Identifier: BSD-3-Clause
"""The records of a study: what was compared (`Compared`) and what was found (`Study`), and their parts.

The command line prints these records and the report draws them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from separatrix._array import Array, Codes, Float
from separatrix.comparison import Comparison
from separatrix.reductions import take_rows
from separatrix.separation import SeparationStatus
from separatrix.study.candidates import PRIOR
from separatrix.study.classifier import TableClassifier
from separatrix.study.weights import Coefficient
from separatrix.table import Schema, TableEncoder

Topic = Literal[
    "unlabelled",  # rows without a label
    "rare class",  # a class with a single row, which is left out
    "many classes",  # a numeric target that may be a quantity
    "dropped",  # a column
    "missing",  # values
    "imbalance",
    "few rows",
    "sampled",  # not all rows were used
    "nothing beats the shares",  # no model is better than the class proportions
    "separation",
    "separation not checked",
    "approximation",
    "tuning",  # the prior was tuned to a limit
    "convergence",
    "collinear",
    "new values",  # values that the training rows did not have
    "effects",  # only some columns are shown
    "warning",  # any other warning: an ambiguous column, a library
    "failure",  # of a model that was compared
    "other model",  # a warning of a model that was compared and not chosen
]


@dataclass(frozen=True)
class Note:
    """A sentence to read before acting on a model, and its topic. As text it is the sentence.

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
    """Name of the chosen model, and the reasons in full sentences."""

    name: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Rows on which a model was scored: their class codes (N,) and predicted probabilities P (N, K)."""

    codes: Codes
    P: Float
    classes: Array


@dataclass(frozen=True, eq=False)
class Effect:
    """Probabilities as a function of one column of the table, with the other columns of each row unchanged.

    ``values`` (G,) are numbers, dates or levels; ``mean``, ``lower`` and ``upper`` (G, K) the probability of each class
    there, averaged over rows, with its credible band (NaN if the model has no posterior); ``share`` (G,) the fraction
    of rows at or around each value; ``importance`` the standard deviation over rows of the column's part of the
    log-odds, in nats.
    """

    column: str
    kind: str
    values: Array
    mean: Float
    lower: Float
    upper: Float
    share: Float
    importance: float


@dataclass(frozen=True)
class Question:
    """The question: the name of the table, its target, given types, the fraction of test rows, and the seed.

    ``test_share`` and ``seed`` are None if a fitted model was examined.
    """

    name: str
    target: str
    types: Mapping[str, str] | None = None
    test_share: float | None = None
    seed: int | None = None


@dataclass(frozen=True, eq=False)
class LabelledTable:
    """Columns to predict from, the labels as classes and codes, and notes on rows that were left out.

    ``rows`` are the numbers of the rows in the table that was given.
    """

    X: Any
    classes: Array
    codes: Codes
    rows: Codes
    notes: tuple[Note, ...] = ()

    @property
    def n_rows(self) -> int:
        """Number of rows, all with a label."""
        return len(self.codes)

    @property
    def labels(self) -> Array:
        """Label of each row."""
        return np.asarray(self.classes[self.codes])

    @property
    def counts(self) -> Codes:
        """Number of rows of each class."""
        return np.bincount(self.codes, minlength=len(self.classes))

    def take(self, rows: Codes, *notes: Note) -> LabelledTable:
        """Some of the rows, with all classes; ``notes`` are added."""
        X = take_rows(self.X, rows)
        return replace(self, X=X, codes=self.codes[rows], rows=self.rows[rows], notes=(*self.notes, *notes))


@dataclass(frozen=True, eq=False)
class Compared:
    """Models compared on held-out rows of a table, and the one chosen, before it is fitted to all rows.

    Attributes
    ----------
    question : Question
    table : LabelledTable
        All rows with a label.
    train, test : LabelledTable
        Training and test rows; of a large table, parts of a sample.
    encoder : TableEncoder
        Fitted on the training rows.
    models : dict
        The candidates by name, unfitted.
    comparison : Comparison
        Scores of the candidates, or why they failed, best first.
    choice : Choice
    table_notes : tuple of Note
    warnings : mapping from the name of a model to its notes
    seconds : float
    """

    question: Question
    table: LabelledTable
    train: LabelledTable
    test: LabelledTable
    encoder: TableEncoder
    models: Mapping[str, TableClassifier]
    comparison: Comparison
    choice: Choice
    table_notes: tuple[Note, ...]
    warnings: Mapping[str, Sequence[Note]]
    seconds: float = float("nan")

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes on the table, on the chosen model, and on the others."""
        return (*self.table_notes, *self.warnings[self.choice.name], *self.notes_on_others)

    @property
    def notes_on_others(self) -> tuple[Note, ...]:
        """Whether no model is useful, models that failed, and warnings of those not chosen."""
        useless = [Note("nothing beats the shares", self.choice.reasons[-1])] * (self.choice.name == PRIOR)
        failed = [Note("failure", f"{t.name} failed. {t.failure}") for t in self.comparison if t.failure]
        others = [
            Note("other model", f"{name}: {note}")
            for name, notes in self.warnings.items()
            if name != self.choice.name
            for note in notes
        ]
        return (*useless, *failed, *others)


@dataclass(frozen=True, eq=False)
class Study:
    """A table, the model chosen for it or given, and what the model says.

    Attributes
    ----------
    question : Question
    compared : Compared, or None if a given model was examined
    model : TableClassifier
        The chosen model, fitted to all rows (``model.n_rows_`` of them), or the model given.
    n_rows, classes, counts : int and arrays of shape (K,)
        Rows with a label, the labels, and the number of rows of each.
    held_out : HeldOut
        Test rows with their predicted probabilities. After a comparison they are predicted by the same kind of model
        fitted to the training rows, not by ``model``.
    coefficients, effects, notes : tuples of Coefficient, Effect and Note
    separation : str
        Whether hyperplanes separate the classes: "complete", "quasi-complete", "overlapping", or "unknown" if it was
        not checked.
    level : float
        Level of intervals and bands.
    seconds : float
    positive : label or None
        The class that odds and decisions refer to, the rarer of two by default; with more than two classes it is
        compared with all others, or None.
    """

    question: Question
    compared: Compared | None
    model: TableClassifier
    n_rows: int
    classes: Array
    counts: Codes
    held_out: HeldOut
    coefficients: tuple[Coefficient, ...]
    effects: tuple[Effect, ...]
    notes: tuple[Note, ...]
    separation: SeparationStatus = "unknown"
    level: float = 0.95
    seconds: float = float("nan")
    positive: Any = None

    @property
    def schema(self) -> Schema:
        """How each column was encoded, and why."""
        return self.model.encoder_.schema_

    @property
    def comparison(self) -> Comparison | None:
        """Scores of all models; None if a given model was examined."""
        return None if self.compared is None else self.compared.comparison

    @property
    def choice(self) -> Choice | None:
        """The chosen model and the reasons; None if a given model was examined."""
        return None if self.compared is None else self.compared.choice

    @property
    def n_train(self) -> int | None:
        """Number of training rows of the model that was scored; None if unknown (an old file)."""
        return getattr(self.model, "n_rows_", None) if self.compared is None else self.compared.train.n_rows

    @property
    def is_held_out(self) -> bool | None:
        """True if the scored model was not fitted to the scored rows; None if unknown."""
        return None if self.compared is None else True

    @property
    def about(self) -> dict[str, str | None]:
        """Names to save along with the model: ``sx.save(study.model, path, about=study.about)``."""
        return {
            "target": self.question.target,
            "model": None if self.choice is None else self.choice.name,
            "positive": None if self.positive is None else str(self.positive),
        }
