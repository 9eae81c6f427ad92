# SPDX-License-Identifier: BSD-3-Clause
"""Whether rows of a class are given a larger probability of it than rows of another: the area under the ROC curve."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np

from separatrix._array import Codes, Float
from separatrix.metrics.sample import Estimate, Sample, checked, weighted_mean

__all__ = ["auc"]


def auc(P: Any, codes: Any, weight: Any = None) -> Estimate:
    """Area under the ROC curve, by Mann and Whitney; for K classes the mean over pairs of Hand and Till (2001).

    A(i | j) is the probability that a row of class i has a larger P_ni than a row of class j, ties counting half.
    For two classes the figure is A(1 | 0); for more, the mean of A(i | j) over ordered pairs of the classes that occur.
    A row's part in it is the mean, over the pairs it belongs to, of how often it is ranked rightly against the other
    class; the variance is the sum over classes of the variance of the mean part (DeLong, DeLong and Clarke-Pearson
    1988, here for any K). NaN where fewer than two classes occur.

    Examples
    --------
    >>> auc([[0.9, 0.1], [0.6, 0.4], [0.65, 0.35], [0.2, 0.8]], [0, 0, 1, 1]).value
    0.75
    """
    sample = checked(P, codes, weight)
    members = [np.flatnonzero(sample.codes == k) for k in range(sample.P.shape[1])]
    occur = [k for k, rows in enumerate(members) if len(rows)]
    if len(occur) < 2:
        return Estimate(np.nan, np.nan)
    pairs = [(1, 0)] if len(members) == 2 else list(permutations(occur, 2))
    part = _parts(sample, members, pairs)
    by_class = [weighted_mean(part[members[k]], sample.weight[members[k]]) for k in occur]
    # Each pair is counted once from either side, so that half of the sum of the class means is the figure.
    return Estimate(0.5 * sum(e.value for e in by_class), float(np.hypot.reduce([e.standard_error for e in by_class])))


def _parts(sample: Sample, members: list[Codes], pairs: list[tuple[int, int]]) -> Float:
    """For each row, the sum over pairs (i, j) it belongs to of how often it is ranked rightly, over all pairs."""
    part = np.zeros(len(sample.P))
    for i, j in pairs:
        rows_i, rows_j = members[i], members[j]
        p_i, p_j = sample.P[rows_i, i], sample.P[rows_j, i]
        part[rows_i] += _share_below(p_i, p_j, sample.weight[rows_j])
        part[rows_j] += 1.0 - _share_below(p_j, p_i, sample.weight[rows_i])
    return part / len(pairs)


def _share_below(values: Float, others: Float, weight: Float) -> Float:
    """For each value, the share of the weight of the others that lies below it; what is equal counts half."""
    order = np.argsort(others)
    mass = np.concatenate([[0.0], np.cumsum(weight[order])])
    ranked = others[order]
    below, up_to = (mass[np.searchsorted(ranked, values, side)] for side in ("left", "right"))
    return np.asarray((below + up_to) / (2 * mass[-1]))
