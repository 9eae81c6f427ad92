# SPDX-License-Identifier: BSD-3-Clause
"""Whether what is predicted with probability p happens in a share p of cases.

The event is the second class where there are two, and else that the most probable class comes true. Rows are put into
bins of equal weight by their probability of it; rows of equal probability share a bin, so that bins do not depend on
the order of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from separatrix._arguments import check_count, check_number
from separatrix._array import Array, Codes, Float, bincount
from separatrix.metrics.sample import Estimate, Sample, checked, weighted_mean

__all__ = ["N_BINS", "Reliability", "ece", "ece_if_calibrated", "reliability"]

N_BINS = 10


@dataclass(frozen=True, eq=False)
class Reliability:
    """Rows in bins of like predicted probability: what was predicted in each, and what came true.

    Attributes
    ----------
    predicted, observed : ndarray of shape (B,)
        Mean predicted probability, and the share of rows in which the event happened.
    count : ndarray of shape (B,)
        Weight of the rows.
    lower, upper : ndarray of shape (B,)
        Wilson's interval for the observed share.
    level : float
        Of the interval.
    event : str
        Whose probability it is.
    """

    predicted: Float
    observed: Float
    count: Float
    lower: Float
    upper: Float
    level: float
    event: str


def ece(P: Any, codes: Any, weight: Any = None, *, n_bins: int = N_BINS) -> Estimate:
    """Expected calibration error Σ_b (W_b / W) |observed_b - predicted_b|. Smaller is better.

    The event is the second class where there are two, and else that the most probable class comes true. Bins have
    equal weight; rows of equal probability share a bin. With s_b the sign of a bin's gap this is the mean of
    s_b (hit_n - p_n) over rows, and has the standard error of that mean: right where gaps exceed their own noise.
    Where they do not, see `ece_if_calibrated`.

    Examples
    --------
    >>> ece([[0.8, 0.2]] * 5 + [[0.3, 0.7]] * 5, [0, 0, 0, 0, 1, 0, 1, 1, 1, 1]).value
    0.05...
    """
    sample = checked(P, codes, weight)
    p, hit, bins = _in_bins(sample, n_bins)
    residual = hit - p
    side = np.sign(bincount(bins, sample.weight * residual, int(bins.max()) + 1))
    return weighted_mean(side[bins] * residual, sample.weight)


def ece_if_calibrated(P: Any, codes: Any, weight: Any = None, *, n_bins: int = N_BINS) -> float:
    """What `ece` would be on average, for as many rows, if every probability were right.

    Σ_b sqrt(2 V_b / π) / W with V_b = Σ_{n in b} weight_n p_n (1 - p_n), the mean of an absolute normal variable.

    Examples
    --------
    >>> round(ece_if_calibrated([[0.5, 0.5]] * 100, [0, 1] * 50), 3)
    0.04
    """
    sample = checked(P, codes, weight)
    p, _, bins = _in_bins(sample, n_bins)
    V = bincount(bins, sample.weight * p * np.maximum(1 - p, 0.0), int(bins.max()) + 1)
    return float(np.sqrt(2 * V / np.pi).sum() / sample.weight.sum())


def reliability(P: Any, codes: Any, weight: Any = None, *, n_bins: int = N_BINS, level: float = 0.95) -> Reliability:
    """The reliability curve: in the bins of `ece`, predicted against observed shares with their intervals.

    Examples
    --------
    >>> curve = reliability([[0.8, 0.2]] * 5 + [[0.3, 0.7]] * 5, [0, 0, 0, 0, 1, 0, 1, 1, 1, 1])
    >>> curve.predicted, curve.observed
    (array([0.2, 0.7]), array([0.2, 0.8]))
    """
    level = check_number("reliability", "level", level, low=0.0, high=1.0)
    sample = checked(P, codes, weight)
    p, hit, bins = _in_bins(sample, n_bins)
    B = int(bins.max()) + 1
    count = bincount(bins, sample.weight, B)
    observed = bincount(bins, sample.weight * hit, B) / count
    lower, upper = _wilson(observed, count, level)
    event = "the second class" if sample.P.shape[1] == 2 else "the most probable class"
    return Reliability(bincount(bins, sample.weight * p, B) / count, observed, count, lower, upper, level, event)


def _in_bins(sample: Sample, n_bins: int) -> tuple[Float, Array, Codes]:
    """Probability of the event, whether it happened, and the bin, of each row; no bin is empty."""
    check_count("ece", "n_bins", n_bins)
    if sample.P.shape[1] == 2:
        p, hit = sample.P[:, 1], sample.codes == 1
    else:
        p, hit = sample.P.max(axis=1), sample.P.argmax(axis=1) == sample.codes
    _, place = np.unique(p, return_inverse=True)
    mass = bincount(place, sample.weight, 0)
    middle = (np.cumsum(mass) - 0.5 * mass) / mass.sum()  # of the weight at each value: equal values share a bin
    bins = np.minimum((n_bins * middle).astype(np.intp), n_bins - 1)
    return p, hit, np.unique(bins[place], return_inverse=True)[1]


def _wilson(share: Float, count: Float, level: float) -> tuple[Float, Float]:
    """Wilson's score interval for a share of ``count`` rows."""
    if level == 1:
        return np.zeros_like(share), np.ones_like(share)
    z = float(special.ndtri(0.5 + 0.5 * level))
    centre = (share + z * z / (2 * count)) / (1 + z * z / count)
    reach = z * np.sqrt(np.maximum(share * (1 - share), 0.0) / count + (z / (2 * count)) ** 2) / (1 + z * z / count)
    return np.maximum(centre - reach, 0.0), np.minimum(centre + reach, 1.0)
