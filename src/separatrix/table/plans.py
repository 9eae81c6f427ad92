# SPDX-License-Identifier: BSD-3-Clause
"""How one column of a table is encoded: a frozen record for each type of column.

Every plan names its numeric columns and computes their non-zero entries as (row, column, value), from which a dense or
a sparse matrix is built. It also counts values that the training rows did not contain.

A category of many levels can be hashed (Weinberger et al. 2009): the hash of a level chooses its column. With m levels
in n columns, a level shares its column, and therefore its weight, with (m - 1) / n others on average. Hashes have no
sign, so each column can be read as an indicator.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count, repeat
from typing import Any, ClassVar, NamedTuple

import numpy as np

from separatrix._array import Codes, Float
from separatrix.table.kinds import Kind
from separatrix.table.statistics import hash_levels
from separatrix.table.text import PLAIN, YEAR_FIRST
from separatrix.table.values import Values

Unseen = Counter[str]  # values that the training rows did not contain, with the number of rows

OTHER, MISSING = "(other)", "(missing)"
CYCLES = {"month": 12.0, "weekday": 7.0, "hour": 24.0}
NO_ENTRIES = (np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0))


class Entries(NamedTuple):
    """Non-zero entries of the numeric columns of one plan, and the unseen values."""

    row: Codes
    column: Codes
    value: Float
    unseen: Unseen


@dataclass(frozen=True, slots=True)
class Plan(ABC):
    """How one column of the table is encoded.

    ``kind`` is the type of the column in one word, and ``why`` describes its values.
    """

    type: ClassVar[str]
    column: str
    kind: str
    why: str

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Names of the numeric columns."""

    @property
    def note(self) -> str:
        """Sentence about an uncertain decision, or ""."""
        return ""

    @abstractmethod
    def entries(self, values: Values) -> Entries:
        """Encode some rows."""


@dataclass(frozen=True, slots=True)
class NumberPlan(Plan):
    """A number, with the training mean for missing values, and an indicator of missing values if training had any.

    ``words`` maps the two words of a yes/no column to 0 and 1. If the column is ``constant`` apart from missing values,
    only the indicator remains. ``spelling`` and ``unit`` describe numbers that were text; later batches are parsed in
    the same way.
    """

    type: ClassVar[str] = "number"
    mean: float
    indicator: bool
    constant: bool
    words: dict[str, float]
    spelling: str = PLAIN
    unit: str = ""
    note: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """``age`` and ``age is missing``."""
        name = self.column
        for word, value in self.words.items():
            name = f"{self.column}={word}" if value else name
        return (name,) * (not self.constant) + (f"{self.column} is missing",) * self.indicator

    def entries(self, values: Values) -> Entries:
        """Replace missing values by the mean. Unknown words are missing and unseen."""
        unseen: Unseen = Counter()
        if not self.words:
            numbers = values.as_numbers(self.column, self.spelling, self.unit)
        elif values.kind is Kind.BOOLEAN:
            numbers = values.numbers
        else:
            texts, codes = values.as_texts(self.column)
            unseen = _count_unseen(texts, codes, self.words)
            numbers = np.array([*(self.words.get(text, np.nan) for text in texts), np.nan])[codes]
        missing = np.flatnonzero(np.isnan(numbers))
        if len(missing) > unseen.total() and not self.indicator:
            unseen[MISSING] += len(missing) - unseen.total()
        filled = np.where(np.isnan(numbers), self.mean, numbers)
        return _entries([] if self.constant else [(np.arange(len(filled)), filled)], missing, self.indicator, unseen)


@dataclass(frozen=True, slots=True)
class CategoryPlan(Plan):
    """An indicator for each of ``levels``, then for ``(other)`` and ``(missing)`` if training had any.

    ``pooled`` are the rare levels that share ``(other)``. An unseen level counts as ``(other)``; if there is no such
    indicator, all indicators are zero, as for the ``reference`` level, which has no indicator ("" if all have one).
    """

    type: ClassVar[str] = "categorical"
    levels: tuple[str, ...]
    pooled: tuple[str, ...]
    missing: bool
    reference: str
    note: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """``colour=red``, ``colour=(other)``, ``colour=(missing)``."""
        levels = [*self.levels, *[OTHER] * bool(self.pooled), *[MISSING] * self.missing]
        if self.reference:
            levels.remove(self.reference)
        return tuple(map(f"{self.column}=".__add__, levels))

    def entries(self, values: Values) -> Entries:
        """A one in each row, unless it has the reference level or an unseen one."""
        levels = list(self.levels)
        if self.reference:
            levels.remove(self.reference)
        other = len(levels) if self.pooled else -1
        missing = len(levels) + bool(self.pooled) if self.missing else -1
        known = dict(zip(levels, count())) | dict.fromkeys(self.pooled, other)
        if self.reference:
            known[self.reference] = -1
        texts, codes = values.as_texts(self.column)
        places = np.array([*map(known.get, texts, repeat(other)), missing])
        return _indicators(places, codes, self.missing, _count_unseen(texts, codes, known))


@dataclass(frozen=True, slots=True)
class HashPlan(Plan):
    """An indicator for each of ``n_columns`` hashes of a level, then for ``(missing)`` if training had any.

    The levels need not be known, so that no level is rare or unseen. Levels with equal hashes share a column. If
    ``dropped``, the first column is left out as the reference of the others.
    """

    type: ClassVar[str] = "hashed"
    n_columns: int
    missing: bool
    dropped: bool

    @property
    def names(self) -> tuple[str, ...]:
        """``zip#0``, ``zip#1``, ..., ``zip=(missing)``."""
        hashes = (f"{self.column}#{place}" for place in range(int(self.dropped), self.n_columns))
        return (*hashes, *[f"{self.column}={MISSING}"] * self.missing)

    def entries(self, values: Values) -> Entries:
        """A one in each row; each distinct level is hashed once."""
        texts, codes = values.as_texts(self.column)
        hashes = (hash_levels(texts) % np.uint64(self.n_columns)).astype(np.intp)
        places = np.append(hashes, self.n_columns if self.missing else -1) - int(self.dropped)
        return _indicators(places, codes, self.missing, Counter())


@dataclass(frozen=True, slots=True)
class DatePlan(Plan):
    """Days since ``origin``, and the cycles that the range of dates covers.

    A cycle of n steps is a point on a circle, (cos, sin) 2π step / n, so that December is next to January. A missing
    date has the mean number of days, the centre of each circle, and an indicator if training had missing dates. If all
    dates are equal, only the indicator remains. ``order`` is the order of day, month and year in text.
    """

    type: ClassVar[str] = "date"
    origin: float
    mean: float
    cycles: tuple[str, ...]
    indicator: bool
    constant: bool
    order: str = YEAR_FIRST
    note: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """``joined: days``, ``joined: month (cos)``, ..., ``joined is missing``."""
        circles = [f"{self.column}: {cycle} ({part})" for cycle in self.cycles for part in ("cos", "sin")]
        days = [f"{self.column}: days"] * (not self.constant)
        return (*days, *circles, *[f"{self.column} is missing"] * self.indicator)

    def entries(self, values: Values) -> Entries:
        """Days, then circles, then the indicator."""
        days = values.as_dates(self.column, self.order)
        is_missing = np.isnan(days)
        missing, seen = np.flatnonzero(is_missing), np.flatnonzero(~is_missing)
        unseen = Counter({MISSING: len(missing)} if len(missing) and not self.indicator else {})
        since = np.where(is_missing, self.mean, days) - self.origin
        columns = [] if self.constant else [(np.arange(len(days)), since)]
        for cycle in self.cycles:
            angle = 2 * np.pi * _step(days[seen], cycle) / CYCLES[cycle]
            columns += [(seen, np.cos(angle)), (seen, np.sin(angle))]
        return _entries(columns, missing, self.indicator, unseen)


@dataclass(frozen=True, slots=True)
class DropPlan(Plan):
    """No numeric column, for the reason ``why``."""

    type: ClassVar[str] = "dropped"
    names: ClassVar[tuple[str, ...]] = ()

    @property
    def note(self) -> str:
        """Reason, with the name of the column."""
        return f"{self.column} was dropped: {self.why}."

    def entries(self, values: Values) -> Entries:
        """No entries."""
        return Entries(*NO_ENTRIES, Counter())


def _entries(columns: list[tuple[Codes, Float]], missing: Codes, indicator: bool, unseen: Unseen) -> Entries:
    """Join (rows, values) of each numeric column; the last one indicates the missing rows if there is an indicator."""
    if indicator:
        columns = [*columns, (missing, np.ones(len(missing)))]
    rows, values = zip(*columns, strict=True)
    column = np.repeat(np.arange(len(columns)), list(map(len, rows)))
    return Entries(np.concatenate(rows), column, np.concatenate(values), unseen)


def _indicators(places: Codes, codes: Codes, missing: bool, unseen: Unseen) -> Entries:
    """A one in the column ``places[code]`` of each row, none if negative; code -1, a missing value, is the last."""
    n_missing = int((codes < 0).sum())
    if n_missing and not missing:
        unseen[MISSING] += n_missing
    at = places[codes]
    rows = np.flatnonzero(at >= 0)
    return Entries(rows, at[rows], np.ones(len(rows)), unseen)


def _count_unseen(texts: tuple[str, ...], codes: Codes, known: Mapping[str, Any]) -> Unseen:
    if known.keys() >= set(texts):
        return Counter()
    counts = np.bincount(codes[codes >= 0], minlength=len(texts)).tolist()
    return +Counter({text: rows for text, rows in zip(texts, counts, strict=True) if text not in known})


def _step(days: Float, cycle: str) -> Float:
    """Months, weekdays (Monday is 0) or hours, from days since 1970-01-01, a Thursday."""
    if cycle == "hour":
        return (days - np.floor(days)) * 24
    whole = np.floor(days).astype(np.int64)
    if cycle == "weekday":
        return ((whole + 3) % 7).astype(np.float64)
    return (whole.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12).astype(np.float64)
