# SPDX-License-Identifier: BSD-3-Clause
"""Layout of a text file or a sheet: delimiter and quotes, title rows, and column names.

The first line contains the names. The chosen delimiter is the one that gives most of the following lines as many fields
as the first line, so the decimal comma in ``a;b`` over ``3,5;4,5`` is not taken as a delimiter.

A title above the names is skipped. It has up to five rows with a single filled cell. The names below it are distinct
words; below them, most rows have several cells, and some column has only numbers or dates. A sheet may also have an
empty margin on the left.
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

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
SAMPLE_ROWS = 200
NUMBER = re.compile(r"\s*[+-]?\d+([.,]\d+)?\s*")
AMOUNT = re.compile(r"\s*[^\w\s]?\s*[+-]?\d[\d.,:/ '-]*\s*\S{0,3}\s*")  # numbers and dates in any notation
MAX_TITLE_CHARACTERS = 60  # characters of a title that a note shows
MAX_TITLE_ROWS = 5
MIN_AGREEMENT = 0.5  # required fraction of rows below the names that have several filled cells

Row = Sequence[Any]


class Dialect(NamedTuple):
    """Format of a text file. If ``spaced``, a space that is not part of the text follows each delimiter. ``skipped``
    is the number of lines before the names, and ``title`` is the text of these lines, "" if they are blank.
    """

    delimiter: str
    quoted: bool
    spaced: bool
    skipped: int
    header: tuple[str, ...]
    title: str = ""


def sniff(sample: str, where: object, *, prefer: str = ",") -> Dialect:
    """Determine the dialect from the beginning of a text; raises FileReadError if the text is empty."""
    if not sample.strip():
        raise FileReadError(f"{where} is empty: it has no line with column names. Is it the correct file?")
    marks = [prefer, *(mark for mark in DELIMITERS if mark != prefer)]
    tables = {(mark, quoted): _rows(sample, mark, quoted) for mark in marks for quoted in (True, False)}

    def agreement(option: tuple[str, bool]) -> tuple[float, bool, bool, int]:
        """Fraction of rows with as many fields as the names, balanced quotes, ``quoted``, number of fields."""
        rows = [row for row in tables[option][n_above[option] :] if row]
        if not rows or len(rows[0]) == 1:
            return 0.0, False, option[1], 0
        fraction = sum(len(row) == len(rows[0]) for row in rows) / len(rows)
        is_balanced = len(_rows(sample, *option, strict=True)) >= len(tables[option])
        return fraction, is_balanced, option[1], len(rows[0])

    n_blank = next((n for n, row in enumerate(tables[prefer, False]) if row), 0)
    n_above = dict.fromkeys(tables, n_blank)
    best = max(tables, key=agreement)  # among equals, the first option
    title = ""
    if n_filled(tables[best][n_blank]) < 2:
        n_title = {option: n_title_rows(rows[n_blank:]) for option, rows in tables.items()}
        n_above = {option: n_blank + n for option, n in n_title.items() if n}
        if n_above:
            best = max(n_above, key=agreement)
            title = join_title(tables[best][: n_above[best]])
    n = n_above.get(best, n_blank)
    rows = tables[best][n:]
    fields = [field for row in rows for field in row[1:] if field]
    spaced = bool(fields) and all(field[0] == " " for field in fields)
    reader = _reader(sample, *best)
    for _ in range(n):
        next(reader)
    return Dialect(*best, spaced, reader.line_num, tuple(rows[0]), title)


def _reader(text: str, delimiter: str, quoted: bool, strict: bool = False) -> Any:
    lines = io.StringIO(text, newline="")
    return csv.reader(
        lines, delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE, strict=strict
    )


def _rows(text: str, delimiter: str, quoted: bool, strict: bool = False) -> list[list[str]]:
    """First rows of a sample, without the last row, which may be incomplete; if ``strict``, up to a wrong quote."""
    rows: list[list[str]] = []
    with suppress(csv.Error):  # such as a field of more than 128 KB, which most likely starts with an ordinary quote
        rows.extend(islice(_reader(text, delimiter, quoted, strict), SAMPLE_ROWS))
    is_cut = not strict and 1 < len(rows) < SAMPLE_ROWS and not text.endswith(("\n", "\r"))
    return rows[:-1] if is_cut else rows


def name_columns(header: Iterable[object], where: object) -> tuple[tuple[str, ...], list[str]]:
    """Column names from the cells of the header, and notes about missing names; raises if two names are equal."""
    given = ["" if cell is None else str(cell).strip() for cell in header]
    names = tuple(name or f"column {place}" for place, name in enumerate(given, 1))
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        places = " and ".join(str(i) for i, name in enumerate(names, 1) if name == twice[0])
        more = f" (also duplicated: {', '.join(map(repr, twice[1:6]))})" if len(twice) > 1 else ""
        raise FileReadError(f"{where}: columns {places} are both called {twice[0]!r}{more}. Rename one of them.")
    notes = []
    nameless = [name for name, cell in zip(names, given, strict=True) if not cell]
    if nameless:
        notes.append(f"The table has no name for {', '.join(map(repr, nameless[:5]))}; the position is the name.")
    if all(NUMBER.fullmatch(cell) for cell in given):
        notes.append(
            f"Every name in the first line is a number ({', '.join(given[:3])}). If this is the first row of data, "
            "insert a line with names before it."
        )
    return names, notes


def n_title_rows(rows: Sequence[Row]) -> int:
    """Number of title rows above the column names; 0 if it is uncertain whether they are a title.

    The names must be distinct words, and at least one column below them must have only numbers or dates.
    """
    for n in range(1, min(MAX_TITLE_ROWS, len(rows) - 2) + 1):
        if n_filled(rows[n - 1]) > 1:
            return 0
        if n_filled(rows[n]) > 1:
            first, last = filled_span(rows[n])
            names, below = rows[n][first:last], [row[first:last] for row in rows[n + 1 :] if n_filled(row)]
            n_wide = sum(n_filled(row) > 1 for row in below)
            if len(set(map(str, names))) < len(names) or n_wide < MIN_AGREEMENT * len(below):
                return 0
            if not all(isinstance(name, str) and _is_filled(name) and not _is_amount(name) for name in names):
                return 0
            columns = ([row[d] for row in below if d < len(row) and _is_filled(row[d])] for d in range(len(names)))
            return n if any(cells and all(map(_is_amount, cells)) for cells in columns) else 0
    return 0


def _is_amount(cell: Any) -> bool:
    if isinstance(cell, str):
        return AMOUNT.fullmatch(cell) is not None
    return isinstance(cell, int | float | dt.date | dt.time)


def _is_filled(cell: Any) -> bool:
    return bool(cell.strip()) if isinstance(cell, str) else cell is not None


def n_filled(row: Row) -> int:
    """Number of cells that are not blank."""
    return sum(map(_is_filled, row))


def filled_span(row: Row) -> tuple[int, int]:
    """Position of the first cell that is not blank, and the position after the last one."""
    places = [place for place, cell in enumerate(row) if _is_filled(cell)]
    return (places[0], places[-1] + 1) if places else (0, 0)


def join_title(rows: Sequence[Row]) -> str:
    """Text of the rows above the names."""
    return " ".join(word for row in rows for cell in row if cell is not None for word in str(cell).split())


def title_note(title: str) -> str:
    """Note about a skipped title."""
    shown = title if len(title) <= MAX_TITLE_CHARACTERS else f"{title[:MAX_TITLE_CHARACTERS]}..."
    return f"The text above the column names was skipped as a title: {shown!r}."
