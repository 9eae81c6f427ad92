# SPDX-License-Identifier: BSD-3-Clause
"""Averages of predictions over rows as functions of the weights: their values, and their derivatives or draws.

    M_gk(θ) = Σ_n weight_n μ_k(θ φ̃_n) / Σ_n weight_n,      the sums over the rows n of group g

where μ_k is the probability of class k (or the mean of a generalised linear model), and φ̃_n are the regressors of the
row after some columns have been changed. A slope along a column x replaces μ_k by dμ_k/dx. All effects are functions of
such averages, which one pass over the rows computes for all changes, groups and classes.

- If the distribution of the weights is Gaussian, with mean m and covariance S, the pass also sums the derivatives
  J = ∂M/∂θ at m. The delta method gives the variance J S J'.
- For other posteriors, the pass computes M for draws θ_s. In large tables, a part of the rows is enough for what is not
  linear in the weights: with averages M° and J° over r-th rows of each group, in the order of their activations,

      M(θ_s) ≈ M(m) + J (θ_s - m) + [M°(θ_s) - M°(m) - J° (θ_s - m)].

For K classes with p = softmax(a), u = da/dx, ū = Σ_k p_k u_k and s_k = dp_k/dx,

    ∂p_k/∂a_c = p_k (δ_kc - p_c),      s_k = p_k (u_k - ū),      ∂s_k/∂a_c = δ_kc s_k - p_k s_c - s_k p_c
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, prod
from typing import Any, NamedTuple

import numpy as np

from separatrix._array import Float, to_dense
from separatrix.effects.columns import Column, Edit
from separatrix.rows import Block, RowMap, Source, Summed
from separatrix.stats import Design, require_finite
from separatrix.weights import Draws, Marginals, NormalApproximation, WeightDistribution

# Central differences of order four: f' = Σ_j c_j (f(x + jh) - f(x - jh)) / h. With h = 1e-3 standard deviations of the
# column, the error of the slope of a smooth basis function is about 1e-12.
DIFFERENCES = ((1, 2 / 3), (2, -1 / 12))
SLOPE_STEP_IN_STD = 1e-3
MAX_DRAWS, MIN_DRAWS = 2000, 400  # 2000 draws give the ends of a 95 % interval to 4 % of its half width
MAX_DRAWN_WEIGHTS = 2e7  # weights of all draws, 160 MB
# Predictions for draws of all rows and terms, about five seconds, but of at least 2000 rows: estimates and bounds are
# then off by 0.02 standard errors on average, at most 0.1, even for a wide posterior of 300 rows and 20 weights.
MAX_DRAWN_PREDICTIONS, MIN_DRAWN_ROWS = 4e8, 2000
MAX_DRAW_FLOATS = 2**20  # activations of draws in memory at once
MAX_SUM_FLOATS = 2**24  # floats of the sums of one pass; more terms take several passes


class Term(NamedTuple):
    """A quantity that is averaged over rows: the prediction after ``edits``, or its slope along a column.

    ``along`` is the column, or the number of an activation. Rows in which a column of ``given`` is missing are left
    out.
    """

    edits: tuple[Edit, ...] = ()
    given: tuple[Column, ...] = ()
    along: Column | int | None = None

    @property
    def key(self) -> tuple[Any, ...]:
        """Terms with equal keys are equal."""
        along = self.along.name if isinstance(self.along, Column) else self.along
        return tuple(edit.key for edit in self.edits), tuple(column.name for column in self.given), along


@dataclass(frozen=True, eq=False)
class Sums(Summed):
    """Σ weight (T, G), Σ weight μ (T, G, K) and Σ weight ∂μ/∂θ (T, G, K, C, P) at m, and Σ weight μ (T, G, K, S).

    The last are for S draws of θ; the rows of these draws are not in the two sums before.
    """

    weight: Float
    value: Float
    gradient: Float
    drawn: Float


@dataclass(frozen=True, eq=False)
class Averaging:
    """Statistic of a block: the sums of some terms at the weights m (C, P), and for draws θ (S, C, P).

    Draws are used for every ``stride``-th row of a group, and not at all if there are none.
    """

    terms: tuple[Term, ...]
    n_groups: int
    basis: RowMap | None
    design: Design
    likelihood: Any
    centre: Float
    theta: Float
    stride: int
    steps: Float  # of differences along each feature

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of the sums without the axis of terms. All rows have draws if ``stride`` is 1."""
        (S, C, P), G = self.theta.shape, self.n_groups
        return (G,), (G, C), (G, C, C, P if self.has_gradient else 0), (G, C, S)

    @property
    def has_gradient(self) -> bool:
        """Whether derivatives are needed."""
        return self.stride > 1 or not len(self.theta)

    def __call__(self, block: Block) -> Sums:
        block, spans = _by_group(block, self.n_groups)
        X = to_dense(block.X).astype(np.float64)
        weight = np.ones(len(X)) if block.weight is None else block.weight
        sums = Sums(*(np.zeros((len(self.terms), *shape)) for shape in self.shapes))
        activations = self.centre @ self._regressors(X).T if self.stride > 1 else np.zeros((1, len(X)))
        order = activations[activations.std(axis=1).argmax()]
        for t, term in enumerate(self.terms):
            w, rows = weight, X
            for column in term.given:
                w = np.where(np.isnan(column.numbers(X)), 0.0, w)
            if term.edits:
                rows = X.copy()
                for edit in term.edits:
                    edit.apply(rows)
            Z = self._regressors(rows)
            dZ = self._slopes(rows, term.along) if isinstance(term.along, Column) else None
            for g, span in spans:
                sums.weight[t, g] = w[span].sum()
            drawn = self._thinned(w, spans, order)
            if self.has_gradient:
                self._add_gradients(sums, t, spans, w - drawn, Z, dZ, term.along)
            self._add_draws(sums, t, spans, drawn, Z, dZ, term.along)
        return sums

    def _thinned(self, w: Float, spans: list[Any], order: Float) -> Float:
        """Weights of the rows whose predictions are drawn, which represent all rows of a group; other weights are 0."""
        drawn = np.zeros_like(w)
        for _, span in spans if len(self.theta) else ():
            present = np.flatnonzero(w[span])
            ordered = span.start + present[np.argsort(order[span][present], kind="stable")]
            chosen = ordered[min(self.stride, len(ordered)) // 2 :: self.stride]
            drawn[chosen] = w[chosen] * (w[span].sum() / (w[chosen].sum() or 1.0))
        return drawn

    def _regressors(self, X: Float) -> Float:
        return self.design.regressors(X if self.basis is None else self.basis.evaluate(X))

    def _slopes(self, X: Float, column: Column) -> Float:
        """Slopes of the regressors along a column, (n, P), by differences."""
        h, total = float(self.steps[column.place[0]]), np.zeros((len(X), self.design.width))
        for j, c in DIFFERENCES:
            for side in (1, -1):
                rows = X.copy()
                Edit(column, None, None, side * j * h).apply(rows)
                total += side * c / h * self._regressors(rows)
        return total

    def _add_gradients(
        self, sums: Sums, t: int, spans: list[Any], w: Float, Z: Float, dZ: Float | None, along: Any
    ) -> None:
        """Add the values and derivatives of one term. Classes come first in temporary arrays, and rows last."""
        theta, C = self.centre, len(self.centre)
        a = theta @ Z.T
        if along is None:
            value, slope = _levels(self.likelihood, a)
            parts = [(slope, Z)]
        else:
            u = np.broadcast_to(np.eye(C)[along][:, None], a.shape) if dZ is None else theta @ dZ.T
            value, slope, bend = _slopes(self.likelihood, a, u)
            parts = [(bend, Z)] if dZ is None else [(bend, Z), (slope, dZ)]
        value = value * w
        parts = [((D * w).reshape(C * C, -1), R) for D, R in parts]
        for g, span in spans:
            sums.value[t, g] = value[:, span].sum(axis=1)
            sums.gradient[t, g] = sum(D[:, span] @ R[span] for D, R in parts).reshape(sums.gradient.shape[2:])

    def _add_draws(
        self, sums: Sums, t: int, spans: list[Any], w: Float, Z: Float, dZ: Float | None, along: Any
    ) -> None:
        """Add the values of one term for all draws, a few rows at a time."""
        S, C, P = self.theta.shape
        W = self.theta.transpose(1, 0, 2).reshape(C * S, P)
        height = max(1, MAX_DRAW_FLOATS // max(1, C * S))
        for g, span in spans:
            chosen = span.start + np.flatnonzero(w[span])
            for start in range(0, len(chosen), height):
                rows = chosen[start : start + height]
                A = (W @ Z[rows].T).reshape(C, -1)
                if along is None:
                    p = self.likelihood.probability(A[0] if C == 1 else A.T).T
                elif C == 1:
                    slope = self.likelihood.mean_derivatives(A[0]).slope
                    p = slope if dZ is None else slope * (W @ dZ[rows].T).ravel()
                else:
                    p = self.likelihood.probability(A.T).T
                    u = np.eye(C)[along][:, None] if dZ is None else (W @ dZ[rows].T).reshape(C, -1)
                    p = p * (u - np.einsum("kn,kn->n", p, np.broadcast_to(u, p.shape)))
                sums.drawn[t, g] += p.reshape(C, S, -1) @ w[rows]


def _by_group(block: Block, n_groups: int) -> tuple[Block, list[tuple[int, slice]]]:
    """The rows of a block in the order of their groups, and the span of each group that occurs."""
    if block.t is None or n_groups == 1:
        return block, [(0, slice(0, len(block)))]
    codes = np.asarray(block.t)
    counts = np.bincount(codes, minlength=n_groups)
    ends = np.cumsum(counts).tolist()
    spans = [(int(g), slice(ends[g] - int(counts[g]), ends[g])) for g in np.flatnonzero(counts)]
    return (block if len(spans) == 1 else block.take(np.argsort(codes, kind="stable"))), spans


def _levels(likelihood: Any, a: Float) -> tuple[Float, Float]:
    """Means (K, n) and their derivatives (K, C, n) in the activations (C, n)."""
    if len(a) == 1:
        mean, slope, _ = likelihood.mean_derivatives(a[0])
        return mean[None], slope[None, None]
    P = np.ascontiguousarray(likelihood.probability(a.T).T)
    return P, _centred(P, P)


def _centred(p: Float, s: Float) -> Float:
    """δ_kc s_k - s_k p_c, (K, K, n)."""
    D = -s[:, None] * p
    for k in range(len(p)):
        D[k, k] += s[k]
    return D


def _slopes(likelihood: Any, a: Float, u: Float) -> tuple[Float, Float, Float]:
    """Slopes (K, n) along the activations u (C, n); ∂μ/∂a; and the derivatives of the slopes in a, (K, C, n)."""
    if len(a) == 1:
        _, slope, bend = likelihood.mean_derivatives(a[0])
        return slope * u, slope[None, None], (bend * u)[None]
    P, D = _levels(likelihood, a)
    s = P * (u - np.einsum("kn,kn->n", P, u))
    return s, D, _centred(P, s) - P[:, None] * s


@dataclass(frozen=True, eq=False)
class Linearised:
    """Numbers (Q,) with their derivatives (Q, W) in Gaussian weights."""

    values: Float
    gradient: Any
    gaussian: NormalApproximation

    def combined(self, L: Any) -> Linearised:
        """Linear functions of the numbers, with coefficients L (R, Q)."""
        return replace(self, values=L @ self.values, gradient=L @ self.gradient)

    def mapped(self, function: Any, slope: Any) -> Linearised:
        """A function of each number, whose derivative is ``slope``."""
        gradient = np.asarray(slope(self.values))[:, None] * self.gradient
        return replace(self, values=function(self.values), gradient=gradient)

    def reflected(self, top: Float) -> Linearised:
        """``top`` (Q,) minus the numbers."""
        return replace(self, values=top - self.values, gradient=-self.gradient)

    def joined(self, others: Sequence[Any]) -> Linearised:
        """These numbers followed by others."""
        parts = [self, *others]
        values, gradients = ([getattr(part, name) for part in parts] for name in ("values", "gradient"))
        return replace(self, values=np.concatenate(values), gradient=np.concatenate(gradients))

    @property
    def all_values(self) -> Float:
        """The numbers, (Q, 1)."""
        return self.values[:, None]

    @property
    def marginals(self) -> Marginals:
        """Distribution of each number; its deviation is NaN if the data do not identify it."""
        std = self.gaussian.std_along(self.gradient)
        return Marginals(np.ones(1), self.values[None], std[None], self.gaussian.freedom)


@dataclass(frozen=True, eq=False)
class Drawn:
    """Numbers (Q, S) for weighted draws of the weights."""

    values: Float
    weights: Float

    def combined(self, L: Any) -> Drawn:
        """Linear functions of the numbers, with coefficients L (R, Q)."""
        return replace(self, values=L @ self.values)

    def mapped(self, function: Any, slope: Any) -> Drawn:
        """A function of each number."""
        return replace(self, values=function(self.values))

    def reflected(self, top: Float) -> Drawn:
        """``top`` (Q,) minus the numbers."""
        return replace(self, values=top[:, None] - self.values)

    def joined(self, others: Sequence[Any]) -> Drawn:
        """These numbers followed by others."""
        return replace(self, values=np.concatenate([self.values, *(part.values for part in others)]))

    @property
    def all_values(self) -> Float:
        """The numbers, (Q, S)."""
        return self.values

    @property
    def marginals(self) -> Marginals:
        """Distribution of each number."""
        return Marginals(self.weights, np.ascontiguousarray(self.values.T))


Numbers = Linearised | Drawn


class Averages(NamedTuple):
    """Averages of T terms in G groups for K means, in this order of axes.

    ``weight`` (T, G) is that of their rows, and ``theta`` (S, C, P) are the weight vectors at which they are computed,
    for every ``stride``-th row what is not linear in the weights.
    """

    numbers: Numbers
    weight: Float
    shape: tuple[int, int, int]
    theta: Float
    stride: int = 1

    def row(self, t: int, g: int, k: int) -> int:
        """Position of one average."""
        return int(np.ravel_multi_index((t, g, k), self.shape))

    def of_the_other_class(self, terms: Sequence[Term]) -> Averages:
        """The averages of 1 - p for probabilities p of one of two classes, and minus their slopes."""
        is_level = np.repeat([term.along is None for term in terms], self.shape[1]).astype(np.float64)
        return self._replace(numbers=self.numbers.reflected(is_level))

    def extended(self, others: Sequence[Averages]) -> tuple[Averages, list[int]]:
        """These averages with the terms of others, whose first terms are at the positions returned."""
        parts = [self, *others]
        ends = np.cumsum([part.shape[0] for part in parts]).tolist()
        numbers = self.numbers.joined([part.numbers for part in others])
        weight = np.concatenate([part.weight for part in parts])
        return self._replace(numbers=numbers, weight=weight, shape=(ends[-1], *self.shape[1:])), ends[:-1]


@dataclass(frozen=True, eq=False)
class Averager:
    """Averages over the rows of a source, for one model; ``steps`` are those of differences along each feature."""

    source: Source
    n_groups: int
    basis: RowMap | None
    likelihood: Any
    distribution: WeightDistribution
    is_drawn: bool
    rng: np.random.Generator
    steps: Float

    def averages(self, terms: Sequence[Term]) -> Averages:
        """Average some terms, in one pass over the rows unless their sums need too much memory."""
        q, m = self.distribution, self.distribution.approximation.mean
        theta, weights, stride = np.empty((0, *m.shape)), np.empty(0), 1
        if self.is_drawn:
            n_draws = int(np.clip(MAX_DRAWN_WEIGHTS / m.size, MIN_DRAWS, MAX_DRAWS))
            theta, weights = posterior_draws(q, n_draws, self.rng)
            m = np.tensordot(weights, theta, 1)
            n_rows = max(MAX_DRAWN_PREDICTIONS / (len(theta) * len(m) * len(terms)), MIN_DRAWN_ROWS)
            stride = ceil(self.source.n_rows / n_rows)
        statistic = Averaging((), self.n_groups, self.basis, q.design, self.likelihood, m, theta, stride, self.steps)
        source = self.source.sized_for(q.design.width)
        at_once = max(1, MAX_SUM_FLOATS // sum(map(prod, statistic.shapes)))
        parts = [
            source.reduce(replace(statistic, terms=tuple(terms[start : start + at_once])))
            for start in range(0, len(terms), at_once)
        ]
        weight, value, gradient, drawn = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("weight", "value", "gradient", "drawn")
        )
        if not (np.isfinite(value).all() and np.isfinite(drawn).all()):
            require_finite(self.source)
        shape = *weight.shape, len(m)
        with np.errstate(invalid="ignore"):  # a group in which a column is always missing
            value, gradient, drawn = (
                (each.reshape(*weight.shape, -1) / weight[:, :, None]).reshape(prod(shape), -1)
                for each in (value, gradient, drawn)
            )
        if self.is_drawn:
            if statistic.has_gradient:
                moved = drawn + value + gradient @ (theta - m).reshape(len(theta), -1).T
                is_level = np.repeat([term.along is None for term in terms], shape[1] * shape[2])[:, None]
                is_outside = is_level & ((moved <= 0.0) | (moved >= 1.0))
                drawn = np.where(is_outside, drawn, moved)
            return Averages(Drawn(drawn, weights), weight, shape, theta, stride)
        assert isinstance(q.approximation, NormalApproximation)
        return Averages(Linearised(value[:, 0], gradient, q.approximation), weight, shape, m[None])

    def along_features(self, found: Averages, first: int, features: Sequence[int]) -> Averages:
        """Slopes along features that are regressors, from the slopes along each activation.

        dμ_k/dx_j = Σ_c w_cj ∂μ_k/∂a_c, so the slopes along the C activations, terms ``first`` and the following, are
        enough for all features. The features become the terms of the result.
        """
        (_, G, K), (S, C, P), numbers = found.shape, found.theta.shape, found.numbers
        rows, J = slice(first * G * K, (first + C) * G * K), len(features)
        weights = found.theta[:, :, list(features)]
        parts = numbers.all_values[rows].reshape(C, G, K, S)
        values = np.einsum("cgks,scj->jgks", parts, weights).reshape(J * G * K, S)
        if isinstance(numbers, Drawn):
            along: Numbers = replace(numbers, values=values)
        else:
            gradient = np.einsum("cgkw,cj->jgkw", numbers.gradient[rows].reshape(C, G, K, C * P), weights[0])
            for j, feature in enumerate(features):  # the weights w_cj themselves
                gradient[j, :, :, np.arange(C) * P + feature] += parts[..., 0]
            along = replace(numbers, values=values[:, 0], gradient=gradient.reshape(J * G * K, C * P))
        return Averages(along, np.repeat(found.weight[[first]], J, axis=0), (J, G, K), found.theta)


def posterior_draws(q: WeightDistribution, n: int, rng: np.random.Generator) -> tuple[Float, Float]:
    """About n draws of θ, (S, C, P), and their weights.

    Draws of each Gaussian come in pairs m + d and m - d about its mean, so that terms of odd order in d cancel in
    averages.
    """
    if q.draws is not None:
        kept: Draws = q.draws if len(q.draws.weights) <= n else q.draws.resampled(n)
        return kept.theta, kept.weights
    thetas, weights = [], []
    for part, share in zip(q.approximation.parts, q.approximation.part_weights, strict=True):
        half = part.sample(max(1, round(0.5 * n * share)), rng)
        thetas += [half, 2 * part.mean - half]
        weights.append(np.full(2 * len(half), share / (2 * len(half))))
    return np.concatenate(thetas), np.concatenate(weights)
