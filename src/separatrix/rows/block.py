# SPDX-License-Identifier: BSD-3-Clause
"""`Block`, a few rows with their targets and weights that fit the cache; `Targets`, the targets of all rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._array import Array, Codes, Float, Rows


@dataclass(frozen=True, slots=True)
class Block:
    """Rows ``X`` (n, D), float32 or float64, dense or CSR, with their targets, weights and offsets.

    ``t`` holds class codes 0 .. K-1 or real targets and is None at prediction. ``weight`` is None if every row counts
    once. ``row`` holds the row numbers within the source. ``offset`` is a known term of each row's activation, or None.
    """

    X: Rows
    t: Array | None
    weight: Float | None
    row: Codes | range
    offset: Float | None = None

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def take(self, rows: Array | slice) -> Block:
        """Select rows by position, by a boolean mask, or by a slice, which makes no copy."""
        row: Codes | range
        if isinstance(rows, slice):
            row = self.row[rows]
        elif isinstance(self.row, range):  # avoids an array of all row numbers
            mask = np.asarray(rows)
            row = self.row.start + self.row.step * (np.flatnonzero(mask) if mask.dtype == bool else mask)
        else:
            row = self.row[np.asarray(rows)]
        return Block(
            X=self.X[rows],
            t=None if self.t is None else self.t[rows],
            weight=None if self.weight is None else self.weight[rows],
            row=row,
            offset=None if self.offset is None else self.offset[rows],
        )

    def weighted(self) -> Block:
        """The rows whose weight is not zero."""
        return self if self.weight is None or self.weight.all() else self.take(self.weight > 0)

    @property
    def targets(self) -> Array:
        """Target of each row; the block must have targets."""
        assert self.t is not None, "this block carries no targets"
        return self.t

    codes = targets  # a second name, for statistics that need class codes


@dataclass(frozen=True, eq=False)
class Targets:
    """Targets, weights and offsets in memory, in row order. Each is None if missing."""

    t: Any = None
    weight: Float | None = None
    offset: Float | None = None
    columns: tuple[str, ...] = ()  # columns of the table that hold targets: none, because they are in memory

    def block(self, X: Rows, piece: Any, first: int) -> Block:
        """Return the block of rows of a piece, with targets; ``first`` is the number of the partition's first row."""
        start, stop = piece.start, piece.stop
        t, weight, offset = self.t, self.weight, self.offset
        return Block(
            X=X,
            t=None if t is None else t[start:stop],
            weight=None if weight is None else weight[start:stop],
            row=range(first + start, first + stop),
            offset=None if offset is None else offset[start:stop],
        )
