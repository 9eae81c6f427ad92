# SPDX-License-Identifier: BSD-3-Clause
"""What a query returns, asked again for every pass.

A database promises no order of rows unless the query does (ORDER BY), and other people may write to its tables between
two passes. The number of rows and their `checksum` are compared, which notices that; a copy (CREATE TABLE ... AS)
prevents it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from separatrix.exceptions import DataError
from separatrix.files import quoted
from separatrix.scanning.batches import batch_rows
from separatrix.scanning.database import Database, open_database
from separatrix.scanning.part import Part
from separatrix.scanning.where import ArrowCondition, Condition

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["QueryPart", "QueryRows", "open_query"]


@dataclass(frozen=True, eq=False)
class QueryPart:
    """All rows of a query."""

    database: Database
    sql: str
    columns: tuple[str, ...]
    where: Condition | None = None
    n_rows: int | None = None

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, in the order in which the database returns them.

        Raises
        ------
        QueryError
            Where the database refuses, or breaks off.
        """
        batches = self._read()
        for batch in batches if self.where is None else self.where.keep(batches):
            yield batch.select(list(self.columns))

    def _read(self) -> Iterator[pa.RecordBatch]:
        with self.database.answer(self.sql, batch_rows(len(self.columns))) as answer:
            _require_distinct(answer.schema.names, f"The query {self.sql!r}")  # DuckDB names them apart in a subquery
            yield from answer.batches


@dataclass(frozen=True, eq=False)
class QueryRows:
    """A query as a table. A line is begun after it wherever it stands in another: it may end in a comment."""

    database: Database
    sql: str
    where: Condition | None = None
    n_rows: int | None = None
    may_change: bool = True

    @property
    def title(self) -> str:
        """The query, as far as it fits a line."""
        line = " ".join(self.sql.split())
        return f"the query {line if len(line) <= 60 else line[:57] + '...'!r}"

    @property
    def reads_ahead(self) -> bool:
        """Whether another thread may use the connection."""
        return self.database.reads_ahead

    @cached_property
    def _whole(self) -> pa.Schema:
        with self.database.answer(f"SELECT * FROM ({self.sql}\n) AS scanned LIMIT 0", 1) as answer:
            return answer.schema

    @property
    def columns(self) -> tuple[str, ...]:
        """Of the query."""
        return tuple(self._whole.names)

    def schema(self, columns: Sequence[str]) -> pa.Schema:
        """The types of the columns, as the database says."""
        return self.database.types(self._asked(columns), self._whole, columns)

    def parts(self, columns: Sequence[str]) -> tuple[Part, ...]:
        """One part: a database does not say where one could cut."""
        return (QueryPart(self.database, self._asked(columns), tuple(columns), self.where),)

    shares = parts

    def _asked(self, columns: Sequence[str]) -> str:
        """The query itself where all of its columns are wanted, so that it keeps its order; else those alone."""
        wanted = [*columns, *(self.where.columns if self.where is not None else ())]
        if set(wanted) == set(self.columns):
            return self.sql
        names = ", ".join(map(quoted, dict.fromkeys(wanted)))
        return f"SELECT {names} FROM ({self.sql}\n) AS scanned"


def open_query(sql: str, connection: Any, where: Any) -> QueryRows:
    """A query through a connection; a condition in SQL becomes part of it.

    Raises
    ------
    DataError
        Where the connection is none that is known.
    QueryError
        Where the query is not understood.
    """
    sql = sql.strip().rstrip(";")
    if isinstance(where, str):
        sql, where = f"SELECT * FROM ({sql}\n) AS scanned WHERE {where}", None
    rows = QueryRows(open_database(connection), sql)
    if not rows.columns:
        raise DataError(f"{rows.title} returns no columns. Give a SELECT.")
    _require_distinct(rows.columns, rows.title)
    return rows if where is None else replace(rows, where=ArrowCondition.of(where, rows))


def _require_distinct(names: Sequence[str], title: str) -> None:
    if len(set(names)) < len(names):
        name, count = Counter(names).most_common(1)[0]
        raise DataError(
            f"{title} returns {count} columns that are called {name!r}. Name them apart: SELECT ... AS "
            f"{quoted(name + '_2')}."
        )
