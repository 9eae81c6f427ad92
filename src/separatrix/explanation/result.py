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
MAX_DECIMALS = 6  # smaller numbers are printed with an exponent
MIN_WHOLE, MAX_WHOLE = 1e3, 1e7  # between these, numbers are printed without decimals; larger ones with an exponent


def probability_text(p: float) -> str:
    """A probability with three decimals; near 0 and 1, with two significant digits of the distance from it.

    >>> [probability_text(p) for p in (0.5, 0.00012345, 2e-9, 0.99998765, 1 - 2e-9, 1.0)]
    ['0.500', '0.00012', '2e-09', '0.999988', '1 - 2e-09', '1.000']
    """
    rest = 1.0 - p
    if not 0.0 < min(p, rest) < 0.001:
        return f"{p:.3f}"
    n = _first_decimal(min(p, rest)) + 1
    if n > MAX_DECIMALS:
        return f"{p:.2g}" if p < rest else f"1 - {rest:.2g}"
    return f"{p:.{n}f}"


def _first_decimal(x: float) -> int:
    """Position of the first decimal of a number that is not 0: 1 for 0.25, 3 for 0.004, and 0 or less above 1."""
    return -int(np.floor(np.log10(abs(x))))


def with_interval(values: Sequence[float], decimals: int, sign: str) -> str:
    """A number with the ends of its interval, if they are finite, with as many decimals as show that none is 0."""
    shown = [x for x in values if np.isfinite(x)]
    found = [x for x in shown if x]
    n = max([decimals, *map(_first_decimal, found)])
    largest = max(map(abs, found), default=0.0)
    form = f"{sign}z,.0f" if largest >= MIN_WHOLE else f"{sign}z.{n}f"
    if n > MAX_DECIMALS or largest >= MAX_WHOLE:
        form = f"{sign}.4g"
    number, *ends = (f"{x:{form}}" for x in shown)
    return f"{number} ({' to '.join(ends)})" if ends else number


@dataclass(frozen=True)
class KnownChanges:
    """The result of a search that was made, or of none, such as in an explanation that was pickled."""

    changes: Changes

    def __call__(self) -> Changes:
        return self.changes


@dataclass(frozen=True, eq=False, repr=False)
class RowExplanation(Tabular):
    """Explanation of one row: why the class ``label`` has this ``probability``, or why the mean has this value.

    The first line of the table is the reference, the last one the row. ``estimate`` is the contribution of a column to
    the log-odds and ``probability`` its contribution to the probability. The explanation of a generalised linear model
    has contributions to the ``mean`` instead (`response`), and neither a label nor a decision.

    ``number`` is the label of the row in the index of a pandas table, otherwise its position.
    """

    number: Any
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
    response: str = "probability"

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
        shown = "" if self.interval is None else f" ({100 * self.level:g} % interval {self.ends})"
        rule = f" ({self.rule})" if self.rule else ""
        decision = "" if self.label is None else f"; decision: {self.decision}{rule}"
        ends = f", with {100 * self.level:g} % intervals" if "lower" in self.columns else ""
        to = "the mean" if self.label is None else f"{self.label}{self.against}, and to its probability"
        of = f"the {self.scale}, and to" if self.label is None else f"the {self.scale} of"
        return "\n".join(
            [
                f"Row {self.number}: {self.quantity} = {self.shown(self.probability)}{shown}{decision}",
                *(textwrap.fill(f"Warning: {text}", NOTE_WIDTH) for text in self.warnings),
                f"Contributions to {of} {to}{ends}",
                f"Reference: {self.reference}",
            ]
        )

    @property
    def quantity(self) -> str:
        """What is explained: the probability of a class, or the mean."""
        return self.response if self.label is None else f"p({self.label})"

    def shown(self, value: float) -> str:
        """A probability, or a mean, as text."""
        return with_interval([value], 3, "") if self.label is None else probability_text(value)

    @property
    def ends(self) -> str:
        """Both ends of the interval as text; empty without an interval."""
        return "" if self.interval is None else " to ".join(map(self.shown, self.interval))

    @property
    def notes(self) -> tuple[str, ...]:
        """Details of text columns."""
        return self.details

    @property
    def change_lines(self) -> tuple[str, ...]:
        """A line for each of the smallest changes, and the columns whose change is not enough."""
        found, n = self.changes, MAX_SHOWN_CHANGES
        if not found.single and not found.pairs:
            none = f"No change of one or two columns within their range leads to a decision other than {self.decision}."
            return (none,) * bool(found.never)
        lines = [
            f"  {change}: decision {change.decision}, {self.quantity} = {self.shown(change.probability)}"
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
            name: float(np.sum(values[rest])) if name in ("estimate", self.response) else np.nan
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
        scale, response = self._with_intervals("estimate", 2), self._with_intervals(self.response, 3)
        return list(zip(self.names, self.values, self.references, scale, response, strict=True))

    def _with_intervals(self, name: str, decimals: int) -> list[str]:
        """Numbers of a column with their intervals; contributions, which lie between the two ends, have a sign."""
        bounds = ("lower", "upper") if name == "estimate" else (f"{name}_lower", f"{name}_upper")
        columns = [self.columns[each].tolist() for each in (name, *bounds) if each in self.columns]
        texts, last = [], len(self.names) - 1
        for at, values in enumerate(zip(*columns, strict=True)):
            is_end = at in (0, last)
            if is_end and name == "probability":
                number, *ends = (probability_text(x) for x in values if np.isfinite(x))
                texts.append(f"{number} ({' to '.join(ends)})" if ends else number)
            else:
                texts.append(with_interval(values, decimals, "" if is_end else "+"))
        return texts

    def _cells(self) -> list[list[str]]:
        """Texts of the heading and of each line."""
        return [["", "value", "reference", self.scale, self.response], *map(list, self.texts)]

    def __getstate__(self) -> dict[str, Any]:
        """Everything with the changes, but without the model that finds them."""
        return vars(self) | {"search": KnownChanges(self.changes)}

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
