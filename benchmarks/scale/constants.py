# SPDX-License-Identifier: BSD-3-Clause
"""The constants of the cost model, measured in about a minute.

Fits of four tables, none of the shape of a case that is predicted, are taken apart into passes by a `Witness`. The time
of each kind of pass at four numbers of columns gives its work for each row, number and pair, none of them negative.
"""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from importlib import import_module
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, optimize

from benchmarks.measure import timed
from benchmarks.scale.child import read_by_file
from benchmarks.scale.model import Constants, Recipe, Work, sample_rows
from benchmarks.scale.tables import TARGET, Shape, make, write_parquet
from benchmarks.scale.tasks import FITS
from benchmarks.scale.witness import LABELS, Witness
from separatrix._threads import n_threads
from separatrix.data import Block, as_source, open_rows

__all__ = ["ConstantRow", "Effort", "from_rows", "measure_constants", "scheduler_constants", "to_rows"]

SERIAL = frozenset({LABELS})  # done on one core, in memory
POWERS = ("row", "number", "pair")
SAMPLE = "sample of "


class Effort(NamedTuple):
    """How much is measured; ``numbers`` N M of each table."""

    widths: Sequence[int] = (16, 32, 64, 120)
    numbers: int = 16_000_000
    repeats: int = 5
    solve: int = 1500


def measure_constants(effort: Effort, schedulers: Mapping[str, Mapping[str, float]], network: float) -> Constants:
    """All of them, given those of Dask's schedulers, which are measured where these are at hand."""
    work, sample, recipes = _passes(effort)
    files = _files(effort)
    return Constants(
        work=work,
        sample=sample,
        recipes=recipes,
        bandwidth=_bandwidth(effort),
        **files,
        graph={name: each["graph"] for name, each in schedulers.items()},
        task={name: each["task"] for name, each in schedulers.items()},
        network=network,
        solve=_solve(effort),
    )


def _passes(effort: Effort) -> tuple[dict[str, Work], dict[str, Work], dict[str, tuple[Recipe, ...]]]:
    """The work of each statistic, of the sample of each fit, and the passes of each fit."""
    times: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    recipes: dict[str, tuple[Recipe, ...]] = {}
    for M in effort.widths:
        N = effort.numbers // M
        X, y = make(Shape(N, M, seed=M))
        for fit, estimator in FITS.items():
            estimator().fit(X, y)
            for _ in range(effort.repeats):
                rows = Witness(X)
                _, whole = timed(lambda: estimator().fit(rows, y))  # noqa: B023  (called at once)
                for kind, seconds in rows.log:
                    times[kind][M].append(seconds * (1 if kind in SERIAL else n_threads()) / N)
                left = whole - sum(read.seconds for read in rows.log)
                times[SAMPLE + fit][M].append(left * n_threads() / sample_rows(N, M))
            passes = Counter(read.kind for read in rows.log if read.kind != LABELS)
            recipes[fit] = (*recipes.get(fit, ()), Recipe(M, dict(passes)))
    works = {kind: _fitted({M: median(taken) for M, taken in by.items()}) for kind, by in times.items()}
    sample = {fit: works.pop(SAMPLE + fit) for fit in FITS}
    return works, sample, recipes


def _fitted(per_row: Mapping[int, float]) -> Work:
    """Row, number and pair from the seconds per row at some numbers of columns, in least squares of ratios."""
    M, seconds = np.array(list(per_row), dtype=float), np.array(list(per_row.values()))
    powers = np.column_stack([np.ones_like(M), M, M**2]) / seconds[:, None]
    scale = powers.max(axis=0)
    found, _ = optimize.nnls(powers / scale, np.ones_like(M))
    return Work(*(float(each) for each in found / scale))


def _bandwidth(effort: Effort) -> float:
    """Bytes per second of a sum over what no cache holds, on all cores."""
    X = np.ones((effort.numbers // 8, 8))
    source = as_source(X)
    seconds = median(timed(lambda: source.reduce(total))[1] for _ in range(effort.repeats))
    return X.nbytes / seconds


@dataclass(frozen=True)
class Total:
    """A number; the least that a pass can return."""

    value: float

    def __add__(self, other: Total) -> Total:
        return Total(self.value + other.value)


def total(block: Block) -> Total:
    """One read of the rows."""
    return Total(float(np.sum(block.X)))


def length(block: Block) -> Total:
    """No more than that there are rows."""
    return Total(len(block))


def _files(effort: Effort) -> dict[str, float]:
    """Core-seconds of what a pass over Parquet does before there is a block to compute with."""
    from separatrix.data.scan import scan

    columns = 24
    shape = Shape(effort.numbers // columns, columns)
    with tempfile.TemporaryDirectory(prefix="separatrix-constants-") as name:
        folder = Path(name)
        write_parquet(shape, folder, files=2)
        read, rows = read_by_file(folder), scan(folder, target=TARGET)
        source = open_rows(rows).rows()
        numbers = shape.rows * (columns + 1)
        return {
            "reading": _median(read, effort) * n_threads() / numbers,
            "decoding": _median(lambda: source.reduce(length), effort, clock=process_time) / (numbers - shape.rows),
            "label_reading": _label_seconds(rows, effort) * n_threads() / shape.rows,
        }


def _median(action: Callable[[], object], effort: Effort, clock: Callable[[], float] | None = None) -> float:
    """Median seconds, by the clock on the wall or, where one is given, by that of all threads together."""
    action()
    taken = []
    for _ in range(effort.repeats):
        start = clock() if clock else 0.0
        _, seconds = timed(action)
        taken.append(clock() - start if clock else seconds)
    return median(taken)


def _label_seconds(rows: Any, effort: Effort) -> float:
    taken: list[float] = []
    for _ in range(effort.repeats):
        watched = Witness(rows)
        FITS["lda"]().fit(watched)
        taken.extend(read.seconds for read in watched.log if read.kind == LABELS)
    return median(taken)


def _solve(effort: Effort) -> float:
    M = effort.solve
    A = np.eye(M) + np.full((M, M), 0.5)
    return _median(lambda: linalg.cholesky(A, lower=True), effort) / M**3


def scheduler_constants(repeats: int = 5) -> dict[str, float]:
    """Seconds of Dask's scheduler, whichever is the current one: for a round, and for each partition in it."""
    da = import_module("dask.array")
    few, many = 2, 34
    # Dask forgets rows on workers that no variable here refers to.
    tables = {n: da.ones((64 * n, 4), chunks=(64, 4)).persist() for n in (few, many)}
    taken = {}
    for n, table in tables.items():
        source = open_rows(table).rows()
        source.reduce(length)
        taken[n] = median(timed(lambda: source.reduce(length))[1] for _ in range(repeats))  # noqa: B023  (called at once)
    task = max(taken[many] - taken[few], 0.0) / (many - few)
    return {"graph": max(taken[few] - few * task, 0.0), "task": task}


@dataclass(frozen=True)
class ConstantRow:
    """One number of `Constants`, as a line of a file."""

    group: str
    name: str
    part: str
    value: float


SINGLE = ("bandwidth", "decoding", "reading", "label_reading", "network", "solve")


def to_rows(constants: Constants) -> list[ConstantRow]:
    """A flat list."""
    rows = [ConstantRow("single", name, "", getattr(constants, name)) for name in SINGLE]
    for group, works in (("work", constants.work), ("sample", constants.sample)):
        for name, work in works.items():
            rows += [ConstantRow(group, name, part, each) for part, each in zip(POWERS, astuple(work), strict=True)]
    for name in constants.graph:
        rows += [ConstantRow("scheduler", name, part, getattr(constants, part)[name]) for part in ("graph", "task")]
    for fit, recipes in constants.recipes.items():
        for recipe in recipes:
            rows += [ConstantRow(f"recipe {recipe.columns}", fit, kind, n) for kind, n in recipe.passes.items()]
    return rows


def from_rows(rows: Sequence[ConstantRow]) -> Constants:
    """What `to_rows` made a list of."""
    groups: dict[str, dict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        groups[row.group][row.name][row.part] = row.value
    recipes: dict[str, tuple[Recipe, ...]] = {}
    for group, fits in groups.items():
        if group.startswith("recipe "):
            for fit, passes in fits.items():
                found = Recipe(int(group.split()[1]), {kind: int(n) for kind, n in passes.items()})
                recipes[fit] = (*recipes.get(fit, ()), found)
    return Constants(
        work={name: Work(**parts) for name, parts in groups["work"].items()},
        sample={name: Work(**parts) for name, parts in groups["sample"].items()},
        recipes=recipes,
        graph={name: parts["graph"] for name, parts in groups["scheduler"].items()},
        task={name: parts["task"] for name, parts in groups["scheduler"].items()},
        **{name: groups["single"][name][""] for name in SINGLE},
    )
