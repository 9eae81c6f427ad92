# SPDX-License-Identifier: BSD-3-Clause
"""A source that counts how often its rows are read: the pass is the unit of cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from separatrix._array import Array, Rows
from separatrix.rows.block import Block
from separatrix.rows.source import Source, Stat

__all__ = ["Counted"]

State = TypeVar("State")


class Counted:
    """The same rows; ``passes`` has the number of times they were reduced or folded, at any block size."""

    def __init__(self, source: Source, tally: list[int] | None = None) -> None:
        self._source = source
        self._tally = [0] if tally is None else tally

    @property
    def passes(self) -> int:
        """How often the rows were read."""
        return self._tally[0]

    @property
    def n_rows(self) -> int:
        """N."""
        return self._source.n_rows

    @property
    def columns(self) -> tuple[str, ...]:
        """Column names."""
        return self._source.columns

    def sized_for(self, width: int) -> Counted:
        """Other blocks, the same count."""
        return Counted(self._source.sized_for(width), self._tally)

    def reduce(self, statistic: Callable[[Block], Stat]) -> Stat:
        """One pass."""
        self._tally[0] += 1
        return self._source.reduce(statistic)

    def fold(
        self, step: Callable[[State, Block], State], state: State, rng: np.random.Generator | None = None
    ) -> State:
        """One pass, in order."""
        self._tally[0] += 1
        return self._source.fold(step, state, rng)

    def map(self, row_function: Callable[[Rows], Array]) -> Array:
        """Prediction is not counted."""
        return self._source.map(row_function)
