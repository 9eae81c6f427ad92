# SPDX-License-Identifier: BSD-3-Clause
"""p(t = 1 | a) = σ(a) = 1/(1 + e^-a).                                                   PRML §4.3.2

    ln p = t ln σ(a) + (1 - t) ln σ(-a),    slope t - σ(a)  (4.91),    curvature σ(a) σ(-a)  (4.97)

With e = e^-|a| everything is a quotient of numbers in [0, 1]: σ(|a|) = 1/(1 + e), σ(-|a|) = e/(1 + e), and no
probability is ever one minus another. Targets are codes 0 and 1, or any t in [0, 1].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix._array import Array
from separatrix.likelihoods.base import Derivatives

__all__ = ["Logit"]


@dataclass(frozen=True, slots=True)
class Logit:
    """Bernoulli targets, canonical link."""

    n_outputs: int = 1
    is_log_concave: bool = True

    def derivatives(self, a: Array, t: Array) -> Derivatives:
        """ln p, t - σ(a), σ(a) σ(-a)."""
        e = np.exp(-np.abs(a))
        total = 1.0 + e
        high = 1.0 / total  # σ(|a|)
        low = e * high  # σ(-|a|)
        up, down = np.where(a >= 0, high, low), np.where(a >= 0, low, high)  # σ(a), σ(-a)
        if t.dtype.kind != "f":  # t - σ(a) without subtraction
            is_one = t > 0
            # ln p = -ln(1 + e^-m) with m the activation of the right class
            log_p = np.minimum(np.where(is_one, a, -a), 0.0) - np.log1p(e)
            return Derivatives(log_p, np.where(is_one, down, -up), up * down)
        log_p = t * np.minimum(a, 0.0) - (1.0 - t) * np.maximum(a, 0.0) - np.log1p(e)
        return Derivatives(log_p, t * down - (1.0 - t) * up, up * down)

    def safe_curvature(self, a: Array, t: Array) -> Array:
        """The curvature itself: ln p is concave."""
        return np.asarray(self.derivatives(a, t).curvature)

    def probability(self, a: Array) -> Array:
        """p(t = 1 | a)."""
        e = np.exp(-np.abs(a))
        return np.asarray(np.where(a >= 0, 1.0, e) / (1.0 + e))
