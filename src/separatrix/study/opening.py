# SPDX-License-Identifier: BSD-3-Clause
"""A table and the name of its label: columns to learn from, classes, and rows to hold out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np

from separatrix._array import Array, Codes
from separatrix.exceptions import DataError
from separatrix.meta import listed
from separatrix.reductions import take_rows
from separatrix.rows import as_table, encode_labels
from separatrix.study.record import Note
from separatrix.table import encode_target, open_batch

__all__ = ["Opened", "held_out_rows", "open_table", "without_singles"]


@dataclass(frozen=True, eq=False)
class Opened:
    """The columns of a table but its label, the labels, and what had to be left out.

    ``rows`` are the numbers of the rows in the table as it was given.
    """

    X: Any
    classes: Array
    codes: Codes
    rows: Codes
    notes: tuple[Note, ...]

    @property
    def n_rows(self) -> int:
        """Rows with a label."""
        return len(self.codes)

    @property
    def labels(self) -> Array:
        """The label of each row."""
        return np.asarray(self.classes[self.codes])

    @property
    def counts(self) -> Codes:
        """Rows of each class."""
        return np.bincount(self.codes, minlength=len(self.classes))

    def take(self, rows: Codes) -> Opened:
        """Some of the rows, all classes kept."""
        return replace(self, X=take_rows(self.X, rows), codes=self.codes[rows], rows=self.rows[rows])


def open_table(table: Any, target: str, *, categorical: bool = False) -> Opened:
    """The rows that have a label; with ``categorical``, numbers of any kind are names of classes.

    Raises
    ------
    DataError
        Where the table has no such column (with the nearest names), or that column holds no labels.
    """
    table = as_table(table)
    if not nw.dependencies.is_into_dataframe(table):
        raise DataError(
            f"The table is a {type(table).__name__}, whose columns have no names. Give a data frame of pandas, polars "
            "or pyarrow with the label among its columns."
        )
    open_batch(table).require([target])
    frame = nw.from_native(table, eager_only=True)
    if len(frame.columns) < 2:
        raise DataError(f"The table has no column but {target!r}, so there is nothing to predict it from.")
    found = encode_target(frame[target], name=target, categorical=categorical)
    left_out = Note("unlabelled", f"Rows without a label in {target!r} were left out: {found.n_missing}.")
    notes = (left_out,) * bool(found.n_missing) + tuple(Note("many classes", text) for text in found.notes)
    rows = np.flatnonzero(found.labelled)
    classes, codes = encode_labels(found.labels)  # in the order in which the models will have them
    return Opened(take_rows(frame.drop(target).to_native(), rows), classes, codes, rows, notes)


def without_singles(opened: Opened, target: str) -> Opened:
    """Without classes of a single row, which cannot be both learnt from and held out.

    Raises
    ------
    DataError
        Where fewer than two classes are left.
    """
    counts = opened.counts
    alone = counts < 2
    if (~alone).sum() < 2:
        seen = ", ".join(f"{label!r} ({n})" for label, n in zip(opened.classes.tolist()[:6], counts, strict=False))
        raise DataError(
            f"{target!r} has {len(counts)} different value{'s' * (len(counts) > 1)} in {opened.n_rows} rows: {seen}. "
            "A classifier needs at least two classes of two rows each. Choose another column, or add rows."
        )
    if not alone.any():
        return opened
    kept = np.flatnonzero(~alone[opened.codes])
    names = listed(opened.classes[alone].tolist())
    note = Note(
        "rare class",
        f"Class {names} has one row only, which cannot be both learnt from and held out: left out, so that the model "
        "does not know it.",
    )
    kept_classes, codes = np.unique(opened.codes[kept], return_inverse=True)
    return replace(opened.take(kept), classes=opened.classes[kept_classes], codes=codes, notes=(*opened.notes, note))


def held_out_rows(codes: Codes, share: float, rng: np.random.Generator) -> Array:
    """Which rows are held out (N,): the same share of each class, as nearly as whole rows allow, at least one in all.

    Rows in random order within their class are marked at even steps; with a share of at most one half no two of them
    are neighbours, so that every class of two rows or more keeps one to learn from.
    """
    order = np.lexsort([rng.random(len(codes)), codes])
    place = (np.arange(len(codes) + 1) + rng.random()) * share
    marked = np.diff(np.floor(place)) > 0
    if not marked.any():
        marked[int(np.argmax(np.bincount(codes)[codes[order]]))] = True  # a row of the largest class
    held: Array = np.zeros(len(codes), dtype=bool)
    held[order[marked]] = True
    return held
