# SPDX-License-Identifier: BSD-3-Clause
"""One batch of a table through a saved model: encoded once, then classes, probabilities and their intervals.

What training never saw, and what is missing, is counted; where the batch has the label too, so is how well it went.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from separatrix._array import Array, Float
from separatrix.cli.errors import CommandError
from separatrix.data.reader import NamedRows
from separatrix.data.table import encode_target
from separatrix.data.table.values import as_text
from separatrix.exceptions import DataError
from separatrix.tables import TableClassifier

__all__ = ["Marks", "Scorer", "as_arrow_table"]

DRAWN = 512  # rows whose intervals come from draws, as those of K classes do: each row takes thousands of numbers


@dataclass
class Marks:
    """How a stream of batches went: sums that grow with each."""

    rows: int = 0
    labelled: int = 0
    right: int = 0
    log_loss: float = 0.0
    predicted: Counter[str] = field(default_factory=Counter)
    unseen: dict[str, Counter[str]] = field(default_factory=dict)
    gaps: Counter[str] = field(default_factory=Counter)
    unknown_labels: Counter[str] = field(default_factory=Counter)
    doubt: str = ""  # why the labels cannot be compared with


class Scorer:
    """What a model says of a batch.

    Parameters
    ----------
    model : a saved model: a `TableClassifier`, or a model of numbers that knows the names of its columns
    level : of the intervals; None for none
    target : the column of the true labels, looked at where a batch has it
    """

    def __init__(self, model: Any, *, level: float | None, target: str | None) -> None:
        self.model = model
        self.is_table = isinstance(model, TableClassifier)
        self.estimator = model.estimator_ if self.is_table else model
        self.classes: Array = model.classes_
        self.target = target
        self.has_probabilities = getattr(self.estimator, "predict_proba", None) is not None
        self.has_intervals = self.has_probabilities and getattr(self.estimator, "predict_interval", None) is not None
        self.level = level if self.has_intervals else None
        self.marks = Marks()
        self._place = {as_text(label): k for k, label in enumerate(self.classes.tolist())}

    @property
    def inputs(self) -> tuple[str, ...]:
        """Columns that a table must have."""
        if self.is_table:
            return tuple(self.model.encoder_.schema_.inputs)
        names = getattr(self.model, "feature_names_in_", None)
        if names is None:
            raise CommandError(
                "data",
                "The model learnt from an array and does not know the names of its columns, so that none can be found "
                "in a table. Fit it to a data frame, or with separatrix fit.",
            )
        return tuple(map(str, names))

    @property
    def categories(self) -> dict[str, str]:
        """Inputs that must be read as text, as types for `open_table`: a postal code is no number in a new file."""
        plans = self.model.encoder_.schema_.plans if self.is_table else ()
        return {plan.column: plan.kind for plan in plans if plan.kind == "categorical"}

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the columns that `score` returns."""
        names = ["predicted"]
        for label in self.classes.tolist() if self.has_probabilities else ():
            names += [f"p_{label}"] if self.level is None else [f"p_{label}", f"lower_{label}", f"upper_{label}"]
        return tuple(names)

    def score(self, batch: pa.RecordBatch | pa.Table) -> pa.Table:
        """The columns of `outputs` for the rows of a batch."""
        batch = as_arrow_table(batch)
        X = self.numbers(batch)
        if not self.has_probabilities:
            labels = np.asarray(self.estimator.predict(X))
            self._mark(batch, labels, None)
            return pa.table({"predicted": labels})
        P: Float = np.asarray(self.estimator.predict_proba(X))
        labels = self.classes[P.argmax(axis=1)]
        self._mark(batch, labels, P)
        columns = [labels]
        bounds = None if self.level is None else self._bounds(X)
        for k in range(len(self.classes)):
            columns += [P[:, k]] if bounds is None else [P[:, k], bounds[:, k, 0], bounds[:, k, 1]]
        return pa.table(dict(zip(self.outputs, columns, strict=True)))

    def numbers(self, batch: pa.Table) -> Any:
        """What the estimator is given; gaps and values never seen are counted on the way."""
        marks = self.marks
        for name in self.inputs:
            marks.gaps.update({name: gaps} if (gaps := _gaps(batch.column(name))) else {})
        if not self.is_table:
            return batch.select(list(self.inputs))
        schema = self.model.encoder_.schema_
        X, unseen = schema.encode_counted(batch)
        for name, surprises in unseen.items():
            marks.unseen.setdefault(name, Counter()).update(surprises)
        return NamedRows(X, schema.columns)

    def codes(self, column: pa.ChunkedArray) -> Array:
        """Positions of the labels among the classes, -1 where there is none or it is of no class."""
        codes = np.full(len(column), -1)
        if column.null_count == len(column):
            return codes
        try:
            target = encode_target(column, name=str(self.target))
        except DataError as error:  # numbers or dates in place of labels: told at the end, once
            self.marks.doubt = self.marks.doubt or str(error)
            return codes
        texts = list(map(as_text, target.classes.tolist()))
        place = np.array([self._place.get(text, -1) for text in texts])
        codes[target.labelled] = place[target.codes]
        for k, text in enumerate(texts):
            if place[k] < 0:
                self.marks.unknown_labels[str(text)] += int((target.codes == k).sum())
        return codes

    def _bounds(self, X: Any) -> Float:
        """(N, K, 2); what a model of two classes says of the second, it says of the first the other way round."""
        if len(self.classes) == 2:
            bounds: Float = np.asarray(self.estimator.predict_interval(X, self.level))
            return np.stack([1.0 - bounds[:, ::-1], bounds], axis=1)
        parts = [np.asarray(self.estimator.predict_interval(part, self.level)) for part in _parts(X, DRAWN)]
        return np.concatenate(parts)

    def _mark(self, batch: pa.Table, labels: Array, P: Float | None) -> None:
        marks = self.marks
        marks.rows += batch.num_rows
        marks.predicted.update(map(str, labels.tolist()))
        if self.target is None or self.target not in batch.schema.names:
            return
        codes = self.codes(batch.column(self.target))
        known = codes >= 0
        marks.labelled += int(known.sum())
        marks.right += int((labels[known] == self.classes[codes[known]]).sum())
        if P is not None:
            with np.errstate(divide="ignore"):  # what had no chance has an infinite loss
                marks.log_loss -= float(np.log(P[known, codes[known]]).sum())


def as_arrow_table(batch: pa.RecordBatch | pa.Table) -> pa.Table:
    """A record batch as a table."""
    return pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch


def _parts(X: Any, rows: int) -> Iterator[Any]:
    """So many rows at a time."""
    for start in range(0, X.shape[0], rows):
        inside = slice(start, start + rows)
        yield X.slice(start, rows) if isinstance(X, pa.Table) else NamedRows(X.array[inside], X.columns)


def _gaps(column: Any) -> int:
    """Values that are missing: nulls, and what is not a number."""
    gaps = int(column.null_count)
    if pa.types.is_floating(column.type):
        gaps += int(pc.sum(pc.is_nan(column)).as_py() or 0)
    return gaps
