# SPDX-License-Identifier: BSD-3-Clause
"""Conditions on rows, ``scan(..., where=...)``: SQL, which DuckDB evaluates, or an Arrow expression.

If the condition is SQL, DuckDB itself reads Parquet files and skips row groups whose statistics rule out the condition
(unless it uses floating-point columns). Batches of other tables are filtered after they are read.

A condition is code: it may contain functions and subqueries. It must be one expression, and DuckDB can open no other
file while it evaluates a condition on a table in a file or in memory.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from separatrix._lazy import duckdb, pa, pc
from separatrix._text import did_you_mean
from separatrix.exceptions import DataError
from separatrix.files.database import closed_duckdb, quoted

# Databases differ in quotations and comments. Only the forms that mean the same in all of them are allowed.
TOKENS = re.compile(
    r"""(?P<text>'[^']*'|"[^"]*"|--[^\r\n]*)|(?P<refused>[;'"`$\0]|/\*|(?<!\w)[eE]')|(?P<bracket>[()])"""
)


def require_one_expression(where: str) -> None:
    """Raise DataError unless any database, given the text in parentheses, would read it as one expression."""
    depth, refused = 0, ""
    for token in TOKENS.finditer(where):
        depth += {"(": 1, ")": -1}.get(token[0], 0)
        refused = refused or token["refused"] or ("" if depth >= 0 else ")")
    if refused or depth:
        raise DataError(
            f"where={where!r} is not one condition: {refused or '('} is out of place. Give one expression, such as "
            '"age > 30". Text is written as \'text\', names as "name", and remarks as -- remark.'
        )


def make_condition(where: Any, columns: tuple[str, ...]) -> Condition:
    """Check a user's condition on a table with these columns.

    Raises DataError if it is neither SQL nor an Arrow expression, names an unknown column, or may select other rows in
    each pass (random()).
    """
    if isinstance(where, pc.Expression):
        written = str(where)  # it does not list its columns, so all columns whose names occur in it are read
        if "FieldPath(" in written:
            raise DataError(
                f"where={written} refers to a column by its number. Name it: pyarrow.compute.field('name')."
            )
        return ArrowCondition(where, tuple(name for name in columns if name in written) or columns[:1])
    if not isinstance(where, str):
        raise DataError(f'where={where!r}: give a condition in SQL, such as "age > 30", or a pyarrow expression.')
    require_one_expression(where)
    query = f"SELECT 1 FROM t WHERE ({where}\n)"
    with closed_duckdb() as database:
        text = database.execute("SELECT json_serialize_sql(?::VARCHAR)", [query]).fetchall()
        parsed = json.loads(text[0][0])
        if parsed["error"]:
            raise DataError(f"where={where!r} is not understood: {parsed.get('error_message', 'not a condition')}.")
        tree = parsed["statements"][0]["node"]["where_clause"]
        called = list({str(node["function_name"]) for node in _nodes(tree, "FUNCTION")})
        query = "SELECT function_name FROM duckdb_functions() WHERE stability = 'VOLATILE' AND function_name IN ?"
        volatile = database.execute(query, [called]).fetchall() if called else []
    if volatile:
        raise DataError(
            f"where={where!r} selects other rows in each pass: {volatile[0][0]}() returns a new value every time. For "
            "a sample of rows, use a column: hash(id) % 10 = 0."
        )
    used = tuple(dict.fromkeys(str(node["column_names"][-1]) for node in _nodes(tree, "COLUMN_REF")))
    for name in used:
        if name not in columns:
            raise DataError(f"where={where!r}: the table has no column {name!r}.{did_you_mean(name, columns)}")
    if len({name.lower() for name in used}) < len(used):
        raise DataError(
            f"where={where!r} names columns that differ in case alone ({', '.join(used)}), which SQL does not "
            "distinguish. Give an Arrow expression: pyarrow.compute.field('a') > 3."
        )
    return SqlCondition(where, used or columns[:1])  # DuckDB needs at least one column


@dataclass(frozen=True)
class SqlCondition:
    """A condition such as ``age > 30 AND city IS NOT NULL``. Rows for which it is NULL are left out."""

    text: str
    columns: tuple[str, ...]

    def keep(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows that meet the condition. DuckDB gets only the columns it needs, so types do not change."""
        with self._database() as database:
            for batch in batches:
                seen = database.from_arrow(batch.select(list(self.columns)))
                seen.filter(self.text)  # not executed, but raises if the text is not allowed in a WHERE clause
                decisions = seen.project(f"({self.text}\n) AS keep").to_arrow_table().column(0).combine_chunks()
                self._require_boolean(decisions.type)
                yield batch.filter(decisions.cast(pa.bool_()))

    def read_parquet(self, path: str, columns: tuple[str, ...], rows: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a Parquet file that meet the condition, in the order of the file."""
        path = os.path.abspath(path)
        names = ", ".join(map(quoted, columns))
        file = "read_parquet('" + path.replace("'", "''") + "', hive_partitioning = false)"
        with self._database(path) as database:
            kind = database.sql(f"SELECT ({self.text}\n) AS keep FROM {file} LIMIT 0").to_arrow_table().schema.types[0]
            self._require_boolean(kind)
            with closing(
                database.sql(f"SELECT {names} FROM {file} WHERE ({self.text}\n)").to_arrow_reader(rows)
            ) as reader:
                yield from reader

    @contextmanager
    def _database(self, allowed: str | None = None) -> Iterator[Any]:
        try:
            with closed_duckdb(allowed=allowed) as database:
                yield database
        except duckdb.Error as error:
            raise DataError(f"where={self.text!r} is not understood: {str(error).splitlines()[0]}.") from error

    def _require_boolean(self, kind: pa.DataType) -> None:
        if not (pa.types.is_boolean(kind) or pa.types.is_null(kind)):
            raise DataError(
                f"where={self.text!r} is of type {kind}, neither true nor false. Add a comparison: {self.text} > 0."
            )


@dataclass(frozen=True, eq=False)
class ArrowCondition:
    """An Arrow expression, and the columns that it uses."""

    expression: Any
    columns: tuple[str, ...]

    def keep(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows that meet the condition."""
        for batch in batches:
            try:
                yield batch.filter(self.expression)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
                raise DataError(f"where={self.expression} is not understood: {error}.") from error


Condition = SqlCondition | ArrowCondition


def _nodes(tree: Any, kind: str) -> Iterator[dict[str, Any]]:
    """All nodes of one class in a parse tree."""
    if isinstance(tree, dict):
        if tree.get("class") == kind:
            yield tree
        tree = list(tree.values())
    if isinstance(tree, list):
        for child in tree:
            yield from _nodes(child, kind)
