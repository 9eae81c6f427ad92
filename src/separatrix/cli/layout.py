# SPDX-License-Identifier: BSD-3-Clause
r"""Layout of text for a terminal: what can be printed safely, lines of a given width, and tables.

Names and labels of a table are untrusted text. Control characters in them could move the cursor, change the title of
the window or reverse the direction of text, so they are shown as escapes such as ``\x1b``.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from rich.cells import cell_len

from separatrix._text import UNSAFE, visible

# Replacements of our own symbols in encodings that lack them; a block character becomes its height.
SYMBOLS = {"\N{MINUS SIGN}": "-", "\N{EN DASH}": "-", "\N{NO-BREAK SPACE}": " ", "∞": "inf"}
SYMBOLS |= {"×": "x", "±": "+/-", "─": "-"}
STAND_INS = SYMBOLS | dict(zip("▁▂▃▄▅▆▇█", "12345678", strict=True))
ENCODING_ERRORS = "separatrix"  # name of the error handler that uses the stand-ins
COLUMN_GAP = 2
MAX_UNBROKEN_WORD = 24  # in a cell of a table that is too wide; a longer word may be broken
BREAK_AFTER = "_-./=:,;()"  # where a long word is broken if possible


WORD_GAP = re.compile(r"(?<![|±])(?<!\bln) (?![|±])")  # p(t | x), ln p and 1.5 ± 0.2 stay on one line


def printable(text: str, encoding: str) -> str:
    """Text as it appears on a stream of this encoding."""
    return visible(text).encode(encoding, ENCODING_ERRORS).decode(encoding)


def _replace(error: UnicodeError) -> tuple[str, int]:
    """Handler of encoding errors: a stand-in, or an escape."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    characters = error.object[error.start : error.end]
    shown = (STAND_INS.get(c) or (visible(c) if UNSAFE.match(c) else ascii(c)[1:-1]) for c in characters)
    return "".join(shown), error.end


codecs.register_error(ENCODING_ERRORS, _replace)


def folded(text: str, width: int, *, breaks: bool = False) -> list[str]:
    """Lines of whole words. A word longer than a line stays whole, so that paths can be copied, unless ``breaks``."""
    lines = [""]
    for i, word in enumerate(text.split(" ") if breaks else WORD_GAP.split(text)):
        longer = f"{lines[-1]} {word}" if i else word
        if cell_len(longer) <= width or not lines[-1].strip():
            lines[-1] = longer
        else:
            lines.append(word)
        if breaks:
            lines[-1:] = _pieces(lines[-1], width)
    return [line.rstrip() for line in lines]


def _pieces(word: str, width: int) -> Iterator[str]:
    """Parts of a word that are at most ``width`` wide, broken after punctuation if possible."""
    start, used, end = 0, 0, 0  # start and width of the current part, and its last good end
    for i, size in enumerate(map(cell_len, word)):
        if used + size > width and i > start:
            cut = end if end > (start + i) // 2 else i
            yield word[start:cut]
            start, used = cut, cell_len(word[cut:i])
        used += size
        if word[i] in BREAK_AFTER:
            end = i + 1
    yield word[start:]


class Line(NamedTuple):
    """One line of a table, and its style."""

    text: str
    style: str = ""


Cell = str | tuple[str, ...]  # a tuple has one text per line


class TextTable:
    """Table with a line under its heads; columns in ``right`` contain numbers, which are aligned to the right."""

    def __init__(self, *heads: str, right: Iterable[int] = ()) -> None:
        self.heads, self.right = heads, set(right)
        self.rows: list[tuple[tuple[Cell, ...], str]] = []

    def add_row(self, *cells: Cell, style: str = "") -> None:
        """Add a row; cells that are left out are empty."""
        self.rows.append(((*cells, *("",) * (len(self.heads) - len(cells))), style))

    def lines(self, width: int, clean: Callable[[str], str] = visible) -> list[Line]:
        """Lines of the table; if its words do not fit next to each other, one line per cell."""
        rows = [
            ([[clean(text) for text in ((cell,) if isinstance(cell, str) else cell)] for cell in cells], style)
            for cells, style in [(self.heads, "bold"), *self.rows]
        ]
        widths = self._widths([cells for cells, _ in rows], width)
        if widths is None:
            return self._stacked(rows, width)
        found = []
        for i, (cells, style) in enumerate(rows):
            columns = [
                [line for text in cell for line in folded(text, w, breaks=True)]
                for cell, w in zip(cells, widths, strict=True)
            ]
            for n in range(max(map(len, columns))):
                texts = [column[n] if n < len(column) else "" for column in columns]
                spaces = [" " * (w - cell_len(text)) for text, w in zip(texts, widths, strict=True)]
                aligned = [
                    space + text if d in self.right else text + space
                    for d, (text, space) in enumerate(zip(texts, spaces, strict=True))
                ]
                found.append(Line((" " * COLUMN_GAP).join(aligned).rstrip(), style))
            if not i:
                found.append(Line(clean("─") * (sum(widths) + COLUMN_GAP * (len(widths) - 1))))
        return found

    def _widths(self, rows: list[list[list[str]]], width: int) -> list[int] | None:
        """Width of each column, or None if a word would have to be broken. The widest columns are narrowed first."""
        columns = [[text for cell in column for text in cell] for column in zip(*rows, strict=True)]
        whole = [max(map(cell_len, column)) for column in columns]
        words = [max(cell_len(word) for text in column for word in text.split(" ")) for column in columns]
        least = [
            full if d in self.right else min(word, MAX_UNBROKEN_WORD)
            for d, (full, word) in enumerate(zip(whole, words, strict=True))
        ]
        room = width - COLUMN_GAP * (len(columns) - 1)
        if sum(least) > room:
            return None

        def narrowed(most: int) -> list[int]:
            return [max(low, min(full, most)) for low, full in zip(least, whole, strict=True)]

        most = next(most for most in range(max(whole), -1, -1) if sum(narrowed(most)) <= room)
        widths = narrowed(most)
        for d, full in enumerate(whole):  # a few cells are left over
            widths[d] += max(0, min(room - sum(widths), full - widths[d]))
        return widths

    def _stacked(self, rows: list[tuple[list[list[str]], str]], width: int) -> list[Line]:
        (heads, _), *others = rows
        found = []
        for (name, *cells), style in others:
            found += [Line(line, style) for line in folded(" ".join(name), width, breaks=True)]
            for head, cell in zip(heads[1:], cells, strict=True):
                if any(cell):
                    text = f"{' '.join(head)}: {' '.join(cell)}"
                    found += [Line(f"  {line}", style) for line in folded(text, max(width - 2, 1), breaks=True)]
        return found
