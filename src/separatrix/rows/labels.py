# SPDX-License-Identifier: BSD-3-Clause
"""Class labels of any kind -> codes 0 .. K-1."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from separatrix._array import Array, Codes, Float, to_host
from separatrix.exceptions import DataError

__all__ = ["UNLABELLED", "encode_labels", "encode_shares", "is_shares", "is_unlabelled"]

HEAD = 2_000  # rows from which the set of classes is guessed before the rest is checked


UNLABELLED = -1  # the code of a row without a label


def encode_labels(y: Any, *, unlabelled: Any = "error") -> tuple[Array, Codes]:
    """The sorted classes and, for each row, the position of its label among them.

    ``unlabelled`` says which rows have no label, code -1: "missing" for None and NaN, or the label that marks them.
    With "error" there are none, and a missing label is one.

    Raises
    ------
    DataError
        Where a label is missing.
    ValueError
        Where ``y`` is real-valued (scikit-learn's own message).
    """
    if y is None:
        raise ValueError("This classifier requires y to be passed, but the target y is None.")
    labels = np.asarray(column_or_1d(_as_array(y), warn=True))
    open_rows = is_unlabelled(labels, unlabelled)
    if not open_rows.any():
        return _encode(labels)
    if open_rows.all():
        raise DataError(f"Not one of {len(labels)} rows has a label (unlabelled={unlabelled!r}).")
    codes = np.full(len(labels), UNLABELLED, dtype=np.intp)
    classes, codes[~open_rows] = _encode(labels[~open_rows])
    return classes, codes


def _as_array(y: Any) -> Array:
    """Labels as an array; a list that mixes strings with anything else as objects, lest NaN become the word "nan"."""
    labels = np.asarray(to_host(y))
    mixed = isinstance(y, list | tuple) and labels.dtype.kind in "US" and not all(isinstance(v, str) for v in y)
    return np.array(y, dtype=object) if mixed else labels


def is_unlabelled(labels: Array, unlabelled: Any) -> Array:
    """Which rows are said to have no label."""
    if isinstance(unlabelled, str) and unlabelled == "error":
        return np.zeros(len(labels), dtype=bool)
    if isinstance(unlabelled, str) and unlabelled == "missing":
        return _missing(labels)
    return np.asarray(labels == unlabelled, dtype=bool)


def _encode(labels: Array) -> tuple[Array, Codes]:
    labels = _checked(labels)
    try:
        classes, codes = _guess(labels)
        if codes is None:
            classes, codes = np.unique(labels, return_inverse=True)
    except TypeError as error:
        kinds = sorted({type(v).__name__ for v in labels.tolist()})
        raise DataError(
            f"Labels of different types cannot be sorted: {', '.join(kinds)}. Make them all one."
        ) from error
    if classes.dtype.kind == "f" and (broken := classes[classes % 1 != 0]).size:
        check_classification_targets(np.tile(broken, 3))  # raises, in scikit-learn's own words
    return classes, codes


def _missing(labels: Array) -> Array:
    """None, NaN, NA, NaT, or infinite."""
    if labels.dtype.kind == "O":
        return np.fromiter(map(_is_missing, labels), bool, len(labels))
    return ~np.isfinite(labels) if labels.dtype.kind in "fM" else np.zeros(len(labels), dtype=bool)


def _checked(labels: Array) -> Array:
    """Labels without gaps; strings as NumPy strings."""
    missing = _missing(labels)
    if missing.any():
        first = int(np.flatnonzero(missing)[0])
        raise DataError(
            f"{int(missing.sum())} of {len(labels)} labels are missing (NaN, None or infinite), the first at row "
            f"{first}. Drop those rows, or give them a label."
        )
    if labels.dtype.kind == "O" and all(isinstance(v, str) for v in labels):
        return labels.astype(str)  # strings sort and compare ten times faster than objects
    return labels


def _is_missing(value: object) -> bool:
    """None, NaN, NaT, or pandas' NA, which answers neither True nor False to ``value != value``."""
    return value is None or type(value).__name__ == "NAType" or bool(value != value)  # noqa: PLR0124


def _guess(labels: Array) -> tuple[Array, Codes | None]:
    """Classes seen in the first rows, and codes if those are all there are.

    A full sort of the labels costs as much as the rest of a fast fit; looking each label up among a
    few known classes does not.
    """
    classes = np.unique(labels[:HEAD])
    codes = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    return classes, codes if np.array_equal(classes[codes], labels) else None


def is_shares(y: Any) -> bool:
    """Whether y is a table with a column for each class, and not a list of labels."""
    shape: tuple[int, ...] = getattr(y, "shape", ())
    return len(shape) == 2 and shape[1] > 1


def encode_shares(y: Any) -> tuple[Array, Float]:
    """The classes and, for each row, the probability of each: soft targets, (N, K).

    The classes are the names of the columns of a data frame, and 0 .. K-1 of an array.

    Raises
    ------
    DataError
        Naming the first row whose shares are not probabilities.
    """
    names = getattr(y, "columns", None)
    T = np.asarray(to_host(y), dtype=np.float64)
    classes = np.arange(T.shape[1]) if names is None else np.asarray(names)
    wrong = np.flatnonzero(~((T >= 0) & (T <= 1)).all(axis=1))
    if len(wrong):
        raise DataError(
            f"Row {wrong[0]} of y is {_listed(T[wrong[0]])}: soft targets are probabilities and must lie in [0, 1] "
            f"({len(wrong)} of {len(T)} rows do not). Give one column for each class, or a list of labels."
        )
    total = T.sum(axis=1)
    wrong = np.flatnonzero(np.abs(total - 1) > 1e-6)
    if len(wrong):
        raise DataError(
            f"Row {wrong[0]} of y sums to {total[wrong[0]]:.6g}: the probabilities of a row must sum to 1 "
            f"({len(wrong)} of {len(T)} rows do not). Divide each row by its sum."
        )
    return classes, T / total[:, None]


def _listed(row: Float) -> str:
    return "(" + ", ".join(f"{value:.4g}" for value in row[:6]) + (", ..." if len(row) > 6 else "") + ")"
