# SPDX-License-Identifier: BSD-3-Clause
"""A block: some rows, their targets and their weights, small enough to stay in cache."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix._array import Array, Codes, Float, Rows, is_sparse


@dataclass(frozen=True, slots=True)
class Block:
    """Rows ``X`` (n, D), float32 or float64, dense or CSR, with what belongs to each row.

    ``t`` holds class codes 0 .. K-1 (or real targets) and is None at prediction; ``weight`` is None
    where every row counts once; ``row`` numbers the rows within their source.
    """

    X: Rows
    t: Array | None
    weight: Float | None
    row: Codes | range

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @property
    def codes(self) -> Codes:
        """The class codes, where the caller knows that there are some."""
        assert self.t is not None, "this block carries no targets"
        return self.t

    def nonfinite(self) -> Codes:
        """Number of NaN or infinite values per column."""
        if is_sparse(self.X):
            bad = self.X.indices[~np.isfinite(self.X.data)]
            return np.bincount(bad, minlength=self.X.shape[1])
        return np.asarray((~np.isfinite(self.X)).sum(axis=0), dtype=np.intp)
