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
from typing import Any

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
        return Derivatives(*logit_law(a, np.asarray(t, dtype=a.dtype)))

    def skew(self, a: Array, t: Array) -> Array:
        """-σ(a) σ(-a) tanh(a/2)."""
        up, down = sigmoids(a)
        return np.asarray(-up * down * np.tanh(0.5 * a))

    def probability(self, a: Array) -> Array:
        """p(t = 1 | a)."""
        e = np.exp(-np.abs(a))
        return np.asarray(np.where(a >= 0, 1.0, e) / (1.0 + e))

    def probabilities(self, a: Array) -> Array:
        """σ(-a) and σ(a)."""
        return np.stack(sigmoids(a)[::-1], axis=1)

    def log_probabilities(self, a: Array) -> Array:
        """ln σ(-a) and ln σ(a)."""
        return np.stack([log_sigmoid(-a), log_sigmoid(a)], axis=1)


def logit_law(a: Any, t: Any) -> tuple[Any, Any, Any]:
    """ln p, slope and curvature: of arrays by NumPy, or of one row if compiled (`stats._kernels`)."""
    e = decaying_exp(np.abs(a))
    low = e / (1.0 + e)
    d = (a >= 0) - t
    slope = np.copysign(low, a + 0.0) - d  # (4.91); a + 0 is never minus zero
    return -d * a - log1p_of_unit(e), slope, low - low * low  # σ(a) σ(-a), R of (4.98)


def decaying_exp(x: Any) -> Any:
    """e^-x for x ≥ 0; `stats._kernels` has a version for compiled loops."""
    return np.exp(-x)


def log1p_of_unit(x: Any) -> Any:
    """ln(1 + x) for 0 ≤ x ≤ 1; `stats._kernels` has a version for compiled loops."""
    return np.log1p(x)


def log_sigmoid(a: Array) -> Array:
    """ln σ(a), exact to rounding for every a."""
    return np.asarray(np.minimum(a, 0.0) - np.log1p(np.exp(-np.abs(a))))


def sigmoids(a: Array) -> tuple[Array, Array]:
    """σ(a) and σ(-a), each exact to rounding even if tiny; a may be infinite."""
    e = np.exp(-np.abs(a))
    high = 1.0 / (1.0 + e)
    low = e * high
    return np.where(a >= 0, high, low), np.where(a >= 0, low, high)
