# SPDX-License-Identifier: BSD-3-Clause
"""Predict a table batch by batch with a fitted model, and count unusual values of its rows.

`BatchScorer` encodes each batch once and predicts classes, probabilities and intervals. Its `RowCounts` are sums over
batches, whose memory does not grow with the table: missing values, values absent from the training rows, numbers far
outside the training range and, if a batch contains the target, accuracy and log-loss.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix._array import Array, Float, to_dense
from separatrix._lazy import pa, pc
from separatrix.decisions import DecisionRule
from separatrix.exceptions import DataError
from separatrix.families import SupportError
from separatrix.rows import NamedRows
from separatrix.table import MISSING, OddCells, as_text, encode_target
from separatrix.table_model import Radial, Ramps, TableClassifier, continuous_columns

MAX_KEPT_VALUES = 5  # examples shown for one column


@dataclass
class ValueCounts:
    """Number of rows with unusual values, and the first few of these values with their counts."""

    rows: int = 0
    values: Counter[str] = field(default_factory=Counter)
    has_more: bool = False

    def add(self, found: dict[str, int]) -> None:
        """Add counts of values."""
        for value, rows in found.items():
            self.rows += rows
            if value in self.values or len(self.values) < MAX_KEPT_VALUES:
                self.values[value] += rows
            else:
                self.has_more = True

    def __str__(self) -> str:
        shown = ", ".join(f"{value!r} ({count:,})" for value, count in self.values.most_common())
        return shown + (", ..." if self.has_more else "")


@dataclass
class RowCounts:
    """Sums over the batches scored so far; counts of values are by column.

    ``first_missing`` counts missing values of columns that had none in training, and ``odd`` are values that are not
    numbers or dates as in training. ``label_problem`` is the reason why labels cannot be compared with predictions.
    """

    rows: int = 0
    labelled: int = 0
    correct: int = 0
    log_loss: float = 0.0
    predicted: Counter[str] = field(default_factory=Counter)
    new_values: dict[str, ValueCounts] = field(default_factory=dict)
    missing: Counter[str] = field(default_factory=Counter)
    first_missing: Counter[str] = field(default_factory=Counter)
    far: dict[str, ValueCounts] = field(default_factory=dict)
    odd: dict[str, OddCells] = field(default_factory=dict)
    unknown_labels: ValueCounts = field(default_factory=ValueCounts)
    label_problem: str = ""


class BatchScorer:
    """Predictions of a fitted model for batches of a table.

    The model is a `TableClassifier`, or a classifier fitted on named columns of numbers, or a `DecisionRule` around
    one. ``level`` is the level of the intervals; None for no intervals. ``target`` is the column of the true labels,
    used if a batch contains it.
    """

    def __init__(self, model: Any, *, level: float | None = None, target: str | None = None) -> None:
        self.target, self.counts = target, RowCounts()
        self.rule = model if isinstance(model, DecisionRule) else None  # decides by costs, from the probabilities
        self.model = model = model if self.rule is None else self.rule.fitted_
        self.is_table = isinstance(model, TableClassifier)
        self.estimator = model.estimator_ if self.is_table else model
        self.classes: Array = model.classes_
        self.has_probabilities = getattr(self.estimator, "predict_proba", None) is not None
        self.has_intervals = self.has_probabilities and getattr(self.estimator, "predict_interval", None) is not None
        self.level = level if self.has_intervals else None
        self._code_of = {as_text(label): k for k, label in enumerate(self.classes.tolist())}
        self._range = _plausible_ranges(model) if self.is_table else {}

    @property
    def inputs(self) -> tuple[str, ...]:
        """Columns that a table must have."""
        if self.is_table:
            return tuple(self.model.encoder_.schema_.inputs)
        names = getattr(self.model, "feature_names_in_", None)
        if names is None:
            raise DataError(
                "The model was fitted on an array without column names, so its columns cannot be found in a table. Fit "
                "it on a data frame, or with separatrix fit."
            )
        return tuple(map(str, names))

    @property
    def types(self) -> dict[str, str]:
        """Types for `open_table`: columns that must be read as text, such as postal codes."""
        return dict.fromkeys(self.model.encoder_.schema_.text_types, "categorical") if self.is_table else {}

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the columns that `score` returns."""
        prefixes = ("p",) if self.level is None else ("p", "lower", "upper")
        labels = self.classes.tolist() if self.has_probabilities else []
        return ("predicted", *(f"{prefix}_{label}" for label in labels for prefix in prefixes))

    def score(self, batch: pa.RecordBatch | pa.Table) -> pa.Table:
        """Classes, probabilities and intervals of the rows of a batch; classes come from ``predict`` of the model."""
        if isinstance(batch, pa.RecordBatch):
            batch = pa.Table.from_batches([batch])
        X = self.features(batch)
        try:
            labels = np.asarray(self.estimator.predict(X))
        except SupportError as error:  # name the row of the table, not of the batch
            raise error.in_row(self.counts.rows + error.row) from None
        P: Float | None = np.asarray(self.estimator.predict_proba(X)) if self.has_probabilities else None
        labels = labels if self.rule is None else self.rule.decide(P)
        counts = self.counts
        counts.rows += batch.num_rows
        classes, rows = np.unique(labels, return_counts=True)
        counts.predicted.update(dict(zip(map(str, classes.tolist()), rows.tolist(), strict=True)))
        if self.target is not None and self.target in batch.schema.names:
            codes = self.codes(batch.column(self.target))
            known = codes >= 0
            counts.labelled += int(known.sum())
            counts.correct += int((labels[known] == self.classes[codes[known]]).sum())
            if P is not None:
                with np.errstate(divide="ignore"):  # a label with probability 0 has an infinite loss
                    counts.log_loss -= float(np.log(P[known, codes[known]]).sum())
        columns: list[Array] = [labels]
        if P is not None and self.level is None:
            columns += list(P.T)
        elif P is not None:
            bounds: Float = np.asarray(self.estimator.predict_interval(X, self.level))
            if len(self.classes) == 2:  # only intervals of the second class are returned
                bounds = np.stack([1.0 - bounds[:, ::-1], bounds], axis=1)
            columns += [x for k in range(len(self.classes)) for x in (P[:, k], bounds[:, k, 0], bounds[:, k, 1])]
        return pa.table(dict(zip(self.outputs, columns, strict=True)))

    def empty(self) -> pa.Table:
        """Columns of `outputs` without rows."""
        types = [pa.array(self.classes.tolist()).type, *[pa.float64()] * (len(self.outputs) - 1)]
        return pa.schema(list(zip(self.outputs, types, strict=True))).empty_table()

    def features(self, batch: pa.Table) -> Any:
        """Encode a batch for the estimator, and count missing, new and far values."""
        for name in self.inputs:
            column = batch.column(name)
            missing = column.null_count
            if pa.types.is_floating(column.type):
                missing += pc.sum(pc.is_nan(column)).as_py() or 0
            if missing:
                self.counts.missing[name] += int(missing)
        if not self.is_table:
            return batch.select(list(self.inputs))
        schema = self.model.encoder_.schema_
        X, new_values, odd_cells = schema.encode_checked(batch)
        for name, odd in odd_cells.items():
            first = self.counts.odd.get(name) or odd._replace(n_cells=0, row=self.counts.rows + odd.row)
            self.counts.odd[name] = first._replace(n_cells=first.n_cells + odd.n_cells)
        for name, values in new_values.items():
            found = dict(values)
            if missing := found.pop(MISSING, 0):
                self.counts.first_missing[name] += missing
            if found and name not in odd_cells:
                self.counts.new_values.setdefault(name, ValueCounts()).add(found)
        for name, (d, low, high) in self._range.items():
            x = to_dense(X[:, [d]])[:, 0]
            values, rows = np.unique(x[(x < low) | (x > high)], return_counts=True)
            if len(values):
                texts = [f"{value:g}" for value in values.tolist()]
                self.counts.far.setdefault(name, ValueCounts()).add(dict(zip(texts, rows.tolist(), strict=True)))
        return NamedRows(X, schema.columns)

    def codes(self, column: Any) -> Array:
        """Class codes of a column of labels; -1 if a label is missing or is not a class of the model."""
        codes = np.full(len(column), -1)
        if column.null_count == len(column):
            return codes
        try:
            target = encode_target(column, name=str(self.target), categorical=True)
        except DataError as error:  # for example dates; reported once, at the end
            self.counts.label_problem = self.counts.label_problem or str(error)
            return codes
        texts = list(map(as_text, target.classes.tolist()))
        known = np.array([self._code_of.get(text, -1) for text in texts])
        codes[target.labelled] = known[target.codes]
        rows = np.bincount(target.codes, minlength=len(texts)).tolist()
        self.counts.unknown_labels.add({str(texts[k]): rows[k] for k in np.flatnonzero(known < 0)})
        return codes


def _plausible_ranges(model: TableClassifier) -> dict[str, tuple[int, float, float]]:
    """Position and plausible range of each numeric column; values outside it are far from all training rows.

    The knots of a curve show the training range, and the plausible range is three times as wide. For a linear effect,
    only mean and standard deviation are known. None of n numbers is further than sqrt(n - 1) standard deviations from
    their mean (Samuelson's inequality), so numbers beyond were certainly not in the training range.
    """
    schema, basis = model.encoder_.schema_, getattr(model.estimator_, "basis_", None)
    n_rows = max(schema.n_rows, model.n_rows_ or 0)
    column_of = {position: column for column, positions in schema.groups.items() for position in positions}
    knots = basis.functions_.knots if isinstance(basis, Ramps) else {}
    ranges = {}
    for d in continuous_columns(schema):
        if d in knots:
            low, high = knots[d][0], knots[d][-1]
            ends = (low - (high - low), high + (high - low))
        elif basis is None or isinstance(basis, Ramps | Radial):
            at = int(np.flatnonzero(basis.functions_.straight == d)[0]) if isinstance(basis, Ramps) else d
            reach = model.spread_[at] * np.sqrt(n_rows)
            ends = (model.centre_[at] - reach, model.centre_[at] + reach)
        else:
            continue
        ranges[column_of[d]] = (int(d), float(ends[0]), float(ends[1]))
    return ranges
