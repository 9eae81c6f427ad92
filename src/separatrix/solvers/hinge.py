# SPDX-License-Identifier: BSD-3-Clause
"""Directions b with G b > 0, or G b >= 0, or proofs that there are none, by Newton's method on a squared hinge.

    min ½ |r|² + ½ μ |b - c|²,   r = max(0, m - G b),   for ever smaller μ

takes milliseconds where a linear program takes seconds, and ends after finitely many steps (Mangasarian 2002). At the
minimum G'r = μ (b - c).

**A gap**, m = 1 and c = 0. Either r < 1, and b is a direction; or G'r = 0, and r >= 0 proves that there is none, since
G b > 0 would make r'G b > 0.

**A direction with rows on the plane**, m = 0 and c a positive sum of rows. b tends to the point of the cone G b >= 0
that is nearest to c. Either it is not zero, and b is a direction, for c'b = |b|² > 0 moves some row; or it is zero, and
c + G'λ = 0 with λ = r/μ >= 0 proves that c'b = 0 in all of the cone, so that no row moves. Any λ >= 0 is a proof that
no b of length 1 moves the rows by more than c'b = |c + G'λ|, rounded or not.

**Collinear columns.** Columns that agree to ten digits, as wide radial basis functions do, make the simplex method
cycle, and G'G has no digits left of them. So the same is also done in the coordinates of G = U S V',

    G b = Q e,   Q = U q,   q² = S²/(S² + μ),   μ |b|² = e'(1 - q²) e,

in which the Hessian of all rows is Q'Q + 1 - q² = 1, whatever the columns.

Work is limited by the processor time of the thread, ``until`` it reads so much: a busy machine changes no answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import thread_time
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from separatrix._array import Array, Float, is_sparse

__all__ = ["Hinge", "UndecidedError", "gap_or_proof", "leaves_only_zero", "nearest_in_cone", "packed", "squared_hinge"]

EPS = np.finfo(np.float64).eps
RIDGES = 10.0 ** np.array([-3, -5, -7, -9, -11, -13])  # μ / n; the first ones keep b well inside where there is room
FINE_RIDGES = 10.0 ** np.arange(-3, -25, -2, dtype=float)  # μ / σ², in coordinates that tell them from rounding
NEWTON_STEPS = 20
FINE_STEPS = 100
SMALL = 100_000  # entries of G up to which rows are tried one after the other
STRONG = 1e-3  # a residual beside the largest that takes part in a proof
SHARP = 1e-13  # a residual of a proof that is rounding: none is better
NEARLY = 10  # times a gap that counts: one that cannot be wider is none, if it was not found
COARSEST = 1e-6  # a move of all rows together, likewise: no tolerance is coarser


class UndecidedError(ArithmeticError):
    """Neither a direction nor a proof: the answer is within what rounding leaves of the rows, or out of reach."""


class Hinge(NamedTuple):
    """b, and r = max(0, m - G b)."""

    b: Float
    r: Float


def squared_hinge(G: Any, *, until: float = np.inf) -> Hinge:
    """A gap by G'G, where it has the digits: the first b with G b > 0, or else the last."""
    G = packed(G)
    here = Hinge(np.zeros(G.shape[1]), np.ones(G.shape[0]))
    for mu in G.shape[0] * RIDGES:

        def target(active: Array, mu: float = mu) -> Float:
            return _ridge(G[active], mu)

        problem = _Problem(G, 1.0, np.zeros(G.shape[1]), np.full(G.shape[1], mu), target)
        here = _newton(problem, here.b, NEWTON_STEPS, until)
        if here.r.max() < 1:
            break
    return here


def gap_or_proof(G: Float, least: float, *, until: float = np.inf) -> Hinge:
    """G b >= ``least`` |b|, or |G'r| no more than a few times ``least`` Σ r: no gap is wider than that.

    A proof is made as sharp as rounding lets it. `UndecidedError` where neither comes out.
    """
    proof, sharpest = None, NEARLY * least
    for _, b, r in _path(G, 1.0, np.zeros(G.shape[1]), until):
        if (G @ b).min() >= least * np.linalg.norm(b) > 0:
            return Hinge(b, np.maximum(0.0, 1 - G @ b))
        residual = float(np.linalg.norm(G.T @ r)) / r.sum()
        if residual <= sharpest:
            proof, sharpest = Hinge(b, r), residual
        if sharpest <= SHARP:
            break
    if proof is None:
        raise UndecidedError(f"{G.shape[0]} rows have no gap of {least:.1e}, and no proof of that.")
    return proof


def nearest_in_cone(G: Float, c: Float, least: float, *, until: float = np.inf) -> Float | None:
    """A b of length 1 with G b >= 0 that moves rows; None where c'b is proven to be less than 1e-6 |c|, and none found.

    What is on the wrong side by no more than a few times ``least``, beside the largest move, is on the plane.
    `UndecidedError` where neither comes out.
    """
    sharpest = np.inf
    if np.linalg.norm(c) <= SHARP:  # by itself a proof
        return None
    for mu, b, r in _path(G, 0.0, c, until):
        margins = G @ b
        if margins.min() >= -NEARLY * least * margins.max() and margins.max() > least * np.linalg.norm(b):
            return np.asarray(b / np.linalg.norm(b))
        sharpest = min(sharpest, float(np.linalg.norm(c + G.T @ (r / mu)) / np.linalg.norm(c)))
        if sharpest <= SHARP:
            break
    sharpest = min(sharpest, _by_active_set(G, c))
    if sharpest > COARSEST:
        raise UndecidedError(f"{G.shape[0]} rows move together by {sharpest:.1e} or less, but no direction does it.")
    return None


def _by_active_set(G: Float, c: Float) -> float:
    """|c + G'λ| / |c| for the best λ >= 0, one row after the other: slow, but with no μ that rounding has to bear."""
    from scipy.optimize import nnls

    if G.size > SMALL:
        return np.inf
    try:
        found = nnls(G.T, -c, maxiter=50 * len(G))[0]
    except RuntimeError:  # too many steps
        return np.inf
    return float(np.linalg.norm(c + G.T @ found) / np.linalg.norm(c))


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


@dataclass(frozen=True, eq=False, slots=True)
class _Problem:
    """min ½ |max(0, m - G b)|² + ½ (b - c)'diag(ridge)(b - c); ``target``: its minimum if just these rows had r > 0."""

    G: Any
    m: float
    c: Float
    ridge: Float
    target: Callable[[Array], Float]


def _path(G: Float, m: float, c: Float, until: float) -> Iterator[tuple[float, Float, Float]]:
    """μ, b and r for ever smaller μ, in orthonormal coordinates; what c has beside the rows is left out."""
    U, S, Vt = linalg.svd(G, full_matrices=False)
    kept = EPS * max(G.shape) * S[0] < S
    U, S, Vt = U[:, kept], S[kept], Vt[kept]
    b = c
    for mu in S[0] ** 2 * FINE_RIDGES:
        length = np.hypot(S, np.sqrt(mu))
        Q, rest, centre = U * (S / length), mu / length**2, length * (Vt @ c)

        def target(active: Array, Q: Float = Q, rest: Float = rest, centre: Float = centre) -> Float:
            A = Q[active]
            return _solve(A.T @ A, rest, m * A.sum(axis=0) + rest * centre)

        e, r = _newton(_Problem(Q, m, centre, rest, target), length * (Vt @ b), FINE_STEPS, until)
        b = Vt.T @ (e / length)
        yield float(mu), b, r


def _newton(problem: _Problem, b: Float, most: int, until: float) -> Hinge:
    """Newton's method. A full step that changes no sign of r has reached the minimum."""
    G, m, ridge = problem.G, problem.m, problem.ridge
    here = Hinge(b, np.maximum(0.0, m - G @ b))
    for _ in range(most):
        active = here.r > 0
        if not active.any() and m > 0:
            break
        if thread_time() > until:
            raise UndecidedError(
                f"The time allowed was up with neither a direction nor a proof for {len(active)} rows."
            )
        b = problem.target(active)
        step = b - here.b
        a, change = G @ here.b, G @ step
        r = np.maximum(0.0, m - a - change)
        if np.array_equal(r > 0, active):
            return Hinge(b, r)
        away = ridge * (here.b - problem.c)
        h = _lowest(m - a, change, float(away @ step), float((ridge * step) @ step))
        if h <= 0:
            break
        here = Hinge(here.b + h * step, np.maximum(0.0, m - a - h * change))
    return here


def _lowest(left: Float, change: Float, slope: float, curvature: float) -> float:
    """The h that minimises ½ Σ max(0, left - h change)² + slope h + ½ curvature h².

    The derivative rises along a broken line, whose corners are where a row reaches its margin. Halving steps instead
    takes hundreds of them where columns are collinear.
    """

    def derivative(h: float) -> float:
        return float(slope + h * curvature - np.maximum(0.0, left - h * change) @ change)

    crosses = ((left > 0) == (change > 0)) & (change != 0)
    corners = np.sort(left[crosses] / change[crosses])
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
