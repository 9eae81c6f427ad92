# SPDX-License-Identifier: BSD-3-Clause
"""Sparse rows of counts: sums and densities from the entries that are stored.

Bernoulli, Poisson, exponential and multinomial columns have u(x) = x and ln h(0) = 0, so a zero adds nothing to

    Σ_n R_nk u(x_n),   Σ_n R_nk ln h(x_n),   ln p(x_n | C_k) = η_k'x_n - A(η_k) + ln h(x_n).

For other families a few sparse rows at a time are made dense.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import gammaln

from separatrix._array import Array, Float, Rows, is_sparse, to_dense
from separatrix.families import Sums, weigh

__all__ = ["COUNTS", "all_counts", "dense_chunks", "natural", "sparse_log_density", "sparse_sums"]

COUNTS = ("bernoulli", "poisson", "exponential", "multinomial")
CHUNK_BYTES = 2**24


def sparse_sums(family: str, x: Any, R: Float) -> Sums:
    """n, Σx and Σ ln h(x), for CSR rows and responsibilities R (n, K)."""
    n, total = R.sum(axis=0), np.asarray((x.T @ R).T)
    if family == "multinomial":
        return Sums(n, total, R.T @ _log_h(family, x))
    logs = _mapped(x, -gammaln(x.data + 1.0) if family == "poisson" else np.zeros_like(x.data))
    return Sums(np.tile(n[:, None], x.shape[1]), total[..., None], np.asarray((logs.T @ R).T))


def sparse_log_density(family: str, density: Any, x: Any) -> Float:
    """Σ_d ln p(x_nd | class k), (n, K), for a distribution of a family in `COUNTS`."""
    eta, A = natural(family, density)
    return np.asarray(weigh(x, eta) - A.sum(axis=1) + _log_h(family, x)[:, None])


def natural(family: str, density: Any) -> tuple[Float, Float]:
    """η and A (K, D) of a family in `COUNTS`; ln μ of a multinomial is normalised, so its A is zero."""
    if family == "multinomial":
        return density.log_probability, np.zeros_like(density.log_probability)
    return density.natural[..., 0], density.log_normaliser


def _log_h(family: str, x: Any) -> Float:
    """Σ_d ln h(x_nd) of each row."""
    if family not in ("poisson", "multinomial"):
        return np.zeros(x.shape[0])
    total = -np.asarray(_mapped(x, gammaln(x.data + 1.0)).sum(axis=1)).ravel()
    if family == "multinomial":
        total += gammaln(np.asarray(x.sum(axis=1)).ravel() + 1.0)
    return total


def _mapped(x: Any, data: Array) -> Any:
    """The same places with other entries."""
    return type(x)((data, x.indices, x.indptr), shape=x.shape)


def all_counts(family: str, x: Rows) -> bool:
    """A fast yes where every value is in the support of the family; no means: look closer."""
    values = x.data if is_sparse(x) else x
    if family == "bernoulli":
        return bool(((values == 0) | (values == 1)).all())
    fine = (values >= 0) & np.isfinite(values)
    return bool((fine if family == "exponential" else fine & (values == np.floor(values))).all())


def dense_chunks(x: Rows) -> Iterator[tuple[slice, Array]]:
    """Rows as they are; sparse ones made dense, a bounded number at a time."""
    n = x.shape[0]
    step = max(1, CHUNK_BYTES // (8 * x.shape[1])) if is_sparse(x) else max(n, 1)
    for start in range(0, n, step):
        rows = slice(start, start + step)
        yield rows, np.asarray(to_dense(x[rows]))
