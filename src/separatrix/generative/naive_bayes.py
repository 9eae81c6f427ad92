# SPDX-License-Identifier: BSD-3-Clause
"""Naive Bayes: columns are independent given the class, and each column has its own family.            PRML §4.2.3

    p(x | C_k) = Π_d p_d(x_d | C_k),  p(C_k) = π_k
    a_k(x) = Σ_d ln p_d(x_d | C_k) + ln π_k

For 0/1 columns p_d = μ_kd^x_d (1 - μ_kd)^(1 - x_d) (4.81), a_k is linear in x (4.82), and the log-odds of two classes
have the bias ln π_1/π_0 + Σ_d ln (1 - μ_1d)/(1 - μ_0d).

Columns whose family is "multinomial", such as the words of a text, are one vector: the share of each in their total.

If columns are correlated, differences between the a_k are too large; ``temper`` multiplies the sum by an exponent τ.

If the families are given, the fit needs one pass. To choose them automatically, one more pass finds the range of each
column, whether its values are integers, and its distinct values (`ColumnSurvey`). This determines the candidates:

    text, or a single value            categorical
    only 0 and 1                       bernoulli
    otherwise, all of these families that the values allow:
        normal                         always
        categorical                    up to 256 distinct values
        poisson                        integers >= 0
        exponential                    numbers >= 0
        gamma                          numbers > 0
        beta                           numbers between 0 and 1, both excluded

The next pass collects the statistics of all candidates. The family with the largest marginal likelihood
Σ_k ln p(x of class k) under its weak conjugate prior is chosen. Parameters are integrated out, so families with more
parameters are penalised. docs/naive_bayes.md explains two corrections that make probabilities and densities comparable:
by the resolution δ of the column, and by ln C(M, L) for L categories among M points of the grid of step δ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaln, logsumexp
from sklearn.utils.validation import check_is_fitted

from separatrix._arguments import check_option
from separatrix._array import Array, Float, Rows, to_dense
from separatrix.exceptions import DataError, SupportWarning, warn
from separatrix.families import FAMILIES, FactsError, SupportError
from separatrix.generative.densities import prior_of
from separatrix.generative.family_classifier import FamilyClassifier, Layout
from separatrix.rows import Block, Source
from separatrix.stats import Group, GroupedFacts, dense_chunks, require_finite

COLUMN_FAMILIES = tuple(name for name, family in FAMILIES.items() if not family.vector)
MAX_DISTINCT_VALUES = 256
MAX_GRID_POINTS = 4096
EQUAL_WITHIN = 1e-9  # fraction of the range; closer values are equal up to rounding, such as 0.1 + 0.2 and 0.3
SUPPORT: dict[str, Callable[[Float], Array]] = {
    "bernoulli": lambda x: (x == 0) | (x == 1),
    "poisson": lambda x: (x >= 0) & (x == np.floor(x)),
    "exponential": lambda x: x >= 0,
    "gamma": lambda x: x > 0,
    "beta": lambda x: (x > 0) & (x < 1),
}


class Choice(NamedTuple):
    """A column, its family, and the reason for the choice."""

    column: str
    family: str
    why: str


class NaiveBayes(FamilyClassifier):
    """Classifier whose columns are independent given the class, each with its own family of distributions.

    p(x | C_k) = Π_d p_d(x_d | C_k) with an exponential family p_d for each column (PRML §4.2.3).

    Parameters
    ----------
    families : "auto", the name of a family, or a mapping, default "auto"
        One family for all columns, or ``{column: family}`` with columns by name or position; columns not in the mapping
        are "auto". Names: "normal" (mean and variance for each class), "normal_known_variance" (one variance for all
        classes), "bernoulli", "categorical", "poisson", "exponential", "gamma", "beta". "auto" chooses the family with
        the largest marginal likelihood of the column; `report` lists the choices and the reasons. In a mapping, columns
        may be "multinomial": together they are one vector of counts or weights, such as the words of a text.
    priors, class_weight, prior_correction
        As in `LinearDiscriminantAnalysis`.
    estimate : {"map", "ml", "predictive"}, default "map"
        "map" is the mode under a conjugate prior, "ml" is maximum likelihood, "predictive" integrates the parameters
        out (Student t for normal, negative binomial for Poisson, Lomax for exponential columns).
    pseudo_count : float, default 1
        Number of pseudo-observations in the prior. For Bernoulli and categorical columns it is the number per outcome,
        so that 1 is Laplace's correction (n_kj + 1)/(n_k + 2).
    unlabelled : "error", "missing" or a label, default "error"
        How rows without a label are marked in ``y``: not allowed, None or NaN, or this value. EM includes these rows in
        the fit. If columns are strongly dependent given the class, unlabelled rows can make the boundary worse.
    temper : bool or float, default False
        Exponent τ in p(C_k | x) ∝ p(C_k) p(x | C_k)^τ. False means τ = 1. True fits τ by maximising the likelihood of
        the training labels, in a few more passes. If columns are correlated, naive Bayes is overconfident, and τ < 1
        corrects its probabilities. With two classes, the ranking of the rows does not change; predicted labels change
        only if the priors are unequal, because the priors have more influence if τ is smaller.

    Attributes
    ----------
    families_, choices_ : tuples of D str and of D Choice
        The family of each column; and for each column the choice with its reason.
    densities_ : dict
        Maps each family to p(x_d | C_k) of its columns and all classes, a distribution of `separatrix.families`
    categories_ : dict
        The values of each categorical column.
    coef_, intercept_ : ndarrays of shape (1, M) and (1,), or (K, M) and (K,)
        The linear scores if every column has a linear form; one row for two classes.
    temperature_ : float
        The exponent τ. In physics it would be an *inverse* temperature: a small τ makes probabilities less extreme.
    priors_, class_count_ : ndarrays of shape (K,)
        p(C_k), and the weight of each class.
    class_weight_ : ndarray of shape (K,)
        The factor of each class.
    facts_ : GroupedFacts
        The sufficient statistics of the training rows.
    n_passes_, n_steps_, solution_ : int, int and Solution
        Cost and status; ``solution_.trace`` contains the log posteriors of EM.

    Notes
    -----
    Missing values (NaN, None in text) are skipped in fit and predict, which is exact because columns are independent
    given the class. Text columns, categoricals and enums of a data frame are categorical. An unknown category has the
    probability of a category with count zero.

    If "auto" chose a family and a later row has a value that the family does not allow (a 2 in a column of 0 and 1),
    the value is treated as missing, with a `SupportWarning`. For a family that you name, such a value is an error.

    Families are chosen once, from the first rows. To fit in parts (`partial_fit`, `merge`), name the families if the
    parts might lead to different choices. ``temper=True`` needs all rows at once.

    `log_density` and `sample` use p(x | C_k) without ``temper``.

    Examples
    --------
    >>> import pandas as pd
    >>> from separatrix import NaiveBayes
    >>> table = pd.DataFrame({
    ...     "visits": [0, 2, 1, 9, 7, 12],
    ...     "plan": ["free", "free", "pro", "pro", None, "pro"],
    ...     "member": [False, True, False, True, True, True],
    ... })
    >>> model = NaiveBayes({"visits": "poisson"}).fit(table, ["leaves", "leaves", "leaves", "stays", "stays", "stays"])
    >>> print(model.report())
    column  family       why
    visits  poisson      given
    plan    categorical  text, 2 categories
    member  bernoulli    only 0 and 1
    >>> model.predict(table[:2]).tolist()
    ['leaves', 'leaves']
    """

    def __init__(
        self,
        families: Any = "auto",
        *,
        priors: Any = None,
        estimate: str = "map",
        pseudo_count: Any = 1.0,
        unlabelled: Any = "error",
        temper: Any = False,
        class_weight: Any = None,
        prior_correction: bool = False,
    ) -> None:
        self.families = families
        self.priors = priors
        self.estimate = estimate
        self.pseudo_count = pseudo_count
        self.unlabelled = unlabelled
        self.temper = temper
        self.class_weight = class_weight
        self.prior_correction = prior_correction

    def report(self) -> str:
        """Text table of the columns, their families and the reasons for the choices."""
        check_is_fitted(self)
        rows = [("column", "family", "why"), *self.choices_]
        widths = [max(len(row[i]) for row in rows) for i in (0, 1)]
        return "\n".join(f"{row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]}" for row in rows)

    def _map_rows(self, X: Any, row_function: Callable[[Rows], Array], **options: Any) -> Array:
        """As in `FamilyClassifier`, but values outside a family that "auto" has chosen are treated as missing."""
        try:
            return super()._map_rows(X, row_function, **options)
        except SupportError as error:
            automatic = {d for d, choice in enumerate(self.choices_) if choice.why != "given"}
            groups = self.facts_.of_columns(lambda family, d: family in SUPPORT and d in automatic).groups
            if not groups:
                raise
            inside = partial(without_impossible, groups=groups)
            found = super()._map_rows(X, lambda rows: row_function(inside(rows)), **options)
            warn(
                f"{error} The family was chosen because all training values allow it; such values are treated as "
                "missing. Name another family for the column with families={...}.",
                SupportWarning,
            )
            return found

    def _check_arguments(self) -> None:
        super()._check_arguments()
        of_columns = isinstance(self.families, Mapping)
        for family in set(self.families.values()) if of_columns else [self.families]:
            if of_columns and family == "multinomial":
                continue
            if isinstance(family, str) and family in FAMILIES and FAMILIES[family].vector:
                raise ValueError(
                    f"NaiveBayes(families={self.families!r}): {family!r} describes a whole row, not a column. "
                    f"Use ExponentialFamilyClassifier({family!r})."
                )
            check_option(
                "NaiveBayes", "families", family, ("auto", *COLUMN_FAMILIES), otherwise=", or {column: family}"
            )

    def _layout(self, source: Source) -> Layout:
        """Groups with the given family of each column, or with all its candidates."""
        names = source.columns
        chosen = {d: Choice(names[d], family, "given") for d, family in given_families(self.families, names).items()}
        for d, categories in self._text.items():
            chosen.setdefault(d, Choice(names[d], "categorical", f"text, {len(categories)} categories"))
        possible: dict[int, tuple[str, ...]] = {d: (choice.family,) for d, choice in chosen.items()}
        unknown = [d for d in range(len(names)) if d not in chosen]
        found = survey_columns(source, unknown) if unknown else None
        if found is not None:
            for d in unknown:
                possible[d] = candidates(found, d)
                if len(possible[d]) == 1:
                    chosen[d] = Choice(names[d], possible[d][0], found.describe(d))
        groups = tuple(
            Group(family, tuple(d for d in sorted(possible) if family in possible[d]))
            for family in sorted(set(chain.from_iterable(possible.values())))
        )
        return Layout(groups, int(found is not None), partial(self._settle, chosen=chosen, found=found))

    def _settle(self, facts: GroupedFacts, chosen: dict[int, Choice], found: ColumnSurvey | None) -> GroupedFacts:
        """Choose the most probable candidate of each column, and keep only its statistics."""
        if found is not None:
            scores: dict[int, dict[str, float]] = {}
            with np.errstate(under="ignore"):  # the tails of an integrand may underflow
                for group, part in zip(facts.groups, facts.parts, strict=True):
                    if FAMILIES[group.family].vector:  # always given
                        continue
                    for d, score in zip(group.columns, log_evidence(group, part, found), strict=True):
                        scores.setdefault(d, {})[group.family] = float(score)
            for d in set(scores) - set(chosen):
                best, second, *_ = sorted(scores[d], key=scores[d].__getitem__, reverse=True)
                lead = scores[d][best] - scores[d][second]
                ahead = f"{lead:.3g} nats ahead of {second}" if np.isfinite(lead) else f"{second} does not fit"
                chosen[d] = Choice(self._columns[d], best, f"{found.describe(d)}; {ahead}")
        self.choices_ = tuple(chosen[d] for d in sorted(chosen))
        return facts.of_columns(lambda family, d: chosen[d].family == family)


def without_impossible(X: Rows, groups: tuple[Group, ...]) -> Float:
    """Rows in which values outside the support of the groups' families are NaN; infinity is kept, and is an error."""
    rows = np.array(to_dense(X), dtype=np.float64)
    for group in groups:
        x = rows[:, list(group.columns)]
        rows[:, list(group.columns)] = np.where(SUPPORT[group.family](x) | np.isinf(x), x, np.nan)
    return rows


def given_families(families: Any, columns: tuple[str, ...]) -> dict[int, str]:
    """Families that the user named, by index of the column."""
    if not isinstance(families, Mapping):
        return {} if families == "auto" else dict.fromkeys(range(len(columns)), families)
    found = {}
    for column, family in families.items():
        if isinstance(column, Integral) and 0 <= int(column) < len(columns):
            d = int(column)
        elif column in columns:
            d = columns.index(column)
        else:
            known = ", ".join(map(repr, columns[:8])) + (", ..." if len(columns) > 8 else "")
            raise DataError(
                f"NaiveBayes(families=...) names column {column!r}, which is not in the table. Use one of its columns "
                f"({known}) or a position from 0 to {len(columns) - 1}."
            )
        if family != "auto":
            found[d] = family
    return found


@dataclass(frozen=True)
class ColumnSurvey:
    """Smallest and largest value of each column (NaN if none), whether all values are integers, and distinct values.

    ``values[d]`` is None if there are more than `MAX_DISTINCT_VALUES`.
    """

    low: Float
    high: Float
    whole: Array
    values: tuple[Array | None, ...]

    def __add__(self, other: ColumnSurvey) -> ColumnSurvey:
        """Survey of both sets of rows."""
        return ColumnSurvey(
            np.fmin(self.low, other.low),
            np.fmax(self.high, other.high),
            self.whole & other.whole,
            tuple(map(_united, self.values, other.values)),
        )

    def among(self, n_columns: int, at: list[int]) -> ColumnSurvey:
        """Survey of ``n_columns``, of which only those ``at`` these positions were surveyed."""
        low, high = np.full((2, n_columns), np.nan)
        whole, values = np.zeros(n_columns, dtype=bool), list[Array | None]([None] * n_columns)
        low[at], high[at], whole[at] = self.low, self.high, self.whole
        for d, found in zip(at, self.values, strict=True):
            values[d] = found
        return ColumnSurvey(low, high, whole, tuple(values))

    def resolution(self, d: int) -> float:
        """Resolution δ: the smallest difference between two values beyond rounding; 1 if there are too many values."""
        values = self.values[d]
        if values is None or len(values) < 2:
            return 1.0
        with np.errstate(over="ignore"):
            steps = np.minimum(np.diff(values), np.finfo(np.float64).max)
        return float(steps[steps > EQUAL_WITHIN * values[-1] - EQUAL_WITHIN * values[0]].min())

    def describe(self, d: int) -> str:
        """Describe the column in a few words."""
        low, high, values = self.low[d], self.high[d], self.values[d]
        count = f"more than {MAX_DISTINCT_VALUES} distinct" if values is None else f"{len(values)} distinct"
        if values is not None and len(values) <= 1:
            return f"always {low:g}" if len(values) else "no values"
        if low == 0 and high == 1 and self.whole[d]:
            return "only 0 and 1"
        if self.whole[d]:
            return f"whole numbers {low:.0f} to {high:.0f}, {count}"
        kind = "positive" if low > 0 else "not negative" if low >= 0 else "real"
        kind = "in (0, 1)" if low > 0 and high < 1 else kind
        return f"{kind}, {low:.4g} to {high:.4g}, {count}"


def survey_columns(source: Source, columns: Sequence[int] | None = None) -> ColumnSurvey:
    """Survey all columns, or only some, in one pass; raises DataError with the columns if a value is infinite."""
    D = len(source.columns)
    chosen = None if columns is None or len(columns) == D else list(columns)
    found = source.reduce(partial(survey_block, columns=chosen))
    if np.isinf(found.low).any() or np.isinf(found.high).any():
        require_finite(source, allow_nan=True)
    return found if chosen is None else found.among(D, chosen)


def survey_block(block: Block, columns: list[int] | None = None) -> ColumnSurvey:
    """Survey the rows of a block that have a positive weight."""

    def survey(X: Array) -> ColumnSurvey:
        with np.errstate(invalid="ignore"):
            low, high = (extreme.reduce(X, axis=0, initial=np.nan) for extreme in (np.fmin, np.fmax))
            whole = np.asarray(~(np.floor(X) < X).any(axis=0))  # the comparison is False for NaN
        values = tuple(distinct_values(X[:, d], low[d], high[d], whole=whole[d]) for d in range(X.shape[1]))
        return ColumnSurvey(low.astype(np.float64), high.astype(np.float64), whole, values)

    rows = block.weighted().X
    rows = rows if columns is None else rows[:, columns]
    parts = [survey(part) for _, part in dense_chunks(rows)]
    return sum(parts[1:], start=parts[0]) if parts else survey(np.empty((0, rows.shape[1])))


def distinct_values(column: Array, low: float, high: float, *, whole: bool) -> Array | None:
    """Sorted distinct values of a column; None if there are more than `MAX_DISTINCT_VALUES`."""
    with np.errstate(over="ignore"):
        reach = 0.0 if high == low else high - low  # the column may contain only infinity
    if whole and reach <= 1:
        return np.array([low, high] if high > low else [low], dtype=np.float64)
    if whole and reach < MAX_DISTINCT_VALUES:  # counting is faster than sorting
        seen = column[~np.isnan(column)]
        return np.asarray(low + np.flatnonzero(np.bincount((seen - low).astype(np.intp))), dtype=np.float64)
    for part in (column[: 2 * MAX_DISTINCT_VALUES], column):  # the first rows usually suffice
        values = np.unique(part).astype(np.float64)
        values = values[~np.isnan(values)]
        if len(values) > MAX_DISTINCT_VALUES:
            return None
    return values


def _united(a: Array | None, b: Array | None) -> Array | None:
    if a is None or b is None:
        return None
    values = a if np.array_equal(a, b) else np.union1d(a, b)
    return None if len(values) > MAX_DISTINCT_VALUES else values


def candidates(found: ColumnSurvey, d: int) -> tuple[str, ...]:
    """Families that the values of a column allow; see the docstring of this module."""
    low, high, whole, values = found.low[d], found.high[d], found.whole[d], found.values[d]
    if whole and low >= 0 and high <= 1:
        return ("bernoulli",)
    if values is not None and len(values) <= 1:
        return ("categorical",)
    possible = {
        "normal": True,
        "categorical": values is not None,
        "poisson": whole and low >= 0,
        "exponential": low >= 0,
        "gamma": low > 0,
        "beta": low > 0 and high < 1,
    }
    return tuple(family for family, can in possible.items() if can)


def log_evidence(group: Group, part: Any, found: ColumnSurvey) -> Float:
    """ln p(column) of each column of a group, with densities converted to probabilities at the column's resolution.

    The result is -inf if no prior or no mode can be computed from the statistics of a column.
    """
    family, columns = group.family, list(group.columns)
    is_density = family in ("normal", "gamma", "exponential", "beta")
    try:
        prior = prior_of(family, part)
        evidence = prior.log_marginal(part.by_code if family == "categorical" else part).sum(axis=0)
        density: Any = prior.updated(part).mode if is_density else None
    except (FactsError, ArithmeticError):  # try the columns one by one
        if len(columns) == 1:
            return np.array([-np.inf])
        singles = [(Group(family, (d,)), part[:, [i]]) for i, d in enumerate(columns)]
        return np.concatenate([log_evidence(one, facts, found) for one, facts in singles])
    delta = np.array([found.resolution(d) for d in columns])
    steps = (found.high[columns] - found.low[columns]) / delta
    if family == "categorical":
        L, M = part.levels, np.maximum(steps + 1, part.levels)
        evidence += betaln(M - L + 1, L + 1) + np.log(M + 1)  # -ln C(M, L)
    elif is_density:
        evidence += part.total.sum(axis=0) * np.log(delta)
        for i, d in enumerate(columns):
            if found.values[d] is not None and steps[i] < MAX_GRID_POINTS:  # less Σ_k n_k ln max(1, Σ_j δ p(x_j | C_k))
                grid = found.low[d] + delta[i] * np.arange(round(steps[i]) + 1)
                log_sum = logsumexp(density[:, [i]].log_density(grid[:, None, None]), axis=0)[:, 0]
                evidence[i] -= part.total[:, i] @ np.maximum(log_sum + np.log(delta[i]), 0.0)
    return np.asarray(evidence)
