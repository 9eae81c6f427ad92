# SPDX-License-Identifier: BSD-3-Clause
"""A scan that was opened by a model: which columns it sees, and where labels and weights come from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix._array import Array, Float
from separatrix._threads import map_in_order
from separatrix.exceptions import DataError
from separatrix.rows import (
    Labelled,
    LabelRules,
    NamedRows,
    Progress,
    Source,
    block_rows,
    check_weight,
    pair,
    require_classes,
    require_known,
    require_weight,
)
from separatrix.scanning.batches import WHOLE
from separatrix.scanning.checksum import Seal
from separatrix.scanning.columns import column_in_memory, weights_of
from separatrix.scanning.labels import LabelTally, tally_labels
from separatrix.scanning.matrix import precision
from separatrix.scanning.part import BlockPlan, Piece
from separatrix.scanning.passes import Ledger, Origin, Passes
from separatrix.scanning.source import Scanned
from separatrix.table import Schema, TableFacts, table_facts

if TYPE_CHECKING:
    from separatrix.scanning.shares import Workers

__all__ = ["OpenedScan", "tally_piece"]


@dataclass(frozen=True, eq=False)
class OpenedScan:
    """The rows of an origin as a model sees them: ``features`` as they are, or what a ``schema`` makes of them."""

    origin: Origin
    features: tuple[str, ...]
    target: str | None
    weight: str | None
    ledger: Ledger
    schema: Schema | None = None
    sparse: bool = False
    client: Any = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the numbers in a row."""
        return self.features if self.schema is None else self.schema.columns

    @property
    def likeness(self) -> Any:
        """An Arrow table without rows; of encoded columns, an array of as many, which has no names to remember."""
        if self.schema is not None:
            return NamedRows(np.empty((0, len(self.columns))), self.columns)
        return self.origin.schema(self.features).empty_table()

    @property
    def n_rows(self) -> int:
        """N."""
        return self._passes(()).count() if self.client is None else self._workers.n_rows

    def rows(self, *, read_once: bool = False) -> Source:
        """The rows alone. They are copied into blocks, which should fit the cache however often they are read."""
        del read_once
        return self._read_by(self._source())

    def labelled(self, y: Any, sample_weight: Any, rules: LabelRules) -> Labelled:
        """The rows with labels from the target column, or from ``y`` in memory."""
        if y is None:
            return self._from_column(self.require_target(), sample_weight, rules)
        targets = pair(y, self.weights(sample_weight), self.n_rows, rules)
        source = replace(self._source(), t=targets.t, weight=targets.weight)
        n_unlabelled = int(np.count_nonzero(targets.t < 0))
        return Labelled(self._read_by(source), targets.classes, n_unlabelled, targets.is_soft)

    def attached(self, t: Array, weight: Float | None, offset: Float | None) -> Source:
        """With numbers beside the rows."""
        return self._read_by(replace(self._source(), t=t, weight=weight, offset=offset))

    def facts(self, unread: Sequence[str] = ()) -> TableFacts:
        """What there is to know about the features before they have types: one pass, of workers where there are any."""
        if self.client is not None:
            return self._workers.facts(self.features, unread)

        def consume(pieces: Iterator[Piece], progress: Progress) -> TableFacts:
            total = TableFacts()
            for number, piece in enumerate(pieces, start=1):
                total = total + table_facts(piece.batch, name=f"batch {number}", unread=unread)
                progress.advance(piece.batch.num_rows)
            return total

        return self._passes(()).run(consume, WHOLE)

    def column(self, name: str) -> Array:
        """One column in memory."""
        return column_in_memory(self._passes((name,), features=()), name)

    def require_target(self) -> str:
        """The column of the labels; raise where there is none."""
        if self.target is None:
            raise DataError(
                f"{self.origin.title} has no target: say which column has the labels, scan(..., target='column'), or "
                "give y."
            )
        return self.target

    def weights(self, sample_weight: Any) -> Any:
        """Weights in memory, as given or from their column; raise where there are both."""
        self._require_one_weight(sample_weight)
        return sample_weight if self.weight is None else self.column(self.weight)

    def _require_one_weight(self, sample_weight: Any) -> None:
        if self.weight is not None and sample_weight is not None:
            raise DataError(f"Weights were given twice: the column {self.weight!r} of the scan, and sample_weight.")

    def _from_column(self, target: str, sample_weight: Any, rules: LabelRules) -> Labelled:
        self._require_one_weight(sample_weight)
        beside = check_weight(sample_weight, self.n_rows) if sample_weight is not None else None
        tally = self._tally(target, beside)
        classes = tally.classes(rules.unlabelled)
        if rules.known is not None:
            require_known(classes, rules.known)
            classes = rules.known
        require_classes(classes, rules.least, f" in column {target!r} of {self.origin.title}")
        if beside is not None or self.weight is not None:
            totals = tally.weights(classes)
            require_weight(totals, None if rules.known is not None else np.arange(len(classes)), classes)
        source = self._source(target=target, classes=classes, unlabelled=rules.unlabelled, weight=self.weight)
        if source.seal is not None:
            source.seal.labels = tally.checksum(classes)
        rows = self._read_by(replace(source, weight=beside))
        return Labelled(rows, classes, tally.n_unlabelled(rules.unlabelled))

    def _tally(self, target: str, beside: Float | None) -> LabelTally:
        """The pass that finds the classes."""
        if self.client is not None:
            return self._workers.tally(target, self.weight, beside)

        def consume(pieces: Iterator[Piece], progress: Progress) -> LabelTally:
            total = LabelTally()
            for tally in map_in_order(lambda piece: tally_piece(piece, target, self.weight, beside), pieces):
                progress.advance(tally.n_rows)
                total = total + tally
            return total

        needed = (target,) if self.weight is None else (target, self.weight)
        return self._passes(needed, features=()).run(consume, WHOLE)

    @cached_property
    def _workers(self) -> Workers:
        """Of the client, who know how many rows each of them reads."""
        from separatrix.scanning.shares import Workers

        return Workers(self.origin, self.client)

    def _passes(self, more: tuple[str, ...], features: tuple[str, ...] | None = None) -> Passes:
        names = dict.fromkeys([*(self.features if features is None else features), *more])
        return Passes(self.origin, tuple(names), self.ledger)

    def _read_by(self, source: Scanned) -> Source:
        """The rows, read by this process or by the workers of a client."""
        if self.client is None:
            return source
        from separatrix.scanning.shares import SharedScan

        return SharedScan.of(source, self._workers)

    def _source(self, **labels: Any) -> Scanned:
        more = tuple(name for name in (labels.get("target"), labels.get("weight")) if name is not None)
        plan = BlockPlan(
            columns=self.features,
            rows=block_rows(len(self.columns)),
            precision=str(precision(self.origin.schema(self.features).types)),
            schema=self.schema,
            sparse=self.sparse,
            **labels,
        )
        seal = Seal(self.origin.title) if self.origin.may_change else None
        return Scanned(self._passes(more), plan, self.columns, seal=seal)


def tally_piece(piece: Piece, target: str, weight: str | None, beside: Float | None, first_row: int = 0) -> LabelTally:
    """The labels of some rows, weighted by a column or by numbers ``beside`` all rows from ``first_row`` on."""
    start, numbers = piece.row - first_row, None
    if weight is not None:
        numbers = weights_of(piece.batch.column(weight), piece.row, weight)
    elif beside is not None:
        numbers = beside[start : start + piece.batch.num_rows]
    return tally_labels(piece.batch.column(target), numbers, piece.row, target)
