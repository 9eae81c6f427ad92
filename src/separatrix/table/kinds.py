# SPDX-License-Identifier: BSD-3-Clause
"""The kind of a column, which is the same whether its cells are text, Python values or Arrow values.

    integer < long < number    whole numbers < those beyond 64 bits, read as text < numbers with a point or an exponent
    long < decimal comma       3,5, if the comma does not separate fields
    date < time                ISO 8601 without a UTC offset
    boolean                    true and false
    text                       everything else, and any mixture of the above

a < b means that a column with values of both kinds has kind b. The kinds of batches are joined by this rule, so the
kind of a column does not depend on how its rows are split into batches. Text is tested with Arrow casts, which take
about 20 ns per cell. Texts that no cast accepts (1.234,5 or 31.12.2024) stay text here; `statistics` tries the
spellings and date orders of `text`. Words for a missing value (NA, null, ?, ...) are missing values in every kind
except text. A number with a superfluous leading zero (07030) is text. Blank cells are always missing.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Sequence
from decimal import Decimal
from enum import Enum
from numbers import Real
from typing import Any

import numpy as np

from separatrix._lazy import pa, pc
from separatrix.table.text import MISSING_WORDS

FIRST_TEXTS = 64  # texts that are tested first, because Arrow casts all texts even if the first one fails
INT64_LIMIT = 2**63
SIGNS, PADDING = (np.frombuffer(codes, np.uint8) for codes in (b"+-", b"0123456789xX"))


class Kind(Enum):
    """Kind of the values in a column; the value is its description in messages."""

    NOTHING = "only missing values"
    BOOLEAN = "true and false"
    INTEGER = "whole numbers"
    LONG = "whole numbers beyond 64 bits"
    NUMBER = "numbers"
    COMMA = "numbers with a decimal comma"
    DATE = "dates"
    TIME = "dates with a time of day"
    DURATION = "durations"
    TEXT = "text"
    OTHER = "values that are neither numbers, text nor dates"

    @property
    def type(self) -> pa.DataType:
        """Arrow type of a column of this kind that was read from a file."""
        return pa.type_for_alias(ARROW_TYPES.get(self.name, "string"))


ARROW_TYPES = {
    "BOOLEAN": "bool",
    "INTEGER": "int64",
    "NUMBER": "float64",
    "COMMA": "float64",
    "DATE": "date32",
    "TIME": "timestamp[us]",
}
WIDER = {
    Kind.INTEGER: (Kind.LONG, Kind.NUMBER, Kind.COMMA),
    Kind.LONG: (Kind.NUMBER, Kind.COMMA),
    Kind.DATE: (Kind.TIME,),
}
TEXT_KINDS = (Kind.INTEGER, Kind.LONG, Kind.NUMBER, Kind.COMMA, Kind.BOOLEAN, Kind.DATE, Kind.TIME)


def join(a: Kind, b: Kind) -> Kind:
    """Kind of two batches together; text if no other kind fits both."""
    if a is b or b is Kind.NOTHING or a in WIDER.get(b, ()):
        return a
    return b if a is Kind.NOTHING or b in WIDER.get(a, ()) else Kind.TEXT


def kind_of_texts(texts: pa.Array, before: Kind, *, comma: bool = False) -> Kind:
    """Kind of a batch of texts (null if blank), joined with ``before``, the kind of the previous batches.

    ``before`` is `Kind.NOTHING` for the first batch. If ``comma``, a comma may be the decimal mark.
    """
    if before is Kind.TEXT or texts.null_count == len(texts):
        return before
    wider = TEXT_KINDS if before is Kind.NOTHING else (before, *WIDER.get(before, ()))
    options = [kind for kind in wider if comma or kind is not Kind.COMMA]
    for cells in (texts, tidy_texts(texts)):  # texts are tidied only if necessary
        if cells.null_count == len(cells):
            return before
        for kind in options:
            if is_castable(cells, kind):
                return kind
    return Kind.TEXT


def is_castable(texts: pa.Array, kind: Kind) -> bool:
    """Whether every text, except nulls, can be cast to this kind without tidying."""
    try:
        _cast(texts[:FIRST_TEXTS], kind)
        _cast(texts, kind)
    except pa.ArrowInvalid:
        return False
    _, ends, letters = texts.buffers()
    if kind not in (Kind.INTEGER, Kind.LONG, Kind.NUMBER, Kind.COMMA) or letters is None or not letters.size:
        return True
    # Numbers with a superfluous leading zero or with 0x are text; the first bytes show this.
    offsets = np.frombuffer(ends, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    codes = np.frombuffer(letters, np.uint8)
    start, stop = offsets[:-1], offsets[1:]
    start, stop = start[stop > start + 1], stop[stop > start + 1]
    start = start + np.isin(codes[start], SIGNS)
    start = start[stop > start + 1]
    return not np.isin(codes[start + 1], PADDING)[codes[start] == ord("0")].any()


def cast_texts(texts: pa.Array, kind: Kind, *, comma: bool = False) -> pa.Array:
    """Convert texts to values of a kind; raises `pyarrow.ArrowInvalid` if a text is not of this kind."""
    if kind in (Kind.TEXT, Kind.NOTHING):
        return texts
    try:
        return _cast(texts, kind)
    except pa.ArrowInvalid:
        tidied = tidy_texts(texts)
        try:
            return _cast(tidied, kind)
        except pa.ArrowInvalid:
            if kind is not Kind.NUMBER or not comma:
                raise
            return _cast(tidied, Kind.COMMA)


def tidy_texts(texts: pa.Array) -> pa.Array:
    """Strip white space, and replace words for a missing value by null."""
    trimmed = pc.utf8_trim_whitespace(texts)
    is_missing_word = pc.is_in(pc.utf8_lower(trimmed), pa.array(["", *sorted(MISSING_WORDS)]))
    return pc.if_else(is_missing_word, pa.scalar(None, pa.string()), trimmed)


def _cast(texts: pa.Array, kind: Kind) -> pa.Array:
    if kind is Kind.BOOLEAN:
        words = pc.utf8_lower(texts)
        is_true, is_false = pc.equal(words, "true"), pc.equal(words, "false")
        if not pc.all(pc.or_(is_true, is_false)).as_py():
            raise pa.ArrowInvalid("neither true nor false")
        return is_true
    if kind is Kind.LONG and not pc.all(pc.match_substring_regex(texts, r"^[+-]?\d+$")).as_py():
        raise pa.ArrowInvalid("not a whole number")
    if kind is Kind.COMMA:
        if pc.any(pc.match_substring(texts, ".")).as_py():
            raise pa.ArrowInvalid("a point next to a decimal comma")
        texts = pc.replace_substring(texts, ",", ".")
    values = texts.cast(kind.type)
    if kind in (Kind.NUMBER, Kind.COMMA) and not pc.all(pc.is_finite(values)).as_py():
        # The caller replaces nan by null, as a word for a missing value; infinity and overflow are text.
        raise pa.ArrowInvalid("not a finite number")
    return values


def kind_of_class(cls: type) -> Kind:
    """Kind of the values of a Python or NumPy class."""
    kinds: list[tuple[Any, Kind]] = [
        (str, Kind.TEXT),
        ((bool, np.bool_), Kind.BOOLEAN),
        ((int, np.integer), Kind.INTEGER),
        ((Real, Decimal), Kind.NUMBER),
        ((dt.datetime, np.datetime64), Kind.TIME),
        (dt.date, Kind.DATE),
        ((dt.timedelta, np.timedelta64), Kind.DURATION),
    ]
    return next((kind for types, kind in kinds if issubclass(cls, types)), Kind.OTHER)


def kind_of_values(values: Sequence[Any], before: Kind, *, iso: bool = False) -> Kind:
    """Kind of a batch of cells from a file (None if missing), joined with ``before``, the kind of previous batches.

    If ``iso``, text in ISO 8601 is a date and blank text is missing. Use it for formats without a type for dates.
    """
    kind = before
    classes = set(map(type, values)) - {type(None)}
    texts = [value for value in values if type(value) is str and (value or not iso)] if str in classes else []
    for found in map(kind_of_class, classes - {str}):
        kind = join(kind, Kind.TEXT if found in (Kind.OTHER, Kind.DURATION) else found)
    if int in classes and any(type(value) is int and not -INT64_LIMIT <= value < INT64_LIMIT for value in values):
        kind = join(kind, Kind.LONG)
    if texts and iso and kind in (Kind.NOTHING, Kind.DATE, Kind.TIME):
        dates = (found for found in (Kind.DATE, Kind.TIME) if is_castable(pa.array(texts, pa.string()), found))
        return join(kind, next(dates, Kind.TEXT))
    return Kind.TEXT if texts else kind


def kind_of_type(wanted: Any) -> Kind:
    """Kind that corresponds to an Arrow type; raises TypeError if text cannot be read as this type."""
    kinds = {
        Kind.INTEGER: [pa.types.is_integer],
        Kind.NUMBER: [pa.types.is_floating, pa.types.is_decimal],
        Kind.BOOLEAN: [pa.types.is_boolean],
        Kind.DATE: [pa.types.is_date],
        Kind.TIME: [pa.types.is_timestamp],
        Kind.TEXT: [pa.types.is_string, pa.types.is_large_string, pa.types.is_dictionary],
    }
    for kind, tests in kinds.items():
        if isinstance(wanted, pa.DataType) and any(is_type(wanted) for is_type in tests):
            return kind
    raise TypeError(f"no column of a text file can be read as {wanted!r}")


def values_to_arrow(values: Sequence[Any], kind: Kind) -> pa.Array:
    """Convert Python values to an Arrow array of the kind that `kind_of_values` found."""
    if kind is Kind.NUMBER:
        numbers = [None if value is None or value == "" else as_float(value) for value in values]
        return pa.array(numbers, pa.float64(), from_pandas=True)  # NaN is missing
    if kind in (Kind.INTEGER, Kind.BOOLEAN):
        return pa.array([None if value == "" else value for value in values], kind.type)
    return pa.array(map(_as_json_text, values), pa.string()).cast(kind.type)


def as_float(number: Any) -> float:
    """Convert a number to float; it is infinite if it overflows."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _as_json_text(value: Any) -> str | None:
    """Write a value as in JSON; None for blank text and NaN, which are missing values."""
    if value is None or isinstance(value, str) or (isinstance(value, float) and math.isnan(value)):
        return value if isinstance(value, str) and value else None
    if isinstance(value, dt.date | dt.time):
        return (value.replace(tzinfo=None) if isinstance(value, dt.datetime) else value).isoformat()
    if isinstance(value, bytes):
        return value.hex()
    return json.dumps(value, ensure_ascii=False, default=str)
