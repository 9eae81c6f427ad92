# SPDX-License-Identifier: BSD-3-Clause
"""p(x | C_k) for K normal classes, or Student t ones: densities, also of rows with gaps, and draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln

from separatrix._array import Array, Float, Rows, is_sparse, to_dense
from separatrix.generative.covariance import Covariance

__all__ = ["NormalClasses", "rows_with_gaps"]


def rows_with_gaps(X: Rows) -> Array:
    """Which rows have a NaN."""
    if not is_sparse(X):
        return np.asarray(np.isnan(X).any(axis=1))
    owner = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    gaps = np.zeros(X.shape[0], dtype=bool)
    gaps[owner[np.isnan(X.data)]] = True
    return gaps


@dataclass(frozen=True)
class NormalClasses:
    """p(x | C_k) for K classes: normal, or Student t where ``freedom`` is finite.

    ``covariance`` has one entry, shared, or K. For a Student t it is the scale matrix of class k divided by
    ``widening[k]``.
    """

    mean: Float
    covariance: tuple[Covariance, ...]
    freedom: Float  # (K,); inf for normal
    widening: Float  # (K,); 1 for normal

    def log_density(self, X: Rows) -> Float:
        """ln p(x | C_k), (n, K); rows with gaps by the marginal of what was seen."""
        gaps = rows_with_gaps(X)
        answer = np.empty((X.shape[0], len(self.mean)))
        if gaps.any():
            answer[gaps] = self._log_density_seen(np.asarray(to_dense(X[gaps]), dtype=np.float64))
            answer[~gaps] = self.log_density(X[~gaps])
            return answer
        for k, mean in enumerate(self.mean):
            Sigma = self.of_class(k)
            answer[:, k] = self.density_at(k, Sigma.squared_distance(X, mean), Sigma.log_det, float(len(mean)))
        return answer

    def _log_density_seen(self, X: Array) -> Float:
        columns = []
        for k, mean in enumerate(self.mean):
            part = self.of_class(k).marginal(X, mean)
            columns.append(self.density_at(k, *part))
        return np.column_stack(columns)

    def density_at(self, k: int, squared: Float, log_det: Any, M: Any) -> Float:
        """Density at a squared distance, for M columns; the marginal of a Student t keeps its degrees of freedom."""
        nu, widening = self.freedom[k], self.widening[k]
        if np.isinf(nu):
            return np.asarray(-0.5 * (M * np.log(2 * np.pi) + log_det + squared))
        log_scale = log_det + M * np.log(widening)
        constant = gammaln((nu + M) / 2) - gammaln(nu / 2) - 0.5 * (M * np.log(nu * np.pi) + log_scale)
        return np.asarray(constant - 0.5 * (nu + M) * np.log1p(squared / (widening * nu)))

    def draw(self, k: int, size: int, rng: np.random.Generator) -> Float:
        """Rows of class k."""
        Z = self.of_class(k).draw(size, rng) * np.sqrt(self.widening[k])
        if np.isfinite(self.freedom[k]):
            Z /= np.sqrt(rng.chisquare(self.freedom[k], size) / self.freedom[k])[:, None]
        return np.asarray(self.mean[k] + Z)

    def of_class(self, k: int) -> Covariance:
        """Σ_k."""
        return self.covariance[k if len(self.covariance) > 1 else 0]
