# SPDX-License-Identifier: BSD-3-Clause
"""p(t = 1 | a) = Φ(a), the standard normal distribution function.                       PRML §4.3.5

    ln p = t ln Φ(a) + (1 - t) ln Φ(-a)

With m = a for a target 1 and m = -a for a target 0, and r = N(m)/Φ(m),

    slope ±r,    curvature r (m + r),    skew ±r (1 - (m + r)(m + 2r))

Let x = |a|. A target that agrees with the sign of a has m = x, and nothing cancels. Otherwise m = -x, where r = x + K_1
is the hazard of the normal: m + r = K_1 decreases like 1/x and the skew like 2/x³. For x > `FRACTION_FROM` both are
therefore computed from the continued fraction of r instead of differences; the skew is r K_1²K_2²K_3 (x + 3K_3 -
2K_4)/6. The relative error is below 1e-12 on both sides (1e-10 for the skew), and ln p is finite as long as a² is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special

from separatrix._array import Array, Float
from separatrix._special import FRACTION_FROM, LOG_SQRT_2PI, hazard_fraction
from separatrix.likelihoods.base import Derivatives, LogConcave
from separatrix.likelihoods.logit import miss

TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, slots=True)
class Probit(LogConcave):
    """Bernoulli targets: the sign of a normal variable with mean a and variance 1.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.likelihoods import Probit
    >>> log_p, slope, curvature = Probit().derivatives(np.array([-1e6, 0.0]), np.array([1, 1]))
    >>> slope, curvature
    (array([1.00000000e+06, 7.97884561e-01]), array([1.        , 0.63661977]))
    """

    def derivatives(self, a: Array, t: Array) -> Derivatives:
        """ln p and its slope and curvature."""
        s = _Sides.of(a, t)
        log_tail = np.log(np.maximum(s.tail, TINY))  # ln Φ(-x)
        if len(s.far):
            x = s.x[s.far]
            log_tail[s.far] = -0.5 * x * x - LOG_SQRT_2PI - np.log(s.low[s.far])  # Φ(-x) = N(x)/r
        log_p = s.mixed(log_tail, np.log1p(-s.tail))
        curvature = s.mixed(s.low * s.excess, s.high * (s.x + s.high))
        slope = s.mixed(-s.low, s.high)
        slope *= s.sign
        return Derivatives(*(part.astype(a.dtype, copy=False) for part in (log_p, slope, curvature)))

    def skew(self, a: Array, t: Array) -> Array:
        """-∂³ ln p/∂a³."""
        s = _Sides.of(a, t)
        low = s.low * (s.excess * (s.excess + s.low) - 1.0)
        if len(s.far):
            x = s.x[s.far]
            K1, K2, K3, K4 = hazard_fraction(x)
            low[s.far] = s.low[s.far] * (K1 * K2) ** 2 * K3 * (x + 3.0 * K3 - 2.0 * K4) / 6.0
        high = s.high * (1.0 - (s.x + s.high) * (s.x + 2.0 * s.high))
        return (s.sign * s.mixed(low, high)).astype(a.dtype, copy=False)

    def probability(self, a: Array) -> Array:
        """p(t = 1 | a)."""
        return np.asarray(special.ndtr(a))

    def log_probability(self, a: Array) -> Array:
        """ln Φ(a)."""
        return self.derivatives(a, np.ones(len(a), dtype=np.intp)).log_p


class _Sides(NamedTuple):
    """Quantities for ln Φ(x) and ln Φ(-x) at x = |a|, always in float64."""

    x: Float
    sign: Float  # of a
    against: Float  # 1 - t if a >= 0, else t
    tail: Float  # Φ(-x)
    low: Float  # r at m = -x
    excess: Float  # r - x at m = -x
    high: Float  # r at m = x
    far: Array  # rows whose low side is computed from the continued fraction

    @classmethod
    def of(cls, a: Array, t: Array) -> _Sides:
        a = a.astype(np.float64, copy=False)
        x = np.abs(a)
        against = np.abs(miss(a, t))
        tail = special.ndtr(-x)
        density = x * x
        density *= -0.5
        density -= LOG_SQRT_2PI
        np.exp(density, out=density)  # N(x)
        low = np.maximum(tail, TINY)  # the tail underflows only where the continued fraction is used
        np.divide(density, low, out=low)
        excess = low - x
        far = np.flatnonzero((x > FRACTION_FROM) & (against > 0))
        if len(far):
            excess[far] = hazard_fraction(x[far])[0]
            low[far] = x[far] + excess[far]
        density /= 1.0 - tail
        return cls(x, np.copysign(1.0, a), against, tail, low, excess, density, far)

    def mixed(self, low: Float, high: Float) -> Float:
        """against · low + (1 - against) · high; overwrites both."""
        low -= high
        low *= self.against
        low += high
        return low
