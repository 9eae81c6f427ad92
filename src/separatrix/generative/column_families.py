# SPDX-License-Identifier: BSD-3-Clause
"""Which family for which column: what the values allow, then what they make most probable.

One pass surveys the columns (`survey`): range, whole numbers or not, distinct values up to a limit. That leaves each
column with candidates:

    text, or a single value            categorical
    only 0 and 1                       bernoulli
    otherwise, each that the values allow of
        normal                         always
        categorical                    up to 256 distinct values
        poisson                        whole numbers from 0
        exponential                    numbers from 0
        gamma                          numbers above 0
        beta                           numbers between 0 and 1, both excluded

The next pass, which any fit needs, collects the facts of all candidates, and the marginal likelihood
Σ_k ln p(x of class k) under each family's weak conjugate prior decides. Parameters are integrated out, so a family pays
for each of them. Two corrections make probabilities and densities comparable. A density is worth its value times the
resolution δ of the column, the smallest gap between two values, and divided by the sum of that over the grid of step δ
if the sum is above one (a normal narrower than δ is no probability). And categories have to be named before they can be
counted: L values out of the M that the grid holds cost ln C(M, L).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaln, logsumexp

from separatrix._array import Array, Float, Rows
from separatrix.families import FactsError
from separatrix.generative.conjugate import density_of, log_marginal, prior_of
from separatrix.generative.groups import Group, GroupedFacts
from separatrix.generative.sparse_counts import dense_chunks
from separatrix.rows import Block, Source
from separatrix.stats import require_finite

__all__ = ["Choice", "ColumnSurvey", "candidates", "choose", "describe_choices", "grouped", "survey_columns"]

MOST_VALUES = 256
MOST_PLACES = 4096
ROUNDING = 1e-9  # of the range: 0.1 + 0.2 and 0.3 are one value
DENSITIES = ("normal", "gamma", "exponential", "beta")


class Choice(NamedTuple):
    """A column, the family it got, and why."""

    column: str
    family: str
    why: str


@dataclass(frozen=True)
class ColumnSurvey:
    """For each of D columns: smallest and largest value (NaN where none), whole numbers or not, distinct values.

    ``values[d]`` is None where there are more than `MOST_VALUES`.
    """

    low: Float
    high: Float
    whole: Array
    values: tuple[Array | None, ...]

    def __add__(self, other: ColumnSurvey) -> ColumnSurvey:
        """The survey of both sets of rows."""
        return ColumnSurvey(
            np.fmin(self.low, other.low),
            np.fmax(self.high, other.high),
            self.whole & other.whole,
            tuple(map(_united, self.values, other.values)),
        )

    def resolution(self, d: int) -> float:
        """δ: the smallest gap between two values (beyond rounding); one where there are too many to tell."""
        values = self.values[d]
        if values is None or len(values) < 2:
            return 1.0
        gaps = np.diff(values)
        return float(gaps[gaps > ROUNDING * (values[-1] - values[0])].min())

    def grid(self, d: int) -> Float:
        """The places at the resolution between the smallest and the largest value; none where there are too many."""
        if self.values[d] is None:
            return np.zeros(0)
        delta = self.resolution(d)
        places = (self.high[d] - self.low[d]) / delta
        return np.asarray(self.low[d] + delta * np.arange(round(places) + 1 if places < MOST_PLACES else 0))

    def describe(self, d: int) -> str:
        """The column in words."""
        low, high, values = self.low[d], self.high[d], self.values[d]
        count = f"more than {MOST_VALUES} distinct" if values is None else f"{len(values)} distinct"
        if values is not None and len(values) <= 1:
            return f"always {low:g}" if len(values) else "no values"
        if low == 0 and high == 1 and self.whole[d]:
            return "only 0 and 1"
        if self.whole[d]:
            return f"whole numbers {low:.0f} to {high:.0f}, {count}"
        kind = (
            "in (0, 1)" if low > 0 and high < 1 else "positive" if low > 0 else "not negative" if low >= 0 else "real"
        )
        return f"{kind}, {low:.4g} to {high:.4g}, {count}"


def survey_columns(source: Source) -> ColumnSurvey:
    """One pass. Raises DataError, naming columns, where a value is infinite."""
    found = source.reduce(_Survey(len(source.columns)))
    if np.isinf(found.low).any() or np.isinf(found.high).any():
        require_finite(source, allow_nan=True)
    return found


class _Survey:
    """The statistic of one block. Columns with too many values in one block need not be sorted in the others:

    the answer is the same whether or not a block hears of it in time.
    """

    def __init__(self, n_columns: int) -> None:
        self.crowded = np.zeros(n_columns, dtype=bool)

    def __call__(self, block: Block) -> ColumnSurvey:
        rows = block.X if block.weight is None else block.X[block.weight > 0]
        parts = [self._dense(part) for _, part in dense_chunks(rows)]
        return sum(parts[1:], start=parts[0]) if parts else self._dense(np.empty((0, len(self.crowded))))

    def _dense(self, X: Rows) -> ColumnSurvey:
        with np.errstate(invalid="ignore"):
            low, high = (extreme.reduce(X, axis=0, initial=np.nan) for extreme in (np.fmin, np.fmax))
            whole = ~(np.floor(X) < X).any(axis=0)  # NaN is not less than NaN
            span = np.where(whole, high - low, np.inf)
        values = tuple(
            _distinct_whole(X[:, d], low[d], high[d]) if span[d] < MOST_VALUES else self._distinct(X, d)
            for d in range(X.shape[1])
        )
        return ColumnSurvey(low.astype(np.float64), high.astype(np.float64), whole, values)

    def _distinct(self, X: Array, d: int) -> Array | None:
        if self.crowded[d]:
            return None
        for part in (X[: 2 * MOST_VALUES, d], X[:, d]):
            values = np.unique(part).astype(np.float64)
            values = values[~np.isnan(values)]
            if len(values) > MOST_VALUES:
                self.crowded[d] = True
                return None
        return values


def _distinct_whole(column: Array, low: float, high: float) -> Array:
    """Of whole numbers from a short range: nothing lies between neighbours, and the others are counted, not sorted."""
    if high - low <= 1:
        return np.array([low, high] if high > low else [low], dtype=np.float64)
    seen = column[~np.isnan(column)]
    return np.asarray(low + np.flatnonzero(np.bincount((seen - low).astype(np.intp))), dtype=np.float64)


def _united(a: Array | None, b: Array | None) -> Array | None:
    if a is None or b is None:
        return None
    values = a if np.array_equal(a, b) else np.union1d(a, b)
    return None if len(values) > MOST_VALUES else values


def candidates(found: ColumnSurvey, d: int) -> tuple[str, ...]:
    """The families that the values of a column allow; see the table above."""
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


def grouped(families: Mapping[int, Sequence[str]]) -> tuple[Group, ...]:
    """The columns of each family, for columns that may have several."""
    names = sorted({name for several in families.values() for name in several})
    return tuple(Group(name, tuple(d for d in sorted(families) if name in families[d])) for name in names)


def choose(facts: GroupedFacts, found: ColumnSurvey, names: Sequence[str]) -> dict[int, Choice]:
    """The most probable candidate of each column that has several, from the facts of all."""
    scores: dict[int, dict[str, float]] = {}
    with np.errstate(under="ignore"):  # the tails of an integrand
        for group, part in zip(facts.groups, facts.parts, strict=True):
            for d, score in zip(group.columns, _evidence(group, part, found), strict=True):
                scores.setdefault(d, {})[group.family] = float(score)
    return {d: _most_probable(of_d, found, d, names[d]) for d, of_d in scores.items() if len(of_d) > 1}


def _evidence(group: Group, part: Any, found: ColumnSurvey) -> Float:
    """ln p(column) for each column of a group, as probabilities of values at the column's resolution."""
    try:
        evidence = log_marginal(group.family, part).sum(axis=0)
    except FactsError:  # some column has no answer under this family: ask one by one
        if len(group.columns) == 1:
            return np.array([-np.inf])
        singles = [(Group(group.family, (d,)), part[:, [i]]) for i, d in enumerate(group.columns)]
        return np.concatenate([_evidence(one, facts, found) for one, facts in singles])
    delta = np.array([found.resolution(d) for d in group.columns])
    if group.family in DENSITIES:
        return np.asarray(evidence + part.total.sum(axis=0) * np.log(delta) - _excess(group, part, found))
    if group.family == "categorical":
        low, high = found.low[list(group.columns)], found.high[list(group.columns)]
        return np.asarray(evidence - _log_choose((high - low) / delta + 1, part.levels))
    return np.asarray(evidence)


def _excess(group: Group, part: Any, found: ColumnSurvey) -> Float:
    """Σ_k n_k ln max(1, Σ_j δ p(x_j | C_k)) over the grid x_j of each column; zero where the grid is very fine."""
    density = density_of(group.family, part, "map", prior_of(group.family, part))
    excess = np.zeros(len(group.columns))
    for i, d in enumerate(group.columns):
        grid = found.grid(d)
        if len(grid):
            log_sum = logsumexp(density[:, [i]].log_density(grid[:, None, None]), axis=0)[:, 0]
            excess[i] = part.total[:, i] @ np.maximum(log_sum + np.log(found.resolution(d)), 0.0)
    return excess


def _log_choose(M: Float, L: Array) -> Float:
    M = np.maximum(M, L)
    return np.asarray(-betaln(M - L + 1, L + 1) - np.log(M + 1))


def _most_probable(scores: Mapping[str, float], found: ColumnSurvey, d: int, name: str) -> Choice:
    ranked = sorted(scores, key=lambda family: -scores[family])
    best, second = ranked[0], ranked[1]
    lead = scores[best] - scores[second]
    ahead = f"{lead:.3g} nats ahead of {second}" if np.isfinite(lead) else f"{second} does not fit"
    return Choice(name, best, f"{found.describe(d)}; {ahead}")


def describe_choices(choices: Sequence[Choice]) -> str:
    """A table for people.

    >>> print(describe_choices([Choice("age", "normal", "given"), Choice("member", "bernoulli", "only 0 and 1")]))
    column  family     why
    age     normal     given
    member  bernoulli  only 0 and 1
    """
    rows = [("column", "family", "why"), *choices]
    widths = [max(len(row[i]) for row in rows) for i in range(2)]
    return "\n".join(f"{row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]}" for row in rows)
