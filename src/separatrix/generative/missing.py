# SPDX-License-Identifier: BSD-3-Clause
"""Missing values under a normal distribution: marginalise them, or expect them.

Let o be the columns of a row that were seen. The marginal of N(μ, Σ) is N(μ_o, Σ_oo), and given x_o the whole row has

    E[x] = μ + Σ_·o Σ_oo⁻¹ (x_o - μ_o),        cov[x] = Σ - Σ_·o Σ_oo⁻¹ Σ_o·                        PRML (2.81, 2.82)

With P = Σ_oo⁻¹ padded by zeros to (M, M), and z = x - μ with zeros where nothing was seen, these are μ + Σ P z and
Σ - Σ P Σ, and the squared distance is z'Pz. Rows are grouped by their pattern of gaps, and each pattern is factorised
once, in a compiled loop; the rest are products over all rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from separatrix._array import Array, Codes, Float

__all__ = ["Conditioned", "condition", "patterns"]


class Conditioned(NamedTuple):
    """What the seen part of each row says about the whole.

    ``squared_distance`` z'Pz, ``log_det`` ln |Σ_oo| and ``n_seen`` are those of the marginal; ``X`` has the gaps filled
    by their expectation, and ``covariance`` is Σ_n weight_n cov[x_n].
    """

    squared_distance: Float
    log_det: Float
    n_seen: Float
    X: Float
    covariance: Float


def condition(X: Array, mean: Float, Sigma: Float, weight: Float | None = None) -> Conditioned:
    """Rows X (n, M) with NaN for gaps, under N(mean, Sigma). Works in correlation units, so any units will do."""
    from separatrix.generative._kernels import sweep_patterns

    seen = ~np.isnan(X)
    weight = np.zeros(len(X)) if weight is None else weight
    scale = np.sqrt(np.diag(Sigma))
    C = Sigma / np.outer(scale, scale)
    Z = np.where(seen, (X - mean) / scale, 0.0)
    G, precision = np.zeros(X.shape), np.zeros_like(C)
    squared, log_det = np.zeros(len(X)), np.zeros(len(X))
    order, is_new = patterns(seen)
    sweep_patterns(Z, seen, order, is_new, weight, C, G, squared, log_det, precision)
    filled = np.where(seen, X, mean + scale * (G @ C))
    covariance = np.outer(scale, scale) * (weight.sum() * C - C @ precision @ C)
    return Conditioned(
        squared, log_det + 2 * (seen @ np.log(scale)), seen.sum(axis=1).astype(float), filled, covariance
    )


def patterns(seen: Array) -> tuple[Codes, Array]:
    """The rows, those of one pattern after another, and where in that order a pattern begins."""
    packed = np.packbits(seen, axis=1)
    key = np.ascontiguousarray(packed).view([("", packed.dtype)] * packed.shape[1]).ravel()
    order = np.argsort(key, kind="stable")
    ordered = packed[order]
    is_new = np.ones(len(seen), dtype=bool)
    is_new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    return order, is_new
