# SPDX-License-Identifier: BSD-3-Clause
"""Shares and counts as labels, for the one question whether the likelihood has a maximum.

Weights can grow along d without end, and the likelihood with them, if no row objects and some row gains:

    label k            objects unless   d_k'φ̃ >= d_j'φ̃   for every class j
    shares t_k         objects unless   so it is for every k with t_k > 0
    count t = 0        objects unless   d'φ̃ <= 0, as a row labelled 0 does
    count t > 0        objects unless   d'φ̃  = 0, as a row labelled 0 and the same row labelled 1 do

So every target has a set of labels, its support, and the question is the one about hyperplanes (`separation`) for rows
repeated with each of their labels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from separatrix._array import Array, Rows
from separatrix.rows import Addable, Block, Source

__all__ = ["Seen", "Support"]

State = TypeVar("State")
Stat = TypeVar("Stat", bound=Addable)


@dataclass(frozen=True, slots=True)
class Support:
    """Which labels a target stands for: shares (n,) of the second of two classes or (n, K) of all, or counts (n,)."""

    is_count: bool = False

    def of(self, t: Array) -> Array:
        """Whether each row (n,) has each label (K,)."""
        if t.ndim == 2:
            return np.asarray(t > 0)
        return np.column_stack([np.ones(len(t), dtype=bool) if self.is_count else t < 1, t > 0])

    def repeat(self, block: Block) -> Block:
        """Each row with each of its labels."""
        n, label = np.nonzero(self.of(block.targets))
        return replace(block.take(n), t=label)

    def partial(self, block: Block) -> Block:
        """The rows that lack a label; the others hold d'φ̃ to zero on either side, and lose by any step off it."""
        return block.take(np.flatnonzero((~self.of(block.targets)).any(axis=1)))


@dataclass(frozen=True, eq=False)
class Seen:
    """The same rows, each block of them as a function of blocks shows it."""

    source: Source
    show: Callable[[Block], Block]

    @property
    def n_rows(self) -> int:
        """Of the source itself."""
        return self.source.n_rows

    @property
    def columns(self) -> tuple[str, ...]:
        """The same."""
        return self.source.columns

    def sized_for(self, width: int) -> Seen:
        """Other blocks."""
        return Seen(self.source.sized_for(width), self.show)

    def reduce(self, statistic: Callable[[Block], Stat]) -> Stat:
        """One pass over what is shown."""
        return self.source.reduce(lambda block: statistic(self.show(block)))

    def fold(
        self, step: Callable[[State, Block], State], state: State, rng: np.random.Generator | None = None
    ) -> State:
        """Ordered work on what is shown."""
        return self.source.fold(lambda s, block: step(s, self.show(block)), state, rng)

    def map(self, row_function: Callable[[Rows], Array]) -> Array:
        """A function of the rows themselves."""
        return self.source.map(row_function)
