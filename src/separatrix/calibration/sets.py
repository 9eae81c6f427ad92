# SPDX-License-Identifier: BSD-3-Clause
"""Class-conditional conformal prediction sets (Vovk 2012).

Let s_1 ... s_n be the scores of class k for n rows of class k that the model has not seen. The set of a new row with
the score s contains class k if

    1 + #{i: s_i <= s}  >  (1 - level) (n + 1)

that is, unless s is among the lowest scores. If the row belongs to class k, all n + 1 scores are exchangeable, so its
rank is uniform up to ties, and class k is in its set with a probability of at least ``level``, and of at most
``level + 1/(n + 1)`` if there are no ties. Given the n rows, the coverage has the distribution Beta(n + 1 - l, l), with
l = ⌊(1 - level)(n + 1)⌋. If n < 1/(1 - level) - 1, the level cannot be reached by leaving out any row: l = 0, and every
set contains the class.

A weight counts relative to the mean weight of its class, as for a new row of mean weight (Tibshirani et al. 2019). The
guarantee is exact if the rows of a class have equal weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix._array import Array, Codes, Float

ROUNDING = 1e-9  # rounding error of (1 - level) (n + 1), because 1 - 0.9 is slightly less than 0.1


@dataclass(frozen=True, eq=False)
class Ranks:
    """Sorted scores of one class for unseen rows of the class, and the number of rows up to each score."""

    scores: Float
    counts: Float

    def contain(self, s: Float, level: float) -> Array:
        """Whether the prediction sets of rows with the scores ``s`` contain the class."""
        counts = np.append(0.0, self.counts)
        rank = 1 + counts[np.searchsorted(self.scores, s, side="right")]
        return np.asarray(rank > (1 - level) * (1 + counts[-1]) + ROUNDING)


def fit_ranks(A: Float, codes: Codes, weight: Float) -> tuple[Ranks, ...]:
    """Ranks of each class, from scores (N, K) and the true classes of unseen rows; rows of weight zero are left out."""
    ranks = []
    for k in range(A.shape[1]):
        own = (codes == k) & (weight > 0)
        order = np.argsort(A[own, k])
        counts = np.cumsum(weight[own][order])
        ranks.append(Ranks(A[own, k][order], counts * (len(counts) / counts[-1:])))
    return tuple(ranks)
