# SPDX-License-Identifier: BSD-3-Clause
"""The explanation of some rows: a table with a line for each column of each row."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from separatrix._array import Float
from separatrix._output import NOTE_WIDTH, Tabular
from separatrix._text import counted, first_few
from separatrix.explanation.changes import Changes

MAX_SHOWN_LINES = 15  # columns of a row that are printed; the others are summed up
MAX_SHOWN_ROWS = 5
MAX_SHOWN_CHANGES, MAX_SHOWN_PAIRS = 4, 2


@dataclass(frozen=True)
class _Found:
    """The result of a search, in an explanation that was pickled."""

    changes: Changes

    def __call__(self) -> Changes:
        return self.changes


@dataclass(frozen=True, eq=False, repr=False)
class RowExplanation(Tabular):
    """Explanation of one row: why the class ``label`` has this ``probability``.

    The first line of the table is the reference, the last one the row. ``estimate`` is the contribution of a column to
    the log-odds and ``probability`` its contribution to the probability.
    """

    number: int
    label: Any
    scale: str
    against: str
    probability: float
    interval: tuple[float, float] | None
    level: float
    decision: Any
    rule: str
    reference: str
    names: tuple[str, ...]
    values: tuple[str, ...]
    references: tuple[str, ...]
    columns: Mapping[str, Float]
    warnings: tuple[str, ...]
    search: Callable[[], Changes] = field(repr=False)
    details: tuple[str, ...] = ()

    formats: ClassVar[dict[str, str]] = {}

    def to_dict(self) -> dict[str, Any]:
        """Values of the row and of the reference, and the numbers of each line, by name."""
        texts = {"value": np.array(self.values, dtype=object), "reference": np.array(self.references, dtype=object)}
        return {**texts, **self.columns}

    @cached_property
    def changes(self) -> Changes:
        """The smallest changes that change the decision; the search starts when they are first asked for."""
        return self.search()

    @property
    def title(self) -> str:
        """The probability with its interval, the decision, and the meaning of the numbers."""
        shown = (
            ""
            if self.interval is None
            else (f" ({100 * self.level:g} % interval {self.interval[0]:.3f} to {self.interval[1]:.3f})")
        )
        rule = f" ({self.rule})" if self.rule else ""
        ends = f", with {100 * self.level:g} % intervals" if "lower" in self.columns else ""
        return "\n".join(
            [
                f"Row {self.number}: p({self.label}) = {self.probability:.3f}{shown}; decision: {self.decision}{rule}",
                f"Contributions to the {self.scale} of {self.label}{self.against}, and to its probability{ends}",
                f"Reference: {self.reference}",
            ]
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Details of text columns, and warnings about unusual values."""
        return (*self.details, *(f"Warning: {text}" for text in self.warnings))

    @property
    def change_lines(self) -> tuple[str, ...]:
        """A line for each of the smallest changes, and the columns whose change is not enough."""
        found, n = self.changes, MAX_SHOWN_CHANGES
        if not found.single and not found.pairs:
            none = f"No change of one or two columns within their range changes the decision {self.decision}."
            return (none,) * bool(found.never)
        lines = [
            f"  {change}: decision {change.decision}, p({self.label}) = {change.probability:.3f}"
            for change in (*found.single[:n], *found.pairs[:MAX_SHOWN_PAIRS])
        ]
        more = [f"  ... and {counted(len(found.single) - n, 'larger change')} of one column"] * (len(found.single) > n)
        never = [f"  Never by one of these columns alone: {first_few(list(found.never), 8)}"] * bool(found.never)
        return ("The smallest changes that change the decision:", *lines, *more, *never)

    def shortened(self, most: int = MAX_SHOWN_LINES) -> RowExplanation:
        """The same explanation, in which the columns beyond the ``most`` largest contributions are one line."""
        inner = [at for at, name in enumerate(self.names) if not name.startswith("(")]
        rest = inner[most:]
        if len(rest) < 2:
            return self
        keep = [at for at in range(len(self.names)) if at not in set(rest)]
        where = keep.index(rest[-1] + 1)

        def gathered(values: Sequence[Any], other: Any) -> list[Any]:
            kept = [values[at] for at in keep]
            return [*kept[:where], other, *kept[where:]]

        sums = {
            name: float(np.sum(values[rest])) if name in ("estimate", "probability") else np.nan
            for name, values in self.columns.items()
        }
        values = {name: np.array(gathered(column.tolist(), sums[name])) for name, column in self.columns.items()}
        return replace(
            self,
            names=tuple(gathered(self.names, f"({len(rest)} other columns)")),
            values=tuple(gathered(self.values, "")),
            references=tuple(gathered(self.references, "")),
            columns=values,
            search=lambda: self.changes,
        )

    @property
    def texts(self) -> list[tuple[str, str, str, str, str]]:
        """Name, value, reference, and both contributions of each line, with their intervals in brackets."""
        scale, probability = self._with_intervals("estimate", 2), self._with_intervals("probability", 3)
        return list(zip(self.names, self.values, self.references, scale, probability, strict=True))

    def _with_intervals(self, name: str, decimals: int) -> list[str]:
        """Numbers of a column with their intervals; contributions, which lie between the two ends, have a sign."""
        bounds = ("lower", "upper") if name == "estimate" else (f"{name}_lower", f"{name}_upper")
        texts, last = [], len(self.names) - 1
        for at, number in enumerate(self.columns[name].tolist()):
            form = f"{'+' if 0 < at < last else ''}z.{decimals}f"
            low, high = (self.columns[bound][at] if bound in self.columns else np.nan for bound in bounds)
            texts.append(f"{number:{form}}" + (f" ({low:{form}} to {high:{form}})" if np.isfinite(low) else ""))
        return texts

    def _cells(self) -> list[list[str]]:
        """Texts of the heading and of each line."""
        return [["", "value", "reference", self.scale, "probability"], *map(list, self.texts)]

    def __getstate__(self) -> dict[str, Any]:
        """Everything with the changes, but without the model that finds them."""
        return vars(self) | {"search": _Found(self.changes)}

    def plot(self, ax: Any = None, *, title: str | None = None) -> Any:
        """Draw the contributions as a waterfall from the reference to the row; the display is returned."""
        display = import_module("separatrix.plots").ExplanationDisplay  # drawing is a layer above
        return display.from_explanation(self, ax=ax, title=title)

    def __str__(self) -> str:
        """Title, table and notes, then the changes."""
        fill = textwrap.TextWrapper(NOTE_WIDTH, subsequent_indent="    ").fill
        changes = "\n".join(map(fill, self.change_lines))
        return super(RowExplanation, self.shortened()).__str__() + f"\n\n{changes}" * bool(changes)

    def _repr_html_(self) -> str:
        changes = "<br>".join(map(html.escape, self.change_lines))
        return super(RowExplanation, self.shortened())._repr_html_() + f"\n<p>{changes}</p>" * bool(changes)


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Tabular):
    """Explanation of several rows, a table with a line for each column of each row; ``explanation[i]`` is one of them.

    Attributes
    ----------
    rows : tuple of RowExplanation
        Explanation of each row: ``probability`` and its ``interval``, ``decision``, ``changes``, ``warnings``.
    level : float
        Level of the intervals.
    notes : tuple of str
        What holds for all rows.
    """

    rows: tuple[RowExplanation, ...]
    level: float
    notes: tuple[str, ...] = ()

    title, formats = "", {}

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, number: int) -> RowExplanation:
        return self.rows[number]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the lines: columns, and the reference and the row itself in brackets."""
        return tuple(name for row in self.rows for name in row.names)

    @property
    def columns(self) -> dict[str, Any]:
        """Number and label of the row, then the columns of `RowExplanation`."""
        each = [row.to_dict() for row in self.rows]
        sizes = [len(row.names) for row in self.rows]
        of_rows = {
            "row": np.repeat([row.number for row in self.rows], sizes),
            "label": np.repeat(np.array([row.label for row in self.rows], dtype=object), sizes),
        }
        found = each[0] if each else {}
        return of_rows | {name: np.concatenate([one[name] for one in each]) for name in found}

    def plot(self, ax: Any = None, *, row: int = 0, title: str | None = None) -> Any:
        """Draw the explanation of one row as a waterfall."""
        return self.rows[row].plot(ax, title=title)

    def __str__(self) -> str:
        more = len(self.rows) - MAX_SHOWN_ROWS
        texts = [str(row) for row in self.rows[:MAX_SHOWN_ROWS]]
        texts += [f"... and {more} more rows: explanation[{MAX_SHOWN_ROWS}], or to_pandas()."] * (more > 0)
        texts += [textwrap.fill(note, NOTE_WIDTH) for note in self.notes]
        return "\n\n".join(texts)

    def _repr_html_(self) -> str:
        parts = [row._repr_html_() for row in self.rows[:MAX_SHOWN_ROWS]]
        return "\n".join([*parts, *(f"<p>{html.escape(note)}</p>" for note in self.notes)])
