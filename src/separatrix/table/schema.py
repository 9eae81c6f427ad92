# SPDX-License-Identifier: BSD-3-Clause
"""`Schema`, which encodes batches of a table as matrices. It can be written to and read from JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse as sp

from separatrix._array import Codes, Float, Rows
from separatrix.exceptions import DataError
from separatrix.table.plans import (
    NEW,
    NO_ENTRIES,
    OTHER,
    CategoryPlan,
    DatePlan,
    DropPlan,
    HashPlan,
    NumberPlan,
    OddCells,
    Plan,
    TextPlan,
    Unseen,
)
from separatrix.table.text import PLAIN, YEAR_FIRST
from separatrix.table.values import open_batch, read_values

FORMAT = "separatrix.table"
# Version 2 added hashes; 3, spellings of numbers and orders of dates; 4, indicators of new levels; 5, words of text; 6,
# ranges of numbers and dates.
VERSION = 6
PLANS: dict[str, Any] = {plan.type: plan for plan in (NumberPlan, CategoryPlan, DatePlan, DropPlan, HashPlan, TextPlan)}
SPARSE_BELOW = 0.1  # fraction of non-zero entries below which rows are sparse
TYPICAL_TERMS = 25  # words and pairs of words in a text, for the fraction of non-zero entries
MAX_POOLED = 100  # levels of a category with random effects up to which rare levels share an indicator
MAX_LISTED_CHARACTERS = 60


@dataclass(frozen=True)
class Schema:
    """One plan for each column of the table, in order, and the number of rows from which they were inferred."""

    plans: tuple[Plan, ...]
    n_rows: int

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the numeric columns: those of each plan, then indicators of new levels such as ``colour=(new)``."""
        names: list[str] = []
        for plan in self.plans:
            names += plan.names
        return (*names, *(f"{column}={NEW}" for column in self.new_levels))

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Names of the table's columns that a batch must have."""
        return tuple(plan.column for plan in self.plans if plan.width)

    @cached_property
    def groups(self) -> dict[str, range]:
        """Positions of the numeric columns that come from each of ``inputs``."""
        groups, end = {}, 0
        for plan in self.plans:
            start, end = end, end + plan.width
            if end > start:
                groups[plan.column] = range(start, end)
        return groups

    @cached_property
    def new_levels(self) -> dict[str, int]:
        """Position of the indicator of levels that did not occur in training, for each category that has one."""
        categories = [plan.column for plan in self.plans if isinstance(plan, CategoryPlan) and plan.new]
        start = sum(plan.width for plan in self.plans)
        return dict(zip(categories, range(start, start + len(categories)), strict=True))

    def with_new_levels(self, *, keep_pooled: bool = False) -> Schema:
        """The schema with an indicator of new levels for each category; all training values of this column are zero.

        The levels of a category with more than `MAX_POOLED` are not pooled, unless ``keep_pooled``: each gets an
        indicator.
        """
        plans = list(self.plans)
        for at, plan in enumerate(plans):
            if isinstance(plan, CategoryPlan):
                n_levels = 0 if keep_pooled else len(plan.levels) + len(plan.pooled)
                plans[at] = replace(plan, new=True)
                if n_levels > MAX_POOLED and not {OTHER, NEW} & {*plan.pooled}:
                    note = plan.note.partition(f"{plan.column}: {len(plan.pooled)} of")[0].strip()
                    plans[at] = replace(plan, new=True, levels=(*plan.levels, *plan.pooled), pooled=(), note=note)
        return replace(self, plans=tuple(plans))

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence for each column that was dropped, or whose type is uncertain."""
        return tuple(plan.note for plan in self.plans if plan.note)

    @property
    def text_types(self) -> dict[str, str]:
        """Columns that must be read as text from a file without types; pass them to `open_table` as ``types``.

        Otherwise a postal code would be read as a number, and 1.188 as 1.188 even if it meant 1188 in training.
        """
        types = dict.fromkeys(self.inputs, "text")
        for plan in self.plans:
            is_plain_number = isinstance(plan, NumberPlan) and plan.spelling == PLAIN and not plan.unit
            if is_plain_number or (isinstance(plan, DatePlan) and plan.order == YEAR_FIRST):
                types.pop(plan.column, None)
        return types

    @property
    def is_sparse(self) -> bool:
        """Whether `encode` returns a sparse matrix by default, which is the case if few entries are not zero."""
        n_entries = 0  # number of non-zero entries per row
        for plan in self.plans:
            n_entries += bool(plan.width) + (2 * len(plan.cycles) if isinstance(plan, DatePlan) else 0)
            n_entries += TYPICAL_TERMS if isinstance(plan, TextPlan) else 0
        return n_entries < SPARSE_BELOW * len(self.columns)

    def encode(self, table: Any, *, sparse: bool | None = None) -> Rows:
        """Encode a table or batch as float64 (n, M), dense or CSR; ``sparse=None`` chooses by `is_sparse`.

        Columns are found by name, in any order; additional columns are ignored. A value that is not a number or date as
        in training is treated as missing.

        Raises DataError if a column is missing, or has numbers instead of dates or the reverse.
        """
        return self.encode_checked(table, sparse=sparse)[0]

    def encode_counted(self, table: Any, *, sparse: bool | None = None) -> tuple[Rows, dict[str, Unseen]]:
        """Encode as `encode` does; also return the unseen values of each column, with their number of rows."""
        return self.encode_checked(table, sparse=sparse)[:2]

    def encode_checked(
        self, table: Any, *, sparse: bool | None = None
    ) -> tuple[Rows, dict[str, Unseen], dict[str, OddCells]]:
        """Encode as `encode_counted` does; also return the values that are not numbers or dates as expected."""
        batch = open_batch(table)
        parts: list[tuple[Codes, Codes, Float]] = []
        unseen, odd, width = {}, {}, 0
        for plan in self.plans:
            if not plan.width:
                continue
            if plan.column not in batch.columns:
                batch.require([plan.column])
            entries = plan.entries(read_values(batch.columns[plan.column]))
            if entries.unseen:
                unseen[plan.column] = entries.unseen
            if entries.odd:
                odd[plan.column] = entries.odd
            at = width + entries.column
            if plan.column in self.new_levels:
                at = np.where(entries.column < plan.width, at, self.new_levels[plan.column])
            parts.append((entries.row, at, entries.value))
            width += plan.width
        shape = (batch.n_rows, len(self.columns))
        if not (self.is_sparse if sparse is None else sparse):
            X = np.zeros(shape)
            for row, column, value in parts:
                X[row, column] = value
            return X, unseen, odd
        row, column, value = map(np.concatenate, zip(NO_ENTRIES, *parts, strict=True))
        csr = sp.coo_array((value, (row, column)), shape=shape).tocsr()
        csr.eliminate_zeros()
        csr.sort_indices()
        return csr, unseen, odd

    def describe(self) -> str:
        """One line for each column of the table: its type, its values, and its numeric columns."""
        rows = [("column", "type", "values", "encoded as")]
        for plan in self.plans:
            names = plan.short_names + [NEW] * (isinstance(plan, CategoryPlan) and plan.new)
            is_short = len(names) > 1 and names[0] != plan.names[0]  # without the name of the column
            whole = f"{len(names)} columns: {', '.join(names)}" if is_short else ", ".join(plan.names) or "dropped"
            if len(whole) > MAX_LISTED_CHARACTERS:
                whole = whole[:MAX_LISTED_CHARACTERS].rpartition(", ")[0] + ", ..."
            rows.append((plan.column, plan.kind, plan.why, whole))
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        lines = ["  ".join([*map(str.ljust, row, widths), row[3]]).rstrip() for row in rows]
        n_dropped = len(self.plans) - len(self.inputs)
        dropped = f"; {n_dropped} dropped" if n_dropped else ""
        n, m = len(self.inputs), len(self.columns)
        before, after = f"{n} column{'s' * (n != 1)} of {self.n_rows} rows", f"{m} column{'s' * (m != 1)} of numbers"
        return "\n".join([*lines, f"{before} become{'s' * (n == 1)} {after}{dropped}"])

    def to_json(self) -> str:
        """JSON from which `from_json` restores an equal schema."""
        plans = [{"type": plan.type} | asdict(plan) for plan in self.plans]
        return json.dumps({"format": FORMAT, "version": VERSION, "n_rows": self.n_rows, "columns": plans})

    @classmethod
    def from_json(cls, text: str) -> Schema:
        """Restore a schema; raises DataError if the text is not a schema, is damaged, or has a later version."""
        try:
            saved = json.loads(text)
        except (json.JSONDecodeError, RecursionError) as error:
            raise DataError(f"This is not a saved table schema: {error}.") from error
        if not isinstance(saved, dict) or saved.get("format") != FORMAT:
            raise DataError(f"This is not a saved table schema: it lacks {{'format': {FORMAT!r}}}.")
        if saved.get("version") not in range(1, VERSION + 1):
            raise DataError(
                f"The table schema has version {saved.get('version')!r}; this library reads up to {VERSION}. "
                "Install the library that wrote it, or a later one."
            )
        try:
            plans = []
            for fields in saved["columns"]:
                record = PLANS[fields.pop("type")]
                # JSON has no tuples.
                plans.append(record(**{k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()}))
            return cls(tuple(plans), int(saved["n_rows"]))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise DataError(f"The saved table schema is damaged: {type(error).__name__}: {error}.") from error
