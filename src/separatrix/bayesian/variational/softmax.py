# SPDX-License-Identifier: BSD-3-Clause
"""The Gaussian nearest in KL(q || p) to the posterior of a softmax: the bound by quasi-Monte-Carlo, and steps up it.

The bound and the steps are those of one output (`ascent`). What is left is to average over the K activations of a row.
Only their differences from the last one matter, d_k = a_k - a_K ~ N(mu_k - mu_K, (L L')_kk), of which

    f = E[ln Σ_j e^a_j] ≈ mu_K + mean_i ln(1 + Σ_k e^(mu_k - mu_K + (L z_i)_k)),        z_i in K - 1 dimensions

is all that the bound needs: E[ln p] = Σ_k t_k mu_k - f. The derivatives are those of this very sum, so that the bound
is one smooth function of q, with the points held fixed, and a step along its gradient raises it:

    ∂f/∂mu = E[p],        curvature = 2 ∂f/∂(L L') = L'⁻¹ (B + B') L⁻¹,    B = lower half of L' E[p z'], diagonal halved

which is E[diag p - p p'] as the points grow many (Stein's lemma), and better than an average of that where activations
vary widely: p turns within a few units of a, and between the points its derivative is not seen at all.

The points are scrambled Sobol' points, each beside its mirror image, scaled to the covariance I: quadratic functions
are averaged exactly. A few sets of them take turns from row to row. With one set for all rows their errors would add
up, and q would find the gaps between the points: on seven classes of cover types, 32 points of one set raise the bound
ten nats too high, of sixteen sets three, and the probabilities agree to three digits.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import special

from separatrix._arguments import check_count, check_positive
from separatrix._array import Array, Float, Rows, to_dense
from separatrix.bayesian.posterior.approximation import Approximation
from separatrix.bayesian.predictive.softmax import row_blocks
from separatrix.bayesian.variational.ascent import Bound
from separatrix.exceptions import DataError
from separatrix.likelihoods import Softmax
from separatrix.rows import Block
from separatrix.solvers import Posterior
from separatrix.stats import Design, ValueGradHess

__all__ = ["estimated_seconds", "variational_softmax"]

POINTS, SETS = 64, 16
PER_AXIS = 3  # points at least for each dimension, or their covariance could not be I
SHORTEST = 2.0**-10  # of a step, which no smooth bound needs
NARROWEST = 1e-10  # a variance of activations that is added to all, so that every covariance has a factor
PASSES = 20  # of a typical ascent
PRODUCTS, EXPS = 2e10, 5e7  # what one core does in a second


def variational_softmax(
    objective: Posterior, start: Approximation, *, tol: float = 2e-3, max_steps: int = 40, n_points: int = POINTS
) -> Approximation:
    """The maximum of the bound, for a softmax of K classes.

    Parameters
    ----------
    objective : Posterior
        Rows, a `Softmax` likelihood, and a prior that is proper.
    start : Approximation
        A Gaussian to begin with.
    tol : float, default 2e-3
        How much one more whole step may raise the bound, in nats for each weight.
    max_steps : int, default 40
        Steps after which the result is returned as it is, with ``is_converged`` false.
    n_points : int, default 64
        Points that stand for the activations of a row, rounded up to a power of two; more for more than 22 classes.

    Returns
    -------
    Approximation
        Named "variational"; its log evidence is the bound, as the points see it.

    Raises
    ------
    DataError
        Where the prior is flat along some weight.

    Examples
    --------
    >>> from separatrix.bayesian.posterior.approximation import laplace
    >>> from separatrix.rows import as_source
    >>> from separatrix.priors import Gaussian
    >>> from separatrix.solvers import Newton, pose
    >>> source = as_source(np.array([[1.0], [2.0], [3.0]]), np.array([0, 1, 2]))
    >>> objective = pose(source, Softmax(3), Gaussian(scale=2.0), fit_intercept=False)
    >>> mode = laplace(objective, Newton().minimise(objective, np.zeros((3, 1))).value)
    >>> found = variational_softmax(objective, mode)
    >>> found.mean.round(1).ravel(), found.is_converged
    (array([-0.4,  0.1,  0.3]), True)
    """
    check_positive("variational_softmax", "tol", tol)
    check_count("variational_softmax", "max_steps", max_steps)
    check_count("variational_softmax", "n_points", n_points, least=2)
    _require_proper_softmax(objective)
    points = _points(objective.shape[0] - 1, n_points)
    bound = Bound(objective, partial(_averages, points=points, design=objective.design), SHORTEST)
    here, enough = bound.at(start.mean, start.factor), tol * start.mean.size
    steps, share, growth, is_converged = 0, 1.0, 1.0, False
    while not is_converged and steps < max_steps:
        tried = min(1.0, growth * share)
        moved = bound.ascend(here, tried)
        if moved is None:
            break
        there, share = moved
        # A share that was refused once will be refused again: it grows after a step that was accepted at once.
        growth = 2.0 if share == tried else 1.0
        is_converged = there.bound - here.bound <= enough * share
        here, steps = there, steps + 1
    return bound.approximation(here, steps, is_converged=is_converged)


def estimated_seconds(objective: Posterior, n_points: int = POINTS) -> float:
    """What an ascent takes on one core, within a factor of three.

    A pass takes N (CP)² multiplications for the covariances of activations, as many for H, and N C n_points
    exponentials; 2 (CP)³ multiplications go into the factor.
    """
    (C, P), N = objective.shape, objective.source.n_rows
    products = 2 * N * (C * P) ** 2 + 2 * (C * P) ** 3
    return PASSES * (products / PRODUCTS + N * C * n_points / EXPS)


def _require_proper_softmax(objective: Posterior) -> None:
    """Raise where there is no bound to raise."""
    if not isinstance(objective.likelihood, Softmax):
        raise ValueError(
            f'variational_softmax is for Softmax, not {objective.likelihood}; use "laplace" or "importance".'
        )
    if not np.isfinite(objective.prior.log_det()):
        raise DataError(
            "variational_softmax: the prior is flat along some weight, so that the evidence has no bound. Give every "
            "weight and the bias a finite scale, for example Gaussian(scale=..., intercept_scale=10)."
        )


def _points(dimension: int, n: int) -> Float:
    """Sets of standard normal points (SETS, n, K - 1), each symmetric about zero and of unit covariance."""
    from scipy.stats import qmc

    half = int(np.ceil(np.log2(max(n, PER_AXIS * dimension)))) - 1
    rng = np.random.default_rng(0)
    u = np.stack([qmc.Sobol(dimension, scramble=True, rng=rng).random_base2(half) for _ in range(SETS)])
    z = special.ndtri(np.clip(u, 1e-16, 1 - 1e-16))
    z = np.concatenate([z, -z], axis=1)
    values, vectors = np.linalg.eigh(z.transpose(0, 2, 1) @ z / z.shape[1])
    return np.asarray(z @ (vectors / np.sqrt(values)[:, None]) @ vectors.transpose(0, 2, 1))


class _Moderated(NamedTuple):
    """For each row E[ln Σ_j e^a_j] (n,), E[p] (n, K), and the curvature in the first K - 1 activations."""

    log_sum: Float
    P: Float
    curvature: Float


def _averages(block: Block, mean: Float, root: Float, points: Float, design: Design) -> ValueGradHess:
    mu, K = design.activate(block, mean), len(mean)
    L = _factors(design.regressors(block.X), root, K)
    found = _Moderated(np.empty(len(mu)), np.empty_like(mu), np.empty_like(L))
    turn = _turns(block.X, len(points))
    for j, z in enumerate(points):
        rows = np.flatnonzero(turn == j)
        for part, value in zip(found, _moderated(mu[rows], L[rows], z), strict=True):
            part[rows] = value
    T = block.codes if block.codes.ndim == 2 else np.eye(K)[block.codes]
    log_p, slope, curvature = np.einsum("nk,nk->n", T, mu) - found.log_sum, T - found.P, found.curvature
    if block.weight is not None:
        log_p, slope = block.weight * log_p, block.weight[:, None] * slope
        curvature = block.weight[:, None, None] * curvature
    return ValueGradHess(float(log_p.sum()), design.collect(block, slope), _hessian(block, curvature, design))


def _turns(X: Rows, n_sets: int) -> Array:
    """Which set of points each row is given, (n,): a number made of the bits of its values.

    So a row has the same points wherever it stands, and a row of weight k is k rows.
    """
    bits = (to_dense(X).astype(np.float64) + 0.0).view(np.uint64)  # minus zero is zero
    odd = np.random.default_rng(0).integers(2**64, size=bits.shape[1] + 1, dtype=np.uint64) | np.uint64(1)
    mixed = (bits * odd[1:]).sum(axis=1, dtype=np.uint64)
    mixed ^= mixed >> np.uint64(32)
    return np.asarray((mixed * odd[0] >> np.uint64(40)) % np.uint64(n_sets))


def _factors(Phi: Array, root: Float, K: int) -> Float:
    """L with L L' = the covariance of a_k - a_K, k < K, of each row, (n, K - 1, K - 1); R is upper triangular."""
    P = Phi.shape[1]
    parts = root.reshape(K, P, K * P)
    cov = np.empty((len(Phi), K - 1, K - 1))
    for rows in row_blocks(len(Phi), (K - 1) * K * P):
        spread = np.zeros((len(Phi[rows]), K - 1, K * P))
        for k in range(K - 1):
            spread[:, k, k * P :] = Phi[rows] @ (parts[k] - parts[-1])[:, k * P :]
        np.matmul(spread, spread.transpose(0, 2, 1), out=cov[rows])
    np.einsum("nkk->nk", cov)[:] += NARROWEST
    return np.asarray(np.linalg.cholesky(cov), dtype=np.float64)


def _moderated(mu: Float, L: Float, z: Float) -> _Moderated:
    """Averages over the points z (m, K - 1)."""
    K = mu.shape[1]
    A = np.zeros((K, len(mu), len(z)))  # class by class: sums over classes then run along contiguous rows
    for k in range(K - 1):
        A[k] = L[:, k, : k + 1] @ z[:, : k + 1].T + (mu[:, k] - mu[:, -1])[:, None]
    top = A.max(axis=0)
    P = np.exp(A - top)
    total = P.sum(axis=0)
    P /= total
    log_sum = mu[:, -1] + (top + np.log(total)).mean(axis=1)
    # From the derivative in L, E[p z'], to that in L L'.
    lower = np.tril(L.transpose(0, 2, 1) @ np.tril(np.stack([p @ z for p in P[:-1]], axis=1) / len(z)))
    np.einsum("nkk->nk", lower)[:] /= 2
    inverse = np.linalg.inv(L)
    curvature = inverse.transpose(0, 2, 1) @ (lower + lower.transpose(0, 2, 1)) @ inverse
    return _Moderated(log_sum, P.mean(axis=2).T, curvature)


def _hessian(block: Block, curvature: Float, design: Design) -> Float:
    """Σ_n curvature_n ⊗ φ̃_n φ̃_n', (KP, KP), from one product for each pair of classes.

    A function added to all activations changes nothing: each row of a curvature, and of blocks, sums to zero.
    """
    P, K = design.width, curvature.shape[1] + 1
    H = np.zeros((K, P, K, P))
    for j in range(K):
        for k in range(j):
            entry = -curvature[:, j, k] if j < K - 1 else curvature[:, k].sum(axis=1)
            pair = design.gram(block, entry)
            H[j, :, k] = H[k, :, j] = -pair
            H[j, :, j] += pair
            H[k, :, k] += pair
    return H.reshape(K * P, K * P)
