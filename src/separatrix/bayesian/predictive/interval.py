# SPDX-License-Identifier: BSD-3-Clause
"""Credible intervals of class probabilities: how far p(C_k | x, w) varies with w over the posterior.

Two classes: the probability rises with the activation, so the quantiles of a ~ N(mu_a, var_a) map to its own, exactly.
K classes: each probability depends on all activations, and its quantiles are those over draws of the weights.
"""

from __future__ import annotations

import numpy as np

from separatrix._array import Array, Float
from separatrix.bayesian.posterior.approximation import Activations
from separatrix.likelihoods import ClassLikelihood

__all__ = ["N_DRAWS", "interval_of_classes", "interval_of_two"]

N_DRAWS = 2000  # for intervals of K classes
AT_ONCE = 2**20  # probabilities over those draws that are held at a time, 8 MB


def interval_of_two(likelihood: ClassLikelihood, a: Activations, z: Float) -> Array:
    """p(C_1) at the quantiles ``z`` of a standard normal, (n, 2)."""
    bounds = a.mean[:, None] + np.sqrt(a.cov)[:, None] * z
    return np.asarray(likelihood.probability(bounds.ravel()).reshape(bounds.shape))


def interval_of_classes(likelihood: ClassLikelihood, Phi: Array, theta: Float, tails: Float) -> Array:
    """Quantiles of p(C_k) over draws θ (K, P, S) of the weights, (n, K, 2), of a few rows φ̃ (n, P) at a time."""
    K, _, S = theta.shape
    few = max(1, AT_ONCE // (K * S))
    bounds = np.empty((len(Phi), K, 2))
    for start in range(0, len(Phi), few):
        A = Phi[start : start + few] @ theta  # (K, few, S)
        P = likelihood.probability(A.reshape(K, -1).T).T.reshape(A.shape)
        bounds[start : start + few] = np.moveaxis(_quantiles(P, tails), 0, 1)
    return bounds


def _quantiles(P: Float, shares: Float) -> Float:
    """As `numpy.quantile` over the last axis, the shares last; by selection, which is several times faster. Moves P."""
    place = shares * (P.shape[-1] - 1)
    low = np.floor(place).astype(np.intp)
    high = np.minimum(low + 1, P.shape[-1] - 1)
    P.partition(np.concatenate([low, high]), axis=-1)
    return np.asarray(P[..., low] + (place - low) * (P[..., high] - P[..., low]))
