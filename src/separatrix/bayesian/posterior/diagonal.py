# SPDX-License-Identifier: BSD-3-Clause
"""A Gaussian over the weights that takes them for independent: one number for each, from one pass.

    A_kp = Σ_n (C_n)_kk φ̃_np² + λ_kp,        N(θ | mode, diag 1/A)

for problems so large that no matrix of P x P numbers fits. What it gets wrong, it gets wrong in a known direction:

    variances of single weights are too small,       1/A_jj ≤ (A⁻¹)_jj
    the evidence is too small,                       Π A_jj ≥ |A|                             Hadamard's inequality
    variances of activations are not bounded: two equal columns share one effect, with variance 1/A, and are given two.

It is right where columns hardly meet in the same rows, such as words of short texts or levels of a category. Columns
with much in common make probabilities more cautious than they need be.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from separatrix._array import Array, Float, Rows, is_sparse
from separatrix.bayesian.posterior.approximation import Activations
from separatrix.bayesian.posterior.memory import require_memory
from separatrix.exceptions import DataError
from separatrix.likelihoods import Covariances, Likelihood
from separatrix.rows import Block
from separatrix.solvers import Posterior
from separatrix.stats import Design, ValueGrad

__all__ = ["DiagonalApproximation", "laplace_diagonal"]


@dataclass(frozen=True, eq=False)
class DiagonalApproximation:
    """N(θ | mean, diag 1/precision), both (C, P)."""

    mean: Float
    precision: Float
    log_likelihood: float
    log_evidence: float
    name: str
    steps: int = 0
    structure: str = "diagonal"

    @property
    def covariance(self) -> Float:
        """(CP, CP), with zeros beside the diagonal; refused where it would not fit."""
        size = self.mean.size
        require_memory(f"The covariance of {size} weights", 8.0 * size**2, "It is diagonal: use `std`.")
        return np.diag(1 / self.precision.ravel())

    @property
    def std(self) -> Float:
        """Standard deviation of each weight, (C, P)."""
        return np.asarray(self.precision**-0.5)

    def sample(self, n: int, rng: np.random.Generator) -> Float:
        """Draws of θ, (n, C, P)."""
        return np.asarray(self.mean + self.std * rng.standard_normal((n, *self.mean.shape)))

    def activations(self, X: Rows, design: Design) -> Activations:
        """Mean and covariance of the activations of rows; sparse rows stay sparse."""
        mean = design.activate(Block(X, None, None, range(X.shape[0])), self.mean)
        var = Squares(X, design).dot(1 / self.precision)
        if mean.ndim == 1:
            return Activations(mean, var[:, 0])
        return Activations(mean, var[:, :, None] * np.eye(len(self.mean)))


def laplace_diagonal(objective: Posterior, mode: Float, *, steps: int = 0) -> DiagonalApproximation:
    """The Gaussian at the mode, from one pass."""
    look = partial(_diagonal, theta=mode, likelihood=objective.likelihood, design=objective.design)
    with np.errstate(under="ignore"):
        here = objective.source.reduce(look)
    precision = here.grad + objective.prior.diagonal
    _require_positive(precision, (*objective.source.columns, "the bias"))
    away = objective.prior.value_grad(mode)[0]
    log_evidence = here.value - away + 0.5 * objective.prior.log_det() - 0.5 * float(np.log(precision).sum())
    return DiagonalApproximation(mode, precision, here.value, log_evidence, "laplace", steps)


def _diagonal(block: Block, theta: Float, likelihood: Likelihood, design: Design) -> ValueGrad:
    """ln p(D | θ) and the diagonal of the Hessian (C, P), on one block of rows."""
    log_p, _, curvature = likelihood.derivatives(design.activate(block, theta), block.targets)
    if isinstance(curvature, Covariances):
        curvature = np.column_stack([curvature.block(k, k) for k in range(len(theta))])
    weight = np.ones(len(block)) if block.weight is None else block.weight
    entries = curvature.reshape(len(block), -1) * weight[:, None]
    return ValueGrad(float(log_p @ weight), Squares(block.X, design).sums(entries))


def _require_positive(precision: Float, columns: tuple[str, ...]) -> None:
    flat = np.argwhere(~(precision > 0))
    if len(flat):
        k, p = flat[0]
        raise DataError(
            f"The posterior has no end along the weight of {columns[p]!r}: its curvature there is "
            f"{precision[k, p]:.3g}. Give it a prior with a finite scale, or drop the column."
        )


class Squares:
    """φ̃² of some rows, entry by entry: (x - c)², and 1 for the bias. Sparse rows are not made dense."""

    def __init__(self, X: Rows, design: Design) -> None:
        self._design, self._is_sparse = design, is_sparse(X)
        self._rows: Rows = X if self._is_sparse else design.regressors(X) ** 2

    def dot(self, V: Float) -> Float:
        """φ̃² V' for V (C, P): (n, C)."""
        if not self._is_sparse:
            return np.asarray(self._rows @ V.T)
        c, X = self._design.origin, self._rows
        W = V[:, : len(c)]
        constant = W @ c**2 + (V[:, -1] if self._design.bias else 0.0)
        return np.asarray(X.multiply(X) @ W.T - X @ (2 * c * W).T + constant)

    def sums(self, weight: Array) -> Float:
        """Σ_n weight_n φ̃_n² for weight (n, C): (C, P)."""
        if not self._is_sparse:
            return np.asarray(weight.T @ self._rows)
        c, X = self._design.origin, self._rows
        total = weight.sum(axis=0)[:, None]
        squares = (X.multiply(X).T @ weight).T - 2 * c * (X.T @ weight).T + total * c**2
        return np.column_stack([squares, total]) if self._design.bias else np.asarray(squares)
