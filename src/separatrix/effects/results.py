# SPDX-License-Identifier: BSD-3-Clause
"""Tables of effects: from averages over rows to estimates, intervals and tests of differences and ratios."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isinf
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse, special

from separatrix._array import Float
from separatrix._output import Table
from separatrix._text import enumerated, first_few
from separatrix.effects.averages import Averages, Numbers
from separatrix.effects.columns import value_text
from separatrix.effects.groups import Group
from separatrix.exceptions import DataError
from separatrix.weights import Marginals, interval_tails

FORMATS = dict.fromkeys(("estimate", "lower", "upper"), ".4g") | {"standard_error": ".3g", "z": ".2f", "t": ".2f"}
FORMATS |= {"p": "p", "probability_of_sign": ".4f"}
LABEL_FORMAT = ".12g"  # of numbers to which columns are set, or by which rows are grouped
RESULT_COLUMNS = ("name", "variable", "contrast", "class", *FORMATS)
HYPOTHESES = ("pairwise", "reference")
UNDETERMINED = (
    "Effects without a standard error (-) are not determined by the data: some columns of the model are collinear, and "
    "here they change separately, but not in the training rows."
)
RATIO_NOTE = "Intervals and tests of ratios are computed on the log scale; without an effect, a ratio is 1."


class Scale(NamedTuple):
    """A function of an average on which intervals are computed, its derivative and its inverse, and its domain."""

    forward: Callable[[Float], Float]
    slope: Callable[[Float], Float]
    back: Callable[[Float], Float]
    low: float
    high: float

    def holds(self, values: Float) -> bool:
        """Whether all values are inside the domain."""
        return bool(((values > self.low) & (values < self.high)).all())


IDENTITY = Scale(lambda m: m, np.ones_like, lambda x: x, -np.inf, np.inf)
LOG = Scale(np.log, lambda m: 1.0 / m, np.exp, 0.0, np.inf)
LOGIT = Scale(special.logit, lambda m: 1.0 / (m * (1.0 - m)), special.expit, 0.0, 1.0)
RATIOS = {"ratio": LOG, "odds ratio": LOGIT}


class Line(NamedTuple):
    """One line of a table: the average at ``high``, minus that at ``low`` if there are two.

    ``what`` is the contrast, and ``setting`` has the values of the columns that are set in all rows.
    """

    variable: str
    what: str
    setting: tuple[Any, ...]
    group: Group
    label: Any
    high: int
    low: int | None = None


@dataclass(frozen=True, eq=False, repr=False)
class EffectTable(Table):
    """Effects with one line each; the columns are items, such as ``table["estimate"]``.

    ``kind`` is "predictions", "comparisons" or "slopes"; ``null`` the value without an effect, NaN for predictions.
    ``level`` is that of the intervals. ``by`` names the columns that divide the rows, and ``given`` the columns that
    were set to values.
    """

    kind: str = ""
    null: float = np.nan
    level: float = 0.95
    by: tuple[str, ...] = ()
    given: tuple[str, ...] = ()

    def plot(self, *, ax: Any = None, title: str | None = None) -> Any:
        """Draw the effects with their intervals; see `separatrix.plots.EffectDisplay`."""
        from separatrix.plots import EffectDisplay

        return EffectDisplay.from_table(self, ax=ax, title=title)


@dataclass(frozen=True)
class Heading:
    """What a table is called, and what stands below it."""

    kind: str
    title: str
    notes: tuple[str, ...]
    by: tuple[str, ...]
    given: tuple[str, ...]
    level: float
    is_posterior: bool
    has_labels: bool


def table_of(
    owner: str,
    heading: Heading,
    averages: Averages,
    lines: Sequence[Line],
    *,
    comparison: str = "difference",
    hypothesis: Any = None,
    scale: Scale = IDENTITY,
) -> EffectTable:
    """The table of some lines; ``scale`` is the one on which intervals of predictions are computed."""
    lines, notes = _with_rows(owner, lines, averages)
    is_ratio, is_level = comparison in RATIOS, heading.kind == "predictions" and hypothesis is None
    numbers = averages.numbers
    if is_ratio:
        _require_domain(owner, comparison, numbers, lines)
        numbers = _mapped(numbers, RATIOS[comparison])
    numbers = numbers.combined(
        _matrix([[(line.high, 1.0), *([] if line.low is None else [(line.low, -1.0)])] for line in lines], numbers)
    )
    if hypothesis is not None:
        lines, pairs = _compared(owner, lines, hypothesis, heading.by)
        numbers = numbers.combined(_matrix([[(i, 1.0), (j, -1.0)] for i, j in pairs], numbers))
    found, tails = numbers.marginals, interval_tails(owner, heading.level)
    estimate, std, bounds = found.mean, found.std, found.quantiles(tails)
    if is_level and scale.holds(numbers.all_values):
        bounds = scale.back(_mapped(numbers, scale).marginals.quantiles(tails))
    columns = _line_labels(lines, heading)
    if is_ratio:
        estimate, bounds, notes = np.exp(estimate), np.exp(bounds), (*notes, RATIO_NOTE)
    columns |= {"estimate": estimate, "standard_error": estimate * std if is_ratio else std}
    columns |= {"lower": bounds[:, 0], "upper": bounds[:, 1]} | (
        {} if is_level else _tests(found, heading.is_posterior)
    )
    if np.isnan(std).any():
        notes = (*notes, UNDETERMINED)
    return EffectTable(
        tuple(line.variable for line in lines),
        columns,
        heading.title,
        (*notes, *heading.notes),
        dict.fromkeys((*heading.by, *heading.given), LABEL_FORMAT) | FORMATS,
        kind=heading.kind,
        null=np.nan if is_level else 1.0 if is_ratio else 0.0,
        level=heading.level,
        by=heading.by,
        given=heading.given,
    )


def labels_of(names: Sequence[str]) -> tuple[str, ...]:
    """Names of columns of the user's table in a table of effects, whose own columns keep their names.

    >>> labels_of(["region", "class"])
    ('region', 'class (column)')
    """
    return tuple(f"{name} (column)" if name in RESULT_COLUMNS else name for name in names)


def _line_labels(lines: Sequence[Line], heading: Heading) -> dict[str, Any]:
    """Columns that say what each line is."""
    columns: dict[str, Any] = {}
    if any(line.what for line in lines):
        columns["contrast"] = [line.what for line in lines]
    columns |= {name: [line.setting[i] for line in lines] for i, name in enumerate(heading.given)}
    columns |= {name: [line.group[i] for line in lines] for i, name in enumerate(heading.by)}
    if heading.has_labels:
        columns["class"] = [line.label for line in lines]
    return columns


def _tests(found: Marginals, is_posterior: bool) -> dict[str, Any]:
    """Whether each number is zero: its sign, or a test with the normal distribution or Student's t."""
    if is_posterior:
        return {"probability_of_sign": found.probability_of_sign}
    z = np.divide(found.mean, found.std, out=np.zeros_like(found.std), where=found.std != 0)
    if isinf(found.freedom):
        return {"z": z, "p": 2 * special.ndtr(-np.abs(z))}
    return {"t": z, "p": 2 * special.stdtr(found.freedom, -np.abs(z))}


def _mapped(numbers: Numbers, scale: Scale) -> Numbers:
    with np.errstate(divide="ignore", invalid="ignore"):  # averages that no line uses
        return numbers.mapped(scale.forward, scale.slope)


def _matrix(entries: Sequence[Sequence[tuple[int, float]]], numbers: Numbers) -> Any:
    """Sparse matrix with the given (column, value) entries in each row."""
    row, column, value = zip(*((r, c, v) for r, pairs in enumerate(entries) for c, v in pairs), strict=True)
    return sparse.csr_array((value, (row, column)), shape=(len(entries), len(numbers.all_values)))


def _with_rows(owner: str, lines: Sequence[Line], averages: Averages) -> tuple[list[Line], tuple[str, ...]]:
    """The lines whose averages have rows, and a note on the others; raises if there are none."""
    has_rows = np.repeat(averages.weight.ravel() > 0, averages.shape[2])
    kept = [line for line in lines if has_rows[line.high] and (line.low is None or has_rows[line.low])]
    if not kept:
        names = enumerated(list(dict.fromkeys(line.variable for line in lines)))
        raise DataError(f"{owner}: every value of {names} is missing. Give values to compare instead of a step.")
    lost = dict.fromkeys(f"{line.variable} in {line.group}" for line in lines if line not in kept)
    return kept, (f"Left out, because every value is missing: {first_few(list(lost))}.",) * bool(lost)


def _require_domain(owner: str, comparison: str, numbers: Numbers, lines: Sequence[Line]) -> None:
    """Raise if an average is zero, or a probability of one for odds, so that the ratio does not exist."""
    for line in lines:
        for at in (line.high, line.low):
            if at is not None and not RATIOS[comparison].holds(values := numbers.all_values[at]):
                edge = float(values.min() if values.min() <= 0 else values.max())
                parts = (line.variable, line.what, *line.group, "" if line.label is None else line.label)
                where = ", ".join(str(part) for part in parts if part != "")
                raise DataError(
                    f"{owner}(comparison={comparison!r}): an average is {edge:g} ({where}), so the ratio does not "
                    "exist. Use comparison='difference'."
                )


def _compared(
    owner: str, lines: Sequence[Line], hypothesis: Any, by: tuple[str, ...]
) -> tuple[list[Line], list[tuple[int, int]]]:
    """Lines for differences of lines, and the pairs: between the groups if there are groups, else between contrasts."""
    if hypothesis not in HYPOTHESES:
        raise DataError(f"{owner}(hypothesis={hypothesis!r}): choose 'pairwise', 'reference' or None.")
    families: dict[Any, list[int]] = {}
    for i, line in enumerate(lines):
        own = (line.what, line.setting) if by else ()
        families.setdefault((line.variable, own, line.label), []).append(i)
    found, pairs = [], []
    for members in families.values():
        chosen = combinations(members, 2) if hypothesis == "pairwise" else [(members[0], i) for i in members[1:]]
        for low, high in chosen:
            a, b = lines[high], lines[low]
            setting, group = _against(a.setting, b.setting), _against(a.group, b.group)
            what = a.what if a.what == b.what else f"({a.what}) vs. ({b.what})"
            found.append(a._replace(setting=setting, group=group, what=what))
            pairs.append((high, low))
    if not pairs:
        raise DataError(
            f"{owner}(hypothesis={hypothesis!r}): there is only one line for each class, so nothing to compare. Give "
            "by= for groups of rows, or several values in variables= or at=."
        )
    return found, pairs


def _against(a: Sequence[Any], b: Sequence[Any]) -> tuple[Any, ...]:
    """Values of two lines that are compared."""
    pairs = zip(a, b, strict=True)
    return tuple(x if x == y else f"{value_text(x)} vs. {value_text(y)}" for x, y in pairs)
