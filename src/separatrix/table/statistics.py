# SPDX-License-Identifier: BSD-3-Clause
"""Statistics of a table, from which the types of its columns are inferred. They take one pass over its batches.

`TableStatistics` of batches are added: the sum is associative and commutative, and ``TableStatistics()`` is its
identity. `infer_types` makes every decision (which column is an id, which level is rare) once, from the sum.

Text is parsed in every spelling and date order, because only another batch may show whether 1,234 has thousands or
decimals, and whether 03/04/2024 is in March. Each format (spelling or order) has its own statistics of the values that
it can read, and the first value that it cannot.

Distinct values are counted exactly up to a limit. Beyond it only the k smallest hashes are kept (Bar-Yossef et al.
2002): if h is the k-th smallest hash divided by the largest possible hash, there are about (k - 1) / h distinct values,
with a relative error of 1/√k. Both depend on the set of values only, not on batches or their order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix._array import Array, Codes, Float
from separatrix.exceptions import DataError
from separatrix.table.hashes import N_HASHES, hash_levels, hash_numbers
from separatrix.table.kinds import Kind
from separatrix.table.text import (
    BEGINNING,
    MINUS_SIGN,
    NUMBER_MARKS,
    ORDERS,
    PADDED,
    PLAIN,
    SPELLINGS,
    YEAR_FIRST,
    parse_dates,
    parse_numbers,
    split_units,
    tidy,
)
from separatrix.table.values import Place, Values, as_text, merge_kinds, open_batch, read_values, row_place
from separatrix.table.words import Documents

Level = str | float

MAX_DISTINCT = 10_000  # number of distinct values up to which they are counted exactly
SKETCH_HASHES = 1_024  # number of hashes that are kept, for a relative error of 3 %


@dataclass(frozen=True, slots=True)
class NumberStatistics:
    """Count, range and mean of numbers; ``whole`` is True if all are integers."""

    count: int = 0
    low: float = np.inf
    high: float = -np.inf
    mean: float = 0.0
    whole: bool = True

    @classmethod
    def of(cls, numbers: Float, counts: Codes | None = None) -> NumberStatistics:
        """Compute the statistics of numbers without NaN; number i occurs ``counts[i]`` times."""
        if not len(numbers):
            return cls()
        low, high = float(numbers.min()), float(numbers.max())
        scale = max(abs(low), abs(high)) or 1.0  # prevents overflow, and makes the mean of equal numbers exact
        mean = scale * float(np.average(numbers / scale, weights=counts))
        count = len(numbers) if counts is None else int(counts.sum())
        return cls(count, low, high, mean, whole=bool((numbers == np.floor(numbers)).all()))

    def __add__(self, other: NumberStatistics) -> NumberStatistics:
        if not (self.count and other.count):
            return self if self.count else other
        count = self.count + other.count
        fraction = other.count / count
        return NumberStatistics(
            count=count,
            low=min(self.low, other.low),
            high=max(self.high, other.high),
            mean=self.mean + (fraction * other.mean - fraction * self.mean),  # exact if both means are equal
            whole=self.whole and other.whole,
        )


@dataclass(frozen=True, slots=True)
class Levels:
    """Count of each distinct value. If there are more than ``limit`` distinct values, only ``hashes`` are kept."""

    counts: Mapping[Level, int] = field(default_factory=dict)
    hashes: frozenset[int] = frozenset()
    limit: int = MAX_DISTINCT

    @classmethod
    def of(cls, counts: Mapping[Level, int], limit: int) -> Levels:
        """Levels from counts of distinct values."""
        return cls({}, _smallest(hash_levels(counts)), limit) if len(counts) > limit else cls(counts, limit=limit)

    @classmethod
    def of_numbers(cls, numbers: Array, limit: int) -> Levels:
        """Levels of an array without NaN. If the first rows exceed the limit, the whole array need not be sorted."""
        if len(np.unique(numbers[: 4 * limit])) <= limit:
            distinct, counts = np.unique(numbers, return_counts=True)
            if len(distinct) <= limit:
                return cls(dict(zip(distinct.tolist(), counts.tolist(), strict=True)), limit=limit)
            numbers = distinct
        return cls({}, _smallest(hash_numbers(numbers)), limit)

    def __add__(self, other: Levels) -> Levels:
        """Add the counts, or merge the smallest hashes."""
        limit = min(self.limit, other.limit)
        if self.hashes or other.hashes:
            hashes = [part.hashes or _smallest(hash_levels(part.counts)) for part in (self, other)]
            return Levels({}, frozenset(sorted(hashes[0] | hashes[1])[:SKETCH_HASHES]), limit)
        counts = dict(self.counts)
        for level, count in other.counts.items():
            counts[level] = counts.get(level, 0) + count
        return Levels.of(counts, limit)

    @property
    def n_distinct(self) -> int:
        """Number of distinct values; an estimate if there are more than ``limit``."""
        if len(self.hashes) < SKETCH_HASHES:
            return len(self.counts) or len(self.hashes)
        return round((SKETCH_HASHES - 1) / (max(self.hashes) / N_HASHES))


def _smallest(hashes: NDArray[np.uint64]) -> frozenset[int]:
    return frozenset(np.unique(hashes)[:SKETCH_HASHES].tolist())


Format = tuple[str, str]  # spelling or date order, and the unit of numbers
Cell = tuple[int, str]  # row, counted from 0, and text


@dataclass(frozen=True, slots=True)
class Readings:
    """Statistics of a column for each format in which some of its values can be read.

    ``n_values`` counts the cells that are not missing, readable or not. ``first`` is the first of them, and ``odd`` the
    first that cannot be read, for each format. ``padded`` is True if a number has a superfluous leading zero.
    """

    formats: dict[Format, NumberStatistics] = field(default_factory=dict)
    n_values: int = 0
    padded: bool = False
    first: Cell | None = field(default=None, compare=False)
    odd: dict[Format, Cell] = field(default_factory=dict, compare=False)

    def __add__(self, other: Readings) -> Readings:
        """Add the statistics of each format; in a batch without a format, all values are odd."""
        formats, odd = dict(self.formats), {}
        for key, found in other.formats.items():
            formats[key] = formats.get(key, NumberStatistics()) + found
        for key in formats:
            cells = [part.odd.get(key) if key in part.formats else part.first for part in (self, other)]
            if found_odd := [cell for cell in cells if cell is not None]:
                odd[key] = min(found_odd)
        first = min((part.first for part in (self, other) if part.first is not None), default=None)
        return Readings(formats, self.n_values + other.n_values, self.padded or other.padded, first, odd)

    @property
    def key(self) -> Format:
        """The format that reads most values, and the preferred one of several; ("", "") if no value can be read."""
        best, least = ("", ""), (0, 0, "")
        for key, numbers in self.formats.items():
            rank = (-numbers.count, FORMAT_ORDER.index(key[0]), key[1])
            if rank < least:
                best, least = key, rank
        return best

    @property
    def best(self) -> NumberStatistics:
        return self.formats.get(self.key, NumberStatistics())

    @property
    def n_odd(self) -> int:
        """Number of values that cannot be read in the best format."""
        return self.n_values - self.best.count

    @property
    def rival(self) -> str:
        """Another format that reads as many values, but as different numbers, or ""."""
        best = self.best
        for name in FORMAT_ORDER:
            found = self.formats.get((name, self.key[1]), NumberStatistics())
            extent = max(abs(best.low), abs(best.high)) if best.count else 0.0
            agrees = (found.low, found.high) == (best.low, best.high) and abs(found.mean - best.mean) <= 1e-9 * extent
            if found.count == best.count and not agrees:
                return name
        return ""


FORMAT_ORDER = [*SPELLINGS, *ORDERS]


def text_readings(texts: Sequence[str], counts: Codes, rows: Codes) -> tuple[Readings, Readings]:
    """Read distinct texts as numbers in every spelling, and as dates in every order.

    Text i is in ``counts[i]`` rows, and first in row ``rows[i]``; these rows are in ascending order.
    """
    cells = tidy(texts)
    is_value = np.fromiter(map(bool, cells), bool, len(cells))
    present = np.flatnonzero(is_value)
    first = (int(rows[present[0]]), cells[present[0]]) if len(present) else None
    likely = [cell if BEGINNING.match(cell) else "" for cell in cells]
    units, bare = split_units(likely)
    n_values, padded = int(counts[is_value].sum()), any(map(PADDED.fullmatch, bare))
    as_numbers, as_dates = Readings({}, n_values, padded, first), Readings({}, n_values, first=first)
    for unit in sorted(set(units)):
        alike = bare
        if any(units):
            alike = [cell if found == unit else "" for cell, found in zip(bare, units, strict=True)]
        marks = NUMBER_MARKS & set("".join(alike))
        negatives = {"(1)"} if any(cell[:1] == "(" for cell in alike) else set()
        negatives |= {"1-"} if any(cell[-1:] in ("-", MINUS_SIGN) for cell in alike) else set()
        names_by_key = defaultdict(list)  # spellings with equal keys parse these cells alike
        for name, spelling in SPELLINGS.items():
            groups = marks & set(spelling.groups)
            key = (marks & {spelling.point}, groups, spelling.head * bool(groups), *negatives & {spelling.negative})
            names_by_key[key].append((name, unit))
        for names in names_by_key.values():
            read = parse_numbers(alike, SPELLINGS[names[0][0]])
            _add_formats(as_numbers, names, read, cells, rows, counts)
    for order in ORDERS:
        _add_formats(as_dates, [(order, "")], parse_dates(likely, order), cells, rows, counts)
    return as_numbers, as_dates


def _add_formats(
    readings: Readings, keys: list[Format], read: Float, cells: list[str], rows: Codes, counts: Codes
) -> None:
    """Add formats that read tidy cells alike, if they read any of them; ``read`` is NaN if they do not."""
    is_read = ~np.isnan(read)
    if is_read.any():
        readings.formats.update(dict.fromkeys(keys, NumberStatistics.of(read[is_read], counts[is_read])))
        for i in np.flatnonzero(~is_read):
            if cells[i]:
                readings.odd.update(dict.fromkeys(keys, (int(rows[i]), cells[i])))
                break


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """Statistics of one column, with the values that can be read as numbers and as dates.

    Durations are numbers of days, and dates are days since 1970. ``declared`` is True if the column's type is
    categorical. ``batch`` names the batch in which the kind was first found. ``documents`` are texts whose words are
    counted if the column is free text.
    """

    kind: Kind = Kind.NOTHING
    n_rows: int = 0
    n_missing: int = 0
    as_numbers: Readings = field(default_factory=Readings)
    as_dates: Readings = field(default_factory=Readings)
    levels: Levels = field(default_factory=Levels)
    declared: bool = False
    example: str = field(default="", compare=False)
    batch: str = field(default="", compare=False)
    documents: Documents = field(default_factory=Documents)

    @classmethod
    def of(cls, values: Values, limit: int, batch: str, first_row: int = 0) -> ColumnStatistics:
        """Statistics of the values of one batch; ``first_row`` is the number of rows in previous batches."""
        missing, texts, example = values.missing, values.texts, values.example
        n_values, levels = int((~missing).sum()), Levels(limit=limit)
        as_numbers = as_dates = Readings(n_values=n_values)
        documents = Documents()
        if values.kind is Kind.TEXT:
            counts = np.bincount(values.codes[~missing], minlength=len(texts))
            first_rows, backwards = np.empty(len(texts), np.intp), np.flatnonzero(~missing)[::-1]
            first_rows[values.codes[backwards]] = first_row + backwards  # the first row of a text is written last
            as_numbers, as_dates = text_readings(texts, counts, first_rows)
            levels, example = Levels.of(dict(zip(texts, counts.tolist(), strict=True)), limit), texts[0]
            documents = Documents.of(dict(zip(texts, counts.tolist(), strict=True)))
        elif values.kind not in (Kind.NOTHING, Kind.OTHER):
            is_finite, is_date = np.isfinite(values.numbers), values.kind is Kind.DATE
            found, odd = NumberStatistics.of(values.numbers[is_finite]), np.flatnonzero(~missing & ~is_finite)
            key = (YEAR_FIRST if is_date else PLAIN, "")
            cells = {key: (first_row + int(odd[0]), as_text(values.numbers[odd[0]]))} if len(odd) else {}
            read = Readings({key: found} if found.count else {}, n_values, first=cells.get(key), odd=cells)
            as_numbers, as_dates = (as_numbers, read) if is_date else (read, as_dates)
            levels = levels if is_date else Levels.of_numbers(values.present, limit)
        n_missing, declared = len(missing) - n_values, values.declared
        return cls(
            values.kind, len(missing), n_missing, as_numbers, as_dates, levels, declared, example, batch, documents
        )

    def plus(self, other: ColumnStatistics, name: str) -> ColumnStatistics:
        """Add the statistics of another batch of the column ``name``; raises DataError if the kinds do not agree."""
        kind = merge_kinds(self.kind, other.kind)
        if kind is None:
            raise DataError(
                f"Column {name!r} has {self.kind.value} in {self.batch} and {other.kind.value} in {other.batch}. "
                "Read all batches with the same types (for example this column as text), or leave the column out."
            )
        return ColumnStatistics(
            kind=kind,
            n_rows=self.n_rows + other.n_rows,
            n_missing=self.n_missing + other.n_missing,
            as_numbers=self.as_numbers + other.as_numbers,
            as_dates=self.as_dates + other.as_dates,
            levels=self.levels + other.levels,
            declared=self.declared or other.declared,
            example=self.example or other.example,
            batch=other.batch if self.kind is Kind.NOTHING else self.batch,
            documents=self.documents + other.documents,
        )


@dataclass(frozen=True, slots=True)
class TableStatistics:
    """Statistics of each column by name, and the number of rows, which ``place`` names in messages."""

    columns: Mapping[str, ColumnStatistics] = field(default_factory=dict)
    n_rows: int = 0
    place: Place = field(default=row_place, compare=False)

    def __add__(self, other: TableStatistics) -> TableStatistics:
        """Add the statistics of another batch with the same columns, in any order."""
        if not (self.columns and other.columns):
            return self if self.columns else other
        for name in sorted(self.columns.keys() ^ other.columns.keys()):
            have, lack = (self, other) if name in self.columns else (other, self)
            first, second = (next(iter(table.columns.values())).batch for table in (have, lack))
            raise DataError(
                f"Column {name!r} is in {first} but not in {second}. "
                "Provide the same columns in every batch (a column may be all missing), or leave this column out."
            )
        columns = {name: column.plus(other.columns[name], name) for name, column in self.columns.items()}
        return TableStatistics(columns, self.n_rows + other.n_rows, self.place)


def table_statistics(
    table: Any,
    *,
    name: str = "the table",
    unread: Iterable[str] = (),
    max_distinct: int = MAX_DISTINCT,
    first_row: int = 0,
) -> TableStatistics:
    """Compute the statistics of one table or batch of any data frame library, called ``name`` in messages.

    Columns in ``unread`` are not read and count as all missing. If a column has more than ``max_distinct`` distinct
    values, their number is estimated. ``first_row`` is the number of rows in previous batches, so that notes contain
    row numbers of the whole table. Raises DataError if a column of ``unread`` does not exist, or two columns have the
    same name.
    """
    batch = open_batch(table)
    columns = dict.fromkeys(batch.columns, ColumnStatistics(n_rows=batch.n_rows, n_missing=batch.n_rows, batch=name))
    skipped = set(unread)
    if skipped:
        batch.require(skipped)
    for column in columns:
        if column not in skipped:
            values = read_values(batch.columns[column])
            columns[column] = ColumnStatistics.of(values, max_distinct, name, first_row)
    return TableStatistics(columns, batch.n_rows, batch.place)
