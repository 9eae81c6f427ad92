# SPDX-License-Identifier: BSD-3-Clause
"""Description of models that are fitted to arrays, or to frames of numbers: every column is one feature."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np

from separatrix._array import Array, Codes, Float, Rows, to_dense
from separatrix.exceptions import DataError
from separatrix.explanation.columns import Column, number_columns
from separatrix.explanation.explain import Explained
from separatrix.explanation.scores import LinearScores, Scores
from separatrix.table import MISSING

FAR_IN_STD = 10.0  # standard deviations from the mean that at most 1 % of the rows exceed (Chebyshev's inequality)
RANGE_IN_STD = 3.0  # half the range of a column in standard deviations, if its smallest and largest values are unknown
RANGE_NOTE = (
    "The model does not contain the range of its training rows. Changes stay within 3 standard deviations of the mean; "
    "pass reference=X, the training rows, for changes within their range and warnings about values outside."
)
NO_RANGE_NOTE = (
    "The model does not contain the range of its training rows, so no changes were searched for. Pass reference=X, the "
    "training rows, for changes within their range and warnings about values outside."
)
NOTHING_KNOWN = "a row of which nothing is known, with the class proportions"
AVERAGE = "the average training row"


def explained_array(
    X: Rows,
    names: tuple[str, ...],
    given: Rows | None,
    scores: Scores,
    basis: Any,
    *,
    classes: Array,
    probabilities: Callable[[Rows], Float],
    intervals: Callable[[Rows, float], Float] | None = None,
    categories: Mapping[int, Array] | None = None,
    allow_nan: bool = False,
    notes: tuple[str, ...] = (),
) -> Explained:
    """Description of rows X (n, D) with the columns ``names``.

    ``given`` are the rows of the reference; None for the average training row. ``categories`` are the levels of
    columns that contain codes instead of numbers.
    """
    levels = {} if categories is None else categories
    if not allow_nan:
        _require_values(X, names)
    functions: Callable[[Rows], Rows] = (lambda rows: rows) if basis is None else basis.evaluate
    lines, owner = _owners(names, basis)
    if len(lines) > len(names):
        notes = (*notes, "A basis function may depend on several columns, so each function has a line.")
    low, high = np.full((2, len(names)), np.nan)
    start, start_cells, reference = _reference(given, functions, scores, names, basis)
    is_known = given is not None and given.shape[0] > 1
    if given is not None and is_known:
        seen = to_dense(given)
        low, high = np.nanmin(seen, axis=0), np.nanmax(seen, axis=0)
    else:
        if basis is None and isinstance(scores, LinearScores):
            low, high = _likely_range(scores)
        about_range = RANGE_NOTE if np.isfinite(low).any() else NO_RANGE_NOTE
        notes = (*notes, about_range) if scores.has_decision else notes
    columns = number_columns(names, low, high)
    whole = np.zeros(len(names), dtype=bool)
    if given is not None and is_known:
        whole = (to_dense(given) == np.floor(to_dense(given))).all(axis=0)
    columns = tuple(
        _category(column, levels[d]) if d in levels else replace(column, step=float(whole[d]))
        for d, column in enumerate(columns)
    )
    rows = to_dense(X)
    return Explained(
        classes=classes,
        columns=columns,
        cells=tuple(tuple(_cell(x, levels.get(d)) for d, x in enumerate(row.tolist())) for row in rows),
        X=X,
        functions=functions,
        lines=lines,
        owner=owner,
        scores=scores,
        probabilities=probabilities,
        start=start,
        start_cells=start_cells,
        reference=reference,
        intervals=intervals,
        warnings=tuple(_warnings(columns, row, is_known=is_known, levels=levels) for row in rows),
        notes=notes,
    )


def own_columns(X: Any, names: Sequence[str] | None) -> Any:
    """A row as a table; of a frame that has the columns ``names`` of the fit, in any order, only these columns."""
    if isinstance(X, np.ndarray) and X.ndim == 1:
        return X[None]
    if nw.dependencies.is_pandas_series(X):
        X = X.to_frame().T.infer_objects()
    if names is None or not nw.dependencies.is_into_dataframe(X):
        return X
    frame = nw.from_native(X, eager_only=True)
    return frame.select(list(names)).to_native() if set(names) <= set(frame.columns) else X


def _cell(x: float, levels: Array | None) -> Any:
    """Value of a cell: a number, or the level of a code."""
    if levels is None or np.isnan(x):
        return x if levels is None else MISSING
    return str(levels[int(x)]) if x < len(levels) else "(new)"


def _category(column: Column, levels: Array) -> Column:
    texts = tuple(map(str, levels.tolist()))
    place = {text: float(code) for code, text in enumerate(texts)}

    def encode(values: Any) -> Float:
        return np.array([[place[value]] for value in values])

    return Column(column.name, column.place, encode, levels=texts)


def _owners(names: tuple[str, ...], basis: Any) -> tuple[tuple[str, ...], Codes]:
    """Lines, and the line of each function: the columns, followed by the functions of a basis if there is one."""
    if basis is None:
        return names, np.arange(len(names))
    functions = tuple(basis.names(names))
    return (*names, *functions), len(names) + np.arange(len(functions))


def _reference(
    given: Rows | None, functions: Callable[[Rows], Rows], scores: Scores, names: tuple[str, ...], basis: Any
) -> tuple[Float | None, tuple[Any, ...], str]:
    """Functions (r, M) of the reference, its values, and a description."""
    if given is not None:
        if given.shape[0] == 0:
            raise DataError("explain(reference=...) has no rows. Pass a row, or several rows whose average is used.")
        _require_values(given, names)
        start, n = to_dense(functions(given)).astype(np.float64), given.shape[0]
        return start, tuple(to_dense(given).mean(axis=0).tolist()), of_given(n)
    if not isinstance(scores, LinearScores):
        return None, ("unknown",) * len(names), NOTHING_KNOWN
    if scores.reference is None:
        raise DataError(
            "This model does not contain the averages of its training rows, so there is no reference. Pass a row, or "
            "some rows whose average is used: model.explain(rows, reference=X)."
        )
    if not scores.has_bias:
        return scores.reference[None], (0.0,) * len(names), "a row of zeros, because the model has no intercept"
    average: tuple[Any, ...] = ("average",) * len(names) if basis is not None else tuple(scores.reference.tolist())
    return scores.reference[None], average, AVERAGE


def of_given(n_rows: int) -> str:
    """Description of a reference that the user gave."""
    return "the given row" if n_rows == 1 else f"the average of the {n_rows:,} given rows"


def _likely_range(scores: LinearScores) -> tuple[Float, Float]:
    """Range of each column (D,) from its mean and standard deviation."""
    spread = scores.spread
    if spread is None or scores.reference is None:
        unknown = np.full(scores.weights.shape[1] - scores.has_bias, np.nan)
        return unknown, unknown
    return scores.reference - RANGE_IN_STD * spread, scores.reference + RANGE_IN_STD * spread


def _warnings(
    columns: tuple[Column, ...], row: Float, *, is_known: bool, levels: Mapping[int, Array]
) -> tuple[str, ...]:
    """Sentences on values outside of the range, and on new levels."""
    found = []
    for d, (column, x) in enumerate(zip(columns, row.tolist(), strict=True)):
        if d in levels:
            if x >= len(levels[d]):
                found.append(f"{column.name} has a level that did not occur in training.")
        elif is_known and not column.low <= x <= column.high and np.isfinite(x):
            found.append(outside(column, x))
        elif not is_known and column.high > column.low:
            std, mean = 0.5 * (column.high - column.low) / RANGE_IN_STD, 0.5 * (column.high + column.low)
            if (away := abs(x - mean) / std) > FAR_IN_STD:
                what = f"{column.name} = {column.show(float(x))}"
                found.append(f"{what} is {away:,.4g} standard deviations from the mean of the training rows.")
    return tuple(found)


def outside(column: Column, x: float) -> str:
    """Warning of a value outside of the training data."""
    ends = f"{column.show(float(column.low))} to {column.show(float(column.high))}"
    return f"{column.name} = {column.show(float(x))} lies outside of the training data ({ends})."


def _require_values(X: Rows, names: tuple[str, ...]) -> None:
    bad = np.argwhere(~np.isfinite(to_dense(X)))
    if len(bad):
        n, d = bad[0].tolist()
        raise DataError(
            f"explain: column {names[d]!r} of row {n} is {to_dense(X)[n, d]}. Contributions need complete rows: fill "
            "in the value, or use TableClassifier, which encodes missing values."
        )
