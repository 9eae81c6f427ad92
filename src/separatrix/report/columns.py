# SPDX-License-Identifier: BSD-3-Clause
"""The data at a glance: classes with their shares, and every column with what became of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.meta import enumerated
from separatrix.report.facts import Facts, colour
from separatrix.report.svg import Picture
from separatrix.report.svg_rows import bar
from separatrix.report.words import counted, label_text, percent, shortened
from separatrix.study import Study
from separatrix.table import Plan

__all__ = ["ClassRow", "ColumnRow", "DataView", "data_of"]

LONGEST = 80  # letters of a name that are shown
N_LEVELS = 6  # named, of what a category became
N_CLASSES = 12  # shown, before the rest is folded away


@dataclass(frozen=True)
class ClassRow:
    """One class: its label, how many rows, and a bar."""

    label: str
    count: str
    share: str
    bar: Picture


@dataclass(frozen=True)
class ColumnRow:
    """One column of the table: what it is, what was seen in it, what it became."""

    name: str
    kind: str
    seen: str
    becomes: str
    is_dropped: bool


@dataclass(frozen=True)
class DataView:
    """The whole section."""

    summary: str
    classes: tuple[ClassRow, ...]
    more_classes: tuple[ClassRow, ...]
    columns: tuple[ColumnRow, ...]
    dropped: tuple[ColumnRow, ...]


def data_of(study: Study, facts: Facts) -> DataView:
    """Rows, classes from the largest to the smallest, and columns; those dropped apart."""
    schema = study.schema
    rows = [_column_row(plan) for plan in schema.plans]
    classes = _class_rows(study, facts)
    dropped = tuple(row for row in rows if row.is_dropped)
    summary = (
        f"{counted(study.n_rows, 'row')}; {counted(len(facts.labels), 'class')}; "
        f"{counted(len(schema.inputs), 'column')} that became {counted(len(schema.columns), 'number')} a row"
        + (f"; {counted(len(dropped), 'column')} left out." if dropped else ".")
    )
    kept = tuple(row for row in rows if not row.is_dropped)
    return DataView(summary, classes[:N_CLASSES], classes[N_CLASSES:], kept, dropped)


def _class_rows(study: Study, facts: Facts) -> tuple[ClassRow, ...]:
    share = study.counts / study.counts.sum()
    order = np.argsort(-share, kind="stable").tolist()
    return tuple(
        ClassRow(
            facts.labels[k],
            f"{int(study.counts[k]):,}",
            percent(float(share[k])),
            bar(float(share[k]), f"{facts.labels[k]}: {percent(float(share[k]))} of rows", kind=colour(k, len(share))),
        )
        for k in order
    )


def _column_row(plan: Plan) -> ColumnRow:
    return ColumnRow(shortened(label_text(plan.column), LONGEST), plan.kind, plan.why, _became(plan), not plan.names)


def _became(plan: Plan) -> str:
    """The numbers of a column by what tells them apart; the first few where they are many."""
    if not plan.names:
        return "nothing"
    names = [name.removeprefix(f"{plan.column}=").removeprefix(f"{plan.column}: ") for name in plan.names]
    names = [shortened(name, LONGEST) for name in names]
    if len(names) == 1:
        return "one number" if plan.names[0] == plan.column else f"one number: is it {names[0]}?"
    if len(names) <= N_LEVELS:
        return f"{len(names)} numbers: {enumerated(names)}"
    return f"{len(names)} numbers: {', '.join(names[:N_LEVELS])}, …"
