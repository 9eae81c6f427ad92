# SPDX-License-Identifier: BSD-3-Clause
"""Plans, which encode one column of a table; there is a class for each type of column.

Every plan names its numeric columns and computes their non-zero entries as (row, column, value), from which a dense or
a sparse matrix is built. It also counts values that did not occur in the training rows.

A category of many levels can be hashed (Weinberger et al. 2009): the hash of a level determines its column. With m
levels in n columns, a level shares its column, and therefore its weight, with (m - 1) / n other levels on average. All
entries are +1, without the random signs of that paper, so each column is an indicator.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count, repeat
from typing import Any, ClassVar, NamedTuple

import numpy as np

from separatrix._array import Codes, Float
from separatrix.table.hashes import hash_levels
from separatrix.table.kinds import Kind
from separatrix.table.text import PLAIN, YEAR_FIRST, tidy
from separatrix.table.values import Place, Values, as_text, row_place
from separatrix.table.words import MIN_WORDS, Terms, weighted_terms

Unseen = Counter[str]  # number of rows of each value that did not occur in training

OTHER, MISSING, NEW = "(other)", "(missing)", "(new)"
CYCLES = {"month": 12.0, "weekday": 7.0, "hour": 24.0}
MAX_SHOWN = 60  # characters of a value in a message
NO_ENTRIES = (np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0))


class Entries(NamedTuple):
    """Non-zero entries of the numeric columns of one plan, the unseen values, and those that do not match the type."""

    row: Codes
    column: Codes
    value: Float
    unseen: Unseen
    odd: OddCells | None = None


class OddCells(NamedTuple):
    """Values of a column that are not what it should have: a number, a date or known words.

    The first is ``text`` in ``row``.
    """

    column: str
    what: str
    n_cells: int
    text: str
    row: int
    place: Place = row_place

    def __str__(self) -> str:
        is_one = self.n_cells == 1
        what, effect = (
            f"that {'is not a' if is_one else 'are not'} {self.what}{'s' * (not is_one)}",
            "treated as missing",
        )
        if self.what == TextPlan.type:
            what, effect = "in which no word is known from the training rows", "predicted like a text without words"
        values, first = ("1 value", "") if is_one else (f"{self.n_cells:,} values", " the first is")
        shown = self.text if len(self.text) <= MAX_SHOWN else f"{self.text[:MAX_SHOWN]}..."
        return f"{self.column!r} has {values} {what},{first} {shown!r} in {self.place(self.row)}: {effect}."


@dataclass(frozen=True, slots=True)
class Plan(ABC):
    """Encoding of one column of the table.

    ``kind`` is the type of the column in one word, and ``why`` describes the values that led to this type.
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
    def width(self) -> int:
        """Number of numeric columns."""
        return len(self.names)

    @property
    def short_names(self) -> list[str]:
        """Names without the name of the column: ``red`` for ``colour=red``, ``free`` for ``message: free``."""
        prefix = re.compile(rf"^{re.escape(self.column)}(=|: |(?=#))")
        return [prefix.sub("", name) for name in self.names]

    @property
    def note(self) -> str:
        """Sentence about an uncertain decision, or ""."""
        return ""

    @abstractmethod
    def entries(self, values: Values) -> Entries:
        """Encode the values of some rows."""


@dataclass(frozen=True, slots=True)
class NumberPlan(Plan):
    """A number. Missing values are set to the training mean, and have an indicator if training had missing values.

    ``words`` maps the two words of a yes/no column to 0 and 1. If the column is ``constant`` apart from missing values,
    only the indicator remains. ``spelling`` and ``unit`` describe how numbers in text are written; predictions parse
    text in the same way. ``low`` and ``high`` are the range in training, None in files of older versions.
    """

    type: ClassVar[str] = "number"
    mean: float
    indicator: bool
    constant: bool
    words: dict[str, float]
    spelling: str = PLAIN
    unit: str = ""
    note: str = ""
    low: float | None = None
    high: float | None = None
    whole: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Names such as ``age`` and ``age is missing``."""
        name = self.column
        for word, value in self.words.items():
            name = f"{self.column}={word}" if value else name
        return (name,) * (not self.constant) + (f"{self.column} is missing",) * self.indicator

    def entries(self, values: Values) -> Entries:
        """Replace missing values by the mean. Words and infinity are treated as missing, and counted as unseen."""
        unseen: Unseen | None = None
        if not self.words or values.kind is Kind.BOOLEAN:
            numbers = values.as_numbers(self.column, self.spelling, self.unit)
        else:
            texts, codes = values.as_texts(self.column)
            unseen = _count_unseen(texts, codes, self.words)
            numbers = np.array([*map(self.words.get, texts, repeat(np.nan)), np.nan])[codes]
        filled = np.where(np.isnan(numbers), self.mean, numbers)
        columns = [] if self.constant else [(np.arange(len(filled)), filled)]
        return _entries(self, values, numbers, columns, unseen)


@dataclass(frozen=True, slots=True)
class CategoryPlan(Plan):
    """An indicator for each of ``levels``, then for ``(other)`` and ``(missing)`` if training had any.

    ``pooled`` are the rare levels that share ``(other)``. An unseen level is encoded as ``(other)``, or by zeros if
    there is no such indicator. With ``new``, it has an indicator of its own, ``(new)``, which is zero in all training
    rows; so does a missing value, if training had none. `Schema` puts these indicators after those of all plans. The
    ``reference`` level has no indicator; "" if there is no reference level.
    """

    type: ClassVar[str] = "categorical"
    levels: tuple[str, ...]
    pooled: tuple[str, ...]
    missing: bool
    reference: str
    note: str = ""
    new: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Names such as ``colour=red``, ``colour=(other)``, ``colour=(missing)``."""
        levels = [*self.levels, *[OTHER] * bool(self.pooled), *[MISSING] * self.missing]
        if self.reference:
            levels.remove(self.reference)
        return tuple(map(f"{self.column}=".__add__, levels))

    @property
    def places(self) -> tuple[dict[str, int], int, int]:
        """Columns of the levels in training, of unseen levels, and of missing values; -1 if they have no indicator.

        With ``new``, the column of an unseen level is the number of ``names``.
        """
        levels = [level for level in self.levels if level != self.reference]
        other = len(levels) if self.pooled else -1
        n_names = len(levels) + bool(self.pooled) + self.missing
        known = {self.reference: -1, **dict.fromkeys(self.pooled, other), **dict(zip(levels, count()))}
        return known, n_names if self.new else other, n_names - 1 if self.missing else n_names if self.new else -1

    def entries(self, values: Values) -> Entries:
        """A one in each row, except in rows with the reference level or with an unseen level that has no indicator."""
        (known, elsewhere, missing), (texts, codes) = self.places, values.as_texts(self.column)
        places = np.array([*map(known.get, texts, repeat(elsewhere)), missing])
        unseen = Counter() if known.keys() >= set(texts) else _count_unseen(texts, codes, known)
        return _indicators(places, codes, self.missing, unseen)


@dataclass(frozen=True, slots=True)
class HashPlan(Plan):
    """An indicator for each of ``n_columns`` hashes of a level, then for ``(missing)`` if training had any.

    Every level has a hash, so no level is rare or unseen. Levels with equal hashes share a column. If ``dropped``, the
    first column is left out as the reference.
    """

    type: ClassVar[str] = "hashed"
    n_columns: int
    missing: bool
    dropped: bool

    @property
    def names(self) -> tuple[str, ...]:
        """Names such as ``zip#0``, ``zip#1``, ..., ``zip=(missing)``."""
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
    """Days since ``origin``, and the position in each of ``cycles``, such as the month in the year.

    Step k of a cycle of n steps is the point (cos, sin) 2πk/n on a circle, so December is next to January. A missing
    date has the mean number of days and (0, 0) in each cycle, and an indicator if training had missing dates. If all
    dates are equal, only the indicator remains. ``order`` is the order of day, month and year in text. ``low`` and
    ``high`` are the range in training, in days since 1970; None in files of older versions.
    """

    type: ClassVar[str] = "date"
    origin: float
    mean: float
    cycles: tuple[str, ...]
    indicator: bool
    constant: bool
    order: str = YEAR_FIRST
    note: str = ""
    low: float | None = None
    high: float | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names such as ``joined: days``, ``joined: month (cos)``, ..., ``joined is missing``."""
        circles = [f"{self.column}: {cycle} ({part})" for cycle in self.cycles for part in ("cos", "sin")]
        days = [f"{self.column}: days"] * (not self.constant)
        return (*days, *circles, *[f"{self.column} is missing"] * self.indicator)

    def entries(self, values: Values) -> Entries:
        """Entries of the days, of the cycles and of the indicator. Other values are missing, and counted as unseen."""
        days = values.as_dates(self.column, self.order)
        seen = np.flatnonzero(~np.isnan(days))
        since = np.where(np.isnan(days), self.mean, days) - self.origin
        columns = [] if self.constant else [(np.arange(len(days)), since)]
        for cycle in self.cycles:
            angle = 2 * np.pi * _step(days[seen], cycle) / CYCLES[cycle]
            columns += [(seen, np.cos(angle)), (seen, np.sin(angle))]
        return _entries(self, values, days, columns)


@dataclass(frozen=True, slots=True)
class TextPlan(Plan):
    """Weights of words and pairs of words, then an indicator of missing text if training had any.

    ``terms`` are the words and pairs, and ``rarity`` their factors; see `separatrix.table.words`. Other words are left
    out, so a text without a known word is encoded by zeros. It is reported if it has at least `MIN_WORDS` words, as a
    text in another language has; shorter ones are ordinary.
    """

    type: ClassVar[str] = "text"
    terms: tuple[str, ...]
    rarity: tuple[float, ...]
    indicator: bool
    note: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Names such as ``message: free``, ``message: free entry``, ..., ``message is missing``."""
        return (*map(f"{self.column}: ".__add__, self.terms), *[f"{self.column} is missing"] * self.indicator)

    @property
    def width(self) -> int:
        """Number of numeric columns, without their names, which are many."""
        return len(self.terms) + self.indicator

    def entries(self, values: Values) -> Entries:
        """Weights of the terms in each row; each distinct text is split once."""
        texts, codes = values.as_texts(self.column, self.type)
        missing, present = np.flatnonzero(codes < 0), np.flatnonzero(codes >= 0)
        weights, n_words = weighted_terms(texts, Terms(self.terms, self.rarity))
        found = weights[codes[present]].tocoo()
        unseen = Counter({MISSING: len(missing)} if len(missing) and not self.indicator else {})
        is_unknown = (n_words >= MIN_WORDS) & (np.diff(weights.indptr) == 0)
        unknown, odd = present[is_unknown[codes[present]]], None
        if len(unknown):
            unseen += Counter(texts[code] for code in codes[unknown])
            odd = OddCells(self.column, self.type, len(unknown), texts[codes[unknown[0]]], int(unknown[0]))
        missing = missing[: len(missing) * self.indicator]
        row, column = (
            np.append(present[found.row], missing),
            np.append(found.col, np.full(len(missing), len(self.terms))),
        )
        return Entries(row, column, np.append(found.data, np.ones(len(missing))), unseen, odd)


@dataclass(frozen=True, slots=True)
class DropPlan(Plan):
    """A column that is dropped, for the reason ``why``."""

    type: ClassVar[str] = "dropped"
    names: ClassVar[tuple[str, ...]] = ()

    @property
    def note(self) -> str:
        return f"{self.column} was dropped: {self.why}."

    def entries(self, values: Values) -> Entries:
        return Entries(*NO_ENTRIES, Counter())


def _entries(
    plan: NumberPlan | DatePlan,
    values: Values,
    read: Float,
    columns: list[tuple[Codes, Float]],
    unseen: Unseen | None = None,
) -> Entries:
    """Join the entries (rows, values) of the numeric columns of a plan, and the indicator of missing values.

    ``read`` has the numbers or days, and NaN for other values; those that are not missing are odd, and unseen unless
    ``unseen`` is given. Without an indicator, training had no missing values, so missing values are unseen, too.
    """
    is_gap, odd = np.isnan(read), None
    if unseen is None:
        rows = np.flatnonzero(is_gap & ~values.missing)
        if values.kind is Kind.TEXT and len(rows):  # words for missing values are not odd
            rows = rows[np.fromiter(map(bool, tidy(values.texts)), bool)[values.codes[rows]]]
        texts: list[str] = []
        for row in rows.tolist():
            texts.append(values.texts[values.codes[row]] if values.kind is Kind.TEXT else as_text(values.numbers[row]))
        odd = OddCells(plan.column, plan.type, len(rows), texts[0], int(rows[0])) if texts else None
        unseen = Counter(texts)
    missing = np.flatnonzero(is_gap)
    if plan.indicator:
        columns = [*columns, (missing, np.ones(len(missing)))]
    elif len(missing) > unseen.total():
        unseen[MISSING] += len(missing) - unseen.total()
    places, entries = zip(*columns, strict=True)
    column = np.repeat(np.arange(len(columns)), list(map(len, places)))
    return Entries(np.concatenate(places), column, np.concatenate(entries), unseen, odd)


def _indicators(places: Codes, codes: Codes, missing: bool, unseen: Unseen) -> Entries:
    """Put a one into the column ``places[code]`` of each row, unless it is negative; ``places[-1]`` is for missing."""
    n_missing = int((codes < 0).sum())
    if n_missing and not missing:
        unseen[MISSING] += n_missing
    at = places[codes]
    rows = np.flatnonzero(at >= 0)
    return Entries(rows, at[rows], np.ones(len(rows)), unseen)


def _count_unseen(texts: tuple[str, ...], codes: Codes, known: Mapping[str, Any]) -> Unseen:
    counts = np.bincount(codes[codes >= 0], minlength=len(texts)).tolist()
    return +Counter({text: rows for text, rows in zip(texts, counts, strict=True) if text not in known})


def _step(days: Float, cycle: str) -> Float:
    """Month (January is 0), weekday (Monday is 0) or hour of days since 1970-01-01, which was a Thursday."""
    if cycle == "hour":
        return (days - np.floor(days)) * 24
    whole = np.floor(days).astype(np.int64)
    if cycle == "weekday":
        return ((whole + 3) % 7).astype(np.float64)
    return (whole.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12).astype(np.float64)
