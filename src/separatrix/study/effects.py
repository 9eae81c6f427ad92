# SPDX-License-Identifier: BSD-3-Clause
"""Partial effects: how probabilities move with one column, all others left as they are in each row.

    f_k(v) = 1/S Σ_s p(C_k | x_s with the column set to v)

over S rows. Each draw of the weights has its own f; their quantiles are the band. Draws come in pairs w and 2 m - w
about the posterior mean m, so that their average is that of the activation exactly, and of f but for terms of fourth
order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from separatrix._arguments import generator
from separatrix._array import Float, to_dense
from separatrix.bayesian import BayesianLogisticRegression
from separatrix.bayesian.weights import interval_tails
from separatrix.data.reader import NamedRows
from separatrix.study.coefficients import explain
from separatrix.study.grids import POINTS, Grid, grid_of
from separatrix.study.record import Effect
from separatrix.tables import TableClassifier

__all__ = ["MOST_COLUMNS", "partial_effects"]

MOST_COLUMNS = 40
MOST_ROWS, FEWEST_ROWS = 500, 50
SHARES_OF = 20_000  # rows from which quantiles and shares are taken
DRAWS = 200
EVALUATIONS = 2.5e6  # of a probability, for each column
TINY = 1e-300


class Curves(NamedTuple):
    """Probabilities (G, K) with their band, and activations (G, C) whose spread is the importance."""

    mean: Float
    lower: Float
    upper: Float
    activation: Float


def partial_effects(model: TableClassifier, numbers: Any, level: float = 0.95, rng: Any = None) -> tuple[Effect, ...]:
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
    """
    some = to_dense(numbers[_evenly(numbers.shape[0], SHARES_OF)])
    K = len(model.classes_)
    n_rows = int(np.clip(EVALUATIONS / (POINTS * DRAWS * (K if K > 2 else 1)), FEWEST_ROWS, MOST_ROWS))
    sample = some[_evenly(len(some), n_rows)]
    tails = interval_tails("partial_effects", level)
    is_bayesian = isinstance(model.estimator_, BayesianLogisticRegression)
    ask = _Drawn(model, sample, tails, generator(rng)) if is_bayesian else _Predicted(model, sample)
    schema = model.encoder_.schema_
    plans = {plan.column: plan for plan in schema.plans}
    places = {column: schema.groups[column] for column in _columns(model)}
    grids = {column: grid_of(plans[column], some[:, at.start : at.stop]) for column, at in places.items()}
    effects = [_effect(grid, ask.curves(grid, places[column])) for column, grid in grids.items() if grid.is_varied]
    return tuple(sorted(effects, key=lambda effect: -effect.importance))


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


def _effect(grid: Grid, curves: Curves) -> Effect:
    seen = grid.share if grid.share.any() else np.ones(len(grid.share))  # of rows whose values are all new, none is
    share = seen / seen.sum()
    away = curves.activation - share @ curves.activation
    importance = float(np.sqrt((share @ away**2).mean()))
    mean, lower, upper = curves.mean, curves.lower, curves.upper
    return Effect(grid.plan.column, grid.plan.kind, grid.values, mean, lower, upper, grid.share, importance)


class _Predicted:
    """What a model without a posterior says."""

    def __init__(self, model: TableClassifier, sample: Float) -> None:
        self.model, self.sample = model, sample

    def curves(self, grid: Grid, place: range) -> Curves:
        """Of one column."""
        X = _variants(self.sample, place, grid)
        rows = NamedRows(X.reshape(-1, X.shape[2]), self.model.encoder_.schema_.columns)
        is_ours = type(self.model.estimator_).__module__.startswith("separatrix.")
        P = np.asarray(self.model.estimator_.predict_proba(rows if is_ours else rows.array), dtype=np.float64)
        mean = P.reshape(*X.shape[:2], -1).mean(axis=1)
        blank = np.full(mean.shape, np.nan)
        a = np.log(np.maximum(mean, TINY))
        return Curves(mean, blank, blank, np.diff(a, axis=1) if a.shape[1] == 2 else _centred(a))


class _Drawn:
    """What draws (n, C, P) from the posterior of a model say; their activations on the sample are found once."""

    def __init__(self, model: TableClassifier, sample: Float, tails: Float, rng: np.random.Generator) -> None:
        posterior = model.estimator_.posterior_
        half = posterior.sample(DRAWS // 2, rng)
        W = np.concatenate([half, 2 * posterior.mean - half])
        self.W = W.reshape(DRAWS, -1, W.shape[-1])
        self.model, self.sample, self.tails = model, sample, tails
        self.Phi = model.functions(sample)
        self.A = self._activations(self.Phi, slice(self.Phi.shape[1]))
        if self.W.shape[2] > self.Phi.shape[1]:
            self.A += self.W[:, :, -1]

    def curves(self, grid: Grid, place: range) -> Curves:
        """Averages over rows for each draw, then over draws."""
        A = self._moved(grid, place)
        C = A.shape[-1]
        p = self.model.estimator_.likelihood_.probability(A.reshape(-1, C) if C > 1 else A.ravel())
        f = p.reshape(A.shape).mean(axis=1)
        if C == 1:
            f = np.concatenate([1 - f, f], axis=2)
        lower, upper = np.quantile(f, self.tails, axis=1)
        activation = A.mean(axis=(1, 2))
        return Curves(f.mean(axis=1), lower, upper, _centred(activation) if C > 1 else activation)

    def _moved(self, grid: Grid, place: range) -> Float:
        """Activations (G, S, n, C) with the column set to each value.

        Where every function is one of a single column, only the part of this one moves.
        """
        sources = np.array(self.model.sources_, dtype=object)
        if (sources == "").any():
            X = _variants(self.sample, place, grid)
            Phi = self.model.functions(X.reshape(-1, X.shape[2]))
            A = self._activations(Phi, slice(Phi.shape[1])).reshape(*X.shape[:2], *self.W.shape[:2])
            return A + self.W[:, :, -1] if self.W.shape[2] > Phi.shape[1] else A
        own = np.flatnonzero(sources == grid.plan.column)
        at = self.model.functions(_variants(self.sample[:1], place, grid)[:, 0])[:, own]
        rest = self.A - self._activations(self.Phi[:, own], own)
        return np.asarray(rest[None] + self._activations(at, own)[:, None])

    def _activations(self, Phi: Float, own: Any) -> Float:
        """w'φ of some of the functions, (rows, n, C)."""
        n, C, _ = self.W.shape
        return np.asarray((Phi @ self.W[:, :, own].reshape(n * C, -1).T).reshape(-1, n, C))


def _centred(a: Float) -> Float:
    """Only differences between classes mean anything."""
    return np.asarray(a - a.mean(axis=1, keepdims=True))
