# SPDX-License-Identifier: BSD-3-Clause
"""Directions b that separate a few rows, G b > 0 or G b >= 0, or a proof that none exists. Entries of G are in [-1, 1].

Three linear programs, solved by HiGHS:

    widest gap       max δ        subject to   G b >= δ,  Σ |b_d| <= 1
    largest sum      max c'b      subject to   G b >= 0,    |b_d| <= 1
    fewest columns   min Σ |b_d|  subject to   G b >= h,    |b_d| <= 1

with b = b⁺ - b⁻ where |b_d| occurs, so that it is linear in the unknowns. A linear program returns a direction with few
columns. With hundreds of unknowns it takes minutes, though, and if columns are nearly collinear the simplex method
cycles. The first two questions are then decided by Newton's method on a squared hinge, which returns any direction,

    min ½ |r|² + ½ μ |b - c|²,   r = max(0, m - G b),   for a decreasing sequence of μ.

It takes milliseconds and stops after finitely many steps (Mangasarian 2002). At the minimum G'r = μ (b - c).

- Gap (m = 1, c = 0): either r < 1 and b is a direction, or G'r = 0. Then r >= 0 is the proof that no direction exists,
  since G b > 0 would make r'G b > 0.
- Rows on the plane (m = 0, c a positive sum of rows): b tends to the point of the cone G b >= 0 nearest to c. If b is
  not zero, it is a direction, because c'b = |b|² > 0 moves some row. If b is zero, λ = r/μ >= 0 with c + G'λ = 0
  proves that c'b = 0 in the whole cone. Any λ >= 0 proves that no b of length 1 moves the rows by more than c'b = |c +
  G'λ|.

For nearly collinear columns, such as wide radial basis functions, G'G is singular to rounding. The same problem is then
solved in the coordinates of G = U S V',

    G b = Q e,   Q = U q,   q² = S²/(S² + μ),   μ |b|² = e'(1 - q²) e,

in which the Hessian of all rows is Q'Q + 1 - q² = 1 for any columns. Work is limited in steps of HiGHS and in processor
time of this thread, so that the result does not depend on how busy the machine is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from time import thread_time
from typing import Any

import numpy as np
from scipy import linalg, sparse

from separatrix._array import Array, Float, is_sparse

HIGHS_TOL = 1e-10  # the finest tolerance that HiGHS accepts
HIGHS_LIMIT_REACHED = 1  # status of scipy.optimize.linprog
MAX_STEPS_PER_SIDE = 3  # simplex steps per row and column of a program: most need less than one, the others cycle
MAX_PROGRAM_SECONDS = 10.0
MAX_PROGRAM_ENTRIES = 50_000  # entries of G, zeros included; above this the squared hinge is faster
INTERCEPT_COST = 1e-3  # cost of an intercept relative to a weight: prefers the column that needs none to its complement

EPS = np.finfo(np.float64).eps
RIDGES_PER_ROW = 10.0 ** np.array([-3, -5, -7, -9, -11, -13])  # μ / n
RIDGES_PER_SQUARE = 10.0 ** np.arange(-3, -25, -2, dtype=float)  # μ / σ², in the coordinates of the SVD
MAX_HINGE_STEPS, MAX_SVD_STEPS = 20, 100
EXACT_PROOF = 1e-13  # residual of a proof that is rounding error
TOLERANCES = 10  # a gap proven to be narrower than this many tolerances counts as none, if none was found
MAX_ACTIVE_SET_ENTRIES = 100_000  # entries of G up to which a proof is also sought by an active-set method
COARSEST_PROOF = 1e-6  # relative residual |c + G'λ|/|c| above which a proof is not accepted


class UndecidedError(ArithmeticError):
    """Neither a direction nor a proof was found: rounding hides the result, or the limits on work were reached."""


def some_gap(G: Any, is_weight: Array, least: float, *, until: float) -> Float | None:
    """Direction with |b_d| <= 1 and G b > 0; None if no direction has G b >= ``least``.

    A small program maximises the gap; a large one returns the first direction found.
    """
    n, P = G.shape
    if n * P < MAX_PROGRAM_ENTRIES:
        length = np.append(np.tile(is_weight, 2), 0.0)  # Σ |b_d| of the unknowns b⁺, b⁻ and δ
        A = sparse.vstack([sparse.hstack([-G, G, np.ones((n, 1))]), length[None]], format="csr")
        try:
            x = _linear_program(-np.eye(1, 2 * P + 1, 2 * P)[0], A, np.append(np.zeros(n), 1.0), (0.0, 1.0))
            return np.asarray(x[:P] - x[P:-1]) if x[-1] >= least else None
        except UndecidedError:
            pass
    else:
        b, r = squared_hinge(G, until)
        if np.abs(G.T @ r).sum() <= least * r.sum():
            return None
        if r.max() < 1:
            b = b / max(np.abs(b[is_weight]).sum(), np.abs(b).max())
            if (G @ b).min() >= least:
                return np.asarray(b)
    return gap_or_proof(G.toarray(), least, until)


def largest_sum(G: Any, c: Float, slack: float, least: float, *, until: float) -> Float | None:
    """Direction of max c'b with G b >= -slack and |b_d| <= 1; None if G b <= ``least`` for every b.

    If the linear program is too large, b is the direction nearest to c, whose sum need not be the largest.
    """
    if G.shape[0] * G.shape[1] < MAX_PROGRAM_ENTRIES:
        try:
            b = _linear_program(-c, -G, np.full(G.shape[0], slack), (-1.0, 1.0))
            return b if (G @ b).max() > least else None
        except UndecidedError:
            pass
    return nearest_in_cone(G.toarray(), c, least, until)


def fewest_columns(G: Any, h: Float, is_weight: Array, slack: float) -> Float | None:
    """Direction of min Σ |b_d| with G b >= h and |b_d| <= 1, or G b >= h - slack; None if no program is solved."""
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
    """Minimise cost'x subject to A x <= upper and the bounds; `UndecidedError` if HiGHS finds no solution."""
    from scipy.optimize import linprog

    options = {"primal_feasibility_tolerance": HIGHS_TOL, "dual_feasibility_tolerance": HIGHS_TOL}
    options |= {"maxiter": MAX_STEPS_PER_SIDE * sum(A.shape), "time_limit": MAX_PROGRAM_SECONDS}
    # Presolve calls programs infeasible if columns agree to nine digits, although b = 0 is a solution.
    for method, presolve in (("highs", True), ("highs-ds", False)):
        result = linprog(cost, A, upper, bounds=bounds, method=method, options=options | {"presolve": presolve})
        if result.status == 0:
            return np.asarray(result.x)
        if result.status == HIGHS_LIMIT_REACHED:
            break
    raise UndecidedError(f"HiGHS did not solve a linear program of shape {A.shape}: {result.message}")


def squared_hinge(G: Any, until: float) -> tuple[Float, Float]:
    """Minimum b of the squared hinge, with r: the first b with G b > 0 as μ decreases, or the last b."""
    G = G.toarray() if is_sparse(G) and G.nnz > 0.1 * G.shape[0] * G.shape[1] else G
    b, r = np.zeros(G.shape[1]), np.ones(G.shape[0])
    for mu in G.shape[0] * RIDGES_PER_ROW:
        b, r = _Problem(G, 1.0, np.zeros(G.shape[1]), mu, until).minimise(b, MAX_HINGE_STEPS)
        if r.max() < 1:
            break
    return b, r


def gap_or_proof(G: Float, least: float, until: float) -> Float | None:
    """b of length 1 with G b >= ``least``; None if some r with |G'r| <= 10 ``least`` Σ r proves a narrower gap.

    Raises
    ------
    UndecidedError
        If neither is found.
    """
    smallest = np.inf
    for _, b, r in _path(G, 1.0, np.zeros(G.shape[1]), until):
        if (G @ b).min() >= least * np.linalg.norm(b) > 0:
            return np.asarray(b / np.linalg.norm(b))
        smallest = min(smallest, float(np.linalg.norm(G.T @ r)) / r.sum())
        if smallest <= EXACT_PROOF:
            break
    if smallest > TOLERANCES * least:
        raise UndecidedError(f"{G.shape[0]} rows have no gap of {least:.1e}, and no proof of that.")
    return None


def nearest_in_cone(G: Float, c: Float, least: float, until: float) -> Float | None:
    """b of length 1 with G b >= 0 that moves rows; None if c'b < 1e-6 |c| is proven for every b and none was found.

    Margins above -10 ``least``, relative to the largest margin, count as zero.

    Raises
    ------
    UndecidedError
        If neither a direction nor a proof is found.
    """
    residual, length = np.inf, np.linalg.norm(c)
    if length <= EXACT_PROOF:  # already a proof
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

        with suppress(RuntimeError):  # too many steps
            # λ one row at a time: slow, but without a μ; it decides radial functions of several widths
            residual = nnls(G.T, -c, maxiter=50 * len(G))[1] / length
    if residual > COARSEST_PROOF:
        raise UndecidedError(f"{G.shape[0]} rows move together by {residual:.1e} or less, but no direction was found.")
    return None


def _path(G: Float, m: float, c: Float, until: float) -> Iterator[tuple[float, Float, Float]]:
    """μ, b and r for decreasing μ, in the coordinates of the singular value decomposition of G."""
    U, S, Vt = linalg.svd(G, full_matrices=False)
    kept = EPS * max(G.shape) * S[0] < S
    U, S, Vt = U[:, kept], S[kept], Vt[kept]
    b = c
    for mu in S[0] ** 2 * RIDGES_PER_SQUARE:
        length = np.hypot(S, np.sqrt(mu))
        problem = _Problem(U * (S / length), m, length * (Vt @ c), mu / length**2, until)
        e, r = problem.minimise(length * (Vt @ b), MAX_SVD_STEPS)
        b = Vt.T @ (e / length)
        yield float(mu), b, r


@dataclass(frozen=True, eq=False, slots=True)
class _Problem:
    """½ |r|² + ½ (b - c)' diag(ridge) (b - c) with r = max(0, m - G b); a number as ridge is one for all columns."""

    G: Any
    m: float
    c: Float
    ridge: Any
    until: float

    def minimise(self, b: Float, max_steps: int) -> tuple[Float, Float]:
        """b and r at the minimum, by Newton's method with an exact line search.

        A full step that changes no sign of r has reached the minimum.
        """
        G, m = self.G, self.m
        r = np.maximum(0.0, m - G @ b)
        for _ in range(max_steps):
            active = r > 0
            if not active.any() and m > 0:
                break
            if thread_time() > self.until:
                raise UndecidedError(f"The time limit was reached, with neither direction nor proof for {len(r)} rows.")
            A = G[active]  # ``full`` minimises the objective if exactly these rows have r > 0
            if np.ndim(self.ridge) == 0 and A.shape[0] < A.shape[1]:  # c = 0: through the smaller of A'A and A A'
                full = A.T @ _solve(A @ A.T, self.ridge, np.full(A.shape[0], m))
            else:
                full = _solve(A.T @ A, self.ridge, m * (A.T @ np.ones(A.shape[0])) + self.ridge * self.c)
            step = full - b
            a, change = G @ b, G @ step
            r_full = np.maximum(0.0, m - a - change)
            if np.array_equal(r_full > 0, active):
                return full, r_full
            slope, curvature = self.ridge * (b - self.c) @ step, (self.ridge * step) @ step
            h = _lowest(m - a, change, float(slope), float(curvature))
            if h <= 0:
                break
            b, r = b + h * step, np.maximum(0.0, m - a - h * change)
        return b, r


def _lowest(left: Float, change: Float, slope: float, curvature: float) -> float:
    """The h that minimises ½ Σ max(0, left - h change)² + slope h + ½ curvature h².

    The derivative is a rising broken line with a corner wherever a row reaches its margin; bisection over the corners
    finds its zero. Halving steps would take hundreds of them if columns are collinear.
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
            ridge = np.maximum(100 * ridge, EPS * float(gram.trace()))
        else:
            return np.asarray(linalg.cho_solve(factor, right))
