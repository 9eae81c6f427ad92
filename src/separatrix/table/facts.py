# SPDX-License-Identifier: BSD-3-Clause
"""What there is to know about a table before its columns get types: a statistic, one pass, any batches.

`TableFacts` add: associative, commutative, the empty record their identity. Facts only; every opinion (which column is
an id, which level is rare) is formed once, in `infer_types`, from the sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from separatrix.exceptions import DataError
from separatrix.table.batch import open_batch
from separatrix.table.levels import MAX_DISTINCT, Level, Levels
from separatrix.table.moments import NumberFacts
from separatrix.table.readings import (
    NO_READING,
    Readings,
    any_date,
    any_number,
    date_readings,
    number_readings,
    only_date,
    only_number,
)
from separatrix.table.values import Kind, Values, join

__all__ = ["ColumnFacts", "NumberFacts", "TableFacts", "table_facts"]


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """One column. ``as_numbers`` and ``as_dates`` are empty once a value was seen that cannot be read as one.

    Text is read in every way that all of it allows, as no batch can tell which one is meant (1,234 and 03/04/2024).
    Durations are numbers, dates are counted since 1970, both in days. ``declared`` tells whether the column's own type
    calls it a category. ``batch`` is where its kind was first seen.
    """

    kind: Kind = Kind.NOTHING
    n_rows: int = 0
    n_missing: int = 0
    as_numbers: Readings = field(default_factory=any_number)
    as_dates: Readings = field(default_factory=any_date)
    levels: Levels = field(default_factory=Levels)
    declared: bool = False
    example: str = field(default="", compare=False)
    batch: str = field(default="", compare=False)

    @property
    def count(self) -> int:
        """Rows that have a value."""
        return self.n_rows - self.n_missing

    @property
    def numbers(self) -> NumberFacts | None:
        """Of the numbers that the column holds, by the likeliest reading; None where it holds something else."""
        return self.as_numbers.best

    @property
    def dates(self) -> NumberFacts | None:
        """Of the dates, likewise."""
        return self.as_dates.best

    @property
    def timed(self) -> bool:
        """Whether some date has an hour."""
        return self.dates is not None and not self.dates.whole

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
            as_numbers=self.as_numbers + other.as_numbers,
            as_dates=self.as_dates + other.as_dates,
            levels=self.levels + other.levels,
            declared=self.declared or other.declared,
            example=self.example or other.example,
            batch=other.batch if empty else self.batch,
        )


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
        return replace(facts, as_numbers=NO_READING, as_dates=NO_READING)
    numbers = values.numbers[~gap]
    summary = NumberFacts.of(numbers)
    if values.kind is Kind.DATE:
        return replace(facts, as_numbers=NO_READING, as_dates=only_date(summary))
    return replace(
        facts, as_numbers=only_number(summary), as_dates=NO_READING, levels=Levels.of_numbers(numbers, limit)
    )


def _text_facts(facts: ColumnFacts, values: Values, limit: int) -> ColumnFacts:
    counts = values.counted()
    levels: dict[Level, int] = dict(zip(values.texts, counts.tolist(), strict=True))
    return replace(
        facts,
        as_numbers=number_readings(values.texts, counts),
        as_dates=date_readings(values.texts, counts),
        levels=Levels.of(levels, limit),
        example=values.texts[0],
    )
