# SPDX-License-Identifier: BSD-3-Clause
"""Columns of text -> codes, before a table is opened: everything behind a source is a number.

Strings, categoricals and enums of any data frame, and strings in arrays of Python objects, become positions in a
sorted list of categories, one float64 column each; the other columns of a frame are not copied. A missing text is NaN,
a text that is not on the list has the position after the last.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from separatrix._array import Array
from separatrix.exceptions import DataError

__all__ = ["Encoded", "encode_text"]

TEXT = (nw.String, nw.Categorical, nw.Enum)


class Encoded(NamedTuple):
    """A table of numbers, and for each column that was text, by position, what its codes stand for."""

    table: Any
    categories: dict[int, Array]


def encode_text(X: Any, known: Mapping[int, Array] | None = None) -> Encoded:
    """The table with text as codes: those of ``known``, or of the texts found here where None.

    A table without text comes back as it is.

    Raises
    ------
    DataError
        Where a column of ``known`` is not text.
    """
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 2:
        return _encode_objects(X, known)
    if nw.dependencies.is_into_dataframe(X):
        return _encode_frame(X, nw.from_native(X, eager_only=True), known)
    if "__arrow_c_stream__" in dir(X):
        return _encode_frame(X, nw.from_arrow(X, backend="pyarrow"), known)
    for d in known or ():
        raise _not_text(f"x{d}")
    return Encoded(X, {})


def _encode_frame(X: Any, frame: Any, known: Mapping[int, Array] | None) -> Encoded:
    names = frame.columns
    text = [d for d, kind in enumerate(frame.schema.dtypes()) if kind in TEXT]
    for d in known or ():
        if d < len(names) and d not in text:
            raise _not_text(names[d])
    if known is not None:
        text = [d for d in text if d in known]  # any other is refused, by name, when the table is opened
    if not text:
        return Encoded(X, {})
    found = {d: _categories(frame[names[d]]) if known is None else known[d] for d in text}
    coded = [_codes(names[d], found[d]) for d in text]
    return Encoded(frame.with_columns(*coded).to_native(), found)


def _categories(column: Any) -> Array:
    return np.array(sorted(column.cast(nw.String).drop_nulls().unique().to_list()), dtype=str)


def _codes(name: str, categories: Array) -> Any:
    """An expression, so that each library replaces texts in its own fastest way."""
    old = categories.tolist() or [""]  # a column of nothing but gaps
    new = [float(code) for code in range(len(old))]
    code = nw.col(name).cast(nw.String).replace_strict(old, new, default=float(len(old)), return_dtype=nw.Float64)
    return nw.when(~nw.col(name).is_null()).then(code).alias(name)


def _encode_objects(X: Array, known: Mapping[int, Array] | None) -> Encoded:
    """An array of Python objects: a column is text if it holds strings and gaps alone."""
    numbers, found = X, {}
    for d, column in enumerate(X.T):
        is_text = np.fromiter((isinstance(value, str) for value in column), bool, len(column))
        others = sum(not _is_gap(value) for value in column[~is_text])
        if others and known is not None and d in known:
            raise _not_text(f"x{d}")
        if others or not is_text.any() or (known is not None and d not in known):
            continue
        texts = column[is_text].astype(str)
        found[d] = np.unique(texts) if known is None else known[d]
        numbers = X.copy() if numbers is X else numbers
        numbers[is_text, d] = _positions(texts, found[d])
    return Encoded(numbers, found)


def _is_gap(value: object) -> bool:
    return value is None or (isinstance(value, float) and np.isnan(value))


def _positions(texts: Array, categories: Array) -> Array:
    at = np.minimum(np.searchsorted(categories, texts), len(categories) - 1)
    return np.where(categories[at] == texts, at, len(categories)).astype(np.float64)


def _not_text(name: str) -> DataError:
    return DataError(
        f"Column {name!r} held text when the model was fitted, and now it does not. Give it as text (strings or "
        "categoricals), in a data frame or an array of objects."
    )
