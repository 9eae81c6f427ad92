# SPDX-License-Identifier: BSD-3-Clause
"""Weighted draws of the weights, which describe a distribution that is not Gaussian: E[f] = Σ_s weight_s f(θ_s)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from sklearn.utils import gen_batches

from separatrix._array import Float, Rows, to_dense
from separatrix.likelihoods import ClassLikelihood
from separatrix.rows import Block
from separatrix.stats import Design
from separatrix.weights.approximation import with_bias
from separatrix.weights.marginals import Marginals, weighted_quantiles

MAX_DRAW_ACTIVATIONS = 2**18  # activations in memory at once


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

    def functions(self, Z: Rows, Q: Float) -> Marginals:
        """Return the distribution of the contrasts Q (k, C) of θ z, (n, k), for each row z of Z (n, P)."""
        return Marginals(self.weights, np.einsum("np,scp,kc->snk", to_dense(Z), self.theta, Q, optimize=True))

    def sample(self, n: int, rng: np.random.Generator) -> Float:
        """Return n of the draws, (n, C, P), each with the probability of its weight."""
        return self.theta[rng.choice(len(self.theta), n, p=self.weights)]

    def shifted(self, shift: Float) -> Draws:
        """Return the same draws with ``shift`` (C,) added to the bias."""
        return replace(self, theta=with_bias(self.theta, shift))

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


def activations_of_draws(block: Block, theta: Float, design: Design) -> Float:
    """Return the activation of every row for every draw: (n, S), or (n, S, C)."""
    S, C, P = theta.shape
    A = design.activate(replace(block, offset=None), theta.reshape(S * C, P)).reshape(len(block), S, C)
    if block.offset is not None:
        A += block.offset[:, None, None]
    return A[:, :, 0] if C == 1 else A
