# SPDX-License-Identifier: BSD-3-Clause
"""Positive-definite solves in correlation units, with a rank test that does not know the units.

A symmetric A is equilibrated, A = D C D with D² = diag A, so that C has a unit diagonal. The pivots of its
Cholesky factor are then 1 - R², the share of each column that the columns before it leave unexplained: a
number without units. Where one of them is rounding only, the columns are collinear, and `SingularError` says
which depend on which.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from separatrix._array import Float

__all__ = [
    "SingularError",
    "cholesky_of_correlation",
    "solve_factored",
    "solve_minimum_norm",
    "solve_positive_definite",
]


@dataclass
class SingularError(Exception):
    """Constant columns, and for each dependent column those that it is a combination of (by position)."""

    constant: list[int]
    combination: dict[int, list[int]]

    def describe(self, columns: tuple[str, ...]) -> str:
        """One readable clause for each column at fault."""
        said = [f"{columns[j]!r} is constant" for j in self.constant]
        for j, others in self.combination.items():
            partners = ", ".join(repr(columns[i]) for i in others[:5])
            more = f" and {len(others) - 5} more" if len(others) > 5 else ""
            verb = "is a multiple of" if len(others) == 1 else "is a combination of"
            said.append(f"{columns[j]!r} {verb} {partners}{more}")
        return "; ".join(said[:8]) + (f"; and {len(said) - 8} more" if len(said) > 8 else "")


def solve_positive_definite(A: Float, B: Float) -> Float:
    """A⁻¹ B through a Cholesky factor, or `SingularError` naming the columns."""
    scale, L = cholesky_of_correlation(A)
    return np.asarray(linalg.cho_solve((L, True), B / scale[:, None]) / scale[:, None])


def cholesky_of_correlation(A: Float) -> tuple[Float, Float]:
    """Scales d and lower triangular L with A = D L L' D, or `SingularError` naming the columns."""
    if not (A.diagonal() > 0).all():
        raise _diagnose(A)
    scale = np.sqrt(A.diagonal())
    C = A / scale
    C /= scale[:, None]
    # LAPACK itself: on small matrices the checks around it cost more than the factor. C is symmetric, so its transpose
    # is the same matrix in the order that LAPACK reads.
    L, failed = linalg.lapack.dpotrf(C.T, lower=True, clean=True, overwrite_a=True)
    if failed or L.diagonal().min() ** 2 <= _tolerance(len(A)):
        raise _diagnose(A)
    return scale, L


def solve_minimum_norm(A: Float, B: Float) -> Float:
    """The solution of A X = B of least norm in equilibrated coordinates, zero for constant columns.

    Least norm *after* scaling, so that the answer does not depend on the units of the columns.
    """
    scale = np.sqrt(np.diag(A))
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    values, V = linalg.eigh(A * np.outer(inverse, inverse))
    kept = values > _tolerance(len(A)) * values[-1]
    V = V[:, kept] / np.sqrt(values[kept])
    return np.asarray(inverse[:, None] * (V @ (V.T @ (inverse[:, None] * B))))


def solve_factored(F: Float, B: Float, ridge: Float) -> Float:
    """(F'F + diag ridge)⁻¹ B for F with fewer rows than columns; M x M is never formed.

    With a ridge R, by Woodbury's identity, X = R⁻¹ (B - F' (I + F R⁻¹ F')⁻¹ F R⁻¹ B): a Cholesky factor of a matrix
    with as many rows as F. Without, it is the solution of least norm in equilibrated coordinates F/q, where every
    column has unit length, through the singular values of F/q.
    """
    if (ridge > 0).any():
        inner = F @ (F / ridge).T
        inner[np.diag_indices_from(inner)] += 1.0
        b = B / ridge[:, None]
        return np.asarray(b - (F.T @ linalg.solve(inner, F @ b, assume_a="pos")) / ridge[:, None])
    q = np.sqrt(np.einsum("rm,rm->m", F, F))
    inverse = np.divide(1.0, q, out=np.zeros_like(q), where=q > 0)[:, None]
    b = inverse * B
    F = F * inverse[:, 0]
    values, E = linalg.eigh(F @ F.T)
    kept = values > max(F.shape) * np.finfo(float).eps * values[-1]
    if values[kept][0] > 1e-8 * values[-1]:  # well enough conditioned for squares: a small eigenproblem does
        E = E[:, kept]
        return np.asarray(inverse * (F.T @ (E @ ((E.T @ (F @ b)) / values[kept, None] ** 2))))
    _, s, Vt = linalg.svd(F, full_matrices=False)
    kept = s > max(F.shape) * np.finfo(float).eps * s[0]
    return np.asarray(inverse * (Vt[kept].T @ (Vt[kept] @ b / s[kept, None] ** 2)))


def _tolerance(size: int) -> float:
    """Below this, 1 - R² is rounding."""
    return 10 * size * float(np.finfo(np.float64).eps)


def _diagnose(A: Float) -> SingularError:
    """Which columns are constant, and which depend on which: Cholesky with pivoting."""
    scale = np.sqrt(np.maximum(np.diag(A), 0.0))
    live = np.flatnonzero(scale > 0)
    C = A[np.ix_(live, live)] / np.outer(scale[live], scale[live])
    L, pivot, rank, _ = linalg.lapack.dpstrf(C, lower=1, tol=_tolerance(len(A)))
    order = pivot - 1
    basis = np.tril(L)[:rank, :rank]
    weights = linalg.solve_triangular(basis, np.tril(L)[rank:, :rank].T, lower=True, trans="T")
    combination = {
        int(live[order[rank + i]]): sorted(int(live[order[j]]) for j in np.flatnonzero(np.abs(weights[:, i]) > 1e-6))
        for i in range(len(live) - rank)
    }
    return SingularError([int(j) for j in np.flatnonzero(scale == 0)], dict(sorted(combination.items())))
