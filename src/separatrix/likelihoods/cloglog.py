# SPDX-License-Identifier: BSD-3-Clause
"""p(t = 1 | a) = 1 - exp(-e^a), the probability that a Poisson count of rate u = e^a is positive.

    t = 1:   ln p = ln(1 - e^-u),   slope h = u/(e^u - 1),   curvature h (u + h - 1)
    t = 0:   ln p = -u,             slope -u,                curvature u

Both ln p are concave. For small u, series avoid cancellation: u + h - 1 = u/2 + u²/12 - ..., and
ln(1 - e^-u) = a - u/2 + u²/24 - ... A rate beyond e^600 is treated as infinite.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.polynomial.polynomial import polyval

from separatrix._array import Array, Float
from separatrix.likelihoods.base import Derivatives, LogConcave
from separatrix.likelihoods.response import MAX_LOG_MEAN, rate

MAX_SERIES_RATE = 0.05  # u below which the series are used
SLOPE_SERIES = (1 / 2, 1 / 12, 0.0, -1 / 720, 0.0, 1 / 30240)
LOG_SERIES = (-1 / 2, 1 / 24, 0.0, -1 / 2880, 0.0, 1 / 181440)


@dataclass(frozen=True, slots=True)
class CLogLog(LogConcave):
    """Bernoulli targets, complementary log-log link."""

    def derivatives(self, a: Array, t: Array) -> Derivatives:
        """ln p, slope and curvature; for a soft target, weighted means of the values for targets 1 and 0."""
        u = rate(a)
        log_q = np.where(a > MAX_LOG_MEAN, -np.inf, -u)
        small = u < MAX_SERIES_RATE
        low, high = np.where(small, u, 0.0), np.where(small, 1.0, u)
        risen = -np.expm1(-high)  # 1 - e^-u
        log_high = np.where(high < 0.7, np.log(risen), np.log1p(-np.exp(-high)))
        log_p = np.where(small, a + low * polyval(low, LOG_SERIES), log_high)
        h_high = high * np.exp(-high) / risen
        gain_low = low * polyval(low, SLOPE_SERIES)  # u + h - 1
        h = np.where(small, 1.0 - low + gain_low, h_high)
        bend = h * np.where(small, gain_low, high + h_high - 1.0)
        if t.dtype.kind != "f":
            is_one = t > 0
            return Derivatives(np.where(is_one, log_p, log_q), np.where(is_one, h, -u), np.where(is_one, bend, u))
        rest = 1.0 - t
        log_rest = np.multiply(rest, log_q, where=rest > 0, out=np.zeros(len(a)))  # 0 times infinity is set to 0
        return Derivatives(t * log_p + log_rest, t * h - rest * u, t * bend + rest * u)

    def probability(self, a: Array) -> Float:
        """p(t = 1 | a)."""
        return np.asarray(-np.expm1(-rate(a)))


def cloglog(mu: Array) -> Float:
    """ln(-ln(1 - μ)), the link function."""
    return np.log(-np.log1p(-mu))
