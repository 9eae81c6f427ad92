# SPDX-License-Identifier: BSD-3-Clause
"""What a column of a table becomes: one record for each way, plain enough to be saved.

Every plan names its numeric columns and fills them with `entries`: the non-zero numbers as (row, column, value), so
that a dense and a sparse matrix come from the same lines. What it had to leave out, it counts: `Surprises` are values
that training never saw.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from separatrix._array import Array, Codes, Float
from separatrix.exceptions import DataError
from separatrix.table.dates import ORDERS, YEAR_FIRST
from separatrix.table.spelling import PLAIN, SPELLINGS
from separatrix.table.values import Kind, Values

__all__ = ["CategoryPlan", "DatePlan", "DropPlan", "Entries", "NumberPlan", "Plan", "Surprises"]

Surprises = Counter[str]  # values never seen in training, and how many rows have each

OTHER, MISSING = "(other)", "(missing)"
CYCLES = {"month": 12.0, "weekday": 7.0, "hour": 24.0}


class Entries(NamedTuple):
    """Non-zero numbers of one plan's columns, and what was unseen."""

    row: Codes
    column: Codes
    value: Float
    surprises: Surprises


class Plan(Protocol):
    """How one column of the table is encoded."""

    type: ClassVar[str]

    @property
    def column(self) -> str:
        """Its name in the table."""

    @property
    def kind(self) -> str:
        """What it is, in one word."""

    @property
    def why(self) -> str:
        """What was seen in it."""

    @property
    def note(self) -> str:
        """What a reader may doubt, in a sentence; "" if nothing."""

    @property
    def names(self) -> tuple[str, ...]:
        """The numeric columns it becomes."""

    @property
    def fill(self) -> float:
        """How many of them are not zero in a row, on average."""

    def entries(self, values: Values) -> Entries:
        """The numbers of some rows."""


@dataclass(frozen=True, slots=True)
class NumberPlan:
    """The number itself, the mean of training where it is missing; and, if it was ever missing, an indicator of that.

    ``words`` are the texts that mean 0 and 1, of a column of yes and no. A column that is ``constant`` where it has a
    value becomes the indicator alone. ``spelling`` and ``unit`` are how the numbers were written where they were text,
    and are read in every later batch.
    """

    type: ClassVar[str] = "number"
    column: str
    kind: str
    why: str
    mean: float
    indicator: bool
    constant: bool
    words: dict[str, float]
    spelling: str = PLAIN
    unit: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        if self.spelling not in SPELLINGS:
            raise DataError(f"Column {self.column!r} has the unknown spelling {self.spelling!r}.")

    @property
    def names(self) -> tuple[str, ...]:
        """``age`` and ``age is missing``."""
        name = next((f"{self.column}={word}" for word, value in self.words.items() if value), self.column)
        return (name,) * (not self.constant) + (f"{self.column} is missing",) * self.indicator

    @property
    def fill(self) -> float:
        """One, as if no number were zero."""
        return float(not self.constant)

    def entries(self, values: Values) -> Entries:
        """Gaps get the mean. Words other than the two are gaps, too, and surprises."""
        surprises: Surprises = Counter()
        numbers = self._spelled(values, surprises) if self.words else self._numbers(values)
        gap = np.isnan(numbers)
        if gap.any() and not self.indicator:
            surprises[MISSING] += int(gap.sum()) - surprises.total()
        missing = _ones(np.flatnonzero(gap) if self.indicator else _NONE, int(not self.constant))
        if self.constant:
            return Entries(*missing, +surprises)
        filled = np.where(gap, self.mean, numbers)
        rows = np.arange(len(filled))
        return Entries(*_joined([(rows, np.zeros_like(rows), filled), missing]), +surprises)

    def _numbers(self, values: Values) -> Float:
        return values.as_numbers(self.column, self.spelling, self.unit)

    def _spelled(self, values: Values, surprises: Surprises) -> Float:
        texts, codes = values.as_texts(self.column)
        if values.kind is Kind.BOOLEAN:
            return values.numbers
        for text, rows in _rows_of(texts, codes):
            if text not in self.words:
                surprises[text] += rows
        return np.array([*(self.words.get(text, np.nan) for text in texts), np.nan])[codes]


@dataclass(frozen=True, slots=True)
class CategoryPlan:
    """An indicator for each level: those of ``levels``, then ``(other)`` and ``(missing)`` where training had any.

    ``pooled`` are the rare levels behind ``(other)``. A level never seen counts as ``(other)``, or where there is
    none as no level at all: every indicator zero, as for the ``reference``, which has no indicator ("" if all have).
    """

    type: ClassVar[str] = "categorical"
    column: str
    kind: str
    why: str
    levels: tuple[str, ...]
    pooled: tuple[str, ...]
    missing: bool
    reference: str
    note: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """``colour=red``, ``colour=(other)``, ``colour=(missing)``."""
        return tuple(f"{self.column}={level}" for level in self._indicators())

    @property
    def fill(self) -> float:
        """One level a row."""
        return 1.0

    def _indicators(self) -> list[str]:
        every = [*self.levels, *[OTHER] * bool(self.pooled), *[MISSING] * self.missing]
        return [level for level in every if level != self.reference]

    def entries(self, values: Values) -> Entries:
        """A one for each row, unless it has the reference level or an unseen one."""
        place = {level: d for d, level in enumerate(self._indicators())}
        nowhere = -1
        known = {level: place.get(level, nowhere) for level in self.levels}
        known |= dict.fromkeys(self.pooled, place.get(OTHER, nowhere))
        texts, codes = values.as_texts(self.column)
        surprises = Counter({text: rows for text, rows in _rows_of(texts, codes) if text not in known})
        gaps = int((codes < 0).sum())
        if gaps and not self.missing:
            surprises[MISSING] += gaps
        unseen = place.get(OTHER, nowhere)
        at = np.array([*(known.get(text, unseen) for text in texts), place.get(MISSING, nowhere)], dtype=np.intp)[codes]
        rows = np.flatnonzero(at >= 0)
        return Entries(rows, at[rows], np.ones(len(rows)), surprises)


@dataclass(frozen=True, slots=True)
class DatePlan:
    """Days since ``origin``, and the cycles that the range of dates is long enough to show.

    A cycle of n steps is a point on a circle, (cos, sin) 2π step / n, so that December is next to January. A missing
    date has the mean number of days, the centre of each circle, and an indicator if there were any in training; where
    all dates are one, it becomes that alone. ``order`` is that of day, month and year where dates were text.
    """

    type: ClassVar[str] = "date"
    column: str
    kind: str
    why: str
    origin: float
    mean: float
    cycles: tuple[str, ...]
    indicator: bool
    constant: bool
    order: str = YEAR_FIRST
    note: str = ""

    def __post_init__(self) -> None:
        if self.order not in ORDERS:
            raise DataError(f"Column {self.column!r} has the unknown order of dates {self.order!r}.")
        if not set(self.cycles) <= set(CYCLES):
            raise DataError(f"Column {self.column!r} has unknown cycles {self.cycles}; there are {tuple(CYCLES)}.")

    @property
    def names(self) -> tuple[str, ...]:
        """``joined: days``, ``joined: month (cos)``, ..., ``joined is missing``."""
        circles = [f"{self.column}: {cycle} ({part})" for cycle in self.cycles for part in ("cos", "sin")]
        days = [f"{self.column}: days"] * (not self.constant)
        return (*days, *circles, *[f"{self.column} is missing"] * self.indicator)

    @property
    def fill(self) -> float:
        """The days and both coordinates of each cycle."""
        return float(not self.constant) + 2 * len(self.cycles)

    def entries(self, values: Values) -> Entries:
        """The day, then the circles."""
        days = values.as_dates(self.column, self.order)
        gap = np.isnan(days)
        surprises = Counter({MISSING: int(gap.sum())} if gap.any() and not self.indicator else {})
        rows, seen = np.arange(len(days)), np.flatnonzero(~gap)
        since = np.where(gap, self.mean, days) - self.origin
        parts = [] if self.constant else [(rows, np.zeros_like(rows), since)]
        for cycle in self.cycles:
            angle = 2 * np.pi * _step(days[seen], cycle) / CYCLES[cycle]
            for coordinate in (np.cos(angle), np.sin(angle)):
                parts.append((seen, np.full(len(seen), len(parts)), coordinate))
        parts.append(_ones(np.flatnonzero(gap) if self.indicator else _NONE, len(parts)))
        return Entries(*_joined(parts), surprises)


@dataclass(frozen=True, slots=True)
class DropPlan:
    """Nothing; ``why`` says why."""

    type: ClassVar[str] = "dropped"
    column: str
    kind: str
    why: str

    @property
    def note(self) -> str:
        """Why, with the name of the column."""
        return f"{self.column} was dropped: {self.why}."

    @property
    def names(self) -> tuple[str, ...]:
        """None."""
        return ()

    @property
    def fill(self) -> float:
        """None."""
        return 0.0

    def entries(self, values: Values) -> Entries:
        """None."""
        return Entries(_NONE, _NONE, np.empty(0), Counter())


_NONE: Codes = np.empty(0, dtype=np.intp)


def _ones(rows: Codes, column: int) -> tuple[Codes, Codes, Float]:
    return rows, np.full(len(rows), column), np.ones(len(rows))


def _joined(parts: list[tuple[Codes, Codes, Float]]) -> tuple[Array, Array, Array]:
    row, column, value = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return row, column, value


def _rows_of(texts: tuple[str, ...], codes: Codes) -> zip[tuple[str, int]]:
    counts = np.bincount(codes[codes >= 0], minlength=len(texts)).tolist()
    return zip(texts, counts, strict=True)


def _step(days: Float, cycle: str) -> Float:
    """Months, weekdays (Monday 0) or hours, from days since 1970, a Thursday."""
    if cycle == "hour":
        return (days - np.floor(days)) * 24
    whole = np.floor(days).astype(np.int64)
    if cycle == "weekday":
        return ((whole + 3) % 7).astype(np.float64)
    return (whole.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12).astype(np.float64)
