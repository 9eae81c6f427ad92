# SPDX-License-Identifier: BSD-3-Clause
"""The softmax averaged over Gaussian activations, by quasi-Monte-Carlo with a reported error.

    p = ∫ softmax(a) N(a | mu, Sigma) da ≈ mean of softmax(mu + A z_i),       A A' = Sigma about the mean of the classes

z_i are scrambled Sobol' points, taken to the normal distribution, each beside its mirror image -z_i, which integrates
odd functions exactly. Several independent scramblings give several independent answers: their mean is the estimate,
and their spread its standard error.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from separatrix._arguments import check_count, generator
from separatrix._array import Float
from separatrix._threads import single_thread_blas
from separatrix.bayesian.predictive.softmax import ROUNDING, Activations, row_blocks

__all__ = ["Estimate", "softmax_normal_qmc"]


class Estimate(NamedTuple):
    """Probabilities (n, K) and their standard errors (n, K)."""

    probability: Float
    standard_error: Float


def softmax_normal_qmc(
    mu: ArrayLike,
    cov: ArrayLike | None = None,
    *,
    factor: ArrayLike | None = None,
    n: int = 256,
    n_replicates: int = 8,
    rng: int | np.random.Generator | None = None,
) -> Estimate:
    """The integral by quasi-Monte-Carlo, and how far off it may be.

    Only differences of activations matter, so the K - 1 principal axes of the centred covariance are integrated over,
    the widest first. Each point stands beside its mirror image.

    Parameters
    ----------
    mu : array of shape (n, K)
        Means of the activations.
    cov : array of shape (n, K, K)
        Their covariances; or
    factor : array of shape (n, K, R)
        F with Sigma = F F'.
    n : int, default 256
        Points in all; each replicate has n / n_replicates, which must be a power of two.
    n_replicates : int, default 8
        Independent scramblings, at least two.
    rng : int or Generator, optional
        Where the scramblings come from; None always gives the same ones.

    Returns
    -------
    probability, standard_error : arrays of shape (n, K)

    Examples
    --------
    >>> estimate = softmax_normal_qmc([[1.0, 0.0, 0.0]], [4.0 * np.eye(3)], n=4096)
    >>> estimate.probability.round(3), bool(estimate.standard_error.max() < 1e-3)
    (array([[0.458, 0.271, 0.271]]), True)
    """
    given = Activations.read("softmax_normal_qmc", mu, cov, factor)
    n_rows, K = given.mean.shape
    points = _points(K - 1, n, n_replicates, generator(rng))
    p, error = np.empty((n_rows, K)), np.empty((n_rows, K))
    for rows in row_blocks(n_rows, K * points.shape[1]):
        axes = _principal_axes(given.covariance(rows), rows.start)
        replicates = np.stack([_average(given.mean[rows], axes, z) for z in points])
        p[rows] = replicates.mean(axis=0)
        error[rows] = replicates.std(axis=0, ddof=1) / np.sqrt(n_replicates)
    return Estimate(p, error)


def _points(dimension: int, n: int, n_replicates: int, rng: np.random.Generator) -> Float:
    """Standard normal points (replicates, points, dimension), symmetric about zero."""
    from scipy.stats import qmc

    check_count("softmax_normal_qmc", "n_replicates", n_replicates, least=2)
    each, rest = divmod(check_count("softmax_normal_qmc", "n", n), n_replicates)
    if rest or each < 2 or each & (each - 1):
        near = n_replicates * 2 ** max(1, round(np.log2(max(n / n_replicates, 2.0))))
        raise ValueError(
            f"softmax_normal_qmc(n={n}, n_replicates={n_replicates}): n / n_replicates must be a power of two, at "
            f"least 2, for the points to be balanced; try n={near}."
        )
    half = each.bit_length() - 2  # the mirror images are the other half
    drawn = [qmc.Sobol(dimension, scramble=True, rng=rng).random_base2(half) for _ in range(n_replicates)]
    z = special.ndtri(np.clip(np.stack(drawn), 1e-300, 1 - 1e-16))
    return np.concatenate([z, -z], axis=1)


def _principal_axes(Sigma: Float, first: int) -> Float:
    """A (n, K, K-1) with A A' = the covariance about the mean of the activations, columns by falling length."""
    centred = Sigma - Sigma.mean(axis=1, keepdims=True)
    centred -= centred.mean(axis=2, keepdims=True)
    with single_thread_blas():
        values, vectors = np.linalg.eigh(centred)
    wrong = np.flatnonzero(values[:, 0] < -ROUNDING * np.maximum(values[:, -1], np.finfo(float).tiny))
    if len(wrong):
        raise ValueError(
            f"softmax_normal_qmc: cov of row {first + wrong[0]} is not a covariance: it has the eigenvalue "
            f"{values[wrong[0], 0]:.3g}."
        )
    return np.asarray(vectors[:, :, :0:-1] * np.sqrt(np.maximum(values[:, None, :0:-1], 0.0)))


def _average(mu: Float, axes: Float, z: Float) -> Float:
    """Mean over the points z (m, K-1) of softmax(mu + A z), (n, K)."""
    with single_thread_blas():
        a = mu[:, :, None] + axes @ z.T  # (n, K, m): sums over classes then run along contiguous points
    a -= a.max(axis=1, keepdims=True)
    np.exp(a, out=a)
    a /= a.sum(axis=1, keepdims=True)
    return np.asarray(a.mean(axis=2))
