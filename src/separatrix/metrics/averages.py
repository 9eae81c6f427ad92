# SPDX-License-Identifier: BSD-3-Clause
"""Figures that are a mean over rows: log-likelihood, accuracy, Brier score, and shares of a confusion matrix."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from separatrix._array import Float, bincount
from separatrix.metrics.sample import Estimate, Sample, checked, weighted_mean

__all__ = ["Confusion", "accuracy", "brier", "confusion", "log_likelihood", "log_likelihoods"]


class Confusion(NamedTuple):
    """How rows of each class (rows) were decided (columns), (K, K): shares that sum to one along a row."""

    share: Float
    standard_error: Float


def log_likelihoods(P: Any, codes: Any) -> Float:
    """ln P_nt of each row, (N,): -inf where what came true had been given probability zero."""
    sample = checked(P, codes, None)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(_of_truth(sample)))


def log_likelihood(P: Any, codes: Any, weight: Any = None) -> Estimate:
    """Mean log-likelihood (1/W) Σ_n weight_n ln P_nt, in nats; minus the log-loss. Larger is better.

    Examples
    --------
    >>> log_likelihood([[0.5, 0.5], [0.2, 0.8]], [0, 1]).value
    -0.458...
    >>> log_likelihood([[1.0, 0.0], [0.2, 0.8]], [1, 1]).value
    -inf
    """
    sample = checked(P, codes, weight)
    with np.errstate(divide="ignore"):
        return weighted_mean(np.log(_of_truth(sample)), sample.weight)


def accuracy(P: Any, codes: Any, weight: Any = None) -> Estimate:
    """Share of the rows whose most probable class came true; of equal probabilities the first counts.

    Examples
    --------
    >>> accuracy([[0.5, 0.5], [0.2, 0.8], [0.9, 0.1]], [0, 1, 1]).value
    0.666...
    """
    sample = checked(P, codes, weight)
    return weighted_mean(sample.P.argmax(axis=1) == sample.codes, sample.weight)


def brier(P: Any, codes: Any, weight: Any = None) -> Estimate:
    """Brier score (1/W) Σ_n weight_n ½ Σ_k (P_nk - T_nk)², from 0 to 1. Smaller is better.

    With the factor ½ it is the mean of (p - t)² for two classes. For more, many authors leave the factor out.

    Examples
    --------
    >>> brier([[0.5, 0.5], [0.2, 0.8]], [0, 1]).value
    0.145
    """
    sample = checked(P, codes, weight)
    gap = sample.P.copy()
    gap[np.arange(len(gap)), sample.codes] -= 1.0
    return weighted_mean(0.5 * np.einsum("nk,nk->n", gap, gap), sample.weight)


def confusion(P: Any, codes: Any, weight: Any = None) -> Confusion:
    """Row-normalised confusion matrix: how rows of each class are decided, for the most probable class.

    NaN for a class that does not occur. Standard errors are sqrt(s (1 - s) / (W_k - 1)).

    Examples
    --------
    >>> confusion([[0.5, 0.5], [0.2, 0.8], [0.9, 0.1]], [0, 1, 1]).share
    array([[1. , 0. ],
           [0.5, 0.5]])
    """
    sample = checked(P, codes, weight)
    K = sample.P.shape[1]
    count = bincount(K * sample.codes + sample.P.argmax(axis=1), sample.weight, K * K).reshape(K, K)
    total = count.sum(axis=1, keepdims=True)
    share = np.divide(count, total, out=np.full((K, K), np.nan), where=total > 0)
    spread = np.broadcast_to(total - 1, (K, K))
    variance = np.divide(share * (1 - share), spread, out=np.full((K, K), np.nan), where=spread > 0)
    return Confusion(share, np.sqrt(variance))


def _of_truth(sample: Sample) -> Float:
    return np.asarray(sample.P[np.arange(len(sample.P)), sample.codes])
