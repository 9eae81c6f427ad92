# SPDX-License-Identifier: BSD-3-Clause
"""The logistic sigmoid averaged over a Gaussian: a ~ N(-m, s²) with m ≥ 0, exactly and then fast.

    q = E[σ(a)],      f = E[ln(1 + e^a)],      c = E[σ(a) σ(-a)],                        f' = -q,  q' = -c  in m

**Exactly** (`log_averages`). For a < 0, σ(a) = e^a - e^2a + ..., and for a > 0, σ(a) = 1 - e^-a + ...; each term has a
closed integral. With z = m/s, t⁻_k = e^(-km + k²s²/2) Φ(z - ks) and t⁺_k = e^(km + k²s²/2) Φ(-z - ks),

    q = Φ(-z) + Σ_k (-1)^(k-1) (t⁻_k - t⁺_k)
    f = s (φ(z) - z Φ(-z)) + Σ_k (-1)^(k-1) (t⁻_k + t⁺_k) / k
    c = Σ_k (-1)^(k-1) (t⁻_k + t⁺_k) k

These converge slowly or not at all, but t_k are the moments of a positive measure on [0, 1], and for such alternating
sums the weights of Cohen, Rodriguez Villegas and Zagier (2000) leave a relative error of about 5.8^-n after n terms,
the same for every m and s: twenty-two terms are as good as floating point. Everything is kept relative to the largest
exponent, so that a probability of e^-1000 still has its logarithm.

**Fast** (`log_odds`, `fast_log_averages`). In the coordinates of the probit rule, PRML (4.153) and (4.154),

    κ = (1 + π s²/8)^-½ in [0, 1],       u = κ m,

the rule says that q = σ(-u). The truth is q = σ(-u R(u, κ)) with R smooth and of order one, also at both ends, s = 0
and s = ∞; so are ln(κ f) and ln(c/κ). They are tabulated once in a process, from the exact sums, as polynomials of
total degree six on 48 x 64 cells up to u = 24, where q < 4e-11. Beyond, all three are e^(-m + s²/2) = E[e^a] to eight
digits, unless s is so large that the Gaussian reaches past zero; those rows, with q below 1e-40, are summed exactly.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev
from scipy import special

from separatrix._array import Float

__all__ = ["Averages", "blocks", "fast_log_averages", "log_averages", "log_odds", "log_odds_size", "shrinkage"]

TERMS = 22
NO_WIDTH = 1e-100  # a standard deviation that is zero for every purpose, and may be divided by
REACH, PER_UNIT, COLUMNS, DEGREE = 24, 2, 64, 6
BLOCK = 8192  # rows whose temporaries stay in cache
FAR = 6.0  # standard deviations between zero and the peak of e^a N(a | -m, s²)


class Averages(NamedTuple):
    """ln q, ln f and ln c: the logarithms of E[σ(a)], E[ln(1 + e^a)] and E[σ(a) σ(-a)]."""

    log_probability: Float
    log_softplus: Float
    log_curvature: Float


def log_averages(m: Float, s: Float) -> Averages:
    """ln q, ln f, ln c for m ≥ 0 and s ≥ 0, to rounding: the alternating sums. About 2 µs a row."""
    m, s = np.broadcast_arrays(m, np.maximum(s, NO_WIDTH))
    z = m / s
    common = -0.5 * z**2
    top = np.where(z > s, -m + 0.5 * s**2, common)  # the exponent that everything is taken relative to
    common = np.exp(np.minimum(common - top, 0.0))
    mills = 0.5 * special.erfcx(z / np.sqrt(2.0))  # Φ(-z) without its exponent
    q = common * mills
    f = common * s * _loss(z, mills)
    c = np.zeros_like(q)
    for k, weight in enumerate(alternating_weights(TERMS), start=1):
        low, high = closed_terms(k, m, s, z, top, common)
        q += weight * (low - high)
        f += weight / k * (low + high)
        c += weight * k * (low + high)
    return Averages(top + np.log(q), top + np.log(f), top + np.log(c))


def _loss(z: Float, mills: Float) -> Float:
    """(φ(z) - z Φ(-z)) / e^(-z²/2), which is 1/z² far out."""
    near = np.minimum(z, 1e3)
    inverse = 1.0 / np.maximum(z, 1e3)
    direct = 1.0 / np.sqrt(2 * np.pi) - near * np.where(z < 1e3, mills, 0.0)
    return np.asarray(np.where(z < 1e3, direct, inverse**2 * (1 - 3 * inverse**2) / np.sqrt(2 * np.pi)))


def closed_terms(k: int, m: Float, s: Float, z: Float, top: Float, common: Float) -> tuple[Float, Float]:
    """e^(-km + k²s²/2) Φ(z - ks) and e^(km + k²s²/2) Φ(-z - ks), both without the factor e^top."""
    below = k * s < z
    ahead = np.exp(np.minimum(np.where(below, -k * m + 0.5 * (k * s) ** 2 - top, 0.0), 0.0))
    low = np.where(
        below,
        ahead * special.ndtr(z - k * s),
        0.5 * common * special.erfcx(np.maximum(k * s - z, 0.0) / np.sqrt(2.0)),
    )
    return low, 0.5 * common * special.erfcx((k * s + z) / np.sqrt(2.0))


def softplus_variance(m: Float, s: Float) -> Float:
    """V[ln(1 + e^a)], a ~ N(-m, s²), m ≥ 0, s > 0: the same sums, with ln²(1 + x) = 2 Σ_k (-1)^k H_(k-1) x^k / k."""
    m, s = np.broadcast_arrays(m, s)
    z = m / s
    common = np.exp(-0.5 * z**2)
    mills = 0.5 * special.erfcx(z / np.sqrt(2.0))
    second = common * s**2 * (mills - z * _loss(z, mills))  # E[a²; a > 0]
    harmonic = 0.0
    for k, weight in enumerate(alternating_weights(TERMS), start=1):
        low, high = closed_terms(k, m, s, z, np.zeros_like(z), common)
        x = k * s + z
        second += 2 * weight / k * common * s * _loss(x, 0.5 * special.erfcx(x / np.sqrt(2.0)))  # E[a e^-ka; a > 0]
        second -= 2 * weight * harmonic / k * (low + high)
        harmonic += 1 / k
    return np.asarray(second - np.exp(2 * log_averages(m, s).log_softplus))


@cache
def alternating_weights(n: int) -> tuple[float, ...]:
    """Weights w_k, near (-1)^k at first and falling to zero, with Σ_k w_k a_k ≈ Σ_k (-1)^k a_k (Algorithm 1 there)."""
    d = ((3 + np.sqrt(8.0)) ** n + (3 - np.sqrt(8.0)) ** n) / 2
    b, c, weights = -1.0, -d, []
    for k in range(n):
        c = b - c
        weights.append(float(c / d))
        b *= (k + n) * (k - n) / ((k + 0.5) * (k + 1))
    return tuple(weights)


def shrinkage(var: Float) -> Float:
    """κ = (1 + π var/8)^-½.                                                                  PRML (4.154)"""
    return np.asarray(1.0 / np.sqrt(1.0 + np.pi / 8 * var))


def log_odds(mu: Float, var: Float) -> Float:
    """ln p - ln(1 - p) for p = E[σ(a)], a ~ N(mu, var): (n,) and (n,). Odd in mu, exactly."""
    odds = np.empty_like(mu)
    for rows in blocks(len(mu)):
        np.copysign(log_odds_size(np.abs(mu[rows]), var[rows]), mu[rows], out=odds[rows])
    return odds


def blocks(n: int) -> list[slice]:
    """The rows 0 .. n-1 in pieces whose temporaries stay in cache."""
    return [slice(start, start + BLOCK) for start in range(0, n, BLOCK)]


def log_odds_size(m: Float, var: Float) -> Float:
    """|ln p - ln(1 - p)| for one block of rows."""
    kappa = shrinkage(var)
    u = kappa * m
    size = _look_up(_tables()[0], u, kappa)
    size *= u
    far = u >= REACH
    if far.any():
        np.copyto(size, m - 0.5 * var, where=far)  # ln(1 - q) is below the error that there is
        wide = far & (m - var <= FAR * np.sqrt(var))
        if wide.any():
            size[wide] = -log_averages(m[wide], np.sqrt(var[wide])).log_probability
    return size


def fast_log_averages(m: Float, var: Float) -> Averages:
    """ln q, ln f, ln c for one block of rows, from the table: right to 1e-8 down to q = 1e-15, and to 1e-5 below."""
    kappa = shrinkage(var)
    u = kappa * m
    log_q = -u * _look_up(_tables()[0], u, kappa)
    far = u >= REACH
    log_q[far] = 0.0  # for now
    log_q -= np.log1p(np.exp(log_q))  # from log-odds to ln q
    log_kappa = np.log(kappa)
    found = Averages(log_q, _look_up(_tables()[1], u, kappa) - log_kappa, _look_up(_tables()[2], u, kappa) + log_kappa)
    if far.any():
        wide = far & (m - var <= FAR * np.sqrt(var))
        exact = log_averages(m[wide], np.sqrt(var[wide]))
        for average, value in zip(found, exact, strict=True):
            np.copyto(average, 0.5 * var - m, where=far)
            average[wide] = value
    return found


class Softened(NamedTuple):
    """E[σ(d)], E[ln(1 + e^d)] and V[ln(1 + e^d)]."""

    probability: Float
    mean: Float
    variance: Float


def soften(mu: Float, var: Float) -> Softened:
    """What max(d, 0) becomes when it is smooth and d ~ N(mu, var), mu ≤ 0; to about 1e-9 of one and of var."""
    log_q, log_f, _ = fast_log_averages(-mu, var)
    kappa = shrinkage(var)
    share = _look_up(_variance_table(), -kappa * mu, kappa)
    return Softened(np.exp(log_q), np.exp(log_f), var * np.nan_to_num(share))  # beyond the table it is zero


def _look_up(table: Float, u: Float, kappa: Float) -> Float:
    from separatrix.bayesian.predictive._kernels import look_up

    out = np.empty_like(u)
    look_up(u, kappa, table, PER_UNIT, COLUMNS, out)
    return out


@cache
def _tables() -> Float:
    """Coefficients (3, cells, 28) of R, ln(κ f) and ln(c/κ): a fifth of a second, once."""
    u, kappa = _grid()
    log_q, log_f, log_c = log_averages(u / kappa, _std(kappa))
    odds = np.log(-np.expm1(log_q)) - log_q
    return _coefficients(np.stack([odds / u, log_f + np.log(kappa), log_c - np.log(kappa)]))


@cache
def _variance_table() -> Float:
    """Coefficients (cells, 28) of V[ln(1 + e^a)] / s²."""
    u, kappa = _grid()
    s = _std(kappa)
    return np.asarray(_coefficients((softplus_variance(u / kappa, s) / s**2)[None])[0])


def _std(kappa: Float) -> Float:
    return np.sqrt((kappa**-2.0 - 1) * 8 / np.pi)


def _grid() -> tuple[Float, Float]:
    """Chebyshev's points in every cell: u (rows, 1, 7, 1) and κ (1, columns, 1, 7)."""
    inside = (chebyshev.chebpts1(DEGREE + 1) + 1) / 2
    u = (np.arange(REACH * PER_UNIT)[:, None] + inside) / PER_UNIT
    kappa = (np.arange(COLUMNS)[:, None] + inside) / COLUMNS
    return u[:, None, :, None], kappa[None, :, None, :]


def _coefficients(values: Float) -> Float:
    """Polynomials through values (functions, rows, columns, 7, 7), of total degree six: (functions, cells, 28)."""
    interpolate = np.linalg.inv(chebyshev.chebvander(chebyshev.chebpts1(DEGREE + 1), DEGREE))
    series = np.einsum("fxyij,ai,bj->fxyab", values, interpolate, interpolate, optimize=True)
    a, b = np.indices((DEGREE + 1, DEGREE + 1))
    series[..., a + b > DEGREE] = 0.0  # of Chebyshev's polynomials: as small as the error that is there anyway
    powers = np.array([np.pad(chebyshev.cheb2poly(e), (0, DEGREE - d)) for d, e in enumerate(_units())]).T
    coefficients = np.einsum("fxyab,ia,jb->fxyij", series, powers, powers, optimize=True)
    kept = np.concatenate([coefficients[..., i, : DEGREE + 1 - i] for i in range(DEGREE, -1, -1)], axis=-1)
    return np.ascontiguousarray(kept.reshape(len(values), REACH * PER_UNIT * COLUMNS, -1))


def _units() -> list[Float]:
    """The Chebyshev series of T_0, T_1, ... T_6."""
    return [np.eye(d + 1)[d] for d in range(DEGREE + 1)]
