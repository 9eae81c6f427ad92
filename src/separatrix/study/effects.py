# SPDX-License-Identifier: BSD-3-Clause
"""Partial effects: how probabilities move with one column, all others left as they are in each row.

    f_k(v) = 1/S Σ_s p(C_k | x_s with the column set to v)

over S rows. Each draw of the weights has its own f; their quantiles are the band. Draws come in pairs w and 2 m - w
about the posterior mean m, so that their average is that of the activation exactly, and of f but for terms of fourth
order.
"""

from __future__ import annotations

from collections.abc import Iterator
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


class _Curves(NamedTuple):
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
    ask = _asker(model, interval_tails("partial_effects", level), rng)
    K = len(model.classes_)
    n_rows = int(np.clip(EVALUATIONS / (POINTS * DRAWS * (K if K > 2 else 1)), FEWEST_ROWS, MOST_ROWS))
    sample = some[_evenly(len(some), n_rows)]
    schema = model.encoder_.schema_
    plans = {plan.column: plan for plan in schema.plans}
    effects = []
    for column in _columns(model):
        place = schema.groups[column]
        grid = grid_of(plans[column], some[:, place.start : place.stop])
        if grid.is_varied:
            effects.append(_effect(grid, ask(_variants(sample, place, grid))))
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


def _effect(grid: Grid, curves: _Curves) -> Effect:
    away = curves.activation - grid.share @ curves.activation / grid.share.sum()
    importance = float(np.sqrt((grid.share @ away**2).mean() / grid.share.sum()))
    mean, lower, upper = curves.mean, curves.lower, curves.upper
    return Effect(grid.plan.column, grid.plan.kind, grid.values, mean, lower, upper, grid.share, importance)


def _asker(model: TableClassifier, tails: Float, rng: Any) -> Any:
    """What answers rows (G, S, M) with curves: draws from the posterior where there is one."""
    estimator = model.estimator_
    if not isinstance(estimator, BayesianLogisticRegression):
        return lambda X: _predicted(model, X)
    W = np.stack(list(_pairs(estimator, generator(rng))))
    return lambda X: _drawn(model, X, W, tails)


def _pairs(estimator: BayesianLogisticRegression, rng: np.random.Generator) -> Iterator[Float]:
    """Draws (C, P) of the weights, in pairs about their mean."""
    mean = np.atleast_2d(estimator.posterior_.mean)
    for w in estimator.posterior_.sample(DRAWS // 2, rng):
        yield np.atleast_2d(w)
        yield 2 * mean - np.atleast_2d(w)


def _drawn(model: TableClassifier, X: Float, W: Float, tails: Float) -> _Curves:
    """Averages over rows for each draw, then over draws."""
    G, S, M = X.shape
    draws, C, P = W.shape
    Phi = model.functions(X.reshape(G * S, M))
    A = (Phi @ W[:, :, : Phi.shape[1]].reshape(draws * C, -1).T).reshape(G * S, draws, C)
    if Phi.shape[1] < P:
        A += W[:, :, -1]
    activation = A.mean(axis=1).reshape(G, S, C).mean(axis=1)
    p = model.estimator_.likelihood_.probability(A.reshape(-1, C) if C > 1 else A.ravel())
    f = p.reshape(G, S, draws, C).mean(axis=1)
    if C == 1:
        f = np.concatenate([1 - f, f], axis=2)
    lower, upper = np.quantile(f, tails, axis=1)
    centred = activation - activation.mean(axis=1, keepdims=True) if C > 1 else activation
    return _Curves(f.mean(axis=1), lower, upper, centred)


def _predicted(model: TableClassifier, X: Float) -> _Curves:
    """What a model without a posterior says."""
    G, S, M = X.shape
    rows = NamedRows(X.reshape(G * S, M), model.encoder_.schema_.columns)
    is_ours = type(model.estimator_).__module__.startswith("separatrix.")
    P = np.asarray(model.estimator_.predict_proba(rows if is_ours else rows.array), dtype=np.float64)
    mean = P.reshape(G, S, -1).mean(axis=1)
    blank = np.full(mean.shape, np.nan)
    a = np.log(np.maximum(mean, TINY))
    activation = np.diff(a, axis=1) if a.shape[1] == 2 else a - a.mean(axis=1, keepdims=True)
    return _Curves(mean, blank, blank, activation)
