# SPDX-License-Identifier: BSD-3-Clause
"""What the texts of a column can be read as: a statistic, which adds over batches, so that no batch decides alone.

    integer < number           whole numbers, with a point or an exponent
    integer < number, comma    3,5: where the comma is not what stands between fields
    date < time                ISO 8601, without an offset
    boolean                    true and false
    text                       everything else, and whatever mixes the above

Words for a gap (NA, null, ?, ...) are gaps in every kind but text, where they are words; a number with a zero that no
number needs (07030) is text: both as `data.table` has it. Blank cells are gaps everywhere.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.table import GAP_WORDS

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Kind", "convert", "fits", "fitting", "join", "kind_of_type"]

FEW = 64
SIGNS, PADDING = (np.frombuffer(codes, np.uint8) for codes in (b"+-", b"0123456789xX"))


class Kind(Enum):
    """What a column holds, in words for messages."""

    NOTHING = "nothing"
    INTEGER = "a whole number"
    NUMBER = "a number"
    COMMA = "a number with a decimal comma"
    BOOLEAN = "true or false"
    DATE = "a date like 2024-12-31"
    TIME = "a time like 2024-12-31 23:59"
    TEXT = "text"

    @property
    def type(self) -> pa.DataType:
        """The type of Arrow."""
        import pyarrow as pa

        match self:
            case Kind.INTEGER:
                return pa.int64()
            case Kind.NUMBER | Kind.COMMA:
                return pa.float64()
            case Kind.BOOLEAN:
                return pa.bool_()
            case Kind.DATE:
                return pa.date32()
            case Kind.TIME:
                return pa.timestamp("us")
            case _:
                return pa.string()


ABOVE = {
    Kind.NOTHING: (Kind.INTEGER, Kind.NUMBER, Kind.COMMA, Kind.BOOLEAN, Kind.DATE, Kind.TIME),
    Kind.INTEGER: (Kind.INTEGER, Kind.NUMBER, Kind.COMMA),
    Kind.NUMBER: (Kind.NUMBER,),
    Kind.COMMA: (Kind.COMMA,),
    Kind.BOOLEAN: (Kind.BOOLEAN,),
    Kind.DATE: (Kind.DATE, Kind.TIME),
    Kind.TIME: (Kind.TIME,),
    Kind.TEXT: (),
}


def join(a: Kind, b: Kind) -> Kind:
    """The kind of two batches put together."""
    if a is b or b is Kind.NOTHING or b in ABOVE[a]:
        return a if b is Kind.NOTHING else b
    return a if a in ABOVE[b] else Kind.TEXT


def fitting(texts: pa.Array, before: Kind, *, comma: bool = False) -> Kind:
    """The kind of a batch of texts joined to that of the batches before.

    Parameters
    ----------
    texts : Arrow array of strings
        Blank ones are null.
    before : Kind
        Of the batches before; `Kind.NOTHING` for the first.
    comma : bool
        Whether a comma may stand for the decimal point.
    """
    if before is Kind.TEXT or texts.null_count == len(texts):
        return before
    options = [kind for kind in ABOVE[before] if comma or kind is not Kind.COMMA]
    for kind in options:
        if fits(texts, kind):
            return kind
    tidied = tidy(texts)
    if tidied.null_count == len(tidied):
        return before
    return next((kind for kind in options if fits(tidied, kind)), Kind.TEXT)


def convert(texts: pa.Array, kind: Kind, *, comma: bool = False) -> pa.Array:
    """The values that texts stand for.

    Raises
    ------
    pyarrow.ArrowInvalid
        Where one of them is none of this kind.
    """
    import pyarrow as pa

    if kind in (Kind.TEXT, Kind.NOTHING):
        return texts
    try:
        return _cast(texts, kind)
    except pa.ArrowInvalid:
        tidied = tidy(texts)
        try:
            return _cast(tidied, kind)
        except pa.ArrowInvalid:
            if kind is not Kind.NUMBER or not comma:
                raise
            return _cast(tidied, Kind.COMMA)


def tidy(texts: pa.Array) -> pa.Array:
    """Without space around, and null where the text is a word for a gap."""
    import pyarrow as pa
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim_whitespace(texts)
    gap = pc.is_in(pc.utf8_lower(trimmed), pa.array(["", *sorted(GAP_WORDS)]))
    return pc.if_else(gap, pa.scalar(None, pa.string()), trimmed)


def kind_of_type(wanted: Any) -> Kind:
    """The kind that is read where a caller asks for a type of Arrow.

    Raises
    ------
    TypeError
        Where no text is read as such a type.
    """
    import pyarrow as pa

    tests = [
        (pa.types.is_integer, Kind.INTEGER),
        (pa.types.is_floating, Kind.NUMBER),
        (pa.types.is_decimal, Kind.NUMBER),
        (pa.types.is_boolean, Kind.BOOLEAN),
        (pa.types.is_date, Kind.DATE),
        (pa.types.is_timestamp, Kind.TIME),
        (pa.types.is_string, Kind.TEXT),
        (pa.types.is_large_string, Kind.TEXT),
        (pa.types.is_dictionary, Kind.TEXT),
    ]
    if isinstance(wanted, pa.DataType):
        for is_so, kind in tests:
            if is_so(wanted):
                return kind
    raise TypeError(f"no column of a text file can be read as {wanted!r}")


def fits(texts: pa.Array, kind: Kind) -> bool:
    """Whether every text that is not null can be read as this kind, as it stands."""
    import pyarrow as pa

    try:
        _cast(texts[:FEW], kind)  # Arrow looks at all of them even where the first is wrong, which takes long
        _cast(texts, kind)
    except pa.ArrowInvalid:
        return False
    return kind not in (Kind.INTEGER, Kind.NUMBER, Kind.COMMA) or not _has_padding(texts)


def _has_padding(texts: pa.Array) -> bool:
    """Whether any number starts with a zero that it does not need, or with 0x, by its first bytes."""
    _, ends, letters = texts.buffers()
    if letters is None or not letters.size:
        return False
    offsets = np.frombuffer(ends, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    codes = np.frombuffer(letters, np.uint8)
    start, stop = offsets[:-1], offsets[1:]
    start, stop = start[stop > start + 1], stop[stop > start + 1]
    start = start + np.isin(codes[start], SIGNS)
    start = start[stop > start + 1]
    return bool(np.isin(codes[start + 1], PADDING)[codes[start] == ord("0")].any())


def _cast(texts: pa.Array, kind: Kind) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    if kind is Kind.BOOLEAN:
        words = pc.utf8_lower(texts)
        is_true, is_false = pc.equal(words, "true"), pc.equal(words, "false")
        if not pc.all(pc.or_(is_true, is_false)).as_py():
            raise pa.ArrowInvalid("neither true nor false")
        return is_true
    if kind is Kind.COMMA:
        if pc.any(pc.match_substring(texts, ".")).as_py():
            raise pa.ArrowInvalid("a point beside a decimal comma")
        texts = pc.replace_substring(texts, ",", ".")
    values = texts.cast(kind.type)
    if kind in (Kind.NUMBER, Kind.COMMA) and pc.any(pc.is_nan(values)).as_py():
        raise pa.ArrowInvalid("nan is a word for a gap")  # as which it agrees with any kind
    return values
