# SPDX-License-Identifier: BSD-3-Clause
"""Layout of a text file or a sheet: encoding and quotes, delimiter, title rows, and column names.

The encoding is UTF-16 if the file starts with a byte order mark of UTF-16, and UTF-8 if all bytes are valid UTF-8.
Other text is read as Windows code page 1252, or as Latin-1 if it has a byte that this page does not define, with a
note.

The first line contains the names. The chosen delimiter is the one that gives most of the following lines as many fields
as the first line, so the decimal comma in ``a;b`` over ``3,5;4,5`` is not taken as a delimiter.

A title above the names is skipped. It has up to five rows with a single filled cell. The names below it are distinct
words; below them, most rows have several cells, and some column has only numbers or dates. A sheet may also have an
empty margin on the left.
"""

from __future__ import annotations

import codecs
import csv
import datetime as dt
import io
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np

from separatrix._lazy import pa
from separatrix.files.location import READ_BYTES, FileReadError, Location, open_input, reading

BYTE_ORDER_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
SIGNATURES = {
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"PK\x03\x04": "a zip archive or an Excel workbook",
    b"SQLite format 3": "an SQLite database",
    b"\x1f\x8b": "compressed with gzip",
    b"BZh": "compressed with bzip2",
    b"\xfd7zXZ": "compressed with xz",
    b"(\xb5/\xfd": "compressed with zstd",
    b"%PDF": "a PDF",
}
NOT_CP1252 = b"\x81\x8d\x8f\x90\x9d"  # bytes that Windows code page 1252 does not define
DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
SAMPLE_ROWS = 200
LINE_END = re.compile(rb"[\r\n]")
MAX_NAMES_BYTES = 2**24  # longest line of column names
MAX_TEXT_COLUMNS = 100_000  # most columns of a text file; each takes 0.1 ms per block of rows
NUMBER = re.compile(r"\s*[+-]?\d+([.,]\d+)?\s*")
AMOUNT = re.compile(r"\s*[^\w\s]?\s*[+-]?\d[\d.,:/ '-]*\s*\S{0,3}\s*")  # numbers and dates in any notation
MAX_TITLE_CHARACTERS = 60  # characters of a title that a note shows
MAX_TITLE_ROWS = 5
MIN_AGREEMENT = 0.5  # required fraction of rows below the names that have several filled cells

Row = Sequence[Any]


@dataclass
class Quotes:
    """How a text uses the quote character, from a pass over its bytes.

    If every line has an even number of quotes, the odd ones open a field and the even ones close it (or both are one
    half of a doubled quote). ``before`` has the bytes before quotes that open, ``after`` those after quotes that close.
    """

    found: bool = False
    are_paired: bool = True  # whether every line has an even number of quotes
    before: set[int] = field(default_factory=set)
    after: set[int] = field(default_factory=set)
    rest: bytes = b"\n"  # the incomplete last line, after the end of the previous line

    def add(self, chunk: bytes) -> None:
        """Add the next bytes; b"" ends the text."""
        self.found = self.found or b'"' in chunk
        if not self.are_paired:
            return
        text = self.rest + chunk + (b"" if chunk else b"\n")
        end = max(text.rfind(b"\n"), text.rfind(b"\r"))
        lines, self.rest = text[: end + 1], text[end:]
        self.are_paired = len(self.rest) <= READ_BYTES  # longer lines are not kept in memory
        if b'"' in lines:
            codes = np.frombuffer(lines, np.uint8)
            at = np.flatnonzero(codes == ord('"'))
            line = np.searchsorted(np.flatnonzero((codes == ord("\n")) | (codes == ord("\r"))), at)
            if (np.bincount(line) % 2).any():
                self.are_paired = False
                return
            self.before.update(np.unique(codes[at[::2] - 1]).tolist())
            self.after.update(np.unique(codes[at[1::2] + 1]).tolist())

    def enclose_fields(self, delimiter: str) -> bool:
        """Whether all quotes enclose fields or are doubled inside them, and no quoted field contains a line break."""
        return self.are_paired and self.before | self.after <= set(f'{delimiter}"\r\n'.encode())


def find_encoding(where: Location) -> tuple[str, list[str], Quotes]:
    """Encoding of a text file, a note if it was guessed, and the use of quotes; raises if the file is not text."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    first_wrong = ""
    is_cp1252, n_bytes, n_lines, quotes = True, 0, 0, Quotes()
    with open_input(where) as stream, reading(where):
        first = stream.read(READ_BYTES)
        mark = next((mark for mark in BYTE_ORDER_MARKS if first.startswith(mark)), b"")
        for signature, what in SIGNATURES.items():
            if first.startswith(signature):
                raise FileReadError(
                    f"{where.title} is not text: it is {what}. Rename it with the suffix of its format."
                )
        for chunk in chain([first[len(mark) :]], iter(lambda: stream.read(READ_BYTES), b""), [b""]):
            quotes.add(chunk)
            if mark:
                continue
            if b"\0" in chunk:
                raise FileReadError(
                    f"{where.title} is not text: byte {n_bytes + chunk.index(0)} is zero. If it is UTF-16, save it "
                    "with a byte order mark or as UTF-8; otherwise rename it with the suffix of its format."
                )
            is_cp1252 = is_cp1252 and (chunk.isascii() or not any(byte in chunk for byte in NOT_CP1252))
            if not first_wrong:
                try:
                    decoder.decode(chunk, final=not chunk)
                except UnicodeDecodeError as error:
                    line = 1 + n_lines + error.object.count(b"\n", 0, error.start)
                    first_wrong = f"0x{error.object[error.start]:02x} in line {line}"
            n_bytes, n_lines = n_bytes + len(chunk), n_lines + chunk.count(b"\n")
    if mark or not first_wrong:
        return BYTE_ORDER_MARKS.get(mark, "utf-8"), [], quotes
    name = "cp1252" if is_cp1252 else "latin-1"
    note = (
        f"The text is not UTF-8 (the first such byte is {first_wrong}); it was read as {name}, the encoding of older "
        "Windows and Unix programs. If letters look wrong, save it as UTF-8."
    )
    return name, [note], quotes


def open_text(where: Location, encoding: str) -> Any:
    """Open the text of a file as a stream of UTF-8 without a byte order mark."""
    stream = open_input(where)
    if encoding == "utf-8-sig":
        stream.read(len(codecs.BOM_UTF8))
    return stream if encoding.startswith("utf-8") else pa.transcoding_input_stream(stream, encoding, "utf-8")


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
    line = sample.lstrip().partition("\n")[0].partition("\r")[0]
    n_marks, name = max((line.count(mark), name) for mark, name in DELIMITERS.items())
    if n_marks >= MAX_TEXT_COLUMNS:
        problem = f"has {n_marks:,} {name}s, and a text file can have at most {MAX_TEXT_COLUMNS:,} columns"
        raise FileReadError(_not_names(line, where, problem))
    if len(line) > MAX_NAMES_BYTES:
        raise FileReadError(_not_names(line, where, f"has more than {MAX_NAMES_BYTES // 2**20} MB"))
    marks = [prefer, *(mark for mark in DELIMITERS if mark != prefer)]
    tables = {(mark, quoted): _rows(sample, mark, quoted) for mark in marks for quoted in (True, False)}
    tables = {option: rows for option, rows in tables.items() if any(rows)}
    if not tables:
        raise FileReadError(_not_names(line, where, f"has a name of more than {csv.field_size_limit():,} characters"))

    def agreement(option: tuple[str, bool]) -> tuple[float, bool, bool, int]:
        """Fraction of rows with as many fields as the names, balanced quotes, ``quoted``, number of fields."""
        rows = [row for row in tables[option][n_above[option] :] if row]
        if not rows or len(rows[0]) == 1:
            return 0.0, False, option[1], 0
        fraction = sum(len(row) == len(rows[0]) for row in rows) / len(rows)
        is_balanced = len(_rows(sample, *option, strict=True)) >= len(tables[option])
        return fraction, is_balanced, option[1], len(rows[0])

    n_above = {option: next(n for n, row in enumerate(rows) if row) for option, rows in tables.items()}
    best = max(tables, key=agreement)  # among equals, the first option
    title = ""
    if n_filled(tables[best][n_above[best]]) < 2:
        n_title = {option: n_title_rows(rows[n_above[option] :]) for option, rows in tables.items()}
        if titled := {option: n_above[option] + n for option, n in n_title.items() if n}:
            n_above |= titled
            best = max(titled, key=agreement)
            title = join_title(tables[best][: n_above[best]])
    n = n_above[best]
    rows = tables[best][n:]
    fields = [field for row in rows for field in row[1:] if field]
    spaced = bool(fields) and all(field[0] == " " for field in fields)
    reader = _reader(sample, *best)
    for _ in range(n):
        next(reader)
    return Dialect(*best, spaced, reader.line_num, tuple(rows[0]), title)


def _not_names(line: str, where: object, problem: str) -> str:
    return (
        f"{where}: the first line {problem}. It begins {line[:40]!r}. If rows are separated by another character than "
        "a line break, replace it. Write a table with more columns as Parquet, or sparse numbers as a .svm file."
    )


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
        where_twice = islice((str(i) for i, name in enumerate(names, 1) if name == twice[0]), 2)
        places = " and ".join(where_twice)
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
