# SPDX-License-Identifier: BSD-3-Clause
"""A block: some rows, their targets and their weights, small enough to stay in cache."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._array import Array, Codes, Float, Rows, is_sparse


@dataclass(frozen=True, slots=True)
class Block:
    """Rows ``X`` (n, D), float32 or float64, dense or CSR, with what belongs to each row.

    ``t`` holds class codes 0 .. K-1 (or real targets) and is None at prediction; ``weight`` is None
    where every row counts once; ``row`` numbers the rows within their source; ``offset`` is a known part of each
    row's activation, None where there is none.
    """

    X: Rows
    t: Array | None
    weight: Float | None
    row: Codes | range
    offset: Float | None = None

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def take(self, rows: Array) -> Block:
        """Some of the rows, by position or mask."""
        return Block(
            X=self.X[rows],
            t=None if self.t is None else self.t[rows],
            weight=None if self.weight is None else self.weight[rows],
            row=_some_of(self.row, rows),
            offset=None if self.offset is None else self.offset[rows],
        )

    @property
    def targets(self) -> Array:
        """Of each row, where the caller knows that there are some."""
        assert self.t is not None, "this block carries no targets"
        return self.t

    @property
    def codes(self) -> Codes:
        """The same, where they are codes of classes."""
        return self.targets

    def nonfinite(self) -> Codes:
        """Number of NaN or infinite values per column."""
        return self._count(lambda values: ~np.isfinite(values))

    def missing(self) -> Codes:
        """Number of NaN per column."""
        return self._count(np.isnan)

    def _count(self, is_so: Callable[[Array], Array]) -> Codes:
        """Number of values per column of which something is so; it must not be so of zero."""
        if is_sparse(self.X):
            return np.bincount(self.X.indices[is_so(self.X.data)], minlength=self.X.shape[1])
        return np.asarray(is_so(self.X).sum(axis=0), dtype=np.intp)


def _some_of(row: Codes | range, rows: Any) -> Codes:
    """Numbers of the rows taken; of a million in a row, only those are written down."""
    mask = np.asarray(rows)
    if not isinstance(row, range):
        return np.asarray(row[mask])
    positions = np.flatnonzero(mask) if mask.dtype == bool else mask
    return np.asarray(row.start + row.step * positions)
