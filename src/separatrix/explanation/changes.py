# SPDX-License-Identifier: BSD-3-Clause
"""The smallest changes of one or two columns of a row that change the decision.

Changes are measured by Gower's distance: for a number, the change divided by the range of the training data; for a
category, 1. Two changes have the distance √(d_1² + d_2²). Every change that is returned was checked by predicting the
changed row. Values are searched on a grid from the present value to both ends of the range; a change of one number is
then found by bisection, and a change of two columns by finer grids.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

import numpy as np
from sklearn.utils import gen_batches

from separatrix._array import Array, Codes, Float, to_dense
from separatrix.explanation.columns import Column

N_GRID = 33  # values of a number, alone
N_PAIR_GRID, N_FINE_GRID, N_REFINEMENTS = 13, 9, 4  # values of a number in a pair, first and in each finer grid
N_BISECTIONS = 40
MAX_PAIR_COLUMNS = 10  # columns with the largest effect, whose pairs are searched
MAX_PAIRS = 3  # pairs that are returned
USEFUL_PAIR = 0.95  # distance of a pair, relative to that of the nearest single change, below which it is returned
MAX_CELLS = 4_000_000  # cells of changed rows in memory at once
MAX_DIGITS = 300  # after the decimal point; more overflow
ROUNDED_DIGITS = 3  # significant digits, of the range, to which a new number is rounded


@dataclass(frozen=True, eq=False)
class Decision:
    """How probabilities (n, K) become decisions: ``decide`` returns their codes, whose labels are ``labels``.

    ``thresholds`` are the probabilities above which each of two classes is chosen, if the rule is a threshold.
    """

    decide: Callable[[Float], Codes]
    labels: tuple[Any, ...]
    text: str = ""
    thresholds: tuple[float, ...] = ()

    def of_class(self, code: int) -> Decision:
        """The same rule, whose text has the threshold of a class."""
        return replace(self, text=f"threshold {self.thresholds[code]:.3g} {self.text}") if self.thresholds else self


@dataclass(frozen=True, eq=False)
class Change:
    """A change of one or two columns that changes the decision to ``decision``.

    ``before`` and ``after`` are the values as text. ``probability`` of the explained class refers to the changed row.
    """

    columns: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]
    distance: float
    probability: float
    decision: Any

    def __str__(self) -> str:
        parts = zip(self.columns, self.before, self.after, strict=True)
        return " and ".join(f"{name} {old} → {new}" for name, old, new in parts)


@dataclass(frozen=True, eq=False)
class Changes:
    """The smallest change of each column alone that changes the decision, and of pairs; ``never`` cannot alone."""

    single: tuple[Change, ...]
    pairs: tuple[Change, ...]
    never: tuple[str, ...]


def costs_of_threshold(threshold: float, code: int) -> Float:
    """Costs of two classes, with which a class is chosen if its probability exceeds the threshold.

    >>> costs_of_threshold(0.2, 1).tolist()
    [[0.0, 0.2], [0.8, 0.0]]
    """
    L = np.zeros((2, 2))
    L[1 - code, code], L[code, 1 - code] = threshold, 1.0 - threshold
    return L


@dataclass(frozen=True, eq=False)
class _Grid:
    """Values of a column with their features (G, m) and distances (G,) from the present value."""

    values: list[Any]
    features: Float
    distance: Float


class Search:
    """Search for changes of one encoded row ``x`` (D,), with the values ``cells`` of the movable columns."""

    def __init__(
        self,
        x: Float,
        columns: Sequence[Column],
        cells: Sequence[Any],
        probabilities: Callable[[Float], Float],
        decision: Decision,
        code: int,
    ) -> None:
        self.x, self.columns, self.cells = x, tuple(columns), tuple(cells)
        self.probabilities, self.decision, self.code = probabilities, decision, code
        self.present = int(decision.decide(probabilities(x[None]))[0])

    def run(self) -> Changes:
        """Search for changes of one column, then of two."""
        single, effect = [], []
        for column, cell in zip(self.columns, self.cells, strict=True):
            grid = self._grid(column, cell, N_GRID)
            P = self._predict([column], [grid.features])
            flips = self.decision.decide(P) != self.present
            effect.append(float(np.ptp(np.append(P[:, self.code], self._now))) if len(P) else 0.0)
            if flips.any():
                single.append(self._one(column, cell, grid, flips))
        order = np.argsort(-np.array(effect), kind="stable")[:MAX_PAIR_COLUMNS]
        pairs = [self._two(a, b) for a, b in combinations(sorted(order.tolist()), 2) if effect[a] and effect[b]]
        best = sorted((pair for pair in pairs if pair is not None), key=lambda change: change.distance)
        alone = {change.columns[0]: change.distance for change in single}
        nearest = min(alone.values(), default=np.inf)
        best = [pair for pair in best if pair.distance < USEFUL_PAIR * nearest]
        never = tuple(column.name for column in self.columns if column.name not in alone)
        return Changes(tuple(sorted(single, key=lambda change: change.distance)), tuple(best[:MAX_PAIRS]), never)

    @property
    def _now(self) -> float:
        return float(self.probabilities(self.x[None])[0, self.code])

    def _grid(self, column: Column, cell: Any, n: int, low: float | None = None, high: float | None = None) -> _Grid:
        """Other values of a column, between ``low`` and ``high`` if it is a number."""
        if column.levels:
            values: list[Any] = [level for level in column.levels if level != cell]
            return _Grid(values, _encoded(column, values), np.ones(len(values)))
        low, high = (column.low if low is None else low), (column.high if high is None else high)
        x = np.linspace(low, high, n)
        if np.isfinite(cell) and low < cell < high:  # as many values on each side, so that small changes are seen
            x = np.concatenate([np.linspace(low, cell, n // 2 + 1), np.linspace(cell, high, n // 2 + 1)])
        if column.step:
            x = np.clip(np.rint(x / column.step) * column.step, column.low, column.high)
        x = np.unique(x)
        x = x[x != cell]
        return _Grid(x.tolist(), _encoded(column, x), self._distance(column, cell, x))

    def _distance(self, column: Column, cell: Any, x: Any) -> Float:
        """Distance of values from the present one; a missing number is as far as a change of category."""
        away = np.abs(np.asarray(x, dtype=np.float64) - cell) / (column.high - column.low)
        return np.where(np.isnan(away), 1.0, away)

    def _one(self, column: Column, cell: Any, grid: _Grid, flips: Array) -> Change:
        """The change to the first level that changes the decision, or to the nearest such number, by bisection."""
        at = int(np.argmin(np.where(flips, grid.distance, np.inf)))
        value = grid.values[at]
        if not column.levels and np.isfinite(cell):
            on_side = [
                v for v, flip in zip(grid.values, flips, strict=True) if not flip and (v - cell) * (value - v) > 0
            ]
            near = max(on_side, key=lambda v: abs(v - cell), default=cell)
            for _ in range(N_BISECTIONS):
                middle = 0.5 * (near + value)
                near, value = (near, middle) if self._flips([column], [middle]) else (middle, value)
            value = self._rounded(column, cell, value)
        return self._change([column], [cell], [value])

    def _rounded(self, column: Column, cell: float, value: float) -> float:
        """The next round number beyond a number that changes the decision, unless it does not."""
        outward = _outward(column, cell, value)
        return outward if self._flips([column], [outward]) else value

    def _two(self, a: int, b: int) -> Change | None:
        """The smallest change of two columns, from a coarse grid that is refined around its best point."""
        pair, cells = [self.columns[a], self.columns[b]], [self.cells[a], self.cells[b]]
        grids = [self._grid(column, cell, N_PAIR_GRID) for column, cell in zip(pair, cells, strict=True)]
        found = self._nearest(pair, grids)
        if found is None:
            return None
        width = [(column.high - column.low) / (N_PAIR_GRID // 2) for column in pair]
        for _ in range(N_REFINEMENTS):
            grids = []
            for column, cell, value, reach in zip(pair, cells, found, width, strict=True):
                if column.levels:
                    grids.append(_Grid([value], _encoded(column, [value]), np.ones(1)))
                    continue
                x = np.unique(np.append(np.linspace(value - reach, value + reach, N_FINE_GRID), value))
                if column.step:
                    x = np.unique(np.rint(x / column.step) * column.step)
                x = x[(x >= column.low) & (x <= column.high)]
                grids.append(_Grid(x.tolist(), _encoded(column, x), self._distance(column, cell, x)))
            found = self._nearest(pair, grids) or found
            width = [2.0 * reach / (N_FINE_GRID - 1) for reach in width]
        if any(value == cell for value, cell in zip(found, cells, strict=True)):
            return None  # one column alone is enough
        rounded = [
            value if column.levels or not np.isfinite(cell) else _outward(column, cell, value)
            for column, cell, value in zip(pair, cells, found, strict=True)
        ]
        return self._change(pair, cells, rounded if self._flips(pair, rounded) else found)

    def _nearest(self, pair: list[Column], grids: list[_Grid]) -> list[Any] | None:
        """The nearest point of the product of two grids that changes the decision; None if there is none."""
        places = np.array(list(product(range(len(grids[0].values)), range(len(grids[1].values)))), dtype=np.intp)
        if not len(places):
            return None
        distance = np.hypot(grids[0].distance[places[:, 0]], grids[1].distance[places[:, 1]])
        P = self._predict(pair, [grid.features[places[:, i]] for i, grid in enumerate(grids)])
        flips = self.decision.decide(P) != self.present
        if not flips.any():
            return None
        at = places[int(np.argmin(np.where(flips, distance, np.inf)))]
        return [grid.values[i] for grid, i in zip(grids, at.tolist(), strict=True)]

    def _predict(self, columns: Sequence[Column], features: Sequence[Float]) -> Float:
        """Probabilities of the row with the features (G, m) of some columns replaced."""
        n, parts = len(features[0]), []
        for rows in gen_batches(n, max(1, MAX_CELLS // len(self.x))):
            X = np.repeat(self.x[None], rows.stop - rows.start, axis=0)
            for column, values in zip(columns, features, strict=True):
                X[:, column.place] = values[rows]
            parts.append(self.probabilities(X))
        return np.concatenate(parts) if parts else np.empty((0, len(self.decision.labels)))

    def _flips(self, columns: Sequence[Column], values: Sequence[Any]) -> bool:
        P = self._predict(columns, [_encoded(c, [v]) for c, v in zip(columns, values, strict=True)])
        return bool(self.decision.decide(P)[0] != self.present)

    def _change(self, columns: Sequence[Column], cells: Sequence[Any], values: Sequence[Any]) -> Change:
        P = self._predict(columns, [_encoded(c, [v]) for c, v in zip(columns, values, strict=True)])
        away = [
            1.0 if column.levels else float(self._distance(column, cell, value))
            for column, cell, value in zip(columns, cells, values, strict=True)
        ]
        before, after = (tuple(c.show(v) for c, v in zip(columns, row, strict=True)) for row in (cells, values))
        new = self.decision.labels[int(self.decision.decide(P)[0])]
        names, distance = tuple(column.name for column in columns), float(np.hypot.reduce(away))
        return Change(names, before, after, distance, float(P[0, self.code]), new)


def _outward(column: Column, cell: float, value: float) -> float:
    """The next round number from ``value`` away from ``cell``, within the range of the column."""
    unit = column.step or 10.0 ** (np.floor(np.log10(column.high - column.low)) - ROUNDED_DIGITS + 1)
    steps = (np.ceil if value > cell else np.floor)(value / unit - 1e-9 * np.sign(value - cell))
    digits = 12 - int(np.floor(np.log10(unit)))  # of a unit such as 0.01, which has no exact value
    rounded = np.round(steps * unit, digits) if digits < MAX_DIGITS else steps * unit
    return float(np.clip(rounded, column.low, column.high))


def _encoded(column: Column, values: Any) -> Float:
    assert column.encode is not None, "only columns that can change are searched"
    if len(values) == 0:
        return np.empty((0, len(column.place)))
    return column.encode(tuple(values) if column.levels else np.asarray(values, dtype=np.float64))


def changes_of(
    x: Any,
    columns: Sequence[Column],
    cells: Sequence[Any],
    fixed: Sequence[str],
    probabilities: Callable[[Float], Float],
    decision: Decision,
    code: int,
) -> Changes:
    """Changes of one encoded row (1, D) that change its decision; columns in ``fixed`` are not changed."""
    free = [
        (column, cell)
        for column, cell in zip(columns, cells, strict=True)
        if column.can_change and column.name not in fixed and isinstance(cell, str if column.levels else float)
    ]
    if not free:
        return Changes((), (), ())
    some, values = zip(*free, strict=True)
    return Search(to_dense(x)[0].astype(np.float64), some, values, probabilities, decision, code).run()
