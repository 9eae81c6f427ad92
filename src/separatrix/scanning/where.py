# SPDX-License-Identifier: BSD-3-Clause
"""Which rows of a table count: a condition in SQL, which DuckDB evaluates batch by batch, or an expression of Arrow.

A condition also tells what it `implies`, so that row groups of Parquet which cannot have such a row are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from separatrix._text import did_you_mean
from separatrix.exceptions import DataError
from separatrix.scanning.bounds import implied, parse

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ArrowCondition", "Condition", "SqlCondition", "make_condition"]

COMPARISONS = re.compile(r"(?:[() ]|and |or |[^()\s]+ (?:[<>]=?|==) [^()\s]+)+")  # joined by and, or; nothing negated


class Condition(Protocol):
    """Which rows count."""

    @property
    def columns(self) -> tuple[str, ...]:
        """That it speaks of."""

    def keep(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows for which it holds."""

    def implies(self, schema: pa.Schema) -> Any:
        """An expression of Arrow that holds for all of them, on columns of these types; None where none is known."""


class Typed(Protocol):
    """A table that knows its columns and their types."""

    @property
    def columns(self) -> tuple[str, ...]:
        """All there are."""

    def schema(self, columns: Sequence[str]) -> pa.Schema:
        """The types of some."""


def make_condition(where: Any, table: Typed) -> Condition:
    """The condition that a user wrote on the rows of a table.

    Raises
    ------
    DataError
        Where it is neither SQL nor an expression of Arrow, speaks of a column that is not there, or of two that SQL
        cannot tell apart, or may hold for other rows in the next pass.
    """
    import pyarrow.compute as pc

    if isinstance(where, pc.Expression):
        return ArrowCondition.of(where, table)
    if not isinstance(where, str):
        raise DataError(f'where={where!r}: give a condition in SQL, such as "age > 30", or a pyarrow expression.')
    tree = _parsed(where)
    _require_the_same_each_time(where, tree)
    used = tuple(dict.fromkeys(str(node["column_names"][-1]) for node in _nodes(tree, "COLUMN_REF")))
    for name in used:
        if name not in table.columns:
            raise DataError(f"where={where!r}: the table has no column {name!r}.{did_you_mean(name, table.columns)}")
    if len({name.lower() for name in used}) < len(used):
        raise DataError(
            f"where={where!r} names columns that differ in case alone ({', '.join(used)}), which are one and "
            "the same to SQL. Give an expression of Arrow: pyarrow.compute.field('a') > 3."
        )
    return SqlCondition(where, used or table.columns[:1])  # DuckDB must have something to look at


@dataclass(frozen=True)
class SqlCondition:
    """``age > 30 AND city IS NOT NULL``; a row for which that is unknown (NULL) does not count."""

    text: str
    columns: tuple[str, ...]

    def keep(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows for which it holds. Only the columns it speaks of go through DuckDB, so types stay as they are."""
        import duckdb

        with closing(duckdb.connect()) as database:
            for batch in batches:
                seen = batch.select(list(self.columns))
                try:
                    database.from_arrow(seen).filter(self.text)  # is not run: it refuses what no WHERE may hold
                    answers = database.from_arrow(seen).project(f"({self.text}\n) AS keep").to_arrow_table()
                except duckdb.Error as error:
                    raise DataError(f"where={self.text!r} is not understood: {str(error).splitlines()[0]}.") from error
                yield batch.filter(self._decisions(answers.column(0).combine_chunks()))

    def implies(self, schema: pa.Schema) -> Any:
        """What can be said of single columns."""
        return implied(self.text, schema)

    def _decisions(self, answers: pa.Array) -> pa.Array:
        import pyarrow as pa

        if not (pa.types.is_boolean(answers.type) or pa.types.is_null(answers.type)):
            raise DataError(
                f"where={self.text!r} is of type {answers.type}, neither true nor false. Compare it with something: "
                f"{self.text} > 0."
            )
        return answers.cast(pa.bool_())


@dataclass(frozen=True, eq=False)
class ArrowCondition:
    """An expression of Arrow, and the columns it speaks of."""

    expression: Any
    columns: tuple[str, ...]

    @classmethod
    def of(cls, expression: Any, table: Typed) -> ArrowCondition:
        """On a table. An expression does not tell which columns it needs: it is tried on tables that lack some."""
        if "FieldPath(" in str(expression):
            raise DataError(
                f"where={expression} speaks of a column by its number, and columns are read in an order of their own. "
                "Name it: pyarrow.compute.field('name')."
            )
        none = table.schema(table.columns).empty_table()
        return cls(expression, _needed(expression, table.columns, (), none) or table.columns[:1])

    def keep(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows for which it holds."""
        import pyarrow as pa

        for batch in batches:
            try:
                yield batch.filter(self.expression)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
                raise DataError(f"where={self.expression} is not understood: {error}.") from error

    def implies(self, schema: pa.Schema) -> Any:
        """Itself; with floats only where it is false for NaN, which Arrow forgets when it asks statistics."""
        import pyarrow as pa

        has_floats = any(pa.types.is_floating(column.type) for column in schema)
        return None if has_floats and not COMPARISONS.fullmatch(str(self.expression)) else self.expression


def _needed(expression: Any, columns: tuple[str, ...], beside: tuple[str, ...], none: pa.Table) -> tuple[str, ...]:
    """Those of the columns that an expression needs ``beside`` others; ``none`` has all columns and no rows."""
    if _is_understood(expression, none.select([*beside])):
        return ()
    if len(columns) <= 1:
        return columns
    half = len(columns) // 2
    first = _needed(expression, columns[:half], (*beside, *columns[half:]), none)
    return first + _needed(expression, columns[half:], (*beside, *first), none)


def _is_understood(expression: Any, table: pa.Table) -> bool:
    import pyarrow as pa

    try:
        table.filter(expression)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        return False
    return True


def _parsed(where: str) -> Any:
    """The tree of a condition, as DuckDB's own parser has it."""
    tree, wrong = parse(where)
    if wrong:
        raise DataError(f"where={where!r} is not understood: {wrong}.")
    return tree


def _nodes(tree: Any, kind: str) -> Iterator[dict[str, Any]]:
    """Of one class, among all nodes of a tree."""
    if isinstance(tree, dict):
        if tree.get("class") == kind:
            yield tree
        tree = list(tree.values())
    if isinstance(tree, list):
        for child in tree:
            yield from _nodes(child, kind)


def _require_the_same_each_time(where: str, tree: Any) -> None:
    """Raise where a function is called that answers anew each time: every pass must see the same rows."""
    import duckdb

    called = list({str(node["function_name"]) for node in _nodes(tree, "FUNCTION")})
    if not called:
        return
    query = "SELECT function_name FROM duckdb_functions() WHERE stability = 'VOLATILE' AND function_name IN ?"
    with closing(duckdb.connect()) as database:
        found = database.execute(query, [called]).fetchall()
    if found:
        raise DataError(
            f"where={where!r} would choose other rows in each pass over the table: {found[0][0]}() answers anew every "
            "time it is called. For a sample of rows, take them by a column: hash(id) % 10 = 0."
        )
