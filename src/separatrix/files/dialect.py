# SPDX-License-Identifier: BSD-3-Clause
"""How a CSV is written: what stands between fields, whether they are quoted, and the names of the columns.

The first line has the names. The delimiter is the one by which most of the following lines have as many fields as
that one; a comma inside of numbers, as in ``a;b`` over ``3,5;4,5``, makes no column names and so is none.

A title above the names is not read: lines with a single field, above one that has several, none of them a number, over
lines that have as many fields and numbers in some column.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

from separatrix.files.errors import FileReadError

__all__ = ["AGREED", "AMOUNT", "SAMPLE_ROWS", "TITLES", "Dialect", "name_columns", "shortened", "sniff"]

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
SAMPLE_ROWS = 200
NUMBER = re.compile(r"\s*[+-]?\d+([.,]\d+)?\s*")
AMOUNT = re.compile(r"\s*[^\w\s]?\s*[+-]?\d[\d.,:/ '-]*\s*\S{0,3}\s*")  # numbers and dates of any country
LONGEST = 60  # letters of a title that are shown
TITLES = 5  # lines of a title, at most
AGREED = 0.5  # of the lines below have as many fields as that of the names, at least


class Dialect(NamedTuple):
    """``spaced``: a space follows each delimiter, and is no part of the text. ``skipped``: lines before the names,
    of which ``title`` is what they say, "" where they are blank.
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
    """The dialect of a text, from how it begins.

    Raises
    ------
    FileReadError
        Where there is nothing in it.
    """
    body = sample.lstrip("\r\n")
    if not body.strip():
        raise FileReadError(f"{where} is empty: it has no line with the names of columns. Is it the right file?")
    options = [prefer, *(mark for mark in DELIMITERS if mark != prefer)]
    tried = [(mark, quoted) for mark in options for quoted in (True, False)]
    delimiter, quoted = max(tried, key=lambda option: _agreement(body, *option))  # the first of the best
    title = ""
    if _n_filled(_rows(body, delimiter, quoted)[0]) < 2:
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
    """The text from the names of columns on, where lines with one field are above; "" where it does not look so."""
    lines = _lines(text)
    for n in range(1, min(TITLES, len(lines) - 2) + 1):
        if _n_filled(next(csv.reader([lines[n - 1]], delimiter=delimiter), [])) > 1:
            return ""
        below = "".join(lines[n:])
        rows = _rows(below, delimiter, quoted)
        if len(rows) > 1 and len(rows[0]) > 1 and lines[n].strip() and _has_names(rows):
            return below if _agreement(below, delimiter, quoted)[0] >= AGREED else ""
    return ""


def _has_names(rows: list[list[str]]) -> bool:
    """Whether the first row names columns, of which some are numbers or dates."""
    names, below = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    if len(set(names)) < len(names) or not all(map(str.strip, names)) or any(map(AMOUNT.fullmatch, names)):
        return False
    columns = ([cell for cell in column if cell.strip()] for column in zip(*below, strict=True))
    return any(cells and all(map(AMOUNT.fullmatch, cells)) for cells in columns)


def shortened(title: str) -> str:
    """In quotes, and not so long that nothing else is seen."""
    return repr(title if len(title) <= LONGEST else f"{title[:LONGEST]}...")


def _n_filled(row: list[str]) -> int:
    return sum(bool(cell.strip()) for cell in row)


def _lines(text: str) -> list[str]:
    return list(io.StringIO(text, newline=""))


def _agreement(text: str, delimiter: str, quoted: bool) -> tuple[float, bool, bool, int]:
    """The share of lines that have as many fields as the first; then whether quotes are well used, or are quotes at
    all; then the number of fields.
    """
    rows = _rows(text, delimiter, quoted)
    if not rows or len(rows[0]) == 1:
        return 0.0, False, quoted, 0
    share = sum(len(row) == len(rows[0]) for row in rows) / len(rows)
    return share, len(_rows(text, delimiter, quoted, strict=True)) == len(rows), quoted, len(rows[0])


def _rows(text: str, delimiter: str, quoted: bool, strict: bool = False) -> list[list[str]]:
    """The first rows that are not blank; the last of a sample may be cut short, and does not count."""
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        strict=strict,
    )
    rows: list[list[str]] = []
    with suppress(csv.Error):  # a field of more than 128 KB: most likely a quote that is no quote
        rows.extend(row for row in islice(reader, SAMPLE_ROWS) if row)
    return rows[:-1] if 1 < len(rows) < SAMPLE_ROWS and not text.endswith(("\n", "\r")) else rows


def name_columns(header: Iterable[object], where: object) -> tuple[tuple[str, ...], list[str]]:
    """Names of columns from the cells of the first line, and notes on those that had none.

    Raises
    ------
    FileReadError
        Where two are the same; says which columns.
    """
    given = ["" if cell is None else str(cell).strip() for cell in header]
    names = tuple(name or f"column {place}" for place, name in enumerate(given, 1))
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        places = " and ".join(str(i) for i, name in enumerate(names, 1) if name == twice[0])
        more = f" (so are {', '.join(map(repr, twice[1:6]))})" if len(twice) > 1 else ""
        raise FileReadError(
            f"{where}: columns {places} are both called {twice[0]!r}{more}. Rename one of them in the first line."
        )
    notes = []
    nameless = [name for name, cell in zip(names, given, strict=True) if not cell]
    if nameless:
        notes.append(f"The first line has no name for {', '.join(map(repr, nameless[:5]))}: called by its place.")
    if all(NUMBER.fullmatch(cell) for cell in given):
        notes.append(
            f"Every name in the first line is a number ({', '.join(given[:3])}): if that is the first row of data, "
            "put a line with names before it."
        )
    return names, notes
