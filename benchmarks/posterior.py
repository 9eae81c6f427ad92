# SPDX-License-Identifier: BSD-3-Clause
"""The objective of the discriminative models and its gradient in float64, independent of any measured library.

E(W, w0) = -Σ_n ln p(t_n | a_n) + ½ alpha |W|²,   a_n = W x_n + w0,   with no penalty on w0

    logit      p(C_1 | a) = σ(a)                PRML (4.87)
    probit     p(C_1 | a) = Φ(a)                PRML (4.116)
    softmax    p(C_k | a) = e^a_k / Σ_j e^a_j   PRML (4.104)

Two values are reported for a gradient: its largest component per row, max |∂E/∂W, ∂E/∂w0| / N, which is the criterion
of solvers that do not standardise columns; and the same with each ∂E/∂W_km divided by the standard deviation of
column m, which does not depend on the units of the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit, log_ndtr, log_softmax

from benchmarks.problems import Data, row_blocks

__all__ = ["Gradient", "LogPosterior", "logistic_hessian", "logit", "probit", "softmax"]

Float = NDArray[np.float64]
Codes = NDArray[np.intp]
Likelihood = Callable[[Float, Codes], tuple[Float, Float]]

LOG_2PI = np.log(2 * np.pi)


@dataclass(frozen=True)
class Gradient:
    """Largest component per row, before and after division by the standard deviation of its column."""

    largest: float
    per_deviation: float


def logit(a: Float, y: Codes) -> tuple[Float, Float]:
    """ln p(t | a) (n,) and its derivative in a (n, 1)."""
    sign = 2.0 * y[:, None] - 1.0
    return -np.logaddexp(0.0, -sign * a)[:, 0], sign * expit(-sign * a)


def probit(a: Float, y: Codes) -> tuple[Float, Float]:
    """ln p(t | a) (n,) and its derivative in a (n, 1): N(m) / Φ(m) at the margin m."""
    sign = 2.0 * y[:, None] - 1.0
    log_p = log_ndtr(sign * a)
    return log_p[:, 0], sign * np.exp(-0.5 * (a**2 + LOG_2PI) - log_p)


def softmax(a: Float, y: Codes) -> tuple[Float, Float]:
    """ln p(t | a) (n,) and its derivatives in a (n, K)."""
    log_p, rows = log_softmax(a, axis=1), np.arange(len(y))
    slope = -np.exp(log_p)
    slope[rows, y] += 1.0
    return log_p[rows, y], slope


@dataclass(frozen=True)
class LogPosterior:
    """Negative log posterior E for a likelihood and a prior of precision ``alpha``."""

    likelihood: Likelihood
    alpha: float

    def value(self, data: Data, W: Float, w0: Float) -> float:
        """E(W, w0)."""
        log_p = sum(float(self.likelihood(a, y)[0].sum()) for a, y, _ in _blocks(data, W, w0))
        return 0.5 * self.alpha * float(np.square(W).sum()) - log_p

    def gradient(self, data: Data, W: Float, w0: Float) -> Gradient:
        """Size of the gradient of E at (W, w0)."""
        by_weight, by_bias = self.derivatives(data, W, w0)
        n, bias = len(data.y), float(np.abs(by_bias).max())
        return Gradient(
            max(float(np.abs(by_weight).max()), bias) / n, max(float(np.abs(by_weight / data.spread).max()), bias) / n
        )

    def derivatives(self, data: Data, W: Float, w0: Float) -> tuple[Float, Float]:
        """∂E/∂W and ∂E/∂w0."""
        by_weight, by_bias = self.alpha * W, np.zeros_like(w0, dtype=np.float64)
        for a, y, X in _blocks(data, W, w0):
            slope = self.likelihood(a, y)[1]
            by_weight = by_weight - (X.T @ slope).T
            by_bias = by_bias - slope.sum(axis=0)
        return by_weight, by_bias


def logistic_hessian(data: Data, W: Float, w0: Float, alpha: float) -> Float:
    """Σ_n p_n (1 - p_n) x̃_n x̃_n' + alpha, (M + 1, M + 1): second derivatives of E in (W, w0), PRML (4.97)."""
    H = np.diag(np.append(np.full(W.shape[1], alpha), 0.0))
    for a, _, X in _blocks(data, W, w0):
        Z = np.column_stack([X.toarray() if sparse.issparse(X) else X, np.ones(len(a))])
        H += Z.T @ (expit(a) * expit(-a) * Z)
    return H


def _blocks(data: Data, W: Float, w0: Float) -> Iterator[tuple[Float, Codes, Any]]:
    """Activations (n, C), classes and rows, block by block."""
    for rows in row_blocks(len(data.y)):
        X = data.X[rows].astype(np.float64)
        yield np.asarray(X @ W.T + w0), data.y[rows], X
