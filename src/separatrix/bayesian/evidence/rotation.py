# SPDX-License-Identifier: BSD-3-Clause
"""Coordinates in which a prior with one scale is round, and only those that the rows know of.

With weights w ~ N(0, s² Λ⁻¹) the activations depend on ω = Λ^½ w ~ N(0, s² I) through rows z = Λ^-½ x. A rotation of ω
changes neither prior nor evidence, so any L with L L' = Z Z' may stand for Z; directions that no row knows of keep
their prior and add nothing to any sum. So r columns are left of M: with many rows, L = Z V for the eigenvectors V of
Z'Z; with few, L is the Cholesky factor of Z Z' with pivoting. One decomposition serves every scale s. Rows of smooth
functions, such as an RBF on every row, have r far below M.

What rounding leaves of a direction is dropped with the zeros. What is dropped loses s² times as much of the prior
variance of the activations, so the limit depends on the widest scale that will be asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from separatrix._array import Float
from separatrix._threads import single_thread_blas
from separatrix.bayesian.evidence.hyper import Hyper
from separatrix.priors import Penalty
from separatrix.rows import as_source
from separatrix.solvers import Posterior, survey
from separatrix.stats import Design, collect_sample

__all__ = ["Rotated", "is_rotatable", "rotate"]

FEWEST = 100  # columns from which a decomposition pays
PER_COLUMN = 10  # rows, from which on nothing is gained
NUMBERS = 20_000_000  # in the rows, all of them held at once
MOST = 4000  # rows or columns, whichever are fewer: the decomposition takes their cube
ROUNDING = 1e-15  # of the largest eigenvalue: below, there are no digits
NEGLIGIBLE = 1e-9  # prior variance, summed over the rows


@dataclass(frozen=True, eq=False)
class Rotated:
    """The same posterior in r coordinates, under a prior of unit precision, and the way back to θ (C, P)."""

    objective: Posterior
    back: Callable[[Float], Float]


def is_rotatable(objective: Posterior, over: Hyper) -> bool:
    """Whether one scale is tuned, of a prior that can be made round, over rows few enough and columns many enough."""
    N, M = objective.source.n_rows, len(objective.design.origin)
    simple = over.size == 1 and over.tuned.ndim == 1 and not over.mean.any()
    few = N * M <= NUMBERS and N <= PER_COLUMN * M  # with many rows for each column, all directions matter
    return simple and M >= FEWEST and few and min(N, M) <= MOST


def rotate(objective: Posterior, over: Hyper, *, widest: float) -> Rotated:
    """The posterior in the directions that matter for scales up to ``widest`` times that of the prior."""
    rows = collect_sample(objective.source, objective.source.n_rows)
    M, bias = len(objective.design.origin), objective.design.bias
    shift = np.zeros(M)
    if over.fixed.ndim == 2 and bias:  # the bias has its prior about another origin: a = w'(x - c - shift) + b
        shift = over.fixed[-1, :-1] / over.fixed[-1, -1]
    unit = np.sqrt(over.tuned[:M])
    Z = (objective.design.regressors(rows.reader.read(slice(0, rows.n_rows)))[:, :M] - shift) / unit
    with single_thread_blas():
        L, lift = _directions(Z, widest)
    precision = np.ones(L.shape[1] + bias)
    if bias:
        precision[-1] = over.fixed[-1] if over.fixed.ndim == 1 else over.fixed[-1, -1]

    def back(theta: Float) -> Float:
        W = lift(theta[:, : L.shape[1]]) / unit
        return np.column_stack([W, theta[:, -1] - W @ shift]) if bias else W

    source = replace(as_source(L, rows.t, rows.weight), offset=rows.offset)
    prior = Penalty(np.zeros((objective.shape[0], len(precision))), precision)
    design = Design(np.zeros(L.shape[1]), bias=bias)
    units = survey(source, fit_intercept=bias)
    return Rotated(Posterior(source, objective.likelihood, prior, design, units), back)


def _directions(Z: Float, widest: float) -> tuple[Float, Callable[[Float], Float]]:
    """L (N, r) with L L' = Z Z', and the map of weights of L to weights of Z."""
    N, M = Z.shape
    if N > MOST or N > 2 * M:
        return _by_columns(Z, widest)
    return _by_rows(Z, widest)


def _by_rows(Z: Float, widest: float) -> tuple[Float, Callable[[Float], Float]]:
    """L is the Cholesky factor of Z Z' with pivoting, which stops where no row has anything left.

    With p the rows that it chose, L_p is triangular, and Z_p' L_p'⁻¹ V has the activations and the length of V.
    """
    K = Z @ Z.T
    tol = max(ROUNDING * len(K) * float(np.diag(K).max()), NEGLIGIBLE / widest**2 / len(K))
    C, pivot, rank, _ = linalg.lapack.dpstrf(K, lower=1, tol=tol)
    if rank == 0:  # columns of zeros: one direction, in which nothing happens
        return np.zeros((len(Z), 1)), lambda V: np.zeros((len(V), Z.shape[1]))
    order = pivot - 1
    L = np.empty((len(K), rank))
    L[order] = np.tril(C[:, :rank])
    chosen = order[:rank]

    def lift(V: Float) -> Float:
        return np.asarray(linalg.solve_triangular(L[chosen], V.T, lower=True, trans="T").T @ Z[chosen])

    return L, lift


def _by_columns(Z: Float, widest: float) -> tuple[Float, Callable[[Float], Float]]:
    """L = Z V with the eigenvectors V of Z'Z."""
    values, V = linalg.eigh(Z.T @ Z)
    kept = values > max(ROUNDING * values[-1], NEGLIGIBLE / widest**2)
    kept[-1] = True
    V = np.ascontiguousarray(V[:, kept])
    return Z @ V, lambda theta: np.asarray(theta @ V.T)
