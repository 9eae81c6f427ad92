# SPDX-License-Identifier: BSD-3-Clause
"""Time and peak memory of functions, within a time limit.

Every round runs each action once, so that other load on the machine affects all actions equally. Each round
starts with the next action, so that no action always follows the same one. An action that has used up its allowance of
seconds is left out of the remaining rounds.
"""

from __future__ import annotations

import signal
import tracemalloc
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter, sleep
from typing import Any, TypeVar

import numpy as np
from numba.core.event import install_recorder
from scipy import sparse

__all__ = [
    "Effort",
    "TooLongError",
    "first_run",
    "gram",
    "interleaved_seconds",
    "peak_bytes",
    "product",
    "time_limit",
    "timed",
]

Action = Callable[[], object]
Result = TypeVar("Result")

GRAM_BYTES = 2**29  # a larger M x M matrix is not computed for the unit of time


@dataclass(frozen=True)
class Effort:
    """Number of rounds: at least ``rounds``, more until ``seconds`` have passed, and at most ``limit``.

    An action that has run for ``allowance`` seconds in total is not run again. If its first run takes longer than
    ``once`` seconds, that run is the measurement; after ``longest`` seconds it is interrupted. Before each run, the
    machine rests for ``settling`` seconds: idle threads of OpenBLAS occupy their cores for 2²⁸ clock cycles.
    """

    rounds: int = 7
    seconds: float = 2.0
    limit: int = 101
    allowance: float = 8.0
    once: float = 10.0
    longest: float = 600.0
    settling: float = 0.2


class TooLongError(Exception):
    """An action was interrupted by its time limit."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Interrupt the main thread with a `TooLongError` after some seconds.

    The interruption waits until compiled code returns to Python. Systems without ``setitimer`` have no limit.
    """
    if not hasattr(signal, "setitimer") or not np.isfinite(seconds):
        yield
        return

    def interrupt(number: int, frame: object) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def timed(action: Callable[[], Result]) -> tuple[Result, float]:
    """Result of an action, and its time in seconds."""
    start = perf_counter()
    result = action()
    return result, perf_counter() - start


def first_run(action: Callable[[], Result], longest: float) -> tuple[Result, float]:
    """Result and time of the first run, interrupted after ``longest`` seconds. If Numba compiles code, run again."""
    with install_recorder("numba:compile") as compiled:
        try:
            with time_limit(longest):
                first = timed(action)
        except TooLongError:
            if not compiled.buffer:
                raise
    if not compiled.buffer:
        return first
    with time_limit(longest):
        return timed(action)


def interleaved_seconds(actions: Mapping[str, Action], effort: Effort) -> dict[str, list[float]]:
    """Times of each action over interleaved rounds. Call each action once before, to warm up."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    order = deque(actions)
    begin = perf_counter()
    for done in range(effort.limit):
        if done >= effort.rounds and perf_counter() - begin > effort.seconds:
            break
        for name in order:
            if sum(times[name]) < effort.allowance:
                sleep(effort.settling)
                times[name].append(timed(actions[name])[1])
        order.rotate(-1)
    return times


def peak_bytes(action: Action) -> int:
    """Peak memory during ``action``, minus the memory in use before.

    NumPy reports its arrays to tracemalloc; workspaces inside BLAS and LAPACK are not counted.
    """
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def product(X: Any) -> Action | None:
    """Function that computes X w, the time of reading the table once; None if X has no entries."""
    if 0 in X.shape:
        return None
    w = np.random.default_rng(0).standard_normal(X.shape[1]).astype(X.dtype)
    return lambda: X @ w


def gram(X: Any) -> Action | None:
    """Function that computes X'X, the unit of time; None if X has no entries or the result is too large."""
    entries = X.nnz if sparse.issparse(X) else X.size
    if entries == 0 or 8 * X.shape[1] ** 2 > GRAM_BYTES:
        return None
    return lambda: X.T @ X
