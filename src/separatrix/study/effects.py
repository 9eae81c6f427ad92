# SPDX-License-Identifier: BSD-3-Clause
"""Partial effects: how probabilities move with one column, all others left as they are in each row.

    f_k(v) = 1/S Σ_s p(C_k | x_s with the column set to v)

over S rows. Each draw of the weights has its own f: the effect is their mean, its band their quantiles. Draws come in
pairs w and 2 m - w about the posterior mean m, which takes all terms of odd order in w - m out of the mean. The rows
are spread evenly along the activations of many more, so that their average is close to that of all.

**Importance** is how far a column moves the log-odds: the standard deviation over rows of its part w'φ of them. Where
the functions of a column are its own, that is found from the rows; else from the activations along the curve.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import gen_batches

from separatrix._arguments import generator
from separatrix._array import Codes, Float, to_dense
from separatrix._threads import map_in_order
from separatrix.bayesian import BayesianLogisticRegression, interval_tails
from separatrix.study.coefficients import explain
from separatrix.study.grids import POINTS, Grid, grid_of
from separatrix.study.record import Effect
from separatrix.tables import TableClassifier, functions_of, has_contrasts, named

__all__ = ["MOST_COLUMNS", "partial_effects"]

MOST_COLUMNS = 40
MOST_ROWS, ENOUGH_ROWS, FEWEST_ROWS = 500, 150, 50
MOST_DRAWS, FEWEST_DRAWS = 1000, 200  # with the most, the ends of a band are off by a twentieth of its half width
SHARES_OF = 20_000  # rows from which quantiles and shares are taken
EVALUATIONS = 4e6  # of a probability, for each column
BATCH = 2048
TINY = 1e-300


class Curves(NamedTuple):
    """Probabilities (G, K) with their band, and the activations (G, C) that they come from."""

    mean: Float
    lower: Float
    upper: Float
    activation: Float


def partial_effects(
    model: TableClassifier,
    numbers: Any,
    level: float = 0.95,
    rng: Any = None,
    turn: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[Effect, ...]:
    """The effect of each column, the most important first; of very many columns, those with the largest weights.

    Parameters
    ----------
    model : TableClassifier
        Fitted.
    numbers : array or CSR array of shape (N, M)
        Rows, as the encoder of the model makes them: the effects are averages over a sample of these.
    level : float, default 0.95
        Of the credible band.
    rng : int or Generator, optional
        Of the draws.
    turn : callable, optional
        Called with the number of columns done, and of all, after each.
    """
    some = to_dense(numbers[_evenly(numbers.shape[0], SHARES_OF)])
    tails = interval_tails("partial_effects", level)
    is_bayesian = isinstance(model.estimator_, BayesianLogisticRegression)
    n_draws, n_rows = _sizes(len(model.classes_)) if is_bayesian else (0, MOST_ROWS)
    parts = _parts(model, some)
    sample = some[_spread_out(parts, n_rows) if parts else _evenly(len(some), n_rows)]
    ask = _Drawn(model, sample, tails, n_draws, generator(rng)) if is_bayesian else _Predicted(model, sample)
    schema = model.encoder_.schema_
    plans = {plan.column: plan for plan in schema.plans}
    places = {column: schema.groups[column] for column in _columns(model)}
    grids = {column: grid_of(plans[column], some[:, at.start : at.stop]) for column, at in places.items()}
    varied = [(column, grid) for column, grid in grids.items() if grid.is_varied]
    curves = map_in_order(lambda item: ask.curves(item[1], places[item[0]]), varied)
    effects = []
    for (column, grid), found in zip(varied, curves, strict=True):
        effects.append(_effect(grid, found, parts.get(column)))
        turn(len(effects), len(varied))
    return tuple(sorted(effects, key=lambda effect: -effect.importance))


def _sizes(n_classes: int) -> tuple[int, int]:
    """How many draws, an even number, and how many rows there is time for."""
    for_each = POINTS * (n_classes if n_classes > 2 else 1)
    n_draws = 2 * int(np.clip(EVALUATIONS / (for_each * ENOUGH_ROWS), FEWEST_DRAWS, MOST_DRAWS) / 2)
    return n_draws, int(np.clip(EVALUATIONS / (for_each * n_draws), FEWEST_ROWS, MOST_ROWS))


def _evenly(n: int, most: int) -> Any:
    """At most so many row numbers, evenly spread: the rows of a table have no order that would matter."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.intp))


def _columns(model: TableClassifier) -> list[str]:
    inputs = list(model.encoder_.schema_.inputs)
    if len(inputs) <= MOST_COLUMNS:
        return inputs
    size = dict.fromkeys(inputs, 0.0)
    for weight in explain(model):
        if weight.column in size:
            size[weight.column] += weight.per_spread**2
    return sorted(inputs, key=lambda name: -size[name])[:MOST_COLUMNS]


def _variants(sample: Float, place: range, grid: Grid) -> Float:
    """(G, S, M): each row of the sample with the column set to each value."""
    X = np.repeat(sample[None], len(grid.values), axis=0)
    X[:, :, place.start : place.stop] = grid.numbers[:, None, :]
    return X


def _parts(model: TableClassifier, numbers: Float) -> dict[str, Float]:
    """w'φ of the functions of each column, (N, C) over rows; none where a function has several columns."""
    sources = np.array(model.sources_, dtype=object)
    if not has_contrasts(model.estimator_) or (sources == "").any():
        return {}
    W = np.atleast_2d(model.estimator_.coef_)
    W = W - W.mean(axis=0) if len(W) > 1 else W  # only differences between classes mean anything
    own = {column: sources == column for column in dict.fromkeys(model.sources_)}
    parts: dict[str, list[Float]] = {column: [] for column in own}
    for at in gen_batches(len(numbers), BATCH):
        Phi = functions_of(model, numbers[at])
        for column, functions in own.items():
            parts[column].append(Phi[:, functions] @ W[:, functions].T)
    return {column: np.concatenate(found) for column, found in parts.items()}


def _spread_out(parts: dict[str, Float], n: int) -> Codes:
    """At most n rows, evenly spread along the activations of the class that these move most."""
    a = np.sum(list(parts.values()), axis=0)
    order = np.argsort(a[:, int(a.std(axis=0).argmax())], kind="stable")
    strata = min(n, len(order))
    return np.sort(order[((np.arange(strata) + 0.5) * len(order) / strata).astype(np.intp)])


def _effect(grid: Grid, curves: Curves, part: Float | None) -> Effect:
    mean, lower, upper = curves.mean, curves.lower, curves.upper
    importance = _along(grid, curves) if part is None else float(np.sqrt(part.var(axis=0).mean()))
    return Effect(grid.plan.column, grid.plan.kind, grid.values, mean, lower, upper, grid.share, importance)


def _along(grid: Grid, curves: Curves) -> float:
    """The standard deviation of the activations along a curve, its values as frequent as in the rows."""
    seen = grid.share if grid.share.any() else np.ones(len(grid.share))  # of rows whose values are all new, none is
    share = seen / seen.sum()
    away = curves.activation - share @ curves.activation
    return float(np.sqrt((share @ away**2).mean()))


class _Predicted:
    """What a model without a posterior says."""

    def __init__(self, model: TableClassifier, sample: Float) -> None:
        self.model, self.sample = model, sample

    def curves(self, grid: Grid, place: range) -> Curves:
        """Of one column."""
        X = _variants(self.sample, place, grid)
        rows = named(X.reshape(-1, X.shape[2]), self.model.encoder_.schema_, self.model.estimator_)
        P = np.asarray(self.model.estimator_.predict_proba(rows), dtype=np.float64)
        mean = P.reshape(*X.shape[:2], -1).mean(axis=1)
        blank = np.full(mean.shape, np.nan)
        a = np.log(np.maximum(mean, TINY))
        return Curves(mean, blank, blank, np.diff(a, axis=1) if a.shape[1] == 2 else _centred(a))


class _Drawn:
    """What draws (n, C, P) from the posterior of a model say; their activations on the sample are found once."""

    def __init__(
        self, model: TableClassifier, sample: Float, tails: Float, n_draws: int, rng: np.random.Generator
    ) -> None:
        posterior = model.estimator_.posterior_
        half = posterior.sample(n_draws // 2, rng)
        W = np.concatenate([half, 2 * posterior.mean - half])
        self.W = W.reshape(n_draws, -1, W.shape[-1])
        self.model, self.sample, self.tails = model, sample, tails
        self.sources = np.array(model.sources_, dtype=object)
        self.Phi = functions_of(model, sample)
        self.A = self._whole(self.Phi)

    def curves(self, grid: Grid, place: range) -> Curves:
        """Averages over rows for each draw, then over draws."""
        found = [self._averages(A) for A in self._moved(grid, place)]
        f, activation = np.stack([f for f, _ in found]), np.stack([a for _, a in found])
        lower, upper = np.quantile(f, self.tails, axis=1)
        return Curves(f.mean(axis=1), lower, upper, _centred(activation) if activation.shape[1] > 1 else activation)

    def _averages(self, A: Float) -> tuple[Float, Float]:
        """Probabilities (n, K) of each draw, and activations (C,), of activations (S, n, C) averaged over rows."""
        C = A.shape[-1]
        p = self.model.estimator_.likelihood_.probability(A.reshape(-1, C) if C > 1 else A.ravel())
        f = p.reshape(A.shape).mean(axis=0)
        return np.concatenate([1 - f, f], axis=1) if C == 1 else f, A.mean(axis=(0, 1))

    def _moved(self, grid: Grid, place: range) -> Iterator[Float]:
        """Activations (S, n, C) with the column set to one value after another.

        Where every function is one of a single column, only the part of this one moves.
        """
        if (self.sources == "").any():
            for X in _variants(self.sample, place, grid):
                yield self._whole(functions_of(self.model, X))
            return
        own = np.flatnonzero(self.sources == grid.plan.column)
        at = functions_of(self.model, _variants(self.sample[:1], place, grid)[:, 0])[:, own]
        rest = self.A - self._activations(self.Phi[:, own], own)
        yield from (rest + part for part in self._activations(at, own))

    def _whole(self, Phi: Float) -> Float:
        A = self._activations(Phi, slice(Phi.shape[1]))
        return A + self.W[:, :, -1] if self.W.shape[2] > Phi.shape[1] else A

    def _activations(self, Phi: Float, own: Any) -> Float:
        """w'φ of some of the functions, (rows, n, C)."""
        n, C, _ = self.W.shape
        return np.asarray((Phi @ self.W[:, :, own].reshape(n * C, -1).T).reshape(-1, n, C))


def _centred(a: Float) -> Float:
    """Only differences between classes mean anything."""
    return np.asarray(a - a.mean(axis=1, keepdims=True))
