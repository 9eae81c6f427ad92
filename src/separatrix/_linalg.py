# SPDX-License-Identifier: BSD-3-Clause
"""Solve positive-definite systems in correlation units, with a rank test that does not depend on units.

A symmetric A is equilibrated, A = D C D with D² = diag A, so that C has a unit diagonal. The squared pivots of the
Cholesky factor of C are 1 - R², the unexplained fraction of each column given the columns before it, without units. If
a pivot is at the level of rounding error, the columns are collinear, and `SingularError` names the dependent columns.
Each pivot adds up the rounding errors that small pivots before it have magnified. If the condition number of the factor
is large, the pivots are therefore computed again in decreasing order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from separatrix._array import Codes, Float
from separatrix._text import first_few
from separatrix.exceptions import DataError

SINGULAR_PER_COLUMN = 10 * float(np.finfo(np.float64).eps)  # if 1 - R² is smaller, it may be rounding error
SUSPECT_PIVOT = 1e-2  # a smaller 1 - R² magnifies the rounding errors of the pivots after it
SINGULAR_IN_EM = 1e-6  # bound on 1 - R² for expected statistics of EM, which are differences
SINGULAR_IN_SINGLE = float(np.finfo(np.float32).eps)  # bound on 1 - R² for products of float32 rows
VANISHING_VARIANCE = 1e-10  # stands for a variance of zero, in units of the column; its root exceeds float32's rounding


@dataclass
class SingularError(Exception):
    """Positions of constant columns, and of the columns that each dependent column is a combination of."""

    constant: list[int]
    combination: dict[int, list[int]]

    @property
    def dropped(self) -> list[int]:
        """Columns without which the others are independent."""
        return sorted([*self.constant, *self.combination])

    def describe(self, columns: tuple[str, ...]) -> str:
        """Text with one clause per constant or dependent column."""
        clauses = [f"{columns[j]!r} is constant" for j in self.constant]
        for j, others in self.combination.items():
            verb = "is a linear function of" if len(others) == 1 else "is a combination of"
            clauses.append(f"{columns[j]!r} {verb} {first_few([repr(columns[i]) for i in others])}")
        return "; ".join(clauses[:8]) + (f"; and {len(clauses) - 8} more" if len(clauses) > 8 else "")


def solve_positive_definite(A: Float, B: Float) -> Float:
    """A⁻¹ B by Cholesky factorisation; raises `SingularError` with the dependent columns."""
    scale, L = cholesky_of_correlation(A)
    return np.asarray(linalg.cho_solve((L, True), B / scale[:, None]) / scale[:, None])


def cholesky_of_correlation(A: Float) -> tuple[Float, Float]:
    """Scales d and lower triangular L with A = D L L' D; raises `SingularError` with the dependent columns."""
    variance = A.diagonal()
    if not variance.min() > 0:  # also if it is NaN
        raise _diagnose(A)
    if variance.max() == np.inf:
        raise DataError("Sums over the rows overflow. Divide the columns, or the sample weights, by a constant first.")
    scale = np.sqrt(variance)
    C = A / scale
    C /= scale[:, None]
    # LAPACK is called directly, because for small matrices SciPy's checks take longer than the factorisation. C is
    # symmetric, so its transpose is the same matrix in Fortran order.
    L, failed = linalg.lapack.dpotrf(C.T, lower=True, clean=True, overwrite_a=True)
    smallest = L.diagonal().min() ** 2
    if failed or smallest <= SINGULAR_PER_COLUMN * len(A):
        raise _diagnose(A)
    if smallest < SUSPECT_PIVOT and linalg.lapack.dpocon(L, 1.0, uplo="L")[0] <= SINGULAR_PER_COLUMN * len(A):
        singular = _diagnose(A)
        if singular.combination:
            raise singular
    return scale, L


def solve_minimum_norm(A: Float, B: Float) -> Float:
    """Minimum-norm solution of A X = B in equilibrated coordinates, zero for constant columns.

    The norm is taken *after* scaling, so that the solution does not depend on the units of the columns.
    """
    scale = np.sqrt(np.diag(A))
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    is_small = inverse.max(initial=0.0) > 1e150  # the product of two scales would overflow
    values, V = linalg.eigh(A * inverse[:, None] * inverse if is_small else A * np.outer(inverse, inverse))
    kept = values > SINGULAR_PER_COLUMN * len(A) * values[-1]
    V = V[:, kept] / np.sqrt(values[kept])
    return np.asarray(inverse[:, None] * (V @ (V.T @ (inverse[:, None] * B))))


def solve_factored(F: Float, B: Float, ridge: Float, *, overwrite: bool = False) -> Float:
    """(F'F + diag ridge)⁻¹ B for F with fewer rows than columns; no M x M matrix is formed.

    With a ridge R = Q², Woodbury's identity X = Q⁻¹ (I - G' (I + G G')⁻¹ G) Q⁻¹ B with G = F Q⁻¹ needs only a Cholesky
    factor with as many rows as F. Without a ridge, the result is the minimum-norm solution in equilibrated coordinates
    F/q, in which every column has unit length. It comes from the singular values of F/q. With ``overwrite``, F is used
    as working memory.
    """
    has_ridge = bool((ridge > 0).any())
    q = np.sqrt(ridge if has_ridge else np.einsum("rm,rm->m", F, F))
    inverse = np.divide(1.0, q, out=np.zeros_like(q), where=q > 0)[:, None]
    F, b = np.multiply(F, inverse[:, 0], out=F if overwrite else None), inverse * B
    inner = F @ F.T
    if has_ridge:
        inner[np.diag_indices_from(inner)] += 1.0
        L, failed = linalg.lapack.dpotrf(inner, lower=True, clean=True)
        if not failed and L.diagonal().min() > 1e-7 * L.diagonal().max():
            return np.asarray(inverse * (b - F.T @ linalg.cho_solve((L, True), F @ b)))
        # The ridge is small next to F F'. Singular values do not square the condition number.
        _, s, Vt = linalg.svd(F, full_matrices=False)
        along = Vt @ b
        return np.asarray(inverse * (b - Vt.T @ along + Vt.T @ (along / (1 + s[:, None] ** 2))))
    values, E = linalg.eigh(inner, driver="evd")
    if values[-1] <= 0:  # every column is constant
        return np.zeros_like(B)
    kept = values > max(F.shape) * np.finfo(float).eps * values[-1]
    if values[kept][0] > 1e-8 * values[-1]:  # well conditioned: squared singular values are accurate
        E = E[:, kept]
        return np.asarray(inverse * (F.T @ (E @ ((E.T @ (F @ b)) / values[kept, None] ** 2))))
    _, s, Vt = linalg.svd(F, full_matrices=False)
    kept = s > max(F.shape) * np.finfo(float).eps * s[0]
    return np.asarray(inverse * (Vt[kept].T @ (Vt[kept] @ b / s[kept, None] ** 2)))


def dependent_columns(F: Float, smallest: float) -> SingularError:
    """Find columns of F (r, M) that are zero, or combinations of others (1 - R² <= smallest); keep earlier columns."""
    scale = np.sqrt(np.einsum("rm,rm->m", F, F))
    live = np.flatnonzero(scale > 0)
    preference = np.linspace(1.0, 0.5, len(live))  # equal columns would be chosen by their rounding errors
    R, order = linalg.qr(F[:, live] / scale[live] * preference, mode="r", pivoting=True)[-2:]
    rank = int((R.diagonal() ** 2 > smallest).sum())
    return _combinations(scale, live, R[:rank] / preference[order], order, smallest)


def _diagnose(A: Float) -> SingularError:
    """Find constant columns and linear dependencies by Cholesky factorisation with pivoting."""
    scale = np.sqrt(np.maximum(np.diag(A), 0.0))
    live = np.flatnonzero(scale > 0)
    C = A[np.ix_(live, live)] / np.outer(scale[live], scale[live])
    smallest = SINGULAR_PER_COLUMN * len(A)
    L, pivot, rank, _ = linalg.lapack.dpstrf(C, lower=1, tol=smallest)
    return _combinations(scale, live, np.tril(L)[:, :rank].T, pivot - 1, smallest)


def _combinations(scale: Float, live: Codes, R: Float, order: Codes, smallest: float) -> SingularError:
    """Columns of weights in the triangular R (rank, M), whose first columns are independent."""
    rank, noise = len(R), max(1e-6, smallest**0.5)  # 1 - R² is a square
    weights = linalg.solve_triangular(R[:, :rank], R[:, rank:])
    combination = {}
    for i in range(len(live) - rank):
        others = live[order[:rank][np.abs(weights[:, i]) > noise]]
        combination[int(live[order[rank + i]])] = np.sort(others).tolist()
    return SingularError(np.flatnonzero(scale == 0).tolist(), dict(sorted(combination.items())))


def root_of(A: Float, smallest: float) -> Float:
    """Rows R with R'R = A, one for each eigenvalue of the correlations in A that is larger than ``smallest``."""
    scale = np.sqrt(np.maximum(np.diag(A), 0.0))
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    values, V = linalg.eigh(A * inverse[:, None] * inverse)
    kept = values > smallest
    return np.asarray((V[:, kept] * np.sqrt(values[kept])).T * scale)


def whitener_of_root(R: Float, units: Float, floor: float) -> tuple[Float, float, int]:
    """U with U'R'R U = I for columns R (r, M), ln |R'R|, and the number of directions without variance.

    These directions get the variance ``floor``, in units of the columns. A column of zeros gets `VANISHING_VARIANCE` in
    units of ``units`` (M,). Whitened distances are then the limit of a vanishing variance, up to a factor.
    """
    variance = np.einsum("rm,rm->m", R, R)
    scale = np.sqrt(np.where(variance > 0, variance, units * (VANISHING_VARIANCE / floor)))
    Z = R / scale
    values, V = linalg.eigh(Z.T @ Z)
    vanishing = values <= SINGULAR_PER_COLUMN * len(values)
    values[vanishing] = floor
    log_det = float(np.log(values).sum() + 2 * np.log(scale).sum())
    return np.asarray(V / np.sqrt(values) / scale[:, None]), log_det, int(vanishing.sum())
