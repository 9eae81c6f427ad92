# SPDX-License-Identifier: BSD-3-Clause
"""Threads over blocks. Results are returned in order, and BLAS runs on one thread per block.

Two threads that each run a single-threaded BLAS on a block in cache are faster than a two-threaded BLAS on the whole
matrix (half the time for ``X.T @ X`` on two cores). The order of additions does not depend on the number of threads.
Each thread reuses its working memory from block to block.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import cache
from itertools import repeat
from math import prod
from threading import Lock, local
from typing import Any, TypeVar

import joblib
import numpy as np
import threadpoolctl

from separatrix._array import Array

# Read at import, because libraries that start worker processes change this variable later.
THREAD_LIMIT = os.environ.get("OMP_NUM_THREADS", "")
MAX_SCRATCH_BYTES = 2**25  # working memory that a thread keeps, enough for several blocks of the usual size
MAX_SERIAL_MULTIPLICATIONS = 2e9  # BLAS uses one thread for fewer multiplications, which take about 0.1 s

_cores = cache(joblib.cpu_count)  # cached, because joblib reads the limits from files

Limit = tuple[Callable[[], int], Callable[[int], object]]  # returns or sets the number of threads of a library
In = TypeVar("In")
Out = TypeVar("Out")


def n_threads() -> int:
    """Number of cores that this process may use, at most the ``OMP_NUM_THREADS`` of the time of import."""
    cores = int(_cores())
    return max(1, min(cores, int(THREAD_LIMIT))) if THREAD_LIMIT.isdigit() else cores


def map_in_order(function: Callable[[In], Out], items: Iterable[In]) -> Generator[Out]:
    """``map(function, items)`` on threads, in order, with at most two pending results per thread.

    Items of an iterator are taken one at a time, so that it can read the next item while the threads work. In a task of
    another call, items are processed one after the other: tasks that wait for tasks could use up all threads.
    """
    threads = 1 if (isinstance(items, Sequence) and len(items) <= 1) or _worker.is_worker else n_threads()
    if threads == 1:
        with single_thread_blas():  # results must not depend on the number of threads
            yield from map(function, items)
        return

    def limited(item: In) -> Out:
        with single_thread_blas():
            return function(item)

    apply = limited if _libraries()[0] else function  # a limit per process holds for all threads
    with single_thread_blas():
        yield from (_map_shared if isinstance(items, Sequence) else _map_ahead)(apply, items, threads)


def _map_shared(function: Callable[[In], Out], items: Iterable[In], threads: int) -> Generator[Out]:
    """Process a sequence in this thread and others, each of which takes the next item when it has finished one.

    If this thread only waited for the others, it would have to be woken for each result, which delays them. Helpers
    stop if too many results are pending, and start again when this thread has returned some of them.
    """
    waiting, results = deque[tuple[In, Future[Out]]](), deque[Future[Out]]()
    for item in items:
        results.append(Future())
        waiting.append((item, results[-1]))
    limit = 2 * threads

    def work() -> bool:
        """Process the next item, if one is left and not too many results are pending; return whether it was done."""
        try:
            if len(results) - len(waiting) >= limit:
                return False
            item, result = waiting.popleft()
        except IndexError:
            return False
        was_worker, _worker.is_worker = _worker.is_worker, True
        try:
            found = function(item)
        except BaseException as error:  # raised when the caller takes the result
            waiting.clear()
            result.set_exception(error)
        else:
            result.set_result(found)
        finally:
            _worker.is_worker = was_worker
            del item, result  # an exception refers to this frame, which must not refer to it
        return True

    def help_out() -> None:
        while work():
            pass
        idle.append(None)

    idle = deque[None]([None] * (min(threads, len(results)) - 1))  # one entry for each helper that has stopped
    helpers: list[Future[None]] = []
    try:
        while results:
            with suppress(RuntimeError):  # no thread can be started, or Python is shutting down
                while idle and waiting and len(results) - len(waiting) <= threads:
                    idle.pop()
                    helpers.append(_pool(threads).submit(help_out))
            while not results[0].done() and work():
                pass
            yield results.popleft().result()
    finally:
        waiting.clear()
        _finish(helpers)


def _map_ahead(function: Callable[[In], Out], items: Iterable[In], threads: int) -> Generator[Out]:
    """Process the items of an iterator in other threads, while this thread takes the next item."""
    pending: deque[Future[Out]] = deque()
    try:
        for item in items:
            try:
                pending.append(_pool(threads).submit(function, item))
            except RuntimeError:  # no thread can be started, or Python is shutting down
                pending.append(Future())
                pending[-1].set_result(function(item))
            if len(pending) > 2 * threads:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        _finish(pending)


def _finish(tasks: Iterable[Future[Any]]) -> None:
    """Wait for tasks that have started, and cancel the others."""
    started = [task for task in tasks if not task.cancel()]
    if not _worker.is_worker:  # a task that runs the garbage collector may close its own pass, if that was abandoned
        wait(started)


class _Passes:
    """Number of nested passes of a thread, and its limits before the first of them."""

    number = 0
    limits: Sequence[int] = ()


class _Worker(local):
    is_worker = False  # whether this thread belongs to `_pool`

    def __init__(self) -> None:
        self.passes = _Passes()


_worker = _Worker()


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    """Threads that live as long as the program: starting them takes longer than a short pass."""
    return ThreadPoolExecutor(threads, "separatrix", initializer=lambda: setattr(_worker, "is_worker", True))


def blas_for(operations: float) -> AbstractContextManager[None]:
    """Limit BLAS to one thread if the number of operations is too small to gain from more threads.

    NumPy and SciPy each ship a BLAS. If short calls of both alternate, idle threads of one library still spin while the
    other library works, and a solve takes three times as long on two threads as on one.
    """
    return single_thread_blas() if operations < MAX_SERIAL_MULTIPLICATIONS else nullcontext()


def scratch(shape: tuple[int, ...], dtype: Any) -> Array:
    """Return an uninitialised array whose memory the next call in this thread may reuse.

    Do not return a view of the array, keep it beyond the block, or call another user of scratch memory while it is in
    use. Arrays above `MAX_SCRATCH_BYTES` are not reused, because a thread may live as long as the program.

    The operating system clears new memory page by page, which takes as long as a matrix product with it. Allocators
    usually keep freed memory to avoid this, but Dask workers are configured to return it immediately.
    """
    n_bytes = prod(shape) * np.dtype(dtype).itemsize
    if n_bytes > MAX_SCRATCH_BYTES:
        return np.empty(shape, dtype)
    if _scratch.bytes.nbytes < n_bytes:
        _scratch.bytes = np.empty(n_bytes, np.uint8)
    return np.asarray(_scratch.bytes[:n_bytes].view(dtype).reshape(shape))


class _Scratch(local):
    bytes: Array = np.empty(0, np.uint8)  # one buffer per thread


_scratch = _Scratch()


@cache
def _libraries() -> tuple[list[Limit], list[Limit]]:
    """BLAS libraries with one limit per thread, and those with one limit per process; the search takes milliseconds."""
    import scipy.linalg  # noqa: F401  (loads SciPy's own BLAS, so that the search finds it)

    of_thread: list[Limit] = []
    of_process: list[Limit] = []
    for library in threadpoolctl.ThreadpoolController().select(user_api="blas").lib_controllers:
        get, put = library.get_num_threads, library.set_num_threads
        if library.internal_api == "mkl" or getattr(library, "threading_layer", "") == "openmp":
            of_thread.append((get, put))
            continue
        # threadpoolctl ignores a new limit of OpenBLAS unless the thread that set the last limit sets it.
        for symbol in library.check_symbols if library.internal_api == "openblas" else ():
            if hasattr(library.dynlib, symbol):
                get, put = (getattr(library.dynlib, symbol.replace("get", verb)) for verb in ("get", "set"))
        of_process.append((get, put))
    return of_thread, of_process


class _Hold:
    """Number of threads with a running pass, and the limits of the process before the first of them."""

    lock = Lock()
    threads = 0
    limits: Sequence[int] = ()


class single_thread_blas:  # noqa: N801  (a class, because a generator takes longer than a small matrix product)
    """Limit BLAS to one thread: in this thread, and in the process while at least one pass is running.

    A limit of the process is restored when the last of nested and concurrent passes ends.
    """

    __slots__ = ("passes",)
    passes: _Passes  # of the thread that entered: another thread may close the generator in which a pass runs

    def __enter__(self) -> None:
        passes = self.passes = _worker.passes
        if passes.number == 0:
            of_thread, of_process = _libraries()
            passes.limits = _limit(of_thread)
            with _Hold.lock:
                if _Hold.threads == 0:
                    _Hold.limits = _limit(of_process)
                _Hold.threads += 1
        passes.number += 1

    def __exit__(self, *error: object) -> None:
        passes = self.passes
        passes.number -= 1
        if passes.number == 0:
            of_thread, of_process = _libraries()
            with _Hold.lock:
                _Hold.threads -= 1
                if _Hold.threads == 0:
                    _limit(of_process, _Hold.limits)
            _limit(of_thread, passes.limits)


def _after_fork() -> None:
    """Forget the threads of a forked process, which has none of them, and their passes, which would never end."""
    _pool.cache_clear()
    had_passes, _Hold.threads = _Hold.threads > 0, int(_worker.passes.number > 0)
    if had_passes and _Hold.threads == 0:
        _limit(_libraries()[1], _Hold.limits)
    _Hold.lock.release()


if hasattr(os, "register_at_fork"):  # the lock is held during a fork, or its holder would be gone
    os.register_at_fork(before=_Hold.lock.acquire, after_in_parent=_Hold.lock.release, after_in_child=_after_fork)


def _limit(libraries: Sequence[Limit], limits: Iterable[int] = repeat(1)) -> Sequence[int]:
    """Set the number of threads of each library; return the numbers before."""
    before = []
    for (get, put), limit in zip(libraries, limits, strict=False):
        before.append(get())
        if before[-1] != limit:
            put(limit)
    return before
