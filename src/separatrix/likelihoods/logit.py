# SPDX-License-Identifier: BSD-3-Clause
"""p(t = 1 | a) = σ(a) = 1/(1 + e^-a).                                                   PRML §4.3.2

    ln p = t ln σ(a) + (1 - t) ln σ(-a),    slope t - σ(a)  (4.91),    curvature σ(a) σ(-a)  (4.97)

With e = e^-|a|, the smaller of the two probabilities is l = e/(1 + e). Let d = [a >= 0] - t, which is 0 if the target
agrees with the sign of a. Then nothing cancels:

    ln p = -d a - ln(1 + e),    slope = ±l - d,    curvature = l (1 - l),    ± the sign of a

Targets are codes 0 and 1, or any t in [0, 1].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix._array import Array
from separatrix.likelihoods.base import Derivatives, LogConcave


@dataclass(frozen=True, slots=True)
class Logit(LogConcave):
    """Bernoulli targets, canonical link.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.likelihoods import Logit
    >>> a, t = np.array([-1e9, 0.0, 40.0]), np.array([1, 1, 1])
    >>> Logit().derivatives(a, t).log_p
    array([-1.00000000e+09, -6.93147181e-01, -4.24835426e-18])
    """

    def derivatives(self, a: Array, t: Array) -> Derivatives:
        """ln p, t - σ(a), σ(a) σ(-a)."""
        # This runs for every block of every pass, so only four arrays are allocated, and reused.
        e = np.abs(a)
        np.negative(e, out=e)
        np.exp(e, out=e)
        d = miss(a, t)
        log_p = np.log1p(e)
        spare = d * a
        log_p += spare
        np.negative(log_p, out=log_p)
        np.add(e, 1.0, out=spare)
        low = np.divide(e, spare, out=e)
        np.copysign(low, a, out=spare)
        slope = np.subtract(spare, d, out=d)  # (4.91)
        np.multiply(low, low, out=spare)
        low -= spare  # σ(a) σ(-a), R of (4.98)
        return Derivatives(log_p, slope, low)

    def skew(self, a: Array, t: Array) -> Array:
        """-σ(a) σ(-a) tanh(a/2)."""
        up, down = sigmoids(a)
        return np.asarray(-up * down * np.tanh(0.5 * a))

    def probability(self, a: Array) -> Array:
        """p(t = 1 | a)."""
        return sigmoids(a)[0]

    def log_probability(self, a: Array) -> Array:
        """ln σ(a)."""
        return log_sigmoid(a)


def log_sigmoid(a: Array) -> Array:
    """ln σ(a), exact to rounding for every a."""
    return np.asarray(np.minimum(a, 0.0) - np.log1p(np.exp(-np.abs(a))))


def sigmoids(a: Array) -> tuple[Array, Array]:
    """σ(a) and σ(-a), each exact to rounding even if tiny; a may be infinite."""
    e = np.exp(-np.abs(a))
    high = 1.0 / (1.0 + e)
    low = e * high
    return np.where(a >= 0, high, low), np.where(a >= 0, low, high)


def miss(a: Array, t: Array) -> Array:
    """[a >= 0] - t in the precision of a. Minus zero counts as below zero, as it does for `np.copysign`."""
    return np.subtract(np.logical_not(np.signbit(a)), t, dtype=a.dtype)
