# SPDX-License-Identifier: BSD-3-Clause
"""Progress of a study: the current stage, pass and row, the time left if it can be estimated, and the time budget.

The time left is divided equally among the candidates that wait, from the cheapest to the most expensive, so that what a
candidate does not use is left to the others. One more share is kept for the other folds, or for the final fit. Expected
times are computed for a reference machine with two cores (`candidates.expected_seconds`), and multiplied by the ratio
of measured to expected time of the previous candidate. A fit that takes too long is stopped at the next pass over rows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import floor, log2
from time import perf_counter
from typing import Any

import numpy as np

from separatrix.rows import watched

REPORT_SECONDS = 0.1  # minimum time between two reports on the same stage
STUDY_SECONDS = 60.0  # default time of a study
MIN_SAMPLED_ROWS, MIN_SAMPLED_FRACTION = 2000, 0.1  # a candidate is not tried on a smaller sample of the rows
ACCURACY = 3.0  # factor within which expected times are accurate
MIN_TIMED_SECONDS = 0.3  # candidates with a shorter expected time do not measure the speed of the machine
MAX_SLOWNESS = 5.0


class OutOfTime(BaseException):
    """A fit is stopped, because it takes too long. It is no Exception, so that no model handles it."""


@dataclass(frozen=True)
class Stage:
    """The current stage of a study."""

    text: str  # such as "logistic (Bayesian), 26,049 rows: pass 7"
    done: int  # completed stages
    total: int
    seconds_left: float = float("nan")  # estimated time until the end of this stage; NaN if unknown
    budget_left: float = float("nan")  # time left for the whole study; NaN if it has no limit


Progress = Callable[[Stage], None]


class NotebookLine:
    """Shows the current stage in the output of a notebook's cell, as one line that is replaced."""

    def __init__(self, shell: Any) -> None:
        self._shell, self._name, self._is_shown = shell, f"separatrix-{id(self)}", False

    def __call__(self, stage: Stage) -> None:
        seconds = f", about {stage.seconds_left:,.0f} s left" if stage.seconds_left >= 1 else ""
        limit = f" (time limit in {stage.budget_left:,.0f} s)" if stage.budget_left >= 1 else ""
        self._show(f"{stage.done + 1} of {stage.total}: {stage.text}{seconds}{limit}")

    def close(self) -> None:
        """Replace the line by nothing."""
        self._show("")

    def _show(self, text: str) -> None:
        self._shell.display_pub.publish(
            {"text/plain": text}, transient={"display_id": self._name}, update=self._is_shown
        )
        self._is_shown = True


@contextmanager
def shown(progress: Progress | None) -> Iterator[Progress | None]:
    """The given callback; by default, in a notebook, one that shows the current stage below the cell."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if progress is not None or type(shell).__name__ != "ZMQInteractiveShell":
        yield progress
        return
    line = NotebookLine(shell)
    try:
        yield line
    finally:
        line.close()


class Budget:
    """The time that a study may take, and the speed of this machine relative to the reference."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self._start, self._slowness = seconds, perf_counter(), 1.0
        self.reserved = 0.0  # time to keep for the final fit of the best candidate so far

    @property
    def left(self) -> float:
        return max(0.0, self.seconds - (perf_counter() - self._start))

    @property
    def free(self) -> float:
        """Time left for the candidates that wait."""
        return max(0.0, self.left - self.reserved)

    def expected(self, reference_seconds: float) -> float:
        """Expected time on this machine of what takes ``reference_seconds`` on the reference."""
        return reference_seconds * self._slowness

    def share(self, n_waiting: int) -> float:
        """Time for the next of several candidates; one more share is kept for the other folds or the final fit."""
        return self.free / (n_waiting + 1)

    def measure(self, reference_seconds: float, seconds: float) -> None:
        """Update the speed of this machine from the time of a candidate."""
        if reference_seconds >= MIN_TIMED_SECONDS:
            self._slowness = float(np.clip(seconds / reference_seconds, 1.0, MAX_SLOWNESS))


def affordable_rows(cost: Callable[[int], float], n_rows: int, most: float) -> int:
    """Rows to fit a candidate to: all, or a half, a quarter, ... of them, so that the cost is at most ``most``.

    The smallest sample is returned if it costs more, too.
    """
    n = n_rows
    while cost(n) > most and n > min_rows(n_rows):
        n //= 2
    return n


def min_rows(n_rows: int) -> int:
    """Rows of the smallest sample that a candidate is tried on."""
    return n_rows >> max(0, floor(log2(min(n_rows / MIN_SAMPLED_ROWS, 1 / MIN_SAMPLED_FRACTION))))


class Stages:
    """Reports each stage, and the progress within it, to a callback."""

    def __init__(self, progress: Progress | None, total: int, done: int = 0, budget: Budget | None = None) -> None:
        self.progress, self.total, self.done, self.budget = progress, total, done, budget or Budget(np.inf)
        self._stage, self._start, self._end, self._reported = Stage("", done, total), 0.0, np.nan, -np.inf
        self._deadline = np.inf

    def __call__(self, text: str, seconds: float = np.nan) -> None:
        """Begin a stage that is expected to take ``seconds``."""
        now = perf_counter()
        self._stage, self._start, self._end = Stage(text, self.done, self.total), now, now + seconds
        self.done += 1
        self._report("", seconds)

    def within(self, text: str, seconds: float) -> None:
        """Replace the text of the current stage by that of one of its parts, which is expected to take ``seconds``."""
        now = perf_counter()
        self._stage, self._start, self._end = replace(self._stage, text=text), now, now + seconds
        self._report("", seconds)

    @contextmanager
    def limited(self, seconds: float) -> Iterator[None]:
        """Report passes over rows in this block; the first one after ``seconds`` raises OutOfTime."""
        self._deadline = perf_counter() + seconds
        try:
            with watched(self.rows):
                yield
        finally:
            self._deadline = np.inf

    def columns(self, done: int, total: int) -> None:
        """Report how many columns of the stage are done."""
        now = perf_counter()
        if now - self._reported > REPORT_SECONDS or done == total:
            self._report(f": column {done:,} of {total:,}", (now - self._start) * (total - done) / max(done, 1))

    def rows(self, read: int, n_rows: int | None, number: int) -> None:
        """Report passes over rows; a callback for `separatrix.rows.watched`."""
        now = perf_counter()
        if now > self._deadline:
            raise OutOfTime
        if now - self._reported > REPORT_SECONDS:
            of = "" if n_rows is None else f" of {n_rows:,}"
            self._report(f": pass {number}, row {read:,}{of}", self._end - now)

    def _report(self, more: str, seconds: float) -> None:
        if self.progress is not None:
            self._reported = perf_counter()
            left = np.nan if np.isinf(self.budget.seconds) else self.budget.left
            self.progress(replace(self._stage, text=self._stage.text + more, seconds_left=seconds, budget_left=left))
