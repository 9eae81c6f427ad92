# SPDX-License-Identifier: BSD-3-Clause
"""What a column of text is as numbers, or as dates, by every way of reading that all of it allows.

Whether 1,234 has thousands or decimals, and 03/04/2024 is in March, is seen in other rows, perhaps of another batch. So
each way has facts of its own; those of two batches add where both allow it, and the whole column decides at the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from separatrix._array import Codes, Float
from separatrix.table.dates import ORDERS, YEAR_FIRST, dates_of
from separatrix.table.moments import NumberFacts
from separatrix.table.parse import tidied
from separatrix.table.spelling import MARKS, PLAIN, SPELLINGS, numbers_of, without_units

__all__ = [
    "NO_READING",
    "Readings",
    "any_date",
    "any_number",
    "date_readings",
    "number_readings",
    "only_date",
    "only_number",
]

FEW = 16  # texts that show of nearly every column of words that it holds neither numbers nor dates
PREFERRED = (*SPELLINGS, *ORDERS)


@dataclass(frozen=True, slots=True)
class Readings:
    """Facts by the name of a spelling or an order; ``unit`` is what stands beside every number.

    The unit is "" for none, and None where no value has been seen.
    """

    facts: Mapping[str, NumberFacts]
    unit: str | None = None

    def __add__(self, other: Readings) -> Readings:
        """The facts of both, of the ways in which both can be read."""
        units = {self.unit, other.unit} - {None}
        shared = self.facts.keys() & other.facts.keys()
        if len(units) > 1 or not shared:
            return NO_READING
        return Readings({way: self.facts[way] + other.facts[way] for way in shared}, next(iter(units), None))

    @property
    def way(self) -> str:
        """The likeliest way to read the column, "" if there is none."""
        return next((way for way in PREFERRED if way in self.facts), "")

    @property
    def best(self) -> NumberFacts | None:
        """The facts by that way."""
        return self.facts.get(self.way)

    @property
    def rival(self) -> str:
        """Another way, by which the values would be others; "" if there is none."""
        best = self.best
        ways = (way for way in PREFERRED if way in self.facts)
        return next((way for way in ways if best is not None and not _agree(self.facts[way], best)), "")


NO_READING = Readings({})


def any_number() -> Readings:
    """Of no values at all: they could be spelled in any way."""
    return Readings(dict.fromkeys(SPELLINGS, NumberFacts()))


def any_date() -> Readings:
    """Of no values at all: they could be in any order."""
    return Readings(dict.fromkeys(ORDERS, NumberFacts()))


def only_number(facts: NumberFacts) -> Readings:
    """Of numbers that are numbers already."""
    return Readings({PLAIN: facts}, "")


def only_date(facts: NumberFacts) -> Readings:
    """Of dates that are dates already."""
    return Readings({YEAR_FIRST: facts}, "")


def number_readings(texts: tuple[str, ...], counts: Codes) -> Readings:
    """Of distinct texts, each as often as ``counts`` says."""
    return _of_numbers(texts, counts) if _of_numbers(texts[:FEW], counts[:FEW]).facts else NO_READING


def date_readings(texts: tuple[str, ...], counts: Codes) -> Readings:
    """As `number_readings`."""
    return _of_dates(texts, counts) if _of_dates(texts[:FEW], counts[:FEW]).facts else NO_READING


def _of_numbers(texts: tuple[str, ...], counts: Codes) -> Readings:
    units, cells = without_units(tidied(texts))
    if len(units) > 1:
        return NO_READING
    marks = MARKS & set("".join(cells))
    known: dict[tuple[frozenset[str], frozenset[str]], NumberFacts | None] = {}
    facts = {}
    for name, spelling in SPELLINGS.items():
        key = (marks & {spelling.point}, marks & set(spelling.groups))  # of which the marks at hand mean the same
        if key not in known:
            known[key] = _counted(numbers_of(cells, spelling), counts)
        if (found := known[key]) is not None:
            facts[name] = found
    return Readings(facts, next(iter(units), None)) if facts else NO_READING


def _of_dates(texts: tuple[str, ...], counts: Codes) -> Readings:
    cells = tidied(texts)
    found = {order: _counted(dates_of(cells, order), counts) for order in ORDERS}
    facts = {order: dates for order, dates in found.items() if dates is not None}
    return Readings(facts, "" if any(cells) else None) if facts else NO_READING


def _counted(numbers: Float | None, counts: Codes) -> NumberFacts | None:
    if numbers is None:
        return None
    some = ~np.isnan(numbers)
    return NumberFacts.of(numbers[some], counts[some])


def _agree(a: NumberFacts, b: NumberFacts) -> bool:
    """Whether two readings of the same texts came to the same numbers, within rounding."""
    extent = max(abs(b.low), abs(b.high)) if b.count else 0.0
    return (a.low, a.high) == (b.low, b.high) and abs(a.mean - b.mean) <= 1e-9 * extent
