# SPDX-License-Identifier: BSD-3-Clause
"""How far a study is, for whoever waits: the stage, the pass and row that it is at, and about how long it will take.

A fit takes as many passes as it needs, which nobody knows before. What is known is the time of one product X'X on this
machine, a **gram** of N rows and W weights, and how many of them models took on tables of many shapes: `GRAMS`, right
within a factor of three or so. Where a stage is a loop of equal turns, the turns done tell of those to come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from time import perf_counter

import numpy as np

from separatrix._threads import single_thread_blas
from separatrix.rows import watched
from separatrix.study.candidates import CURVED, LINEAR, LOGISTIC, QUADRATIC

__all__ = ["Progress", "Stage", "Stages", "forecast"]

GRAMS = {LINEAR: 3.0, QUADRATIC: 3.0, LOGISTIC: 50.0, CURVED: 50.0}
OVERHEAD = 0.2  # seconds, of the smallest fit
EVERY = 0.1  # seconds between two words on the same stage
ROWS, WEIGHTS = 2048, 256  # of the product that is timed


@dataclass(frozen=True)
class Stage:
    """What a study is at: in words, how many stages are done of how many, and seconds left where they can be guessed.

    Attributes
    ----------
    text : str
        Such as "logistic (Bayesian), 26,049 rows: pass 7".
    done, total : int
    seconds_left : float
        Of what has been announced: the models that are still to be compared, or this stage alone. NaN where unknown.
    """

    text: str
    done: int
    total: int
    seconds_left: float = float("nan")


Progress = Callable[[Stage], None]


class Stages:
    """Tells a callback which stage begins, and how far it is."""

    def __init__(self, progress: Progress | None, total: int, done: int = 0) -> None:
        self.progress, self.total, self.done = progress, total, done
        self._stage, self._end, self._begun, self._told = Stage("", done, total), np.nan, 0.0, -np.inf

    def __call__(self, text: str, seconds: float = np.nan) -> None:
        """A stage begins; it, and all that belongs to it, may take so long."""
        now = perf_counter()
        self._stage, self._begun, self._end = Stage(text, self.done, self.total), now, now + seconds
        self.done += 1
        self._tell("", self._end - now)

    def turns(self, done: int, total: int, what: str) -> None:
        """Of the stage, so many turns of equal length are done."""
        now = perf_counter()
        if now - self._told > EVERY or done == total:
            self._tell(f": {what} {done:,} of {total:,}", (now - self._begun) * (total - done) / max(done, 1))

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Passes over rows inside the block are told of."""
        if self.progress is None:
            yield
            return
        with watched(self._row):
            yield

    def _row(self, read: int, n_rows: int | None, number: int) -> None:
        now = perf_counter()
        if now - self._told > EVERY:
            of = "" if n_rows is None else f" of {n_rows:,}"
            self._tell(f": pass {number}, row {read:,}{of}", self._end - now)

    def _tell(self, more: str, seconds: float) -> None:
        if self.progress is not None:
            self._told = perf_counter()
            self.progress(replace(self._stage, text=self._stage.text + more, seconds_left=seconds))


def forecast(n_rows: int, weights: Mapping[str, int]) -> dict[str, float]:
    """About how many seconds each model will take with so many weights.

    Examples
    --------
    >>> from separatrix.study.progress import forecast
    >>> few, many = (forecast(n, {"logistic (Bayesian)": 100})["logistic (Bayesian)"] for n in (1_000, 1_000_000))
    >>> few < many
    True
    """
    return {
        name: OVERHEAD + GRAMS.get(name, 0.0) * n_rows * float(W) ** 2 * _seconds_per_operation()
        for name, W in weights.items()
    }


@cache
def _seconds_per_operation() -> float:
    """Of one multiplication and addition in X'X on one thread, here and now: the median of five."""
    X = np.ones((ROWS, WEIGHTS))
    times = []
    with single_thread_blas():
        for _ in range(5):
            start = perf_counter()
            np.matmul(X.T, X)
            times.append(perf_counter() - start)
    return float(np.median(times)) / (ROWS * WEIGHTS**2)
