# SPDX-License-Identifier: BSD-3-Clause
"""Missing values under a normal distribution: marginalise them, or expect them.

Let o be the columns of a row that were seen. The marginal of N(μ, Σ) is N(μ_o, Σ_oo), and given x_o the whole row has

    E[x] = μ + Σ_·o Σ_oo⁻¹ (x_o - μ_o),        cov[x] = Σ - Σ_·o Σ_oo⁻¹ Σ_o·                        PRML (2.81, 2.82)

With P = Σ_oo⁻¹ padded by zeros to (M, M), and z = x - μ with zeros where nothing was seen, these are μ + Σ P z and
Σ - Σ P Σ, and the squared distance is z'Pz. Rows with the same pattern of gaps share P, and the P of all patterns come
out of one batched Cholesky factorisation: no loop over rows or patterns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from separatrix._array import Array, Codes, Float

__all__ = ["Completed", "Marginal", "complete", "marginal"]

CHUNK_BYTES = 2**24  # of padded precisions at a time


class Marginal(NamedTuple):
    """For each row, over the columns seen: z'Pz, ln |Σ_oo| and the number of columns."""

    squared_distance: Float
    log_det: Float
    n_seen: Float


class Completed(NamedTuple):
    """Rows with gaps filled by their expectation, and Σ_n r_n cov[x_n]."""

    X: Float
    covariance: Float


class _Chunk(NamedTuple):
    """Rows that share some patterns, and the padded precision of each row's pattern."""

    rows: Codes
    P: Float  # (patterns, M, M)
    log_det: Float  # (patterns,)
    pattern: Codes  # of each row


def marginal(X: Array, mean: Float, Sigma: Float) -> Marginal:
    """Distances and determinants under N(mean, Sigma) restricted to what was seen."""
    seen = ~np.isnan(X)
    Z = np.where(seen, X - mean, 0.0)
    squared, log_det = np.empty(len(X)), np.empty(len(X))
    for chunk in _chunks(seen, Sigma):
        z = Z[chunk.rows]
        squared[chunk.rows] = np.einsum("nm,nm->n", _times(z, chunk), z)
        log_det[chunk.rows] = chunk.log_det[chunk.pattern]
    return Marginal(squared, log_det, seen.sum(axis=1).astype(np.float64))


def complete(X: Array, mean: Float, Sigma: Float, weight: Float) -> Completed:
    """Expected rows, and the weighted sum of their conditional covariances."""
    seen = ~np.isnan(X)
    Z = np.where(seen, X - mean, 0.0)
    filled = np.empty(X.shape)
    precision = np.zeros_like(Sigma)
    for chunk in _chunks(seen, Sigma):
        filled[chunk.rows] = mean + _times(Z[chunk.rows], chunk) @ Sigma
        share = np.bincount(chunk.pattern, weight[chunk.rows], minlength=len(chunk.P))
        precision += np.tensordot(share, chunk.P, axes=1)
    return Completed(np.where(seen, X, filled), weight.sum() * Sigma - Sigma @ precision @ Sigma)


def _times(z: Float, chunk: _Chunk) -> Float:
    """P z for each row, with its own P."""
    return np.asarray((z[:, None, :] @ chunk.P[chunk.pattern])[:, 0, :])


def _chunks(seen: Array, Sigma: Float) -> Iterator[_Chunk]:
    """Rows grouped by pattern, a bounded number of patterns at a time."""
    packed = np.packbits(seen, axis=1)
    _, first, pattern = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    pattern = pattern.ravel()
    order = np.argsort(pattern, kind="stable")
    step = max(1, CHUNK_BYTES // Sigma.nbytes)
    for low in range(0, len(first), step):
        rows = order[np.searchsorted(pattern[order], low) : np.searchsorted(pattern[order], low + step)]
        P, log_det = _precisions(seen[first[low : low + step]], Sigma)
        yield _Chunk(rows, P, log_det, pattern[rows] - low)


def _precisions(seen: Array, Sigma: Float) -> tuple[Float, Float]:
    """Padded Σ_oo⁻¹ and ln |Σ_oo| for each pattern (U, M), in correlation units so that any units will do."""
    scale = np.sqrt(np.diag(Sigma))
    C = Sigma / np.outer(scale, scale)
    both = seen[:, :, None] & seen[:, None, :]
    L = np.linalg.cholesky(np.where(both, C, np.eye(len(C))))  # a column not seen is a unit by itself
    inverse = np.linalg.inv(L)
    P = np.where(both, inverse.transpose(0, 2, 1) @ inverse, 0.0) / np.outer(scale, scale)
    log_det = 2 * np.log(np.einsum("umm->um", L)).sum(axis=1) + 2 * (seen @ np.log(scale))
    return P, log_det
