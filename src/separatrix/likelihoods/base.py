# SPDX-License-Identifier: BSD-3-Clause
"""What a likelihood p(t | a) is here: ln p and its first two derivatives in the activation a, evaluated together.

Together, because one exponential serves all three, and because a slope and a curvature that were computed apart do not
belong to the same function once rounding has its say. Everything is right for every finite a, and comes in the
precision of a: float32 or float64.

One activation per row (logit, probit, GLM families) gives numbers, and a third derivative where it is asked for;
K activations per row (softmax) give vectors and a small matrix per row, which `Covariances` keeps as its factors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from separatrix._array import Array

__all__ = ["ClassLikelihood", "Covariances", "Derivatives", "Likelihood", "ScalarLikelihood"]


class Derivatives(NamedTuple):
    """For each row: ln p(t | a), its slope ∂ ln p/∂a, and its curvature -∂² ln p/∂a∂a'.

    ``log_p`` is (n,). With one activation per row the others are (n,) too; with K, the slope is (n, K) and the
    curvature a `Covariances`.
    """

    log_p: Array
    slope: Array
    curvature: Any


@dataclass(frozen=True, eq=False, slots=True)
class Covariances:
    """For each row the (K, K) matrix diag p - p p' of a categorical variable, less diag q - q q' where there is a q.

    The curvature of a softmax (p alone), and of one seen through noisy labels (q is the posterior of the true class).
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
    return np.asarray(p[:, k] * np.delete(p, k, axis=1).sum(axis=1))  # the rest, and not 1 - p_k, which cancels


def _covariance_dot(p: Array, A: Array) -> Array:
    return np.asarray(p * (A - np.einsum("nk,nk->n", p, A)[:, None]))


class Likelihood(Protocol):
    """p(t | a). ``n_outputs`` activations per row: 1, or K for K classes."""

    @property
    def n_outputs(self) -> int:
        """Activations per row."""

    @property
    def is_log_concave(self) -> bool:
        """Whether the curvature is never negative, so that a Newton step is always one of descent."""

    def derivatives(self, a: Array, t: Array) -> Derivatives:
        """ln p(t | a), slope and curvature for every row."""

    def safe_curvature(self, a: Array, t: Array) -> Any:
        """A curvature that is never negative: the exact one where ln p is concave, else the expected one or a bound."""


class ScalarLikelihood(Likelihood, Protocol):
    """p(t | a) with one activation per row."""

    def skew(self, a: Array, t: Array) -> Array:
        """-∂³ ln p/∂a³, how the curvature changes with a: for gradients of the evidence, and to check a Laplace fit."""


class ClassLikelihood(Likelihood, Protocol):
    """A likelihood of classes."""

    def probability(self, a: Array) -> Array:
        """p(C_1 | a) (n,) of one activation per row, or p(C_k | a) (n, K) of K."""

    def log_probability(self, a: Array) -> Array:
        """Its logarithm, which has digits left where the probability has none: below 1e-308, and beside 1."""
