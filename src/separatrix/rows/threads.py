# SPDX-License-Identifier: BSD-3-Clause
"""The runner for rows in memory and in files: threads process blocks while the next rows are read.

`watched` reports the progress of a pass to a callback, for a progress bar or a log.
"""

from __future__ import annotations

import functools
import operator
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from separatrix._array import Array, Rows
from separatrix._threads import map_in_order, single_thread_blas
from separatrix.rows.block import Block
from separatrix.rows.source import Runner, Source, stack

Item = TypeVar("Item")

READ_AHEAD = 2  # largest number of batches that are waiting or being read


Callback = Callable[[int, int | None, int], None]


@dataclass
class Watch:
    """A progress callback, and the number of passes since it was set."""

    callback: Callback
    passes: int = 0

    def begin(self, total: int | None) -> Callable[[int], None]:
        """Start a pass over ``total`` rows; the returned function takes the number of rows of each finished block."""
        self.passes += 1
        number, done = self.passes, 0

        def advance(rows: int) -> None:
            nonlocal done
            done += rows
            self.callback(done, total, number)

        return advance


WATCH: ContextVar[Watch | None] = ContextVar("separatrix_watch", default=None)


@contextmanager
def watched(callback: Callback) -> Iterator[None]:
    """Call ``callback(rows_done, rows_total, pass_number)`` as rows are read, inside the ``with`` block.

    The total number of rows is None if it is not known yet, and passes are counted from 1. The callback is called in
    the thread that fits, after each block and at the end of each pass.

    >>> import numpy as np
    >>> from separatrix.rows import open_rows, watched
    >>> rows = open_rows(np.array([[1.0], [2.0], [3.0]]))
    >>> with watched(lambda done, total, number: print(f"pass {number}: {done} of {total}")):
    ...     rows.map(lambda X: X[:, 0])
    pass 1: 3 of 3
    array([1., 2., 3.])
    """
    token = WATCH.set(Watch(callback))
    try:
        yield
    finally:
        WATCH.reset(token)


@dataclass(frozen=True)
class Threads(Runner):
    """Processes blocks on all cores; with ``in_task`` (Dask tasks, devices), on one thread and without progress."""

    in_task: bool = False

    def reduce(self, source: Source, statistic: Callable[[Block], Any]) -> Any:
        if source.block is not None:  # a small table needs no threads
            with single_thread_blas():
                found = statistic(source.block)
            if not self.in_task and (watch := WATCH.get()) is not None:
                watch.begin(len(source.block))(len(source.block))
            return found
        (rows,), (targets,) = source.partitions, source.targets
        pieces = rows.pieces(source.height, targets.columns)
        with _closing(pieces):
            sums = self._each(lambda p: statistic(targets.block(rows.read(p), p, source.first)), pieces, rows)
            return functools.reduce(operator.add, sums)

    def reduce_batches(
        self, source: Source, statistic: Callable[[Any], Any], columns: tuple[str, ...], empty: Any
    ) -> Any:
        (rows,) = source.partitions
        with closing(rows.batches(columns)) as pieces:
            return functools.reduce(operator.add, self._each(statistic, pieces, rows), empty)

    def fold(
        self, source: Source, step: Callable[[Any, Block], Any], state: Any, rng: np.random.Generator | None
    ) -> Any:
        (rows,), (targets,) = source.partitions, source.targets
        watch = None if self.in_task else WATCH.get()
        advance = None if watch is None else watch.begin(rows.known_rows)
        pieces = rows.pieces(source.height, targets.columns, rng)
        with _closing(pieces):
            for piece in pieces:
                block = targets.block(rows.read(piece), piece, source.first)
                state = step(state, block if rng is None else block.take(rng.permutation(len(block))))
                if advance is not None:
                    advance(len(block))
        return state

    def map(self, source: Source, row_function: Callable[[Rows], Array], height: int) -> Array:
        (rows,) = source.partitions
        pieces = rows.pieces(height)
        with _closing(pieces):
            return stack(iter(self._each(lambda p: row_function(rows.read(p)), pieces, rows)), rows.known_rows)

    def _each(self, work: Callable[[Any], Any], pieces: Iterable[Any], rows: Any) -> Iterable[Any]:
        """Yield the results of all pieces in order; report each to the progress callback, if one is set."""
        if self.in_task:
            return map(work, pieces)
        watch = WATCH.get()
        if watch is None:
            return map_in_order(work, pieces)
        advance = watch.begin(rows.known_rows)

        def followed() -> Iterator[Any]:
            for n, result in map_in_order(lambda piece: (piece.stop - piece.start, work(piece)), pieces):
                advance(n)
                yield result

        return followed()


THREADS = Threads()
ONE_THREAD = Threads(in_task=True)


def _closing(pieces: Iterable[Any]) -> AbstractContextManager[Any]:
    """Close a generator even if a pass ends early, because it may hold a file or a thread."""
    return closing(pieces) if isinstance(pieces, Generator) else nullcontext()


class _End:
    """Marks the end of an iterator."""


def read_ahead(items: Iterable[Item], depth: int = READ_AHEAD) -> Generator[Item]:
    """Yield the items in order, while a separate thread fetches up to ``depth`` of them in advance.

    An exception of the iterable is raised at the item where it occurred. Closing the generator early waits only for the
    item that is being fetched.
    """
    iterator = iter(items)
    with ThreadPoolExecutor(1, "separatrix-scan") as pool:
        pending: deque[Future[Item | _End]] = deque()
        has_thread = True
        try:
            while True:
                try:
                    while has_thread and len(pending) <= depth:
                        pending.append(pool.submit(next, iterator, _End()))
                except RuntimeError:  # no thread can be started, or Python is shutting down
                    has_thread = False
                item = pending.popleft().result() if pending else next(iterator, _End())
                if isinstance(item, _End):
                    return
                yield item
        finally:
            for future in pending:
                future.cancel()
            if isinstance(iterator, Generator):
                try:  # close it on the thread that ran it, because it may hold a database cursor
                    pool.submit(iterator.close).result()
                except RuntimeError:  # at interpreter shutdown, the pool accepts no more work
                    iterator.close()
