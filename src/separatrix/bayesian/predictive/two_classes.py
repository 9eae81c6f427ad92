# SPDX-License-Identifier: BSD-3-Clause
"""A function of one activation, averaged over a ~ N(mu_a, var_a): two classes.                        PRML §4.5.2

    logit_normal        ∫ σ(a) N(a | mu, var) da, to 1e-10                                               (4.151)
    logit_probit_rule   σ(κ mu), κ = (1 + π var/8)^-½: MacKay's approximation, wrong by up to 0.02       (4.153)
    probit_normal       Φ(mu / √(1 + var)), exact for the probit link                                    (4.152)
    expected_logit      ln p, slope and curvature of the logit, averaged: what a variational posterior is made of
    expected            any function of the activation, averaged by Gauss-Hermite quadrature

Every function is a pure function of (mu, var), row by row, for every finite mu and every finite var ≥ 0. The
mathematics behind the first is in `logistic_normal`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from separatrix._arguments import check_count
from separatrix._array import Array, Float
from separatrix.bayesian.predictive.logistic_normal import blocks, fast_log_averages, log_odds, log_odds_size, shrinkage
from separatrix.likelihoods import Derivatives

__all__ = [
    "expected",
    "expected_logit",
    "logit_normal",
    "logit_normal_log_odds",
    "logit_probit_rule",
    "probit_normal",
]


def logit_normal(mu: ArrayLike, var: ArrayLike) -> Float:
    """p = ∫ σ(a) N(a | mu, var) da, with an absolute error under 1e-10 everywhere.

    A probability near zero is right relatively too: to 1e-8 down to p = 1e-15, and to 1e-5 as far as floating point
    goes. p(mu) + p(-mu) = 1 and p(0) = ½ hold exactly. It costs about twice as much as `logit_probit_rule`.

    Examples
    --------
    >>> logit_normal([0.0, 2.0, 2.0], [9.0, 0.0, 9.0]).round(8)
    array([0.5       , 0.88079708, 0.71742399])
    """
    mu, var, shape = _rows("logit_normal", mu, var)
    p = np.empty_like(mu)
    for rows in blocks(len(mu)):
        e = log_odds_size(np.abs(mu[rows]), var[rows])
        np.exp(np.negative(e, out=e), out=e)
        e /= 1.0 + e  # the smaller of p and 1 - p
        np.subtract(1.0, e, out=p[rows])
        np.copyto(p[rows], e, where=mu[rows] < 0)
    return p.reshape(shape)


def logit_normal_log_odds(mu: ArrayLike, var: ArrayLike) -> Float:
    """ln p - ln(1 - p) for the p of `logit_normal`: the activation that a point estimate would need to say the same.

    It has the sign of mu, is never further from zero than mu, and does not overflow where p rounds to 0 or 1.

    Examples
    --------
    >>> logit_normal_log_odds([-2.0, 100.0], [9.0, 9.0]).round(5)
    array([-0.93172, 95.5    ])
    """
    mu, var, shape = _rows("logit_normal_log_odds", mu, var)
    return log_odds(mu, var).reshape(shape)


def logit_probit_rule(mu: ArrayLike, var: ArrayLike) -> Float:
    """σ(κ mu) with κ = (1 + π var/8)^-½: the integral as if σ(a) were Φ(a √(π/8)).            PRML (4.153)

    Examples
    --------
    >>> logit_probit_rule([0.0, 2.0, 2.0], [9.0, 0.0, 9.0]).round(4)
    array([0.5   , 0.8808, 0.7189])
    """
    mu, var, shape = _rows("logit_probit_rule", mu, var)
    return np.asarray(special.expit(shrinkage(var) * mu)).reshape(shape)


def probit_normal(mu: ArrayLike, var: ArrayLike) -> Float:
    """∫ Φ(a) N(a | mu, var) da = Φ(mu / √(1 + var)), exactly.                                 PRML (4.152)

    Examples
    --------
    >>> probit_normal([0.0, 2.0], [9.0, 3.0]).round(6)
    array([0.5     , 0.841345])
    """
    mu, var, shape = _rows("probit_normal", mu, var)
    return np.asarray(special.ndtr(mu / np.sqrt(1.0 + var))).reshape(shape)


def expected_logit(mu: ArrayLike, var: ArrayLike, t: ArrayLike) -> Derivatives:
    """E[ln p(t | a)], E[t - σ(a)] and E[σ(a) σ(-a)] over a ~ N(mu, var), with relative errors near 1e-8.

    The slope and the curvature are the first and (negated) second derivative of E[ln p] in mu, and by Price's theorem
    the derivative of E[ln p] in var is minus half of the curvature.

    Parameters
    ----------
    mu : array of shape (n,)
        Means of the activations.
    var : array of shape (n,)
        Their variances.
    t : array of shape (n,)
        Codes 0 and 1, or probabilities of 1.

    Examples
    --------
    >>> [x.round(6) for x in expected_logit([2.0], [9.0], [1])]
    [array([-0.617524]), array([0.282576]), array([0.097071])]
    """
    mu, var, shape = _rows("expected_logit", mu, var)
    t = np.broadcast_to(np.asarray(t, dtype=np.float64), shape).ravel()
    found = np.empty((3, len(mu)))
    for rows in blocks(len(mu)):
        found[:, rows] = _expected_logit(mu[rows], var[rows], t[rows])
    log_p, slope, curvature = found.reshape(3, *shape)
    return Derivatives(log_p, slope, curvature)


def _expected_logit(mu: Float, var: Float, t: Float) -> tuple[Float, Float, Float]:
    """From the averages of the smaller side; nothing is subtracted from one where t is 0 or 1."""
    m = np.abs(mu)
    q, f, c = (np.exp(log_average) for log_average in fast_log_averages(m, var))
    up, down = np.where(mu > 0, 1.0 - q, q), np.where(mu > 0, q, 1.0 - q)  # E[σ(a)], E[σ(-a)]
    log_p = -f - (t * np.where(mu < 0, m, 0.0) + (1.0 - t) * np.where(mu > 0, m, 0.0))
    return log_p, t * down - (1.0 - t) * up, c


def expected(function: Callable[[Float], Array], mu: ArrayLike, var: ArrayLike, *, n_nodes: int = 64) -> Float:
    """E[g(a)] over a ~ N(mu, var) by Gauss-Hermite quadrature: Σ_i w_i g(mu + √var x_i).

    Exact for polynomials of degree 2 ``n_nodes`` - 1. Where g turns on a scale of one, as the logarithm of a logistic
    or probit likelihood does, 64 nodes give nine digits up to a variance of 4, six up to 9 and four up to 25; 128 nodes
    do so for twice the standard deviation. The logit has `expected_logit`, for every variance.

    Parameters
    ----------
    function : callable
        g, called once for each node with the activations (n,) of all rows. It may return more than one number for
        each row, as an array whose last axis is the rows.
    mu : array of shape (n,)
        Means of the activations.
    var : array of shape (n,)
        Their variances.
    n_nodes : int, default 64
        How often the function is called.

    Examples
    --------
    >>> from separatrix.likelihoods import Logit
    >>> t = np.array([1, 0])
    >>> expected(lambda a: np.stack(Logit().derivatives(a, t)), [0.5, 0.5], [1.0, 4.0]).round(6)
    array([[-0.581726, -1.336584],
           [ 0.397973, -0.575243],
           [ 0.198986,  0.148613]])
    """
    mu, var, shape = _rows("expected", mu, var)
    nodes, weights = _hermite(check_count("expected", "n_nodes", n_nodes))
    s = np.sqrt(var)
    total = weights[0] * np.asarray(function(mu + nodes[0] * s))
    for x, weight in zip(nodes[1:], weights[1:], strict=True):
        total += weight * np.asarray(function(mu + x * s))
    return np.asarray(total.reshape(*total.shape[:-1], *shape))


@cache
def _hermite(n: int) -> tuple[Float, Float]:
    """Nodes and weights for the standard normal; the weights sum to one."""
    x, w = special.roots_hermitenorm(n)
    return x, w / w.sum()


def _rows(owner: str, mu: ArrayLike, var: ArrayLike) -> tuple[Float, Float, tuple[int, ...]]:
    """mu and var as flat float64 arrays of one length, and the shape they had."""
    given, spread = np.broadcast_arrays(np.asarray(mu, dtype=np.float64), np.asarray(var, dtype=np.float64))
    flat, variance = np.ascontiguousarray(given).ravel(), np.ascontiguousarray(spread).ravel()
    for name, values, fine in (("mu", flat, np.isfinite(flat)), ("var", variance, _is_variance(variance))):
        if not fine.all():
            row = int(fine.argmin())
            must = "finite" if name == "mu" else "finite and not negative"
            raise ValueError(f"{owner}: {name} is {values[row]} in row {row}; it must be {must}.")
    return flat, variance, given.shape


def _is_variance(var: Float) -> Array:
    return (var >= 0) & (var < np.inf)
