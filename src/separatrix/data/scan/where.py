# SPDX-License-Identifier: BSD-3-Clause
"""Which rows of a table count: a condition in SQL, which DuckDB evaluates batch by batch, or an expression of Arrow."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from separatrix.data.table.batch import did_you_mean
from separatrix.exceptions import DataError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ArrowCondition", "Condition", "SqlCondition", "make_condition"]


class Condition(Protocol):
    """Which rows count."""

    @property
    def columns(self) -> tuple[str, ...]:
        """That it speaks of, or may speak of."""

    def keep(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows for which it holds."""


def make_condition(where: Any, columns: tuple[str, ...]) -> Condition:
    """The condition that a user wrote on a table with these columns.

    Raises
    ------
    DataError
        Where it is neither SQL nor an expression of Arrow, or speaks of a column that is not there.
    """
    import pyarrow.compute as pc

    if isinstance(where, pc.Expression):
        return ArrowCondition(where, columns)
    if not isinstance(where, str):
        raise DataError(f'where={where!r}: give a condition in SQL, such as "age > 30", or a pyarrow expression.')
    used = _columns_of(where)
    for name in used:
        if name not in columns:
            raise DataError(f"where={where!r}: the table has no column {name!r}.{did_you_mean(name, columns)}")
    return SqlCondition(where, used or columns[:1])  # DuckDB must have something to look at


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
    """An expression does not tell which columns it speaks of, so all are read."""

    expression: Any
    columns: tuple[str, ...]

    def keep(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows for which it holds."""
        import pyarrow as pa

        for batch in batches:
            try:
                yield batch.filter(self.expression)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
                raise DataError(f"where={self.expression} is not understood: {error}.") from error


def _columns_of(where: str) -> tuple[str, ...]:
    """The names of columns in a condition, as DuckDB's own parser finds them."""
    import duckdb

    with closing(duckdb.connect()) as database:
        query = f"SELECT 1 FROM t WHERE {where}"
        parsed = json.loads(database.execute("SELECT json_serialize_sql(?::VARCHAR)", [query]).fetchall()[0][0])
    if parsed["error"]:
        raise DataError(f"where={where!r} is not understood: {parsed.get('error_message', 'no condition of SQL')}.")
    return tuple(dict.fromkeys(_references(parsed["statements"][0]["node"]["where_clause"])))


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if node.get("class") == "COLUMN_REF":
            yield str(node["column_names"][-1])
        for child in node.values():
            yield from _references(child)
    elif isinstance(node, list):
        for child in node:
            yield from _references(child)
