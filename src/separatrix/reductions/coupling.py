# SPDX-License-Identifier: BSD-3-Clause
"""K class probabilities from those of every pair of classes.                        Wu, Lin & Weng (2004)

Given r_ij = p(C_i | C_i or C_j, x), the second method of "Probability estimates for multi-class
classification by pairwise coupling" (JMLR 5, 975-1005) takes the p that comes nearest to r_ji p_i = r_ij p_j
for all pairs:

    minimise  Σ_i Σ_{j≠i} (r_ji p_i - r_ij p_j)²  = 2 p'Qp   subject to  Σ_i p_i = 1,  p >= 0
    Q_ii = Σ_{j≠i} r_ji²,   Q_ij = -r_ji r_ij

The solution has Qp = c1 with c = p'Qp >= 0, and p >= 0 of itself (their theorem 2). Adding 11'p = 1 to both
sides, (Q + 11') p = (1 + c) 1: one positive definite K x K system per row, and a division by the sum.

Q + 11' is positive definite whatever the r: v'(Q + 11')v = 0 needs r_ji v_i = r_ij v_j for every pair and
Σ v_i = 0, so two v of opposite sign, so r_ij = r_ji = 0 for those two; but r_ij + r_ji = 1.
"""

from __future__ import annotations

import numpy as np

from separatrix._array import Float

__all__ = ["couple", "pairs"]

SYSTEM_NUMBERS = 2**18  # numbers in the systems that are solved together: 2 MB of float64


def pairs(K: int) -> list[tuple[int, int]]:
    """(0, 1), (0, 2), ..., (K-2, K-1): the pairs of K classes, in the order used throughout."""
    return [(i, j) for i in range(K) for j in range(i + 1, K)]


def couple(r: Float, K: int) -> Float:
    """p (N, K) from r (N, K(K-1)/2), whose column for the pair (i, j) is the probability of j against i."""
    step = max(1, SYSTEM_NUMBERS // K**2)
    parts = [_couple_block(r[start : start + step], K) for start in range(0, len(r), step)]
    return np.concatenate(parts) if parts else np.empty((0, K))


def _couple_block(r: Float, K: int) -> Float:
    i, j = np.transpose(pairs(K))
    R = np.zeros((len(r), K, K))
    R[:, j, i], R[:, i, j] = r, 1 - r
    Q = -R * R.transpose(0, 2, 1)
    Q[:, range(K), range(K)] = np.square(R).sum(axis=1)
    p = np.linalg.solve(Q + 1.0, np.ones((len(r), K, 1)))[..., 0]
    p = np.maximum(p, 0.0)  # p >= 0 but for rounding
    return np.asarray(p / p.sum(axis=1, keepdims=True))
