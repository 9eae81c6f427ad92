# SPDX-License-Identifier: BSD-3-Clause
"""The widest margin: the point of a convex hull that is nearest to the origin.

For rows z_n = t_n φ_n, max_{|w| = 1} min_n w'z_n is the distance of conv{z_n} from the origin, and w points at the
nearest point p. Non-negative least squares finds it: min |Z'λ|² + (Σλ - 1)² over λ >= 0 is attained at λ ∝ the weights
of p, because scaling λ trades the two terms without turning p.

With a free bias the two hulls of the classes take the place of one hull. Giving every row a last coordinate B t_n makes
the weights of both classes equal as B grows (the error is of order (R/B)²), and then Z'λ is half the shortest vector
between the hulls.

Rows join a small working set only where they are nearer than p: a few rounds, however many rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from separatrix._array import Array, Codes, Float

__all__ = ["Margin", "Novikoff", "novikoff", "widest_margin"]

BIAS = 1e4  # the coordinate of the bias, in units of the radius
GAP = 1e-6  # the largest relative distance accepted between a margin and the bound that proves it


class Margin(NamedTuple):
    """The maximum-margin hyperplane w'x + w0 = 0 with |w| = 1, and its margin γ = min_n t_n (w'x_n + w0)."""

    w: Float
    w0: float
    margin: float


class Novikoff(NamedTuple):
    """γ and R of the perceptron's rows, and (R/γ)², which its mistakes cannot exceed."""

    margin: float
    radius: float
    bound: float


def novikoff(X: Array, t: Array, *, fit_intercept: bool = True) -> Novikoff:
    """γ = max_{|w|=1} min_n t_n w'φ_n over rows φ = (x, 1), or x alone. Rows must be separable."""
    Phi = np.column_stack([X, np.ones(len(X))]) if fit_intercept else np.asarray(X, dtype=np.float64)
    radius = float(np.sqrt(np.einsum("nm,nm->n", Phi, Phi).max()))
    Z = t[:, None] * Phi / radius
    p = Z.T @ _nearest(Z)
    margin = float((Z @ p).min() / np.linalg.norm(p))  # attained by p itself, so a bound in the safe direction
    _require_small_gap(margin, float(np.linalg.norm(p)))
    return Novikoff(margin * radius, radius, 1 / margin**2)


def widest_margin(X: Array, t: Array) -> Margin:
    """The maximum-margin hyperplane of two separable classes t = ±1, with a free bias."""
    origin = X.mean(axis=0)
    radius = float(np.sqrt(np.square(X - origin).sum(axis=1).max()))
    U = (X - origin) / radius
    weight = _nearest(np.column_stack([t[:, None] * U, BIAS * t]))
    upper, lower = t > 0, t < 0
    between = weight[upper] @ U[upper] / weight[upper].sum() - weight[lower] @ U[lower] / weight[lower].sum()
    w = between / np.linalg.norm(between)
    nearest, farthest = (U[upper] @ w).min(), (U[lower] @ w).max()
    margin = float(nearest - farthest) / 2
    _require_small_gap(margin, float(np.linalg.norm(between)) / 2)
    w0 = -radius * float(nearest + farthest) / 2 - w @ origin
    return Margin(w, float(w0), margin * radius)


def _nearest(Z: Float) -> Float:
    """Weights λ (n,) >= 0, Σλ = 1, of the point of conv{z_n} nearest to the origin."""
    from scipy.optimize import nnls

    inside: Codes = np.unique(np.concatenate([Z.argmin(axis=0), Z.argmax(axis=0)]))
    while True:
        A = np.vstack([Z[inside].T, np.ones(len(inside))])
        share, _ = nnls(A, np.append(np.zeros(Z.shape[1]), 1.0), maxiter=100 * len(inside))
        weight = np.zeros(len(Z))
        weight[inside] = share / share.sum()
        p = weight @ Z
        reach = Z @ p
        worse = np.flatnonzero(reach < (1 - 1e-10) * (p @ p))
        new = np.setdiff1d(worse[np.argsort(reach[worse])[: Z.shape[1] + 1]], inside)
        if not len(new):
            return weight
        inside = np.concatenate([inside, new])


def _require_small_gap(margin: float, bound: float) -> None:
    if not margin >= (1 - GAP) * bound:
        raise ArithmeticError(
            f"The margin {margin:.6g} could not be proved to be the widest (bound {bound:.6g}): it is too small next "
            "to the spread of the rows. Rescale the columns, or drop rows that almost coincide."
        )
