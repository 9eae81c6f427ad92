# SPDX-License-Identifier: BSD-3-Clause
"""One batch of a table through a saved model: encoded once, then classes, probabilities and their intervals.

What training never saw, what is missing and what is far from anything in training is counted; where the batch has the
label too, so is how well it went. Counts take no more memory for more rows.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from separatrix._array import Array, Float, to_dense
from separatrix.cli.errors import CommandError
from separatrix.exceptions import DataError
from separatrix.rows import NamedRows
from separatrix.study import Ramps, TableClassifier, continuous_columns
from separatrix.table import MISSING, as_text, encode_target

__all__ = ["Marks", "Scorer", "Tally", "as_arrow_table"]

MOST_SHOWN = 5  # values of a column that are kept to be shown


@dataclass
class Tally:
    """How many rows hold something, and the first few values of it with their rows."""

    rows: int = 0
    values: Counter[str] = field(default_factory=Counter)
    has_more: bool = False

    def add(self, found: dict[str, int]) -> None:
        """Count values; those after the first few only in the number of rows."""
        for value, rows in found.items():
            self.rows += rows
            if value in self.values or len(self.values) < MOST_SHOWN:
                self.values[value] += rows
            else:
                self.has_more = True

    def __str__(self) -> str:
        shown = ", ".join(f"{value!r} {count:,}" for value, count in self.values.most_common())
        return shown + (", ..." if self.has_more else "")


@dataclass
class Marks:
    """How a stream of batches went: sums that grow with each, by column where they are of columns."""

    rows: int = 0
    labelled: int = 0
    right: int = 0
    log_loss: float = 0.0
    predicted: Counter[str] = field(default_factory=Counter)
    unseen: dict[str, Tally] = field(default_factory=dict)
    gaps: Counter[str] = field(default_factory=Counter)
    first_gaps: Counter[str] = field(default_factory=Counter)  # of columns that had none in training
    outside: dict[str, Tally] = field(default_factory=dict)
    unknown_labels: Tally = field(default_factory=Tally)
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
        self._reach = _reach(model) if self.is_table else {}

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
    def types(self) -> dict[str, str]:
        """Inputs that must be read as text, as types for `open_table`: a postal code is no number in a new file."""
        return dict.fromkeys(self.model.encoder_.schema_.text_types, "categorical") if self.is_table else {}

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the columns that `score` returns."""
        names = ["predicted"]
        for label in self.classes.tolist() if self.has_probabilities else ():
            names += [f"p_{label}"] if self.level is None else [f"p_{label}", f"lower_{label}", f"upper_{label}"]
        return tuple(names)

    def score(self, batch: pa.RecordBatch | pa.Table) -> pa.Table:
        """The columns of `outputs` for the rows of a batch. Classes are as the model decides, costs and all."""
        batch = as_arrow_table(batch)
        X = self.numbers(batch)
        labels = np.asarray(self.estimator.predict(X))
        if not self.has_probabilities:
            self._mark(batch, labels, None)
            return pa.table({"predicted": labels})
        P: Float = np.asarray(self.estimator.predict_proba(X))
        self._mark(batch, labels, P)
        columns = [labels]
        bounds = None if self.level is None else self._bounds(X)
        for k in range(len(self.classes)):
            columns += [P[:, k]] if bounds is None else [P[:, k], bounds[:, k, 0], bounds[:, k, 1]]
        return pa.table(dict(zip(self.outputs, columns, strict=True)))

    def nothing(self) -> pa.Table:
        """The columns of `outputs` without a row."""
        kinds = [pa.array(self.classes.tolist()).type, *[pa.float64()] * (len(self.outputs) - 1)]
        return pa.schema(list(zip(self.outputs, kinds, strict=True))).empty_table()

    def numbers(self, batch: pa.Table) -> Any:
        """What the estimator is given; gaps and values never seen are counted on the way."""
        gaps = {name: _gaps(batch.column(name)) for name in self.inputs}
        self.marks.gaps.update({name: rows for name, rows in gaps.items() if rows})
        if not self.is_table:
            return batch.select(list(self.inputs))
        schema = self.model.encoder_.schema_
        X, unseen = schema.encode_counted(batch, first_row=self.marks.rows)
        for name, surprises in unseen.items():
            self._mark_unseen(name, dict(surprises))
        self._mark_outside(X)
        return NamedRows(X, schema.columns)

    def codes(self, column: pa.ChunkedArray) -> Array:
        """Positions of the labels among the classes, -1 where there is none or it is of no class."""
        codes = np.full(len(column), -1)
        if column.null_count == len(column):
            return codes
        try:
            target = encode_target(column, name=str(self.target), categorical=True)
        except DataError as error:  # dates in place of labels: told at the end, once
            self.marks.doubt = self.marks.doubt or str(error)
            return codes
        texts = list(map(as_text, target.classes.tolist()))
        place = np.array([self._place.get(text, -1) for text in texts])
        codes[target.labelled] = place[target.codes]
        counts = np.bincount(target.codes, minlength=len(texts)).tolist()
        self.marks.unknown_labels.add({str(texts[k]): counts[k] for k in np.flatnonzero(place < 0)})
        return codes

    def _bounds(self, X: Any) -> Float:
        """(N, K, 2); what a model of two classes says of the second, it says of the first the other way round."""
        bounds: Float = np.asarray(self.estimator.predict_interval(X, self.level))
        return np.stack([1.0 - bounds[:, ::-1], bounds], axis=1) if len(self.classes) == 2 else bounds

    def _mark(self, batch: pa.Table, labels: Array, P: Float | None) -> None:
        marks = self.marks
        marks.rows += batch.num_rows
        decided, counts = np.unique(labels, return_counts=True)
        marks.predicted.update(dict(zip(map(str, decided.tolist()), counts.tolist(), strict=True)))
        if self.target is None or self.target not in batch.schema.names:
            return
        codes = self.codes(batch.column(self.target))
        known = codes >= 0
        marks.labelled += int(known.sum())
        marks.right += int((labels[known] == self.classes[codes[known]]).sum())
        if P is not None:
            with np.errstate(divide="ignore"):  # what had no chance has an infinite loss
                marks.log_loss -= float(np.log(P[known, codes[known]]).sum())

    def _mark_unseen(self, name: str, surprises: dict[str, int]) -> None:
        missing = surprises.pop(MISSING, 0)
        if missing:
            self.marks.first_gaps[name] += missing
        if surprises:
            self.marks.unseen.setdefault(name, Tally()).add(surprises)

    def _mark_outside(self, X: Any) -> None:
        """Numbers that no row of training can have come near to."""
        for name, (d, low, high) in self._reach.items():
            x = to_dense(X[:, [d]])[:, 0]
            far, counts = np.unique(x[(x < low) | (x > high)], return_counts=True)
            if len(far):
                found = {f"{value:g}": int(rows) for value, rows in zip(far, counts, strict=True)}
                self.marks.outside.setdefault(name, Tally()).add(found)


def as_arrow_table(batch: pa.RecordBatch | pa.Table) -> pa.Table:
    """A record batch as a table."""
    return pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch


def _reach(model: TableClassifier) -> dict[str, tuple[int, float, float]]:
    """For each column of numbers: its position among the encoded ones, and bounds that are far beyond its range.

    A curve knows the range; what is beyond it by more than its width is far. Of a straight line mean and standard
    deviation are kept, and of n numbers none is further than sqrt(n - 1) standard deviations from their mean
    (Samuelson's inequality), so that whatever is, is certainly beyond the range.
    """
    schema, basis = model.encoder_.schema_, getattr(model.estimator_, "basis_", None)
    n_rows = max(schema.n_rows, getattr(model, "n_rows_", 0))  # that of an older file is not known
    owners = {place: column for column, places in schema.groups.items() for place in places}
    reach = {}
    for d in continuous_columns(schema):
        if isinstance(basis, Ramps) and (own := basis.functions_.bent == d).any():
            low, high = basis.functions_.low[own].min(), basis.functions_.high[own].max()
            ends = (low - (high - low), high + (high - low))
        elif basis is None or isinstance(basis, Ramps):
            at = d if basis is None else int(np.flatnonzero(basis.functions_.straight == d)[0])
            far = model.spread_[at] * np.sqrt(n_rows)
            ends = (model.centre_[at] - far, model.centre_[at] + far)
        else:
            continue
        reach[owners[d]] = (int(d), float(ends[0]), float(ends[1]))
    return reach


def _gaps(column: Any) -> int:
    """Values that are missing: nulls, and what is not a number."""
    gaps = int(column.null_count)
    if pa.types.is_floating(column.type):
        gaps += int(pc.sum(pc.is_nan(column)).as_py() or 0)
    return gaps
