# SPDX-License-Identifier: BSD-3-Clause
"""p(t = k | a) = e^a_k / Σ_j e^a_j.                                                     PRML §4.3.4

    ln p = Σ_k t_k a_k - ln Σ_j e^a_j,    slope t - p  (4.109),    curvature diag p - p p'  (4.110)

Targets are codes 0 .. K-1, or rows (n, K) of probabilities. The slope of the observed class is computed as the sum s of
the other probabilities instead of 1 - p_t, and ln p_t as ln(1 - s) if s is small. Both are precise if p_t is nearly 1.

Arrays (n, K) are stored as the transposes of arrays (K, n). K is small, so loops over the n entries of a class are five
times as fast as loops over the K entries of a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from separatrix._array import Array
from separatrix.likelihoods.base import Covariances, Derivatives

MIN_SINGLE_EXPONENT = np.float32(-69.0)  # ln 1e-30, far from the subnormal numbers of single precision


class SoftmaxProbabilities:
    """Probabilities of K true classes, given one activation per class."""

    __slots__ = ()

    def safe_curvature(self, a: Array, t: Array) -> Covariances:
        """diag p - p p', the curvature of ln p if t is the true class. With noisy labels, it is the bound of EM."""
        return Covariances(self.probability(a))

    def probability(self, a: Array) -> Array:
        """p(true class k | a), (n, K)."""
        return probabilities(below_largest(a))[0].T

    def probabilities(self, a: Array) -> Array:
        """p(true class k | a), (n, K)."""
        return self.probability(a)

    def log_probabilities(self, a: Array) -> Array:
        """ln p(true class k | a), (n, K)."""
        return log_probabilities(a)


@dataclass(frozen=True, slots=True)
class Softmax(SoftmaxProbabilities):
    """Categorical targets with the canonical link; one activation per class.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.likelihoods import Softmax
    >>> log_p, slope, curvature = Softmax(3).derivatives(np.array([[40.0, 0.0, 0.0]]), np.array([0]))
    >>> log_p, slope
    (array([-8.49670851e-18]), array([[ 8.49670851e-18, -4.24835426e-18, -4.24835426e-18]]))
    """

    n_outputs: int
    is_log_concave: ClassVar[bool] = True

    def derivatives(self, a: Array, t: Array) -> Derivatives:
        """ln p, t - p, and diag p - p p'."""
        below = below_largest(a)
        if t.ndim == 2:  # soft targets; ln p is precise up to the rounding error of 1 - p
            T = t.T.astype(a.dtype, copy=False)
            log_p = np.einsum("kn,kn->n", T, below)
            P, total = probabilities(below)
            log_p -= np.log(total)  # Σ_k t_k = 1
            return Derivatives(log_p, (T - P).T, Covariances(P.T))
        at_t = t, np.arange(len(t))
        named = below[at_t]
        P, total = probabilities(below)
        slope = np.negative(P)
        slope[at_t] = 0.0
        other = -slope.sum(axis=0)  # 1 - p_t
        slope[at_t] = other
        return Derivatives(log_of(other, named - np.log(total)), slope.T, Covariances(P.T))  # (4.109), (4.110)


def below_largest(a: Array) -> Array:
    """a_k - max_j a_j as a new array (K, n)."""
    below = np.array(a.T, order="C")
    below -= below.max(axis=0)
    return below


def probabilities(below: Array) -> tuple[Array, Array]:
    """p_k = e^a_k / Σ_j e^a_j (K, n), and the sums (n,), from the result of `below_largest`, which is overwritten.

    In single precision, e^-88 and less are subnormal numbers, with which some processors compute a hundred times as
    slowly. Probabilities below 1e-30 are therefore replaced by about 1e-30.
    """
    if below.dtype == np.float32:
        np.maximum(below, MIN_SINGLE_EXPONENT, out=below)
    P = np.exp(below, out=below)
    total = P.sum(axis=0)
    P /= total
    return P, total


def log_probabilities(a: Array) -> Array:
    """ln p_k (n, K), by ln Σ_j e^(a_j - max a) = ln(1 + the other terms)."""
    below = below_largest(a)
    E = np.exp(below)
    E[below.argmax(axis=0), np.arange(len(a))] = 0.0
    below -= np.log1p(E.sum(axis=0))
    return below.T


def log_of(other: Array, log_p: Array) -> Array:
    """ln p computed from 1 - p if p > ½, otherwise as given."""
    return np.where(other < 0.5, np.log1p(-np.minimum(other, 0.5)), log_p)
