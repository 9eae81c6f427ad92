# SPDX-License-Identifier: BSD-3-Clause
"""Columns of Python values, as JSON, workbooks and SQLite bring them: what kind they are, and their Arrow.

Whole and other numbers are numbers. A column that mixes anything else is text, in which a value is as JSON writes it.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from separatrix.files.kinds import Kind, fits, join

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["kind_of_values", "values_to_arrow"]

KINDS: dict[type, Kind] = {
    type(None): Kind.NOTHING,
    bool: Kind.BOOLEAN,
    int: Kind.INTEGER,
    float: Kind.NUMBER,
    dt.date: Kind.DATE,
    dt.datetime: Kind.TIME,
}
DATES = (Kind.DATE, Kind.TIME)
MOST = 2**63


def kind_of_values(values: Sequence[Any], before: Kind, *, iso: bool = False) -> Kind:
    """The kind of a batch of values joined to that of the batches before.

    Parameters
    ----------
    values : sequence
        None where there is no value.
    before : Kind
        Of the batches before.
    iso : bool
        Whether text that is a date in ISO 8601 is a date, as in formats that have none of their own.
    """
    kind = before
    types = set(map(type, values))
    for found in types - {str}:
        kind = join(kind, KINDS.get(found, Kind.TEXT))
    if int in types and any(type(value) is int and not -MOST <= value < MOST for value in values):
        kind = join(kind, Kind.NUMBER)
    if str in types:
        kind = join(kind, _kind_of_texts(values, kind) if iso else Kind.TEXT)
    return kind


def _kind_of_texts(values: Sequence[Any], before: Kind) -> Kind:
    import pyarrow as pa

    if before not in (Kind.NOTHING, *DATES):
        return Kind.TEXT
    texts = pa.array([value for value in values if type(value) is str and value], pa.string())
    if not len(texts):
        return Kind.NOTHING
    return next((kind for kind in DATES if fits(texts, kind)), Kind.TEXT)


def values_to_arrow(values: Sequence[Any], kind: Kind) -> pa.Array:
    """The values as an array of a kind that `kind_of_values` found."""
    import pyarrow as pa

    match kind:
        case Kind.TEXT | Kind.NOTHING:
            return pa.array([written(value) for value in values], pa.string())
        case Kind.NUMBER:
            return pa.array([None if value is None else _finite(value) for value in values], pa.float64())
        case Kind.DATE | Kind.TIME:
            return pa.array([written(value) for value in values], pa.string()).cast(kind.type)
        case _:
            return pa.array(values, kind.type)


def _finite(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def written(value: Any) -> str | None:
    """A value as text; blank text is no value."""
    if value is None or isinstance(value, str):
        return value or None
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None).isoformat()
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, bytes):
        return value.hex()
    return json.dumps(value, ensure_ascii=False, default=str)
