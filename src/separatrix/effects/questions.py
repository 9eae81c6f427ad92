# SPDX-License-Identifier: BSD-3-Clause
"""What a fitted model predicts on average, and how that changes with a column: predictions, comparisons and slopes.

Every result is an average over the rows of a table, with its uncertainty. The vocabulary is that of the package
marginaleffects (Arel-Bundock, Greifer & Heiss 2024, How to interpret statistical models using marginaleffects).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from separatrix._arguments import check_option
from separatrix._text import first_few
from separatrix.effects.averages import Term
from separatrix.effects.columns import contrasts_of, grid_values, wanted_columns
from separatrix.effects.inquiry import Inquiry
from separatrix.effects.results import LOGIT, EffectTable, Line, table_of
from separatrix.exceptions import DataError

N_GRID_POINTS = 16
COMPARISONS = {
    "difference": "Change of the average",
    "ratio": "Ratio of averages of the",
    "odds ratio": "Odds ratio of averages of the",
}


def predictions(
    model: Any,
    data: Any,
    variables: Any = None,
    by: str | Sequence[str] | None = None,
    at: Mapping[str, Any] | None = None,
    hypothesis: str | None = None,
    level: float = 0.95,
    *,
    positive: Any = None,
    rng: Any = None,
) -> EffectTable:
    """Average predicted probability of each class, or average mean of a generalised linear model.

    Parameters
    ----------
    model : fitted model
        A linear model with a distribution of its weights: logistic, softmax, probit or Bayesian logistic regression, a
        `GeneralizedLinearModel`, or a `TableClassifier` around such a model.
    data : table, scan or path
        Rows over which predictions are averaged, such as the training rows.
    variables : str, list of str, or mapping from column to values, optional
        Columns that are set to each of some values in all rows, while other columns keep the values of each row. By
        default these are all levels of a category, and round numbers over the range of a number.
    by : str or list of str, optional
        Columns of ``data`` whose values divide the rows into groups. The model need not use them.
    at : mapping from column to a value or a list of values, optional
        Values to which columns are set in all rows; lists give all combinations.
    hypothesis : {"pairwise", "reference"}, optional
        Differences of the lines instead of the lines: all pairs, or against the first. Groups are compared if there is
        ``by``, otherwise the values of ``variables`` and ``at``.
    level : float, default 0.95
        Level of the intervals.
    positive : label, optional
        Class whose probability is computed; by default the second of two classes, or each of more.
    rng : int or numpy.random.Generator, optional
        Seed of posterior draws.

    Returns
    -------
    EffectTable
        A table with columns ``estimate``, ``standard_error``, ``lower`` and ``upper``, and ``plot()``.

    See Also
    --------
    comparisons : How predictions change with a column.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = sx.datasets.load_lobsters(return_X_y=True, as_frame=True)
    >>> model = sx.LogisticRegression(alpha=0).fit(X, y)
    >>> sx.effects.predictions(model, X, variables={"size (mm)": [36, 42, 48]})["estimate"].round(3)
    array([0.3  , 0.582, 0.818])
    """
    ask = Inquiry("predictions", model, data, by, level, positive, rng)
    given = ask.at(at)
    varied = {} if variables is None else wanted_columns(ask.owner, ask.columns, variables, ask.dropped)
    ask.require_once(varied, given, "in both variables= and at=")
    ask.require_once((*varied, *given), ask.population.by, "in by= and set to values")
    for name, (column, values) in varied.items():
        chosen = (
            grid_values(ask.with_levels(column), ask.survey, N_GRID_POINTS) if values is None else ask.as_list(values)
        )
        if not chosen:
            raise DataError(f"{ask.owner}: column {name!r} has no default values. List some: {{{name!r}: [...]}}.")
        given[name] = chosen
    settings = ask.settings(given)
    averages = ask.averages([Term(edits) for _, edits in settings])
    lines = [
        Line(ask.subject(label), "", setting, group, label, averages.row(t, g, k))
        for t, (setting, _) in enumerate(settings)
        for g, group, k, label in ask.cells
    ]
    notes = ask.extrapolation(edit for _, edits in settings for edit in edits)
    heading = ask.heading(f"Average {ask.quantity}", averages, tuple(given), notes)
    return table_of(ask.owner, heading, averages, lines, hypothesis=hypothesis, scale=ask.scale)


def comparisons(
    model: Any,
    data: Any,
    variables: Any = None,
    by: str | Sequence[str] | None = None,
    at: Mapping[str, Any] | None = None,
    comparison: str = "difference",
    hypothesis: str | None = None,
    level: float = 0.95,
    *,
    positive: Any = None,
    rng: Any = None,
) -> EffectTable:
    """How the average prediction changes if a column changes and the other columns of each row do not.

    Parameters
    ----------
    model, data, by, level, positive, rng
        As in `predictions`.
    variables : str, list of str, or mapping from column to a comparison, optional
        Columns of the user's table, by default all columns of the model. The comparison of a column is a step that is
        added to the value of each row (a number, a number of days or a timedelta for dates, or "sd" for one standard
        deviation), a list of values, each of which is compared with the first, or for levels "reference" (each with
        the first, the default), "pairwise" or "sequential". By default, the step of a number is a round number near one
        standard deviation.
    at : mapping from column to a value or a list of values, optional
        Values to which other columns are set in all rows; lists give all combinations.
    comparison : {"difference", "ratio", "odds ratio"}, default "difference"
        How two averages are compared. Intervals and tests of ratios are computed on the log scale.
    hypothesis : {"pairwise", "reference"}, optional
        Differences of the effects instead of the effects (ratios of ratios): all pairs, or against the first. Groups
        are compared if there is ``by``, otherwise the comparisons of each column.

    Returns
    -------
    EffectTable
        A table with columns ``estimate``, ``standard_error``, ``lower``, ``upper``, and ``z`` (or ``t``) and ``p`` for
        sampling distributions, ``probability_of_sign`` for posteriors.

    Notes
    -----
    A ratio compares two averages of probabilities; it is not the average of ratios of each row. Rows in which a number
    is missing have no step, and are left out.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = sx.datasets.load_lobsters(return_X_y=True, as_frame=True)
    >>> model = sx.LogisticRegression(alpha=0).fit(X, y)
    >>> effect = sx.effects.comparisons(model, X, variables={"size (mm)": 5})
    >>> effect.names, effect["contrast"], effect["estimate"].round(3)
    (('size (mm)',), ['+5'], array([0.174]))
    """
    ask = Inquiry("comparisons", model, data, by, level, positive, rng)
    check_option(ask.owner, "comparison", comparison, COMPARISONS)
    if comparison == "odds ratio" and ask.scale is not LOGIT:
        raise DataError(f"{ask.owner}(comparison='odds ratio') needs probabilities, but the model predicts means.")
    given = ask.at(at)
    settings = ask.settings(given)
    ask.require_once(given, ask.population.by, "in both by= and at=")
    terms, found, compared = Terms(), [], ask.compared(variables, given)
    for column, wanted in compared:
        for label, low, high in contrasts_of(ask.owner, column, wanted, ask.survey):
            if low is not None:
                ask.require_once([column.name], given, "in both variables= and at=")
            present = (column,) if low is None and column.has_gaps else ()
            for setting, edits in settings:
                before = terms.add(Term(edits if low is None else (*edits, low), present))
                found.append((column.name, label, setting, before, terms.add(Term((*edits, high), present))))
    averages = ask.averages(terms.all)
    lines = [
        Line(name, what, setting, group, label, averages.row(high, g, k), averages.row(low, g, k))
        for name, what, setting, low, high in found
        for g, group, k, label in ask.cells
    ]
    names = {column.name for column, _ in compared}
    left = [repr(column.name) for column in ask.columns if variables is None and column.name not in (*names, *given)]
    notes = (f"Without a default comparison, left out: {first_few(left)}. List values to compare.",) * bool(left)
    notes += ask.extrapolation(edit for term in terms.all for edit in term.edits)
    heading = ask.heading(f"{COMPARISONS[comparison]} {ask.quantity}", averages, tuple(given), notes)
    return table_of(ask.owner, heading, averages, lines, comparison=comparison, hypothesis=hypothesis)


def slopes(
    model: Any,
    data: Any,
    variables: Any = None,
    by: str | Sequence[str] | None = None,
    at: Mapping[str, Any] | None = None,
    hypothesis: str | None = None,
    level: float = 0.95,
    *,
    positive: Any = None,
    rng: Any = None,
) -> EffectTable:
    """Average slope of the predictions along a number: the change per unit of a small change in each row.

    Parameters
    ----------
    model, data, by, level, positive, rng
        As in `predictions`.
    variables : str or list of str, optional
        Columns of numbers; by default all of the model.
    at, hypothesis
        As in `comparisons`.

    Returns
    -------
    EffectTable
        As for `comparisons`.

    Notes
    -----
    `comparisons` with a step are easier to read, and also compare levels and dates.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = sx.datasets.load_lobsters(return_X_y=True, as_frame=True)
    >>> model = sx.LogisticRegression(alpha=0).fit(X, y)
    >>> sx.effects.slopes(model, X)["estimate"].round(4)
    array([0.0358])
    """
    ask = Inquiry("slopes", model, data, by, level, positive, rng)
    given = ask.at(at)
    settings = ask.settings(given)
    ask.require_once(given, ask.population.by, "in both by= and at=")
    terms, found = Terms(), []
    features: dict[int, list[int]] = {}  # regressors whose slopes follow from those along the activations
    for column in ask.sloped(variables):
        present = (column,) if column.has_gaps else ()
        for setting, edits in settings:
            if ask.is_regressor(column):
                first, *_ = [terms.add(Term(edits, present, c)) for c in range(ask.n_outputs)]
                features.setdefault(first, []).append(int(column.place[0]))
                found.append((column.name, setting, first, len(features[first]) - 1))
            else:
                found.append((column.name, setting, terms.add(Term(edits, present, column)), -1))
    direct = ask.averages(terms.all)
    along = [ask.averager.along_features(direct, first, places) for first, places in features.items()]
    averages, starts = direct.extended(along)
    start_of = dict(zip(features, starts, strict=True))
    lines = [
        Line(name, "", setting, group, label, averages.row(term if place < 0 else start_of[term] + place, g, k))
        for name, setting, term, place in found
        for g, group, k, label in ask.cells
    ]
    notes = ask.extrapolation(edit for _, edits in settings for edit in edits)
    heading = ask.heading(f"Average slope of the {ask.quantity}", averages, tuple(given), notes)
    return table_of(ask.owner, heading, averages, lines, hypothesis=hypothesis)


class Terms:
    """Distinct terms in the order in which they were added."""

    def __init__(self) -> None:
        self.all: list[Term] = []
        self._place: dict[Any, int] = {}

    def add(self, term: Term) -> int:
        """Position of a term, which is added if it is new."""
        place = self._place.setdefault(term.key, len(self.all))
        if place == len(self.all):
            self.all.append(term)
        return place
