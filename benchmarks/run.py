# SPDX-License-Identifier: BSD-3-Clause
"""Measure all problems, tasks and libraries in one process; save and print the results.

python -m benchmarks.run [--quick] [--resume] [--only TASK ...] [--problems NAME ...] [--libraries NAME ...]

A whole run is kept under the name of the machine. A part of it is kept only with --name, where it replaces the same
tasks of the same problems. Files are written after every task; --resume measures the tasks that are missing from them.
"""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from scipy.linalg import LinAlgWarning
from sklearn.exceptions import ConvergenceWarning

from benchmarks.libraries import LIBRARIES, AbsentError, Job, Library, load
from benchmarks.machine import describe, machine_name, speeds
from benchmarks.measure import (
    Effort,
    TooLongError,
    first_run,
    gram,
    interleaved_seconds,
    peak_bytes,
    product,
    time_limit,
)
from benchmarks.objectives import OBJECTIVES, Answer
from benchmarks.posterior import Gradient
from benchmarks.problems import PROBLEMS, Data, Problem
from benchmarks.record import LONGER, RESULTS, SCRATCH, Row, Run, read_run, write_run
from benchmarks.report import OURS, text_table, time_of

__all__ = ["main", "measure"]

TASKS = tuple(dict.fromkeys(task for problem in PROBLEMS for task in problem.tasks))
NAMES = tuple(problem.name for problem in PROBLEMS)
GRAM, READ = "X.T @ X", "X @ w"  # keys of the units of time among the names of libraries
EFFORTS = {
    "full": Effort(),
    "quick": Effort(rounds=3, seconds=0.5, allowance=2.0, once=2.0, longest=20.0),
    "toy": Effort(rounds=1, seconds=0.0, once=math.inf, longest=math.inf, settling=0.0),
}
OWN_PATIENCE = 3  # times the limit of other libraries: a bound on our own time would not show how much slower we are
BUSY = 0.5  # average number of running processes before the run, above which times are doubtful


@dataclass
class Trial:
    """What is known of one library at one task: a job, then its first run, or a note why there is none."""

    library: Library
    job: Job | None = None
    first: float = 0.0
    answer: Answer | None = None
    note: str = ""


def measure(
    problem: Problem, tasks: Sequence[str], libraries: Sequence[Library], effort: Effort, date: str = ""
) -> Iterator[list[Row]]:
    """Yield the rows of one task after another. Only one table is in memory at a time."""
    wanted = [task for task in problem.tasks if task in tasks]
    if wanted and not problem.is_here:
        print(f"{problem.name}: skipped, because {problem.archive} was not found", file=sys.stderr)
        return
    data, toy = (problem.data(), problem.toy().data()) if wanted else (None, None)
    for task in wanted:
        assert data is not None
        assert toy is not None
        with warnings.catch_warnings():
            for category in (ConvergenceWarning, LinAlgWarning):  # the results show convergence
                warnings.simplefilter("ignore", category)
            for category in (FutureWarning, UserWarning, RuntimeWarning):  # new defaults, few rows of a class, log of 0
                warnings.simplefilter("ignore", category)
            yield _measure_task(problem, data, toy, task, libraries, effort, date)


def _measure_task(
    problem: Problem, data: Data, toy: Data, task: str, libraries: Sequence[Library], effort: Effort, date: str
) -> list[Row]:
    tried = [_try(library, problem, data, toy, task, effort) for library in libraries if task in library.tasks]
    trials = {trial.library.name: trial for trial in tried if trial.job is not None or trial.note}
    short = {name: t.job for name, t in trials.items() if t.job and not t.note and t.first <= effort.once}
    peaks = {name: peak_bytes(job.run) for name, job in short.items() if data.nbytes}
    seconds = {name: trial.first for name, trial in trials.items() if trial.first} | _seconds(data, short, effort)
    answers = {name: trial.answer for name, trial in trials.items() if trial.answer is not None}
    gaps, gradients = _gaps(data, task, answers), _gradients(data, task, answers)
    rows = []
    for name, trial in trials.items():
        taken, gradient = seconds.get(name), gradients.get(name)
        rows.append(
            Row(
                problem=problem.name,
                task=task,
                library=name,
                version=trial.library.version,
                seconds=taken,
                grams=taken / seconds[GRAM] if taken and GRAM in seconds else None,
                reads=taken / seconds[READ] if taken and READ in seconds else None,
                passes=trial.answer.passes if trial.answer else None,
                peak_mb=peaks[name] / 1e6 if name in peaks else None,
                peak_ratio=peaks[name] / data.nbytes if name in peaks else None,
                gap=gaps.get(name),
                gradient=gradient.largest if gradient else None,
                gradient_sd=gradient.per_deviation if gradient else None,
                n=problem.n,
                m=problem.m,
                k=problem.k,
                dtype=problem.dtype,
                date=date,
                note=trial.note,
            )
        )
    return rows


def _try(library: Library, problem: Problem, data: Data, toy: Data, task: str, effort: Effort) -> Trial:
    """First run, after a fit to a tiny table that imports and compiles most of what the first call needs."""
    trial = Trial(library)
    if library.name in problem.left_out:
        trial.note = "left out"
        return trial
    longest = effort.longest * (OWN_PATIENCE if library.name.startswith(OURS) else 1)
    try:
        with time_limit(longest):
            if len(toy.y) < len(data.y) and (rehearsal := library.tasks[task](toy)) is not None:
                rehearsal.run()
        if (job := library.tasks[task](data)) is None:
            return trial
        trial.job = job
        result, trial.first = first_run(job.run, longest)
        trial.answer = job.read(result)
    except AbsentError:
        trial.note = "not installed"
    except TooLongError:
        trial.note, trial.first = LONGER, longest
    except Exception as error:  # a peer may fail in any way, and the other rows are still to be measured
        trial.note = f"failed: {type(error).__name__}: {error}".partition("\n")[0][:200]
    return trial


def _seconds(data: Data, jobs: Mapping[str, Job], effort: Effort) -> dict[str, float]:
    """Median time of each job, and the fastest time of each unit.

    A median of the units would depend on the libraries that run next to them: some leave threads that wait actively.
    """
    actions = {name: job.run for name, job in jobs.items()}
    units = {name: unit for name, unit in ((GRAM, gram(data.X)), (READ, product(data.X))) if unit is not None}
    times = interleaved_seconds(actions | units, effort)
    return {name: min(taken) if name in units else median(taken) for name, taken in times.items()}


def _gaps(data: Data, task: str, answers: Mapping[str, Answer]) -> dict[str, float]:
    if task not in OBJECTIVES or not answers:
        return {}
    objective = OBJECTIVES[task]
    values = {name: objective.evaluate(data, answer) for name, answer in answers.items()}
    return {name: objective.gap(value, values) for name, value in values.items()}


def _gradients(data: Data, task: str, answers: Mapping[str, Answer]) -> dict[str, Gradient]:
    size = OBJECTIVES[task].gradient if task in OBJECTIVES else None
    if size is None:
        return {}
    return {name: size(data, answer) for name, answer in answers.items()}


def main(arguments: Sequence[str] | None = None, folder: Path = RESULTS) -> None:
    """Run the command line; results go to a subfolder of ``folder``."""
    options = _parser().parse_args(arguments)
    mode = "toy" if options.toy else "quick" if options.quick else "full"
    is_whole = (options.only, options.problems, options.libraries) == (TASKS, NAMES, None)
    name = options.name or (machine_name() if is_whole and mode != "toy" else SCRATCH)
    kept = None if name == SCRATCH else _kept(folder / name, mode)
    begun = kept if options.resume or not is_whole else None
    run = begun or Run(name, mode, {**describe(), **({} if mode == "toy" else speeds())}, [])
    if mode != "toy" and not begun and float(run.config["load"]) > BUSY:
        print(f"Warning: the load of this machine was {run.config['load']} before the run.", file=sys.stderr)
    done = {(row.problem, row.task) for row in run.rows} if options.resume else set()
    libraries, today = load(options.libraries), str(describe()["date"])
    for each in PROBLEMS:
        if each.name in options.problems:
            problem = {"toy": each.toy(), "quick": each.quick(), "full": each}[mode]
            tasks = [task for task in options.only if (each.name, task) not in done]
            for rows in measure(problem, tasks, libraries, EFFORTS[mode], today):
                run = run.with_rows(rows)
                write_run(run, folder)
                for row in rows:
                    print(f"{row.problem}: {row.task}, {row.library}: {time_of(row)} s", file=sys.stderr)
    place = write_run(run, folder)
    print(text_table(run.rows))
    print(f"\nWritten to {place.parent.name}/{place.name}/{mode}.csv.", file=sys.stderr)


def _kept(place: Path, mode: str) -> Run | None:
    """Run of this machine that is kept there, if there is one; another machine's must not be replaced."""
    if not (place / f"{mode}.csv").exists():
        return None
    run, here = read_run(place, mode), describe()
    for key in ("cpu", "cpu_family"):  # runs of older versions have no family
        if run.config.get(key, here[key]) != here[key]:
            raise SystemExit(
                f"{place.name} has results of a processor with {key} {run.config[key]}, and this has {here[key]}. "
                "Choose another --name."
            )
    return run


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description="Measure fits in grams.")
    size = parser.add_mutually_exclusive_group()
    size.add_argument(
        "--quick", action="store_true", help="every task in minutes: fewer repeats, fewer rows, time limits"
    )
    size.add_argument("--toy", action="store_true", help="use tiny tables, as a test of the program")
    parser.add_argument("--resume", action="store_true", help="measure only tasks that have no results yet")
    parser.add_argument("--only", nargs="+", metavar="TASK", choices=TASKS, default=TASKS, help=", ".join(TASKS))
    parser.add_argument("--problems", nargs="+", metavar="NAME", choices=NAMES, default=NAMES, help=", ".join(NAMES))
    parser.add_argument(
        "--libraries", nargs="+", metavar="NAME", choices=LIBRARIES, help=f"{', '.join(LIBRARIES)}; default: all"
    )
    parser.add_argument(
        "--name", help="folder under benchmarks/results; default: type of machine, or scratch for a partial run"
    )
    return parser


if __name__ == "__main__":
    main()
