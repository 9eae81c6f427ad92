# SPDX-License-Identifier: BSD-3-Clause
"""A Gaussian over more weights than there are rows: the prior, but for the span of the rows.

Rows X (N, M), N < M; weights w ~ N(0, Λ⁻¹), Λ diagonal. With X Λ⁻¹ X' = L L', L (N, r) (solvers/wide.py), let

    B' = L⁺ X Λ⁻¹  (r, M),      v = B' Λ w,      u = w - B v.

The columns of Λ^½ B are orthonormal, since B' Λ B = L⁺ L L' L⁺' = I. So under the prior v ~ N(0, I) and u are
independent, and the activations of the rows are X w = L v, without u. The likelihood therefore changes v alone:

    p(D) = ∫∫ p(D | L v, b) p(u) p(v) p(b) = ∫ p(D | L v, b) N(v | 0, I) p(b) dv db

is the evidence of the thin problem, whose r unknowns have rows l_n of L for rows x_n, exactly and not only for its
Laplace approximation. With S the thin posterior covariance of v, and l = B' x,

    w = u + B v                       u from the prior, v from the thin posterior
    var w_j = 1/λ_j - |B_j|² + B_j' S B_j
    var w'x = x'Λ⁻¹x - l'l + l' S l   what x has outside the span keeps its prior variance

and the same for each of C classes, whose u are independent. The bias is about the mean of the rows, which lies in their
span, so it is the bias of the thin problem too. Nothing of size M x M is formed; B is the largest array kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from separatrix._array import Float, Rows
from separatrix._threads import single_thread_blas
from separatrix.bayesian.posterior.approximation import Activations, Approximation, laplace, row_squares
from separatrix.bayesian.posterior.by_class import ByClassApproximation
from separatrix.bayesian.posterior.memory import require_memory
from separatrix.solvers import Posterior, dual
from separatrix.stats import Design

__all__ = ["DualApproximation", "Thin", "laplace_dual"]

BLOCK = 512  # weights whose variances are computed at a time

Thin = Approximation | ByClassApproximation


@dataclass(frozen=True, eq=False)
class DualApproximation:
    """The prior N(0, Λ⁻¹) outside the span of the rows, and ``thin``, a Gaussian over v and the bias, within.

    ``precision`` (M,) is the diagonal of Λ, and ``basis`` (M, r) is B.
    """

    precision: Float
    basis: Float
    thin: Thin
    steps: int = 0
    structure: str = "dual"

    @property
    def name(self) -> str:
        """How the thin Gaussian was made."""
        return self.thin.name

    @property
    def log_likelihood(self) -> float:
        """ln p(D | mean)."""
        return self.thin.log_likelihood

    @property
    def log_evidence(self) -> float:
        """ln p(D): that of the thin problem."""
        return self.thin.log_evidence

    @property
    def mean(self) -> Float:
        """Of the weights, (C, P)."""
        return self._from_thin(self.thin.mean)

    @property
    def covariance(self) -> Float:
        """Of all weights, (CP, CP); refused where it would not fit."""
        C, P = self.mean.shape
        require_memory(
            f"The covariance of {C} x {P} weights", 24.0 * (C * P) ** 2, "Use `std`, `sample` or `activations`."
        )
        M = len(self.precision)
        outside = np.zeros((P, P))
        outside[:M, :M] = np.diag(1 / self.precision) - self.basis @ self.basis.T
        T = np.kron(np.eye(C), self._each_weight(P))
        return np.asarray(np.kron(np.eye(C), outside) + T @ self.thin.covariance @ T.T)

    @property
    def std(self) -> Float:
        """Standard deviation of each weight, (C, P)."""
        C, P = self.mean.shape
        M = len(self.precision)
        outside = np.append(1 / self.precision - row_squares(self.basis), np.zeros(P - M))
        each = self._each_weight(P)
        with single_thread_blas():
            within = np.concatenate([_variances(self._along(each[i : i + BLOCK])) for i in range(0, P, BLOCK)])
        return np.asarray(np.sqrt(np.maximum(outside, 0.0) + within.reshape(P, C).T))

    def sample(self, n: int, rng: np.random.Generator) -> Float:
        """Draws of θ, (n, C, P): from the prior, with what lies in the span replaced."""
        M = len(self.precision)
        thin = self.thin.sample(n, rng)
        rows = thin.reshape(-1, thin.shape[2])  # all draws of all classes: products of two matrices, and not of many
        drawn = self._from_thin(rows)
        w = rng.standard_normal((len(rows), M)) / np.sqrt(self.precision)
        drawn[:, :M] += w - ((w * self.precision) @ self.basis) @ self.basis.T
        return drawn.reshape(*thin.shape[:2], -1)

    def activations(self, X: Rows, design: Design) -> Activations:
        """Mean and covariance of the activations of rows."""
        Phi = design.regressors(X)
        Z = Phi[:, : len(self.precision)]
        within = self._along(self._to_thin(Phi))
        # Rounding may leave less than nothing outside the span, for rows in it.
        outside = np.maximum(Z**2 @ (1 / self.precision) - row_squares(Z @ self.basis), 0.0)
        if within.mean.ndim == 1:
            return Activations(within.mean, within.cov + outside)
        return Activations(within.mean, within.cov + outside[:, None, None] * np.eye(within.mean.shape[1]))

    def _to_thin(self, Phi: Float) -> Float:
        """Regressors (n, P) as the thin problem sees them, (n, r + bias): φ̃'(Bv, b) for φ̃'(w, b)."""
        M = len(self.precision)
        return np.column_stack([Phi[:, :M] @ self.basis, Phi[:, M:]])

    def _each_weight(self, P: int) -> Float:
        """`_to_thin` of the identity (P, P), which is not formed."""
        M, r = self.basis.shape
        each = np.zeros((P, r + P - M))
        each[:M, :r], each[M:, r:] = self.basis, np.eye(P - M)
        return each

    def _from_thin(self, theta: Float) -> Float:
        """(B v, b) for each of some (v, b)."""
        r = self.basis.shape[1]
        return np.column_stack([theta[:, :r] @ self.basis.T, theta[:, r:]])

    def _along(self, Z: Float) -> Activations:
        """Mean and covariance of linear functions (n, r + bias) of the thin weights."""
        return self.thin.activations(Z, Design(np.zeros(Z.shape[1]), bias=False))


def laplace_dual(
    objective: Posterior, mode: Float, *, of_thin: Callable[[Posterior, Float], Thin] = laplace, steps: int = 0
) -> DualApproximation:
    """The Gaussian at the mode: two reads of the columns, and Laplace's method on the thin problem.

    ``objective`` must be one that `solvers.wide.is_wide` is true of; ``of_thin`` approximates the thin problem.
    """
    M = len(objective.design.origin)
    thin = dual(objective)
    r = thin.objective.shape[1] - objective.design.bias
    precision = objective.prior.precision[:M]
    B = thin.to_primal(np.eye(r, thin.objective.shape[1]))[:, :M].T
    v = (mode[:, :M] * precision) @ B
    return DualApproximation(precision, B, of_thin(thin.objective, np.column_stack([v, mode[:, M:]])), steps)


def _variances(a: Activations) -> Float:
    """Of every output of every row, (n,) or (n, C)."""
    return a.cov if a.cov.ndim == 1 else np.asarray(np.diagonal(a.cov, axis1=1, axis2=2))
