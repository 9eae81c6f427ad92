# SPDX-License-Identifier: BSD-3-Clause
"""Where the names of the columns of a sheet are: under a title, right of a margin, in one row or in two.

A title is what it is in a CSV (`dialect`): up to five rows with one cell, above a row of names over numbers or dates. A
sheet may also have names in two rows, the upper ones merged over several columns: merged cells come as one that is
filled and others that are empty, so that an upper name holds until the next. Where it is less clear, the first row that
is not empty has the names.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any, NamedTuple

from separatrix.files.dialect import AGREED, AMOUNT, TITLES
from separatrix.table import MISSING_WORDS

__all__ = ["Head", "find_head"]

Row = Sequence[Any]


class Head(NamedTuple):
    """``names`` of the columns from the ``margin`` on, after which rows begin at ``rows``; ``title`` is "" for none."""

    names: tuple[Any, ...]
    margin: int
    rows: int
    title: str
    is_double: bool


def find_head(rows: Sequence[Row]) -> Head:
    """The head of a sheet by its first rows, of which the first is not empty."""
    n = _n_titles(rows)
    margin = min((_first(row) for row in rows[n:] if _n_filled(row)), default=0)
    names = _trimmed(rows[n][margin:])
    double = _double(names, [row[margin:] for row in rows[n + 1 :]])
    title = " ".join(str(cell).strip() for row in rows[:n] for cell in row if _is_filled(cell))
    return Head(double or names, margin, n + (2 if double else 1), title, bool(double))


def _n_titles(rows: Sequence[Row]) -> int:
    """How many rows are a title."""
    for n in range(1, min(TITLES, len(rows) - 2) + 1):
        if _n_filled(rows[n - 1]) > 1:
            return 0
        if _n_filled(rows[n]) > 1:
            margin = _first(rows[n])
            names, below = _trimmed(rows[n][margin:]), [row[margin:] for row in rows[n + 1 :]]
            wide = sum(_n_filled(row) > 1 for row in below)
            return n if (_are_names(names, below) or _double(names, below)) and wide >= AGREED * len(below) else 0
    return 0


def _are_names(names: Row, below: Sequence[Row]) -> bool:
    """Whether these name columns, of which some are numbers or dates."""
    if not all(map(_is_word, names)) or len(set(map(str, names))) < len(names):
        return False
    return _has_amounts(below, range(len(names)))


def _double(upper: Row, below: Sequence[Row]) -> tuple[str, ...]:
    """The names of two rows put together; nothing where the second row is no row of names.

    It is one where it fills every gap of the first, and has words over columns of numbers or dates; a word for a gap
    is a value.
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
    return _joined(pairs) if _has_amounts(below[1:], under) else ()


def _joined(pairs: Sequence[tuple[Any, Any]]) -> tuple[str, ...]:
    names, over = [], ""
    for upper, lower in pairs:
        over = str(upper).strip() if _is_filled(upper) else over
        names.append(f"{over} {str(lower).strip()}".strip() if _is_filled(lower) else over)
    return tuple(names)


def _has_amounts(rows: Sequence[Row], places: Sequence[int]) -> bool:
    """Whether some column holds numbers or dates, and nothing else."""
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


def _n_filled(row: Row) -> int:
    return sum(map(_is_filled, row))


def _first(row: Row) -> int:
    return next((place for place, cell in enumerate(row) if _is_filled(cell)), 0)


def _trimmed(row: Row) -> tuple[Any, ...]:
    """Without empty cells at its end."""
    return tuple(row[: max((place for place, cell in enumerate(row, 1) if _is_filled(cell)), default=0)])


def _cell(row: Row, place: int) -> Any:
    return row[place] if place < len(row) else None
