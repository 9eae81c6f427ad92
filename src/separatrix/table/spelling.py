# SPDX-License-Identifier: BSD-3-Clause
"""Numbers as they are spelled: 1234.5, 1,234.5, 1.234,5, 1 234,5 or 1'234.5; with a unit, as 12 % or € 1.234,50.

A text is a number by a spelling if all of it is; not if it starts with a zero that no number needs, as a postal code
may. Thousands come in threes, or run together. One text may fit several spellings: 1,234 is about one, or more than a
thousand. Only the column can tell, and so every function here is asked about one spelling.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from separatrix._array import Float
from separatrix.table.parse import tidied

__all__ = ["MARKS", "PLAIN", "SPELLINGS", "Spelling", "numbers_of", "read_numbers", "without_units"]

SPACES = " \u00a0\u2009\u202f"
APOSTROPHES = "'\u2019"
MINUS = "\u2212"
CURRENCIES = "€ $ £ ¥ ₹ ₽ ₩ ₪ ₺ zł Kč Ft kr. kr Fr. EUR USD GBP CHF JPY CNY INR SEK NOK DKK PLN CZK HUF CAD AUD NZD BRL"
UNIT = "|".join(map(re.escape, [*CURRENCIES.split(), "%", "\u2030"]))
HAS_UNIT = re.compile(UNIT)
BODY = rf"[\d.,{SPACES}{APOSTROPHES}]*\d[.,]?"
AFFIXED = re.compile(rf"([+\-{MINUS}]?)\s*(?:({UNIT})\s*([+\-{MINUS}]?{BODY})|({BODY})\s*({UNIT}))")


class Spelling(NamedTuple):
    """The decimal mark, and the marks of which one may stand between thousands."""

    point: str
    groups: str
    pattern: re.Pattern[str]


def _spelling(point: str, groups: str = "") -> Spelling:
    mark = re.escape(point)
    number = rf"(?:(?:0|[1-9]\d*)(?:{mark}\d*)?|{mark}\d+)(?:[eE][+-]?\d+)?"
    if groups:
        number = rf"[1-9]\d{{0,2}}([{groups}])\d{{3}}(?:\1\d{{3}})*(?:{mark}\d*)?|{number}"
    return Spelling(point, groups, re.compile(rf"[+\-{MINUS}]?(?:{number})"))


PLAIN = "1234.5"
#: By an example, in the order in which they are preferred where a column fits several.
SPELLINGS = {
    PLAIN: _spelling("."),
    "1,234.5": _spelling(".", ","),
    "1234,5": _spelling(","),
    "1.234,5": _spelling(",", "."),
    "1 234.5": _spelling(".", SPACES),
    "1 234,5": _spelling(",", SPACES),
    "1'234.5": _spelling(".", APOSTROPHES),
    "1'234,5": _spelling(",", APOSTROPHES),
}
MARKS = frozenset(f".,{SPACES}{APOSTROPHES}")


def read_numbers(texts: Sequence[str], spelling: str = PLAIN, unit: str = "") -> Float | None:
    """The numbers that texts are, NaN for gaps; None where one is not. The unit may stand beside them, or not."""
    units, cells = without_units(tidied(texts))
    return numbers_of(cells, SPELLINGS[spelling]) if units <= {"", unit} else None


def without_units(cells: list[str]) -> tuple[set[str], list[str]]:
    """The units of all cells that are no gaps, "" for none; and the cells without them."""
    if not HAS_UNIT.search("\n".join(cells)):  # as in nearly every column
        return ({""} if any(cells) else set()), cells
    units, bare = set(), []
    for cell in cells:
        found = AFFIXED.fullmatch(cell)
        if cell:
            units.add("" if found is None else found[2] or found[5])
        bare.append(cell if found is None else found[1] + (found[3] or found[4]))
    return units, bare


def numbers_of(cells: list[str], spelling: Spelling) -> Float | None:
    """The numbers that cells are by a spelling, NaN for gaps; None where one is none, or too large for arithmetic."""
    written = [cell for cell in cells if cell]
    if not all(map(spelling.pattern.fullmatch, written)):
        return None
    together = "\n".join(written)
    for mark in spelling.groups:
        together = together.replace(mark, "")
    together = together.replace(spelling.point, ".").replace(MINUS, "-")
    found = np.fromiter(map(float, together.split("\n") if written else ()), np.float64)
    if np.isinf(found).any():
        return None
    if len(written) == len(cells):
        return found
    numbers: Float = np.full(len(cells), np.nan)
    numbers[[bool(cell) for cell in cells]] = found
    return numbers
