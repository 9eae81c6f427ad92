# SPDX-License-Identifier: BSD-3-Clause
"""How the rows of a text file or a sheet are laid out: delimiter and quotes, titles, and the names of the columns.

The first line has the names. The delimiter is the one by which most of the following lines have as many fields as the
first line. A comma inside numbers, as in ``a;b`` over ``3,5;4,5``, is not a delimiter.

A title above the names is skipped: up to five lines with a single field, above a line with several fields that are not
numbers, over lines that have as many fields and numbers or dates in some column.

A sheet may also have an empty margin on the left, and names in two rows, the upper ones merged over several columns.
Merged cells are read as one filled cell followed by empty ones, so that an upper name holds until the next one. In any
other case, the first row that is not empty has the names.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple

from separatrix.files.location import FileReadError
from separatrix.table import MISSING_WORDS

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
SAMPLE_ROWS = 200
NUMBER = re.compile(r"\s*[+-]?\d+([.,]\d+)?\s*")
AMOUNT = re.compile(r"\s*[^\w\s]?\s*[+-]?\d[\d.,:/ '-]*\s*\S{0,3}\s*")  # numbers and dates of any country
MAX_TITLE_CHARACTERS = 60  # shown in a note
MAX_TITLE_ROWS = 5
MIN_AGREEMENT = 0.5  # fraction of rows below the names that have as many fields

Row = Sequence[Any]


class Dialect(NamedTuple):
    """``spaced``: a space follows each delimiter and is not part of the text. ``skipped``: number of lines before the
    names; ``title``: their text, "" if they are blank.
    """

    delimiter: str
    quoted: bool
    spaced: bool
    skipped: int
    header: tuple[str, ...]
    title: str = ""

    @property
    def decimal_comma(self) -> bool:
        """Whether a number may be written 3,5."""
        return self.delimiter != ","


def sniff(sample: str, where: object, *, prefer: str = ",") -> Dialect:
    """Determine the dialect from the beginning of a text.

    Raises
    ------
    FileReadError
        If the text is empty.
    """
    body = sample.lstrip("\r\n")
    if not body.strip():
        raise FileReadError(f"{where} is empty: it has no line with column names. Is it the correct file?")
    options = [prefer, *(mark for mark in DELIMITERS if mark != prefer)]
    tried = [(mark, quoted) for mark in options for quoted in (True, False)]
    delimiter, quoted = max(tried, key=lambda option: _agreement(body, *option))  # the first of the best
    title = ""
    if n_filled(_rows(body, delimiter, quoted)[0]) < 2:
        below = {option: text for option in tried if (text := _below_title(body, *option))}
        if below:
            delimiter, quoted = max(below, key=lambda option: _agreement(below[option], *option))
            title = " ".join(body.removesuffix(below[delimiter, quoted]).replace(delimiter, " ").split())
            body = below[delimiter, quoted]
    rows = _rows(body, delimiter, quoted)
    fields = [field for row in rows for field in row[1:] if field]
    spaced = bool(fields) and all(field[0] == " " for field in fields)
    skipped = len(_lines(sample.removesuffix(body)))
    return Dialect(delimiter, quoted, spaced, skipped, tuple(rows[0]), title)


def _below_title(text: str, delimiter: str, quoted: bool) -> str:
    """Text from the column names on, if lines with one field are above it; "" otherwise."""
    lines = _lines(text)
    for n in range(1, min(MAX_TITLE_ROWS, len(lines) - 2) + 1):
        if n_filled(next(csv.reader([lines[n - 1]], delimiter=delimiter), [])) > 1:
            return ""
        below = "".join(lines[n:])
        rows = _rows(below, delimiter, quoted)
        if len(rows) > 1 and len(rows[0]) > 1 and lines[n].strip():
            width = len(rows[0])
            if _are_names(rows[0], [row for row in rows[1:] if len(row) == width]):
                return below if _agreement(below, delimiter, quoted)[0] >= MIN_AGREEMENT else ""
    return ""


def _lines(text: str) -> list[str]:
    return list(io.StringIO(text, newline=""))


def _agreement(text: str, delimiter: str, quoted: bool) -> tuple[float, bool, bool, int]:
    """Fraction of lines with as many fields as the first; whether quotes are balanced; ``quoted``; number of fields."""
    rows = _rows(text, delimiter, quoted)
    if not rows or len(rows[0]) == 1:
        return 0.0, False, quoted, 0
    fraction = sum(len(row) == len(rows[0]) for row in rows) / len(rows)
    return fraction, len(_rows(text, delimiter, quoted, strict=True)) == len(rows), quoted, len(rows[0])


def _rows(text: str, delimiter: str, quoted: bool, strict: bool = False) -> list[list[str]]:
    """The first rows that are not blank, without the last row of a sample, which may be cut."""
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        strict=strict,
    )
    rows: list[list[str]] = []
    with suppress(csv.Error):  # a field of more than 128 KB: most likely a quote that is not a quote
        rows.extend(row for row in islice(reader, SAMPLE_ROWS) if row)
    return rows[:-1] if 1 < len(rows) < SAMPLE_ROWS and not text.endswith(("\n", "\r")) else rows


def name_columns(header: Iterable[object], where: object) -> tuple[tuple[str, ...], list[str]]:
    """Column names from the cells of the header, and notes about missing names.

    Raises
    ------
    FileReadError
        If two names are equal, with their positions.
    """
    given = ["" if cell is None else str(cell).strip() for cell in header]
    names = tuple(name or f"column {place}" for place, name in enumerate(given, 1))
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        places = " and ".join(str(i) for i, name in enumerate(names, 1) if name == twice[0])
        more = f" (also duplicated: {', '.join(map(repr, twice[1:6]))})" if len(twice) > 1 else ""
        raise FileReadError(
            f"{where}: columns {places} are both called {twice[0]!r}{more}. Rename one of them in the first line."
        )
    notes = []
    nameless = [name for name, cell in zip(names, given, strict=True) if not cell]
    if nameless:
        notes.append(f"The first line has no name for {', '.join(map(repr, nameless[:5]))}; the position is the name.")
    if all(NUMBER.fullmatch(cell) for cell in given):
        notes.append(
            f"Every name in the first line is a number ({', '.join(given[:3])}). If this is the first row of data, "
            "insert a line with names before it."
        )
    return names, notes


def title_note(title: str) -> str:
    """Note about a skipped title."""
    shown = title if len(title) <= MAX_TITLE_CHARACTERS else f"{title[:MAX_TITLE_CHARACTERS]}..."
    return f"The text above the column names was skipped as a title: {shown!r}."


class Head(NamedTuple):
    """Column ``names`` of a sheet, right of an empty ``margin``; ``rows`` is the number of rows above the data."""

    names: tuple[Any, ...]
    margin: int
    rows: int
    title: str
    is_double: bool


def find_head(rows: Sequence[Row]) -> Head:
    """Find the column names of a sheet in its first rows, of which the first is not empty."""
    n = _n_title_rows(rows)
    margin = min((_first_filled(row) for row in rows[n:] if n_filled(row)), default=0)
    names = _trimmed(rows[n][margin:])
    double = _double_names(names, [row[margin:] for row in rows[n + 1 :]])
    title = " ".join(str(cell).strip() for row in rows[:n] for cell in row if _is_filled(cell))
    return Head(double or names, margin, n + (2 if double else 1), title, bool(double))


def _n_title_rows(rows: Sequence[Row]) -> int:
    for n in range(1, min(MAX_TITLE_ROWS, len(rows) - 2) + 1):
        if n_filled(rows[n - 1]) > 1:
            return 0
        if n_filled(rows[n]) > 1:
            margin = _first_filled(rows[n])
            names, below = _trimmed(rows[n][margin:]), [row[margin:] for row in rows[n + 1 :]]
            n_wide = sum(n_filled(row) > 1 for row in below)
            is_head = _are_names(names, below) or _double_names(names, below)
            return n if is_head and n_wide >= MIN_AGREEMENT * len(below) else 0
    return 0


def _are_names(names: Row, below: Sequence[Row]) -> bool:
    """Whether these are distinct words above at least one column of numbers or dates."""
    is_distinct = len(set(map(str, names))) == len(names)
    return is_distinct and all(map(_is_word, names)) and _has_amounts(below, range(len(names)))


def _double_names(upper: Row, below: Sequence[Row]) -> tuple[str, ...]:
    """Names joined from two rows; empty if the second row does not contain names.

    The second row contains names if it fills every gap of the first and has words above columns of numbers or dates. A
    word for a missing value is a value.
    """
    if len(below) < 2 or not below[0] or (all(map(_is_filled, upper)) and len(_trimmed(below[0])) <= len(upper)):
        return ()
    lower = _trimmed(below[0])
    if any(isinstance(cell, str) and cell.strip().casefold() in MISSING_WORDS for cell in lower):
        return ()
    width = max(len(upper), len(lower))
    pairs = [(_cell(upper, d), _cell(lower, d)) for d in range(width)]
    filled = [cell for pair in pairs for cell in pair if _is_filled(cell)]
    under = [d for d, (_, name) in enumerate(pairs) if _is_filled(name)]
    if not all(map(_is_word, filled)) or not all(_is_filled(a) or _is_filled(b) for a, b in pairs) or len(under) < 2:
        return ()
    if not _has_amounts(below[1:], under):
        return ()
    names, over = [], ""
    for top, bottom in pairs:
        over = str(top).strip() if _is_filled(top) else over
        names.append(f"{over} {str(bottom).strip()}".strip() if _is_filled(bottom) else over)
    return tuple(names)


def _has_amounts(rows: Sequence[Row], places: Sequence[int]) -> bool:
    """Whether some column has only numbers or dates."""
    columns = ([cell for row in rows if _is_filled(cell := _cell(row, d))] for d in places)
    return any(cells and all(map(_is_amount, cells)) for cells in columns)


def _is_amount(cell: Any) -> bool:
    if isinstance(cell, str):
        return AMOUNT.fullmatch(cell) is not None
    return isinstance(cell, int | float | dt.date | dt.time)


def _is_word(cell: Any) -> bool:
    return isinstance(cell, str) and bool(cell.strip()) and not _is_amount(cell)


def _is_filled(cell: Any) -> bool:
    return bool(cell.strip()) if isinstance(cell, str) else cell is not None


def n_filled(row: Row) -> int:
    """Number of cells that are not blank."""
    return sum(map(_is_filled, row))


def _first_filled(row: Row) -> int:
    return next((place for place, cell in enumerate(row) if _is_filled(cell)), 0)


def _trimmed(row: Row) -> tuple[Any, ...]:
    """Row without the empty cells at its end."""
    return tuple(row[: max((place for place, cell in enumerate(row, 1) if _is_filled(cell)), default=0)])


def _cell(row: Row, place: int) -> Any:
    return row[place] if place < len(row) else None
