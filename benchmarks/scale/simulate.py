# SPDX-License-Identifier: BSD-3-Clause
"""Does the cost model hold? Measure its constants, predict a few fits, run them, and compare.

    python -m benchmarks.scale.simulate [--quick]

Constants come from tables of other shapes than those that are predicted. Each fit is warmed up; the median of a few
counts. Written: constants.csv, from which docs/scale.md predicts what does not fit this machine, and simulate.csv.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.measure import timed
from benchmarks.record import RESULTS
from benchmarks.scale.constants import Effort, measure_constants, scheduler_constants, to_rows
from benchmarks.scale.model import Constants, Place, Problem, predict
from benchmarks.scale.record import circumstances, folder_of, write_records
from benchmarks.scale.tables import TARGET, Shape, make, make_dask, write_parquet
from benchmarks.scale.tasks import FITS
from benchmarks.scale.workers import N_WORKERS, SCHEDULERS
from separatrix._threads import n_threads
from separatrix.data.scan import scan

__all__ = ["CASES", "Case", "SimulatedRow", "main", "simulate", "text"]

PARTITIONS = 8
QUICK = 20  # times fewer rows
TRANSFER = 4_000_000  # numbers that a worker sends to the client, to see how fast
QUICK_EFFORT = Effort(widths=(8, 16), numbers=1_000_000, repeats=1, solve=200)


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


@dataclass(frozen=True)
class Run:
    """What a fit took."""

    case: Case
    task: str
    seconds: float
    passes: int


def simulate(cases: Sequence[Case], effort: Effort) -> tuple[Constants, list[SimulatedRow]]:
    """Constants, and every case both ways."""
    runs: list[Run] = []
    schedulers: dict[str, Mapping[str, float]] = {}
    network = np.inf
    for name, scheduler in SCHEDULERS.items():
        with scheduler():
            schedulers[name] = scheduler_constants(effort.repeats)
            if name == "processes":
                network = _network(effort.repeats)
            for case in (case for case in cases if case.place == name):
                X, y = (each.persist() for each in make_dask(Shape(case.rows, case.columns), PARTITIONS))
                runs += _fits(case, X, y, effort.repeats)
    constants = measure_constants(effort, schedulers, float(network))
    runs = [*(run for case in cases if case.place not in SCHEDULERS for run in _here(case, effort.repeats)), *runs]
    return constants, [_compared(run, constants) for run in runs]


def _here(case: Case, repeats: int) -> Iterator[Run]:
    shape = Shape(case.rows, case.columns)
    if case.place == "memory":
        yield from _fits(case, *make(shape), repeats)
        return
    with tempfile.TemporaryDirectory(prefix="separatrix-simulate-") as folder:
        write_parquet(shape, Path(folder), files=4)
        yield from _fits(case, scan(folder, target=TARGET), None, repeats)


def _fits(case: Case, X: Any, y: Any, repeats: int) -> Iterator[Run]:
    for task, estimator in FITS.items():
        estimator().fit(X, y)
        taken = [timed(lambda: estimator().fit(X, y)) for _ in range(repeats)]  # noqa: B023  (called at once)
        yield Run(case, task, median(seconds for _, seconds in taken), int(taken[0][0].n_passes_))


def _network(repeats: int) -> float:
    """Bytes per second from a worker to this process."""
    sent = import_module("dask").delayed(np.ones)(TRANSFER).persist()
    sent.compute()
    return 8 * TRANSFER / median(timed(sent.compute)[1] for _ in range(repeats))


def place_here(name: str, constants: Constants) -> Place:
    """This machine, as the model sees it. Its files are in the page cache: no disk bounds them."""
    if name in SCHEDULERS:
        network = constants.network if name == "processes" else np.inf
        return Place(
            name, N_WORKERS, constants.bandwidth, scheduler=name, partitions=PARTITIONS, network=float(network)
        )
    return Place(name, n_threads(), constants.bandwidth, disk=np.inf if name == "files" else None)


def _compared(run: Run, constants: Constants) -> SimulatedRow:
    case = run.case
    found = predict(Problem(run.task, case.rows, case.columns), place_here(case.place, constants), constants)
    return SimulatedRow(
        case.place,
        case.rows,
        case.columns,
        run.task,
        found.passes,
        run.passes,
        found.seconds,
        run.seconds,
        found.seconds / run.seconds,
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
