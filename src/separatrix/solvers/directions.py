# SPDX-License-Identifier: BSD-3-Clause
"""Directions b that a few rows agree with: G b > 0, or G b >= 0. The entries of G are in [-1, 1].

Three linear programs, by HiGHS:

    widest gap       max δ        subject to   G b >= δ,  Σ |b_d| <= 1
    largest sum      max c'b      subject to   G b >= 0,    |b_d| <= 1
    fewest columns   min Σ |b_d|  subject to   G b >= h,    |b_d| <= 1

A program with hundreds of unknowns takes minutes where Newton's method on the squared hinge,

    min ½ |r|²,   r = max(0, 1 - G b),

takes seconds, and ends after finitely many steps (Mangasarian 2002). Either r < 1, and b is a direction; or G'r = 0,
and r >= 0 proves that there is none, since G b > 0 would make r'G b > 0. If, beyond that, the rows with r > 0 have full
rank, then G b >= 0 leaves only b = 0. So large G go there first; where neither proof holds, the program decides.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from separatrix._array import Array, Float, is_sparse

__all__ = ["Split", "fewest_columns", "largest_sum", "some_gap", "squared_hinge", "widest_gap"]

# The simplex method at the finest tolerance that HiGHS accepts; without presolve, which calls programs infeasible where
# columns agree to nine digits, although b = 0 is a solution; another method; and then coarser tolerances.
ATTEMPTS = (
    ("highs", 1e-10, True),
    ("highs-ds", 1e-10, False),
    ("highs-ipm", 1e-10, False),
    ("highs", 1e-9, True),
    ("highs", 1e-8, True),
    ("highs", 1e-7, True),
)
LARGE = 50_000  # entries of G, zeros included, from which the squared hinge is tried first
RIDGES = 10.0 ** np.array([-3, -5, -7, -9, -11, -13])  # μ / n; the first ones keep b well inside where there is room
NEWTON_STEPS = 20
ENOUGH = 8  # rows per column after which no more are looked for
BIAS = 1e-3  # what an intercept costs beside a weight: of a column and its complement, the one that needs none


class Split(NamedTuple):
    """b = b⁺ - b⁻ for the weights, so that |b_d| is linear in the parts; intercepts are not split, nor counted."""

    is_weight: Array

    @property
    def length(self) -> Float:
        """The row that gives Σ|b_d|."""
        return np.append(self.is_weight, np.ones(self.is_weight.sum()))

    @property
    def bounds(self) -> Float:
        """0 to 1 for the parts of weights, -1 to 1 for intercepts; where Σ|b_d| <= 1 no more is ever needed."""
        low = np.where(self.length > 0, 0.0, -1.0)
        return np.column_stack([low, np.ones_like(low)])

    def columns(self, G: Any) -> Any:
        """G as it acts on the parts."""
        return sparse.hstack([G, -G[:, self.is_weight]], format="csr")

    def join(self, parts: Float) -> Float:
        """b."""
        b = parts[: len(self.is_weight)].copy()
        b[self.is_weight] -= parts[len(self.is_weight) :]
        return b


def some_gap(G: Any, split: Split, least: float, exact: bool) -> Float | None:
    """A direction with Σ|b_d| <= 1 and G b > 0; None where none has G b >= ``least``.

    Where G is large and no ``exact`` answer is asked for, the direction may miss a few rows: it serves to find more.
    """
    if _is_large(G) and not exact:
        b, r = squared_hinge(G)
        if np.abs(G.T @ r).sum() <= least * r.sum():
            return None
        if r.max() < 1 or G.shape[0] < ENOUGH * G.shape[1]:
            return np.asarray(b / max(np.abs(b[split.is_weight]).sum(), np.abs(b).max()))
    return widest_gap(G, split, least)


def _is_large(G: Any) -> bool:
    return bool(G.shape[0] * G.shape[1] >= LARGE)


def widest_gap(G: Any, split: Split, least: float) -> Float | None:
    """max δ: G b >= δ, Σ|b_d| <= 1. None where δ < ``least``."""
    n = G.shape[0]
    margins = sparse.hstack([-split.columns(G), np.ones((n, 1))])
    A = sparse.vstack([margins, np.append(split.length, 0.0)[None]], format="csr")
    cost = np.append(np.zeros(A.shape[1] - 1), -1.0)
    solution = _linear_program(cost, A, np.append(np.zeros(n), 1.0), np.vstack([split.bounds, [0.0, 1.0]]))
    return split.join(solution[:-1]) if solution[-1] >= least else None


def largest_sum(G: Any, c: Float, slack: float, least: float, exact: bool) -> Float | None:
    """max c'b: G b >= -slack, |b_d| <= 1. None where G b <= ``least`` throughout; ``exact`` as in `some_gap`."""
    if _is_large(G) and not exact:
        b, r = squared_hinge(G)
        if _leaves_only_zero(G, r, least):
            return None
        if b.any() and G.shape[0] < ENOUGH * G.shape[1]:
            return np.asarray(b / np.abs(b).max())
    b = _linear_program(-c, -G, np.full(G.shape[0], slack), (-1.0, 1.0))
    return b if (G @ b).max() > least else None


def fewest_columns(G: Any, h: Float, split: Split, slack: float) -> Float | None:
    """min Σ|b_d|: G b >= h, |b_d| <= 1; with slack where there is no other way. None where rounding alone led to h."""
    every = Split(np.ones_like(split.is_weight))  # |b_d| of intercepts too
    cost = np.tile(np.where(split.is_weight, 1.0, BIAS), 2)
    for room in (0.0, slack):
        try:
            return every.join(_linear_program(cost, -every.columns(G), room - h, every.bounds))
        except ArithmeticError:
            continue
    return None


def _linear_program(cost: Float, A: Any, upper: Float, bounds: Any) -> Float:
    """The x that minimises cost'x subject to A x <= upper and the bounds."""
    from scipy.optimize import linprog

    for method, tol, presolve in ATTEMPTS:
        options = {"primal_feasibility_tolerance": tol, "dual_feasibility_tolerance": tol, "presolve": presolve}
        result = linprog(cost, A, upper, bounds=bounds, method=method, options=options)
        if result.status == 0:
            return np.asarray(result.x)
    raise ArithmeticError(f"HiGHS did not solve a linear program of shape {A.shape}: {result.message}")


class Hinge(NamedTuple):
    """b, and r = max(0, 1 - G b)."""

    b: Float
    r: Float


def squared_hinge(G: Any) -> Hinge:
    """min ½ |r|² + ½ μ |b|² for ever smaller μ: the first b with G b > 0, or else the last."""
    G = _packed(G)
    here = Hinge(np.zeros(G.shape[1]), np.ones(G.shape[0]))
    for mu in G.shape[0] * RIDGES:
        here = _newton(G, here, mu)
        if here.r.max() < 1:
            break
    return here


def _newton(G: Any, here: Hinge, mu: float) -> Hinge:
    """Newton's method for one μ. A full step that changes no sign of r has reached the minimum."""
    for _ in range(NEWTON_STEPS):
        active = here.r > 0
        if not active.any():
            break
        target = _ridge(G[active], mu)
        here = _towards(G, here, target, mu)
        if here.b is target and np.array_equal(here.r > 0, active):
            break
    return here


def _ridge(G: Any, mu: float) -> Float:
    """(G'G + μ)⁻¹ G'1, through the smaller of G'G and G G'."""
    ones = np.ones(G.shape[0])
    if G.shape[0] < G.shape[1]:
        return np.asarray(G.T @ _solve(G @ G.T, mu, ones))
    return _solve(G.T @ G, mu, G.T @ ones)


def _solve(gram: Any, mu: float, right: Float) -> Float:
    """(gram + μ)⁻¹ right; with a larger μ where rounding has swallowed this one."""
    gram = gram.toarray() if is_sparse(gram) else gram
    while True:
        try:
            factor = linalg.cho_factor(gram + mu * np.eye(len(gram)))
        except linalg.LinAlgError:
            mu = max(100 * mu, np.finfo(np.float64).eps * float(gram.trace()))
        else:
            return np.asarray(linalg.cho_solve(factor, right))


def _towards(G: Any, here: Hinge, target: Float, mu: float) -> Hinge:
    """Go to the target, or half as far, or a quarter ..., so far as the objective falls."""
    step = target - here.b
    a, change = G @ here.b, G @ step
    value, slope = here.r @ here.r + mu * here.b @ here.b, mu * here.b @ step - here.r @ change
    for h in 0.5 ** np.arange(40):
        b, r = target if h == 1 else here.b + h * step, np.maximum(0.0, 1 - a - h * change)
        if r @ r + mu * b @ b <= value + 1e-4 * h * slope:
            return Hinge(b, r)
    return here


def _leaves_only_zero(G: Any, r: Float, least: float) -> bool:
    """Whether r proves that G b >= -least has no solution of length max |b_d| = 1.

    One would have Σ r_n |g_n'b| <= |G'r|₁ + 2 least Σ r_n, and so, over the rows S with large r,
    1 <= |b| <= |S b| / σ_min(S) would be small.
    """
    strong = r > 1e-3 * r.max()
    if strong.sum() < G.shape[1]:
        return False
    S = _packed(G[strong])
    gram = S.T @ S
    smallest = linalg.eigvalsh(gram.toarray() if is_sparse(gram) else gram, subset_by_index=[0, 0])[0]
    smallest -= 1e-12 * gram.trace()  # its rounding
    return bool(np.abs(G.T @ r).sum() + 2 * least * r.sum() < r[strong].min() * np.sqrt(max(smallest, 0.0)))


def _packed(G: Any) -> Any:
    """Dense where that is faster."""
    return G.toarray() if G.nnz > 0.1 * G.shape[0] * G.shape[1] else G
