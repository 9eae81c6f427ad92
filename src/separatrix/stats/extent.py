# SPDX-License-Identifier: BSD-3-Clause
"""Extent: the smallest and largest value of each column, and the longest row. A monoid under min and max."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix._array import Float, device_aware, is_sparse
from separatrix.rows import Block, DeviceRows
from separatrix.stats.device import extents

__all__ = ["Extent", "extent"]


@dataclass(frozen=True, slots=True)
class Extent:
    """``low`` and ``high`` (M,) per column; ``radius`` is R = max_n |x_n|."""

    low: Float
    high: Float
    radius: float

    def __add__(self, other: Extent) -> Extent:
        """The extent of both sets of rows together; NaN stays NaN."""
        return Extent(
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            float(np.maximum(self.radius, other.radius)),
        )


@device_aware
def extent(block: Block) -> Extent:
    """The extent of one block."""
    X = block.X
    if isinstance(X, DeviceRows):
        return Extent(*extents(X))
    low, high = X.min(axis=0), X.max(axis=0)
    if is_sparse(X):
        low, high = low.toarray(), high.toarray()
        squared = np.asarray(X.multiply(X).sum(axis=1))
    else:
        squared = np.einsum("nm,nm->n", X, X)
    return Extent(low.astype(np.float64), high.astype(np.float64), float(np.sqrt(squared.max())))
