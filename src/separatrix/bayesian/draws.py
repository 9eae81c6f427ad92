# SPDX-License-Identifier: BSD-3-Clause
"""Weighted draws of the weights, which describe a posterior that is not Gaussian: E[f] = Σ_s weight_s f(θ_s)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from sklearn.utils import gen_batches

from separatrix._array import Float, Rows
from separatrix.likelihoods import ClassLikelihood
from separatrix.rows import Block
from separatrix.stats import Design

MAX_DRAW_ACTIVATIONS = 2**18  # activations in memory at once
# Average error of probabilities and bounds, and largest error of bounds, up to which a Gaussian predicts instead of the
# draws: it takes a hundredth of the time.
NEGLIGIBLE_ERROR, NEGLIGIBLE_LARGE_ERROR = 0.005, 0.05
LARGE_ERROR_LEVEL = 0.99  # quantile of the errors of rows that is reported


@dataclass(frozen=True, eq=False)
class Draws:
    """Parameters θ (S, C, P) and their weights (S,), which sum to one: E[f] = Σ_s weight_s f(θ_s).

    The draws of ``n_chains`` independent chains alternate. If it is 0, all draws are independent. Intervals are
    quantiles of the draws; unless ``for_averages``, probabilities are averages over a Gaussian, which is as accurate.
    """

    theta: Float
    weights: Float
    n_chains: int = 0
    for_averages: bool = True

    @property
    def mean(self) -> Float:
        """Weighted mean of the draws, Σ_s weight_s θ_s, (C, P)."""
        return np.asarray(np.einsum("s,scp->cp", self.weights, self.theta))

    @property
    def covariance(self) -> Float:
        """Covariance of all weights, (CP, CP)."""
        away = (self.theta - self.mean).reshape(len(self.theta), -1)
        return np.asarray((away * self.weights[:, None]).T @ away)

    def quantiles(self, levels: Float) -> Float:
        """Return quantiles of each parameter, (levels, C, P)."""
        return np.moveaxis(weighted_quantiles(np.moveaxis(self.theta, 0, -1), self.weights, levels), -1, 0)

    def activation_moments(self, X: Rows, design: Design) -> tuple[Float, Float]:
        """Return mean and variance of the activations of rows, (n,) or (n, C)."""
        found = []
        for A in self._activations(X, design):
            mean = np.einsum("s,ns...->n...", self.weights, A)
            found.append((mean, np.einsum("s,ns...->n...", self.weights, (A - mean[:, None]) ** 2)))
        means, variances = zip(*found, strict=True)
        return np.concatenate(means), np.concatenate(variances)

    def probability_quantiles(self, X: Rows, design: Design, likelihood: ClassLikelihood, levels: Float) -> Float:
        """Return quantiles of p(t | x, θ): (n, levels) for class 1 of two, or (n, K, levels)."""
        if self.theta.shape[1] == 1:  # the probability increases with the activation
            found = [weighted_quantiles(A, self.weights, levels) for A in self._activations(X, design)]
            return likelihood.probability(np.concatenate(found).ravel()).reshape(-1, len(levels))
        parts = self._probabilities(X, design, likelihood)
        return np.concatenate([weighted_quantiles(np.moveaxis(P, 1, -1), self.weights, levels) for P in parts])

    def probability(self, X: Rows, design: Design, likelihood: ClassLikelihood) -> Float:
        """Return the average Σ_s weight_s p(t | x, θ_s): (n,) for class 1 of two, or (n, K)."""
        parts = self._probabilities(X, design, likelihood)
        averages = np.concatenate([np.einsum("s,ns...->n...", self.weights, P) for P in parts])
        return np.asarray(np.minimum(averages, 1.0))  # the weights sum to one up to rounding

    def probability_and_error(self, X: Rows, design: Design, likelihood: ClassLikelihood) -> tuple[Float, Float]:
        """Return the average probabilities, and their standard errors if the draws or the chains are independent."""
        found = []
        for P in self._probabilities(X, design, likelihood):
            mean, weights, each = np.einsum("s,ns...->n...", self.weights, P), self.weights, P
            if self.n_chains:  # the mean of a chain is one draw
                each = P.reshape(len(P), -1, self.n_chains, *P.shape[2:]).mean(axis=1)
                weights = np.full(self.n_chains, (self.n_chains * (self.n_chains - 1.0)) ** -0.5)
            found.append((mean, np.sqrt(np.einsum("s,ns...->n...", weights**2, (each - mean[:, None]) ** 2))))
        means, errors = zip(*found, strict=True)
        return np.concatenate(means), np.concatenate(errors)

    def _probabilities(self, X: Rows, design: Design, likelihood: ClassLikelihood) -> Iterator[Float]:
        """Yield p(t | x, θ_s), (n, S) or (n, S, K), for a few rows at a time."""
        for A in self._activations(X, design):
            yield likelihood.probability(A.reshape(-1, *A.shape[2:])).reshape(A.shape)

    def _activations(self, X: Rows, design: Design) -> Iterator[Float]:
        """Yield activations (n, S) or (n, S, C) for a few rows at a time."""
        S, C = self.theta.shape[:2]
        for rows in gen_batches(X.shape[0], max(1, MAX_DRAW_ACTIVATIONS // (S * C))):
            yield activations_of_draws(Block(X[rows], None, None, range(rows.start, rows.stop)), self.theta, design)

    def resampled(self, n: int) -> Draws:
        """Return n draws with equal weights: each draw about n weight_s times, in the order of the weights."""
        order = np.argsort(-self.weights, kind="stable")
        chosen = np.searchsorted(np.cumsum(self.weights[order]), (np.arange(n) + 0.5) / n)
        theta = self.theta[order[np.minimum(chosen, len(order) - 1)]]
        return replace(self, theta=theta, weights=np.full(n, 1 / n), n_chains=0)


def weighted_quantiles(values: Float, weights: Float, levels: Float) -> Float:
    """Return quantiles (..., levels) of values (..., S) with weights (S,), by cumulative weights of sorted values."""
    if weights.min() == weights.max():
        return quantiles(np.array(values, order="C"), levels)
    flat = values.reshape(-1, values.shape[-1])
    order = np.argsort(flat, axis=1, kind="stable")
    reached = np.cumsum(weights[order], axis=1) - 0.5 * weights[order]
    ordered = np.take_along_axis(flat, order, axis=1)
    found = np.stack([np.interp(levels, r, x) for r, x in zip(reached, ordered, strict=True)])
    return found.reshape(*values.shape[:-1], len(levels))


def quantiles(values: Float, levels: Float) -> Float:
    """Return quantiles (..., levels) of values (..., S) with equal weights. The values are sorted in place.

    They are those of `weighted_quantiles`, ten times faster: NumPy sorts with vector instructions, but not indices.
    """
    S = values.shape[-1]
    position = np.clip(levels * S - 0.5, 0, S - 1)
    low = np.floor(position).astype(np.intp)
    high = np.minimum(low + 1, S - 1)
    values.sort(axis=-1)
    return np.asarray(values[..., low] + (position - low) * (values[..., high] - values[..., low]))


def activations_of_draws(block: Block, theta: Float, design: Design) -> Float:
    """Return the activation of every row for every draw: (n, S), or (n, S, C)."""
    S, C, P = theta.shape
    A = design.activate(replace(block, offset=None), theta.reshape(S * C, P)).reshape(len(block), S, C)
    if block.offset is not None:
        A += block.offset[:, None, None]
    return A[:, :, 0] if C == 1 else A


@dataclass(frozen=True)
class Errors:
    """Errors of probabilities that are due to the approximation, as estimated by draws; NaN if unknown.

    They are the ``average``, the ``largest`` of 99 % of the rows, and the same for the ``bounds`` of 95 % intervals.
    """

    average: float = float("nan")
    largest: float = float("nan")
    bounds: float = float("nan")
    largest_bounds: float = float("nan")

    @property
    def are_negligible(self) -> bool:
        """Whether a Gaussian predicts as well as the draws."""
        return max(self.average, self.bounds) <= NEGLIGIBLE_ERROR and self.largest_bounds <= NEGLIGIBLE_LARGE_ERROR

    @classmethod
    def of(cls, sizes: Float, bounds: Float, n_kinds: int) -> Errors:
        """Return the larger errors of ``n_kinds`` kinds of rows, from those of each probability and bound."""
        found = list[float]()
        for each in (sizes, bounds):
            parts = np.split(each.reshape(len(each), -1), n_kinds)
            found += [float(max(part.mean() for part in parts))]
            found += [float(max(np.quantile(part.max(axis=1), LARGE_ERROR_LEVEL) for part in parts))]
        return cls(*found)
