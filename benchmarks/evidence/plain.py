# SPDX-License-Identifier: BSD-3-Clause
"""The grid of log evidences as one writes it down at first: a loop over cells, and nothing shared between them.

For each width and variance: the functions of all rows, the mode by L-BFGS from a random start, the Hessian as a sum of
outer products row by row, its determinant. That is the textbook, equation by equation, and what this library is
measured against: the same numbers, from NumPy and SciPy alone.                                    PRML (4.137), (4.143)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

__all__ = ["log_evidence"]

Float = NDArray[np.float64]


def log_evidence(
    X: Float, t: NDArray[np.intp], width: float, scale: float, intercept_scale: float, rng: np.random.Generator
) -> float:
    """Laplace's ln p(D) with a radial function on every row and N(0, scale²) on their weights."""
    distance = ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)
    Phi = np.column_stack([np.exp(-0.5 * distance / width**2), np.ones(len(X))])
    alpha = np.append(np.full(len(X), scale**-2.0), intercept_scale**-2.0)
    sign = 2 * t - 1

    def objective(w: Float) -> tuple[float, Float]:
        margin = sign * (Phi @ w)
        value = np.logaddexp(0, -margin).sum() + 0.5 * (alpha * w**2).sum()
        return float(value), -Phi.T @ (sign * special.expit(-margin)) + alpha * w

    start = 0.01 * rng.standard_normal(Phi.shape[1])
    found = optimize.minimize(objective, start, jac=True, method="L-BFGS-B")
    p = special.expit(Phi @ found.x)
    hess = np.diag(alpha)
    for n in range(len(Phi)):  # PRML (4.143)
        hess += p[n] * (1 - p[n]) * np.outer(Phi[n], Phi[n])
    return float(-found.fun + 0.5 * np.log(alpha).sum() - 0.5 * np.linalg.slogdet(hess)[1])
