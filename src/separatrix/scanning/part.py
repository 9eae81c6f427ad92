# SPDX-License-Identifier: BSD-3-Clause
"""A part of a scan, and how its batches become blocks: all that another machine needs to do its share of a pass.

A `Part` says where some rows are; a `BlockPlan` says what a model wants of them. Both are small and can be pickled,
and `blocks_of` is a pure function of the two: it gives the same blocks wherever it runs.

    blocks = blocks_of(part.batches(), replace(plan, first_row=n_rows_before))
    answer = functools.reduce(operator.add, map(statistic, blocks))
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from separatrix._array import Array, Float, Rows
from separatrix.rows import Block
from separatrix.scanning.labels import codes_of
from separatrix.scanning.matrix import numbers, to_matrix
from separatrix.table import Schema

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["BlockPlan", "Part", "Piece", "block_of", "blocks_of", "pieces_of"]


class Part(Protocol):
    """Some rows of a scan: a file, some row groups of one, or all that a query returns. Small, and can be pickled."""

    @property
    def n_rows(self) -> int | None:
        """How many, where that is known without reading them."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Of every batch, in this order: what the model sees, then the target and the weight, if there are any."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, in their order; the same ones each time."""


@dataclass(frozen=True, eq=False)
class BlockPlan:
    """What becomes of a batch.

    Attributes
    ----------
    columns : tuple of str
        Of the batch, that make the rows.
    rows : int
        Of a block, at most.
    precision : str
        "float64", or "float32" where every column is.
    schema : Schema, optional
        By which columns that are not numbers become some; None where all of them are.
    sparse : bool
        Whether the numbers of a schema are kept sparse.
    target : str, optional
        The column of the labels, or of real targets where there are no ``classes``.
    classes : ndarray, optional
        What the codes stand for, sorted.
    unlabelled : object
        As in `LabelRules`: which rows have no label, code -1.
    weight : str, optional
        The column of the weights.
    first_row : int
        The number of the first row, among all rows of the scan.
    """

    columns: tuple[str, ...]
    rows: int
    precision: str = "float64"
    schema: Schema | None = None
    sparse: bool = False
    target: str | None = None
    classes: Array | None = None
    unlabelled: Any = "error"
    weight: str | None = None
    first_row: int = 0


class Piece(NamedTuple):
    """Rows of one batch that will be a block, and the number of the first of them."""

    batch: pa.RecordBatch
    row: int


def blocks_of(batches: Iterable[pa.RecordBatch], plan: BlockPlan) -> Iterator[Block]:
    """The rows of some batches as blocks of the plan's size, none of them empty; a block never spans two batches."""
    return (block_of(piece, plan) for piece in pieces_of(batches, plan.rows, plan.first_row))


def pieces_of(batches: Iterable[pa.RecordBatch], rows: int, first_row: int = 0) -> Iterator[Piece]:
    """Batches cut to at most so many rows, nearly equal in length, without a copy."""
    row = first_row
    for batch in batches:
        cuts = -(-batch.num_rows // rows)
        ends = [batch.num_rows * (i + 1) // cuts for i in range(cuts)]
        for start, end in zip([0, *ends], ends, strict=False):
            yield Piece(batch.slice(start, end - start), row + start)
        row += batch.num_rows


def block_of(piece: Piece, plan: BlockPlan) -> Block:
    """The block of one piece: this is where the time of a pass goes that is not reading or arithmetic."""
    batch, n = piece.batch, piece.batch.num_rows
    return Block(
        X=_rows(batch, plan),
        t=None if plan.target is None else _targets(batch.column(plan.target), plan),
        weight=None if plan.weight is None else _float64(batch.column(plan.weight)),
        row=range(piece.row, piece.row + n),
    )


def _rows(batch: pa.RecordBatch, plan: BlockPlan) -> Rows:
    if plan.schema is not None:
        return plan.schema.encode(batch, sparse=plan.sparse)
    return to_matrix([batch.column(name) for name in plan.columns], batch.num_rows, plan.precision)


def _targets(column: pa.Array, plan: BlockPlan) -> Array:
    if plan.classes is None:
        return _float64(column)
    return codes_of(column, plan.classes, plan.unlabelled)


def _float64(column: pa.Array) -> Float:
    return numbers(column).astype("float64", copy=False)
