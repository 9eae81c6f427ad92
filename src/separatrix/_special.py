# SPDX-License-Identifier: BSD-3-Clause
"""Special functions that avoid cancellation.

lnΓ(x) grows like x ln x, and log densities are differences of such terms. For x = 1e8, a plain difference is accurate
only to 1e-7. The functions below therefore use the remainders of Stirling's formula,

    lnΓ(x) = (x - ½) ln x - x + ½ ln 2π + δ(x),        ψ(x) = ln x - F(x),

δ(x) = 1/12x - ..., F(x) = 1/2x + 1/12x² - ..., so that the large terms cancel algebraically and not in floating point
(Loader 2000).

The hazard of the standard normal, r(x) = N(x)/Φ(-x) = x + K_1(x), has the same problem. The curvature of ln Φ is r K_1,
and the third derivative is even smaller. The subtraction r - x has an error of 1e-5 at x = 1e3 and of 1e8 at x = 1e6,
so Laplace's continued fraction is used for K_1. The tests compare all functions with mpmath.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from separatrix._array import Float

#: Terms of a log density above this limit have rounding errors above 1e-11 nats, so they must not cancel.
MAX_CANCELLING_NATS = 1e5
LOG_SQRT_2PI = 0.5 * float(np.log(2 * np.pi))
SERIES_FROM = 10.0  # for x >= 10, eight terms of the asymptotic series are exact to rounding
FRACTION_FROM = 4.0  # for x >= 4, FRACTION_DEPTH terms of the continued fraction are exact to rounding
FRACTION_DEPTH = 30
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)  # B_2, B_4, ...


def stirling_error(x: ArrayLike) -> Float:
    """δ(x) = lnΓ(x) - (x - ½) ln x + x - ½ ln 2π for x > 0.

    >>> print(stirling_error(1e8) * 12e8)
    1.0
    """
    x = np.asarray(x, dtype=np.float64)
    small = np.minimum(x, SERIES_FROM)
    direct = special.gammaln(small) - (small - 0.5) * np.log(small) + small - LOG_SQRT_2PI
    terms = [b / (2 * k * (2 * k - 1)) for k, b in enumerate(BERNOULLI, start=1)]
    return np.where(x < SERIES_FROM, direct, _odd_powers(x, terms))


def log_minus_digamma(x: ArrayLike) -> Float:
    """F(x) = ln x - ψ(x) for x > 0: positive and decreasing, about 1/x for small x and 1/2x for large x."""
    x = np.asarray(x, dtype=np.float64)
    small = np.minimum(x, SERIES_FROM)
    far = 0.5 / x + _odd_powers(x, [b / (2 * k) for k, b in enumerate(BERNOULLI, start=1)]) / x
    return np.asarray(np.where(x < SERIES_FROM, np.log(small) - special.digamma(small), far))


def trigamma_excess(x: ArrayLike) -> Float:
    """x ψ'(x) - 1 = -x F'(x) for x > 0: positive and decreasing, about 1/x for small x and 1/2x for large x."""
    x = np.asarray(x, dtype=np.float64)
    small = np.minimum(x, SERIES_FROM)
    far = 0.5 / x + _odd_powers(x, list(BERNOULLI)) / x
    return np.asarray(np.where(x < SERIES_FROM, 1 / small + small * special.zeta(2.0, 1 + small) - 1.0, far))


def _odd_powers(x: Float, terms: list[float]) -> Float:
    """Σ_k terms_k / x^(2k-1), for x >= `SERIES_FROM`; smaller x are replaced by `SERIES_FROM`."""
    y = 1.0 / np.maximum(x, SERIES_FROM)
    return np.asarray(y * np.polynomial.polynomial.polyval(y * y, terms))


def hazard_fraction(x: Float) -> tuple[Float, Float, Float, Float]:
    """K_1, K_2, K_3, K_4 of the hazard N(x)/Φ(-x) = x + K_1, with K_j = j/(x + K_{j+1}); x >= `FRACTION_FROM`.

    The fraction is truncated at its fixed point, K² + x K = j.

    >>> hazard_fraction(np.array([1e9]))[0] * 1e9
    array([1.])
    """
    K = 2.0 * FRACTION_DEPTH / (x + np.hypot(x, np.sqrt(4.0 * FRACTION_DEPTH)))
    for j in range(FRACTION_DEPTH - 1, 4, -1):
        K += x
        np.divide(j, K, out=K)
    K4 = 4.0 / (x + K)
    K3 = 3.0 / (x + K4)
    K2 = 2.0 / (x + K3)
    return 1.0 / (x + K2), K2, K3, K4


def divergence(x: ArrayLike, m: ArrayLike) -> Float:
    """x ln(x/m) - x + m for x, m >= 0: never negative, zero at x = m, and accurate to rounding near x = m.

    This term of the Poisson, binomial, gamma and Dirichlet densities is inaccurate if computed naively. It is also
    a summand of the Kullback-Leibler divergence. Near x = m, with v = (x - m)/(x + m), it equals
    (x - m) v + 2 x Σ_j v^(2j+1)/(2j+1)  (Loader 2000).

    >>> float(divergence(1e8 + 1, 1e8))
    4.99999998...e-09
    """
    x, m = np.broadcast_arrays(np.asarray(x, dtype=np.float64), np.asarray(m, dtype=np.float64))
    total = np.where(x + m > 0, 0.5 * x + 0.5 * m, 1.0)
    v = (0.5 * x - 0.5 * m) / total
    near = np.abs(v) < 0.1
    v = np.where(near, v, 0.0)
    odd = [1 / (2 * j + 1) for j in range(1, 9)]
    series = (x - m) * v + 2 * x * v**3 * np.polynomial.polynomial.polyval(v * v, odd)
    with np.errstate(divide="ignore"):  # the result is infinite for m = 0 < x
        log_ratio = np.where(x > 0, np.log(np.where(x > 0, x, 1.0)) - np.log(m), 0.0)
    far = np.multiply(x, log_ratio, where=x > 0, out=np.zeros(x.shape)) - x + m
    return np.asarray(np.where(near, series, far))


def log1p_ratio(x: ArrayLike, b: ArrayLike) -> Float:
    """ln(1 + x/b) for x >= 0 and b > 0, even if x/b overflows."""
    x, b = np.broadcast_arrays(np.asarray(x, dtype=np.float64), np.asarray(b, dtype=np.float64))
    below = x <= b
    ratio = np.divide(np.where(below, x, b), np.where(below, b, x))
    return np.log1p(ratio) + np.where(below, 0.0, np.log(np.where(below, 1.0, x)) - np.log(b))


def log_rising(a: ArrayLike, n: ArrayLike) -> Float:
    """lnΓ(a + n) - lnΓ(a) for a > 0, n >= 0: the log of a (a+1) ... (a+n-1), for real n.

    >>> float(log_rising(1e15, 2) / np.log(1e15))
    2.0
    """
    a, n = np.broadcast_arrays(np.asarray(a, dtype=np.float64), np.asarray(n, dtype=np.float64))
    # This is (a + n - ½) ln(a + n) - (a - ½) ln a - n, written as a sum of small terms.
    main = n * np.log(a + n) - 0.5 * log1p_ratio(n, a) - (n - a * log1p_ratio(n, a))
    return np.asarray(main + (stirling_error(a + n) - stirling_error(a)))


def log_beta(a: ArrayLike, b: ArrayLike) -> Float:
    """ln B(a, b) = lnΓ(a) + lnΓ(b) - lnΓ(a + b) for a, b > 0.

    >>> float(log_beta(1e-3, 1e20))
    6.861...
    """
    a, b = np.broadcast_arrays(np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64))
    main = -a * log1p_ratio(b, a) - b * log1p_ratio(a, b) + 0.5 * (log1p_ratio(a, b) - np.log(a))
    return np.asarray(main + LOG_SQRT_2PI + stirling_error(a) + (stirling_error(b) - stirling_error(a + b)))


def inverse_log_minus_digamma(y: ArrayLike) -> Float:
    """The x with ln x - ψ(x) = y, for y > 0: the maximum likelihood shape of a gamma distribution."""
    y = np.asarray(y, dtype=np.float64)
    root = np.sqrt((y - 3) ** 2 + 24 * y)
    start = np.where(y < 3, (3 - y + root) / (12 * y), 2 / np.maximum(root + y - 3, 1.0))  # within 2 % (Minka 2002)

    def gap(t: Float) -> tuple[Float, Float]:
        F = log_minus_digamma(np.exp(t))
        return np.log(F / y), -trigamma_excess(np.exp(t)) / F

    return np.asarray(np.exp(root_of_decreasing(gap, np.log(start))))


def root_of_decreasing(
    function: Callable[[Float], tuple[Float, Float]], start: Float, *, max_steps: int = 200
) -> Float:
    """Roots of several decreasing functions at once, by Newton's method with a bracket.

    ``function(t)`` returns values and slopes. Steps are at most 2, because t is a logarithm. A step that leaves the
    bracket of the sign change is replaced by a step to the midpoint of the bracket.
    """
    t = np.array(start, dtype=np.float64)
    low, high = np.full_like(t, -np.inf), np.full_like(t, np.inf)
    for _ in range(max_steps):
        value, slope = function(t)
        low, high = np.where(value >= 0, t, low), np.where(value <= 0, t, high)
        safe = np.where(slope < 0, slope, -1.0)
        step = np.clip(np.where(slope < 0, -value / safe, 2 * np.sign(value)), -2.0, 2.0)
        escaped = np.where(step > 0, t + step >= high, (step < 0) & (t + step <= low))
        with np.errstate(invalid="ignore"):  # an infinite bracket has no midpoint, but no step leaves it
            step = np.where(escaped, 0.5 * (low + high) - t, step)
        t = t + step
        if np.all(np.abs(step) <= 1e-14 * np.maximum(1.0, np.abs(t))):
            return np.asarray(t)
    raise ArithmeticError(f"no root after {max_steps} steps: the largest step was {np.abs(step).max():.1e}")
