# SPDX-License-Identifier: BSD-3-Clause
"""p(t = 1 | a) = Φ(a), the standard normal distribution function.                       PRML §4.3.5

    ln p = t ln Φ(a) + (1 - t) ln Φ(-a)

With m = a for a target 1 and m = -a for a target 0, and r = N(m)/Φ(m),

    slope ±r,    curvature r (m + r),    skew ±r (1 - (m + r)(m + 2r))

Let x = |a|. A target that agrees with the sign of a has m = x, and nothing cancels. Otherwise m = -x, where r = x + K_1
is the hazard of the normal: m + r = K_1 decreases like 1/x and the skew like 2/x³. For large x, K_1 is therefore
computed from its asymptotic series, and the skew r K_1²K_2²K_3 (x + 3K_3 - 2K_4)/6 from the continued fraction of r.
The relative error is below 1e-12 on both sides (1e-10 for the skew), and ln p is finite as long as a² is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from separatrix._array import Array
from separatrix._special import FRACTION_FROM, hazard_fraction
from separatrix.likelihoods.base import Derivatives, LogConcave

SQRT_HALF, SQRT_2_OVER_PI = float(np.sqrt(0.5)), float(np.sqrt(2 / np.pi))
SERIES_FROM = 30.0  # for x >= 30, eight terms of the series of K_1 are exact to rounding


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
        parts = probit_law(a.astype(np.float64, copy=False), np.asarray(t, dtype=np.float64))
        return Derivatives(*(part.astype(a.dtype, copy=False) for part in parts))

    def skew(self, a: Array, t: Array) -> Array:
        """-∂³ ln p/∂a³."""
        wide = a.astype(np.float64, copy=False)
        x, against = np.abs(wide), np.abs((wide >= 0) - np.asarray(t, dtype=np.float64))
        low = SQRT_2_OVER_PI / special.erfcx(x * SQRT_HALF)
        bend = low * ((low - x) * (2.0 * low - x) - 1.0)
        far = np.flatnonzero((x > FRACTION_FROM) & (against > 0))
        if len(far):
            K1, K2, K3, K4 = hazard_fraction(x[far])
            bend[far] = low[far] * (K1 * K2) ** 2 * K3 * (x[far] + 3.0 * K3 - 2.0 * K4) / 6.0
        high = 0.5 * SQRT_2_OVER_PI * np.exp(-0.5 * x * x) / special.ndtr(x)
        rest = high * (1.0 - (x + high) * (x + 2.0 * high))
        sign = 2.0 * (wide >= 0) - 1.0
        return np.asarray(sign * (against * bend + (1.0 - against) * rest), dtype=a.dtype)

    def probability(self, a: Array) -> Array:
        """p(t = 1 | a)."""
        return np.asarray(special.ndtr(a))

    def probabilities(self, a: Array) -> Array:
        """Φ(-a) and Φ(a)."""
        return np.stack([special.ndtr(-a), special.ndtr(a)], axis=1)


def reaches(x: Any, bound: float) -> bool:
    """Whether some x is at least ``bound``; the compiled law has one x."""
    return bool((x >= bound).any())


def probit_law(a: Any, t: Any) -> tuple[Any, Any, Any]:
    """ln p, slope and curvature: of arrays by NumPy, or of one row if compiled (`stats._kernels`)."""
    x, d = np.abs(a), (a >= 0) - t
    against = np.abs(d)  # 1 - t if a >= 0, else t
    agrees = 1.0 - against
    decay = -0.5 * x * x
    bell = np.exp(decay)
    scaled = 0.5 * special.erfcx(x * SQRT_HALF)  # Φ(-x)/bell
    tail = scaled * bell  # Φ(-x)
    high = 0.5 * SQRT_2_OVER_PI * bell / (1.0 - tail)  # r at m = x
    excess = 0.5 * SQRT_2_OVER_PI / scaled - x  # K_1
    if reaches(x, SERIES_FROM):
        z = np.maximum(x, SERIES_FROM)
        y = 1.0 / (z * z)
        series = 1.0 - y * (2.0 - y * (10.0 - y * (74.0 - y * (706.0 - y * (8162.0 - y * (110410.0 - y * 1708394.0))))))
        is_far = 1.0 * (x >= SERIES_FROM)
        excess = (1.0 - is_far) * excess + is_far * series / z
    low = x + excess  # r at m = -x
    log_p = against * (np.log(scaled) + decay) + agrees * np.log1p(-tail)
    pull = agrees * high
    slope = np.copysign(pull, a + 0.0) - d * low  # a + 0 is never minus zero
    return log_p, slope, against * low * excess + pull * (x + high)
