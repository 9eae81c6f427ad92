# SPDX-License-Identifier: BSD-3-Clause
"""Class labels of any kind -> codes 0 .. K-1."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from separatrix._array import Array, Codes
from separatrix.exceptions import DataError

__all__ = ["encode_labels"]

HEAD = 2_000  # rows from which the set of classes is guessed before the rest is checked


def encode_labels(y: Any) -> tuple[Array, Codes]:
    """The sorted classes and, for each row, the position of its label among them.

    Raises
    ------
    DataError
        Where a label is missing.
    ValueError
        Where ``y`` is real-valued (scikit-learn's own message).
    """
    labels = _as_labels(y)
    classes, codes = _guess(labels)
    if codes is None:
        classes, codes = np.unique(labels, return_inverse=True)
    check_classification_targets(classes)
    return classes, codes


def _as_labels(y: Any) -> Array:
    if y is None:
        raise ValueError("This classifier requires y to be passed, but the target y is None.")
    labels = np.asarray(column_or_1d(np.asarray(y), warn=True))
    if labels.dtype.kind == "O":
        missing = np.fromiter(map(_is_missing, labels), bool, len(labels))
    elif labels.dtype.kind in "fM":
        missing = ~np.isfinite(labels)
    else:
        return labels
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
