# SPDX-License-Identifier: BSD-3-Clause
"""From a fitted model and some rows to their explanation.

A model describes itself by an `Explained`: the columns of its table, the encoded rows, and how its activations are sums
over the columns. `explain_rows` needs nothing else, so that all models are explained by the same code.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
from scipy import special

from separatrix._arguments import check_number
from separatrix._array import Array, Codes, Float, Rows, to_dense
from separatrix._text import did_you_mean, first_few, listed
from separatrix.exceptions import DataError
from separatrix.explanation.changes import Changes, Decision, changes_of, costs_of_threshold
from separatrix.explanation.columns import Column
from separatrix.explanation.result import Explanation, KnownChanges, RowExplanation
from separatrix.explanation.scores import LinearScores, Lines, Scores, class_contrast
from separatrix.weights import interval_tails

N_WORDS = 8  # words of a text that are listed
MIN_ADJUSTMENT = 1e-9  # on the log-odds; smaller differences from the sum of the contributions are rounding errors
REFERENCE, THIS_ROW = "(reference)", "(this row)"
AVERAGED = "(average over the weights)"
AVERAGED_NOTE = (
    f"'{AVERAGED[1:-1]}' is the difference between the prediction, which averages over all plausible weights, and the "
    "sum of the contributions at their mean."
)

AGAINST_MEAN = " against the mean of the classes"
JOINT_NOTE = (
    "The log-odds compare a class with the mean of all classes, but its probability depends most on the most probable "
    "of the other classes, so the two contributions of a column may have different signs."
)


@dataclass(frozen=True, eq=False)
class Explained:
    """Description of a model and of encoded rows ``X`` (n, D), from which an explanation is computed.

    ``functions`` maps encoded rows to Φ (n, M), and function j belongs to line ``owner[j]`` of ``lines``, which are the
    columns and then, if any, pairs of columns. ``start`` (r, M) are the functions of the reference, None if nothing is
    known of it. ``intervals`` are those of the probabilities, (n, 2) or (n, K, 2), at a level. ``adjustment`` names
    what changes the probability after the sum over the columns. If it is more than an average over the weights,
    ``is_adjusted``, intervals of the sum are not those of the probability. One classifier for each class against the
    rest has a description for each class, ``against_rest``, with the scores of the second of two classes.
    ``words`` has the functions of each text column, and what they count.
    """

    classes: Array
    columns: tuple[Column, ...]
    cells: tuple[tuple[Any, ...], ...]
    X: Rows
    functions: Callable[[Rows], Rows]
    lines: tuple[str, ...]
    owner: Codes
    scores: Scores
    probabilities: Callable[[Rows], Float]
    start: Float | None
    start_cells: tuple[Any, ...]
    reference: str
    intervals: Callable[[Rows, float], Float] | None = None
    adjustment: str = AVERAGED
    is_adjusted: bool = False
    against_rest: tuple[Explained, ...] = ()
    warnings: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()
    decision: Decision | None = None
    words: tuple[tuple[str, Codes, tuple[str, ...]], ...] = ()


class Explains:
    """Base class of models with `explain`. A model describes itself in ``_explained``."""

    @abstractmethod
    def _explained(self, rows: Any, reference: Any) -> Explained:
        """Description of the model and of the rows; raises TypeError with the reason if there is none."""

    def explain(
        self,
        rows: Any,
        reference: Any = None,
        level: float = 0.95,
        *,
        fixed: Sequence[str] = (),
        threshold: float | None = None,
        label: Any = None,
    ) -> Explanation:
        """Explain the probability of each row: what each column contributes, and what would change the decision.

        Parameters
        ----------
        rows : table
            The rows to explain, in memory. A single row may be a dict, a pandas Series, or an array of numbers.
        reference : table, optional
            What a row is compared with: a row, or the average of several rows. By default, the average training row;
            for naive Bayes, a row of which nothing is known.
        level : float, default 0.95
            Level of the intervals.
        fixed : sequence of str
            Columns that cannot be changed, such as the age of a person.
        threshold : float, optional
            Of two classes, ``label`` is chosen if its probability exceeds this threshold; by default 0.5.
        label : class, optional
            The class whose probability is explained. By default the second of two classes, and of more classes the one
            with the largest probability in each row.

        Returns
        -------
        Explanation
            A table with a line for each column of each row. ``explanation[i]`` explains one row.

        Notes
        -----
        Contributions to the log-odds add up exactly. Those to the probability add up, too. What a column adds to it
        depends on which columns have changed already, so a contribution is the average over all orders in which the
        columns may change (Shapley 1953); beyond the five largest, columns change gradually meanwhile.
        """
        found = self._explained(rows, reference)
        numbers = row_labels(rows, found.X.shape[0])
        return explain_rows(found, level, numbers, fixed=fixed, threshold=threshold, label=label)


def row_labels(rows: Any, n: int) -> list[Any]:
    """Labels of the rows in the index of a pandas table; positions of other rows."""
    if nw.dependencies.is_pandas_dataframe(rows):
        return list(rows.index.tolist())
    if nw.dependencies.is_pandas_series(rows) and rows.name is not None:
        return [rows.name]
    return list(range(n))


def explain_rows(
    model: Explained,
    level: float,
    numbers: Sequence[Any],
    *,
    fixed: Sequence[str] = (),
    threshold: float | None = None,
    label: Any = None,
) -> Explanation:
    """Explanation of each row of a description; ``numbers`` are labels of the rows."""
    interval_tails("explain", level)
    names, classes = [column.name for column in model.columns], model.classes.tolist()
    fixed = [fixed] if isinstance(fixed, str) else list(fixed)
    for name in fixed:
        if name not in names:
            raise DataError(
                f"explain(fixed=...) names {name!r}, which is not a column.{did_you_mean(str(name), names)}"
            )
    if label is not None and label not in classes:
        raise ValueError(f"explain(label={label!r}): the classes are {listed(classes)}.")
    if model.X.shape[0] == 0:
        raise DataError("explain: the table has no rows. Pass the rows to explain.")
    P = model.probabilities(model.X)
    codes = P.argmax(axis=1) if len(classes) > 2 else np.ones(len(P), dtype=np.intp)
    if label is not None:
        codes = np.full(len(P), classes.index(label))
    bounds = None
    if model.intervals is not None:
        bounds = model.intervals(model.X, level)
    rows = []
    for n, code in enumerate(codes.tolist()):
        decision = _decision(model, threshold, code)
        rows.append(_explain_row(model, n, numbers[n], P[n], code, decision, bounds, level, fixed))
    averaged = (AVERAGED_NOTE,) * any(AVERAGED in row.names for row in rows)
    joint = (JOINT_NOTE,) * any(row.against == AGAINST_MEAN for row in rows)
    return Explanation(tuple(rows), level, (*averaged, *joint, *_notes(model, fixed)))


def explain_means(model: Explained, level: float, numbers: Sequence[Any]) -> Explanation:
    """Explanation of the mean of each row of a description, whose scores are `MeanScores`."""
    interval_tails("explain", level)
    if model.X.shape[0] == 0:
        raise DataError("explain: the table has no rows. Pass the rows to explain.")
    rows, C = [], len(model.lines)
    for n, number in enumerate(numbers):
        found = model.scores.lines(model.functions(model.X[[n]]), model.start, model.owner, C, 1, level)
        order = _order(found.estimate)
        texts, before = _texts_of(model, model.cells[n]), _texts_of(model, model.start_cells)
        row = RowExplanation(
            number=number,
            label=None,
            scale=model.scores.scale,
            against="",
            probability=float(found.probability[-1]),
            interval=_interval(model, found, None, n, 1),
            level=level,
            decision=None,
            rule="",
            reference=model.reference,
            names=tuple((REFERENCE, *model.lines, THIS_ROW)[at] for at in order),
            values=tuple(texts[at] for at in order),
            references=tuple(before[at] for at in order),
            columns={name.replace("probability", "mean"): column[order] for name, column in found.columns.items()},
            warnings=model.warnings[n],
            search=KnownChanges(Changes((), (), ())),
            response="mean",
        )
        rows.append(row)
    return Explanation(tuple(rows), level, model.notes)


def _order(estimate: Float) -> list[int]:
    """Positions of the reference, of the lines from the largest to the smallest contribution, and of the row."""
    largest = 1 + np.argsort(-np.abs(estimate[1:-1]), kind="stable")
    return [0, *largest.tolist(), len(estimate) - 1]


def _texts_of(model: Explained, cells: Sequence[Any]) -> list[str]:
    """Text of each line: that of the cell of a column, or nothing."""
    shown = [column.show(cell) for column, cell in zip(model.columns, cells, strict=True)]
    return ["", *shown, *[""] * (len(model.lines) + 2 - len(shown))]


def _explain_row(
    model: Explained,
    n: int,
    number: Any,
    P: Float,
    code: int,
    decision: Decision,
    bounds: Float | None,
    level: float,
    fixed: Sequence[str],
) -> RowExplanation:
    """Explanation of row n for the class with this code."""
    is_binary = bool(model.against_rest)
    model = model.against_rest[code] if is_binary else model
    x, C, scores = model.X[[n]], len(model.lines), model.scores
    found = scores.lines(model.functions(x), model.start, model.owner, C, 1 if is_binary else code, level)
    _require_finite(found.estimate, model.lines)
    final, columns = on_scale(P, code, scores, is_binary=is_binary), found.columns
    rest = final - found.estimate[-1] if np.isfinite(final) else 0.0
    texts, before = _texts_of(model, model.cells[n]), _texts_of(model, model.start_cells)
    order = _order(found.estimate)
    if abs(rest) > MIN_ADJUSTMENT * max(1.0, abs(final)):  # another line, before the last one
        order.insert(-1, C + 2)
        inserted = {"estimate": rest, "probability": float(P[code]) - found.probability[-1]}
        columns = {name: np.append(column, inserted.get(name, np.nan)) for name, column in columns.items()}
        columns["estimate"][C + 1] = final
    columns["probability"][C + 1] = float(P[code])
    interval = _interval(model, found, bounds, n, code)
    if "lower" in columns:
        ends = (np.nan, np.nan) if interval is None else interval
        columns["probability_lower"][C + 1], columns["probability_upper"][C + 1] = ends
        if model.is_adjusted:  # the interval of the sum is not that of the adjusted log-odds
            for name in ("standard_error", "lower", "upper"):
                columns[name][C + 1] = np.nan
    names = (REFERENCE, *model.lines, THIS_ROW, model.adjustment)
    is_joint = len(P) > 2 and scores.scale == "log-odds"
    against = " against the rest" if is_binary else AGAINST_MEAN if is_joint else ""
    search = partial(changes_of, x, model.columns, model.cells[n], fixed, model.probabilities, decision, code)
    return RowExplanation(
        number=number,
        label=model.classes.tolist()[code],
        scale=scores.scale,
        against=against,
        probability=float(P[code]),
        interval=interval,
        level=level,
        decision=decision.labels[int(decision.decide(P[None])[0])],
        rule=decision.text,
        reference=model.reference,
        names=tuple(names[at] for at in order),
        values=tuple(texts[at] for at in order),
        references=tuple(before[at] for at in order),
        columns={name: column[order] for name, column in columns.items()},
        warnings=model.warnings[n] if model.warnings else (),
        details=_words_of(model, model.functions(x), 1 if is_binary else code),
        search=search,
    )


def _require_finite(estimate: Float, lines: Sequence[str]) -> None:
    """Raise if a contribution is infinite; naive Bayes by maximum likelihood may give a value the probability 0."""
    bad = np.flatnonzero(~np.isfinite(estimate))
    if len(bad):
        name = lines[bad[0] - 1] if 1 <= bad[0] <= len(lines) else "the row"
        raise DataError(
            f"The contribution of {name!r} is not finite: a class gives its value the probability 0. With "
            "estimate='map', probabilities are positive."
        )


def _interval(model: Explained, found: Lines, bounds: Float | None, n: int, code: int) -> tuple[float, float] | None:
    """Interval of the probability of row n from the model, or from the sum if nothing changes the sum afterwards."""
    if bounds is not None:
        ends = bounds[n] if bounds.ndim == 2 else bounds[n, code]
        low, high = ends if bounds.ndim == 3 or code == 1 else 1.0 - ends[::-1]
        return float(low), float(high)
    if found.bounds is None or model.is_adjusted:
        return None
    return float(found.bounds[-1, 0]), float(found.bounds[-1, 1])


def _words_of(model: Explained, phi: Rows, code: int) -> tuple[str, ...]:
    """The words of each text column with the largest contributions to the log-odds, at the mean weights."""
    found = []
    for name, at, words in model.words:
        x = to_dense(phi[:, at])[0]
        present = np.flatnonzero(x)
        if not isinstance(model.scores, LinearScores) or not len(present):
            continue
        w = class_contrast(len(model.scores.weights), code) @ model.scores.weights[:, at]
        size = w * x
        largest = present[np.argsort(-np.abs(size[present]), kind="stable")][:N_WORDS]
        found.append(f"Words of {name}: " + ", ".join(f"{words[j]} {size[j]:+.2f}" for j in largest.tolist()))
    return tuple(found)


def on_scale(P: Float, code: int, scores: Scores, *, is_binary: bool) -> float:
    """Probabilities (K,) on the scale on which contributions add up."""
    p = float(P[code])
    with np.errstate(divide="ignore", invalid="ignore"):
        if scores.scale == "probit":
            return float(special.ndtri(p))
        if len(P) == 2 or is_binary:
            rest = float(P[1 - code]) if len(P) == 2 else 1.0 - p
            return float(np.log(p) - np.log(rest))
        return float(np.log(P) @ class_contrast(len(P), code))


def _decision(model: Explained, threshold: float | None, code: int) -> Decision:
    """The rule of the model, or the threshold of the user."""
    labels = tuple(model.classes.tolist())
    if threshold is None:
        if model.decision is not None:
            return model.decision.of_class(code)
        return Decision(lambda P: P.argmax(axis=1), labels, "threshold 0.5" if len(labels) == 2 else "")
    if len(labels) > 2:
        raise ValueError(
            f"explain(threshold={threshold!r}): there are {len(labels)} classes, of which the most probable one is "
            "chosen. For decisions by expected cost, wrap the model in sx.DecisionRule(model, costs=..., prefit=True)."
        )
    if model.decision is not None:
        raise ValueError(
            f"explain(threshold={threshold!r}): this model decides by its own costs. Leave out threshold, or explain "
            "model.fitted_, the model without its rule."
        )
    limit = check_number("explain", "threshold", threshold, low=0.0, high=1.0)
    L = costs_of_threshold(limit, code)
    return Decision(lambda P: np.asarray((P @ L).argmin(axis=1)), labels, f"threshold {limit:g}")


def _notes(model: Explained, fixed: Sequence[str]) -> tuple[str, ...]:
    """Notes of the model, and the columns that no change was searched for."""
    still = [f"{c.name} ({c.why})" for c in model.columns if not c.can_change and c.name not in fixed and c.why]
    if not still:
        return model.notes
    return (*model.notes, f"No change was searched for {first_few(still)}.")
