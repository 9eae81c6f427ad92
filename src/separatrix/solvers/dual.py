# SPDX-License-Identifier: BSD-3-Clause
"""The dual problem, with as many unknowns as rows, for tables with more columns than rows.

With a Gaussian prior of precision Λ the optimal weights are combinations of the rows, W = R X Λ⁻¹. With X Λ⁻¹ X' = L L'
and V = R L,

    a_n = W x_n + b = V l_n + b,        ½ tr W Λ W' = ½ tr V V',

which is the same model of the rows l_n of L (N, N) under a prior of unit precision (PRML §6.1). No M x M matrix is
formed, and the M columns are read twice: for the inner products, and for the weights. Rows far from zero are
centred, which does not change a model with a free bias. Otherwise all inner products would be nearly equal to the
squared length of the mean.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from separatrix._array import Array, Float, to_dense
from separatrix._linalg import SingularError, cholesky_of_correlation
from separatrix._threads import single_thread_blas
from separatrix.priors import Penalty
from separatrix.rows import NamedRows, as_source
from separatrix.solvers.posterior import Posterior, Units
from separatrix.solvers.result import Solution, Step
from separatrix.stats import collect_sample

MAX_DUAL_ROWS = 4000  # with more rows, an (N, N) problem is no longer small
MAX_SQUARED_OFFSET = 1e4  # |mean|² / total variance above which rows are centred; inner products lose four digits


@dataclass(frozen=True, eq=False)
class Dual:
    """The dual problem, and the map from its weights to the weights of the columns."""

    objective: Posterior
    to_primal: Callable[[Float], Float]

    def primal(self, solution: Solution[Float]) -> Solution[Float]:
        """The same solution, as weights of the columns."""
        trace = tuple(Step(self.to_primal(step.theta), *step[1:]) for step in solution.trace)
        return replace(solution, value=self.to_primal(solution.value), trace=trace, end=None)


def dual(objective: Posterior) -> Dual:
    """Build the dual of a problem, whose rows are the rows of L."""
    rows = collect_sample(objective.source, objective.source.n_rows).as_block()
    M, bias = len(objective.design.origin), objective.design.bias
    units, precision = objective.units, objective.prior.precision[:M]
    offset, spread = (units.mean**2 / precision).sum(), (units.spread**2 / precision).sum()
    is_moved = bias and bool(offset > MAX_SQUARED_OFFSET * spread)
    X, left = replace(objective.design, subtract=is_moved).shifted(rows.X.astype(np.float64, copy=False))
    is_isotropic = bool((precision == precision[0]).all())  # a scalar is faster and keeps sparse rows sparse
    scaled = X * (1.0 / precision[0]) if is_isotropic else X / precision  # X Λ⁻¹
    with single_thread_blas():
        L, back = _root(np.asarray(to_dense(scaled @ X.T), dtype=np.float64))
    directions = tuple(f"direction {i + 1}" for i in range(L.shape[1]))
    source = as_source(NamedRows(L, directions)).with_numbers(rows.t, rows.weight, rows.offset)
    thin_units = Units.of(source, fit_intercept=bias, with_extent=units.extent is not None)
    design = thin_units.design(fit_intercept=bias)
    thin_precision = np.append(np.ones(L.shape[1]), objective.prior.precision[M:])
    prior = Penalty(np.zeros((objective.shape[0], len(thin_precision))), thin_precision)

    def to_primal(theta: Float) -> Float:
        V, b = design.in_user_units(theta)
        W = np.asarray(back(V) @ scaled, dtype=np.float64)
        return np.column_stack([W, b + W @ left]) if bias else W  # bias at the origin of the design, not at x = 0

    return Dual(Posterior(source, objective.likelihood, prior, design, thin_units), to_primal)


def _root(A: Float) -> tuple[Float, Callable[[Array], Float]]:
    """L (N, r) with A = L L', and the function V -> V L⁻¹; r < N if rows are linearly dependent."""
    try:
        scale, C = cholesky_of_correlation(A)
        L = scale[:, None] * C
        return L, lambda V: np.asarray(linalg.solve_triangular(L, V.T, lower=True, trans="T").T)
    except SingularError:
        values, E = linalg.eigh(A)
        kept = values > len(A) * np.finfo(np.float64).eps * values[-1]
        root, E = np.sqrt(values[kept]), E[:, kept]
        return E * root, lambda V: np.asarray((V / root) @ E.T)
