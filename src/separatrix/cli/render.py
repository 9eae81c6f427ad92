# SPDX-License-Identifier: BSD-3-Clause
"""What a verb found, as tables and paragraphs for a terminal of 80 columns.

Columns that act by a broken line are put together from their pieces: a weight of a ramp is how much the log-odds rise
from one knot to the next, so that their running sum is the curve, which is drawn in a line of text.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, isnan, log10
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from separatrix.cli.document import odds_ratio

if TYPE_CHECKING:
    from separatrix.comparison import Comparison
    from separatrix.study import Coefficient, Compared, Study
    from separatrix.table import Schema

__all__ = [
    "Curve",
    "class_line",
    "coefficient_table",
    "column_table",
    "comparison_table",
    "curves_of",
    "file_table",
    "plain_table",
    "shown_plans",
    "sparkline",
    "straight_weights",
]

MOST_COLUMNS = 40  # of a table that are listed
BLOCKS = "▁▂▃▄▅▆▇█"


def plain_table(*heads: str, right: tuple[int, ...] = ()) -> Table:
    """An empty table with a line under its heads; columns ``right`` are numbers."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for i, head in enumerate(heads):
        table.add_column(head, justify="right" if i in right else "left", overflow="fold", no_wrap=i in right)
    return table


def column_table(schema: Schema) -> Table:
    """What each column was taken to be, and what it becomes; of very many, the first of each kind."""
    table = plain_table("column", "is", "seen", "becomes")
    for plan in shown_plans(schema):
        table.add_row(
            *map(Text, (plan.column, plan.kind, plan.why, _becomes(plan))), style=None if plan.names else "dim"
        )
    return table


def shown_plans(schema: Schema) -> list[Any]:
    """All, or of very many columns the first, and the first of those that were dropped, in their order."""
    if len(schema.plans) <= MOST_COLUMNS:
        return list(schema.plans)
    used, dropped = ([p for p in schema.plans if bool(p.names) is so][: MOST_COLUMNS // 2] for so in (True, False))
    kept = {plan.column for plan in (*used, *dropped)}
    return [plan for plan in schema.plans if plan.column in kept]


def comparison_table(comparison: Comparison) -> Table:
    """The figures that a choice rests on, standard errors below in brackets; the rest is in the document."""
    found = comparison.to_dict()
    heads = {"accuracy": "accuracy", "auc": "AUC", "ece": "ECE"}
    table = plain_table("", "log-loss", *heads.values(), "ln p(D)", "P(model)", "fit s", right=tuple(range(1, 8)))
    for i, trial in enumerate(comparison):
        if trial.failure:
            table.add_row(Text(trial.name), "failed")
            continue
        loss = _with_error(-found["test_log_likelihood"][i], found["test_log_likelihood_se"][i])
        others = [_with_error(found[f"test_{key}"][i], found[f"test_{key}_se"][i]) for key in heads]
        facts = (_known(found["log_evidence"][i], ".1f"), _known(found["probability"][i], ".3f"))
        table.add_row(Text(trial.name), loss, *others, *facts, _known(trial.fit_seconds, ".2f"))
    return table


def _with_error(value: float, error: float) -> str:
    below = _known(error, ".4f")
    return _known(value, ".4f") + (f"\n({below})" if below else "")


def _known(value: float, digits: str) -> str:
    return "" if isnan(value) else f"{value:{digits}}"


def class_line(study: Study | Compared) -> str:
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
        cells = (c.name, *((str(c.label),) if many else ()), f"{c.weight:.3g}", interval, _odds(c.weight))
        table.add_row(*map(Text, cells), Text(f"{c.per_spread:+.3f}"), style="bold" if clear else None)
    return table


def _odds(weight: float) -> str:
    """Three digits, and more where they would hide on which side of one it is."""
    more = max(0, floor(-log10(abs(weight))) - 1) if 0 < abs(weight) < 0.1 else 0
    return f"{odds_ratio(weight):.{3 + min(more, 9)}g}"


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


class Curve(NamedTuple):
    """The log-odds of a class along one column, over those at its first knot."""

    name: str
    label: Any
    knots: tuple[float, ...]
    log_odds: tuple[float, ...]

    @property
    def reach(self) -> float:
        """From the lowest point to the highest."""
        return max(self.log_odds) - min(self.log_odds)


def curves_of(model: Any, weights: Sequence[Coefficient]) -> tuple[Curve, ...]:
    """The curves of a classifier of tables, the longest reach first; ``weights`` as `explain` has them."""
    import numpy as np

    functions = _ramps(model)
    if functions is None:
        return ()
    names, first = model.encoder_.schema_.columns, len(functions.straight)
    curves = []
    for pieces in _by_class(model, weights):
        rises = np.array([piece.weight for piece in pieces[first:]])
        for d in dict.fromkeys(functions.bent.tolist()):
            own = functions.bent == d
            knots = (functions.low[own][0], *functions.high[own])
            curve = (0.0, *np.cumsum(rises[own]))
            curves.append(Curve(names[d], pieces[0].label, tuple(map(float, knots)), tuple(map(float, curve))))
    return tuple(sorted(curves, key=lambda curve: -curve.reach))


def straight_weights(model: Any, weights: Sequence[Coefficient]) -> tuple[Coefficient, ...]:
    """Those weights that are no piece of a curve."""
    functions = _ramps(model)
    if functions is None:
        return tuple(weights)
    first = len(functions.straight)
    return tuple(weight for pieces in _by_class(model, weights) for weight in pieces[:first])


def sparkline(values: Sequence[float]) -> str:
    """One block for each value, from the lowest to the highest.

    Examples
    --------
    >>> sparkline([0.0, 1.0, 2.0, 7.0])
    '▁▂▃█'
    """
    low, high = min(values), max(values)
    step = (high - low) / (len(BLOCKS) - 1) or 1.0
    return "".join(BLOCKS[round((value - low) / step)] for value in values)


def _ramps(model: Any) -> Any:
    """The ramps of the model; None where it has none."""
    from separatrix.study import Ramps

    basis = getattr(model.estimator_, "basis_", None)
    return basis.functions_ if isinstance(basis, Ramps) else None


def _by_class(model: Any, weights: Sequence[Coefficient]) -> list[Sequence[Coefficient]]:
    """The weights of each class, in the order of the numbers that have one."""
    width = len(model.spread_)
    return [weights[start : start + width] for start in range(0, len(weights), width)]
