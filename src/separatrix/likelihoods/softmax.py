# SPDX-License-Identifier: BSD-3-Clause
"""p(t = k | a) = e^a_k / Σ_j e^a_j.                                                     PRML §4.3.4

    ln p = Σ_k t_k a_k - ln Σ_j e^a_j,    slope t - p  (4.109),    curvature diag p - p p'  (4.110)

Targets are codes 0 .. K-1, or rows (n, K) of probabilities. The slope of the right class is the sum s of the other
probabilities and not 1 - p_t, and ln p_t is ln(1 - s) where s is small: both keep their digits where p_t is nearly one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix._array import Array
from separatrix.likelihoods.base import Covariances, Derivatives

__all__ = ["Softmax", "shares"]


def shares(A: Array) -> tuple[Array, Array]:
    """P with p_k = e^a_k / Σ_j e^a_j, and ln p (both (n, K)) up to the rounding of 1 - p."""
    below = A - A.max(axis=1, keepdims=True)
    P = np.exp(below)
    total = P.sum(axis=1, keepdims=True)
    P /= total
    below -= np.log(total)
    return P, below


@dataclass(frozen=True, slots=True)
class Softmax:
    """Categorical targets, canonical link, one activation per class."""

    n_outputs: int
    is_log_concave: bool = True

    def derivatives(self, a: Array, t: Array) -> Derivatives:
        """ln p, t - p, and diag p - p p'."""
        P, log_P = shares(a)
        if t.ndim == 2:
            return Derivatives(np.einsum("nk,nk->n", t, log_P), t - P, Covariances(P))
        rows = np.arange(len(t))
        slope = -P
        slope[rows, t] = 0.0
        doubt = -slope.sum(axis=1)  # 1 - p_t
        slope[rows, t] = doubt
        log_p = np.where(doubt < 0.5, np.log1p(-np.minimum(doubt, 0.5)), log_P[rows, t])
        return Derivatives(log_p, slope, Covariances(P))

    def safe_curvature(self, a: Array, t: Array) -> Covariances:
        """The curvature itself: ln p is concave."""
        return Covariances(shares(a)[0])

    def probability(self, a: Array) -> Array:
        """p(t = k | a), (n, K)."""
        return shares(a)[0]
