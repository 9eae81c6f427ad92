# SPDX-License-Identifier: BSD-3-Clause
"""One pass over the rows of a scan: read ahead, counted, watched, and tried again where a database breaks off."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from separatrix.exceptions import DataError
from separatrix.rows import Progress, begin_pass
from separatrix.scanning.ahead import read_ahead
from separatrix.scanning.batches import WHOLE
from separatrix.scanning.errors import QueryError, RowsChangedError
from separatrix.scanning.part import Part, Piece, pieces_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Ledger", "Origin", "Passes", "require_rows", "tried_twice"]

Answer = TypeVar("Answer")


class Origin(Protocol):
    """Where the rows of a scan come from: files, a query, a stream."""

    @property
    def title(self) -> str:
        """What to call it in messages."""

    @property
    def columns(self) -> tuple[str, ...]:
        """All there are."""

    @property
    def n_rows(self) -> int | None:
        """Where known without reading."""

    @property
    def reads_ahead(self) -> bool:
        """Whether a thread other than the one that fits may read."""

    @property
    def may_change(self) -> bool:
        """Whether rows may be others in the next pass without anyone saying so."""

    def schema(self, columns: Sequence[str]) -> pa.Schema:
        """The types of some columns."""

    def parts(self, columns: Sequence[str]) -> tuple[Part, ...]:
        """The rows, for one reader."""

    def shares(self, columns: Sequence[str]) -> tuple[Part, ...]:
        """The rows, for several readers."""


@dataclass
class Ledger:
    """What passes have found out about a scan: the number of its rows. It is shared by everyone who reads it."""

    n_rows: int | None = None

    def settle(self, n_rows: int, title: str) -> None:
        """A pass has read so many rows; raise where another read a different number."""
        require_rows(n_rows, title)
        if self.n_rows not in (None, n_rows):
            raise RowsChangedError(
                f"{title} had {self.n_rows} rows before and {n_rows} now: they were changed between two passes, or can "
                "be read once only. Scan a copy that nobody writes to (a file, or CREATE TABLE ... AS)."
            )
        self.n_rows = n_rows


@dataclass(frozen=True, eq=False)
class Passes:
    """Some columns of an origin, read as often as one likes."""

    origin: Origin
    columns: tuple[str, ...]
    ledger: Ledger = field(default_factory=Ledger)

    def run(self, consume: Callable[[Iterator[Piece], Progress], Answer], rows: int, *, retry: bool = True) -> Answer:
        """One pass: what ``consume`` makes of pieces of at most so many rows.

        A query that breaks off is asked once more from its first row, so ``consume`` must then begin anew; where it
        cannot (``retry=False``), the error is raised at once.
        """
        once = partial(self._once, consume, rows)
        return tried_twice(once, self.origin.title) if retry else once()

    def _once(self, consume: Callable[[Iterator[Piece], Progress], Answer], rows: int) -> Answer:
        progress = begin_pass(self.ledger.n_rows)
        with closing(self._batches()) as batches:
            answer = consume(_required(pieces_of(batches, rows), self.origin.title), progress)
        self.ledger.settle(progress.done, self.origin.title)
        return answer

    def batches(self) -> Generator[pa.RecordBatch]:
        """One pass, batch by batch, for whoever takes Arrow as it is."""
        progress = begin_pass(self.ledger.n_rows)
        with closing(self._batches()) as batches:
            for batch in batches:
                yield batch
                progress.advance(batch.num_rows)
        self.ledger.settle(progress.done, self.origin.title)

    def _batches(self) -> Generator[pa.RecordBatch]:
        parts = self.origin.parts(self.columns)
        batches = (batch for part in parts for batch in part.batches())
        return read_ahead(batches) if self.origin.reads_ahead else batches

    def count(self) -> int:
        """N, from a pass over one column where nobody knows it yet."""
        if self.ledger.n_rows is None:
            narrow = Passes(self.origin, self.columns[:1], self.ledger)
            narrow.run(_count, WHOLE)
        assert self.ledger.n_rows is not None
        return self.ledger.n_rows


def require_rows(n_rows: int, title: str) -> None:
    """Raise where there are none."""
    if not n_rows:
        raise DataError(f"{title} has no rows: nothing is left to fit or predict. Look at where= and at the source.")


def tried_twice(attempt: Callable[[], Answer], title: str) -> Answer:
    """What an attempt to read returns; where the database breaks off, that of the next.

    Raises
    ------
    QueryError
        Where that breaks off too.
    """
    try:
        return attempt()
    except QueryError as error:
        first = error
    try:
        return attempt()
    except QueryError as error:
        raise QueryError(
            f"{title} broke off twice while it was read. {error} An address (postgresql://...), unlike a connection, "
            "is connected to anew for each pass."
        ) from first


def _count(pieces: Iterator[Piece], progress: Progress) -> None:
    for piece in pieces:
        progress.advance(piece.batch.num_rows)


def _required(pieces: Iterator[Piece], title: str) -> Iterator[Piece]:
    """The pieces; raise where there is none."""
    first = next(pieces, None)
    if first is None:
        require_rows(0, title)
        return
    yield first
    yield from pieces
