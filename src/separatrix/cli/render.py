# SPDX-License-Identifier: BSD-3-Clause
"""What a verb found, as tables and paragraphs for a terminal of 80 columns."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from separatrix.cli.document import odds_ratio

if TYPE_CHECKING:
    from separatrix.data.table import Schema
    from separatrix.study import Coefficient, Study

__all__ = ["class_line", "coefficient_table", "column_table", "file_table", "plain_table"]


def plain_table(*heads: str, right: tuple[int, ...] = ()) -> Table:
    """An empty table with a line under its heads; columns ``right`` are numbers."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for i, head in enumerate(heads):
        table.add_column(head, justify="right" if i in right else "left", overflow="fold", no_wrap=i in right)
    return table


def column_table(schema: Schema) -> Table:
    """What each column was taken to be, and what it becomes."""
    table = plain_table("column", "is", "seen", "becomes")
    for plan in schema.plans:
        table.add_row(
            *map(Text, (plan.column, plan.kind, plan.why, _becomes(plan))), style=None if plan.names else "dim"
        )
    return table


def class_line(study: Study) -> str:
    """The classes with their shares; of many, the most frequent."""
    pairs = sorted(zip(study.counts.tolist(), map(str, study.classes.tolist()), strict=True), reverse=True)
    total = sum(count for count, _ in pairs)
    shown = ", ".join(f"{label} {100 * count / total:.3g} %" for count, label in pairs[:8])
    return shown + (f" and {len(pairs) - 8} more classes" if len(pairs) > 8 else "")


def coefficient_table(coefficients: list[Coefficient], level: float, *, many: bool) -> Table:
    """Weights with their intervals and odds ratios; the class in front where there are ``many``."""
    heads = ("what", *(("class",) if many else ()), "weight", f"{100 * level:g} % interval", "odds x", "per sd")
    first = len(heads) - 4
    table = plain_table(*heads, right=tuple(range(first, first + 4)))
    for c in coefficients:
        clear = not (isnan(c.lower) or c.lower <= 0 <= c.upper)
        interval = "" if isnan(c.lower) else f"{c.lower:.3g} to {c.upper:.3g}"
        cells = (c.name, *((str(c.label),) if many else ()), f"{c.weight:.3g}", interval, f"{odds_ratio(c.weight):.3g}")
        table.add_row(*map(Text, cells), Text(f"{c.per_spread:+.3f}"), style="bold" if clear else None)
    return table


def file_table(files: dict[str, str]) -> Table:
    """What was written, and where."""
    table = Table.grid(padding=(0, 2))
    for what, path in files.items():
        table.add_row(Text(what), Text(path, overflow="fold"))
    return table


def _becomes(plan: Any) -> str:
    if not plan.names:
        return "dropped"
    if len(plan.names) == 1:
        return str(plan.names[0]) if plan.names[0] != plan.column else "a number"
    return f"{len(plan.names)} numbers"
