# SPDX-License-Identifier: BSD-3-Clause
"""Weighted draws of θ: what any distribution over models says, as a sum over models.

    E[f] = Σ_s weight_s f(θ_s),        ln p(D | θ_s) = Σ_n weight_n ln p(t_n | θ_s φ̃_n)

Predictions average the probability of each draw, with no Gaussian in between. The log likelihood of all draws is a sum
over rows: one pass, two products of a block with the draws for each output.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from separatrix._array import Float, Rows
from separatrix.likelihoods import ClassLikelihood, Likelihood
from separatrix.rows import Block
from separatrix.solvers import Posterior
from separatrix.stats import Design

__all__ = ["Draws", "log_likelihoods"]

NUMBERS = 1 << 18  # activations that are held at once


@dataclass(frozen=True, eq=False)
class Draws:
    """Parameters θ (S, C, P) and their weights (S,), which sum to one."""

    theta: Float
    weights: Float

    def __len__(self) -> int:
        return len(self.theta)

    @property
    def mean(self) -> Float:
        """Σ_s weight_s θ_s, (C, P)."""
        return np.asarray(np.einsum("s,scp->cp", self.weights, self.theta))

    @property
    def covariance(self) -> Float:
        """Of all weights, (CP, CP)."""
        away = (self.theta - self.mean).reshape(len(self), -1)
        return np.asarray((away * self.weights[:, None]).T @ away)

    def quantiles(self, levels: Float) -> Float:
        """Of each parameter, (levels, C, P): where the sum of the weights of smaller draws reaches the level."""
        flat = self.theta.reshape(len(self), -1)
        order = np.argsort(flat, axis=0, kind="stable")
        reached = np.cumsum(self.weights[order], axis=0) - 0.5 * self.weights[order]
        sorted_ = np.take_along_axis(flat, order, axis=0)
        found = np.stack([np.interp(levels, r, x) for r, x in zip(reached.T, sorted_.T, strict=True)], axis=-1)
        return found.reshape(len(levels), *self.theta.shape[1:])

    def probability(self, X: Rows, design: Design, likelihood: ClassLikelihood, offset: Float | None = None) -> Float:
        """Σ_s weight_s p(t | x, θ_s): (n,) of class 1, or (n, K)."""
        C = self.theta.shape[1]
        p = np.empty((X.shape[0],) if C == 1 else (X.shape[0], C))
        step = max(1, NUMBERS // (len(self) * C))
        for start in range(0, len(p), step):
            rows = slice(start, start + step)
            known = None if offset is None else offset[rows]
            block = Block(X[rows], None, None, range(start, min(start + step, len(p))), known)
            p[rows] = self._average(_activations(block, self.theta, design), likelihood)
        return p

    def _average(self, A: Float, likelihood: ClassLikelihood) -> Float:
        n, S = A.shape[:2]
        P = likelihood.probability(A.reshape(n * S, *A.shape[2:])).reshape(A.shape)
        return np.asarray(np.einsum("s,ns...->n...", self.weights, P))


@dataclass(frozen=True, slots=True)
class _Sums:
    """A number for each draw."""

    value: Float

    def __add__(self, other: _Sums) -> _Sums:
        return _Sums(self.value + other.value)


def log_likelihoods(objective: Posterior, theta: Float) -> Float:
    """ln p(D | θ_s) of draws θ (S, C, P), (S,): one pass."""
    at = partial(_log_likelihoods, theta=theta, likelihood=objective.likelihood, design=objective.design)
    return objective.source.reduce(at).value


def _log_likelihoods(block: Block, theta: Float, likelihood: Likelihood, design: Design) -> _Sums:
    S, C = theta.shape[:2]
    total = np.zeros(S)
    step = max(1, NUMBERS // (S * C))
    for start in range(0, len(block), step):
        rows = block.take(np.arange(start, min(start + step, len(block))))
        A = _activations(rows, theta, design)
        t = np.repeat(rows.codes, S, axis=0)
        log_p = likelihood.derivatives(A.reshape(len(t), *A.shape[2:]), t).log_p.reshape(len(rows), S)
        total += log_p.sum(axis=0) if rows.weight is None else rows.weight @ log_p
    return _Sums(total)


def _activations(block: Block, theta: Float, design: Design) -> Float:
    """Of every row under every draw: (n, S), or (n, S, C)."""
    S, C, P = theta.shape
    A = design.activate(replace(block, offset=None), theta.reshape(S * C, P)).reshape(len(block), S, C)
    if block.offset is not None:
        A += block.offset[:, None, None]
    return A[:, :, 0] if C == 1 else A
