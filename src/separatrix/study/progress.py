# SPDX-License-Identifier: BSD-3-Clause
"""Progress of a study: the current stage, pass and row, and the estimated time left.

The number of passes of a fit is not known in advance. Its time is estimated from the measured time of one matrix
product X'X of N rows and W weights on this machine, and from how many such products fits took on tables of many shapes
(`PRODUCTS_PER_FIT`, correct within a factor of about three). In a stage of equal steps, the time so far predicts the
rest.
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

PRODUCTS_PER_FIT = {LINEAR: 3.0, QUADRATIC: 3.0, LOGISTIC: 50.0, CURVED: 50.0}
MIN_FIT_SECONDS = 0.2
REPORT_SECONDS = 0.1  # between two reports on the same stage


@dataclass(frozen=True)
class Stage:
    """The current stage of a study.

    Attributes
    ----------
    text : str
        Such as "logistic (Bayesian), 26,049 rows: pass 7".
    done, total : int
        Stages completed, and in all.
    seconds_left : float
        Estimated time of the models still to be compared, or of this stage; NaN if unknown.
    """

    text: str
    done: int
    total: int
    seconds_left: float = float("nan")


Progress = Callable[[Stage], None]


class Stages:
    """Reports each stage, and the progress within it, to a callback."""

    def __init__(self, progress: Progress | None, total: int, done: int = 0) -> None:
        self.progress, self.total, self.done = progress, total, done
        self._stage, self._start, self._end, self._reported = Stage("", done, total), 0.0, np.nan, -np.inf

    def __call__(self, text: str, seconds: float = np.nan) -> None:
        """Begin a stage that is expected to take ``seconds``, with all that belongs to it."""
        now = perf_counter()
        self._stage, self._start, self._end = Stage(text, self.done, self.total), now, now + seconds
        self.done += 1
        self._report("", seconds)

    def steps(self, done: int, total: int) -> None:
        """Report how many columns of the stage are done."""
        now = perf_counter()
        if now - self._reported > REPORT_SECONDS or done == total:
            self._report(f": column {done:,} of {total:,}", (now - self._start) * (total - done) / max(done, 1))

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Report passes over rows inside the block."""
        if self.progress is None:
            yield
            return
        with watched(self._row):
            yield

    def _row(self, read: int, n_rows: int | None, number: int) -> None:
        now = perf_counter()
        if now - self._reported > REPORT_SECONDS:
            of = "" if n_rows is None else f" of {n_rows:,}"
            self._report(f": pass {number}, row {read:,}{of}", self._end - now)

    def _report(self, more: str, seconds: float) -> None:
        if self.progress is not None:
            self._reported = perf_counter()
            self.progress(replace(self._stage, text=self._stage.text + more, seconds_left=seconds))


def expected_seconds(n_rows: int, weights: Mapping[str, int]) -> dict[str, float]:
    """Estimated fit time of each model with this number of weights.

    Examples
    --------
    >>> from separatrix.study.progress import expected_seconds
    >>> few, many = (expected_seconds(n, {"logistic (Bayesian)": 100})["logistic (Bayesian)"] for n in (1_000, 10**6))
    >>> few < many
    True
    """
    return {
        name: MIN_FIT_SECONDS + PRODUCTS_PER_FIT.get(name, 0.0) * n_rows * float(W) ** 2 * _seconds_per_operation()
        for name, W in weights.items()
    }


@cache
def _seconds_per_operation() -> float:
    """Time of one multiplication and addition in X'X on one thread: the median of five measurements."""
    n_rows, n_weights = 2048, 256
    X = np.ones((n_rows, n_weights))
    times = []
    with single_thread_blas():
        for _ in range(5):
            start = perf_counter()
            np.matmul(X.T, X)
            times.append(perf_counter() - start)
    return float(np.median(times)) / (n_rows * n_weights**2)
