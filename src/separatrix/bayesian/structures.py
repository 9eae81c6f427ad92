# SPDX-License-Identifier: BSD-3-Clause
"""Exact Gaussians that need no matrix of all weights, the table of Laplace's methods, and the memory that each needs.

dual        if there are fewer rows than columns                         `DualApproximation`
arrow       if most weights are the levels of one category               `ArrowApproximation`
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

from separatrix._array import Codes, Float, Rows, is_sparse, to_dense
from separatrix._threads import single_thread_blas
from separatrix.bayesian.posterior import Approximation, laplace
from separatrix.bayesian.uncoupled import UncoupledApproximation, laplace_by_class, laplace_diagonal
from separatrix.exceptions import DataError
from separatrix.rows import Block
from separatrix.solvers import Posterior, dual
from separatrix.stats import Design
from separatrix.weights import AbstractApproximation, Activations, regressors, row_squares

MAX_FULL_WEIGHTS = 5000  # size CP up to which the full structure is the default
MATRIX_COPIES = 4  # matrices in memory at once: Hessian, correlations, factor and its inverse
STD_AT_ONCE = 512  # weights whose variances are computed together


@dataclass(frozen=True, eq=False)
class DualApproximation(AbstractApproximation):
    """The prior N(0, Λ⁻¹) outside the span of the rows; within it, ``thin``, a Gaussian over v and the bias.

    Rows are X (N, M) with N < M, weights w ~ N(0, Λ⁻¹) with Λ diagonal, and X Λ⁻¹ X' = L L' with L (N, r). Let

        B' = L⁺ X Λ⁻¹  (r, M),      v = B' Λ w,      u = w - B v.

    The columns of Λ^½ B are orthonormal, since B' Λ B = L⁺ L L' L⁺' = I. So v ~ N(0, I) and u are
    independent under the prior, and the activations X w = L v do not depend on u. The likelihood changes only v:

        p(D) = ∫∫ p(D | L v, b) p(u) p(v) p(b) = ∫ p(D | L v, b) N(v | 0, I) p(b) dv db

    is the evidence of the thin problem, which has r unknowns and the rows of L. This is exact, not only for Laplace's
    approximation. With S the thin posterior covariance of v, and l = B' x,

        w = u + B v                       u from the prior, v from the thin posterior
        var w_j = 1/λ_j - |B_j|² + B_j' S B_j
        var w'x = x'Λ⁻¹x - l'l + l' S l   the part of x outside the span keeps its prior variance

    The same holds for each of C classes, whose u are independent. The bias is relative to the mean of the rows, which
    lies in their span, so it is also the bias of the thin problem. No M x M matrix is formed; B is the largest array.

    ``precision`` (M,) is the diagonal of Λ, and ``basis`` (M, r) is B. After tuning, the prior variance of u is
    ``outside`` times that of Λ⁻¹, and ``thin`` is the posterior of v under a prior that is as wide.
    """

    precision: Float
    basis: Float
    thin: AnyApproximation
    steps: int = 0
    structure: str = "dual"
    outside: float = 1.0

    @property
    def name(self) -> str:
        """Name of the method that computed the thin Gaussian."""
        return self.thin.name

    @property
    def log_likelihood(self) -> float:
        """ln p(D | mean)."""
        return self.thin.log_likelihood

    @property
    def log_evidence(self) -> float:
        """ln p(D), the evidence of the thin problem."""
        return self.thin.log_evidence

    @property
    def mean(self) -> Float:
        """Mean of the weights, (C, P)."""
        return self._from_thin(self.thin.mean)

    @property
    def covariance(self) -> Float:
        """Covariance of all weights, (CP, CP)."""
        (C, P), M = self.mean.shape, len(self.precision)
        outside = np.zeros((P, P))
        outside[:M, :M] = self.outside * (np.diag(1 / self.precision) - self.basis @ self.basis.T)
        T = np.kron(np.eye(C), self._each_weight(P))
        return np.asarray(np.kron(np.eye(C), outside) + T @ self.thin.covariance @ T.T)

    @property
    def std(self) -> Float:
        """Standard deviation of each weight, (C, P)."""
        C, P = self.mean.shape
        M = len(self.precision)
        outside = self.outside * np.append(1 / self.precision - row_squares(self.basis), np.zeros(P - M))
        each, starts = self._each_weight(P), range(0, P, STD_AT_ONCE)
        with single_thread_blas():
            within = np.concatenate([self.widest._thin_activations(each[i : i + STD_AT_ONCE]).variance for i in starts])
        return np.asarray(np.sqrt(np.maximum(outside, 0.0) + within.reshape(P, C).T))

    def sample(self, n: int, rng: np.random.Generator) -> Float:
        """Return draws of θ, (n, C, P): the prior, except in the span of the rows."""
        if len(self.part_weights) > 1:
            return self.sample_parts(n, rng)
        M = len(self.precision)
        thin = self.thin.sample(n, rng)
        rows = thin.reshape(-1, thin.shape[2])  # so that one product serves all draws and classes
        drawn = self._from_thin(rows)
        w = rng.standard_normal((len(rows), M)) * np.sqrt(self.outside / self.precision)
        drawn[:, :M] += w - ((w * self.precision) @ self.basis) @ self.basis.T
        return drawn.reshape(*thin.shape[:2], drawn.shape[1])

    def activations(self, X: Rows, design: Design) -> Activations:
        """Return mean and covariance of the activations of rows."""
        M, Phi = len(self.precision), regressors(X, design)
        Z = Phi[:, :M]
        within = self._thin_activations(
            np.column_stack([Z @ self.basis, to_dense(Phi[:, M:])])
        )  # activations of (Bv, b)
        # For rows in the span, the variance outside it is zero, and may be negative after rounding.
        outside = self.outside * np.maximum(Z**2 @ (1 / self.precision) - row_squares(Z @ self.basis), 0.0)
        parts = () if within.weights is None else tuple(part.activations(X, design) for part in self.parts)
        cov = outside if within.mean.ndim == 1 else outside[:, None, None] * np.eye(within.mean.shape[1])
        return Activations(within.mean, within.cov + cov, within.weights, parts)

    @property
    def parts(self) -> tuple[DualApproximation, ...]:
        """The components of the mixture, each with its own variance outside the span."""
        outside: list[float] = (self.outside * self.thin.part_widening).tolist()
        parts: Any = zip(self.thin.parts, outside, strict=True)
        return tuple(replace(self, thin=part, outside=each) for part, each in parts)

    @property
    def part_weights(self) -> Float:
        """Weights (J,) of the parts."""
        return self.thin.part_weights

    @property
    def widest(self) -> DualApproximation:
        """The same distribution with the best estimate of the covariance in the span."""
        thin: Any = self.thin.widest
        return self if thin is self.thin else replace(self, thin=thin)

    def shifted(self, shift: Float) -> DualApproximation:
        """Return the same distribution with ``shift`` (C,) added to the bias, which the thin problem has."""
        return replace(self, thin=self.thin.shifted(shift))

    def _each_weight(self, P: int) -> Float:
        """Return coefficients of each weight as a linear function of the thin weights, (P, r + bias)."""
        M, r = self.basis.shape
        each = np.zeros((P, r + P - M))
        each[:M, :r], each[M:, r:] = self.basis, np.eye(P - M)
        return each

    def _from_thin(self, theta: Float) -> Float:
        """Return (B v, b) for each (v, b)."""
        r = self.basis.shape[1]
        return np.column_stack([theta[:, :r] @ self.basis.T, theta[:, r:]])

    def _thin_activations(self, Z: Float) -> Activations:
        """Return mean and covariance of linear functions of the thin weights, with coefficients (n, r + bias)."""
        return self.thin.activations(Z, Design(np.zeros(Z.shape[1]), bias=False))


def laplace_dual(objective: Posterior, mode: Float) -> DualApproximation:
    """Return the Gaussian at the mode, by Laplace's method on the thin problem. The columns are read twice.

    ``objective`` must have fewer rows than columns (`solvers.is_wide`).
    """
    M = len(objective.design.origin)
    thin = dual(objective)
    C, width = thin.objective.shape
    precision = objective.prior.precision[:M]
    # A copy, not a view of a larger array: loaded from a file, it has the same order in memory and the same products.
    B = np.asfortranarray(thin.to_primal(np.eye(width - objective.design.bias, width))[:, :M].T)
    thin_mode = np.column_stack([(mode[:, :M] * precision) @ B, mode[:, M:]])
    approximate = laplace if C * width <= MAX_FULL_WEIGHTS or C == 1 else laplace_by_class
    return DualApproximation(precision, B, approximate(thin.objective, thin_mode))


@dataclass(frozen=True, eq=False)
class ArrowApproximation(AbstractApproximation):
    """N(θ | mean, A⁻¹) for one output, if most weights belong to the levels of one category; see `arrow`.

    ``levels`` (L,) are the positions in θ of the levels' weights w and ``others`` (d,) those of all other weights u:

        A = ( D   B )        F = D⁻¹ B,        S = K - B'F,        cov u = S⁻¹,        w = -F u + noise of variance D⁻¹
            ( B'  K )

    ``diagonal`` is D, ``border`` is F, and ``root`` is R with R R' = S⁻¹.
    """

    mean: Float
    levels: Codes
    others: Codes
    diagonal: Float
    border: Float
    root: Float
    log_likelihood: float
    log_evidence: float
    name: str = "laplace"
    steps: int = 0
    structure: str = "arrow"

    @property
    def variance(self) -> Float:
        """Variance of each weight, (P,)."""
        found = np.empty(self.mean.size)
        found[self.others] = row_squares(self.root)
        found[self.levels] = 1 / self.diagonal + row_squares(self.border @ self.root)
        return found

    @property
    def std(self) -> Float:
        """Standard deviation of each weight, (1, P)."""
        return np.sqrt(self.variance)[None]

    @property
    def covariance(self) -> Float:
        """Covariance of all weights, (P, P)."""
        each = np.zeros((self.mean.size, len(self.others)))  # weights as functions of u, apart from D⁻¹
        each[self.others], each[self.levels] = np.eye(len(self.others)), -self.border
        found = (each @ self.root) @ (each @ self.root).T
        found[self.levels, self.levels] += 1 / self.diagonal
        return np.asarray(found)

    def solve(self, g: Float) -> Float:
        """Return A⁻¹ g for g (1, P)."""
        w, u = g[0, self.levels], g[0, self.others]
        found = np.empty_like(g)
        found[0, self.others] = u = self.root @ (self.root.T @ (u - self.border.T @ w))
        found[0, self.levels] = w / self.diagonal - self.border @ u
        return found

    def sample(self, n: int, rng: np.random.Generator) -> Float:
        """Return draws of θ, (n, 1, P)."""
        drawn = np.empty((n, self.mean.size))
        drawn[:, self.others] = u = rng.standard_normal((n, len(self.others))) @ self.root.T
        drawn[:, self.levels] = rng.standard_normal((n, len(self.levels))) / np.sqrt(self.diagonal) - u @ self.border.T
        return (self.mean + drawn)[:, None]

    def row_variance(self, X: Rows, design: Design) -> Float:
        """Return φ̃'A⁻¹φ̃ of each row, which has at most one level: x'cov(w) x + 2 x'cov(w, u) z + z'cov(u) z."""
        cov_u, of_level = self.root @ self.root.T, self.variance[self.levels]
        mixed = -2 * self.border @ cov_u
        found = np.empty(X.shape[0])
        for at in gen_batches(len(found), 4096):
            x, z = split_rows(X[at], design, self.levels, self.others)
            found[at] = (x * x) @ of_level + (z * (z @ cov_u + x @ mixed)).sum(axis=1)
        return found

    def activations(self, X: Rows, design: Design) -> Activations:
        """Return mean and variance of the activations of rows; sparse rows stay sparse."""
        mean = design.activate(Block(X, None, None, range(X.shape[0])), self.mean)
        return Activations(mean, self.row_variance(X, design))

    def moments_of(self, Z: Rows) -> Activations:
        """Return mean and variance of θ z for each row z of Z (n, P), which may have several levels."""
        x, z = Z[:, self.levels], to_dense(Z[:, self.others])
        variance = (x * x) @ (1 / self.diagonal) + row_squares((z - x @ self.border) @ self.root)
        return Activations(Z @ self.mean[0], variance)


def split_rows(X: Rows, design: Design, levels: Codes, others: Codes) -> tuple[Any, Any]:
    """Return the indicators x (n, L) and the other regressors z (n, d); both are sparse if the rows are.

    Columns of ``others`` with an origin other than zero come first, and the bias is last.
    """
    columns = others[others < len(design.origin)]
    n_centred = np.count_nonzero(design.origin[columns])
    centred, ones = columns[:n_centred], np.ones((X.shape[0], len(others) - len(columns)))
    parts = [to_dense(X[:, centred]) - design.origin[centred], X[:, columns[n_centred:]], ones]
    return X[:, levels], sparse.hstack(parts, format="csr") if is_sparse(X) else np.hstack(parts)


AnyApproximation = Approximation | UncoupledApproximation | DualApproximation | ArrowApproximation
LAPLACE: dict[str, Callable[..., AnyApproximation]] = {
    "full": laplace,
    "dual": laplace_dual,
    "by class": laplace_by_class,
    "diagonal": laplace_diagonal,
    "mean field": partial(laplace_diagonal, contrasts=True),
}


def fits_into_memory(objective: Posterior, structure: str) -> bool:
    """Whether this machine has enough memory for a posterior and for the rows."""
    return memory_needed(objective, structure) <= 0.7 * machine_memory()


def require_memory(objective: Posterior, structure: str, *, instead: str) -> None:
    """Raise if this machine has too little memory for a posterior; name a structure to use ``instead``."""
    if not fits_into_memory(objective, structure):
        C, P = objective.shape
        needed, memory = memory_needed(objective, structure), machine_memory()
        raise DataError(
            f"structure={structure!r} for {C} x {P} weights needs {needed / 2**30:.3g} GiB of memory, and this machine "
            f"has {memory / 2**30:.3g} GiB. Use structure={instead!r}, or fewer columns or basis functions."
        )


def memory_needed(objective: Posterior, structure: str) -> float:
    """Return the peak number of bytes while a posterior is computed, without the rows."""
    C, P = objective.shape
    if structure == "full":
        return 8.0 * MATRIX_COPIES * (C * P) ** 2
    if structure == "by class":
        return 8.0 * P**2 * (2 * C + MATRIX_COPIES)  # a factor and its inverse for each class
    if structure == "dual":
        N = objective.source.n_rows
        thin = (C * N) ** 2 if C * N <= MAX_FULL_WEIGHTS else C * N**2
        return 8.0 * (2 * N * P + MATRIX_COPIES * thin)
    return 8.0 * MATRIX_COPIES * C * P


def machine_memory() -> float:
    """Return the bytes of memory in this machine, or infinity if the system does not report them."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES")) * float(os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError):  # not available on every system
        return float("inf")
