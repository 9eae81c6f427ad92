# SPDX-License-Identifier: BSD-3-Clause
"""A schema: what every column of a table becomes. Frozen, batches in, matrices out; it reads and writes plain JSON."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any, get_type_hints

import numpy as np
from scipy import sparse as sp

from separatrix._array import Float, Rows
from separatrix.exceptions import DataError
from separatrix.table.batch import open_batch
from separatrix.table.dates import YEAR_FIRST
from separatrix.table.hashing import HashPlan
from separatrix.table.plans import CategoryPlan, DatePlan, DropPlan, Entries, NumberPlan, Plan, Surprises
from separatrix.table.spelling import PLAIN
from separatrix.table.values import CellError

__all__ = ["Schema"]

FORMAT = "separatrix.table"
PLANS: dict[str, Any] = {plan.type: plan for plan in (NumberPlan, CategoryPlan, DatePlan, DropPlan, HashPlan)}
VERSIONS = (1, 2, 3)  # the second brought hashes; the third, spellings of numbers and orders of dates
SPARSE_BELOW = 0.1  # the share of non-zeros under which rows are kept sparse


@dataclass(frozen=True)
class Schema:
    """One plan for each column of the table, in its order, and the number of rows they were inferred from."""

    plans: tuple[Plan, ...]
    n_rows: int

    def __post_init__(self) -> None:
        twice = [name for name, count in Counter(self.columns).items() if count > 1]
        if twice:
            raise DataError(f"Two columns would both become {twice[0]!r}. Rename one of the table's columns.")

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the numeric columns."""
        return tuple(name for plan in self.plans for name in plan.names)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the table's columns that a batch must have."""
        return tuple(plan.column for plan in self.plans if plan.names)

    @property
    def groups(self) -> dict[str, range]:
        """For each of ``inputs``, the positions of the numeric columns that it became."""
        ends = np.cumsum([len(plan.names) for plan in self.plans]).tolist()
        return {
            plan.column: range(end - len(plan.names), end)
            for plan, end in zip(self.plans, ends, strict=True)
            if plan.names
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence for each column that was dropped, or that a reader may doubt to be what it was taken for."""
        return tuple(plan.note for plan in self.plans if plan.note)

    @property
    def text_types(self) -> dict[str, str]:
        """Columns that a new file without types must give as text, as types for `open_table`.

        A postal code is no number there, and 1.188 is what it was in training: perhaps more than a thousand.
        """
        return {plan.column: "text" for plan in self.plans if plan.names and _wants_text(plan)}

    @property
    def is_sparse(self) -> bool:
        """Whether so few numbers of a row are not zero that `encode` returns a sparse matrix if left to choose."""
        return sum(plan.fill for plan in self.plans) < SPARSE_BELOW * len(self.columns)

    def encode(self, table: Any, *, sparse: bool | None = None, first_row: int = 0) -> Rows:
        """The rows of a table or batch as numbers: float64, (n, M), dense or CSR; None leaves that to the schema.

        Columns are found by name, in any order; others are not looked at. ``first_row`` is how many rows were in the
        batches before, so that a message gives the row of the whole table.

        Raises
        ------
        DataError
            Naming the column, where one is missing or holds something else than in training; the row, counted from 1,
            where it is one value.
        """
        return self.encode_counted(table, sparse=sparse, first_row=first_row)[0]

    def encode_counted(
        self, table: Any, *, sparse: bool | None = None, first_row: int = 0
    ) -> tuple[Rows, dict[str, Surprises]]:
        """As `encode`; and for each column the values that training never saw, with the number of their rows."""
        batch = open_batch(table)
        try:
            parts = {plan.column: plan.entries(batch.read(plan.column)) for plan in self.plans if plan.names}
        except CellError as error:
            raise error.moved(first_row) from None
        surprises = {name: entries.surprises for name, entries in parts.items() if entries.surprises}
        starts = [positions.start for positions in self.groups.values()]
        shape = (batch.n_rows, len(self.columns))
        is_sparse = self.is_sparse if sparse is None else sparse
        return (_csr if is_sparse else _dense)(list(parts.values()), starts, shape), surprises

    def describe(self) -> str:
        """What was inferred, one line for each column of the table: what it is, what was seen, what it becomes."""
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
        """Text from which `from_json` makes an equal schema."""
        plans = [{"type": plan.type} | asdict(plan) for plan in self.plans]  # type: ignore[call-overload]  # dataclasses
        version = max(map(_version, self.plans), default=1)  # the least: what older libraries can read, too
        return json.dumps({"format": FORMAT, "version": version, "n_rows": self.n_rows, "columns": plans})

    @classmethod
    def from_json(cls, text: str) -> Schema:
        """The schema that was written.

        Raises
        ------
        DataError
            Where the text is not a schema, or one of a later version.
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
        return cls(tuple(map(_restored, plans)), n_rows)


def _dense(parts: list[Entries], starts: list[int], shape: tuple[int, int]) -> Float:
    X = np.zeros(shape)
    for entries, start in zip(parts, starts, strict=True):
        X[entries.row, start + entries.column] = entries.value
    return X


def _csr(parts: list[Entries], starts: list[int], shape: tuple[int, int]) -> Rows:
    row, column, value = (
        np.concatenate([np.empty(0, kind), *(entries[i] for entries in parts)])
        for i, kind in enumerate((np.intp, np.intp, np.float64))
    )
    first = np.repeat(starts, [len(entries.row) for entries in parts]).astype(np.intp)
    X = sp.coo_array((value, (row, first + column)), shape=shape).tocsr()
    X.eliminate_zeros()
    X.sort_indices()
    return X


def _listed(plan: Plan, width: int = 60) -> str:
    """The names of the numeric columns, as far as they fit; what all of them begin with is said once."""
    if not plan.names:
        return "dropped"
    names = [name.removeprefix(f"{plan.column}=").removeprefix(f"{plan.column}: ") for name in plan.names]
    names = [name.replace(f"{plan.column}#", "#", 1) if name.startswith(f"{plan.column}#") else name for name in names]
    prefix = f"{len(names)} columns: " if names[0] != plan.names[0] and len(names) > 1 else ""
    names = names if prefix else list(plan.names)
    whole = prefix + ", ".join(names)
    return whole if len(whole) <= width else whole[:width].rpartition(", ")[0] + ", ..."


def _version(plan: Plan) -> int:
    """The first version that could say what this plan says."""
    if _is_styled(plan):
        return 3
    return 2 if isinstance(plan, HashPlan) else 1


def _is_styled(plan: Plan) -> bool:
    """Whether numbers or dates were text, written in a way that must be known to read more of them."""
    match plan:
        case NumberPlan():
            return plan.spelling != PLAIN or plan.unit != ""
        case DatePlan():
            return plan.order != YEAR_FIRST
    return False


def _wants_text(plan: Plan) -> bool:
    return isinstance(plan, CategoryPlan | HashPlan) or _is_styled(plan)


def _restored(saved: Any) -> Plan:
    """One plan, every field checked: a damaged file must not become a model that half works."""
    plan = PLANS.get(str(saved.get("type"))) if isinstance(saved, dict) else None
    if plan is None:
        raise DataError(f"The saved table schema is damaged: {str(saved)[:80]!r} is not a column.")
    hints = get_type_hints(plan)
    values = {}
    for field in fields(plan):
        value = saved.get(field.name, None if field.default is MISSING else field.default)
        if not _CHECKS[hints[field.name]](value):
            raise DataError(
                f"The saved table schema is damaged: {field.name!r} of column {saved.get('column')!r} is {value!r}."
            )
        values[field.name] = tuple(value) if isinstance(value, list) else value
    restored: Plan = plan(**values)
    return restored


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
