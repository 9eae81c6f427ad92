# SPDX-License-Identifier: BSD-3-Clause
"""Interactions of two columns: which pairs the held-out rows support, and the products that describe them.

The additive model has one curve or line for each column. An interaction adds products of functions of two columns to
the log-odds (`RampProducts`), of two kinds:

    surface     products of all ramps of two columns: a piecewise bilinear function of both, for a few pairs
    products    products of one rank-like function for each number, and of levels: many weak interactions, with one
                prior scale for all pairs of columns

**Screening.** Each column has a few cells: intervals between quantiles, or levels. The residuals of the additive model,
summed over the cells of two columns, show an interaction (the idea of FAST, Lou et al. 2013). For all pairs of columns
they are one matrix product, B'diag(r)B with the indicators B of all cells. If cell effects are N(0, s²) and the
log-likelihood is quadratic, a cell with the sum of residuals S and the curvature V has the log Bayes factor

    ½ S²/(V + s⁻²) - ½ ln(1 + s² V)

Pairs are ranked by the sum over their cells, which penalises pairs with many cells and few rows.

**Confirmation.** Residuals come from leave-one-out activations, which follow from Laplace's approximation without
another fit: removing row n changes its activation by -(I - V_n C_n)⁻¹ V_n slope_n, with the covariance V_n of the
activation and the curvature C_n. The rows are split into folds. Without each fold, the additive model is fitted, pairs
are screened and added one by one, and the fold shows the log-likelihood gained. So no label of the fold is used before
(residuals of a model of all rows would depend on these labels), except for the prior scales of the additive model.
Interactions are accepted if their gain, summed over the folds, exceeds twice its standard error and ln 20 = 3 nats. The
gain includes the cost of choosing the pairs, but not of choosing their number, so it is slightly too high. Only the
weights of products are fitted; those of the additive model follow to first order, because products Ψ are replaced by
Ψ - Φ (Φ'VΦ + Λ)⁻¹ Φ'VΨ, with the curvatures V and the prior precision Λ of the additive model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple
from warnings import catch_warnings, simplefilter

import numpy as np

from separatrix._array import Codes, Float, to_dense
from separatrix._text import decimals, did_you_mean, enumerated
from separatrix.bayesian import Approximation, BayesianLogisticRegression, FitLaplace, Products
from separatrix.exceptions import DataError
from separatrix.likelihoods import Logit, Softmax
from separatrix.priors import Gaussian
from separatrix.rows import Block, Source, as_source
from separatrix.solvers import Posterior, pose
from separatrix.stats import Design, collect_sample
from separatrix.table import CategoryPlan, Schema
from separatrix.table_model.ramps import TIMES, RampProducts, Ramps, knots_of, pair_name

MAX_SEARCH_ROWS = 4000
MIN_SEARCH_ROWS = 100  # with fewer rows, an interaction is hardly ever confirmed
MAX_SEARCH_WEIGHTS = 2500  # largest number of weights of the additive model, over all classes
MAX_CELLS = 300  # cells of all columns together; screening for each surface takes the square of this number
MAX_SCREENED_CELLS = 1600  # cells that are screened once, for the columns with the highest scores
MAX_LEVELS = 8  # categories with more levels have no interactions
N_KNOTS = 5  # knots along each column of a surface, which has at most 16 products
SURFACE_ENDS = (0.05, 0.95)  # quantiles beyond which a surface is constant
MAX_PAIRS = 8  # surfaces that are accepted automatically
MAX_PRODUCTS = 300
N_FOLDS = 5
CELL_STD = 0.5  # prior standard deviation of the log-odds of a cell
MIN_GAIN_IN_STD, MIN_GAIN_IN_NATS = 2.0, 3.0  # gain of held-out log-likelihood that confirms interactions
MIN_SUSPECTED_NATS = 10.0  # log Bayes factor of a pair, besides that of the number of pairs, from which it is reported
SCALES = np.geomspace(0.02, 2.0, 9)  # prior scales of standardised products
N_NEWTON_STEPS, MAX_STEP_HALVINGS = 3, 6

Pair = tuple[str, str]


@dataclass(frozen=True, eq=False)
class ColumnCells:
    """Ramps of one column of the table that surfaces multiply: feature, low and high end of each, (J,)."""

    feature: Codes
    low: Float
    high: Float
    is_number: bool

    def with_level(self, feature: int | None) -> ColumnCells:
        """The cells of a category, with another level unless that is None."""
        if feature is None:
            return self
        return ColumnCells(np.append(self.feature, feature), np.append(self.low, 0.0), np.append(self.high, 1.0), False)


class Interactions(NamedTuple):
    """Pairs that have a surface, pairs that have products with a common scale, and the gain that confirmed them.

    ``gain`` is the mean gain of the held-out log-likelihood in nats per row and ``error`` its standard error; both are
    NaN if the user chose the pairs, or if there are none. ``why`` is the reason if no search was made.
    """

    surfaces: tuple[Pair, ...]
    products: tuple[Pair, ...]
    gain: float = np.nan
    error: float = np.nan
    why: str = ""

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """All pairs, those with a surface first."""
        return (*self.surfaces, *self.products)

    def describe(self) -> str:
        """Sentences that name the pairs and the gain."""
        if self.why:
            return f"No search for interactions was made: {self.why}."
        if not self.pairs:
            return "No interaction of two columns was confirmed by held-out rows."
        parts = [TIMES.join(pair) for pair in self.surfaces]
        if self.products:
            columns = dict.fromkeys(name for pair in self.products for name in pair)
            parts.append(f"products of {len(self.products)} pairs of {len(columns)} columns")
        text = f"Interactions: {enumerated(parts)}."
        if np.isnan(self.gain):
            return text
        gain = f"{decimals(self.gain)} ± {decimals(self.error)} nats per row"
        return f"{text} They increase the log-likelihood of held-out training rows by {gain}."


class Found(NamedTuple):
    """Interactions (None if not requested), and their Q products (None without interactions).

    ``groups`` are the names of the prior scales of the products. ``spread`` (Q,) is the standard deviation that each
    product would have if its factors were independent; that of a constant factor, which is an indicator of new levels,
    counts as 1.
    """

    interactions: Interactions | None = None
    products: RampProducts | None = None
    groups: tuple[Products, ...] = ()
    spread: Float = np.empty(0)


def max_products(n_columns: int) -> int:
    """Largest number of weights that interactions of encoded columns add for each output."""
    return MAX_PAIRS * (N_KNOTS - 1) ** 2 + min(n_columns * (n_columns - 1) // 2, MAX_PRODUCTS)


def column_cells(schema: Schema, sample: Float, numbers: Sequence[int]) -> dict[str, ColumnCells]:
    """Ramps of the columns that may interact: numbers, and categories of at most `MAX_LEVELS` levels."""
    found = {}
    for plan in schema.plans:
        at = schema.groups.get(plan.column, range(0))
        if len(at) and at.start in numbers:
            x = sample[:, at.start]
            inner = np.clip(x, *np.quantile(x, SURFACE_ENDS, method="nearest"))  # few rows beyond, so no slope there
            knots = knots_of(inner if np.ptp(inner) else x, N_KNOTS)
            feature, low, high = np.full(len(knots) - 1, at.start), knots[:-1], knots[1:]
        elif 0 < len(at) <= MAX_LEVELS and (isinstance(plan, CategoryPlan) or plan.kind == "boolean"):
            feature = np.array([d for d in at if np.ptp(sample[:, d])], dtype=np.intp)
            low, high = np.zeros(len(feature)), np.ones(len(feature))
        else:
            continue
        if len(feature):
            found[plan.column] = ColumnCells(feature, low, high, at.start in numbers)
    return found


def ramp_products(
    cells: dict[str, ColumnCells],
    chosen: Interactions,
    sample: Float,
    new_levels: Mapping[str, int] | None = None,
) -> Found:
    """Products of all surfaces, then of the other pairs.

    Factors are centred over the sample. A surface multiplies all ramps or levels of two columns. The other pairs
    multiply all levels of a category, and the average of all ramps of a number. The indicators of ``new_levels`` are
    levels, too: their products are zero in all training rows, so that the posterior of their weights is the prior.
    """
    columns = dict.fromkeys(name for pair in chosen.pairs for name in pair)
    ramps = [cells[name].with_level((new_levels or {}).get(name)) for name in columns]
    ends = np.cumsum([0, *(len(each.feature) for each in ramps)])
    single = {name: np.arange(a, b) for name, a, b in zip(columns, ends[:-1], ends[1:], strict=True)}
    J = int(ends[-1])  # factors: each ramp, then the average of the ramps of each column
    whole = {name: np.array([J + i]) if cells[name].is_number else single[name] for i, name in enumerate(columns)}
    left, right, labels = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)], list[Products]()
    n_columns = {name: len(each.feature) if each.is_number else 1 for name, each in cells.items()}  # as in the prior
    for pairs, factors in ((chosen.surfaces, single), (chosen.products, whole)):
        for a, b in pairs:
            left.append(np.repeat(factors[a], len(factors[b])))
            right.append(np.tile(factors[b], len(factors[a])))
            own = Products(pair_name(a, b, cells), n_columns[a] * n_columns[b])
            labels += [own if factors is single else Products("products", len(pairs))] * len(left[-1])
    first, stop = np.append(np.arange(J), ends[:-1]), np.append(np.arange(1, J + 1), ends[1:])
    used, codes = np.unique([np.concatenate(left), np.concatenate(right)], return_inverse=True)
    found = RampProducts(
        column=np.concatenate([each.feature for each in ramps]),
        low=np.concatenate([each.low for each in ramps]),
        high=np.concatenate([each.high for each in ramps]),
        first=first[used],
        stop=stop[used],
        mean=np.zeros(len(used)),
        left=codes.reshape(2, -1)[0],
        right=codes.reshape(2, -1)[1],
    )
    G = found.factors(sample)
    found.mean[:], std = G.mean(axis=0), G.std(axis=0)
    std[std == 0] = 1.0
    return Found(chosen, found, tuple(labels), std[found.left] * std[found.right])


def indicator_scale(sources: Codes, std: Float, numbers: Sequence[int]) -> Float:
    """Prior scale of each function, (M,), per standard deviation of the function.

    ``sources`` (M, 2) are the two columns of each function. A weight of an indicator has a prior for the change from
    0 to 1, which is the standard deviation of the indicator; so has each indicator in a product.
    """
    is_alone = sources[:, 0] == sources[:, 1]
    unit = np.ones(int(sources.max()) + 1)
    unit[sources[is_alone, 0]] = np.where(
        np.isin(sources[is_alone, 0], numbers) | (std[is_alone] == 0), 1.0, std[is_alone]
    )
    return np.where(is_alone, unit[sources[:, 0]], unit[sources].prod(axis=1))


def stated_interactions(schema: Schema, source: Source, numbers: Sequence[int], pairs: Any) -> Found:
    """Interactions of the pairs that a user chose; raises if a pair is impossible."""
    if not isinstance(pairs, tuple | list):
        raise ValueError(f"interactions={pairs!r}: choose False, True, or a list of pairs such as [('age', 'hours')].")
    sample = to_dense(collect_sample(source, MAX_SEARCH_ROWS).as_block().X).astype(np.float64, copy=False)
    cells, found = column_cells(schema, sample, numbers), list[Pair]()
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2 or pair[0] == pair[1]:
            raise ValueError(
                f"interactions contains {pair!r}: give pairs of two different columns, such as ('a', 'b')."
            )
        for name in pair:
            columns = [plan.column for plan in schema.plans]
            if name not in columns:
                hint = did_you_mean(str(name), columns)
                raise DataError(f"interactions names {name!r}, which is not a column.{hint}")
            if name not in cells:
                raise DataError(
                    f"interactions names {name!r}, which was dropped, is constant, or is a category with more than "
                    f"{MAX_LEVELS} levels. Such a column has no interactions: leave it out."
                )
        if tuple(pair) not in found and tuple(pair[::-1]) not in found:
            found.append((pair[0], pair[1]))
    chosen = Interactions(tuple(found), ())
    return ramp_products(cells, chosen, sample, schema.new_levels) if found else Found(chosen)


def supported_interactions(
    schema: Schema, source: Source, numbers: Sequence[int], basis: Ramps, groups: Sequence[str]
) -> Found:
    """Interactions that held-out rows confirm.

    ``source`` has labels. ``basis`` has the functions of the additive model, and ``groups`` are their prior scales.
    """
    K, why = len(source.classes), ""
    if source.n_rows < MIN_SEARCH_ROWS:
        why = f"{source.n_rows:,} rows are fewer than {MIN_SEARCH_ROWS}"
    elif (n_weights := len(groups) * (K if K > 2 else 1)) > MAX_SEARCH_WEIGHTS:
        why = f"{n_weights:,} weights are more than {MAX_SEARCH_WEIGHTS:,}"
    elif source.is_soft:
        why = "the labels are probabilities"
    if why:
        return Found(Interactions((), (), why=why))
    rows = collect_sample(source, MAX_SEARCH_ROWS).as_block()
    X, codes = to_dense(rows.X).astype(np.float64, copy=False), rows.codes
    weight = np.ones(len(X)) if rows.weight is None else np.asarray(rows.weight, dtype=np.float64)
    cells = column_cells(schema, X, numbers)
    n_cells = sum(len(each.feature) for each in cells.values())
    if n_cells > MAX_SCREENED_CELLS:
        why = f"the columns have {n_cells:,} intervals and levels, more than {MAX_SCREENED_CELLS:,}"
    elif len(cells) < 2:
        why = "fewer than two columns may interact"
    if why:
        return Found(Interactions((), (), why=why))
    Phi = to_dense(basis.evaluate(X))
    std = weighted_std(Phi, weight)
    prior = Gaussian(scale=indicator_scale(basis.functions_.sources, std, numbers))
    tuned = BayesianLogisticRegression(prior, tune="evidence", groups=tuple(groups), approximation="laplace")
    with catch_warnings():
        simplefilter("ignore")  # the model that is fitted to all rows reports its own
        tuned.fit(Phi, codes, sample_weight=weight)
    Phi = (Phi - Phi.mean(axis=0)) / np.where(std > 0, std, 1.0)
    # The prior stays the same without a fold, even if an outlier of the fold dominates the deviation of a column.
    source = as_source(Phi, codes, weight)
    options = {"fit_intercept": True, "standardize": True, "with_extent": True}
    additive = pose(source, tuned.likelihood_, tuned.prior_, **options)
    mode, fold_of = FitLaplace().fit(additive).mean, np.empty(len(codes), dtype=np.intp)
    order = np.random.default_rng(0).permutation(len(codes))  # folds have nearly equal class proportions
    fold_of[order[np.argsort(codes[order], kind="stable")]] = np.arange(len(codes)) % N_FOLDS
    fold_of[np.bincount(codes)[codes] == 1] = -1  # the only row of a class is never held out
    gains = np.zeros((2, MAX_PAIRS + 1, len(X)))  # without and with products; by number of surfaces
    for fold in range(N_FOLDS):
        held, kept = fold_of == fold, np.where(fold_of == fold, 0.0, weight)
        search = _Search(cells, X, codes, kept, additive, mode, Phi)
        before = _log_likelihood(search.start, codes)
        for kind, start in enumerate((search.start, search.with_products()[0])):
            steps = search.surfaces(start)[0]
            for n_pairs in range(MAX_PAIRS + 1):
                after = _log_likelihood(steps[min(n_pairs, len(steps) - 1)], codes)
                gains[kind, n_pairs, held] = (weight * (after - before))[held]
    total, error = gains.sum(axis=2), gains.std(axis=2) * np.sqrt(len(X))
    has_products, n_pairs = (int(at) for at in np.unravel_index(total.argmax(), total.shape))
    gain, noise = total[has_products, n_pairs], error[has_products, n_pairs]
    if gain <= max(MIN_GAIN_IN_STD * noise, MIN_GAIN_IN_NATS):
        return Found(Interactions((), ()))
    search = _Search(cells, X, codes, weight, additive, mode, Phi)
    start, products = search.with_products() if has_products else (search.start, ())
    surfaces = search.surfaces(start, n_pairs)[1]
    products = tuple(pair for pair in products if pair not in surfaces)
    found = Interactions(surfaces, products, float(gain / weight.sum()), float(noise / weight.sum()))
    return ramp_products(cells, found, X, schema.new_levels)


def suspected_pair(
    schema: Schema, rows: Block, numbers: Sequence[int], probabilities: Callable[[Any], Float]
) -> tuple[str, str, float] | None:
    """The two columns whose interaction the residuals of a fitted additive model support most, with ln(Bayes factor).

    None if the factor is not large for the number of pairs. The model was fitted to the same rows, so that its
    residuals are too small, and an interaction that is reported here is clear.
    """
    X = to_dense(rows.X).astype(np.float64, copy=False)
    cells = column_cells(schema, X, numbers)
    n_cells = sum(len(each.feature) for each in cells.values())
    if not len(X) >= MIN_SEARCH_ROWS or len(cells) < 2 or n_cells > MAX_CELLS or rows.codes is None:
        return None
    P, weight = probabilities(rows.X), np.ones(len(X)) if rows.weight is None else np.asarray(rows.weight)
    outputs = slice(1, 2) if P.shape[1] == 2 else slice(None)
    r = weight[:, None] * (np.eye(P.shape[1])[rows.codes] - P)[:, outputs]
    v = weight[:, None] * (P * (1 - P))[:, outputs]
    scores, names = pair_scores(*cell_indicators(cells, X), r, v), list(cells)
    i, j = np.unravel_index(scores.argmax(), scores.shape)
    n_pairs = len(names) * (len(names) - 1) / 2
    is_clear = scores[i, j] > MIN_SUSPECTED_NATS + np.log(n_pairs)
    return (names[i], names[j], float(scores[i, j])) if is_clear else None


def weighted_std(Phi: Float, weight: Float) -> Float:
    """Standard deviation of each column over weighted rows, (M,)."""
    away = Phi - np.average(Phi, axis=0, weights=weight)
    return np.asarray(np.sqrt(np.average(away**2, axis=0, weights=weight)))


def loo_activations(fit: Approximation, design: Design, Phi: Float, codes: Codes, each: Float) -> Float:
    """Activations (n, C) of each row under the posterior of all other rows, to first order.

    ``each`` are the weights of the rows in the fit; a row with the weight 0 has no influence on its activation.
    """
    found, n = fit.activations(Phi, design), len(Phi)
    a, V = found.mean.reshape(n, -1), found.cov.reshape(n, *(np.size(found.mean) // n,) * 2)
    slope, curvature = _derivatives(a, codes)
    VC = each[:, None, None] * (V @ curvature)
    step = np.linalg.solve(np.eye(a.shape[1]) - VC, each[:, None, None] * (V @ slope[:, :, None]))
    return np.asarray(a - step[:, :, 0])


def _likelihood(a: Float) -> Callable[[Float, Codes], Any]:
    """Derivatives of ln p as a function of activations (n, C) and class codes."""
    C = a.shape[1]
    return Softmax(C).derivatives if C > 1 else lambda a, t: Logit().derivatives(a[:, 0], t)


def _derivatives(a: Float, codes: Codes) -> tuple[Float, Float]:
    """Slope (n, C) and curvature (n, C, C) of ln p at the activations (n, C)."""
    found, (n, C) = _likelihood(a)(a, codes), a.shape
    if C == 1:
        return found.slope.reshape(n, 1), found.curvature.reshape(n, 1, 1)
    P = found.curvature.p
    return found.slope, P[:, :, None] * np.eye(C) - P[:, :, None] * P[:, None, :]


def _log_likelihood(a: Float, codes: Codes) -> Float:
    """Return ln p of each row, (n,)."""
    return np.asarray(_likelihood(a)(a, codes).log_p)


def cell_indicators(cells: dict[str, ColumnCells], X: Float) -> tuple[Float, Codes]:
    """Indicators B (n, J) of the cells of all columns, and the first cell of each column."""
    parts = []
    for each in cells.values():
        if each.is_number:
            interval = np.searchsorted(each.high[:-1], X[:, each.feature[0]], side="right")
            parts.append(interval[:, None] == np.arange(len(each.feature)))
        else:
            parts.append(X[:, each.feature] > 0.5)
    edges = np.cumsum([0, *(part.shape[1] for part in parts)])[:-1]
    return np.concatenate(parts, axis=1).astype(np.float64), edges


def damping_of(n_outputs: int) -> float:
    """Factor (K - 1)/K of steps class by class for the softmax of K classes; 1 for two classes."""
    return 1.0 if n_outputs == 1 else 1 - 1 / n_outputs


def pair_scores(B: Float, edges: Codes, r: Float, v: Float) -> Float:
    """Log Bayes factor of the cell effects of each pair of columns; -inf below the diagonal, (D, D).

    ``r`` and ``v`` (n, C) are weighted residuals t - p and curvatures p (1 - p).
    """
    total = np.zeros((B.shape[1], B.shape[1]))
    for k in range(r.shape[1]):
        S, V = (B * r[:, [k]]).T @ B, (B * v[:, [k]]).T @ B
        total += 0.5 * damping_of(r.shape[1]) * (S**2 / (V + CELL_STD**-2) - np.log1p(CELL_STD**2 * V))
    pairs = np.add.reduceat(np.add.reduceat(total, edges, axis=0), edges, axis=1)
    return np.where(np.triu(np.ones_like(pairs), 1) > 0, pairs, -np.inf)


class _Search:
    """Greedy choice of interactions for weighted rows, whose weights are fitted alone, from activations ``start``.

    ``additive`` is the objective of the additive model of all rows, with standardised features ``Phi``, and ``mode``
    its solution. Rows with the weight 0 have activations, but no influence.

    A softmax is fitted class by class: a step for the curvature p (1 - p) of each class, times (K - 1)/K, is the step
    of Newton's method if all classes are equally probable. It is halved until the objective increases.
    """

    def __init__(
        self,
        cells: dict[str, ColumnCells],
        X: Float,
        codes: Codes,
        weight: Float,
        additive: Posterior,
        mode: Float,
        Phi: Float,
    ) -> None:
        fit = FitLaplace().fit(replace(additive, source=as_source(Phi, codes, weight), sample=None), mode)
        start = loo_activations(fit, additive.design, Phi, codes, weight)
        self.X, self.codes, self.weight, self.start = X, codes, weight, start
        self.damping = damping_of(start.shape[1])
        curvature, self.Phi = self._residuals(start)[1].mean(axis=1), np.column_stack([Phi, np.ones(len(Phi))])
        precision = np.append(additive.prior.diagonal[0, : Phi.shape[1]], 0.0)
        weighted = (curvature[:, None] * self.Phi).T
        self.regress = np.linalg.solve(weighted @ self.Phi + np.diag(precision), weighted)
        self._set_cells(cells)
        if self.B.shape[1] > MAX_CELLS:  # keep the columns with the highest scores
            scores, sizes = self._scores(start), [len(each.feature) for each in cells.values()]
            order = np.argsort(-np.fmax(scores, scores.T).max(axis=0), kind="stable")
            kept = np.sort(order[: int((np.cumsum(np.array(sizes)[order]) <= MAX_CELLS).sum())])
            self._set_cells({name: cells[name] for name in np.array(list(cells), dtype=object)[kept]})

    def _set_cells(self, cells: dict[str, ColumnCells]) -> None:
        self.cells, (self.B, self.edges) = cells, cell_indicators(cells, self.X)

    def with_products(self) -> tuple[Float, tuple[Pair, ...]]:
        """Activations of all rows with products of all pairs of columns, or of those with the largest scores."""
        pairs = list(combinations(self.cells, 2))
        sizes = {name: 1 if each.is_number else len(each.feature) for name, each in self.cells.items()}
        if sum(sizes[a] * sizes[b] for a, b in pairs) > MAX_PRODUCTS:
            names, scores = list(self.cells), self._scores(self.start)
            pairs.sort(key=lambda pair: -scores[names.index(pair[0]), names.index(pair[1])])
            total = np.cumsum([sizes[a] * sizes[b] for a, b in pairs])
            pairs = pairs[: int((total <= MAX_PRODUCTS).sum())]
        return self._fit(Interactions((), tuple(pairs)), self.start), tuple(pairs)

    def surfaces(self, start: Float, n_pairs: int = MAX_PAIRS) -> tuple[list[Float], tuple[Pair, ...]]:
        """Activations of all rows with 0, 1, 2, ... surfaces, and their pairs; it ends if no pair is supported."""
        steps, pairs, names = [start], list[Pair](), list(self.cells)
        while len(pairs) < n_pairs:
            scores = self._scores(steps[-1])
            for a, b in pairs:
                scores[names.index(a), names.index(b)] = -np.inf
            i, j = np.unravel_index(scores.argmax(), scores.shape)
            if scores[i, j] <= 0:
                break
            pairs.append((names[i], names[j]))
            steps.append(self._fit(Interactions(tuple(pairs), ()), start))
        return steps, tuple(pairs)

    def _residuals(self, a: Float) -> tuple[Float, Float]:
        """Weighted residuals t - p and curvatures p (1 - p) of the rows, (n, C)."""
        slope, curvature = _derivatives(a, self.codes)
        each = self.weight[:, None]
        return each * slope, each * np.diagonal(curvature, axis1=1, axis2=2)

    def _scores(self, a: Float) -> Float:
        """Log Bayes factor of the cell effects of each pair of columns; -inf below the diagonal, (D, D)."""
        return pair_scores(self.B, self.edges, *self._residuals(a))

    def _fit(self, chosen: Interactions, start: Float) -> Float:
        """Activations of all rows with standardised products, whose prior scale maximises a local evidence."""
        products = ramp_products(self.cells, chosen, self.X).products
        assert products is not None, "pairs are chosen"
        Psi = products.evaluate(self.X)
        std = weighted_std(Psi, self.weight)
        Z = Psi / np.where(std > 0, std, 1.0)
        Z -= self.Phi @ (self.regress @ Z)  # the additive model is adjusted
        r, v = self._residuals(start)
        evidence, classes = np.zeros(len(SCALES)), range(r.shape[1])
        for k in classes:
            values, axes = np.linalg.eigh(Z.T @ (v[:, [k]] * Z))
            values, pull = np.maximum(values, 0.0), axes.T @ (Z.T @ r[:, k])
            spread = SCALES[:, None] ** 2 / (1 + SCALES[:, None] ** 2 * values)
            evidence += self.damping * 0.5 * (spread * pull**2 - np.log1p(SCALES[:, None] ** 2 * values)).sum(axis=1)
        ridge = SCALES[int(evidence.argmax())] ** -2.0
        W, a, value = np.zeros((Z.shape[1], r.shape[1])), start, self.weight @ _log_likelihood(start, self.codes)
        step = np.empty_like(W)
        for _ in range(N_NEWTON_STEPS):
            r, v = self._residuals(a)
            for k in classes:
                H = Z.T @ (v[:, [k]] * Z) + ridge * np.eye(Z.shape[1])
                step[:, k] = self.damping * np.linalg.solve(H, Z.T @ r[:, k] - ridge * W[:, k])
            for size in 0.5 ** np.arange(MAX_STEP_HALVINGS):  # classes that compete for a row overshoot together
                moved = W + size * step
                after = start + Z @ moved
                rise = self.weight @ _log_likelihood(after, self.codes) - 0.5 * ridge * (moved**2).sum() - value
                if rise > 0:
                    W, a, value = moved, after, value + rise
                    break
        return a
