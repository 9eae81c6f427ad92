# SPDX-License-Identifier: BSD-3-Clause
"""The records of a study: the comparison of models (`Compared`), the final results (`Study`), and their parts.

The command line prints these records, and the report shows them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from importlib import import_module
from pathlib import Path
from textwrap import fill
from typing import Any, Literal, get_args

import numpy as np

from separatrix._array import Array, Codes, Float
from separatrix._output import Table
from separatrix._text import counted, option
from separatrix.comparison import Comparison
from separatrix.effects import Effect, PairEffect
from separatrix.files import Scan
from separatrix.metrics import Estimate, log_likelihoods, weighted_mean
from separatrix.reductions import take_rows
from separatrix.separation import SeparationStatus
from separatrix.table import Schema, TableEncoder, TableStatistics, table_statistics
from separatrix.table_model import Coefficient, Configured, TableClassifier, repetitions

Topic = Literal[  # in the order of importance for the reader
    "leak",  # a column alone predicts the class
    "nothing beats the shares",  # no model is better than the class proportions
    "fallback",  # the chosen model could not be fitted to all rows
    "odd cells",  # cells treated as missing, whose indicator may separate the classes
    "separation",
    "approximation",
    "convergence",
    "unlabelled",  # rows without a label
    "weights",  # how many rows the weights of rows stand for
    "rare class",  # a class with a single row was left out
    "many classes",  # a numeric target that may be a quantity
    "imbalance",
    "few rows",
    "outlier",  # a value is far from all others of its column
    "identical",  # a column is a copy of another
    "codes",  # whole numbers that may be names of categories
    "collinear",
    "warning",  # any other warning, such as an ambiguous column
    "new values",  # values that the training rows did not have
    "combination",  # the models in a combination, and what it does not have
    "sampled",  # not all rows were used
    "left out",  # models that do not suit the table
    "missing",  # a column has missing values
    "text",  # a column was read as free text
    "dropped",  # columns were dropped
    "tuning",  # the tuned scale of the prior is at its limit
    "separation not checked",
    "effects",  # effects are shown for some columns only
    "failure",  # a compared model could not be fitted
    "other model",  # a warning of a compared model that was not chosen
]

OTHER_MODEL_TOPICS = ("failure", "other model")  # notes about models that were not chosen
TEXT_WIDTH = 80  # characters
IMPORTANCE = "Importance of the columns: standard deviation of their contribution to the log-odds"
NOTHING_BEATS = (
    "No model predicts clearly better than the class proportions (prior only): these columns contain little or no "
    "information about the label. Look for columns that contain more."
)
TIME_RAN_OUT = (
    "The time ran out before all models were tried, so it is not known whether these columns contain information about "
    "the label. Allow more time (--time)."
)


@dataclass(frozen=True)
class Note:
    """A sentence to read before acting on a model, and its topic; ``str(note)`` is the sentence.

    ``columns`` are the columns of the table that the note is about, if it is about some of them.
    """

    topic: Topic
    text: str
    columns: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text


def by_importance(notes: Iterable[Note]) -> tuple[Note, ...]:
    """Distinct notes, the most important first."""
    order = get_args(Topic)
    return tuple(sorted(dict.fromkeys(notes), key=lambda note: order.index(note.topic)))


def leaking_columns(notes: Iterable[Note]) -> tuple[str, ...]:
    """Columns that alone predict the class, according to the notes."""
    return tuple(column for note in notes if note.topic == "leak" for column in note.columns)


@dataclass(frozen=True)
class Choice:
    """Name of the chosen model, and the reasons for the choice as sentences."""

    name: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Rows on which a model was scored: their class codes (N,) and predicted probabilities P (N, K).

    If rows were cross-validated several times, P is the mean over repeats. ``log_likelihoods`` (N,) are then the means
    of ln p of the true class; None means ln P. ``weight`` (N,) is None if all rows have weight 1.
    """

    codes: Codes
    P: Float
    classes: Array
    log_likelihoods: Float | None = None
    weight: Float | None = None

    @property
    def weights(self) -> Float:
        """Weights of the rows, (N,)."""
        return np.ones(len(self.codes)) if self.weight is None else self.weight


@dataclass(frozen=True)
class Question:
    """Arguments of a study: name of the table, target, types set by the user, fraction of test rows, seed and time.

    ``weight`` is the column of weights. ``test_share``, ``seed`` and ``time`` (in seconds) are None if a model that was
    already fitted is examined.
    """

    name: str
    target: str
    types: Mapping[str, str] | None = None
    test_share: float | None = None
    seed: int | None = None
    time: float | None = None
    weight: str | None = None


@dataclass(frozen=True, eq=False)
class LabelledTable:
    """Input columns, labels as classes and codes, and notes on rows that were left out.

    ``rows`` are the positions of the rows in the user's table, and ``whole`` are the input columns of all its rows, or
    their statistics. If the rows are a sample of a file larger than memory, ``everything`` is a scan of all its rows.
    ``weight`` (N,) is None if all rows have weight 1.
    """

    X: Any
    classes: Array
    codes: Codes
    rows: Codes
    notes: tuple[Note, ...] = ()
    whole: Any = None
    everything: Scan | None = None
    weight: Float | None = None

    @property
    def n_rows(self) -> int:
        return len(self.codes)

    @property
    def labels(self) -> Array:
        return np.asarray(self.classes[self.codes])

    def statistics(self, unread: Sequence[str]) -> TableStatistics:
        """Statistics of all rows of the user's table, from which the types of the columns are inferred."""
        is_known = isinstance(self.whole, TableStatistics)
        return self.whole if is_known else table_statistics(self.whole, unread=unread)

    @property
    def counts(self) -> Array:
        """Number of rows of each class, (K,), or the sum of their weights; integers if all weights are whole."""
        total = np.bincount(self.codes, self.weight, len(self.classes))
        return total.astype(np.intp) if (total == np.round(total)).all() else total

    def copies(self, at: Codes) -> Codes:
        """The positions ``at``, each as often as its row counts in means of columns and in numbers of levels."""
        times = None if self.weight is None else repetitions(self.weight[at], len(at))
        return at if times is None else np.repeat(at, times)

    def take(self, rows: Codes, *notes: Note) -> LabelledTable:
        """Select rows, keep all classes, and add ``notes``."""
        X = take_rows(self.X, rows)
        weight = None if self.weight is None else self.weight[rows]
        notes = (*self.notes, *notes)
        return replace(self, X=X, codes=self.codes[rows], rows=self.rows[rows], notes=notes, weight=weight)


@dataclass(frozen=True, eq=False)
class Compared:
    """Models compared on held-out rows of a table, and the one chosen, before it is fitted to all rows."""

    question: Question
    table: LabelledTable  # all rows with a label
    train: LabelledTable  # a large table is sampled first; if it is cross-validated, train and test are all rows
    test: LabelledTable
    encoder: TableEncoder  # fitted on the training rows
    models: Mapping[str, TableClassifier]  # the candidates by name, unfitted
    comparison: Comparison  # scores of the candidates, best first, or the reason why a candidate failed
    choice: Choice
    table_notes: tuple[Note, ...]
    warnings: Mapping[str, Sequence[Note]]  # by name of the model
    positive: Any = None  # the class that odds and decisions refer to; see `Study`
    seconds: float = float("nan")
    optimism: float = 0.0  # by which the log-likelihood of the chosen model is too large; see choice.py
    configured: Mapping[str, Configured] = field(default_factory=dict)  # by name of the model

    @property
    def score(self) -> Estimate:
        """Log-likelihood per row that the chosen model is expected to have on new rows, with its standard error.

        It is that of the compared rows, corrected for the choice among several models on the same rows.
        """
        value, standard_error = self.comparison[self.choice.name].test.log_likelihood
        return Estimate(value - self.optimism, standard_error)

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes on the table, on the chosen model, and on the other models."""
        return by_importance((*self.table_notes, *self.warnings[self.choice.name], *self.notes_on_others))

    @property
    def notes_on_others(self) -> tuple[Note, ...]:
        """Notes about models that failed or were not chosen, and whether no model beats the class proportions."""
        is_leak = "leak" in [note.topic for note in self.table_notes]
        reasons = [text for text in (NOTHING_BEATS, TIME_RAN_OUT) if text in self.choice.reasons and not is_leak]
        useless = [Note("nothing beats the shares", text) for text in reasons]
        failed = [Note("failure", trial.problem) for trial in self.comparison if trial.failure]
        others = [
            Note("other model", f"{name}: {note}")
            for name, notes in self.warnings.items()
            if name != self.choice.name
            for note in notes
        ]
        return (*useless, *failed, *others)


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """Results of a study: a model that was chosen or given, its scores on a table, its weights and its effects.

    The ``positive`` class is the one that odds and decisions refer to. Of two classes, the default is the
    one that means yes, such as 1, true or ja, else the rarer one. With more than two classes, the positive class is
    compared with all others; by default it is None.
    """

    question: Question
    compared: Compared | None  # None if a fitted model was examined
    model: TableClassifier  # the chosen model, fitted to ``model.n_rows_`` rows, or the model given
    n_rows: int  # rows with a label
    classes: Array
    counts: Array  # number of rows of each class, or the sum of their weights
    held_out: HeldOut  # after a comparison, predicted by copies of the model that were fitted without these rows
    coefficients: tuple[Coefficient, ...]
    effects: tuple[Effect, ...]
    notes: tuple[Note, ...]
    separation: SeparationStatus = "unknown"  # whether hyperplanes separate the classes; "unknown" if not checked
    level: float = 0.95  # of intervals and bands
    seconds: float = float("nan")
    positive: Any = None
    pair_effects: tuple[PairEffect, ...] = ()  # the most important interactions
    rows: Any = None  # input columns of the rows in ``held_out``

    def report(
        self, path: str | os.PathLike[str], *, model_path: str | os.PathLike[str] | None = None, force: bool = False
    ) -> Path:
        """Write the report as one HTML file; an existing file is replaced only with ``force``.

        ``model_path`` is the path of the saved model that the report names in its commands.
        """
        written: Path = import_module("separatrix.report").write_report(self, path, model_path=model_path, force=force)
        return written

    @property
    def title(self) -> str:
        """Name and size of the table, and the chosen model."""
        name = type(self.model.estimator_).__name__ if self.choice is None else self.choice.name
        rows = f"{counted(self.n_rows, 'row')}, {counted(len(self.classes), 'class')}"
        return f"Study of {self.question.target} in {self.question.name}, {rows}: {name}"

    def _parts(self) -> list[Any]:
        """Reasons, comparison, importance of the columns and notes, in the order in which they are shown."""
        names = tuple(effect.column for effect in self.effects)
        importance = {"importance": np.array([effect.importance for effect in self.effects])}
        table = Table(names, importance, IMPORTANCE, formats={"importance": ".3f"})
        reasons = [] if self.choice is None else [" ".join(self.choice.reasons)]
        notes = [note.text for note in self.notes if note.topic not in OTHER_MODEL_TOPICS]
        return [*reasons, *[self.comparison] * (self.comparison is not None), *[table] * bool(names), *notes]

    def __str__(self) -> str:
        parts = (fill(part, TEXT_WIDTH) if isinstance(part, str) else str(part) for part in self._parts())
        return "\n\n".join([fill(self.title, TEXT_WIDTH), *parts])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """Show title, reasons, tables and notes in a notebook."""
        parts = (f"<p>{escape(part)}</p>" if isinstance(part, str) else part._repr_html_() for part in self._parts())
        return "\n".join([f"<h4>{escape(self.title)}</h4>", *parts])

    @property
    def schema(self) -> Schema:
        """How each column was encoded, and why."""
        return self.model.encoder_.schema_

    @property
    def comparison(self) -> Comparison | None:
        """Scores of all models; None if a fitted model was examined."""
        return None if self.compared is None else self.compared.comparison

    @property
    def choice(self) -> Choice | None:
        """The chosen model and the reasons; None if a fitted model was examined."""
        return None if self.compared is None else self.compared.choice

    @property
    def score(self) -> Estimate:
        """Log-likelihood per row that the model is expected to have on new rows, with its standard error.

        After a comparison, it is corrected for the choice among several models on the same rows. After `examine`, it is
        that of the examined rows.
        """
        if self.compared is not None:
            return self.compared.score
        return weighted_mean(log_likelihoods(self.held_out.P, self.held_out.codes), self.held_out.weight)

    @property
    def leaks(self) -> tuple[str, ...]:
        """Columns that alone predict the class."""
        return leaking_columns(self.notes)

    @property
    def n_train(self) -> int | None:
        """Number of training rows of the model that was scored; None if unknown (an old file, cross-validation)."""
        if self.compared is None:
            return self.model.n_rows_
        return None if self.compared.comparison.n_folds else self.compared.train.n_rows

    @property
    def on_positive(self) -> str:
        """Sentence on the positive class and how to choose another; empty without such a class."""
        if self.positive is None:
            return ""
        side = " against all other classes" if len(self.classes) > 2 else ""
        other = next(label for label in self.classes.tolist() if label != self.positive)
        switch = f"{option('--positive', other)} (in Python, positive={other!r})"
        how = f"{switch} chooses another class" if side else f"{switch} switches to {other}"
        return f"Odds, effects and decisions refer to {self.positive}{side}; {how}."

    @property
    def is_held_out(self) -> bool | None:
        """True if the scored model was not fitted to the scored rows; None if unknown."""
        return None if self.compared is None else True

    @property
    def about(self) -> dict[str, str | None]:
        """Names to save with the model: ``sx.save(study.model, path, about=study.about)``."""
        leaks = [note.text for note in self.notes if note.topic == "leak"]
        return {
            "target": self.question.target,
            "weight": self.question.weight,
            "model": None if self.choice is None else self.choice.name,
            "positive": None if self.positive is None else str(self.positive),
            **({"leak": "\n".join(leaks), "leaks": "\n".join(self.leaks)} if leaks else {}),
        }
