# SPDX-License-Identifier: BSD-3-Clause
"""Stop-watch and memory meter.

Every round runs each action once, so that whatever else the machine does falls on all of them alike; each
round starts with the next action, so that none always runs in the wake of the same one. An action that has used up
its allowance of seconds sits out the rounds that are left.
"""

from __future__ import annotations

import tracemalloc
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Any, TypeVar

from scipy import sparse

__all__ = ["Effort", "gram", "median_seconds", "peak_bytes", "timed"]

Action = Callable[[], object]
Result = TypeVar("Result")

GRAM_BYTES = 2**29  # an M x M matrix above this is not formed just to time it


@dataclass(frozen=True)
class Effort:
    """At least ``rounds`` rounds, more of them while ``seconds`` have not passed, at most ``limit``.

    No action begins another run after ``allowance`` seconds of its own, and one whose very first run takes longer
    than ``once`` has been measured by it.
    """

    rounds: int = 7
    seconds: float = 2.0
    limit: int = 101
    allowance: float = 8.0
    once: float = 10.0


def timed(action: Callable[[], Result]) -> tuple[Result, float]:
    """What an action returns, and the seconds that it took."""
    start = perf_counter()
    result = action()
    return result, perf_counter() - start


def median_seconds(actions: Mapping[str, Action], effort: Effort) -> dict[str, float]:
    """Median time of each action over interleaved rounds. Call each once before, to warm up."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    order = deque(actions)
    begin = perf_counter()
    for done in range(effort.limit):
        if done >= effort.rounds and perf_counter() - begin > effort.seconds:
            break
        for name in order:
            if sum(times[name]) < effort.allowance:
                times[name].append(timed(actions[name])[1])
        order.rotate(-1)
    return {name: median(taken) for name, taken in times.items()}


def peak_bytes(action: Action) -> int:
    """The most memory held at once during ``action``, above what was held before.

    NumPy reports its arrays to tracemalloc; workspaces inside BLAS and LAPACK are not seen.
    """
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def gram(X: Any) -> Action | None:
    """X'X, the unit of cost; None where there are no numbers, or the result would not fit."""
    entries = X.nnz if sparse.issparse(X) else X.size
    if entries == 0 or 8 * X.shape[1] ** 2 > GRAM_BYTES:
        return None
    return lambda: X.T @ X
