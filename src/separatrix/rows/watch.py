# SPDX-License-Identifier: BSD-3-Clause
"""Someone may watch a long pass over rows, in memory or as they are read: a command line that draws a bar, a log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

__all__ = ["Progress", "begin_pass", "followed", "watched"]

Result = TypeVar("Result")

Watcher = Callable[[int, int | None, int], None]


@dataclass
class _Watch:
    callback: Watcher
    passes: int = 0


_WATCH: ContextVar[_Watch | None] = ContextVar("separatrix_watch", default=None)


@contextmanager
def watched(callback: Watcher) -> Iterator[None]:
    """Call ``callback(rows_done, rows_total, pass_number)`` as rows are read, for as long as the block lasts.

    Parameters
    ----------
    callback : callable
        Takes the rows that this pass has read so far, the number of all of them (None where that is not known yet),
        and the number of the pass, from 1. It is called in the thread that fits, a few times a second or more often,
        and at the end of each pass.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from separatrix.scanning import scan, watched
    >>> rows = scan(pa.table({"a": [1.0, 2.0, 3.0]}))
    >>> with watched(lambda done, total, number: print(f"pass {number}: {done} of {total}")):
    ...     rows.open_rows(None).rows().map(lambda X: X[:, 0])
    pass 1: 3 of 3
    array([1., 2., 3.])
    """
    token = _WATCH.set(_Watch(callback))
    try:
        yield
    finally:
        _WATCH.reset(token)


@dataclass
class Progress:
    """How far one pass is."""

    total: int | None
    done: int = 0
    number: int = 0
    callback: Watcher | None = None

    def advance(self, rows: int) -> None:
        """So many more rows were read."""
        self.done += rows
        if self.callback is not None:
            self.callback(self.done, self.total, self.number)


def begin_pass(total: int | None) -> Progress:
    """A pass begins; whoever watches is told how it goes."""
    watch = _WATCH.get()
    if watch is None:
        return Progress(total)
    watch.passes += 1
    return Progress(total, 0, watch.passes, watch.callback)


def followed(results: Iterable[Result], spans: Sequence[slice]) -> Iterable[Result]:
    """The results of a pass over spans of rows, as they come; whoever watches is told of the rows behind each."""
    if _WATCH.get() is None:
        return results
    return _followed(results, spans)


def _followed(results: Iterable[Result], spans: Sequence[slice]) -> Iterator[Result]:
    progress = begin_pass(sum(span.stop - span.start for span in spans))
    for result, span in zip(results, spans, strict=True):
        progress.advance(span.stop - span.start)
        yield result
