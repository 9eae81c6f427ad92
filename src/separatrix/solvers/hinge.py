# SPDX-License-Identifier: BSD-3-Clause
"""Is there a b with G b > 0, or a proof that there is none? Newton's method on the squared hinge answers both.

    min ½ |r|² + ½ μ |b|²,   r = max(0, 1 - G b),   for ever smaller μ

takes milliseconds where a linear program takes seconds, and ends after finitely many steps (Mangasarian 2002). Either
r < 1, and b is a direction; or G'r = 0, and r >= 0 proves that there is none, since G b > 0 would make r'G b > 0.

**Collinear columns.** Columns that agree to ten digits, as wide radial basis functions do, make the simplex method
cycle, and G'G has no digits left of them. So the same is also done in the coordinates of G = U S V',

    G b = Q e,   Q = U q,   q² = S²/(S² + μ),   μ |b|² = e'(1 - q²) e,

in which the Hessian of all rows is Q'Q + 1 - q² = 1, whatever the columns.

**Rows on the plane.** G b >= 0 with some row > 0 is the same question asked again and again. The rows T with r > 0 in a
proof have G_T b = 0 for every b with G b >= 0, because Σ r_n g_n'b = 0 is a sum of terms that are not negative. So b
is sought among the directions that leave T in place, and of the other rows those count that still move. Every round
takes at least one dimension: in the end some b moves all that are left to their side, or none is left.

Work is limited by the processor time of the thread, ``until`` it reads so much: a busy machine changes no answer.
"""

from __future__ import annotations

from collections.abc import Callable
from time import thread_time
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from separatrix._array import Array, Float, is_sparse

__all__ = ["Hinge", "UndecidedError", "gap_or_proof", "leaves_only_zero", "packed", "squared_hinge", "strict_direction"]

EPS = np.finfo(np.float64).eps
RIDGES = 10.0 ** np.array([-3, -5, -7, -9, -11, -13])  # μ / n; the first ones keep b well inside where there is room
FINE_RIDGES = 10.0 ** np.arange(-3, -21, -2, dtype=float)  # in coordinates that can tell them from rounding
NEWTON_STEPS = 20
FINE_STEPS = 100
STRONG = 1e-3  # a residual beside the largest that takes part in a proof
SHARP = 1e-13  # |G'r| / Σ r that is rounding: no proof is better
STILL = 1e-6  # rows that no b of length 1 moves further than this are on the plane


class UndecidedError(ArithmeticError):
    """Neither a direction nor a proof: the answer is within what rounding leaves of the rows, or out of reach."""


class Hinge(NamedTuple):
    """b, and r = max(0, 1 - G b)."""

    b: Float
    r: Float


def squared_hinge(G: Any, *, until: float = np.inf) -> Hinge:
    """min ½ |r|² + ½ μ |b|² for ever smaller μ: the first b with G b > 0, or else the last."""
    G = packed(G)
    here = Hinge(np.zeros(G.shape[1]), np.ones(G.shape[0]))
    for mu in G.shape[0] * RIDGES:

        def target(active: Array, mu: float = mu) -> Float:
            return _ridge(G[active], mu)

        here = _newton(G, here, np.full(G.shape[1], mu), target, NEWTON_STEPS, until)
        if here.r.max() < 1:
            break
    return here


def gap_or_proof(G: Float, least: float, *, until: float = np.inf) -> Hinge:
    """The same where columns are collinear, with an answer: G b >= ``least`` |b|, or |G'r| <= ``least`` Σ r.

    The second is a proof that the first cannot be had, and is made as sharp as rounding lets it. `UndecidedError` where
    neither comes out.
    """
    U, S, Vt = linalg.svd(G, full_matrices=False)
    kept = EPS * max(G.shape) * S[0] < S
    U, S, Vt = U[:, kept], S[kept], Vt[kept]
    b, proof, sharpest = np.zeros(G.shape[1]), None, least
    for mu in G.shape[0] * FINE_RIDGES:
        b, r = _orthonormal_step(U, S, Vt, b, mu, until)
        if (G @ b).min() >= least * np.linalg.norm(b) > 0:
            return Hinge(b, np.maximum(0.0, 1 - G @ b))
        residual = float(np.linalg.norm(G.T @ r)) / r.sum()
        if residual <= sharpest:
            proof, sharpest = Hinge(b, r), residual
        if sharpest <= SHARP:
            break
    if proof is None:
        raise UndecidedError(f"{G.shape[0]} rows of rank {len(S)} have no gap of {least:.1e}, and no proof of that.")
    return proof


def _orthonormal_step(U: Float, S: Float, Vt: Float, b: Float, mu: float, until: float) -> Hinge:
    """The minimum for one μ, from that for another."""
    length = np.hypot(S, np.sqrt(mu))
    Q, rest = U * (S / length), mu / length**2
    e = length * (Vt @ b)

    def target(active: Array) -> Float:
        A = Q[active]
        return _solve(A.T @ A, rest, A.sum(axis=0))

    e, r = _newton(Q, Hinge(e, np.maximum(0.0, 1 - Q @ e)), rest, target, FINE_STEPS, until)
    return Hinge(Vt.T @ (e / length), r)


def strict_direction(G: Any, least: float, slack: float, *, until: float = np.inf) -> Float | None:
    """A b of length 1 with G b >= ``least`` in all rows but those that no such b moves; None where that is every row.

    Rows that keep within ``slack`` of the plane are on it.
    """
    H: Float = G.toarray() if is_sparse(G) else G
    V = np.eye(H.shape[1])
    while len(moving := np.flatnonzero(np.linalg.norm(H, axis=1) > max(least, slack))):
        A = H[moving]
        b, r = gap_or_proof(A, least, until=until)
        if (A @ b).min() > 0:
            return np.asarray(V @ b / np.linalg.norm(b))
        bound = max(np.linalg.norm(A.T @ r) / STILL, 1e-9 * r.max())
        free = _directions_that_leave(A[r >= min(bound, r.max())], slack)
        V, H = V @ free, H @ free
    return None


def _directions_that_leave(T: Float, slack: float) -> Float:
    """An orthonormal basis (P, ·) of the directions that move rows T together by no more than slack."""
    _, S, Vt = linalg.svd(T)
    return np.asarray(Vt[np.count_nonzero(max(slack, EPS * S[0]) < S) :].T)


def leaves_only_zero(G: Any, r: Float, least: float) -> bool:
    """Whether r proves that G b >= -least has no solution of length max |b_d| = 1.

    One would have Σ r_n |g_n'b| <= |G'r|₁ + 2 least Σ r_n, and so, over the rows S with large r,
    1 <= |b| <= |S b| / σ_min(S) would be small.
    """
    strong = r > STRONG * r.max()
    if strong.sum() < G.shape[1]:
        return False
    S = packed(G[strong])
    gram = S.T @ S
    smallest = linalg.eigvalsh(gram.toarray() if is_sparse(gram) else gram, subset_by_index=[0, 0])[0]
    smallest -= 1e-12 * gram.trace()  # its rounding
    return bool(np.abs(G.T @ r).sum() + 2 * least * r.sum() < r[strong].min() * np.sqrt(max(smallest, 0.0)))


def packed(G: Any) -> Any:
    """Dense where that is faster."""
    return G.toarray() if is_sparse(G) and G.nnz > 0.1 * G.shape[0] * G.shape[1] else G


def _newton(G: Any, here: Hinge, ridge: Float, target: Callable[[Array], Float], most: int, until: float) -> Hinge:
    """Newton's method for one ridge (P,). A full step that changes no sign of r has reached the minimum."""
    for _ in range(most):
        active = here.r > 0
        if not active.any():
            break
        if thread_time() > until:
            raise UndecidedError(
                f"The time allowed was up with neither a direction nor a proof for {len(active)} rows."
            )
        b = target(active)
        step = b - here.b
        a, change = G @ here.b, G @ step
        r = np.maximum(0.0, 1 - a - change)
        if np.array_equal(r > 0, active):
            return Hinge(b, r)
        h = _lowest(1 - a, change, float((ridge * here.b) @ step), float((ridge * step) @ step))
        if h <= 0:
            break
        here = Hinge(here.b + h * step, np.maximum(0.0, 1 - a - h * change))
    return here


def _lowest(left: Float, change: Float, slope: float, curvature: float) -> float:
    """The h that minimises ½ Σ max(0, left - h change)² + slope h + ½ curvature h².

    The derivative rises along a broken line, whose corners are where a row reaches its margin. Halving steps instead
    takes hundreds of them where columns are collinear.
    """

    def derivative(h: float) -> float:
        return float(slope + h * curvature - np.maximum(0.0, left - h * change) @ change)

    crosses = (left > 0) == (change > 0)
    corners = np.sort(left[crosses & (change != 0)] / change[crosses & (change != 0)])
    low, high = 0, len(corners)
    while low < high:  # the first corner where the derivative is not negative
        middle = (low + high) // 2
        low, high = (low, middle) if derivative(corners[middle]) >= 0 else (middle + 1, high)
    h0 = float(corners[low - 1]) if low else 0.0
    h1 = float(corners[low]) if low < len(corners) else 2 * h0 + 1
    d0, d1 = derivative(h0), derivative(h1)
    return h0 - d0 * (h1 - h0) / (d1 - d0) if d1 > d0 else h0


def _ridge(G: Any, mu: float) -> Float:
    """(G'G + μ)⁻¹ G'1, through the smaller of G'G and G G'."""
    ones = np.ones(G.shape[0])
    if G.shape[0] < G.shape[1]:
        return np.asarray(G.T @ _solve(G @ G.T, np.full(G.shape[0], mu), ones))
    return _solve(G.T @ G, np.full(G.shape[1], mu), G.T @ ones)


def _solve(gram: Any, ridge: Float, right: Float) -> Float:
    """(gram + ridge)⁻¹ right; with a larger ridge where rounding has swallowed this one."""
    gram = gram.toarray() if is_sparse(gram) else gram
    while True:
        try:
            factor = linalg.cho_factor(gram + np.diag(ridge))
        except linalg.LinAlgError:
            ridge = np.maximum(100 * ridge, EPS * float(gram.trace()))
        else:
            return np.asarray(linalg.cho_solve(factor, right))
