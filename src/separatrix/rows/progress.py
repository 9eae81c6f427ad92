# SPDX-License-Identifier: BSD-3-Clause
"""Progress of a pass over rows, reported to a callback: for a progress bar or a log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

Callback = Callable[[int, int | None, int], None]


@dataclass
class _Watch:
    callback: Callback
    passes: int = 0


_WATCH: ContextVar[_Watch | None] = ContextVar("separatrix_watch", default=None)


@contextmanager
def watched(callback: Callback) -> Iterator[None]:
    """Call ``callback(rows_done, rows_total, pass_number)`` as rows are read, inside the ``with`` block.

    Parameters
    ----------
    callback : callable
        Takes the number of rows read so far in this pass, the total number of rows (None if not known yet), and the
        number of the pass, from 1. It is called in the thread that fits, after each block and at the end of each pass.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.rows import open_rows, watched
    >>> rows = open_rows(np.array([[1.0], [2.0], [3.0]]))
    >>> with watched(lambda done, total, number: print(f"pass {number}: {done} of {total}")):
    ...     rows.map(lambda X: X[:, 0])
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
    """Rows read so far in one pass."""

    total: int | None
    done: int = 0
    number: int = 0
    callback: Callback | None = None

    def advance(self, rows: int) -> None:
        """Report more rows as read."""
        self.done += rows
        if self.callback is not None:
            self.callback(self.done, self.total, self.number)


def begin_pass(rows: Any = None, total: int | None = None) -> Progress | None:
    """Start a pass over a partition, or over ``total`` rows; None if no callback is set."""
    watch = _WATCH.get()
    if watch is None:
        return None
    watch.passes += 1
    return Progress(total if rows is None else rows.known_rows, 0, watch.passes, watch.callback)
