# SPDX-License-Identifier: BSD-3-Clause
"""The softmax averaged over Gaussian activations a ~ N(mu, Sigma): probabilities of K classes.

    p_k = ∫ softmax_k(a) N(a | mu, Sigma) da

The softmax is one over a sum of pairwise odds, softmax_k(a) = 1 / Σ_j e^-(a_k - a_j), and of each pair alone the
integral is known: a_k - a_j ~ N(mu_k - mu_j, Sigma_kk + Sigma_jj - 2 Sigma_kj) and its averaged sigmoid has log-odds
L_kj (`logit_normal_log_odds`). Putting those odds into the sum and normalising,

    p_k ∝ 1 / Σ_j e^-L_kj                                                                      `softmax_normal`

which is Daunizeau's (2017) approximation with exact pairs. It uses the whole covariance, does not change when one
random number is added to all activations, is exact for K = 2, for Sigma = 0 and for exchangeable classes, and
elsewhere is wrong by a few thousandths as a rule. The older rule e^(κ_k mu_k), PRML (4.153) for each class alone,
has none of these properties: `softmax_probit_rule`.

`softmax_normal_qmc` converges to the integral: scrambled Sobol' points, in several independent replicates whose
spread is the reported standard error.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from separatrix._arguments import check_count, generator
from separatrix._array import Array, Float
from separatrix._threads import single_thread_blas
from separatrix.bayesian.logistic_normal import log_odds, shrinkage

__all__ = ["Estimate", "softmax_normal", "softmax_normal_qmc", "softmax_probit_rule"]

BLOCK_NUMBERS = 1 << 18  # floating-point numbers in the temporaries of one block
ROUNDING = 1e-9  # how far below zero, relative, rounding may leave a variance


class Estimate(NamedTuple):
    """Probabilities (n, K) and their standard errors (n, K)."""

    probability: Float
    standard_error: Float


def softmax_normal(mu: ArrayLike, cov: ArrayLike | None = None, *, factor: ArrayLike | None = None) -> Float:
    """p_k ∝ 1 / Σ_j e^-L_kj with the exact log-odds L_kj of each pair of classes.

    Parameters
    ----------
    mu : array of shape (n, K)
        Means of the activations.
    cov : array of shape (n, K, K)
        Their covariances; or
    factor : array of shape (n, K, R)
        F with Sigma = F F', which saves forming Sigma.

    Returns
    -------
    array of shape (n, K); rows sum to one.

    Examples
    --------
    >>> softmax_normal([[1.0, 0.0, 0.0]], [4.0 * np.eye(3)]).round(4)
    array([[0.4474, 0.2763, 0.2763]])
    """
    means, covariance, root = _gaussians("softmax_normal", mu, cov, factor)
    n, K = means.shape
    p = np.empty((n, K))
    for rows in _blocks(n, K * K):
        L = np.zeros((K, K, len(means[rows])))
        for k in range(K):
            for j in range(k):
                var = _pair_variance(rows, k, j, covariance, root)
                L[k, j] = log_odds(means[rows, k] - means[rows, j], var)
                L[j, k] = -L[k, j]
        p[rows] = special.softmax(-np.logaddexp.reduce(-L, axis=1).T, axis=1)
    return p


def softmax_probit_rule(mu: ArrayLike, var: ArrayLike) -> Float:
    """p_k ∝ e^(κ_k mu_k), κ_k = (1 + π var_k/8)^-½: each activation shrunk for itself, covariances ignored.

    It depends on the origin of the activations: adding a constant to all of them changes it.

    Examples
    --------
    >>> softmax_probit_rule([[1.0, 0.0, 0.0]], [[4.0, 4.0, 4.0]]).round(4)
    array([[0.4826, 0.2587, 0.2587]])
    """
    means = _means("softmax_probit_rule", mu)
    spread = np.broadcast_to(np.asarray(var, dtype=np.float64), means.shape)
    _require("softmax_probit_rule", "var", spread, (spread >= 0) & (spread < np.inf), "finite and not negative")
    return np.asarray(special.softmax(shrinkage(spread) * means, axis=1))


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
    means, covariance, root = _gaussians("softmax_normal_qmc", mu, cov, factor)
    n_rows, K = means.shape
    points = _points(K - 1, n, n_replicates, generator(rng))
    p, error = np.empty((n_rows, K)), np.empty((n_rows, K))
    for rows in _blocks(n_rows, K * points.shape[1]):
        Sigma = covariance[rows] if root is None else root[rows] @ root[rows].transpose(0, 2, 1)
        axes = _principal_axes(Sigma, rows.start)
        replicates = np.stack([_average(means[rows], axes, z) for z in points])
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
        values, vectors = np.linalg.eigh((centred + centred.transpose(0, 2, 1)) / 2)
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
        a = mu[:, None, :] + z @ axes.transpose(0, 2, 1)
    a -= a.max(axis=2, keepdims=True)
    np.exp(a, out=a)
    a /= a.sum(axis=2, keepdims=True)
    return np.asarray(a.mean(axis=1))


def _pair_variance(rows: slice, k: int, j: int, covariance: Float, root: Float | None) -> Float:
    """The variance of a_k - a_j in each row."""
    if root is not None:
        difference = root[rows, k] - root[rows, j]
        return np.asarray(np.einsum("nr,nr->n", difference, difference))
    Sigma = covariance[rows]
    size = Sigma[:, k, k] + Sigma[:, j, j]
    var = size - Sigma[:, k, j] - Sigma[:, j, k]
    wrong = np.flatnonzero(~(var >= -ROUNDING * np.abs(size)))
    if len(wrong):
        raise ValueError(
            f"softmax_normal: cov of row {rows.start + wrong[0]} is not a covariance: a_{k} - a_{j} would have the "
            f"variance {var[wrong[0]]:.3g}."
        )
    return np.maximum(var, 0.0)


def _blocks(n: int, numbers_per_row: int) -> list[slice]:
    """Rows in blocks whose temporaries stay small."""
    step = max(1, BLOCK_NUMBERS // numbers_per_row)
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def _gaussians(
    owner: str, mu: ArrayLike, cov: ArrayLike | None, factor: ArrayLike | None
) -> tuple[Float, Float, Float | None]:
    """Means (n, K), covariances (n, K, K) (empty where there are factors), and factors (n, K, R) or None."""
    means = _means(owner, mu)
    n, K = means.shape
    if (cov is None) == (factor is None):
        raise ValueError(f"{owner}: give either cov or factor.")
    name, given = ("cov", cov) if factor is None else ("factor", factor)
    spread = np.asarray(given, dtype=np.float64)
    if spread.ndim != 3 or spread.shape[:2] != (n, K) or (factor is None and spread.shape[2] != K):
        width = K if factor is None else "R"
        raise ValueError(
            f"{owner}: {name} has shape {spread.shape}; for mu of shape {means.shape} it must be ({n}, {K}, {width})."
        )
    _require(owner, name, spread, np.isfinite(spread), "finite")
    return (means, spread, None) if factor is None else (means, np.empty((0, K, K)), spread)


def _means(owner: str, mu: ArrayLike) -> Float:
    means = np.asarray(mu, dtype=np.float64)
    if means.ndim != 2 or means.shape[1] < 2:
        raise ValueError(
            f"{owner}: mu has shape {means.shape}; it must be (n, K), one column for each of K ≥ 2 classes."
        )
    _require(owner, "mu", means, np.isfinite(means), "finite")
    return means


def _require(owner: str, name: str, values: Float, fine: Array, must: str) -> None:
    """An error that names the first row at fault."""
    if not fine.all():
        at = tuple(int(i) for i in np.argwhere(~fine)[0])
        raise ValueError(f"{owner}: {name} is {values[at]} in row {at[0]}; it must be {must}.")
