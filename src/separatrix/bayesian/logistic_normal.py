# SPDX-License-Identifier: BSD-3-Clause
"""Averages of the logistic sigmoid over a Gaussian a ~ N(-m, s²) with m ≥ 0: exact sums, and a fast table.

    q = E[σ(a)],      f = E[ln(1 + e^a)],      c = E[σ(a) σ(-a)],                        f' = -q,  q' = -c  in m

**Exact** (`log_averages`). For a < 0, σ(a) = e^a - e^2a + ..., and for a > 0, σ(a) = 1 - e^-a + ...; each term has an
integral in closed form. With z = m/s, t⁻_k = e^(-km + k²s²/2) Φ(z - ks) and t⁺_k = e^(km + k²s²/2) Φ(-z - ks),

    q = Φ(-z) + Σ_k (-1)^(k-1) (t⁻_k - t⁺_k)
    f = s (φ(z) - z Φ(-z)) + Σ_k (-1)^(k-1) (t⁻_k + t⁺_k) / k
    c = Σ_k (-1)^(k-1) (t⁻_k + t⁺_k) k

These sums converge slowly or not at all, but t_k are the moments of a positive measure on [0, 1]. For such alternating
sums the weights of Cohen, Rodriguez Villegas and Zagier (2000) leave a relative error of about 5.8^-n after n terms,
for every m and s: twenty-two terms reach floating-point accuracy. The largest exponent is factored out of all terms, so
that the logarithm of a probability of e^-1000 is still finite.

**Fast** (`log_odds`, `fast_log_averages`). In the coordinates of the probit rule, PRML (4.153) and (4.154),

    κ = (1 + π s²/8)^-½ in [0, 1],       u = κ m,

the rule is q = σ(-u). The exact value is q = σ(-u R(u, κ)), where R is smooth and of order one, even at s = 0 and ∞.
The same holds for ln(κ f) and ln(c/κ). These three functions are tabulated once per process, from the exact sums, as
polynomials of total degree six on 48 x 64 cells up to u = 24, where q < 4e-11. For larger u, the averages q, f and c
equal e^(-m + s²/2) = E[e^a] up to a relative error of 1e-8, unless s is so large that the Gaussian reaches past zero;
for such rows, where q is below 1e-40, the exact sums are used.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev
from scipy import special

from separatrix._array import Float

N_TERMS = 22
MAX_TRAPEZOID_STD = 8.0  # s above which the trapezoid rule takes longer than the sums ...
MAX_EXTRA_STD = 2000.0  # ... unless the sum of s above it is below this: calls of NumPy take time too
MAX_FINITE_STD = 80.0  # s above which e^(s y) overflows at the largest node
MAX_STEP_IN_STD, MAX_STEP, TRAPEZOID_REACH = 0.55, 0.4, 8.6  # distance of nodes in units of s and of a; largest node
MIN_STD = 1e-100  # replaces a standard deviation of zero, so that it can be a divisor
MAX_U, CELLS_PER_U, KAPPA_CELLS, TABLE_DEGREE = 24, 2, 64, 6
ROWS_IN_CACHE = 8192  # rows per block, so that temporary arrays stay in the CPU cache
TAIL_IN_STD = 6.0  # distance between zero and the peak of e^a N(a | -m, s²) beyond which E[e^a] is exact enough


class Averages(NamedTuple):
    """ln q, ln f and ln c: the logarithms of E[σ(a)], E[ln(1 + e^a)] and E[σ(a) σ(-a)]."""

    log_probability: Float
    log_softplus: Float
    log_curvature: Float


def log_averages(m: Float, s: Float) -> Averages:
    """Return ln q, ln f, ln c for m ≥ 0 and s ≥ 0, to rounding, by the alternating sums, in about 2 µs per row."""
    m, s, z, top, common = _scaled(m, s)
    mills = 0.5 * special.erfcx(z / np.sqrt(2.0))  # Φ(-z) without the factor e^(-z²/2)
    q = common * mills
    f = common * s * _loss(z, mills)
    c = np.zeros_like(q)
    for k, weight in enumerate(alternating_weights(N_TERMS), start=1):
        low, high = closed_terms(k, m, s, z, top, common)
        q += weight * (low - high)
        f += weight / k * (low + high)
        c += weight * k * (low + high)
    return Averages(top + np.log(q), top + np.log(f), top + np.log(c))


def sigmoid_derivatives(m: Float, s: Float) -> Float:
    """Return ln E[σ], ln E[σ'], E[σ'']/E[σ'] and E[σ''']/E[σ'], (4, n), over a ~ N(-m, s²), m ≥ 0, to rounding.

    For small s the trapezoid rule takes the shortest time: in units of s, the nearest pole of σ is π/s from the real
    axis, so that steps of order 1/s leave an error of e^-40. For large s, the alternating sums are

        E[σ''] = Σ_k (-1)^(k-1) k² (t⁻_k - t⁺_k),        E[σ'''] = Σ_k (-1)^(k-1) k³ (t⁻_k + t⁺_k)

    The derivatives also contain φ(z)/s times Σ_k (-1)^(k-1) k², which these sums evaluate to zero.
    """
    from separatrix.bayesian._kernels import trapezoid

    found, wide = np.empty((4, len(m))), s > MAX_TRAPEZOID_STD
    if (s[wide] - MAX_TRAPEZOID_STD).sum() <= MAX_EXTRA_STD:
        wide = s > MAX_FINITE_STD
    trapezoid(m, np.where(wide, 1.0, s), MAX_STEP_IN_STD, MAX_STEP, TRAPEZOID_REACH, found)
    if not wide.any():
        return found
    m, s, z, top, common = _scaled(m[wide], s[wide])
    q = 0.5 * common * special.erfcx(z / np.sqrt(2.0))
    c, c1, c2 = np.zeros_like(q), np.zeros_like(q), np.zeros_like(q)
    for k, weight in enumerate(alternating_weights(N_TERMS), start=1):
        low, high = closed_terms(k, m, s, z, top, common)
        even, odd = weight * (low + high), weight * (low - high)
        q += odd
        c += k * even
        c1 += k**2 * odd
        c2 += k**3 * even
    found[:, wide] = top + np.log(q), top + np.log(c), c1 / c, c2 / c
    return found


def _scaled(m: Float, s: Float) -> tuple[Float, Float, Float, Float, Float]:
    """Return m, s, z = m/s, the largest exponent ``top``, and e^(-z²/2 - top)."""
    m, s = np.broadcast_arrays(m, np.maximum(s, MIN_STD))
    z = m / s
    exponent = -0.5 * z**2
    top = np.where(z > s, -m + 0.5 * s**2, exponent)
    return m, s, z, top, np.exp(np.minimum(exponent - top, 0.0))


def _loss(z: Float, mills: Float) -> Float:
    """Return (φ(z) - z Φ(-z)) / e^(-z²/2), with its asymptotic series for large z."""
    near = np.minimum(z, 1e3)
    inverse = 1.0 / np.maximum(z, 1e3)
    direct = 1.0 / np.sqrt(2 * np.pi) - near * np.where(z < 1e3, mills, 0.0)
    return np.asarray(np.where(z < 1e3, direct, inverse**2 * (1 - 3 * inverse**2) / np.sqrt(2 * np.pi)))


def closed_terms(k: int, m: Float, s: Float, z: Float, top: Float, common: Float) -> tuple[Float, Float]:
    """Return e^(-km + k²s²/2) Φ(z - ks) and e^(km + k²s²/2) Φ(-z - ks), both divided by e^top."""
    below = k * s < z
    ahead = np.exp(np.minimum(np.where(below, -k * m + 0.5 * (k * s) ** 2 - top, 0.0), 0.0))
    low = np.where(
        below, ahead * special.ndtr(z - k * s), 0.5 * common * special.erfcx(np.maximum(k * s - z, 0.0) / np.sqrt(2.0))
    )
    return low, 0.5 * common * special.erfcx((k * s + z) / np.sqrt(2.0))


def softplus_variance(m: Float, s: Float) -> Float:
    """Return V[ln(1 + e^a)], a ~ N(-m, s²), m ≥ 0, s > 0, from ln²(1 + x) = 2 Σ_k (-1)^k H_(k-1) x^k / k."""
    m, s = np.broadcast_arrays(m, s)
    z = m / s
    common = np.exp(-0.5 * z**2)
    mills = 0.5 * special.erfcx(z / np.sqrt(2.0))
    second = common * s**2 * (mills - z * _loss(z, mills))  # E[a²; a > 0]
    harmonic = 0.0
    for k, weight in enumerate(alternating_weights(N_TERMS), start=1):
        low, high = closed_terms(k, m, s, z, np.zeros_like(z), common)
        x = k * s + z
        second += 2 * weight / k * common * s * _loss(x, 0.5 * special.erfcx(x / np.sqrt(2.0)))  # E[a e^-ka; a > 0]
        second -= 2 * weight * harmonic / k * (low + high)
        harmonic += 1 / k
    return np.asarray(second - np.exp(2 * log_averages(m, s).log_softplus))


@cache
def alternating_weights(n: int) -> tuple[float, ...]:
    """Return w_k such that Σ_k w_k a_k ≈ Σ_k (-1)^k a_k (Cohen et al., Algorithm 1); w_k fades from (-1)^k to 0."""
    d = ((3 + np.sqrt(8.0)) ** n + (3 - np.sqrt(8.0)) ** n) / 2
    b, c, weights = -1.0, -d, []
    for k in range(n):
        c = b - c
        weights.append(float(c / d))
        b *= (k + n) * (k - n) / ((k + 0.5) * (k + 1))
    return tuple(weights)


def shrinkage(var: Float) -> Float:
    """Return κ = (1 + π var/8)^-½.                                                           PRML (4.154)"""
    return np.asarray(1.0 / np.sqrt(1.0 + np.pi / 8 * var))


def log_odds(mu: Float, var: Float) -> Float:
    """Return ln p - ln(1 - p) for p = E[σ(a)], a ~ N(mu, var): (n,). It is exactly odd in mu."""
    odds = np.empty_like(mu)
    for rows in row_blocks(len(mu)):
        np.copysign(log_odds_size(np.abs(mu[rows]), var[rows]), mu[rows], out=odds[rows])
    return odds


def row_blocks(n: int, step: int = ROWS_IN_CACHE) -> list[slice]:
    """Return slices that divide the rows 0 .. n-1 into blocks of ``step`` rows."""
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def log_odds_size(m: Float, var: Float) -> Float:
    """Return |ln p - ln(1 - p)| for one block of rows."""
    kappa = shrinkage(var)
    u = kappa * m
    size = _look_up(_tables()[0], u, kappa)
    size *= u
    far = u >= MAX_U
    if far.any():
        np.copyto(size, m - 0.5 * var, where=far)  # ln(1 - q) is negligible
        wide = far & (m - var <= TAIL_IN_STD * np.sqrt(var))
        if wide.any():
            size[wide] = -log_averages(m[wide], np.sqrt(var[wide])).log_probability
    return size


def fast_log_averages(m: Float, var: Float) -> Averages:
    """Return ln q, ln f, ln c for one block of rows, with errors of 1e-8 down to q = 1e-15, and of 1e-5 below."""
    kappa = shrinkage(var)
    u = kappa * m
    log_q = -u * _look_up(_tables()[0], u, kappa)
    far = u >= MAX_U
    log_q[far] = 0.0  # replaced below
    log_q -= np.log1p(np.exp(log_q))  # from log-odds to ln q
    log_kappa = np.log(kappa)
    found = Averages(log_q, _look_up(_tables()[1], u, kappa) - log_kappa, _look_up(_tables()[2], u, kappa) + log_kappa)
    if far.any():
        wide = far & (m - var <= TAIL_IN_STD * np.sqrt(var))
        exact = log_averages(m[wide], np.sqrt(var[wide]))
        for average, value in zip(found, exact, strict=True):
            np.copyto(average, 0.5 * var - m, where=far)
            average[wide] = value
    return found


def softplus_moments(mu: Float, var: Float) -> tuple[Float, Float, Float]:
    """Return E[σ(d)], E[ln(1 + e^d)] and V[ln(1 + e^d)] for d ~ N(mu, var), mu ≤ 0, to about 1e-9."""
    log_q, log_f, _ = fast_log_averages(-mu, var)
    kappa = shrinkage(var)
    fraction = _look_up(_variance_table(), -kappa * mu, kappa)
    return np.exp(log_q), np.exp(log_f), var * np.nan_to_num(fraction)  # the fraction is zero outside the table


def _look_up(table: Float, u: Float, kappa: Float) -> Float:
    from separatrix.bayesian._kernels import look_up

    out = np.empty_like(u)
    look_up(u, kappa, table, CELLS_PER_U, KAPPA_CELLS, out)
    return out


@cache
def _tables() -> Float:
    """Return coefficients (3, cells, 28) of R, ln(κ f) and ln(c/κ). The first call takes 0.2 seconds."""
    u, kappa, s = _grid()
    log_q, log_f, log_c = log_averages(u / kappa, s)
    odds = np.log(-np.expm1(log_q)) - log_q
    return _coefficients(np.stack([odds / u, log_f + np.log(kappa), log_c - np.log(kappa)]))


@cache
def _variance_table() -> Float:
    """Return coefficients (cells, 28) of V[ln(1 + e^a)] / s²."""
    u, kappa, s = _grid()
    return np.asarray(_coefficients((softplus_variance(u / kappa, s) / s**2)[None])[0])


def _grid() -> tuple[Float, Float, Float]:
    """Return Chebyshev points of all cells, u (rows, 1, 7, 1) and κ (1, columns, 1, 7), and the s of each κ."""
    inside = (chebyshev.chebpts1(TABLE_DEGREE + 1) + 1) / 2
    u = (np.arange(MAX_U * CELLS_PER_U)[:, None] + inside) / CELLS_PER_U
    kappa = (np.arange(KAPPA_CELLS)[:, None] + inside) / KAPPA_CELLS
    kappa = kappa[None, :, None, :]
    return u[:, None, :, None], kappa, np.sqrt((kappa**-2.0 - 1) * 8 / np.pi)


def _coefficients(values: Float) -> Float:
    """Fit polynomials of total degree six to values (functions, rows, columns, 7, 7): (functions, cells, 28)."""
    interpolate = np.linalg.inv(chebyshev.chebvander(chebyshev.chebpts1(TABLE_DEGREE + 1), TABLE_DEGREE))
    series = np.einsum("fxyij,ai,bj->fxyab", values, interpolate, interpolate, optimize=True)
    a, b = np.indices((TABLE_DEGREE + 1, TABLE_DEGREE + 1))
    series[..., a + b > TABLE_DEGREE] = 0.0  # higher Chebyshev terms are below the interpolation error
    units = [np.eye(d + 1)[d] for d in range(TABLE_DEGREE + 1)]  # the Chebyshev series of T_0 .. T_6
    powers = np.array([np.pad(chebyshev.cheb2poly(e), (0, TABLE_DEGREE - d)) for d, e in enumerate(units)]).T
    coefficients = np.einsum("fxyab,ia,jb->fxyij", series, powers, powers, optimize=True)
    kept = np.concatenate([coefficients[..., i, : TABLE_DEGREE + 1 - i] for i in range(TABLE_DEGREE, -1, -1)], axis=-1)
    return np.ascontiguousarray(kept.reshape(len(values), MAX_U * CELLS_PER_U * KAPPA_CELLS, -1))
