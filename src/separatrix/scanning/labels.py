# SPDX-License-Identifier: BSD-3-Clause
"""Labels in a column that is never whole in memory: one cheap pass finds the classes, each block looks up its codes.

What that pass returns adds, as everything does: how often each label was seen, and with what weight.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix._array import Array, Codes, Float
from separatrix.exceptions import DataError
from separatrix.files import quoted
from separatrix.rows import UNLABELLED, encode_labels
from separatrix.scanning.checksum import label_sum

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["LabelTally", "codes_of", "plain", "tally_labels"]

MOST = 2**16  # different labels, before the column is said to hold something else than classes


@dataclass(frozen=True)
class LabelTally:
    """Labels seen, each with its rows and their weight; rows without one, and the number of the first of those.

    ``name`` is the column's, and ``dtype`` that of the classes, where the type of the column is one that NumPy has.
    """

    seen: Mapping[Any, tuple[int, float]] = field(default_factory=dict)
    n_rows: int = 0
    n_missing: int = 0
    first_missing: int | None = None
    name: str = ""
    dtype: np.dtype[Any] | None = None

    def __add__(self, other: LabelTally) -> LabelTally:
        both = dict(self.seen)
        for label, (count, weight) in other.seen.items():
            before = both.get(label, (0, 0.0))
            both[label] = (before[0] + count, before[1] + weight)
        _require_few(len(both), self.name or other.name)
        firsts = [first for first in (self.first_missing, other.first_missing) if first is not None]
        return LabelTally(
            both,
            self.n_rows + other.n_rows,
            self.n_missing + other.n_missing,
            min(firsts, default=None),
            self.name or other.name,
            self.dtype if self.dtype is not None else other.dtype,
        )

    def classes(self, unlabelled: Any) -> Array:
        """The sorted classes, without the label that marks rows which have none.

        Raises
        ------
        DataError
            Where labels are missing and no rule allows that, or they are no classes.
        """
        if self.n_missing and unlabelled != "missing":
            raise DataError(
                f"{self.n_missing} of {self.n_rows} labels in column {self.name!r} are missing, the first in row "
                f"{self.first_missing}. Give them a label, or leave those rows out: where='{self._presence()}'."
            )
        labels = [label for label in self.seen if not self._marks(label, unlabelled)]
        if not labels:
            raise DataError(f"Not one of {self.n_rows} rows has a label in column {self.name!r}.")
        return encode_labels(labels if self.dtype is None else np.array(labels, self.dtype))[0]

    def _presence(self) -> str:
        """In the SQL of any database. NaN and infinity are not NULL, and no labels either: x - x is not 0 for them."""
        column, is_real = quoted(self.name), self.dtype is not None and self.dtype.kind == "f"
        return f"{column} - {column} = 0" if is_real else f"{column} IS NOT NULL"

    def n_unlabelled(self, unlabelled: Any) -> int:
        """Rows without a label."""
        marked = [count for label, (count, _) in self.seen.items() if self._marks(label, unlabelled)]
        return self.n_missing + sum(marked)

    def checksum(self, classes: Array) -> int:
        """Of the codes of all rows, as blocks will have them."""
        counts = [(code, self.seen.get(label, (0, 0.0))[0]) for code, label in enumerate(classes.tolist())]
        return label_sum([*counts, (UNLABELLED, self.n_rows - sum(count for _, count in counts))])

    def weights(self, classes: Array) -> Float:
        """The weight of the rows of each class."""
        return np.array([self.seen.get(label, (0, 0.0))[1] for label in classes.tolist()])

    @staticmethod
    def _marks(label: Any, unlabelled: Any) -> bool:
        return bool(not isinstance(unlabelled, str) or unlabelled not in ("error", "missing")) and label == unlabelled


def tally_labels(column: pa.Array, weight: Float | None, row: int, name: str) -> LabelTally:
    """The labels of some rows, the first of which has number ``row``."""
    import pyarrow as pa

    labels = plain(column)
    if pa.types.is_temporal(labels.type) or pa.types.is_nested(labels.type):
        raise DataError(f"The target {name!r} holds values of type {column.type}, which are no classes.")
    coded = _without_nan(labels).dictionary_encode()
    _require_few(len(coded.dictionary), name)
    codes = np.asarray(coded.indices.fill_null(-1).to_numpy(zero_copy_only=False))
    has = codes >= 0
    n = len(coded.dictionary)
    counts = np.bincount(codes[has], minlength=n)
    weights = counts if weight is None else np.bincount(codes[has], weight[has], minlength=n)
    facts = zip(coded.dictionary.to_pylist(), counts.tolist(), weights.tolist(), strict=True)
    gaps = np.flatnonzero(~has)
    return LabelTally(
        {label: (count, float(total)) for label, count, total in facts},
        len(codes),
        len(gaps),
        row + int(gaps[0]) if len(gaps) else None,
        name,
        _numpy_type(column.type),
    )


def _require_few(n_labels: int, name: str) -> None:
    if n_labels > MOST:
        raise DataError(
            f"The target {name!r} has more than {MOST} different values: a measurement, an id or free text, but no "
            "classes. Choose another column, or cut it into classes."
        )


def _numpy_type(kind: pa.DataType) -> np.dtype[Any] | None:
    """Of classes: that which the column would have in memory; words and others as `encode_labels` finds them."""
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind):
        return _numpy_type(kind.value_type)
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        found: np.dtype[Any] = np.dtype(kind.to_pandas_dtype())
        return found
    return np.dtype(np.bytes_) if types.is_binary(kind) or types.is_large_binary(kind) else None


def codes_of(column: pa.Array, classes: Array, unlabelled: Any = "error") -> Codes:
    """The place of each label among the classes, -1 where it has none and may have none.

    Raises
    ------
    DataError
        Naming a label that is not among the classes.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    labels = plain(column)
    codes = _indexed(labels, classes)
    if codes is not None:
        return codes
    known = pa.array(classes.tolist(), labels.type)
    codes = pc.index_in(labels, value_set=known).fill_null(UNLABELLED).to_numpy(zero_copy_only=False)
    lost = np.flatnonzero(codes < 0)
    allowed = isinstance(unlabelled, str) and unlabelled == "missing"
    for label in set(_without_nan(labels).take(pa.array(lost)).to_pylist()) if len(lost) else ():
        if label != unlabelled and not (label is None and allowed):
            raise DataError(
                f"Label {label!r} is not one of the classes: {', '.join(map(repr, classes[:8].tolist()))}. "
                "Were rows changed since the classes were counted?"
            )
    return np.asarray(codes, dtype=np.intp)


def _indexed(labels: pa.Array, classes: Array) -> Codes | None:
    """Codes of small whole numbers by a table, ten times as fast as a search; None where they are something else."""
    import pyarrow as pa

    is_whole = pa.types.is_integer(labels.type) or pa.types.is_boolean(labels.type)
    if not is_whole or labels.null_count or classes.dtype.kind not in "bui":
        return None
    low, high = int(classes.min()), int(classes.max())
    if high - low > MOST or high > np.iinfo(np.intp).max:
        return None
    values = labels.to_numpy(zero_copy_only=False)
    if not (values >= low).all() or not (values <= high).all():
        return None
    table = np.full(high - low + 1, UNLABELLED, np.intp)
    table[classes.astype(np.intp) - low] = np.arange(len(classes))
    codes: Codes = table[values.astype(np.intp, copy=False) - low]
    return codes if (codes >= 0).all() else None


def plain(column: pa.Array) -> pa.Array:
    """The values of a dictionary column themselves; text of one type; decimals as numbers, and -0 as 0.

    Arrow tells -0.0 from 0.0, and NumPy, as everyone else, does not.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    if pa.types.is_float16(column.type):  # for which Arrow has no arithmetic
        column = column.cast(pa.float32())
    if pa.types.is_floating(column.type):
        return pc.add(column, pa.scalar(0, column.type))
    return column.cast(pa.large_string()) if pa.types.is_string_view(column.type) else column


def _without_nan(labels: pa.Array) -> pa.Array:
    """NaN and infinity as gaps, which they are for labels in memory too."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_floating(labels.type):
        return labels
    return pc.if_else(pc.is_finite(labels), labels, None)
