# SPDX-License-Identifier: BSD-3-Clause
"""How every column of a table is encoded: batches in, matrices out. A schema can be written to and read from JSON."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any, get_type_hints

import numpy as np
from scipy import sparse as sp

from separatrix._array import Rows
from separatrix.exceptions import DataError
from separatrix.table.plans import CategoryPlan, DatePlan, DropPlan, Entries, HashPlan, NumberPlan, Plan, Unseen
from separatrix.table.text import PLAIN, YEAR_FIRST
from separatrix.table.values import CellError, open_batch

FORMAT = "separatrix.table"
PLANS: dict[str, Any] = {plan.type: plan for plan in (NumberPlan, CategoryPlan, DatePlan, DropPlan, HashPlan)}
VERSIONS = (1, 2, 3)  # version 2 added hashes; version 3 added spellings of numbers and orders of dates
SPARSE_BELOW = 0.1  # fraction of non-zero entries below which rows are sparse
MAX_LISTED_CHARACTERS = 60


@dataclass(frozen=True)
class Schema:
    """One plan for each column of the table, in order, and the number of rows they were inferred from."""

    plans: tuple[Plan, ...]
    n_rows: int

    def __post_init__(self) -> None:
        columns = self.columns
        if len(set(columns)) < len(columns):
            twice = Counter(columns).most_common(1)[0][0]
            raise DataError(f"Two columns would both become {twice!r}. Rename one of the table's columns.")

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the numeric columns."""
        names: list[str] = []
        for plan in self.plans:
            names += plan.names
        return tuple(names)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the table's columns that a batch must have."""
        return tuple(plan.column for plan in self.plans if plan.names)

    @property
    def groups(self) -> dict[str, range]:
        """Positions of the numeric columns of each of ``inputs``."""
        groups, end = {}, 0
        for plan in self.plans:
            start, end = end, end + len(plan.names)
            if end > start:
                groups[plan.column] = range(start, end)
        return groups

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence for each column that was dropped, or whose type is uncertain."""
        return tuple(plan.note for plan in self.plans if plan.note)

    @property
    def text_types(self) -> dict[str, str]:
        """Columns that must be read as text from a new file without types, as ``types`` for `open_table`.

        A postal code would be read as a number, and 1.188 as 1.188 even if it was 1188 in training.
        """
        is_text = {plan.column: isinstance(plan, CategoryPlan | HashPlan) or _is_formatted(plan) for plan in self.plans}
        return {name: "text" for name in self.inputs if is_text[name]}

    @property
    def is_sparse(self) -> bool:
        """Whether `encode` returns a sparse matrix by default: if few entries of a row are not zero."""
        fill = 0.0
        for plan in self.plans:
            fill += plan.fill
        return fill < SPARSE_BELOW * len(self.columns)

    def encode(self, table: Any, *, sparse: bool | None = None, first_row: int = 0) -> Rows:
        """Encode a table or batch as float64 (n, M), dense or CSR; ``sparse=None`` chooses by `is_sparse`.

        Columns are found by name, in any order; additional columns are ignored. ``first_row`` is the number of rows in
        the batches before, so that messages contain the row of the whole table.

        Raises
        ------
        DataError
            If a column is missing or has another kind of values than in training, with its name; for a single wrong
            value with its row, counted from 1.
        """
        return self.encode_counted(table, sparse=sparse, first_row=first_row)[0]

    def encode_counted(
        self, table: Any, *, sparse: bool | None = None, first_row: int = 0
    ) -> tuple[Rows, dict[str, Unseen]]:
        """As `encode`, and for each column the values that training did not contain, with their number of rows."""
        batch = open_batch(table)
        places: list[tuple[Entries, int]] = []  # with the position of the first numeric column of each plan
        unseen, width = {}, 0
        for plan in self.plans:
            names = plan.names
            if not names:
                continue
            try:
                entries = plan.entries(batch.read(plan.column))
            except CellError as error:
                raise error.moved(first_row) from None
            if entries.unseen:
                unseen[plan.column] = entries.unseen
            places.append((entries, width))
            width += len(names)
        shape = (batch.n_rows, width)
        if not (self.is_sparse if sparse is None else sparse):
            X = np.zeros(shape)
            for entries, start in places:
                X[entries.row, start + entries.column] = entries.value
            return X, unseen
        row = np.concatenate([np.empty(0, np.intp), *(entries.row for entries, _ in places)])
        column = np.concatenate([np.empty(0, np.intp), *(start + entries.column for entries, start in places)])
        value = np.concatenate([np.empty(0), *(entries.value for entries, _ in places)])
        csr = sp.coo_array((value, (row, column)), shape=shape).tocsr()
        csr.eliminate_zeros()
        csr.sort_indices()
        return csr, unseen

    def describe(self) -> str:
        """One line for each column of the table: its type, its values, and its numeric columns."""
        rows = [("column", "is", "seen", "becomes")]
        rows += [(plan.column, plan.kind, plan.why, _listed(plan)) for plan in self.plans]
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        lines = ["  ".join([*map(str.ljust, row, widths), row[3]]).rstrip() for row in rows]
        n_dropped = len(self.plans) - len(self.inputs)
        dropped = f"; {n_dropped} dropped" if n_dropped else ""
        total = (
            f"{len(self.inputs)} columns of {self.n_rows} rows become {len(self.columns)} columns of numbers{dropped}"
        )
        return "\n".join([*lines, total])

    def to_json(self) -> str:
        """JSON from which `from_json` restores an equal schema."""
        plans = [{"type": plan.type} | asdict(plan) for plan in self.plans]  # type: ignore[call-overload]  # dataclasses
        # The lowest version that can represent the plans, so that older libraries can read it.
        versions = [3 if _is_formatted(plan) else 2 if isinstance(plan, HashPlan) else 1 for plan in self.plans]
        return json.dumps(
            {"format": FORMAT, "version": max(versions, default=1), "n_rows": self.n_rows, "columns": plans}
        )

    @classmethod
    def from_json(cls, text: str) -> Schema:
        """Restore a schema.

        Raises
        ------
        DataError
            If the text is not a schema, or has a later version.
        """
        try:
            saved = json.loads(text)
        except (json.JSONDecodeError, RecursionError) as error:
            raise DataError(f"This is not a saved table schema: {error}.") from error
        if not isinstance(saved, dict) or saved.get("format") != FORMAT:
            raise DataError(f"This is not a saved table schema: it lacks {{'format': {FORMAT!r}}}.")
        if saved.get("version") not in VERSIONS:
            raise DataError(
                f"The table schema has version {saved.get('version')!r}; this library reads up to {VERSIONS[-1]}. "
                "Install the library that wrote it, or a later one."
            )
        plans, n_rows = saved.get("columns"), saved.get("n_rows")
        if not isinstance(plans, list) or not isinstance(n_rows, int):
            raise DataError("The saved table schema is damaged: it has no list of columns or no number of rows.")
        restored = []
        for plan in plans:
            record = PLANS.get(str(plan.get("type"))) if isinstance(plan, dict) else None
            if record is None:
                raise DataError(f"The saved table schema is damaged: {str(plan)[:80]!r} is not a column.")
            hints, values = get_type_hints(record), {}
            for field in fields(record):
                value = plan.get(field.name, None if field.default is MISSING else field.default)
                if not _CHECKS[hints[field.name]](value):  # or else the model would fail later
                    raise DataError(
                        f"The saved table schema is damaged: {field.name!r} of column {plan.get('column')!r} is "
                        f"{value!r}."
                    )
                values[field.name] = tuple(value) if isinstance(value, list) else value
            restored.append(record(**values))
        return cls(tuple(restored), n_rows)


def _is_formatted(plan: Plan) -> bool:
    """Whether numbers or dates were text in a format that is needed to read more of them."""
    match plan:
        case NumberPlan():
            return plan.spelling != PLAIN or plan.unit != ""
        case DatePlan():
            return plan.order != YEAR_FIRST
    return False


def _listed(plan: Plan) -> str:
    """Names of the numeric columns, as far as they fit, with their common prefix left out."""
    if not plan.names:
        return "dropped"
    names = [name.removeprefix(f"{plan.column}=").removeprefix(f"{plan.column}: ") for name in plan.names]
    names = [name.replace(f"{plan.column}#", "#", 1) if name.startswith(f"{plan.column}#") else name for name in names]
    prefix = f"{len(names)} columns: " if names[0] != plan.names[0] and len(names) > 1 else ""
    whole = prefix + ", ".join(names if prefix else plan.names)
    if len(whole) <= MAX_LISTED_CHARACTERS:
        return whole
    return whole[:MAX_LISTED_CHARACTERS].rpartition(", ")[0] + ", ..."


def _is_number(value: Any) -> bool:
    return isinstance(value, float | int) and not isinstance(value, bool) and bool(np.isfinite(value))


_CHECKS: dict[Any, Any] = {
    str: lambda value: isinstance(value, str),
    bool: lambda value: isinstance(value, bool),
    int: lambda value: isinstance(value, int) and not isinstance(value, bool),
    float: _is_number,
    tuple[str, ...]: lambda value: isinstance(value, list) and all(isinstance(item, str) for item in value),
    dict[str, float]: lambda value: isinstance(value, dict) and all(map(_is_number, value.values())),
}
