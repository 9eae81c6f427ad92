# SPDX-License-Identifier: BSD-3-Clause
"""Does the cost model hold? Measure its constants, predict a few fits, run them, and compare.

    python -m benchmarks.scale.simulate [--quick]

Constants come from tables of other shapes than those that are predicted. Constants and fits are measured in turn, round
after round, so that whatever else the machine does falls on both alike; medians count. Written: constants.csv, from
which docs/scale.md predicts what does not fit this machine, and simulate.csv.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Protocol

import numpy as np

from benchmarks.measure import timed
from benchmarks.record import RESULTS
from benchmarks.scale.constants import Effort, Meter, SchedulerMeter, to_rows
from benchmarks.scale.model import Constants, Place, Problem, predict
from benchmarks.scale.record import circumstances, folder_of, write_records
from benchmarks.scale.tables import TARGET, Shape, make, make_dask, write_parquet
from benchmarks.scale.tasks import FITS
from benchmarks.scale.workers import N_WORKERS, SCHEDULERS
from separatrix._threads import n_threads
from separatrix.files import scan

__all__ = ["CASES", "Case", "SimulatedRow", "main", "simulate", "text"]

PARTITIONS = 8
QUICK = 20  # times fewer rows
CLUSTER = "processes"
QUICK_EFFORT = Effort(widths=(8, 16), numbers=1_000_000, rounds=1, solve=200)


@dataclass(frozen=True)
class Case:
    """A table in some place; the fits of `FITS` are run on it."""

    place: str
    rows: int
    columns: int


CASES = (
    Case("memory", 500_000, 50),
    Case("memory", 1_000_000, 20),
    Case("files", 2_000_000, 20),
    Case("threads", 1_000_000, 20),
    Case("processes", 1_000_000, 20),
)


@dataclass(frozen=True)
class SimulatedRow:
    """One fit: seconds as predicted and as measured; passes likewise."""

    place: str
    rows: int
    columns: int
    task: str
    predicted_passes: int
    passes: int
    predicted: float
    measured: float
    ratio: float
    bound: str


class Measured(Protocol):
    """Anything that is measured in rounds."""

    def measure(self) -> None:
        """One round."""

    def forget(self) -> None:
        """What was measured so far."""


class Job:
    """A fit of a case, and what it took each time."""

    def __init__(self, case: Case, task: str, X: Any, y: Any) -> None:
        self.case, self.task = case, task
        self._X, self._y = X, y
        self.seconds: list[float] = []
        self.passes = 0

    def forget(self) -> None:
        """What it took so far."""
        self.seconds.clear()

    def measure(self) -> None:
        """Once more, with the scheduler of its place."""
        with _using(self.case.place):
            model, seconds = timed(lambda: FITS[self.task]().fit(self._X, self._y))
        self.seconds.append(seconds)
        self.passes = int(model.n_passes_)


def simulate(cases: Sequence[Case], effort: Effort) -> tuple[Constants, list[SimulatedRow]]:
    """Constants, and every case both ways, in rounds that measure each of them once."""
    with ExitStack() as stack:
        if CLUSTER in SCHEDULERS:
            stack.enter_context(SCHEDULERS[CLUSTER]())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="separatrix-simulate-")))
        meter = Meter(effort, folder / "constants")
        dask = {name: _scheduler_meter(name, effort.numbers) for name in SCHEDULERS}
        jobs = [job for i, case in enumerate(cases) for job in _jobs(case, folder / str(i))]
        for warm in (True, *[False] * effort.rounds):
            everything: list[Measured] = [meter, *dask.values(), *jobs]
            for measured in everything:
                measured.measure()
                if warm:  # this round compiled, imported and filled caches
                    measured.forget()
        network = dask[CLUSTER].network if CLUSTER in dask else np.inf
        constants = meter.constants({name: each.scheduling for name, each in dask.items()}, network)
        return constants, [_compared(job, constants) for job in jobs]


def _scheduler_meter(name: str, numbers: int) -> SchedulerMeter:
    with _using(name):
        return SchedulerMeter(lambda: _using(name), numbers)


def _jobs(case: Case, folder: Path) -> list[Job]:
    """Its fits, on one table."""
    shape, y = Shape(case.rows, case.columns), None
    if case.place in SCHEDULERS:
        with _using(case.place):
            X, y = (each.persist() for each in make_dask(shape, PARTITIONS))
    elif case.place == "memory":
        X, y = make(shape)
    else:
        write_parquet(shape, folder, files=4)
        X = scan(folder, target=TARGET)
    return [Job(case, task, X, y) for task in FITS]


def _using(place: str) -> AbstractContextManager[None]:
    """Dask's scheduler of a place, where it has one that is not the current one already: the cluster is, once made."""
    return SCHEDULERS[place]() if place in SCHEDULERS and place != CLUSTER else nullcontext()


def place_here(name: str, constants: Constants) -> Place:
    """This machine, as the model sees it. Its files are in the page cache: no disk bounds them."""
    if name in SCHEDULERS:
        network = constants.network if name == CLUSTER else np.inf
        return Place(
            name, N_WORKERS, constants.bandwidth, scheduler=name, partitions=PARTITIONS, network=float(network)
        )
    return Place(name, n_threads(), constants.bandwidth, disk=np.inf if name == "files" else None)


def _compared(job: Job, constants: Constants) -> SimulatedRow:
    case, measured = job.case, median(job.seconds)
    found = predict(Problem(job.task, case.rows, case.columns), place_here(case.place, constants), constants)
    return SimulatedRow(
        case.place,
        case.rows,
        case.columns,
        job.task,
        found.passes,
        job.passes,
        found.seconds,
        measured,
        found.seconds / measured,
        found.bound,
    )


def text(rows: Sequence[SimulatedRow]) -> str:
    """For a terminal."""
    head = (
        f"{'place':11}{'rows':>9}{'columns':>9}  {'task':11}{'passes':>8}{'predicted':>11}{'measured':>10}{'ratio':>7}"
    )
    lines = [
        f"{r.place:11}{r.rows:9}{r.columns:9}  {r.task:11}{f'{r.predicted_passes}/{r.passes}':>8}"
        f"{r.predicted:11.3f}{r.measured:10.3f}{r.ratio:7.2f}"
        for r in rows
    ]
    return "\n".join([head, *lines])


def main(arguments: Sequence[str] | None = None, results: Path = RESULTS) -> None:
    """The command line; results go to a folder of this one."""
    options = _parser().parse_args(arguments)
    cases = [Case(c.place, c.rows // QUICK, c.columns) for c in CASES] if options.quick else CASES
    constants, rows = simulate(cases, QUICK_EFFORT if options.quick else Effort())
    folder, about = folder_of(whole=not options.quick, folder=results), circumstances()
    write_records(to_rows(constants), folder / "constants.csv", about)
    place = write_records(rows, folder / "simulate.csv", about)
    print(text(rows))
    far = max(max(row.ratio, 1 / row.ratio) for row in rows)
    print(
        f"\nFarthest from what was predicted: a factor of {far:.2f}. Written to {place.parent.name}.", file=sys.stderr
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale.simulate", description="Is the cost model right?")
    parser.add_argument("--quick", action="store_true", help="few rows: shows that it runs, not whether it is right")
    return parser


if __name__ == "__main__":
    main()
