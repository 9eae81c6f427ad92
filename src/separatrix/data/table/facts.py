# SPDX-License-Identifier: BSD-3-Clause
"""What there is to know about a table before its columns get types: a statistic, one pass, any batches.

`TableFacts` add: associative, commutative, the empty record their identity. Facts only; every opinion (which column is
an id, which level is rare) is formed once, in `infer_types`, from the sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from separatrix._array import Codes, Float
from separatrix.data.table.batch import open_batch
from separatrix.data.table.levels import MAX_DISTINCT, Level, Levels
from separatrix.data.table.parse import parse_date, parse_number
from separatrix.data.table.values import Kind, Values, join
from separatrix.exceptions import DataError

__all__ = ["ColumnFacts", "NumberFacts", "TableFacts", "table_facts"]


@dataclass(frozen=True, slots=True)
class NumberFacts:
    """Count, extent, mean and squared deviations Σ (x - mean)² of numbers; whether all of them are whole."""

    count: int = 0
    low: float = np.inf
    high: float = -np.inf
    mean: float = 0.0
    squares: float = 0.0
    whole: bool = True

    @classmethod
    def of(cls, numbers: Float, counts: Codes | None = None) -> NumberFacts:
        """Of numbers without NaN, each once or as often as ``counts`` says."""
        if not len(numbers):
            return cls()
        low, high = float(numbers.min()), float(numbers.max())
        scale = max(abs(low), abs(high)) or 1.0  # no sum overflows, and equal numbers have exactly their own mean
        z = numbers / scale
        mean = float(np.average(z, weights=counts))
        squares = float(np.sum((z - mean) ** 2 * (1 if counts is None else counts)))
        return cls(
            count=len(numbers) if counts is None else int(counts.sum()),
            low=low,
            high=high,
            mean=scale * mean,
            squares=scale * scale * squares if squares else 0.0,
            whole=bool((numbers == np.floor(numbers)).all()),
        )

    def __add__(self, other: NumberFacts) -> NumberFacts:
        """Pairwise merge of centred moments: Chan, Golub & LeVeque (1979)."""
        if not (self.count and other.count):
            return self if self.count else other
        count = self.count + other.count
        share = other.count / count
        delta = other.mean - self.mean
        return NumberFacts(
            count=count,
            low=min(self.low, other.low),
            high=max(self.high, other.high),
            mean=self.mean + share * delta if math.isfinite(delta) else (1 - share) * self.mean + share * other.mean,
            squares=self.squares + other.squares + delta * delta * self.count * share,
            whole=self.whole and other.whole,
        )

    @property
    def variance(self) -> float:
        """Σ (x - mean)² / n; infinite where squares are too large for arithmetic."""
        return self.squares / self.count if self.count else 0.0


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """One column. ``numbers`` and ``dates`` are None once a value was seen that cannot be read as one.

    Durations are numbers, dates are counted since 1970, both in days. ``timed`` tells whether some date has an hour,
    ``declared`` whether the column's own type calls it a category. ``batch`` is where its kind was first seen.
    """

    kind: Kind = Kind.NOTHING
    n_rows: int = 0
    n_missing: int = 0
    numbers: NumberFacts | None = NumberFacts()
    dates: NumberFacts | None = NumberFacts()
    timed: bool = False
    levels: Levels = field(default_factory=Levels)
    declared: bool = False
    example: str = field(default="", compare=False)
    batch: str = field(default="", compare=False)

    @property
    def count(self) -> int:
        """Rows that have a value."""
        return self.n_rows - self.n_missing

    def plus(self, other: ColumnFacts, name: str) -> ColumnFacts:
        """The facts of both batches of the column called ``name``.

        Raises
        ------
        DataError
            Naming the column and both batches, where one holds numbers and the other, say, text.
        """
        kind = join(self.kind, other.kind)
        if kind is None:
            raise DataError(
                f"Column {name!r} holds {self.kind.value} in {self.batch} and {other.kind.value} in {other.batch}. "
                "Read all batches with the same types (for example this column as text), or leave the column out."
            )
        empty = self.kind is Kind.NOTHING
        return ColumnFacts(
            kind=kind,
            n_rows=self.n_rows + other.n_rows,
            n_missing=self.n_missing + other.n_missing,
            numbers=_both(self.numbers, other.numbers),
            dates=_both(self.dates, other.dates),
            timed=self.timed or other.timed,
            levels=self.levels + other.levels,
            declared=self.declared or other.declared,
            example=self.example or other.example,
            batch=other.batch if empty else self.batch,
        )


def _both(a: NumberFacts | None, b: NumberFacts | None) -> NumberFacts | None:
    return None if a is None or b is None else a + b


@dataclass(frozen=True, slots=True)
class TableFacts:
    """The facts of each column, by name, and the number of rows. ``TableFacts()`` is the identity of ``+``.

    Examples
    --------
    >>> import pandas as pd
    >>> first = table_facts(pd.DataFrame({"age": [40, 50], "colour": ["red", None]}))
    >>> second = table_facts(pd.DataFrame({"age": [60.5], "colour": ["blue"]}))
    >>> both = first + second
    >>> both.n_rows, both.columns["age"].numbers.high, both.columns["colour"].n_missing
    (3, 60.5, 1)
    """

    columns: Mapping[str, ColumnFacts] = field(default_factory=dict)
    n_rows: int = 0

    def __add__(self, other: TableFacts) -> TableFacts:
        """Facts of both batches; columns may come in any order, but each in both."""
        if not (self.columns and other.columns):
            return self if self.columns else other
        for name in [*self.columns, *other.columns]:
            if name not in self.columns or name not in other.columns:
                raise _one_sided(name, self, other)
        columns = {name: facts.plus(other.columns[name], name) for name, facts in self.columns.items()}
        return TableFacts(columns, self.n_rows + other.n_rows)

    @property
    def batch(self) -> str:
        """The batch, or the first of them."""
        return next((facts.batch for facts in self.columns.values()), "the table")


def _one_sided(name: str, left: TableFacts, right: TableFacts) -> DataError:
    have, lack = (left, right) if name in left.columns else (right, left)
    return DataError(
        f"Column {name!r} is in {have.batch} but not in {lack.batch}. "
        "Give every batch the same columns (a column may be all missing), or leave it out of all."
    )


def table_facts(
    table: Any, *, name: str = "the table", unread: Iterable[str] = (), max_distinct: int = MAX_DISTINCT
) -> TableFacts:
    """The facts of one table or batch, whatever library it comes from.

    Parameters
    ----------
    table : pandas, polars or pyarrow table, record batch, or two-dimensional array
        The rows.
    name : str
        What to call this batch in messages.
    unread : names of columns
        Not to be looked at: known to be there, as if every value were missing.
    max_distinct : int
        How many different values of a column are counted; beyond that their number is estimated.

    Raises
    ------
    DataError
        Where names of columns repeat or are not there, values are infinite, or a column mixes numbers with text.
    """
    batch = open_batch(table)
    closed = ColumnFacts(n_rows=batch.n_rows, n_missing=batch.n_rows, batch=name)
    skipped = batch.require(unread)
    columns = {
        column: closed if column in skipped else _column_facts(batch.read(column), max_distinct, name)
        for column in batch.names
    }
    return TableFacts(columns, batch.n_rows)


def _column_facts(values: Values, limit: int, batch: str) -> ColumnFacts:
    gap = values.missing
    facts = ColumnFacts(
        kind=values.kind,
        n_rows=len(gap),
        n_missing=int(gap.sum()),
        levels=Levels(limit=limit),
        declared=values.declared,
        example=values.example,
        batch=batch,
    )
    if values.kind is Kind.NOTHING:
        return facts
    if values.kind is Kind.TEXT:
        return _text_facts(facts, values, limit)
    if values.kind is Kind.OTHER:
        return replace(facts, numbers=None, dates=None)
    numbers = values.numbers[~gap]
    summary = NumberFacts.of(numbers)
    if values.kind is Kind.DATE:
        return replace(facts, numbers=None, dates=summary, timed=not summary.whole)
    return replace(facts, numbers=summary, dates=None, levels=Levels.of_numbers(numbers, limit))


def _text_facts(facts: ColumnFacts, values: Values, limit: int) -> ColumnFacts:
    counts = values.counted()
    levels: dict[Level, int] = dict(zip(values.texts, counts.tolist(), strict=True))
    dates = _parsed(values.texts, counts, parse_date)
    return replace(
        facts,
        numbers=_parsed(values.texts, counts, parse_number),
        dates=dates,
        timed=dates is not None and not dates.whole,
        levels=Levels.of(levels, limit),
        example=values.texts[0],
    )


def _parsed(texts: tuple[str, ...], counts: Codes, parse: Callable[[str], float | None]) -> NumberFacts | None:
    """The facts of the numbers that the texts are; None as soon as one is not, as with most columns the first."""
    numbers = np.empty(len(texts))
    for i, text in enumerate(texts):
        number = parse(text)
        if number is None:
            return None
        numbers[i] = number
    some = ~np.isnan(numbers)
    return NumberFacts.of(numbers[some], counts[some])
