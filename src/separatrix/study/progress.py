# SPDX-License-Identifier: BSD-3-Clause
"""Progress of a study: the current stage, pass and row, and the time left if it can be estimated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

REPORT_SECONDS = 0.1  # minimum time between two reports on the same stage


@dataclass(frozen=True)
class Stage:
    """The current stage of a study.

    Attributes
    ----------
    text : str
        Description, such as "logistic (Bayesian), 26,049 rows: pass 7".
    done, total : int
        Number of completed stages, and of all stages.
    seconds_left : float
        Estimated time until the end of this stage; NaN if unknown, as for fits of the comparison.
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
        """Begin a stage that is expected to take ``seconds``."""
        now = perf_counter()
        self._stage, self._start, self._end = Stage(text, self.done, self.total), now, now + seconds
        self.done += 1
        self._report("", seconds)

    def columns(self, done: int, total: int) -> None:
        """Report how many columns of the stage are done."""
        now = perf_counter()
        if now - self._reported > REPORT_SECONDS or done == total:
            self._report(f": column {done:,} of {total:,}", (now - self._start) * (total - done) / max(done, 1))

    def rows(self, read: int, n_rows: int | None, number: int) -> None:
        """Report passes over rows; a callback for `separatrix.rows.watched`."""
        now = perf_counter()
        if now - self._reported > REPORT_SECONDS:
            of = "" if n_rows is None else f" of {n_rows:,}"
            self._report(f": pass {number}, row {read:,}{of}", self._end - now)

    def _report(self, more: str, seconds: float) -> None:
        if self.progress is not None:
            self._reported = perf_counter()
            self.progress(replace(self._stage, text=self._stage.text + more, seconds_left=seconds))
