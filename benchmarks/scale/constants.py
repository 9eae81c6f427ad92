# SPDX-License-Identifier: BSD-3-Clause
"""The constants of the cost model, measured in about a minute.

Fits of four tables, none of the shape of a case that is predicted, are taken apart into passes by a `Witness`. The time
of each kind of pass at four numbers of columns gives its work for each row, number and pair, none of them negative.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
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
from benchmarks.scale.tables import TARGET, Shape, make, make_dask, partition_sizes, write_parquet
from benchmarks.scale.tasks import FITS
from benchmarks.scale.witness import LABELS, Witness
from separatrix._threads import n_threads
from separatrix.files import scan
from separatrix.rows import Block, as_source, open_rows

__all__ = ["ConstantRow", "Effort", "Meter", "SchedulerMeter", "Scheduling", "from_rows", "to_rows"]

SERIAL = frozenset({LABELS})  # done on one core, in memory
POWERS = ("row", "number", "pair")
SAMPLE = "sample of "
FILE_COLUMNS = 24
IN_A_ROW = 3  # passes over files, after one that counts for nothing


class Effort(NamedTuple):
    """How much is measured; ``numbers`` N M of each table."""

    widths: Sequence[int] = (16, 28, 48, 120)
    numbers: int = 16_000_000
    rounds: int = 7
    solve: int = 1500


class Meter:
    """Constants of this process, measured in rounds: whatever else the machine does falls on all that is measured."""

    def __init__(self, effort: Effort, folder: Path) -> None:
        self._effort = effort
        self._tables = {M: make(Shape(effort.numbers // M, M, seed=M)) for M in effort.widths}
        self._shape = Shape(effort.numbers // FILE_COLUMNS, FILE_COLUMNS)
        write_parquet(self._shape, folder, files=2)
        self._read, self._scan = read_by_file(folder), scan(folder, target=TARGET)
        self._times: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
        self._singles: dict[str, list[float]] = defaultdict(list)
        self._recipes: dict[tuple[str, int], Recipe] = {}

    def forget(self) -> None:
        """What was measured so far."""
        self._times.clear()
        self._singles.clear()

    def measure(self) -> None:
        """One round."""
        for M, (X, y) in self._tables.items():
            for fit in FITS:
                self._fit(fit, M, X, y)
        self._files()
        self._machine()

    def _fit(self, fit: str, M: int, X: Any, y: Any) -> None:
        """The work of each pass, and of what is left: the sample."""
        rows, N = Witness(X), len(X)
        _, whole = timed(lambda: FITS[fit]().fit(rows, y))
        for kind, seconds in rows.log:
            self._times[kind][M].append(seconds * (1 if kind in SERIAL else n_threads()) / N)
        left = whole - sum(read.seconds for read in rows.log)
        self._times[SAMPLE + fit][M].append(left * n_threads() / sample_rows(N, M))
        passes = Counter(read.kind for read in rows.log if read.kind != LABELS)
        self._recipes[fit, M] = Recipe(M, dict(passes))

    def _files(self) -> None:
        """Core-seconds of what a pass over Parquet does before there is a block to compute with."""
        rows, numbers = self._shape.rows, self._shape.rows * (FILE_COLUMNS + 1)
        source = open_rows(self._scan)
        for action in (self._read, lambda: source.reduce(length)):
            action()  # Arrow keeps what it allocated for the next pass of a fit
            name = "reading" if action is self._read else "decoding"
            for _ in range(IN_A_ROW):
                start = process_time()  # of all threads together
                _, seconds = timed(action)
                busy = process_time() - start
                self._singles[name].append((seconds * n_threads() if action is self._read else busy) / numbers)
        watched = Witness(self._scan)
        FITS["lda"]().fit(watched)
        self._singles["label_reading"] += [s * n_threads() / rows for kind, s in watched.log if kind == LABELS]

    def _machine(self) -> None:
        X, _ = self._tables[self._effort.widths[0]]
        self._singles["bandwidth"].append(X.nbytes / timed(lambda: as_source(X).reduce(total))[1])
        M = self._effort.solve
        A = np.eye(M) + np.full((M, M), 0.5)
        self._singles["solve"].append(timed(lambda: linalg.cholesky(A, lower=True))[1] / M**3)

    def constants(self, schedulers: Mapping[str, Scheduling], network: float) -> Constants:
        """From the medians of all rounds; with those of Dask's schedulers, measured where they are at hand."""
        works = {kind: _fitted({M: median(taken) for M, taken in by.items()}) for kind, by in self._times.items()}
        sample = {fit: works.pop(SAMPLE + fit) for fit in FITS}
        return Constants(
            work=works,
            sample=sample,
            recipes={fit: tuple(self._recipes[fit, M] for M in self._tables) for fit in FITS},
            graph={name: each.graph for name, each in schedulers.items()},
            task={name: each.task for name, each in schedulers.items()},
            pace={name: each.pace for name, each in schedulers.items()},
            network=network,
            **{name: median(taken) for name, taken in self._singles.items()},
        )


def _fitted(per_row: Mapping[int, float]) -> Work:
    """Row, number and pair from the seconds per row at some numbers of columns, in least squares of ratios."""
    M, seconds = np.array(list(per_row), dtype=float), np.array(list(per_row.values()))
    powers = np.column_stack([np.ones_like(M), M, M**2]) / seconds[:, None]
    scale = powers.max(axis=0)
    found, _ = optimize.nnls(powers / scale, np.ones_like(M))
    return Work(*(float(each) for each in found / scale))


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


class Scheduling(NamedTuple):
    """Seconds of a scheduler, for a round and for each partition in it; and the pace of each statistic in a task."""

    graph: float
    task: float
    pace: Mapping[str, float]


class SchedulerMeter:
    """Rounds that do nothing, over few partitions and over many; a transfer to the client; and two fits.

    A pass is not as fast in a process that Dask starts, perhaps because that gives memory back to the system as soon
    as it can and asks for every temporary array again. What it takes there over what it takes here is its pace.
    """

    FEW, MANY = 2, 34
    PARTITIONS = 4
    WATCHED = ("posterior", "lda")

    def __init__(self, using: Callable[[], AbstractContextManager[None]], numbers: int) -> None:
        self._using, self._numbers = using, numbers // 4
        da = import_module("dask.array")
        # Dask forgets rows on workers that no variable here refers to.
        self._tables = {n: da.ones((64 * n, 4), chunks=(64, 4)).persist() for n in (self.FEW, self.MANY)}
        self._vector = da.ones(self._numbers, chunks=self._numbers).persist()
        shape = Shape(numbers // 2 // FILE_COLUMNS, FILE_COLUMNS)
        self._there = tuple(each.persist() for each in make_dask(shape, self.PARTITIONS))
        self._here = make(shape, partition_sizes(shape.rows, self.PARTITIONS))
        self._reads: dict[tuple[bool, str], list[float]] = defaultdict(list)
        self._rounds: dict[int, list[float]] = defaultdict(list)
        self._transfers: list[float] = []

    def forget(self) -> None:
        """What was measured so far."""
        self._rounds.clear()
        self._transfers.clear()
        self._reads.clear()

    def measure(self) -> None:
        """One round of each."""
        with self._using():
            for n, table in self._tables.items():
                source = open_rows(table)
                self._rounds[n].append(timed(lambda: source.reduce(length))[1])  # noqa: B023  (called at once)
            self._transfers.append(timed(self._vector.compute)[1])
            for is_here, (X, y) in ((True, self._here), (False, self._there)):
                for fit in self.WATCHED:
                    rows = Witness(X)
                    FITS[fit]().fit(rows, y)
                    for kind, seconds in rows.log:
                        self._reads[is_here, kind].append(seconds)

    @property
    def scheduling(self) -> Scheduling:
        """From the difference that more partitions make."""
        few, many = (median(self._rounds[n]) for n in (self.FEW, self.MANY))
        task = max(many - few, 0.0) / (self.MANY - self.FEW)
        graph = max(few - self.FEW * task, 0.0)
        return Scheduling(graph, task, self._pace(graph + self.PARTITIONS * task))

    def _pace(self, dealing: float) -> dict[str, float]:
        """Less what dealing out the partitions takes; labels and samples take rounds of their own, and none is told."""
        return {
            kind: max(median(self._reads[False, kind]) - dealing, 0.0) / median(taken)
            for (is_here, kind), taken in self._reads.items()
            if is_here and kind not in (LABELS, "draw")
        }

    @property
    def network(self) -> float:
        """Bytes per second from a worker to the client."""
        return 8 * self._numbers / median(self._transfers)


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
    for name, paces in constants.pace.items():
        rows += [ConstantRow("pace", name, kind, each) for kind, each in paces.items()]
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
        pace={name: dict(parts) for name, parts in groups["pace"].items()},
        **{name: groups["single"][name][""] for name in SINGLE},
    )
