# SPDX-License-Identifier: BSD-3-Clause
"""Measure all problems, tasks and libraries in one process; save and print the results.

python -m benchmarks.run [--quick] [--only TASK ...] [--problems NAME ...] [--libraries NAME ...]
"""

from __future__ import annotations

import argparse
import math
import platform
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import joblib
from scipy.linalg import LinAlgWarning
from sklearn.exceptions import ConvergenceWarning

from benchmarks.libraries import LIBRARIES, Job, Library, load
from benchmarks.machine import describe
from benchmarks.measure import Effort, gram, median_seconds, peak_bytes, timed
from benchmarks.objectives import OBJECTIVES, Answer
from benchmarks.posterior import Gradient
from benchmarks.problems import PROBLEMS, Data, Problem
from benchmarks.record import RESULTS, SCRATCH, Row, Run, write_run
from benchmarks.report import text_table

__all__ = ["main", "measure"]

TASKS = tuple(dict.fromkeys(task for problem in PROBLEMS for task in problem.tasks))
NAMES = tuple(problem.name for problem in PROBLEMS)
GRAM = "X.T @ X"  # key of the unit of time among the names of libraries
QUICK_EFFORT = Effort(rounds=1, seconds=0.0, once=math.inf)


def measure(
    problems: Sequence[Problem], tasks: Sequence[str], libraries: Sequence[Library], effort: Effort
) -> Iterator[Row]:
    """Yield each row as soon as it is measured. Only one table is in memory at a time."""
    for problem in problems:
        wanted = [task for task in problem.tasks if task in tasks]
        if wanted and not problem.is_here:
            print(f"{problem.name}: skipped, because {problem.archive} was not found", file=sys.stderr)
        elif wanted:
            data = problem.data()
            for task in wanted:
                yield from _measure_task(problem, data, task, libraries, effort)


def _measure_task(
    problem: Problem, data: Data, task: str, libraries: Sequence[Library], effort: Effort
) -> Iterator[Row]:
    with warnings.catch_warnings():
        for category in (ConvergenceWarning, LinAlgWarning):  # the results show convergence
            warnings.simplefilter("ignore", category)
        warnings.simplefilter("ignore", FutureWarning)  # announcements of new defaults
        jobs = _prepare(data, task, libraries)
        first = {name: timed(job.run) for name, job in jobs.items()}  # warm-up run
        answers = {name: job.read(first[name][0]) for name, job in jobs.items()}
        long = {name: taken for name, (_, taken) in first.items() if taken > effort.once}
        short = {name: job for name, job in jobs.items() if name not in long}
        peaks = {name: peak_bytes(job.run) for name, job in short.items() if data.nbytes}
        seconds = _seconds(data, short, effort) | long
    gaps, gradients = _gaps(data, task, answers), _gradients(data, task, answers)
    for library in libraries:
        name = library.name
        if name in jobs:
            answer, gradient = answers[name], gradients.get(name)
            yield Row(
                problem=problem.name,
                task=task,
                library=name,
                version=library.version,
                seconds=seconds[name],
                grams=seconds[name] / seconds[GRAM] if GRAM in seconds else None,
                passes=answer.passes if answer else None,
                peak_mb=peaks[name] / 1e6 if name in peaks else None,
                peak_ratio=peaks[name] / data.nbytes if name in peaks else None,
                gap=gaps.get(name),
                gradient=gradient.largest if gradient else None,
                gradient_sd=gradient.per_deviation if gradient else None,
                n=problem.n,
                m=problem.m,
                k=problem.k,
                dtype=problem.dtype,
            )


def _prepare(data: Data, task: str, libraries: Sequence[Library]) -> dict[str, Job]:
    """Job of each library that supports the task and the data."""
    prepared = {lib.name: lib.tasks[task](data) for lib in libraries if task in lib.tasks}
    return {name: job for name, job in prepared.items() if job is not None}


def _seconds(data: Data, jobs: Mapping[str, Job], effort: Effort) -> dict[str, float]:
    actions = {name: job.run for name, job in jobs.items()}
    unit = gram(data.X)
    if unit is not None:
        unit()
        actions[GRAM] = unit
    return median_seconds(actions, effort)


def _gaps(data: Data, task: str, answers: Mapping[str, Answer | None]) -> dict[str, float]:
    if task not in OBJECTIVES:
        return {}
    objective = OBJECTIVES[task]
    values = {name: objective.evaluate(data, answer) for name, answer in answers.items() if answer is not None}
    return {name: objective.gap(value, values) for name, value in values.items()}


def _gradients(data: Data, task: str, answers: Mapping[str, Answer | None]) -> dict[str, Gradient]:
    size = OBJECTIVES[task].gradient if task in OBJECTIVES else None
    if size is None:
        return {}
    return {name: size(data, answer) for name, answer in answers.items() if answer is not None}


def main(arguments: Sequence[str] | None = None, folder: Path = RESULTS) -> None:
    """Run the command line; results go to a subfolder of ``folder``."""
    options = _parser().parse_args(arguments)
    libraries = load(options.libraries)
    problems = [problem.quick() if options.quick else problem for problem in PROBLEMS]
    problems = [problem for problem in problems if problem.name in options.problems]
    rows = []
    for row in measure(problems, options.only, libraries, QUICK_EFFORT if options.quick else Effort()):
        rows.append(row)
        print(f"{row.problem}: {row.task}, {row.library}: {row.seconds:.3g} s", file=sys.stderr)
    place = write_run(Run(options.name or _default_name(options), describe(), rows), folder)
    print(text_table(rows))
    print(f"\nWritten to {place.parent.name}/{place.name}.", file=sys.stderr)


def _default_name(options: argparse.Namespace) -> str:
    """Type of machine for a complete run, which replaces the previous one; otherwise SCRATCH."""
    parts = (options.only, options.problems, options.libraries)
    whole = not options.quick and parts == (TASKS, NAMES, None)
    return f"{joblib.cpu_count()}-cores-{platform.machine()}" if whole else SCRATCH


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description="Measure fits in grams.")
    parser.add_argument("--quick", action="store_true", help="use tiny tables, as a test of the program")
    parser.add_argument("--only", nargs="+", metavar="TASK", choices=TASKS, default=TASKS, help=", ".join(TASKS))
    parser.add_argument("--problems", nargs="+", metavar="NAME", choices=NAMES, default=NAMES, help=", ".join(NAMES))
    parser.add_argument(
        "--libraries",
        nargs="+",
        metavar="NAME",
        choices=LIBRARIES,
        help=f"{', '.join(LIBRARIES)}; default: all that are installed",
    )
    parser.add_argument(
        "--name", help="folder under benchmarks/results; default: type of machine, or scratch for a partial run"
    )
    return parser


if __name__ == "__main__":
    main()
