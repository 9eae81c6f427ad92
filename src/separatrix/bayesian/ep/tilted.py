# SPDX-License-Identifier: BSD-3-Clause
"""One row's likelihood times a Gaussian over its activation: the normaliser, and what it says of the moments.

    Z(mu) = ∫ p(t | a) N(a | mu, v) da,       p̂(a) = p(t | a) N(a | mu, v) / Z

The derivatives of ln Z in mu are the cumulants of the tilted density p̂, because the Gaussian is an exponential family
in mu/v:

    mean  mu + v (ln Z)',       variance  v + v² (ln Z)'',       third cumulant  v³ (ln Z)'''

So ln Z is a likelihood of mu like any other, the one of t softened by v, and comes as one: log_z, slope, curvature and
skew, with the signs that `likelihoods` gives them.

    probit        Z = Φ(mu / √(1 + v)), the probit likelihood in other units                        PRML (4.152)
    logit         sums of logistic_normal.py, differentiated twice more: exact to rounding for every mu and v
    label noise   ε + (1 - ε_0 - ε_1) E[σ]: linear in the same sums                                 PRML (4.117)
    soft targets  σ(a)^t σ(-a)^(1-t) = σ(a) e^-(1-t)a, which moves the mean of the Gaussian by -(1-t) v: the same sums
    anything else Gauss-Hermite quadrature about the mean of p̂, in units of its standard deviation
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from scipy import special

from separatrix._array import Array, Float
from separatrix._special import LOG_SQRT_2PI
from separatrix.bayesian.predictive.logistic_normal import NO_WIDTH, TERMS, alternating_weights, closed_terms
from separatrix.likelihoods import LabelNoise, Likelihood, Logit, Probit

__all__ = ["Tilted", "sigmoid_derivatives", "tilted"]

NODES = 40
ROUNDS = 6  # of finding where the tilted density lies; each starts from what the one before found


class Tilted(NamedTuple):
    """ln Z, its slope, and minus its second and third derivatives in the mean of the Gaussian; each (n,)."""

    log_z: Float
    slope: Float
    curvature: Float
    skew: Float


def tilted(likelihood: Likelihood, mu: Float, var: Float, t: Array, *, power: Float | None = None) -> Tilted:
    """ln ∫ p(t | a)^power N(a | mu, var) da and its derivatives in mu, for each row.

    Parameters
    ----------
    likelihood : Likelihood
        One with one activation for each row.
    mu, var : arrays of shape (n,)
        Mean and variance of the activations; var above zero.
    t : array of shape (n,)
        Codes 0 and 1, or probabilities of 1.
    power : array of shape (n,), optional
        In (0, 1]; 1 where it is not given.

    Examples
    --------
    >>> t, one = np.array([1, 1]), np.ones(2)
    >>> [part.round(6) for part in tilted(Probit(), 0 * one, np.array([1e-12, 3.0]), t)][:2]
    [array([-0.693147, -0.693147]), array([0.797885, 0.398942])]
    """
    hard = t.dtype.kind != "f" or np.isin(t, (0.0, 1.0))
    whole = np.broadcast_to(hard | isinstance(likelihood, Logit), t.shape)
    if not isinstance(likelihood, Logit | Probit | LabelNoise):
        whole = np.zeros(t.shape, dtype=bool)
    elif power is not None:
        whole = whole & (power == 1.0)
    if whole.all():
        return _closed(likelihood, mu, var, t)
    found = np.empty((4, len(mu)))
    rest = ~whole
    found[:, rest] = _by_quadrature(likelihood, mu[rest], var[rest], t[rest], 1.0 if power is None else power[rest])
    if whole.any():
        found[:, whole] = _closed(likelihood, mu[whole], var[whole], t[whole])
    return Tilted(*found)


def _closed(likelihood: Likelihood, mu: Float, var: Float, t: Array) -> Tilted:
    if isinstance(likelihood, Probit):
        unit = np.sqrt(1.0 + var)
        log_z, slope, curvature = likelihood.derivatives(mu / unit, t)
        return Tilted(log_z, slope / unit, curvature / unit**2, likelihood.skew(mu / unit, t) / unit**3)
    if isinstance(likelihood, LabelNoise):
        eps0, eps1 = likelihood.rates
        sign = np.where(t > 0.5, 1.0, -1.0)
        return _flipped(sign, _noisy(sign * mu, var, np.where(t > 0.5, eps0, eps1), 1.0 - eps0 - eps1))
    # The side that most of the target is on, and what of it is on the other.
    sign, other = np.where(t > 0.5, 1.0, -1.0), np.where(t > 0.5, 1.0 - t, t * 1.0)
    m = sign * mu
    moved = _noisy(m - other * var, var, np.zeros_like(m), 1.0)
    log_z = moved.log_z + other * (0.5 * other * var - m)
    return _flipped(sign, moved._replace(log_z=log_z, slope=moved.slope - other))


def _flipped(sign: Float, of_margin: Tilted) -> Tilted:
    """From derivatives in the margin m = ±mu to derivatives in mu."""
    log_z, slope, curvature, skew = of_margin
    return Tilted(log_z, sign * slope, curvature, sign * skew)


def _noisy(m: Float, var: Float, floor: Float, contrast: float) -> Tilted:
    """ln E[floor + contrast σ(a)] over a ~ N(m, var)."""
    log_q, log_c, c1, c2 = sigmoid_derivatives(np.abs(m), np.sqrt(var))
    with np.errstate(divide="ignore"):  # ln 0 of no noise, which adds nothing
        low = np.logaddexp(np.log(floor), np.log(contrast) + log_q)
    top = floor + contrast
    high = np.log(top) + np.log1p(-contrast / top * np.exp(log_q))
    log_z = np.where(m < 0, low, high)
    first = contrast * np.exp(log_c - log_z)  # E[σ'] / Z
    second, third = np.where(m < 0, c1, -c1) * first, c2 * first
    return Tilted(log_z, first, first**2 - second, 3 * first * second - third - 2 * first**3)


class _Derivatives(NamedTuple):
    """ln E[σ], ln E[σ'], E[σ'']/E[σ'] and E[σ''']/E[σ']."""

    log_q: Float
    log_c: Float
    second: Float
    third: Float


def sigmoid_derivatives(m: Float, s: Float) -> _Derivatives:
    """Averages of σ and its first three derivatives over a ~ N(-m, s²), m ≥ 0: the alternating sums of logistic_normal.

    With t⁻_k and t⁺_k of that module,

        E[σ''] = Σ_k (-1)^(k-1) k² (t⁻_k - t⁺_k),        E[σ'''] = Σ_k (-1)^(k-1) k³ (t⁻_k + t⁺_k)

    What else differentiation brings, φ(z)/s times Σ_k (-1)^(k-1) k² = 0, vanishes in the sense in which they converge.
    """
    m, s = np.broadcast_arrays(m, np.maximum(s, NO_WIDTH))
    z = m / s
    exponent = -0.5 * z**2
    top = np.where(z > s, -m + 0.5 * s**2, exponent)
    common = np.exp(np.minimum(exponent - top, 0.0))
    q = 0.5 * common * special.erfcx(z / np.sqrt(2.0))
    c, c1, c2 = np.zeros_like(q), np.zeros_like(q), np.zeros_like(q)
    for k, weight in enumerate(alternating_weights(TERMS), start=1):
        low, high = closed_terms(k, m, s, z, top, common)
        even, odd = weight * (low + high), weight * (low - high)
        q += odd
        c += k * even
        c1 += k**2 * odd
        c2 += k**3 * even
    return _Derivatives(top + np.log(q), top + np.log(c), c1 / c, c2 / c)


def _by_quadrature(likelihood: Likelihood, mu: Float, var: Float, t: Array, power: Float | float) -> Tilted:
    """Gauss-Hermite where the tilted density is: from the Gaussian's own moments to its own in a few rounds."""
    x, log_w = _nodes()
    mean, s, width = mu, np.sqrt(var), np.sqrt(var)
    for _ in range(ROUNDS):
        a = mean + x[:, None] * s
        log_p = np.stack([likelihood.derivatives(at, t).log_p for at in a])
        # The integrand over the Gaussian that the nodes belong to.
        log_f = log_w[:, None] + power * log_p + 0.5 * (x[:, None] ** 2 - ((a - mu) / width) ** 2) + np.log(s / width)
        log_z = special.logsumexp(log_f, axis=0)
        share = np.exp(log_f - log_z)
        mean = np.einsum("in,in->n", share, a)
        away = a - mean
        variance, third = (np.einsum("in,in->n", share, away**j) for j in (2, 3))
        s = np.sqrt(variance)
    return Tilted(log_z, (mean - mu) / var, (var - variance) / var**2, -third / var**3)


@cache
def _nodes() -> tuple[Float, Float]:
    """Nodes for the standard normal and the logarithms of their weights."""
    x, w = special.roots_hermitenorm(NODES)
    return x, np.log(w) - LOG_SQRT_2PI
