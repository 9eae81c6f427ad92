# SPDX-License-Identifier: BSD-3-Clause
"""What a fit takes, from what its passes take: the cost model.

    T(fit) = Σ_passes T(pass) + T(labels) + T(sample) + S · M³ · solve
    T(pass) = max( N · w(M) / cores,  bytes / bandwidth ) + rounds + tree
    w(M) = row + number · M + pair · M²                      core-seconds for each row, by the statistic of the pass

    rounds   where a scheduler deals out partitions: graph + partitions · task
    tree     statistics of M² numbers on their way to the client, a few levels of them

A file adds decoding to w, and the disk to what may bound a pass. The sample has at most 2²⁴ numbers however many rows
there are, so that its fit soon stops growing. Nothing here is measured: `constants` does that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Constants", "Place", "Prediction", "Problem", "Recipe", "Work", "predict", "sample_rows"]

SHARE, MOST = 16, 2**24  # a sample: one row of so many, so many numbers at most
LEAST, ENOUGH = 20, 1500  # its rows for each weight
FAN_IN = 16  # statistics that are added by one task
LABEL_ROUNDS = 3  # labels on workers: encoded, united, laid beside the rows
SOLVES = 2  # Cholesky factors of M columns that a fit asks for, about


@dataclass(frozen=True)
class Work:
    """Core-seconds for each row of M columns: row + number M + pair M²."""

    row: float = 0.0
    number: float = 0.0
    pair: float = 0.0

    def seconds(self, rows: float, columns: int) -> float:
        """On one core."""
        return rows * (self.row + columns * (self.number + columns * self.pair))


@dataclass(frozen=True)
class Recipe:
    """A fit as a list of passes: how many of each statistic, at some number of columns."""

    columns: int
    passes: Mapping[str, int]

    @property
    def n_passes(self) -> int:
        """As the models count them."""
        return sum(self.passes.values())


@dataclass(frozen=True)
class Constants:
    """What was measured on one machine.

    Attributes
    ----------
    work : for each statistic, and for ``labels``
    sample : for each fit, the work for each row of its sample
    recipes : for each fit, at several numbers of columns
    bandwidth : bytes per second of memory, all cores together
    decoding : core-seconds for each number of a Parquet file, on its way into a block of rows
    reading : core-seconds (all cores, busy or not) for each number of bare reading: a pass is never faster
    label_reading : core-seconds for each label of a file
    graph, task : seconds of a scheduler, for each round and for each partition in it; by the kind of scheduler
    pace : how many times as long a statistic takes inside a task, by the kind of scheduler
    network : bytes per second between a worker and the client
    solve : seconds of a Cholesky factor, for each M³
    """

    work: Mapping[str, Work]
    sample: Mapping[str, Work]
    recipes: Mapping[str, tuple[Recipe, ...]]
    bandwidth: float
    decoding: float
    reading: float
    label_reading: float
    graph: Mapping[str, float]
    task: Mapping[str, float]
    pace: Mapping[str, Mapping[str, float]]
    network: float
    solve: float

    def recipe(self, fit: str, columns: int) -> Recipe:
        """That of the nearest number of columns. It does not depend on N once N is large."""
        return min(self.recipes[fit], key=lambda recipe: abs(math.log(recipe.columns / columns)))


@dataclass(frozen=True)
class Problem:
    """A fit of N rows and M columns of so many bytes each."""

    fit: str
    rows: float
    columns: int
    itemsize: int = 8

    @property
    def bytes(self) -> float:
        """Of the rows."""
        return self.rows * self.columns * self.itemsize


@dataclass(frozen=True)
class Place:
    """Where the rows are, and who works on them.

    ``bandwidth`` is of memory, ``disk`` of the files where the rows are not in memory (None), both for each worker;
    ``network`` and ``latency`` are between workers and client. ``scheduler`` None stands for one process.
    """

    name: str
    cores: int
    bandwidth: float
    workers: int = 1
    disk: float | None = None
    scheduler: str | None = None
    partitions: int = 1
    network: float = math.inf
    latency: float = 0.0

    @property
    def all_cores(self) -> int:
        """Of all workers."""
        return self.workers * self.cores


@dataclass(frozen=True)
class Prediction:
    """Seconds, in parts; ``bound`` is what most of the time goes to."""

    passes: int
    parts: Mapping[str, float] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """Of the whole fit."""
        return sum(self.parts.values())

    @property
    def bound(self) -> str:
        """The largest part."""
        return max(self.parts, key=lambda part: self.parts[part])


def sample_rows(rows: float, columns: int) -> float:
    """Rows that a fit looks at first: one from each stretch of equal length."""
    wanted = max(min(rows / SHARE, MOST / columns, ENOUGH * (columns + 1)), LEAST * (columns + 1))
    return rows / (rows // wanted)


def predict(problem: Problem, place: Place, constants: Constants) -> Prediction:
    """The time of a fit, from the passes that it makes."""
    recipe = constants.recipe(problem.fit, problem.columns)
    parts = dict.fromkeys(("arithmetic", "decoding", "memory", "disk", "scheduler", "network", "sample", "solve"), 0.0)
    for statistic, times in recipe.passes.items():
        for part, seconds in _of_pass(problem, place, constants, statistic).items():
            parts[part] += times * seconds
    for part, seconds in _of_labels(problem, place, constants).items():
        parts[part] += seconds
    drawn = sample_rows(problem.rows, problem.columns)
    parts["sample"] += constants.sample[problem.fit].seconds(drawn, problem.columns) / place.cores
    if problem.fit != "lda":
        parts["network"] += 8 * drawn * problem.columns / place.network
    parts["solve"] += SOLVES * constants.solve * problem.columns**3
    return Prediction(recipe.n_passes, parts)


def _of_pass(problem: Problem, place: Place, constants: Constants, statistic: str) -> dict[str, float]:
    """Work or bytes, whichever takes longer; and what it takes to have it done elsewhere."""
    N, M = problem.rows, problem.columns
    pace = 1.0 if place.scheduler is None else constants.pace[place.scheduler].get(statistic, 1.0)
    parts = {"arithmetic": pace * constants.work[statistic].seconds(N, M) / place.all_cores}
    stream, flow = "memory", place.bandwidth
    if place.disk is not None:
        least = constants.reading * N * (M + 1) / place.all_cores - parts["arithmetic"]
        parts["decoding"] = max(constants.decoding * N * (M + 1) / place.all_cores, least)
        stream, flow = "disk", place.disk
    bytes_take = problem.bytes / (place.workers * flow)
    if bytes_take > sum(parts.values()):
        parts = {stream: bytes_take}
    return parts | _rounds(1, place, constants) | _tree(M, place)


def _of_labels(problem: Problem, place: Place, constants: Constants) -> dict[str, float]:
    """One process encodes labels on one core; workers do it side by side; those of a file are read first."""
    if place.disk is not None:
        return {"decoding": constants.label_reading * problem.rows / place.all_cores}
    cores = 1 if place.scheduler is None else place.all_cores
    work = constants.work["labels"].seconds(problem.rows, problem.columns) / cores
    return {"arithmetic": work} | _rounds(LABEL_ROUNDS, place, constants)


def _rounds(times: int, place: Place, constants: Constants) -> dict[str, float]:
    if place.scheduler is None:
        return {}
    tasks = place.partitions * (1 + 1 / FAN_IN)
    return {"scheduler": times * (constants.graph[place.scheduler] + tasks * constants.task[place.scheduler])}


def _tree(columns: int, place: Place) -> dict[str, float]:
    """A statistic of M² numbers for each of FAN_IN children, level by level."""
    levels = math.ceil(math.log(max(place.partitions, 2), FAN_IN))
    return {"network": levels * (place.latency + FAN_IN * 8 * columns**2 / place.network)}
