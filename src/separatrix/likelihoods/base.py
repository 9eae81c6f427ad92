# SPDX-License-Identifier: BSD-3-Clause
"""A likelihood p(t | a): ln p and its first two derivatives in the activation a, evaluated together.

All three need the same exponential, and slopes and curvatures computed separately would be inconsistent after rounding.
Results are accurate for every finite a, in the precision of a: float32 or float64.

With one activation per row (logit, probit, GLM families), slope and curvature are scalars, and a third derivative is
available. With K activations (softmax), they are a vector and a (K, K) matrix, which `Covariances` stores as factors.
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


class MeanDerivatives(NamedTuple):
    """Mean μ(a) of the target of each row, which is p(C_1 | a) for classes, and its derivatives μ' and μ'', (n,)."""

    mean: Array
    slope: Array
    bend: Array


@dataclass(frozen=True, eq=False, slots=True)
class Covariances:
    """For each row the (K, K) matrix diag p - p p' of a categorical variable, minus diag q - q q' if q is given.

    It is the curvature of a softmax, or of a softmax with noisy labels; then q is the posterior of the true class.
    """

    p: Array
    q: Array | None = None

    def block(self, j: int, k: int) -> Array:
        """Entry (j, k) of every row's matrix, (n,)."""
        entry = _covariance_entry(self.p, j, k)
        return entry if self.q is None else entry - _covariance_entry(self.q, j, k)

    def dot(self, A: Array) -> Array:
        """Product of each row's matrix with the same row of A (n, K)."""
        product = _covariance_dot(self.p, A)
        return product if self.q is None else product - _covariance_dot(self.q, A)


def _covariance_entry(p: Array, j: int, k: int) -> Array:
    if j != k:
        return np.asarray(-p[:, j] * p[:, k])
    return np.asarray(p[:, k] * np.delete(p, k, axis=1).sum(axis=1))  # a sum, because 1 - p_k cancels


def _covariance_dot(p: Array, A: Array) -> Array:
    return np.asarray(p * (A - np.einsum("nk,nk->n", p, A)[:, None]))


class Likelihood(Protocol):
    """p(t | a) with ``n_outputs`` activations per row: 1, or K for K classes."""

    @property
    def n_outputs(self) -> int:
        """Number of activations per row."""

    @property
    def is_log_concave(self) -> bool:
        """Whether the curvature is never negative, so that a Newton direction always lowers -ln p."""

    def derivatives(self, a: Array, t: Array) -> Derivatives:
        """ln p(t | a), slope and curvature for every row."""

    def safe_curvature(self, a: Array, t: Array) -> Any:
        """A curvature that is never negative: exact if ln p is concave, otherwise its expectation or a bound."""


class LogConcave:
    """Base class of log-concave likelihoods with one activation per row."""

    __slots__ = ()

    n_outputs: ClassVar[int] = 1
    is_log_concave: ClassVar[bool] = True

    def derivatives(self, a: Array, t: Array) -> Derivatives:
        """ln p(t | a), slope and curvature for every row."""
        raise NotImplementedError

    def safe_curvature(self, a: Array, t: Array) -> Array:
        """The exact curvature, which is never negative."""
        return np.asarray(self.derivatives(a, t).curvature)

    def mean_derivatives(self, a: Array) -> MeanDerivatives:
        """p(t = 1 | a) and its derivatives in a, from those of ln p: p' = p (ln p)', p'' = p [(ln p)'² + (ln p)'']."""
        log_p, slope, curvature = self.derivatives(a, np.ones(len(a), dtype=np.intp))
        p = np.exp(log_p)
        return MeanDerivatives(p, p * slope, p * (slope**2 - curvature))

    def probabilities(self, a: Array) -> Array:
        """p(C_0 | a) and p(C_1 | a), (n, 2), if the targets are classes."""
        return np.exp(self.log_probabilities(a))

    def log_probabilities(self, a: Array) -> Array:
        """ln p of the targets 0 and 1, (n, 2), if the targets are classes."""
        targets = (np.zeros(len(a), dtype=np.intp), np.ones(len(a), dtype=np.intp))
        return np.stack([self.derivatives(a, t).log_p for t in targets], axis=1)


class ScalarLikelihood(Likelihood, Protocol):
    """p(t | a) with one activation per row."""

    def skew(self, a: Array, t: Array) -> Array:
        """-∂³ ln p/∂a³, the derivative of the curvature. Evidence gradients and checks of a Laplace fit use it."""

    def mean_derivatives(self, a: Array) -> MeanDerivatives:
        """Mean of the target and its first two derivatives in a. Effects and their standard errors use it."""


class ClassLikelihood(Likelihood, Protocol):
    """A likelihood of classes. `LogConcave` derives the probabilities of two classes from ``derivatives``."""

    def probability(self, a: Array) -> Array:
        """p(C_1 | a) (n,) for one activation per row; p(C_k | a) (n, K) for K activations."""

    def probabilities(self, a: Array) -> Array:
        """p(C_k | a), (n, K), of every class; each is precise even near 0."""

    def log_probabilities(self, a: Array) -> Array:
        """ln p(C_k | a), (n, K), precise even below -700 and near 0."""
