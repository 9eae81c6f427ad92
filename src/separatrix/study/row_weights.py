# SPDX-License-Identifier: BSD-3-Clause
"""Weights of rows, from a column of the table. A row of weight k counts as k copies of it.

The weights enter fits, scores and their standard errors, evidence, class proportions, and the averages of effects. Rows
are drawn into folds and samples one by one, whatever their weights.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np

from separatrix._array import Array, Codes, Float
from separatrix._text import counted
from separatrix.exceptions import DataError
from separatrix.study.records import Note
from separatrix.table import Kind, read_values

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
MIN_TOTAL = 2.0  # a table of fewer rows cannot have two classes
MAX_DRAWN_ROWS = 20_000  # rows that stand for a weighted table in averages, as many as are averaged without weights


def weights_of(column: Any, name: str) -> Float:
    """Weights (N,) from a column of numbers; raises DataError that names the first value that is no weight."""
    series = nw.from_native(column, series_only=True) if nw.dependencies.is_into_series(column) else np.asarray(column)
    values = read_values(series)
    how = "Weights are numbers of copies of a row, 0 or more. Correct the column, or leave weight= out."
    option = how.replace("weight=", "--weight")
    if values.kind not in (Kind.NUMBER, Kind.BOOLEAN, Kind.NOTHING):
        found = values.kind.value
        if values.kind is Kind.TEXT:
            row = int(np.flatnonzero((values.codes >= 0) & _is_text(values.texts)[values.codes])[0])
            found = f"{values.texts[values.codes[row]]!r} in row {row + 1:,} (counted from 1), which is no number"
        raise DataError(f"The column of weights, {name!r}, contains {found}.", remedy=how, option=option)
    weight = values.numbers if values.kind is not Kind.NOTHING else np.full(len(series), np.nan)
    wrong = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if len(wrong):
        first = weight[wrong[0]]
        what = "is missing" if np.isnan(first) else f"is {first:g}"
        others = f" {counted(len(wrong) - 1, 'more row')} likewise." if len(wrong) > 1 else ""
        raise DataError(
            f"Row {wrong[0] + 1:,} (counted from 1) has no valid weight: column {name!r} {what}.{others}",
            remedy=how,
            option=option,
        )
    if not weight.any():
        raise DataError(f"All weights in column {name!r} are zero, so no row is left. Name another column.")
    if weight.sum() < MIN_TOTAL:
        raise DataError(
            f"The weights in column {name!r} sum to {weight.sum():.3g}. A weight counts copies of a row, so the table "
            "has fewer than two rows. Multiply the weights, for example so that their mean is 1.",
        )
    return weight


def _is_text(texts: Sequence[str]) -> Array:
    """Whether each text is not a number, (V,); if all are numbers in a column of categories, all count as text."""
    found = np.array([NUMBER.fullmatch(text.strip()) is None for text in texts])
    return found if found.any() else ~found


def note_on_weights(weight: Float, name: str) -> Note:
    """How many rows the weights stand for, and what that means if they are no counts."""
    n_zero = int((weight == 0).sum())
    dropped = f" {counted(n_zero, 'row')} of weight 0 {'was' if n_zero == 1 else 'were'} left out." if n_zero else ""
    total = f"{weight.sum():,.6g}" if weight.sum() < 1e6 else f"{weight.sum():,.0f}"
    text = f"By the weights in {name!r}, {counted(len(weight) - n_zero, 'row')} count as {total}.{dropped}"
    if (weight != np.round(weight)).any():
        text += (
            f" They are not whole numbers: standard errors, intervals and evidence are those of {total} rows. If the "
            "weights only correct for sampling, scale them so that their mean is 1."
        )
    return Note("weights", text)


def in_proportion(weight: Float) -> Codes:
    """Positions of rows that stand for weighted rows in an average, each as often as its weight requires.

    They are taken at equal steps of the cumulative weight (systematic sampling), so a row of weight k appears k times,
    up to rounding. Whole weights of few rows are exact.
    """
    is_whole = bool((weight == np.round(weight)).all()) and weight.sum() <= MAX_DRAWN_ROWS
    n = int(weight.sum()) if is_whole else MAX_DRAWN_ROWS
    steps = (np.arange(n) + 0.5) * (weight.sum() / n)
    at: Codes = np.minimum(np.searchsorted(np.cumsum(weight), steps, side="right"), len(weight) - 1)
    return at
