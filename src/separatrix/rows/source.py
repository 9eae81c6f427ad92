# SPDX-License-Identifier: BSD-3-Clause
"""A source is the only thing that knows where rows live. It has three verbs.

``reduce(statistic)``   Σ over blocks of statistic(block); statistics add           (a *pass*)
``fold(step, state)``   state <- step(state, block), block after block, in order   (online rules)
``map(row_function)``   row_function(X) for every block, stacked                   (prediction)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol, Self, TypeVar

import numpy as np

from separatrix._array import Array, Rows
from separatrix.rows.block import Block

__all__ = ["Addable", "RowMap", "Source", "ThroughBasis"]

State = TypeVar("State")


class Addable(Protocol):
    """What a pass returns: a record with an associative, commutative ``+``."""

    def __add__(self, other: Self, /) -> Self:
        """The statistic of both sets of rows together."""


Stat = TypeVar("Stat", bound=Addable)


class RowMap(Protocol):
    """Fitted basis functions x -> φ(x), as a source needs them."""

    def evaluate(self, X: Rows) -> Rows:
        """Φ (n, M) of the rows X (n, D)."""

    def names(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """A name for each of the M functions of the named columns."""


class Source(Protocol):
    """Rows, wherever they are."""

    @property
    def n_rows(self) -> int:
        """N."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names for messages; ``x0, x1, ...`` where the user gave none."""

    def sized_for(self, width: int) -> Source:
        """The same rows in blocks that suit ``width`` numbers per row."""

    def reduce(self, statistic: Callable[[Block], Stat]) -> Stat:
        """One pass: the statistic of all rows."""

    def fold(
        self, step: Callable[[State, Block], State], state: State, rng: np.random.Generator | None = None
    ) -> State:
        """Thread ``state`` through the blocks in order; with ``rng``, in a fresh random order."""

    def map(self, row_function: Callable[[Rows], Array]) -> Array:
        """``row_function`` of every row, in the order of the rows."""


class ThroughBasis:
    """The same rows seen through basis functions φ, evaluated block by block.

    The (N, M) design matrix is never whole in memory, and the source underneath never hears of φ.
    """

    def __init__(self, source: Source, basis: RowMap, width: int = 0) -> None:
        self.columns = basis.names(source.columns)
        # A block of rows must suit its basis functions too: a hundred columns of φ may come from two of x.
        width = max(width, len(self.columns), len(source.columns))
        self._source, self._basis = source.sized_for(width), basis

    @property
    def n_rows(self) -> int:
        """N."""
        return self._source.n_rows

    @property
    def raw(self) -> Source:
        """The rows themselves, for messages that must not blame them for what φ did."""
        return self._source

    def sized_for(self, width: int) -> ThroughBasis:
        """The same functions over larger or smaller blocks."""
        return ThroughBasis(self._source, self._basis, width)

    def _phi(self, block: Block) -> Block:
        return replace(block, X=self._basis.evaluate(block.X))

    def reduce(self, statistic: Callable[[Block], Stat]) -> Stat:
        """One pass over Φ."""
        return self._source.reduce(lambda block: statistic(self._phi(block)))

    def fold(
        self, step: Callable[[State, Block], State], state: State, rng: np.random.Generator | None = None
    ) -> State:
        """Ordered work on Φ."""
        return self._source.fold(lambda s, block: step(s, self._phi(block)), state, rng)

    def map(self, row_function: Callable[[Rows], Array]) -> Array:
        """Prediction from Φ."""
        return self._source.map(lambda X: row_function(self._basis.evaluate(X)))
