# SPDX-License-Identifier: BSD-3-Clause
"""A comparison as text, 80 characters wide: held-out figures over their standard errors, then evidence and time."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from separatrix._array import Float
from separatrix.comparison.notes import notes_on

if TYPE_CHECKING:
    from separatrix.comparison.result import Comparison

__all__ = ["as_text"]

WIDTH = 80
GAP = 1
SHORTEST_NAME = 12


class Column(NamedTuple):
    """A heading and the text of one cell for each model; ``below`` are standard errors, where there are any."""

    head: str
    cells: list[str]
    below: list[str]


def as_text(comparison: Comparison) -> str:
    """The whole comparison, best model first."""
    n = [
        f"{len(rows):,} {what}" for rows, what in ((comparison.test_rows, "test"), (comparison.train_rows, "training"))
    ]
    title = f"{_count(len(comparison), 'model')}, {len(comparison.classes)} classes, {n[0]} rows, {n[1]} rows"
    legend = "On test rows (standard errors in brackets); less is better for Brier and ECE."
    tables = _grids(comparison.names, [_figures(comparison), _costs(comparison)])
    notes = [textwrap.fill(note, WIDTH) for note in notes_on(comparison)]
    return "\n".join([title, legend, *("\n" + table for table in tables), *("\n" + note for note in notes)])


def _figures(comparison: Comparison) -> list[Column]:
    """Figures on test rows; standard errors stand below in brackets."""
    found = comparison.to_dict()
    heads = {
        "test_log_likelihood": "log-lik.",
        "difference": "to best",
        "test_accuracy": "accuracy",
        "test_brier": "Brier",
        "test_ece": "ECE",
        "test_auc": "AUC",
    }
    columns = [_column(head, found[key], "{:z.4f}".format, found[f"{key}_se"]) for key, head in heads.items()]
    for i, trial in enumerate(comparison):
        if trial.failure:
            columns[0].cells[i] = "failed"
        elif i == 0 and columns[1].cells[0]:
            columns[1].cells[0], columns[1].below[0] = "best", ""
    return _filled(columns)


def _costs(comparison: Comparison) -> list[Column]:
    """What is known without test rows, and time."""
    found = comparison.to_dict()
    alone = int(np.isfinite(found["probability"]).sum()) < 2
    kinds: list[tuple[str, str, Callable[[float], str]]] = [
        ("train_log_likelihood", "train", "{:z.4f}".format),
        ("log_evidence", "ln p(D)", "{:.1f}".format),
        *([] if alone else [("probability", "P(model)", "{:z.4f}".format)]),
        ("bic", "BIC", "{:.1f}".format),
        ("aic", "AIC", "{:.1f}".format),
        ("fit_seconds", "fit s", "{:.3f}".format),
        ("predict_seconds", "pred. s", "{:.3f}".format),
    ]
    return _filled([_column(head, found[key], text) for key, head, text in kinds])


def _column(head: str, values: Float, text: Callable[[float], str], errors: Float | None = None) -> Column:
    cells = ["" if np.isnan(value) else text(value) for value in values]
    below = [] if errors is None else ["" if np.isnan(e) else f"({text(e)})" for e in errors]
    return Column(head, cells, below)


def _filled(columns: list[Column]) -> list[Column]:
    """Those that are not blank for every model."""
    return [column for column in columns if any(column.cells)]


def _grids(names: tuple[str, ...], tables: list[list[Column]]) -> list[str]:
    """Tables under each other, with the same names in front."""
    room = WIDTH - max(sum(map(_width, columns)) for columns in tables)
    labels = [_shortened(name, max(room, SHORTEST_NAME)) for name in names]
    return [_grid(labels, columns) for columns in tables if columns]


def _grid(labels: list[str], columns: list[Column]) -> str:
    first = max(map(len, labels))

    def line(label: str, cells: list[str]) -> str:
        numbers = (cell.rjust(_width(column)) for cell, column in zip(cells, columns, strict=True))
        return (label.ljust(first) + "".join(numbers)).rstrip()

    lines = [line("", [c.head for c in columns])]
    for i, label in enumerate(labels):
        cells, below = [c.cells[i] for c in columns], [c.below[i] if c.below else "" for c in columns]
        lines.extend([line(label, cells)] if any(cells) else [])
        lines.extend([line("", below)] if any(below) else [])
    return "\n".join(lines)


def _width(column: Column) -> int:
    return GAP + max(map(len, (column.head, *column.cells, *column.below)))


def _shortened(name: str, room: int) -> str:
    """The name with its middle left out where it is too long; what tells names apart is often their end."""
    if len(name) <= room:
        return name
    end = (room - 1) // 2
    return f"{name[: room - 1 - end]}…{name[len(name) - end :]}"


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"
