# SPDX-License-Identifier: BSD-3-Clause
"""Directions b with G b > 0 or G b >= 0 for a few rows, or a proof that none exists. Entries of G are in [-1, 1].

Three linear programs, solved by HiGHS:

    widest margin    max δ        subject to   G b >= δ,  Σ |b_d| <= 1
    largest sum      max c'b      subject to   G b >= 0,    |b_d| <= 1
    fewest columns   min Σ |b_d|  subject to   G b >= h,    |b_d| <= 1

In the first and the third, b = b⁺ - b⁻ with b⁺, b⁻ >= 0 makes |b_d| linear. A linear program returns a direction with
few columns. But with hundreds of unknowns it takes minutes, and if columns are nearly collinear the simplex method
cycles. The first two problems are then solved by Newton's method on a squared hinge, which may return any direction,

    min ½ |r|² + ½ μ |b - c|²,   r = max(0, m - G b),   for a decreasing sequence of μ.

This takes milliseconds and finitely many steps (Mangasarian 2002). At the minimum G'r = μ (b - c).

- Widest margin (m = 1, c = 0): either r < 1 and b is a direction, or G'r = 0. Then r >= 0 is the proof that no
  direction exists, since G b > 0 would imply r'G b > 0.
- Largest sum (m = 0, c a positive sum of rows): b tends to the point of the cone G b >= 0 nearest to c. If b is not
  zero, it is a direction, because c'b = |b|² > 0, so some row has a positive margin. If b is zero, λ = r/μ >= 0 with
  c + G'λ = 0 proves that c'b = 0 in the whole cone. Any λ >= 0 proves c'b <= |c + G'λ| for every b of length 1.

For nearly collinear columns, such as wide radial basis functions, G'G is singular to rounding. The same problem is then
solved in the coordinates of G = U S V',

    G b = Q e,   Q = U q,   q² = S²/(S² + μ),   μ |b|² = e'(1 - q²) e,

in which the Hessian of all rows is Q'Q + 1 - q² = 1 for any columns. The limits are on the steps of HiGHS and on the
processor time of this thread, so that the result does not depend on the load of the machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from time import thread_time
from typing import Any

import numpy as np
from scipy import linalg, sparse

from separatrix._array import Array, Float, is_sparse

HIGHS_TOL = 1e-10  # the finest tolerance that HiGHS accepts
HIGHS_LIMIT_REACHED = 1  # status of scipy.optimize.linprog
MAX_STEPS_PER_SIDE = 3  # limit of simplex steps per row and column; most programs need less than one
MAX_PROGRAM_SECONDS = 10.0
MAX_PROGRAM_ENTRIES = 50_000  # entries of G, zeros included, above which the squared hinge is faster
INTERCEPT_COST = 1e-3  # cost of an intercept relative to a weight; prefers directions without intercept

RIDGES_PER_ROW = 10.0 ** np.array([-3, -5, -7, -9, -11, -13])  # μ / n
RIDGES_PER_SQUARE = 10.0 ** np.arange(-3, -25, -2, dtype=float)  # μ / σ², with the largest singular value σ
MAX_HINGE_STEPS, MAX_SVD_STEPS = 20, 100
EXACT_PROOF = 1e-13  # residual up to which a proof is exact except for rounding
TOLERANCES = 10  # a margin proven to be below this number of tolerances counts as none
MAX_ACTIVE_SET_ENTRIES = 100_000  # entries of G up to which an active-set method also searches for a proof
COARSEST_PROOF = 1e-6  # relative residual |c + G'λ|/|c| above which a proof is not accepted


class UndecidedError(ArithmeticError):
    """Neither a direction nor a proof was found: rounding hides the result, or the limits on work were reached."""


def find_margin(G: Any, is_weight: Array, least: float, *, until: float) -> Float | None:
    """Direction with |b_d| <= 1 and G b > 0; None if no direction has G b >= ``least``.

    A small problem maximises min G b; a large problem returns the first direction found.
    """
    n, P = G.shape
    if n * P < MAX_PROGRAM_ENTRIES:
        length = np.append(np.tile(is_weight, 2), 0.0)  # Σ |b_d| of the unknowns b⁺, b⁻ and δ
        A = sparse.vstack([sparse.hstack([-G, G, np.ones((n, 1))]), length[None]], format="csr")
        with suppress(UndecidedError):
            x = _linear_program(-np.eye(1, 2 * P + 1, 2 * P)[0], A, np.append(np.zeros(n), 1.0), (0.0, 1.0))
            return np.asarray(x[:P] - x[P:-1]) if x[-1] >= least else None
    else:
        rows = G.toarray() if is_sparse(G) and G.nnz > 0.1 * n * P else G
        b, r = np.zeros(P), np.ones(n)
        for mu in n * RIDGES_PER_ROW:
            b, r = _squared_hinge(rows, 1.0, np.zeros(P), mu, b, MAX_HINGE_STEPS, until)
            if r.max() < 1:
                break
        if np.abs(G.T @ r).sum() <= least * r.sum():
            return None
        if r.max() < 1:
            b = b / max(np.abs(b[is_weight]).sum(), np.abs(b).max())
            if (G @ b).min() >= least:
                return np.asarray(b)
    return margin_or_proof(G.toarray(), least, until)


def largest_sum(G: Any, c: Float, slack: float, least: float, *, until: float) -> Float | None:
    """Direction of max c'b with G b >= -slack and |b_d| <= 1; None if G b <= ``least`` for all b.

    If the linear program is too large, b is the direction nearest to c, and its sum may not be the largest.
    """
    if G.shape[0] * G.shape[1] < MAX_PROGRAM_ENTRIES:
        with suppress(UndecidedError):
            b = _linear_program(-c, -G, np.full(G.shape[0], slack), (-1.0, 1.0))
            return b if (G @ b).max() > least else None
    return nearest_in_cone(G.toarray(), c, least, until)


def furthest(G: Any, c: Float, slack: float, least: float) -> Float | None:
    """Direction of max c'b with G b >= -slack and |b_d| <= 1; None if c'b <= ``least`` Σ |c_d| for all b."""
    b = _linear_program(-c, -G, np.full(G.shape[0], slack), (-1.0, 1.0))
    return b if c @ b > least * np.abs(c).sum() else None


def fewest_columns(G: Any, h: Float, is_weight: Array, slack: float) -> Float | None:
    """Direction of min Σ |b_d| with G b >= h (if HiGHS fails, h - slack) and |b_d| <= 1; None if both fail."""
    P = G.shape[1]
    cost = np.tile(np.where(is_weight, 1.0, INTERCEPT_COST), 2)
    for room in (0.0, slack):
        try:
            x = _linear_program(cost, sparse.hstack([-G, G], format="csr"), room - h, (0.0, 1.0))
        except UndecidedError:
            continue
        return np.asarray(x[:P] - x[P:])
    return None


def _linear_program(cost: Float, A: Any, upper: Float, bounds: Any) -> Float:
    """Minimise cost'x subject to A x <= upper and the bounds; raise `UndecidedError` if HiGHS finds no solution."""
    from scipy.optimize import linprog

    options = {"primal_feasibility_tolerance": HIGHS_TOL, "dual_feasibility_tolerance": HIGHS_TOL}
    options |= {"maxiter": MAX_STEPS_PER_SIDE * sum(A.shape), "time_limit": MAX_PROGRAM_SECONDS}
    # If columns agree to nine digits, presolve reports that a program is infeasible although b = 0 is a solution.
    for method, presolve in (("highs", True), ("highs-ds", False)):
        result = linprog(cost, A, upper, bounds=bounds, method=method, options=options | {"presolve": presolve})
        if result.status == 0:
            return np.asarray(result.x)
        if result.status == HIGHS_LIMIT_REACHED:
            break
    raise UndecidedError(f"HiGHS did not solve a linear program of shape {A.shape}: {result.message}")


def margin_or_proof(G: Float, least: float, until: float) -> Float | None:
    """Return b of length 1 with G b >= ``least``, or None if it is proven that no margin is above 10 ``least``.

    The proof is a vector r >= 0 with |G'r| <= 10 ``least`` Σ r. Raises `UndecidedError` if neither is found.
    """
    smallest = np.inf
    for _, b, r in _path(G, 1.0, np.zeros(G.shape[1]), until):
        if (G @ b).min() >= least * np.linalg.norm(b) > 0:
            return np.asarray(b / np.linalg.norm(b))
        smallest = min(smallest, float(np.linalg.norm(G.T @ r)) / r.sum())
        if smallest <= EXACT_PROOF:
            break
    if smallest > TOLERANCES * least:
        raise UndecidedError(f"Could not decide whether {G.shape[0]} rows have a margin of {least:.1e}.")
    return None


def nearest_in_cone(G: Float, c: Float, least: float, until: float) -> Float | None:
    """b of length 1 with G b >= 0 and some G b > 0; None if none was found, and c'b < 1e-6 |c| for all b is proven.

    Margins above -10 ``least``, relative to the largest margin, count as zero. Raises `UndecidedError` if neither a
    direction nor a proof is found.
    """
    residual, length = np.inf, np.linalg.norm(c)
    if length <= EXACT_PROOF:  # c = 0 is a proof with λ = 0
        return None
    for mu, b, r in _path(G, 0.0, c, until):
        margins = G @ b
        if margins.min() >= -TOLERANCES * least * margins.max() and margins.max() > least * np.linalg.norm(b):
            return np.asarray(b / np.linalg.norm(b))
        residual = min(residual, float(np.linalg.norm(c + G.T @ (r / mu)) / length))
        if residual <= EXACT_PROOF:
            break
    if residual > COARSEST_PROOF and G.size <= MAX_ACTIVE_SET_ENTRIES:
        from scipy.optimize import nnls

        with suppress(RuntimeError):  # nnls raises it after too many steps
            # Slow, as rows enter λ one at a time, but without μ. It decides radial functions of several widths.
            residual = nnls(G.T, -c, maxiter=50 * len(G))[1] / length
    if residual > COARSEST_PROOF:
        raise UndecidedError(f"No direction was found for {G.shape[0]} rows, and no proof (residual {residual:.1e}).")
    return None


def _path(G: Float, m: float, c: Float, until: float) -> Iterator[tuple[float, Float, Float]]:
    """μ, b and r for decreasing μ, in the coordinates of the singular value decomposition of G."""
    U, S, Vt = linalg.svd(G, full_matrices=False)
    kept = np.finfo(float).eps * max(G.shape) * S[0] < S
    U, S, Vt = U[:, kept], S[kept], Vt[kept]
    b = c
    for mu in S[0] ** 2 * RIDGES_PER_SQUARE:
        length = np.hypot(S, np.sqrt(mu))
        Q, middle, ridge = U * (S / length), length * (Vt @ c), mu / length**2
        e, r = _squared_hinge(Q, m, middle, ridge, length * (Vt @ b), MAX_SVD_STEPS, until)
        b = Vt.T @ (e / length)
        yield float(mu), b, r


def _squared_hinge(
    G: Any, m: float, c: Float, ridge: Any, b: Float, max_steps: int, until: float
) -> tuple[Float, Float]:
    """Minimise ½ |r|² + ½ (b - c)' diag(ridge) (b - c), r = max(0, m - G b), from b; return b and r at the minimum.

    Newton's method with an exact line search. If no row enters or leaves r > 0 in a full step, the minimum is reached.
    ``ridge`` is scalar or (P,).
    """
    r = np.maximum(0.0, m - G @ b)
    for _ in range(max_steps):
        active = r > 0
        if not active.any() and m > 0:
            break
        if thread_time() > until:
            raise UndecidedError(f"Neither a direction nor a proof was found for {len(r)} rows in the time limit.")
        A = G[active]  # ``full`` minimises the objective if exactly these rows have r > 0
        if np.ndim(ridge) == 0 and A.shape[0] < A.shape[1]:  # c = 0: use the smaller of A'A and A A'
            full = A.T @ _solve(A @ A.T, ridge, np.full(A.shape[0], m))
        else:
            full = _solve(A.T @ A, ridge, m * (A.T @ np.ones(A.shape[0])) + ridge * c)
        step = full - b
        a, change = G @ b, G @ step
        r_full = np.maximum(0.0, m - a - change)
        if np.array_equal(r_full > 0, active):
            return full, r_full
        slope, curvature = ridge * (b - c) @ step, (ridge * step) @ step
        h = _lowest(m - a, change, float(slope), float(curvature))
        if h <= 0:
            break
        b, r = b + h * step, np.maximum(0.0, m - a - h * change)
    return b, r


def _lowest(left: Float, change: Float, slope: float, curvature: float) -> float:
    """The h that minimises ½ Σ max(0, left - h change)² + slope h + ½ curvature h².

    The derivative increases and is piecewise linear, with a corner where a row reaches its margin. Bisection over the
    corners finds its zero. If columns are collinear, a backtracking search would take hundreds of steps.
    """

    def derivative(h: float) -> float:
        return float(slope + h * curvature - np.maximum(0.0, left - h * change) @ change)

    crosses = ((left > 0) == (change > 0)) & (change != 0)
    corners = np.sort(left[crosses] / change[crosses])
    low, high = 0, len(corners)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if derivative(corners[middle]) >= 0 else (middle + 1, high)
    h0 = float(corners[low - 1]) if low else 0.0
    h1 = float(corners[low]) if low < len(corners) else 2 * h0 + 1
    d0, d1 = derivative(h0), derivative(h1)
    return h0 - d0 * (h1 - h0) / (d1 - d0) if d1 > d0 else h0


def _solve(gram: Any, ridge: Any, right: Float) -> Float:
    """(gram + ridge)⁻¹ right, with a larger ridge if rounding leaves the sum singular."""
    gram = gram.toarray() if is_sparse(gram) else gram
    while True:
        try:
            factor = linalg.cho_factor(gram + np.diag(np.broadcast_to(ridge, len(gram))))
        except linalg.LinAlgError:
            ridge = np.maximum(100 * ridge, np.finfo(float).eps * float(gram.trace()))
        else:
            return np.asarray(linalg.cho_solve(factor, right))
