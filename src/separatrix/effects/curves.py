# SPDX-License-Identifier: BSD-3-Clause
"""Partial effects: probabilities as a function of one column, with the other columns of each row unchanged.

    f_k(v) = 1/S Σ_s p(C_k | x_s with the column set to v)

over S rows. Each draw of the weights from the posterior gives a curve f. The effect is their mean, and its band
their quantiles. Draws come in pairs w and 2 m - w about the posterior mean m, so that terms of odd order in w - m
cancel in the mean. The S rows are evenly spaced in the order of their activations, which makes them representative.

The **importance** of a column is the standard deviation over rows of its part w'φ of the log-odds, which includes its
interactions. It is computed from the rows, or from the activations along the curve if the functions of the column are
unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import gen_batches

from separatrix._arguments import generator
from separatrix._array import Array, Codes, Float, to_dense
from separatrix._threads import map_in_order
from separatrix.bayesian import BayesianLogisticRegression
from separatrix.comparison import ModelAverage
from separatrix.effects.grids import MAX_POINTS, Grid, grid_of, with_missing, words_of_text
from separatrix.table import CategoryPlan, DatePlan, NumberPlan, TextPlan
from separatrix.table_model import Ramps, TableClassifier, basis_rows, explain, functions_of, has_contrasts, named
from separatrix.weights import interval_tails

MAX_EFFECT_COLUMNS = 40
MAX_PAIR_EFFECTS, N_GIVEN_VALUES = 6, 3
GIVEN_QUANTILES = (0.1, 0.5, 0.9)  # values of the other column of a pair
MAX_AVERAGED_ROWS, ENOUGH_AVERAGED_ROWS, MIN_AVERAGED_ROWS = 500, 150, 50
MAX_DRAWS, MIN_DRAWS = 1000, 200  # 1000 draws give the ends of a band to 5 % of its half width
QUANTILE_ROWS = 20_000  # rows from which quantiles and fractions are computed
MAX_PROBABILITIES = 4e6  # number of probabilities evaluated for each column
MAX_VARIANT_FLOATS = 2_000_000  # copies of the sample rows in memory at once
MAX_SAMPLE_FLOATS, MAX_DRAWN_FLOATS = 4e6, 2e7  # cells of the dense sample rows, and of the draws of the weights
PART_BATCH_ROWS = 2048


@dataclass(frozen=True, eq=False, repr=False)
class Effect:
    """Probabilities as a function of one column of the table, with the other columns of each row unchanged.

    ``values`` (G,) are numbers, dates or levels. ``mean`` (G, K) is the probability of each class at each value,
    averaged over rows; ``lower`` and ``upper`` are its credible band, NaN if the model has no posterior. ``share`` (G,)
    is the fraction of rows near each value. ``importance`` is the standard deviation over rows of the column's part of
    the log-odds, in nats. ``missing`` is the effect of a missing number or date, with one value; categories have a
    level for missing values.
    """

    column: str
    kind: str
    values: Array
    mean: Float
    lower: Float
    upper: Float
    share: Float
    importance: float
    missing: Effect | None = field(default=None, kw_only=True)

    def __repr__(self) -> str:
        return f"Effect of {self.column!r} ({self.kind}) at {len(self.values)} values, importance {self.importance:.3g}"


@dataclass(frozen=True, eq=False, repr=False)
class PairEffect(Effect):
    """Probabilities as a function of one column, for a few values of an ``other`` column that interacts with it.

    ``given`` (V,) are the values of the other column; ``mean``, ``lower`` and ``upper`` are (V, G, K). ``importance``
    refers to the interaction.
    """

    other: str
    given: Array

    @property
    def columns(self) -> tuple[str, str]:
        return self.column, self.other


class Curves(NamedTuple):
    """Probabilities (G, K) with their credible band, and the activations (G, C) from which they are computed."""

    mean: Float
    lower: Float
    upper: Float
    activation: Float


def partial_effects(
    model: TableClassifier,
    features: Any,
    level: float = 0.95,
    rng: Any = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
    first: Sequence[str] = (),
) -> tuple[Effect, ...]:
    """Effect of each column, most important first. Of more than 40 columns, only those with the largest weights.

    The columns ``first``, which predict the class alone, come before all others, however the model shares their effect.

    ``features`` (N, M) are rows encoded by the model's encoder; effects are averages over a sample of them. ``level``
    is the level of the credible band, and ``rng`` the seed of the draws. ``progress`` is called after each column with
    the number of columns done and the total number.
    """
    sampled = _Sampled(model, features)
    some, importances = sampled.rows, sampled.importances
    curves_of = sampled.curves_of(to_dense(some[sampled.chosen]), interval_tails("partial_effects", level), rng)
    schema = model.encoder_.schema_
    shown = list(schema.inputs)
    if len(shown) > MAX_EFFECT_COLUMNS:
        size = dict.fromkeys(shown, 0.0)
        for weight in explain(model):
            if weight.column in size:
                size[weight.column] += weight.per_spread**2
        shown = sorted(shown, key=lambda name: (name not in first, -size[name]))[:MAX_EFFECT_COLUMNS]
    plans = {plan.column: plan for plan in schema.plans}
    varied = []
    for column in shown:
        at, plan = schema.groups[column], plans[column]
        if isinstance(plan, TextPlan):
            grid = words_of_text(model, plan, some)
            varied.append((column, grid, grid))
            continue
        rows = to_dense(some[:, at.start : at.stop])
        grid = grid_of(plan, rows)
        if len(grid.values) > 1:
            varied.append((column, grid, with_missing(grid, rows)))
    curves = map_in_order(lambda item: curves_of(item[2], schema.groups[item[0]]), varied)
    effects = []
    for (column, grid, whole), (mean, lower, upper, activation) in zip(varied, curves, strict=True):
        if column in importances:
            importance = importances[column]
        else:  # standard deviation of the activation along the curve, weighted by rows
            seen = whole.share if whole.share.any() else np.ones(len(whole.share))
            away = activation - seen / seen.sum() @ activation
            importance = float(np.sqrt((seen / seen.sum() @ away**2).mean()))
        plan, G = grid.plan, len(grid.values)
        has_levels = isinstance(plan, NumberPlan | DatePlan) and plan.constant  # present and missing
        kind = "categorical" if has_levels else plan.kind
        parts = [
            Effect(column, kind, values, mean[at], lower[at], upper[at], share, importance)
            for values, share, at in (
                (grid.values, grid.share, slice(G)),
                (whole.values[G:], whole.share[G:], slice(G, None)),
            )
        ]
        effects.append(replace(parts[0], missing=parts[1]) if len(whole.values) > G else parts[0])
        progress(len(effects), len(varied))
    return tuple(sorted(effects, key=lambda effect: (effect.column not in first, -effect.importance)))


def pair_effects(model: TableClassifier, features: Any, level: float = 0.95, rng: Any = None) -> tuple[PairEffect, ...]:
    """Effects of the most important interactions: one column is varied for three values of the other.

    The other column has the fewer values of the two, or comes second. See `partial_effects` for the parameters.
    """
    pairs = () if model.interactions_ is None else model.interactions_.pairs
    if not pairs:
        return ()
    sampled, schema = _Sampled(model, features), model.encoder_.schema_
    tails, plans = interval_tails("pair_effects", level), {plan.column: plan for plan in schema.plans}
    sizes = {pair: sampled.importances.get(pair, 0.0) for pair in pairs}
    found = []
    for pair in sorted(sizes, key=lambda pair: -sizes[pair])[:MAX_PAIR_EFFECTS]:
        grids = [grid_of(plans[name], to_dense(sampled.rows[:, schema.groups[name]])) for name in pair]
        order = [0, 1] if len(grids[0].values) >= len(grids[1].values) else [1, 0]
        (along, other), (varied, kept) = ([grids[i] for i in order], [pair[i] for i in order])
        at = np.argsort(-other.share, kind="stable")[:N_GIVEN_VALUES]  # the most frequent levels
        if not isinstance(other.plan, CategoryPlan):
            middle = np.cumsum(other.share) / other.share.sum()
            at = np.unique(np.searchsorted(middle, GIVEN_QUANTILES))
        curves = []
        for features_of in other.features[at]:
            sample = _variants(to_dense(sampled.rows[sampled.chosen]), schema.groups[kept], features_of[None])[0]
            curves.append(sampled.curves_of(sample, tails, rng)(along, schema.groups[varied]))
        mean, lower, upper, _ = (np.stack(part) for part in zip(*curves, strict=True))
        effect = (varied, along.plan.kind, along.values, mean, lower, upper, along.share, sizes[pair])
        found.append(PairEffect(*effect, kept, other.values[at]))
    return tuple(found)


class _Sampled:
    """Encoded rows for quantiles, importances of columns and pairs, rows to average over, and the number of draws."""

    def __init__(self, model: TableClassifier, features: Any) -> None:
        self.model, self.rows = model, features[_evenly_spaced(features.shape[0], QUANTILE_ROWS)]
        total, self.importances = _activations_and_importances(model, self.rows)
        K, self.n_draws, M = len(model.classes_), 0, self.rows.shape[1]
        is_average = isinstance(model.estimator_, ModelAverage)  # predicts by all of its models, without their draws
        most = ENOUGH_AVERAGED_ROWS if is_average else MAX_AVERAGED_ROWS
        n_rows = int(np.clip(MAX_SAMPLE_FLOATS / M, MIN_AVERAGED_ROWS, most))
        if isinstance(model.estimator_, BayesianLogisticRegression):  # within the limit on evaluations
            per_draw_and_row = MAX_POINTS * (K if K > 2 else 1)
            affordable = MAX_PROBABILITIES / (per_draw_and_row * ENOUGH_AVERAGED_ROWS)
            affordable = min(affordable, MAX_DRAWN_FLOATS / ((K if K > 2 else 1) * M))
            self.n_draws = 2 * int(np.clip(affordable, MIN_DRAWS, MAX_DRAWS) / 2)
            affordable = MAX_PROBABILITIES / (per_draw_and_row * self.n_draws)
            n_rows = int(np.clip(affordable, MIN_AVERAGED_ROWS, n_rows))
        self.chosen = _evenly_spaced(self.rows.shape[0], n_rows)
        if self.importances:  # evenly spaced in the order of the class activation with the largest variance
            order = np.argsort(total[:, int(total.std(axis=0).argmax())], kind="stable")
            strata = min(n_rows, len(order))
            self.chosen = np.sort(order[((np.arange(strata) + 0.5) * len(order) / strata).astype(np.intp)])

    def curves_of(self, sample: Float, tails: Float, rng: Any) -> Callable[[Grid, range], Curves]:
        """Function that computes curves averaged over the sample rows, by draws if the model has a posterior."""
        if isinstance(self.model.estimator_, BayesianLogisticRegression):
            return _PosteriorCurves(self.model, sample, tails, self.n_draws, generator(rng))
        return partial(_point_curves, self.model, sample)


def _evenly_spaced(n: int, max_count: int) -> Codes:
    """At most ``max_count`` of the indices 0 to n - 1, evenly spaced."""
    return np.unique(np.linspace(0, n - 1, min(n, max_count)).astype(np.intp))


def _activations_and_importances(
    model: TableClassifier, features: Any
) -> tuple[Float, dict[str | tuple[str, str], float]]:
    """Activations (N, C) without the intercept, and the importance of each column and pair: the deviation of its w'φ.

    The parts of all columns are never in memory together. There are no importances if a basis function depends on
    several columns.
    """
    sources = model.source_pairs_
    if not has_contrasts(model.estimator_) or (sources == "").any():
        return np.empty((features.shape[0], 0)), {}
    W = np.atleast_2d(model.estimator_.coef_)
    W = W - W.mean(axis=0) if len(W) > 1 else W  # only differences between classes are identified
    columns = dict.fromkeys(sources.ravel().tolist())
    own: dict[Any, Array] = {column: (sources == column).any(axis=1) for column in columns}  # with its interactions
    for a, b in () if model.interactions_ is None else model.interactions_.pairs:
        own[a, b] = own[a] & own[b]
    N = features.shape[0]
    total = np.zeros((N, len(W)))
    shift: dict[Any, Float] = {}
    sums = {column: np.zeros(len(W)) for column in own}
    squares = {column: np.zeros(len(W)) for column in own}
    for at in gen_batches(N, PART_BATCH_ROWS):
        Phi = basis_rows(model, features[at])
        total[at] = Phi @ W.T
        for column, functions in own.items():
            part = Phi[:, functions] @ W[:, functions].T
            away = part - shift.setdefault(column, part.mean(axis=0))  # close to the mean, so that squares are small
            sums[column] += away.sum(axis=0)
            squares[column] += (away**2).sum(axis=0)
    variance = {column: np.maximum(squares[column] / N - (sums[column] / N) ** 2, 0) for column in own}
    return total, {column: float(np.sqrt(each.mean())) for column, each in variance.items()}


def _point_curves(model: TableClassifier, sample: Float, grid: Grid, place: range) -> Curves:
    """Average predictions of a model without a posterior."""
    means = []
    for at in gen_batches(len(grid.values), max(1, MAX_VARIANT_FLOATS // sample.size)):
        X = _variants(sample, place, grid.features[at])
        rows = named(X.reshape(-1, X.shape[2]), model.encoder_.schema_, model.estimator_)
        P: Float = np.asarray(model.estimator_.predict_proba(rows), dtype=np.float64)
        means.append(P.reshape(*X.shape[:2], -1).mean(axis=1))
    mean = np.concatenate(means)
    unknown = np.full(mean.shape, np.nan)
    a = np.log(np.maximum(mean, 1e-300))
    return Curves(mean, unknown, unknown, np.diff(a, axis=1) if a.shape[1] == 2 else _centred(a))


class _PosteriorCurves:
    """Average predictions of draws of the weights (n, C, P); activations of the sample are computed only once."""

    def __init__(
        self, model: TableClassifier, sample: Float, tails: Float, n_draws: int, rng: np.random.Generator
    ) -> None:
        posterior = model.estimator_.posterior_
        W = posterior.sample(n_draws if posterior.draws is not None else n_draws // 2, rng)
        if posterior.draws is None:
            W = np.concatenate([W, 2 * posterior.mean - W])
        self.W = W.reshape(n_draws, -1, W.shape[-1])
        self.model, self.sample, self.tails = model, sample, tails
        self.Phi = functions_of(model, sample)
        self.A = self._activations(self.Phi)

    def __call__(self, grid: Grid, place: range) -> Curves:
        """Average over rows for each draw, then over draws."""
        basis, own = self.model.basis_, None  # the functions that depend on the column; None if unknown
        if basis is None:
            own = np.array(place)
        elif isinstance(basis, Ramps):
            own = np.flatnonzero(np.isin(basis.functions_.sources, place).any(axis=1))
        if own is None:
            moved = (self._activations(functions_of(self.model, X)) for X in self._moved_samples(grid, place))
        else:  # only the part of this column is recomputed
            rest = self.A - self._activations(self.Phi[:, own], own)
            if (self.model.source_pairs_[own] == grid.plan.column).all():
                at = functions_of(self.model, _variants(self.sample[:1], place, grid.features)[:, 0])[:, own]
                moved = (rest + part for part in self._activations(at, own))
            else:  # products with other columns, which differ from row to row
                variants = (functions_of(self.model, X)[:, own] for X in self._moved_samples(grid, place))
                moved = (rest + self._activations(at, own) for at in variants)
        averages, activations = [], []
        for A in moved:  # (S, n, C)
            C = A.shape[-1]
            p = self.model.estimator_.likelihood_.probability(A.reshape(-1, C) if C > 1 else A.ravel())
            f = p.reshape(A.shape).mean(axis=0)
            averages.append(np.concatenate([1 - f, f], axis=1) if C == 1 else f)
            activations.append(A.mean(axis=(0, 1)))
        f, activation = np.stack(averages), np.stack(activations)
        lower, upper = np.quantile(f, self.tails, axis=1)
        return Curves(f.mean(axis=1), lower, upper, _centred(activation) if activation.shape[1] > 1 else activation)

    def _moved_samples(self, grid: Grid, place: range) -> Iterator[Float]:
        """The sample rows with the column set to each value of the grid."""
        return (_variants(self.sample, place, value[None])[0] for value in grid.features)

    def _activations(self, Phi: Float, own: Codes | None = None) -> Float:
        """Activations (rows, n, C): w'φ of the functions ``own``, or of all functions plus the bias by default."""
        n, C, P = self.W.shape
        W = self.W[:, :, : Phi.shape[1]] if own is None else self.W[:, :, own]
        A = (Phi @ W.reshape(n * C, -1).T).reshape(-1, n, C)
        return np.asarray(A + self.W[:, :, -1] if own is None and Phi.shape[1] < P else A)


def _variants(sample: Float, place: range, features: Float) -> Float:
    """Copies (G, S, M) of the sample rows in which the features of a column are set to each of ``features`` (G, m)."""
    X = np.repeat(sample[None], len(features), axis=0)
    X[:, :, place.start : place.stop] = features[:, None, :]
    return X


def _centred(a: Float) -> Float:
    """Subtract the mean over classes, because only differences between classes are identified."""
    return np.asarray(a - a.mean(axis=1, keepdims=True))
