# SPDX-License-Identifier: BSD-3-Clause
"""A Gaussian over the weights, N(θ | mean, A⁻¹), and what it says of activations and of the data.

    mu_a = mean φ̃,    var_a = φ̃' A⁻¹ φ̃                                                      PRML (4.149), (4.150)

θ (C, P) has the coordinates of the fit: weights of the columns as they are, the bias about the origin of the design.
All of it goes through one Cholesky factor of the precision A; the covariance itself is made only where it is asked for.

`laplace` is the first of several ways to come by one (PRML §4.5.1): the mode, and the Hessian there. The others, in
`variational`, `ep` and `sampling`, return the same record.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix._array import Array, Float, Rows
from separatrix.exceptions import DataError
from separatrix.rows import Block, DeviceRows
from separatrix.solvers import Factor, Posterior, factorise
from separatrix.stats import Design

__all__ = ["Activations", "Approximation", "laplace"]


@dataclass(frozen=True, eq=False)
class Activations:
    """Mean and covariance of each row's activation: (n,) and (n,) for one output, (n, C) and (n, C, C) for more."""

    mean: Float
    cov: Float

    @property
    def is_finite(self) -> Array:
        """Which rows have an activation at all, (n,): not those with a value that is not a number."""
        return np.asarray(np.isfinite(self.mean.reshape(len(self.mean), -1)).all(axis=1))

    def take(self, rows: Array) -> Activations:
        """Of some of the rows."""
        return Activations(self.mean[rows], self.cov[rows])


@dataclass(frozen=True, eq=False)
class Approximation:
    """N(θ | mean, A⁻¹) with A factorised, the log evidence that comes with it, and how it was made.

    ``log_likelihood`` is ln p(D | mean); what is left of the log evidence is the Occam factor (PRML 4.137).
    ``is_converged`` says whether an iteration that made it came to its end. ``moments`` is the factor of the inverse
    covariance of θ where that is known better than A: a skewed posterior is wider than the Gaussian that predicts best.
    """

    mean: Float
    factor: Factor
    log_likelihood: float
    log_evidence: float
    name: str
    steps: int = 0
    structure: str = "full"
    is_converged: bool = True
    moments: Factor | None = None

    @property
    def root(self) -> Float:
        """R with R R' = the covariance of θ, (CP, CP)."""
        return (self.factor if self.moments is None else self.moments).root

    @property
    def covariance(self) -> Float:
        """Of all weights, (CP, CP)."""
        return np.asarray(self.root @ self.root.T)

    @property
    def std(self) -> Float:
        """Standard deviation of each weight, (C, P)."""
        return np.asarray(np.sqrt(row_squares(self.root)).reshape(self.mean.shape))

    def sample(self, n: int, rng: np.random.Generator) -> Float:
        """Draws of θ, (n, C, P)."""
        noise = rng.standard_normal((n, self.mean.size))
        return np.asarray(self.mean + (noise @ self.root.T).reshape(n, *self.mean.shape))

    def activations(self, X: Rows, design: Design) -> Activations:
        """Mean and covariance of the activations of rows."""
        C, P = self.mean.shape
        if isinstance(X, DeviceRows) and C == 1:
            block = Block(X, None, None, range(len(X)))
            return Activations(design.activate(block, self.mean), spread_squares(X, design, self.factor.root))
        Phi = design.regressors(X)
        if C == 1:
            return Activations(Phi @ self.mean[0], row_squares(Phi @ self.factor.root))  # (4.149), (4.150)
        spread = np.stack([Phi @ self.factor.root[k * P : (k + 1) * P] for k in range(C)], axis=1)
        return Activations(Phi @ self.mean.T, np.asarray(np.matmul(spread, spread.transpose(0, 2, 1))))


def spread_squares(X: Rows, design: Design, root: Float) -> Float:
    """|φ̃_n' R|² of each row, (n,)."""
    if not isinstance(X, DeviceRows):
        return row_squares(design.regressors(X) @ root)
    R, c = root[: len(design.origin)], design.origin
    return X.row_squares(R, (root[-1] if design.bias else 0.0) - c @ R)


def row_squares(Z: Float) -> Float:
    """|z_n|² of each row."""
    return np.asarray(np.einsum("ni,ni->n", Z, Z))


def laplace(objective: Posterior, mode: Float, *, steps: int = 0) -> Approximation:
    """The Gaussian at the mode: one more pass, for the exact Hessian.                       PRML (4.142, 4.143)

    ln p(D) ≈ ln p(D | θ) + ln p(θ) + ½ CP ln 2π - ½ ln |A|                                 (4.137)
    """
    here = objective.value_grad_hess(mode)  # minus (4.142), its gradient, and A = S_N⁻¹ of (4.143)
    factor = factorise(here.hess, objective.shape[0], objective.prior.free)
    if factor.singular is not None:
        columns = (*objective.source.columns, "the bias")[: objective.design.width] * objective.shape[0]
        raise DataError(
            f"The posterior has no end along some direction: {factor.singular.describe(columns)}, and the prior flat "
            "there. Give those weights a prior with a finite scale, or drop columns."
        )
    away = objective.prior.value_grad(mode)[0]
    # The constants of the prior, -½ CP ln 2π + ½ ln |Λ|, and of the integral, +½ CP ln 2π - ½ ln |A|.
    log_evidence = -here.value + 0.5 * objective.prior.log_det() - 0.5 * factor.log_det  # (4.137)
    return Approximation(mode, factor, away - here.value, log_evidence, "laplace", steps)
