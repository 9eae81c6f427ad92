# SPDX-License-Identifier: BSD-3-Clause
"""Reading ahead: the next batches are fetched on a thread of their own while the current one is reduced."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

__all__ = ["DEPTH", "read_ahead"]

Item = TypeVar("Item")
DEPTH = 2  # batches that wait, or are being read: one more than is needed when reading and reducing take equal time


class _End:
    """What comes after the last item."""


def read_ahead(items: Iterable[Item], depth: int = DEPTH) -> Generator[Item]:
    """The same items in the same order, at most ``depth`` of them fetched before they are asked for.

    An exception of the iterable is raised here, in its place. Who stops early waits for the item that is being fetched,
    and for no other.
    """
    iterator = iter(items)
    with ThreadPoolExecutor(1, "separatrix-scan") as pool:
        pending: deque[Future[Item | _End]] = deque()
        try:
            pending.extend(pool.submit(next, iterator, _End()) for _ in range(depth))
            while not isinstance(item := pending.popleft().result(), _End):
                pending.append(pool.submit(next, iterator, _End()))
                yield item
        finally:
            for future in pending:
                future.cancel()
            if isinstance(iterator, Generator):
                _close(iterator, pool)


def _close(iterator: Generator[object], pool: ThreadPoolExecutor) -> None:
    """On the thread that ran it, as it may hold a file or a cursor open; on this one when the interpreter ends."""
    try:
        closed = pool.submit(iterator.close)
    except RuntimeError:  # no thread takes work any more, and none is at it
        iterator.close()
    else:
        closed.result()
