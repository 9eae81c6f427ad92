# SPDX-License-Identifier: BSD-3-Clause
"""Compiled loop of `proximal`. Importing this file imports Numba."""

from __future__ import annotations

import numpy as np
from numba import njit

from separatrix._array import Codes, Float


@njit(cache=True, nogil=True)
def sweep(
    H: Float, slope: Float, x: Float, bounds: Codes, members: Codes, threshold: Float, curvature: Float, unit: Float
) -> float:
    """Minimise the model over each group of weights in turn; return the largest step, as a change of the gradient.

    ``slope`` (P,) is the gradient of the quadratic part at x (P,); both are updated in place. Group g consists of the
    weights ``members[bounds[g] : bounds[g + 1]]``; its block of H has no eigenvalue above ``curvature[g]``.
    """
    largest = 0.0
    for g in range(len(curvature)):
        c = curvature[g]
        if c <= 0.0:
            continue
        group = members[bounds[g] : bounds[g + 1]]
        length = 0.0
        for j in group:
            length += (c * x[j] - slope[j]) ** 2
        length = np.sqrt(length)
        kept = 1.0 - threshold[g] / length if length > threshold[g] else 0.0
        steps = np.empty(len(group))
        for i in range(len(group)):
            j = group[i]
            steps[i] = kept * (x[j] - slope[j] / c) - x[j]
            x[j] += steps[i]
            largest = max(largest, abs(steps[i]) * c / unit[j])
        for i in range(len(group)):
            if steps[i] != 0.0:
                for k in range(len(x)):
                    slope[k] += steps[i] * H[group[i], k]
    return largest
