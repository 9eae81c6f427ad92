# SPDX-License-Identifier: BSD-3-Clause
"""Importance of each column of the user's table, with an interval.

**With labels** it is what the column contributes to the predictions of these rows: the increase of the log-loss if the
values of the column are permuted among the rows, so that they carry no information about the label.

    d_n = ln p(t_n | x_n) - 1/R Σ_r ln p(t_n | x_n with the column of row π_r(n)),        importance = 1/N Σ_n d_n

Its standard error is that of a mean over rows of d_n plus the average increase for the R rows that receive the value of
row n, because each row enters twice. If the rows were not used in the fit, the importance is honest about overfitting:
that of a column that only fits noise is near or below zero.

**Without labels** it is the spread of the column's part of the log-odds over the rows: how much the predictions depend
on it, be they right or wrong. With the covariance Σ over rows of the functions φ_j of column j, and their weights w,

    importance = √(w'Σ w),      for K classes √(1/K Σ_k w_k'Σ w_k) with weights relative to the mean of the classes

Its interval is that of draws of the weights.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from separatrix._arguments import check_count, generator
from separatrix._array import Array, Codes, Float, is_sparse, to_dense
from separatrix._lazy import pa
from separatrix._text import counted
from separatrix.effects.averages import MAX_DRAWN_WEIGHTS, MAX_DRAWS, MIN_DRAWS, posterior_draws
from separatrix.effects.columns import Column, encoded_columns, plain_columns, wanted_columns
from separatrix.effects.groups import features_in_memory
from separatrix.effects.inquiry import Inquiry, without_rule
from separatrix.effects.results import FORMATS, EffectTable
from separatrix.exceptions import DataError
from separatrix.files import Scan, scan
from separatrix.rows import Block, Source, Summed
from separatrix.table import clean_labels, open_batch
from separatrix.table_model import TableClassifier, named
from separatrix.weights import Marginals, interval_tails, weighted_quantiles

MAX_ROWS = 50_000  # rows whose columns are permuted
MIN_ROWS = 2  # one row has no other value to receive
PERMUTED = (
    "The standard error is that of an average over rows. For an honest importance, the rows must not be those of the "
    "fit. Columns that carry the same information share it: permuting one of them alone costs little."
)
SPREAD = (
    "The spread shows how much the predictions depend on a column, not whether that makes them better; with labels, "
    "importance is the increase of the log-loss. Intervals: quantiles of {n:,} draws of the weights."
)


def importance(
    model: Any,
    data: Any,
    target: Any = None,
    variables: Any = None,
    level: float = 0.95,
    *,
    n_repeats: int = 5,
    rng: Any = None,
) -> EffectTable:
    """Importance of each column of the table, most important first, with an interval.

    Parameters
    ----------
    model : fitted classifier
        Any classifier of this package or `TableClassifier`. Without ``target``, a linear model with a distribution of
        its weights.
    data : table, scan or path
        Rows. For an honest importance they should not be those of the fit.
    target : array of labels, or name of a column of ``data``, optional
        Labels of the rows. If given (or if a scan has a target), the importance is the increase of the log-loss, in
        nats per row, if the column is permuted. Otherwise it is the spread over rows of the column's part of the
        log-odds.
    variables : str or list of str, optional
        Columns; by default all of the model.
    level : float, default 0.95
        Level of the intervals.
    n_repeats : int, default 5
        Number of permutations of each column.
    rng : int or numpy.random.Generator, optional
        Seed of permutations and draws.

    Returns
    -------
    EffectTable
        A table with columns ``estimate``, ``standard_error``, ``lower`` and ``upper``, and ``plot()``.

    Examples
    --------
    >>> import separatrix as sx
    >>> from separatrix.datasets import make_mixed_types
    >>> table, y = make_mixed_types(400, as_frame=True, rng=0)
    >>> new, truth = make_mixed_types(400, as_frame=True, rng=1)
    >>> found = sx.effects.importance(sx.TableClassifier().fit(table, y), new, truth)
    >>> found.names[0], bool(found["lower"][0] > 0)
    ('calls', True)
    """
    owner, model = "importance", without_rule(model)
    tails, repeats = interval_tails(owner, level), check_count(owner, "n_repeats", n_repeats)
    has_labels = target is not None or (isinstance(data, Scan) and data.target is not None)
    if not has_labels:
        return _spread(model, data, variables, level, tails, rng)
    check_is_fitted(model)
    if getattr(model, "classes_", None) is None or getattr(model, "predict_log_proba", None) is None:
        raise DataError(f"{owner}: {type(model).__name__} has no log-loss, because it predicts no probabilities.")
    random = generator(rng)
    features, y, n_rows = _labelled_rows(owner, model, data, target, random)
    columns, log_p = _columns_of(model, features), _LogLikelihood(owner, model, y)
    wanted = [column for column, _ in wanted_columns(owner, columns, variables, {}).values()]
    loss, means, stds, N = -log_p(features), [], [], len(y)
    for column in wanted:
        gains, orders = np.empty((repeats, N)), [random.permutation(N) for _ in range(repeats)]
        given = np.zeros(N)  # average gain of the rows that get the value of each row
        for gain, order in zip(gains, orders, strict=True):
            gain[:] = -log_p(_permuted(features, column.place, order)) - loss
            given[order] += gain / repeats
        twice = gains.mean(axis=0) + given  # each row enters as a row and as a donor
        variance = twice.var() - gains.var() / repeats  # without the noise of the permutations, which enters twice, too
        means.append(float(gains.mean()))
        stds.append(float(np.sqrt(max(variance, gains.var() / repeats) / N)))
    sampled = Marginals(np.ones(1), np.array([means]), np.array([stds]))
    rows = counted(N, "row") + (f", chosen at random from {n_rows:,}" if n_rows > N else "")
    note = f"Log-loss of {rows}: {loss.mean():.4f} nats per row; {counted(repeats, 'permutation')} of each column."
    title = "Increase of the log-loss if a column is permuted, nats per row"
    return _table(title, wanted, sampled.mean, sampled.std, sampled.quantiles(tails), (note, PERMUTED), level)


def _table(
    title: str,
    columns: Sequence[Column],
    estimate: Float,
    std: Float,
    bounds: Float,
    notes: tuple[str, ...],
    level: float,
) -> EffectTable:
    """Table of columns, most important first."""
    order = np.argsort(-estimate, kind="stable")
    numbers = {"estimate": estimate, "standard_error": std, "lower": bounds[:, 0], "upper": bounds[:, 1]}
    found = {name: values[order] for name, values in numbers.items()}
    names = tuple(columns[j].name for j in order)
    return EffectTable(names, found, title, notes, FORMATS, kind="importance", null=0.0, level=level)


# -- With labels -------------------------------------------------------------------------------------------------


class _LogLikelihood:
    """ln p of the labels of some rows, as a function of their features."""

    def __init__(self, owner: str, model: Any, y: Array) -> None:
        self.model = copy(model)
        vars(self.model).pop("feature_names_in_", None)  # the features are in the order of the fit
        self.place = {label: k for k, label in enumerate(model.classes_.tolist())}
        unknown = [label for label in dict.fromkeys(y.tolist()) if label not in self.place]
        if unknown:
            raise DataError(f"{owner}: the target has the label {unknown[0]!r}, which is not a class of the model.")
        self.codes = np.array([self.place[label] for label in y.tolist()])

    def __call__(self, features: Any) -> Float:
        model = self.model
        if isinstance(model, TableClassifier):
            rows = named(features, model.encoder_.schema_, model.estimator_)
            return np.asarray(model.estimator_.predict_log_proba(rows)[np.arange(len(self.codes)), self.codes])
        return np.asarray(model.predict_log_proba(features)[np.arange(len(self.codes)), self.codes])


def _labelled_rows(owner: str, model: Any, data: Any, target: Any, rng: np.random.Generator) -> tuple[Any, Array, int]:
    """Features and labels of at most `MAX_ROWS` rows, and the number of all rows."""
    n_rows = None
    if isinstance(data, Scan | str | os.PathLike):
        data, target, n_rows = _random_rows(owner, model, data, target, rng)
    if isinstance(target, str):
        batch = open_batch(data)
        batch.require([target])
        target = batch.columns[target]
    y = clean_labels(np.asarray(target))
    features = features_in_memory(model, data)
    if y.shape != features.shape[:1]:
        raise DataError(f"{owner}: the target has the shape {y.shape}, but the table has {features.shape[0]:,} rows.")
    if len(y) < MIN_ROWS:
        raise DataError(f"{owner}: {counted(len(y), 'row')} cannot be permuted. Pass {MIN_ROWS} rows or more.")
    n_rows = n_rows or len(y)
    if len(y) > MAX_ROWS:
        chosen = np.sort(rng.choice(len(y), MAX_ROWS, replace=False))
        features, y = features[chosen], y[chosen]
    return features, y, n_rows


def _random_rows(owner: str, model: Any, data: Any, target: Any, rng: np.random.Generator) -> tuple[Any, str, int]:
    """Random rows of a scan or path as an Arrow table, the name of its target, and the number of all rows."""
    texts = model.encoder_.schema_.text_types if isinstance(model, TableClassifier) else None
    data = data if isinstance(data, Scan) else scan(data, types=texts)
    name = data.target if target is None else target
    if not isinstance(name, str):
        raise DataError(f"{owner}: the rows are not in memory. Name the column of their labels: target='column'.")
    rows = replace(data, features=tuple(dict.fromkeys([*data.features, name])), target=None)
    n_rows = rows.n_rows
    kept = [batch.filter(pa.array(rng.random(batch.num_rows) < MAX_ROWS / n_rows)) for batch in rows.batches()]
    return pa.Table.from_batches(kept), name, n_rows


def _columns_of(model: Any, features: Any) -> tuple[Column, ...]:
    if isinstance(model, TableClassifier):
        return encoded_columns(model.encoder_.schema_)
    names = getattr(model, "feature_names_in_", [f"x{d}" for d in range(features.shape[1])])
    return plain_columns([str(name) for name in names])


def _permuted(X: Any, place: Codes, order: Codes) -> Any:
    """The rows with some of their features taken from other rows, in this order."""
    if not is_sparse(X):
        moved = X.copy()
        moved[:, place] = X[order][:, place]
        return moved
    is_moved = np.zeros(X.shape[1])
    is_moved[place] = 1.0
    moved = X @ sparse.diags_array(1.0 - is_moved) + X[order] @ sparse.diags_array(is_moved)
    return sparse.csr_array(moved)


# -- Without labels ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Scatter(Summed):
    """Number of rows, sums of the regressors, and their products for each column of the table, one after another."""

    count: float
    total: Float
    products: Float


def _spread(model: Any, data: Any, variables: Any, level: float, tails: Float, rng: Any) -> EffectTable:
    ask = Inquiry("importance", model, data, None, level, None, rng)
    q = ask.distribution
    wanted = [column for column, _ in wanted_columns(ask.owner, ask.columns, variables, ask.dropped).values()]
    own = [_functions_of(ask, column) for column in wanted]
    scatter = _reduced(ask.population.source, ask, own)
    C = len(q.approximation.mean)
    n = int(np.clip(MAX_DRAWN_WEIGHTS / q.approximation.mean.size, MIN_DRAWS, MAX_DRAWS))
    theta, weights = posterior_draws(q, n, generator(rng))
    theta = theta - theta.mean(axis=1, keepdims=True) if C > 1 else theta
    centre, start, found = scatter.total / scatter.count, 0, []
    for functions in own:
        m = len(functions)
        products = scatter.products[start : start + m * m].reshape(m, m) / scatter.count
        covariance, start = products - np.outer(centre[functions], centre[functions]), start + m * m
        W = theta[:, :, functions]
        variance = np.einsum("scm,ml,scl->s", W, covariance, W, optimize=True) / C
        found.append(np.sqrt(np.maximum(variance, 0.0)))
    values = np.stack(found)
    spread = Marginals(weights, values.T)
    note = f"Standard deviation over {counted(scatter.count, 'row')}. " + SPREAD.format(n=len(weights))
    title = "Spread of the part of the log-odds of each column, nats"
    bounds = weighted_quantiles(values, weights, tails)
    return _table(title, wanted, spread.mean, spread.std, bounds, (note,), level)


def _functions_of(ask: Inquiry, column: Column) -> Codes:
    """Positions of the regressors that depend on a column; raises if they are not known."""
    if isinstance(ask.model, TableClassifier):
        sources = ask.model.source_pairs_
        if (sources == "").any():
            raise DataError(
                f"{ask.owner}: the basis of the model combines columns in an unknown way, so that the log-odds have no "
                "part for each column. Pass target=, the labels, for the increase of the log-loss."
            )
        return np.flatnonzero((sources == column.name).any(axis=1))
    if ask.basis is not None:
        raise DataError(
            f"{ask.owner}: with a basis, the log-odds have no part for each column. Pass target=, the labels, for the "
            "increase of the log-loss."
        )
    return column.place


def _reduced(source: Source, ask: Inquiry, own: Sequence[Codes]) -> _Scatter:
    """Moments of the regressors of each column, in one pass."""
    design, basis = ask.distribution.design, ask.basis

    def statistic(block: Block) -> _Scatter:
        X = to_dense(block.X).astype(np.float64)
        Z = design.regressors(X if basis is None else basis.evaluate(X))
        weighted = Z if block.weight is None else Z * block.weight[:, None]
        count = float(len(block) if block.weight is None else block.weight.sum())
        products = [(Z[:, functions].T @ weighted[:, functions]).ravel() for functions in own]
        return _Scatter(count, weighted.sum(axis=0), np.concatenate(products))

    return source.sized_for(design.width).reduce(statistic)
