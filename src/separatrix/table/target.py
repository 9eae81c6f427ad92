# SPDX-License-Identifier: BSD-3-Clause
"""The column to predict: classes in their order, a code for each row, and rows without a label left out.

Whether numbers are labels cannot be seen: whole numbers are taken for such if they repeat, others only if the caller
says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from separatrix._array import Array, Codes, Float
from separatrix.exceptions import DataError
from separatrix.table.parse import number_text
from separatrix.table.values import Kind, Values, as_text, read_values

__all__ = ["Target", "encode_target"]

MANY_CLASSES, ROWS_PER_CLASS = 20, 5  # more classes than this must have so many rows each, or they are no classes


@dataclass(frozen=True)
class Target:
    """Labels as codes.

    Attributes
    ----------
    classes : ndarray of shape (K,)
        Booleans, integers or strings.
    codes : ndarray of shape (n,)
        Positions among the classes, of the n rows that have a label.
    labelled : ndarray of bool, shape (N,)
        Which rows of the column those are: ``X[labelled]`` goes with ``codes``.
    notes : tuple of str
        Sentences on what a reader may doubt, such as that whole numbers in many different values are classes.
    """

    classes: Array
    codes: Codes
    labelled: Array
    notes: tuple[str, ...] = ()

    @property
    def n_missing(self) -> int:
        """Rows without a label."""
        return int((~self.labelled).sum())

    @property
    def labels(self) -> Array:
        """The labels of the rows that have one."""
        return np.asarray(self.classes[self.codes])


def encode_target(column: Any, *, name: str = "the target", categorical: bool = False) -> Target:
    """Codes of labels of any type: text, booleans, whole numbers, categories of any data frame.

    Classes are sorted; those of a categorical or enum column keep its order. None, NaN and blank text are missing.

    Parameters
    ----------
    column : Series of any data frame, array or list
        The labels.
    name : str
        What to call the column in messages.
    categorical : bool, default False
        Take numbers for names of classes, whatever they look like: ratings from 1 to 5 in halves. Classes that are not
        whole numbers become text, "1.5", as no classifier takes such numbers for labels.

    Raises
    ------
    DataError
        Where the labels are real numbers, nearly all different (both unless ``categorical``), dates, or all missing.

    Examples
    --------
    >>> import pandas as pd
    >>> target = encode_target(pd.Series(["low", "high", None, "low"], dtype=pd.CategoricalDtype(["low", "high"])))
    >>> target.classes.tolist(), target.codes.tolist(), target.n_missing
    (['low', 'high'], [0, 1, 0], 1)
    >>> encode_target([1.5, 2.0, 1.5], categorical=True).classes.tolist()
    ['1.5', '2']
    """
    series = _as_series(column)
    values = read_values(series, name)
    labelled = ~values.missing
    if not labelled.any():
        raise DataError(f"Every label of {name!r} is missing ({len(labelled)} rows). Choose another column.")
    if values.kind is Kind.TEXT:
        classes, codes = _named(values, _order(series))
    elif values.kind is Kind.BOOLEAN:
        distinct, codes = np.unique(values.numbers[labelled], return_inverse=True)
        classes = distinct.astype(bool)
    elif values.kind is Kind.NUMBER:
        classes, codes = _counted(values.numbers[labelled], name, categorical=categorical)
    else:
        raise DataError(f"{name!r} holds {values.kind.value}, which are no classes. Choose another column.")
    _require_repeats(classes, int(labelled.sum()), name, categorical=categorical)
    return Target(classes, codes, labelled, () if categorical else _doubts(classes, name))


def _as_series(column: Any) -> Any:
    """A narwhals Series, or a one-dimensional array."""
    if nw.dependencies.is_into_series(column):
        return nw.from_native(column, series_only=True)
    is_list = isinstance(column, list | tuple)
    array = np.array(column, dtype=object) if is_list else np.asarray(column)
    if array.ndim != 1:
        raise DataError(f"The target must be one column of labels; got an array of shape {array.shape}.")
    return array


def _order(series: Any) -> list[Any]:
    """The categories that the column's type declares, in their order; none for any other column."""
    if isinstance(series, np.ndarray) or series.dtype not in (nw.Categorical, nw.Enum):
        return []
    native = series.to_native()
    if nw.dependencies.is_pandas_series(native) and str(native.dtype) == "category":
        return list(native.cat.categories.tolist())
    return list(series.dtype.categories) if series.dtype == nw.Enum else []


def _named(values: Values, order: list[Any]) -> tuple[Array, Codes]:
    seen = set(values.texts)
    classes = [level for level in order if as_text(level) in seen] or sorted(seen)
    place = {as_text(level): k for k, level in enumerate(classes)}
    position = np.array([place[text] for text in values.texts], dtype=np.intp)
    return np.array(classes), position[values.codes[values.codes >= 0]]


def _counted(numbers: Float, name: str, *, categorical: bool) -> tuple[Array, Codes]:
    """Whole numbers as integers, also where gaps had made them floats; others as text."""
    classes, codes = np.unique(numbers, return_inverse=True)
    broken = classes[classes != np.floor(classes)]
    if not len(broken):
        return classes.astype(np.int64) if np.abs(classes).max() < 2**53 else classes, codes
    if categorical:
        return np.array(list(map(number_text, classes.tolist()))), codes
    raise DataError(
        f"{name!r} looks continuous: {len(classes)} different values from {classes[0]:.6g} to {classes[-1]:.6g}, "
        f"such as {broken[0]:.6g}. A classifier needs labels: cut it into classes, or choose another column.",
        **_if_classes(name),
    )


def _require_repeats(classes: Array, n_rows: int, name: str, *, categorical: bool) -> None:
    if categorical and (len(classes) < n_rows or n_rows == 1):
        return
    if len(classes) > max(MANY_CLASSES, n_rows / ROWS_PER_CLASS):
        shown = ", ".join(map(repr, classes[:3].tolist()))
        raise DataError(
            f"{name!r} has {len(classes)} different values in {n_rows} rows ({shown}, ...), which look like counts, "
            "ids or free text instead of classes. Choose another column, or cut it into classes.",
            **({} if categorical else _if_classes(name)),
        )


def _doubts(classes: Array, name: str) -> tuple[str, ...]:
    if classes.dtype.kind not in "iuf" or len(classes) <= MANY_CLASSES:
        return ()
    return (
        f"{name} holds whole numbers in {len(classes)} different values, from {classes[0]} to {classes[-1]}. Each "
        "value is treated as a class of its own; their order is not used. If they are amounts, cut them into fewer "
        f"classes. If they are classes, types={{{name!r}: 'categorical'}} (--types {name}=categorical) confirms it.",
    )


def _if_classes(name: str) -> dict[str, str]:
    """Remedies for a column whose values are classes in spite of their looks, in Python and on the command line."""
    python = f"types={{{name!r}: 'categorical'}} (encode_target: categorical=True)"
    prefix = "If each of these values is a class,"
    return {"remedy": f"{prefix} pass {python}.", "option": f"{prefix} add --types {name}=categorical."}
