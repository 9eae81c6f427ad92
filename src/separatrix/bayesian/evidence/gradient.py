# SPDX-License-Identifier: BSD-3-Clause
"""How the evidence changes with the prior, and how many weights the data determine.          PRML §4.4.1, §3.5.3

For θ ~ N(m0, Λ⁻¹), the same Λ (P, P) for each of C outputs, and an approximate posterior N(m, S) with S = A⁻¹,

    ∂ ln p(D)/∂Λ = ½ [C Λ⁻¹ - Σ_c S_cc - Σ_c d_c d_c'],        d = m - m0

as long as ln p(D) does not depend on where the Gaussian was put. That is so for expectation propagation, whose sites
may be held fixed, and for a variational bound, which is stationary in m and S. Laplace's Gaussian sits at the mode, and
ln |A| changes as the mode moves: with v = ∂ ln |A|/∂θ and u = S v there is one more term,

    ½ Σ_c ½ (u_c d_c' + d_c u_c'),        v = Σ_n ∂ tr(V_n R_n)/∂a ⊗ φ̃_n,        V_n = cov a_n,  R_n = -∂² ln p/∂a∂a'.

v is one more sum over rows, a third derivative of the likelihood.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from separatrix._array import Array, Float
from separatrix._threads import single_thread_blas
from separatrix.bayesian.posterior.approximation import Approximation, row_squares
from separatrix.likelihoods import Covariances
from separatrix.priors import Penalty
from separatrix.rows import Block
from separatrix.solvers import Posterior
from separatrix.stats import Design, Grad

__all__ = [
    "effective_parameters",
    "laplace_slope",
    "log_det_slope",
    "stationary_slope",
    "stationary_slope_of",
    "well_determined",
]

CHUNK = 2_000_000  # numbers: rows are taken so many at a time that their spreads are no more than this


def well_determined(approximation: Approximation, prior: Penalty) -> Float:
    """For each of the P weights how much of it the data fix, summed over outputs: between 0 and C.

    1 - (Λ A⁻¹)_pp for each output: 1 where the posterior is much narrower than the prior, 0 where it is the prior.
    """
    C, P = approximation.mean.shape
    if prior.precision.ndim == 1:
        kept = prior.precision * _of_class(row_squares(approximation.factor.root), C).sum(axis=0)
        return np.asarray(C - kept)
    return np.asarray(C - np.einsum("ij,ij->i", prior.matrix(), approximation.covariance).reshape(C, P).sum(axis=0))


def effective_parameters(approximation: Approximation, prior: Penalty) -> float:
    """γ = CP - tr(Λ A⁻¹), the number of directions that the data determine.                    PRML (3.91)"""
    return float(well_determined(approximation, prior).sum())  # Σ λ_i/(λ_i + α) where Λ = α I


def stationary_slope(objective: Posterior, approximation: Approximation) -> Float:
    """∂ ln p(D)/∂Λ of an approximation that is stationary in its own parameters: no pass.

    (P,), the diagonal, where Λ is one; else (P, P).
    """
    return stationary_slope_of(objective.prior, approximation)


def stationary_slope_of(prior: Penalty, approximation: Approximation) -> Float:
    """The same, of a prior alone."""
    return _slope(prior, approximation, None)


def laplace_slope(objective: Posterior, approximation: Approximation, *, sampled: bool = False) -> Float:
    """∂ ln p(D)/∂Λ of Laplace's approximation, the mode's movement included: one pass.

    With ``sampled``, over a sample of the rows where there is one. The movement is a share of about P/N of the whole,
    and the sample takes part in nothing else.
    """
    source = objective.sample if sampled and objective.sample is not None else objective.source
    statistic = partial(
        log_det_slope,
        theta=approximation.mean,
        root=approximation.factor.root,
        likelihood=objective.likelihood,
        design=objective.design,
    )
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        v = source.reduce(statistic).grad
    return _slope(objective.prior, approximation, approximation.factor.solve(v))


def _slope(prior: Penalty, approximation: Approximation, u: Float | None) -> Float:
    d = approximation.mean - prior.mean
    C, P = d.shape
    e = d if u is None else d - u
    if prior.precision.ndim == 1:
        spread = _of_class(row_squares(approximation.factor.root), C)
        return np.asarray(0.5 * (C / prior.precision - (spread + d * e).sum(axis=0)))
    S = approximation.covariance.reshape(C, P, C, P)
    with single_thread_blas():
        S0 = np.linalg.inv(prior.precision)
    outer = d.T @ e
    return np.asarray(0.5 * (C * S0 - np.einsum("cpcq->pq", S) - 0.5 * (outer + outer.T)))


def _of_class(diagonal: Float, C: int) -> Float:
    return diagonal.reshape(C, -1)


def log_det_slope(block: Block, theta: Float, root: Float, likelihood: Any, design: Design) -> Grad:
    """∂ ln |A|/∂θ (C, P) on one block, for A⁻¹ = R R' with R = ``root``."""
    assert block.t is not None, "this block carries no targets"
    C = len(theta)
    step = max(1, CHUNK // (C * len(root)))
    a = design.activate(block, theta)
    parts = []
    for start in range(0, len(block), step):
        rows = slice(start, start + step)
        Phi = design.regressors(block.X[rows])
        parts.append(_change(likelihood, a[rows], block.t[rows], Phi, root))
    change = np.concatenate(parts)
    if block.weight is not None:
        change *= block.weight if C == 1 else block.weight[:, None]
    return Grad(design.collect(block, change))


def _change(likelihood: Any, a: Array, t: Array, Phi: Float, root: Float) -> Float:
    """∂ tr(V_n R_n)/∂a for each row: (n,), or (n, C)."""
    if a.ndim == 1:
        return np.asarray(likelihood.skew(a, t) * row_squares(Phi @ root))
    C, P = a.shape[1], Phi.shape[1]
    # R is upper triangular, so the spread of class k has nothing in the columns of the classes before it
    spread = np.zeros((len(a), C, len(root)))
    for k in range(C):
        spread[:, k, k * P :] = Phi @ root[k * P : (k + 1) * P, k * P :]
    V = np.matmul(spread, spread.transpose(0, 2, 1))
    curvature = likelihood.derivatives(a, t).curvature
    assert isinstance(curvature, Covariances), "several outputs have a matrix of curvatures"
    change = _categorical_change(curvature.p, V)
    return change if curvature.q is None else change - _categorical_change(curvature.q, V)


def _categorical_change(p: Array, V: Float) -> Float:
    """∂/∂a of tr V (diag p - p p') where ∂p/∂a = diag p - p p': with h = diag V - 2 V p, it is p (h - p'h)."""
    h = np.diagonal(V, axis1=1, axis2=2) - 2 * np.matmul(V, p[:, :, None])[:, :, 0]
    return np.asarray(p * (h - np.einsum("nk,nk->n", p, h)[:, None]))
