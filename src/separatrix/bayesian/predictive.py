# SPDX-License-Identifier: BSD-3-Clause
"""The predictive distribution: the likelihood averaged over activations a ~ N(mu_a, var_a).         PRML §4.5.2

    p(C_1 | x, data) = ∫ σ(a) N(a | mu_a, var_a) da                                                  (4.149 - 4.151)

A Gaussian posterior N(w | m, S) makes the activation of each row Gaussian, mu_a = m'φ and var_a = φ'Sφ, so the integral
over all weights becomes an integral over one variable, or over K variables. The user can choose one of these rules:

"exact"     two classes: the integral, with an error below 1e-10. K classes: moment matching, whose error grows with
            the variance of the activations about their mean over classes, summed over classes: at most 0.01 up to a
            sum of 3 (0.001 on average), and up to 0.2 on single rows if the sum is several hundred (0.02 on average)
"qmc"       K classes: quasi-Monte Carlo with 2048 points, with an error of at most 0.02 for every variance (0.002 on
            average). Two classes: the same as "exact"
"probit"    MacKay's rule σ(κ mu), κ = (1 + π var/8)^-½; for K classes, combined from all pairs of classes, with errors
            of 0.005 to 0.05 on average                                                              (4.153)
"map"       no integral: the probability at the mean activation
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from separatrix._arguments import check_count, generator
from separatrix._array import Array, Float, Rows
from separatrix._threads import single_thread_blas
from separatrix.bayesian.logistic_normal import (
    fast_log_averages,
    log_odds,
    log_odds_size,
    row_blocks,
    shrinkage,
    softplus_moments,
)
from separatrix.likelihoods import ClassLikelihood, Derivatives, Probit
from separatrix.rows import Block
from separatrix.weights import Activations, Blend, Marginals, WeightDistribution, quantiles

RULES = ("exact", "qmc", "probit", "map")
MAX_BLOCK_FLOATS = 2**18  # floats in the temporary arrays of one block of rows
MIN_MERGED_ROWS, MAX_MERGED_FLOATS = 1000, 2**22  # with many classes, larger blocks take half the time
MAX_INTERVAL_FLOATS = 2**20  # probabilities in memory at once for intervals of K classes: 8 MB
N_QMC_POINTS = 2048  # points of predictive="qmc"
N_REPLICATES = 8  # independent scramblings of quasi-Monte Carlo points; their spread gives a standard error
N_INTERVAL_POINTS = 2048  # points of the activations for intervals of K classes
ROUNDING = 1e-13  # relative error of a centred covariance, above which its Cholesky factor exists


def average_probabilities(q: WeightDistribution, X: Rows, likelihood: ClassLikelihood, rule: str) -> Float:
    """Return p(C_k) of each row, (n, K), averaged over the weights; NaN for rows without a finite activation."""
    if rule == "map" or (q.variance_factor == 0.0 and q.blend is None):
        return class_probabilities(likelihood, q.activations_at_mean(X), "map")
    if q.blend is not None:
        return blended(q, q.blend, X, likelihood, lambda each: average_probabilities(each, X, likelihood, rule))
    if q.draws is None or not q.draws.for_averages or q.variance_factor != 1.0:
        return q.map_activations(X, lambda a: class_probabilities(likelihood, a.narrowed(q.variance_factor), rule))
    P = q.draws.probability(X, q.design, likelihood)
    P[~q.map_activations(X, lambda a: a.is_finite)] = np.nan
    return np.column_stack([1.0 - P, P]) if P.ndim == 1 else P


def blended(
    q: WeightDistribution,
    blend: Blend,
    X: Rows,
    likelihood: ClassLikelihood,
    average: Callable[[WeightDistribution], Float],
) -> Float:
    """Return Σ_j share_j average_j + Σ_s share_s p(t | x, θ_s) of each row, (n, K)."""
    averages = zip(blend.of_averages, blend.factors, strict=True)
    parts = [share * average(replace(q, blend=None, variance_factor=float(by))) for share, by in averages]
    rows = Block(X, None, None, range(X.shape[0]))
    for share, theta in zip(blend.of_vectors, blend.theta, strict=True):
        a = q.design.activate(rows, theta)
        parts.append(share * class_probabilities(likelihood, Activations(a, np.zeros(len(a))), "map"))
    return np.asarray(sum(parts))


def probability_intervals(q: WeightDistribution, X: Rows, likelihood: ClassLikelihood, tails: Float) -> Float:
    """Return quantiles of p(C_1), (n, 2), or of each p(C_k), (n, K, 2), over the weights."""
    if q.draws is not None:
        return q.draws.probability_quantiles(X, q.design, likelihood, tails)
    return q.map_activations(X, lambda a: intervals(likelihood, a, tails))


def exact_probabilities(q: WeightDistribution, X: Rows, likelihood: ClassLikelihood, n: int) -> Float:
    """Return p(C_k) of each row by the most exact rule, and its standard error, (n, 2, K)."""
    if q.variance_factor == 0.0 and q.blend is None:
        P = average_probabilities(q, X, likelihood, "map")
        return np.stack([P, np.zeros_like(P)], axis=1)

    def found(a: Activations) -> Float:
        return np.stack(probabilities_and_errors(likelihood, a.narrowed(q.variance_factor), n), axis=1)

    if q.blend is None:
        return q.map_activations(X, found)

    def part(each: WeightDistribution, which: int) -> Float:
        return exact_probabilities(each, X, likelihood, n)[:, which]

    P = blended(q, q.blend, X, likelihood, lambda each: part(each, 0))
    averages = replace(q.blend, theta=q.blend.theta[:0], of_vectors=q.blend.of_vectors[:0])  # modes have no error
    errors = np.zeros_like(P) + blended(q, averages, X, likelihood, lambda each: part(each, 1))
    return np.stack([P, errors], axis=1)


def class_probabilities(likelihood: ClassLikelihood, a: Activations, rule: str) -> Float:
    """Return p(C_k) of each row, (n, K), with NaN for rows without a finite activation."""
    if a.weights is not None and rule != "map":
        return np.tensordot(a.weights, np.stack([class_probabilities(likelihood, part, rule) for part in a.parts]), 1)
    known = a.is_finite
    if not known.all():
        P = np.full((len(known), 2 if a.mean.ndim == 1 else a.mean.shape[1]), np.nan)
        P[known] = class_probabilities(likelihood, Activations(a.mean[known], a.cov[known]), rule)
        return P
    if a.mean.ndim == 1:
        average = logit_probit_rule if rule == "probit" else logit_normal
        average = probit_normal if isinstance(likelihood, Probit) else average
        sides = (-a.mean, a.mean)
        return np.column_stack([likelihood.probability(m) if rule == "map" else average(m, a.cov) for m in sides])
    if rule == "qmc":  # one set of points, which is more accurate than the mean over smaller sets
        return softmax_normal_qmc(a.mean, a.cov, n=N_QMC_POINTS, n_replicates=1)[0]
    if rule == "map":
        return np.asarray(likelihood.probability(a.mean))
    return (softmax_probit_rule if rule == "probit" else softmax_normal)(a.mean, a.cov)


def probabilities_and_errors(likelihood: ClassLikelihood, a: Activations, n: int) -> tuple[Float, Float]:
    """Return probabilities by the most exact rule, and their standard errors; NaN if an activation is not finite."""
    if a.weights is not None:
        each = np.stack([probabilities_and_errors(likelihood, part, n) for part in a.parts])  # (J, 2, n, K)
        return np.tensordot(a.weights, each[:, 0], 1), np.sqrt(np.tensordot(a.weights**2, each[:, 1] ** 2, 1))
    if a.mean.ndim == 1:
        P = class_probabilities(likelihood, a, "exact")
        return P, np.zeros_like(P)
    known = a.is_finite
    P, error = np.full((2, *a.mean.shape), np.nan)
    P[known], error[known] = softmax_normal_qmc(a.mean[known], a.cov[known], n=n)
    return P, error


def intervals(likelihood: ClassLikelihood, a: Activations, tails: Float) -> Array:
    """Return quantiles of p(C_1), (n, 2), or of each p(C_k), (n, K, 2), with NaN if an activation is not finite."""
    if a.mean.ndim > 1:
        return class_intervals(likelihood, a, tails)
    parts = a.parts or (a,)
    weights = np.ones(1) if a.weights is None else a.weights
    means, stds = (np.stack(each) for each in zip(*((part.mean, np.sqrt(part.cov)) for part in parts), strict=True))
    bounds = Marginals(weights, means, stds).quantiles(tails)
    bounds[~a.is_finite] = np.nan
    # The probability increases with the activation, so it maps quantiles of a exactly to those of p.
    return np.asarray(likelihood.probability(bounds.ravel()).reshape(bounds.shape))


def class_intervals(likelihood: ClassLikelihood, a: Activations, tails: Float) -> Array:
    """Return quantiles of each p(C_k), (n, K, 2), with NaN for rows without a finite activation.

    The activations of a row are mean + L z for quasi-Monte Carlo points z, where L is the Cholesky factor of the
    covariance about the mean of the classes, of which the widest comes first: the order of the classes has no effect.
    Another coordinate of the points chooses the component of a mixture.
    """
    (n, K), parts = a.mean.shape, a.parts or (a,)
    z, u = interval_points(K)
    ends = np.searchsorted(u, np.cumsum(np.ones(1) if a.weights is None else a.weights))
    ends[-1] = S = len(z)
    bounds = np.full((n, K, 2), np.nan)
    known = np.flatnonzero(np.logical_and.reduce([part.is_finite for part in parts]))
    for block in row_blocks(len(known), max(1, MAX_INTERVAL_FLOATS // (K * S))):
        rows = known[block]
        A, start = np.empty((K, len(rows), S)), 0
        for part, end in zip(parts, ends, strict=True):
            with single_thread_blas():
                moved = _ordered_root(part.cov[rows]) @ z[start:end].T
            A[:, :, start:end] = np.moveaxis(moved, 1, 0) + part.mean[rows].T[:, :, None]
            start = end
        P = likelihood.probability(A.reshape(K, -1).T).T.reshape(A.shape)
        bounds[rows] = np.moveaxis(quantiles(P, tails), 0, 1)
    return bounds


@cache
def interval_points(K: int) -> tuple[Float, Float]:
    """Return points (S, K) of a standard normal, with the covariance I, and increasing uniform numbers (S,)."""
    from scipy.stats import qmc

    points = qmc.Sobol(K + 1, scramble=True, rng=np.random.default_rng(0)).random(N_INTERVAL_POINTS)
    points = points[np.argsort(points[:, 0])]
    z = special.ndtri(np.clip(points[:, 1:], 1e-300, 1 - 1e-16))
    return with_unit_covariance((z - z.mean(axis=0))[None])[0], points[:, 0]


def _ordered_root(cov: Float) -> Float:
    """Return L (n, K, K) with L L' equal to each covariance about the mean of the classes.

    It is a Cholesky factor of the classes in the order of their variance, the largest first.
    """
    centred = cov - cov.mean(axis=1, keepdims=True)
    centred -= centred.mean(axis=2, keepdims=True)
    order = np.argsort(-np.diagonal(centred, axis1=1, axis2=2), axis=1, kind="stable")
    ordered = np.take_along_axis(np.take_along_axis(centred, order[:, :, None], 1), order[:, None, :], 2)
    size = np.trace(cov, axis1=1, axis2=2)[:, None, None]
    # The last pivot of a centred covariance is rounding error of the whole covariance.
    root = np.linalg.cholesky(ordered + (ROUNDING * size + np.finfo(float).tiny) * np.eye(cov.shape[1]))
    return np.take_along_axis(root, np.argsort(order, axis=1)[:, :, None], 1)


def logit_normal(mu: ArrayLike, var: ArrayLike) -> Float:
    """Return p = ∫ σ(a) N(a | mu, var) da, with an absolute error below 1e-10.                PRML (4.151)

    Small probabilities have a small relative error too: 1e-8 down to p = 1e-15, and 1e-5 down to underflow.
    p(mu) + p(-mu) = 1 and p(0) = ½ hold exactly. It takes about twice as long as `logit_probit_rule`.
    """
    mu, var, shape = _flat_moments(mu, var)
    p = np.empty_like(mu)
    for rows in row_blocks(len(mu)):
        e = log_odds_size(np.abs(mu[rows]), var[rows])
        np.exp(np.negative(e, out=e), out=e)
        e /= 1.0 + e  # the smaller of p and 1 - p
        np.subtract(1.0, e, out=p[rows])
        np.copyto(p[rows], e, where=mu[rows] < 0)
    return p.reshape(shape)


def logit_probit_rule(mu: Float, var: Float) -> Float:
    """Return σ(κ mu) with κ = (1 + π var/8)^-½, which replaces σ(a) by Φ(a √(π/8)).           PRML (4.153)

    The error is at most 0.02.
    """
    return np.asarray(special.expit(shrinkage(var) * mu))


def probit_normal(mu: Float, var: Float) -> Float:
    """Return ∫ Φ(a) N(a | mu, var) da = Φ(mu / √(1 + var)), exactly.                          PRML (4.152)"""
    return np.asarray(special.ndtr(mu / np.sqrt(1.0 + var)))


def expected_logit(mu: ArrayLike, var: ArrayLike, t: ArrayLike) -> Derivatives:
    """Return E[ln p(t | a)], E[t - σ(a)] and E[σ(a) σ(-a)] over a ~ N(mu, var), with relative errors near 1e-8.

    The slope and the curvature are the first and (negated) second derivative of E[ln p] in mu, and by Price's theorem
    the derivative of E[ln p] in var is minus half of the curvature. ``t`` is 0 or 1, or the probability of 1.
    """
    mu, var, shape = _flat_moments(mu, var)
    t = np.broadcast_to(np.asarray(t, dtype=np.float64), shape).ravel()
    log_p, slope, curvature = found = np.empty((3, len(mu)))
    for rows in row_blocks(len(mu)):
        mean, target, m = mu[rows], t[rows], np.abs(mu[rows])
        q, f, c = (np.exp(log_average) for log_average in fast_log_averages(m, var[rows]))
        # q belongs to the less probable side, so that neither q nor 1 - q is a difference of nearly equal numbers.
        up, down = np.where(mean > 0, 1.0 - q, q), np.where(mean > 0, q, 1.0 - q)  # E[σ(a)], E[σ(-a)]
        log_p[rows] = -f - (target * np.where(mean < 0, m, 0.0) + (1.0 - target) * np.where(mean > 0, m, 0.0))
        slope[rows] = target * down - (1.0 - target) * up
        curvature[rows] = c
    return Derivatives(*found.reshape(3, *shape))


@cache
def hermite_nodes(n: int) -> tuple[Float, Float]:
    """Return nodes and weights for averages over the standard normal; the weights sum to one."""
    x, weight = special.roots_hermitenorm(n)
    return x, weight / weight.sum()


def _flat_moments(mu: ArrayLike, var: ArrayLike) -> tuple[Float, Float, tuple[int, ...]]:
    """Return mu and var as flat float64 arrays of equal length, and their common shape."""
    means, spread = np.broadcast_arrays(np.asarray(mu, dtype=np.float64), np.asarray(var, dtype=np.float64))
    return np.ascontiguousarray(means).ravel(), np.ascontiguousarray(spread).ravel(), means.shape


# -- K classes, by moment matching -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SoftMaximum:
    """Gaussian approximation of ln Σ_j e^a_j over some of the classes, with mean and variance (n,).

    ``weight`` (n, K) are its average derivatives in the activations, and ``cov`` (n, K) its covariances with them.
    """

    mean: Float
    var: Float
    weight: Float
    cov: Float

    def covariance(self, other: SoftMaximum) -> Float:
        """Return the covariance with another soft maximum, (n,)."""
        return np.asarray(np.einsum("nk,nk->n", self.weight, other.cov))

    def merge(self, other: SoftMaximum) -> SoftMaximum:
        """Return ln(e^a + e^b), computed as an increase of the one with the larger mean."""
        a, b = self, other
        swap = b.mean > a.mean
        high, low = np.where(swap, b.mean, a.mean), np.where(swap, a.mean, b.mean)
        high_var, shared = np.where(swap, b.var, a.var), a.covariance(b)
        rho, rise, spread = softplus_moments(low - high, np.maximum(a.var + b.var - 2 * shared, 0.0))
        var = np.maximum(high_var + 2 * rho * (shared - high_var) + spread, 0.0)
        of_b = np.where(swap, 1.0 - rho, rho)[:, None]
        weight, cov = (1 - of_b) * a.weight + of_b * b.weight, (1 - of_b) * a.cov + of_b * b.cov
        return SoftMaximum(high + rise, var, weight, cov)


def softmax_normal(mu: ArrayLike, cov: ArrayLike) -> Float:
    """Return p_k = ∫ softmax_k(a) N(a | mu, Sigma) da by moment matching; (n, K), rows sum to one.

    p_k = E[σ(a_k - r_k)] with r_k = ln Σ_{j≠k} e^a_j. For two classes r_k is the other activation and the integral is
    known (`logit_normal`). For more classes, r_k is built from pairs, ln(e^a + e^b) = a + ln(1 + e^d), d = b - a. Their
    moments under a Gaussian are known as well: with ρ = E[σ(d)],

        mean            E[a] + E[ln(1 + e^d)]
        variance        V[a] + 2 ρ C[a, d] + V[ln(1 + e^d)]
        covariances     C[ln(e^a + e^b), c] = (1 - ρ) C[a, c] + ρ C[b, c]                       (Stein's lemma)

    These are exact for Gaussian a, b, c. Each result is then approximated by a Gaussian. This is Clark's (1961) method
    for the maximum of random variables, with a soft maximum. Each r_k combines a sum over the first k - 1 classes and
    one over the last K - k classes, so that K classes need 3K pairs.

    The result uses the whole covariance, does not change if one random variable is added to all activations, and is
    exact for K = 2 and for Sigma = 0. The error grows with v, the trace of the covariance centred over the classes. For
    K = 3 to 10, and independent, correlated or nearly singular covariances, the largest error of 9000 rows is

        v up to            0.3       1        3       10       100      1000
        largest error      0.0005    0.003    0.01    0.04     0.1      0.2
        average of rows    0.0001    0.0003   0.001   0.004    0.01     0.02

    `softmax_normal_qmc` converges to the integral.

    ``mu`` (n, K) and ``cov`` (n, K, K) are the means and covariances of the activations.
    """
    mean, Sigmas = np.asarray(mu, dtype=np.float64), np.asarray(cov, dtype=np.float64)
    n, K = mean.shape
    p = np.empty((n, K))
    at_once = (MAX_BLOCK_FLOATS // (4 * K * K), min(MIN_MERGED_ROWS, MAX_MERGED_FLOATS // (4 * K * K)), 1)
    for rows in row_blocks(n, max(at_once)):
        m, Sigma = mean[rows], Sigmas[rows]
        order = np.argsort(-m, axis=1, kind="stable")  # makes the result independent of the order of the classes
        m = np.take_along_axis(m, order, axis=1)
        Sigma = np.take_along_axis(np.take_along_axis(Sigma, order[:, :, None], axis=1), order[:, None, :], axis=2)
        unit = [np.tile(e, (len(m), 1)) for e in np.eye(K)]
        single = [SoftMaximum(m[:, k], Sigma[:, k, k], unit[k], Sigma[:, k]) for k in range(K)]
        before, after = [single[0]], [single[-1]]
        for k in range(1, K - 1):
            before.append(before[-1].merge(single[k]))
            after.append(single[K - 1 - k].merge(after[-1]))
        others = [after[-1], *(before[k - 1].merge(after[K - 2 - k]) for k in range(1, K - 1)), before[-1]]
        found = np.empty_like(m)
        for k, (one, rest) in enumerate(zip(single, others, strict=True)):  # a class against all others
            var = one.var + rest.var - 2 * one.covariance(rest)
            found[:, k] = special.expit(log_odds(one.mean - rest.mean, np.maximum(var, 0.0)))
        np.put_along_axis(p[rows], order, found / found.sum(axis=1, keepdims=True), axis=1)
    return p


def softmax_probit_rule(mu: ArrayLike, cov: ArrayLike) -> Float:
    """Return p_k ∝ 1 / Σ_j e^(-κ_kj (mu_k - mu_j)), κ_kj = (1 + π V[a_k - a_j]/8)^-½: PRML (4.153) for each pair.

    Without κ this is the softmax, and for K = 2 it is the rule of two classes. Only differences of activations enter,
    so a random variable added to all of them has no effect. The average error is 0.005 if the variances are ¼, 0.02 if
    they are one, and 0.05 if they are large.
    """
    m, Sigma = np.asarray(mu, dtype=np.float64), np.asarray(cov, dtype=np.float64)
    var = np.einsum("nkk->nk", Sigma)
    spread = np.maximum(var[:, :, None] + var[:, None, :] - 2 * Sigma, 0.0)
    log_p = -special.logsumexp(shrinkage(spread) * (m[:, None, :] - m[:, :, None]), axis=2)
    return np.asarray(special.softmax(log_p, axis=1))


# -- K classes, by quasi-Monte Carlo -----------------------------------------------------------------------------


def softmax_normal_qmc(
    mu: ArrayLike,
    cov: ArrayLike,
    *,
    n: int = 256,
    rng: int | np.random.Generator | None = None,
    n_replicates: int = N_REPLICATES,
) -> tuple[Float, Float]:
    """Return p = ∫ softmax(a) N(a | mu, Sigma) da by quasi-Monte Carlo, and its standard error.

    p is the mean of softmax(mu + A z_i) over points z_i, where A A' is Sigma centred over the classes: only differences
    of activations matter, so the integral is over the K - 1 principal axes, the widest first. The z_i are scrambled
    Sobol' points, transformed to the normal distribution and paired with their mirror images -z_i, which integrates odd
    functions exactly. Independent scramblings give independent estimates: their mean is the result, and their spread
    gives its standard error, which is NaN for one replicate. One replicate of all points is the most accurate; its
    points are also scaled to the covariance I, which integrates quadratic functions exactly.

    ``mu`` (n, K) and ``cov`` (n, K, K) are the means and covariances of the activations, and the results are (n, K).
    The total number of points ``n``, divided by ``n_replicates``, must be a power of two. If ``rng`` is None, repeated
    calls give identical results.
    """
    mean, Sigmas = np.asarray(mu, dtype=np.float64), np.asarray(cov, dtype=np.float64)
    n_rows, K = mean.shape
    from scipy.stats import qmc

    each, rest = divmod(check_count("softmax_normal_qmc", "n", n), n_replicates)
    if rest or each < 2 or each & (each - 1):
        near = n_replicates * 2 ** max(1, round(np.log2(max(n / n_replicates, 2.0))))
        raise ValueError(
            f"softmax_normal_qmc(n={n}): n must be {n_replicates} times a power of two, so that the points are "
            f"balanced; try n={near}."
        )
    half, source = each.bit_length() - 2, generator(rng)  # the mirror images are the other half
    drawn = [qmc.Sobol(K - 1, scramble=True, rng=source).random_base2(half) for _ in range(n_replicates)]
    z = special.ndtri(np.clip(np.stack(drawn), 1e-300, 1 - 1e-16))
    points = np.concatenate([z, -z], axis=1)  # (replicates, points, K - 1), symmetric about zero
    if n_replicates == 1 and each > K:
        points = with_unit_covariance(points)
    p, error = np.empty((n_rows, K)), np.empty((n_rows, K))
    for rows in row_blocks(n_rows, max(1, MAX_BLOCK_FLOATS // (K * points.shape[1]))):
        # Principal axes A (n, K, K-1): A A' is the covariance about the mean of the activations.
        centred = Sigmas[rows] - Sigmas[rows].mean(axis=1, keepdims=True)
        centred -= centred.mean(axis=2, keepdims=True)
        with single_thread_blas():
            values, vectors = np.linalg.eigh(centred)
        axes = vectors[:, :, :0:-1] * np.sqrt(np.maximum(values[:, None, :0:-1], 0.0))
        replicates = np.empty((n_replicates, *mean[rows].shape))
        for replicate, z in zip(replicates, points, strict=True):
            with single_thread_blas():
                a = mean[rows, :, None] + axes @ z.T  # (n, K, m): sums over classes run along contiguous points
            a -= a.max(axis=1, keepdims=True)
            np.exp(a, out=a)
            a /= a.sum(axis=1, keepdims=True)
            a.mean(axis=2, out=replicate)
        p[rows] = replicates.mean(axis=0)
        error[rows] = replicates.std(axis=0, ddof=1) / np.sqrt(n_replicates) if n_replicates > 1 else np.nan
    return p, error


def with_unit_covariance(points: Float) -> Float:
    """Scale sets of points (sets, n, dimensions), symmetric about zero, to the covariance I."""
    values, vectors = np.linalg.eigh(points.transpose(0, 2, 1) @ points / points.shape[1])
    return np.asarray(points @ (vectors / np.sqrt(values)[:, None]) @ vectors.transpose(0, 2, 1))
