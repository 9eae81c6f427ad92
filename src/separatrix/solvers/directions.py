# SPDX-License-Identifier: BSD-3-Clause
"""Directions b that a few rows agree with: G b > 0, or G b >= 0. The entries of G are in [-1, 1].

Three linear programs, by HiGHS:

    widest gap       max δ        subject to   G b >= δ,  Σ |b_d| <= 1
    largest sum      max c'b      subject to   G b >= 0,    |b_d| <= 1
    fewest columns   min Σ |b_d|  subject to   G b >= h,    |b_d| <= 1

A program gives the simplest direction, with few columns in it, but not always soon: with hundreds of unknowns it takes
minutes, and where columns are nearly collinear the simplex method cycles without end. The squared hinge (`hinge`)
decides both questions, with any direction. So it is asked first where G is large, and afterwards where a program has
taken many more steps than programs need; steps are counted, not seconds, so that the answer is the same every time.
`UndecidedError` where the hinge does not know either.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from separatrix._array import Array, Float
from separatrix.solvers.hinge import UndecidedError, gap_or_proof, leaves_only_zero, nearest_in_cone, squared_hinge

__all__ = ["Split", "fewest_columns", "largest_sum", "some_gap", "widest_gap"]

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
LIMIT_REACHED, INFEASIBLE = 1, 2  # what HiGHS says
PATIENCE = 3  # steps for each row and column of a program: healthy ones need less than one, the others cycle
SECONDS = 10.0  # and no longer than this, where a single step is slow
LARGE = 50_000  # entries of G, zeros included, from which the squared hinge is tried first
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


def some_gap(G: Any, split: Split, least: float, *, exact: bool, until: float = np.inf) -> Float | None:
    """A direction with |b_d| <= 1 and G b > 0; None where none has G b >= ``least``.

    Where G is large and no ``exact`` answer is asked for, the direction may miss a few rows: it serves to find more.
    """
    if not _is_large(G):
        try:
            return widest_gap(G, split, least)
        except UndecidedError:
            exact = True
    if not exact:
        b, r = squared_hinge(G, until=until)
        if np.abs(G.T @ r).sum() <= least * r.sum():
            return None
        if r.max() < 1 or G.shape[0] < ENOUGH * G.shape[1]:
            return np.asarray(b / max(np.abs(b[split.is_weight]).sum(), np.abs(b).max()))
    b, r = gap_or_proof(G.toarray(), least, until=until)
    return np.asarray(b / np.linalg.norm(b)) if r.max() < 1 else None


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


def largest_sum(G: Any, c: Float, slack: float, least: float, *, exact: bool, until: float = np.inf) -> Float | None:
    """max c'b: G b >= -slack, |b_d| <= 1. None where G b <= ``least`` throughout; ``exact`` as in `some_gap`.

    Where the program is not solved, b is the direction nearest to c, whose sum need not be the largest.
    """
    if not _is_large(G):
        try:
            b = _linear_program(-c, -G, np.full(G.shape[0], slack), (-1.0, 1.0))
        except UndecidedError:
            exact = True
        else:
            return b if (G @ b).max() > least else None
    if not exact:
        b, r = squared_hinge(G, until=until)
        if leaves_only_zero(G, r, least):
            return None
        if b.any() and G.shape[0] < ENOUGH * G.shape[1]:
            return np.asarray(b / np.abs(b).max())
    return nearest_in_cone(G.toarray(), c, least, until=until)


def fewest_columns(G: Any, h: Float, split: Split, slack: float) -> Float | None:
    """min Σ|b_d|: G b >= h, |b_d| <= 1; with slack where there is no other way.

    None where rounding alone led to h, or where the program is not solved.
    """
    every = Split(np.ones_like(split.is_weight))  # |b_d| of intercepts too
    cost = np.tile(np.where(split.is_weight, 1.0, BIAS), 2)
    for room in (0.0, slack):
        try:
            return every.join(_linear_program(cost, -every.columns(G), room - h, every.bounds))
        except InfeasibleError:
            continue
        except UndecidedError:
            break
    return None


class InfeasibleError(ArithmeticError):
    """No x satisfies the constraints."""


def _linear_program(cost: Float, A: Any, upper: Float, bounds: Any) -> Float:
    """The x that minimises cost'x subject to A x <= upper and the bounds."""
    from scipy.optimize import linprog

    limits = {"maxiter": PATIENCE * sum(A.shape), "time_limit": SECONDS}
    failures = set()
    for method, tol, presolve in ATTEMPTS:
        options = {"primal_feasibility_tolerance": tol, "dual_feasibility_tolerance": tol, "presolve": presolve}
        result = linprog(cost, A, upper, bounds=bounds, method=method, options=options | limits)
        if result.status == 0:
            return np.asarray(result.x)
        failures.add(result.status)
        if result.status == LIMIT_REACHED:
            break
    error = InfeasibleError if failures == {INFEASIBLE} else UndecidedError
    raise error(f"HiGHS did not solve a linear program of shape {A.shape}: {result.message}")
