# SPDX-License-Identifier: BSD-3-Clause
"""Work on a stream, ahead of whoever takes the results, which come in the order of the stream.

Two stages on one pool of threads make a pipeline: while blocks are reduced, the chunks after them are parsed, and the
caller's own thread reads the file. No task waits for another, so one pool is enough for any number of stages.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from separatrix._threads import n_threads, single_thread_blas

__all__ = ["Ahead", "working_ahead"]

In = TypeVar("In")
Out = TypeVar("Out")


class Ahead:
    """Threads, and how many results of a stage may wait to be taken."""

    def __init__(self, pool: ThreadPoolExecutor, depth: int) -> None:
        self._pool, self._depth = pool, depth

    def map(self, function: Callable[[In], Out], items: Iterable[In]) -> Iterator[Out]:
        """``map(function, items)``: in order, in bounded memory, and already under way."""
        pending: deque[Future[Out]] = deque()
        try:
            for item in items:
                pending.append(self._pool.submit(function, item))
                if len(pending) > self._depth:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


@contextmanager
def working_ahead() -> Iterator[Ahead]:
    """As many threads as there are cores, with BLAS inside of each on one."""
    threads = n_threads()
    with single_thread_blas(), ThreadPoolExecutor(threads) as pool:
        yield Ahead(pool, 2 * threads)
