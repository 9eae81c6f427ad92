# SPDX-License-Identifier: BSD-3-Clause
"""Threads over blocks: results come back in order, and BLAS inside a block runs on one thread.

Two threads that each run a one-thread BLAS on a block in cache beat a two-thread BLAS on the whole
matrix (0.5 of the time for ``X.T @ X`` on two cores), and the order of additions no longer depends on
how many threads there are. A thread keeps the memory in which it works on one block for the next.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from math import prod
from threading import Lock, local
from typing import Any, TypeVar

import joblib
import numpy as np
import threadpoolctl

from separatrix._array import Array

# Read once: libraries that start processes set it for those in the environment of this one.
LIMIT = os.environ.get("OMP_NUM_THREADS", "")
KEPT = 2**25  # bytes that a thread keeps at most: several blocks of the usual size

ALONE = 2e9  # multiplications, a tenth of a second or so

In = TypeVar("In")
Out = TypeVar("Out")


def n_threads() -> int:
    """Cores this process may use; ``OMP_NUM_THREADS``, as it was at first, lowers it, as it does for BLAS."""
    cores = _cores()
    return max(1, min(cores, int(LIMIT))) if LIMIT.isdigit() else cores


def map_in_order(function: Callable[[In], Out], items: Iterable[In]) -> Iterator[Out]:
    """``map(function, items)`` on threads, in order, with at most two results per thread in flight.

    Items are taken one by one as there is room for them, so that they may be made, or read, meanwhile.
    """
    threads = max(1, min(n_threads(), len(items))) if isinstance(items, Sequence) else n_threads()
    if threads == 1:
        with single_thread_blas():  # here too, lest the same rows give other bits with another number of threads
            yield from map(function, items)
        return
    with single_thread_blas(), ThreadPoolExecutor(threads) as pool:
        pending: deque[Future[Out]] = deque()
        try:
            for item in items:
                pending.append(pool.submit(function, item))
                if len(pending) > 2 * threads:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


def blas_for(operations: float) -> AbstractContextManager[None]:
    """BLAS on one thread for so few operations that others would be woken for nothing.

    NumPy and SciPy bring a BLAS each. Where short calls of both alternate, the threads of one still spin, waiting for
    more, when the other's are to work: the same solve takes three times as long on two threads as on one.
    """
    return single_thread_blas() if operations < ALONE else nullcontext()


def scratch(shape: tuple[int, ...], dtype: Any) -> Array:
    """An array to work in, whatever it holds; the next call in this thread may hand out the same memory.

    So nothing that is returned, or that outlives the block, may be a view of it; and who works in it calls nobody who
    does too. What is larger than `KEPT` is not kept: a thread may live as long as the program does.

    Fresh memory is cleared page by page before a program may write to it, which takes as long as a product with it.
    An allocator may spare that by keeping what was freed, but that of a Dask worker is told to give it back at once.
    """
    n_bytes = prod(shape) * np.dtype(dtype).itemsize
    if n_bytes > KEPT:
        return np.empty(shape, dtype)
    if _Kept.bytes.nbytes < n_bytes:
        _Kept.bytes = np.empty(n_bytes, np.uint8)
    return np.asarray(_Kept.bytes[:n_bytes].view(dtype).reshape(shape))


class _OfThread(local):
    """What each thread has of its own."""

    bytes: Array = np.empty(0, np.uint8)


_Kept = _OfThread()


@cache
def _cores() -> int:
    """Counting them reads the limits of the process group from files; they do not change."""
    return int(joblib.cpu_count())


@cache
def _controller() -> Any:
    """Finding the BLAS libraries takes milliseconds; they do not move."""
    import scipy.linalg  # noqa: F401  (loads SciPy's own BLAS, so that it is found too)

    return threadpoolctl.ThreadpoolController()


class _Hold:
    """How many passes run now, and what restores BLAS when the last one ends."""

    lock = Lock()
    passes = 0
    limiter: Any = None


@contextmanager
def single_thread_blas() -> Iterator[None]:
    """BLAS on one thread while at least one pass is under way.

    The limit is global to the process, so it is counted: two fits in two threads of the user's must
    not restore each other's limit in the wrong order.
    """
    with _Hold.lock:
        if _Hold.passes == 0:
            _Hold.limiter = _controller().limit(limits=1, user_api="blas")
        _Hold.passes += 1
    try:
        yield
    finally:
        with _Hold.lock:
            _Hold.passes -= 1
            if _Hold.passes == 0:
                _Hold.limiter.restore_original_limits()
