# SPDX-License-Identifier: BSD-3-Clause
"""A likelihood p(t | a): ln p and its first two derivatives in the activation a, evaluated together.

Together, because all three need the same exponential, and because a slope and a curvature computed separately would be
inconsistent after rounding. Results are accurate for every finite a, in the precision of a: float32 or float64.

One activation per row (logit, probit, GLM families) gives numbers, and on request a third derivative; K activations per
row (softmax) give a vector and a small matrix per row, which `Covariances` keeps as its factors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from separatrix._array import Array


class Derivatives(NamedTuple):
    """For each row: ln p(t | a), its slope ∂ ln p/∂a, and its curvature -∂² ln p/∂a∂a'.

    ``log_p`` is (n,). With one activation per row, slope and curvature are (n,) too; with K, the slope is (n, K) and
    the curvature a `Covariances`.
    """

    log_p: Array
    slope: Array
    curvature: Any


@dataclass(frozen=True, eq=False, slots=True)
class Covariances:
    """For each row the (K, K) matrix diag p - p p' of a categorical variable, minus diag q - q q' if q is given.

    Curvature of a softmax (p alone), or of a softmax with noisy labels (q is the posterior of the true class).
    """

    p: Array
    q: Array | None = None

    def block(self, j: int, k: int) -> Array:
        """Entry (j, k) of every row's matrix, (n,)."""
        entry = _covariance_entry(self.p, j, k)
        return entry if self.q is None else entry - _covariance_entry(self.q, j, k)

    def dot(self, A: Array) -> Array:
        """Each row's matrix times that row of A (n, K)."""
        product = _covariance_dot(self.p, A)
        return product if self.q is None else product - _covariance_dot(self.q, A)


def _covariance_entry(p: Array, j: int, k: int) -> Array:
    if j != k:
        return np.asarray(-p[:, j] * p[:, k])
    return np.asarray(p[:, k] * np.delete(p, k, axis=1).sum(axis=1))  # the sum of the others, because 1 - p_k cancels


def _covariance_dot(p: Array, A: Array) -> Array:
    return np.asarray(p * (A - np.einsum("nk,nk->n", p, A)[:, None]))


class Likelihood(Protocol):
    """p(t | a). ``n_outputs`` activations per row: 1, or K for K classes."""

    @property
    def n_outputs(self) -> int:
        """Activations per row."""

    @property
    def is_log_concave(self) -> bool:
        """Whether the curvature is never negative, so that a Newton step always leads down."""

    def derivatives(self, a: Array, t: Array) -> Derivatives:
        """ln p(t | a), slope and curvature for every row."""

    def safe_curvature(self, a: Array, t: Array) -> Any:
        """A curvature that is never negative: exact if ln p is concave, otherwise the expected one or a bound."""


class LogConcave:
    """Base of log-concave likelihoods with one activation per row: their curvature is never negative."""

    __slots__ = ()

    n_outputs: ClassVar[int] = 1
    is_log_concave: ClassVar[bool] = True

    def derivatives(self, a: Array, t: Array) -> Derivatives:
        """ln p(t | a), slope and curvature for every row."""
        raise NotImplementedError

    def safe_curvature(self, a: Array, t: Array) -> Array:
        """The curvature itself."""
        return np.asarray(self.derivatives(a, t).curvature)


class ScalarLikelihood(Likelihood, Protocol):
    """p(t | a) with one activation per row."""

    def skew(self, a: Array, t: Array) -> Array:
        """-∂³ ln p/∂a³, the derivative of the curvature: for gradients of the evidence, and to check a Laplace fit."""


class ClassLikelihood(Likelihood, Protocol):
    """A likelihood of classes."""

    def probability(self, a: Array) -> Array:
        """p(C_1 | a) (n,) for one activation per row, or p(C_k | a) (n, K) for K."""

    def log_probability(self, a: Array) -> Array:
        """Logarithm of the probability, precise even below 1e-308 and near 1."""
