# SPDX-License-Identifier: BSD-3-Clause
"""The rows of a scan as a source: blocks are made and reduced on threads while the next batch is read.

Batches, blocks and the order of additions are those of the file, whatever the threads do: equal runs give equal bits.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np
from scipy import sparse

from separatrix._array import Array, Float, Rows, is_sparse
from separatrix._threads import map_in_order
from separatrix.rows import MAP_BLOCKS, Block, Progress, Stat, block_rows
from separatrix.scanning.batches import WHOLE
from separatrix.scanning.checksum import Seal
from separatrix.scanning.part import BlockPlan, Piece, block_of
from separatrix.scanning.passes import Passes

__all__ = ["Scanned", "stacked"]

State = TypeVar("State")
Answer = TypeVar("Answer")


@dataclass(frozen=True, eq=False)
class Scanned:
    """Rows that are read anew for every pass, with targets from a column or beside them in memory.

    Where nothing else tells whether they are the same each time, a ``seal`` does.
    """

    passes: Passes
    plan: BlockPlan
    columns: tuple[str, ...]
    t: Array | None = None
    weight: Float | None = None
    offset: Float | None = None
    seal: Seal | None = None

    @property
    def n_rows(self) -> int:
        """N; counted by a pass over one column where nobody knows it."""
        return self.passes.count()

    def sized_for(self, width: int) -> Scanned:
        """The same rows in blocks that suit ``width`` numbers per row."""
        return self.in_blocks(block_rows(width))

    def in_blocks(self, rows: int) -> Scanned:
        """The same rows in blocks of so many."""
        return replace(self, plan=replace(self.plan, rows=rows))

    def reduce(self, statistic: Callable[[Block], Stat]) -> Stat:
        """One pass."""
        return self._reduced(statistic) if self.seal is None else self.seal.reduce(self._reduced, statistic)

    def _reduced(self, statistic: Callable[[Block], Stat]) -> Stat:
        def consume(pieces: Iterator[Piece], progress: Progress) -> Stat:
            return functools.reduce(operator.add, self._mapped(statistic, pieces, progress))

        return self.passes.run(consume, self.plan.rows)

    def fold(
        self, step: Callable[[State, Block], State], state: State, rng: np.random.Generator | None = None
    ) -> State:
        """Thread ``state`` through the blocks in order; with ``rng``, through whole batches in order, shuffled within.

        A file is read from its beginning to its end in any case: rows that are sorted by class should be shuffled in
        the file. A step may change its state, so a query that breaks off is not asked again.
        """
        run = partial(self._folded, rng=rng)
        return run(step, state) if self.seal is None else self.seal.fold(run, step, state)

    def _folded(self, step: Callable[[State, Block], State], state: State, rng: np.random.Generator | None) -> State:
        def consume(pieces: Iterator[Piece], progress: Progress) -> State:
            answer = state
            for piece in pieces:
                block = self._block(piece)
                answer = step(answer, block if rng is None else block.take(rng.permutation(len(block))))
                progress.advance(len(block))
            return answer

        return self.passes.run(consume, self.plan.rows if rng is None else WHOLE, retry=False)

    def map(self, row_function: Callable[[Rows], Array]) -> Array:
        """``row_function`` of every row, in the order of the file; sparse where its answers are."""
        plan = replace(self.plan, target=None, weight=None)
        bare = replace(self, plan=plan, t=None, weight=None, offset=None)

        def consume(pieces: Iterator[Piece], progress: Progress) -> Array:
            answers = bare._mapped(lambda block: row_function(block.X), pieces, progress)
            return stacked(answers, self.passes.ledger.n_rows)

        return self.passes.run(consume, MAP_BLOCKS * self.plan.rows)

    def _mapped(self, work: Callable[[Block], Answer], pieces: Iterator[Piece], progress: Progress) -> Iterator[Answer]:
        """The answers in order, each counted as it comes; the reader is stopped where nobody wants the rest."""

        def measured(piece: Piece) -> tuple[int, Answer]:
            return piece.batch.num_rows, work(self._block(piece))

        for rows, answer in map_in_order(measured, pieces):
            progress.advance(rows)
            yield answer

    def _block(self, piece: Piece) -> Block:
        block = block_of(piece, self.plan)
        if self.t is None and self.weight is None and self.offset is None:
            return block
        span = slice(piece.row, piece.row + len(block))
        return replace(
            block,
            t=block.t if self.t is None else self.t[span],
            weight=block.weight if self.weight is None else self.weight[span],
            offset=None if self.offset is None else self.offset[span],
        )


def stacked(answers: Iterator[Array], n_rows: int | None) -> Array:
    """The answers one below another; written to their place where it is known how many there will be."""
    first = next(answers)
    if is_sparse(first):
        whole = sparse.vstack([first, *answers], format="csr")
        return sparse.csr_array(whole)  # type: ignore[no-any-return]  # SciPy ships no types
    if n_rows is None:
        return np.concatenate([first, *answers])
    whole = np.empty((n_rows, *first.shape[1:]), first.dtype)
    end = len(first)
    whole[:end] = first[: len(whole)]
    for answer in answers:
        start, end = end, end + len(answer)
        whole[start:end] = answer[: max(len(whole) - start, 0)]  # more rows than before: the pass ends in an error
    return whole
