# SPDX-License-Identifier: BSD-3-Clause
"""Fits of the same rows in memory and in partitions of Dask; and dask-ml, where it is installed.

    python -m benchmarks.scale.cluster [--rows 2000000] [--columns 50] [--partitions 8] [--quick]

Rows are made by the workers and stay with them. Each fit is run once to warm up (a worker imports and compiles), then
the median of fifteen counts. ``difference`` is the largest difference of a coefficient from that in memory, over the
largest coefficient.
"""

from __future__ import annotations

import argparse
import gc
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import timed
from benchmarks.record import RESULTS
from benchmarks.scale.record import circumstances, folder_of, write_records
from benchmarks.scale.tables import Shape, make, make_dask, partition_sizes
from benchmarks.scale.tasks import FITS
from benchmarks.scale.workers import SCHEDULERS

__all__ = ["ClusterRow", "main", "measure", "text"]

ROWS, COLUMNS, PARTITIONS = 2_000_000, 50, 8
QUICK_ROWS = 60_000
MEASURED = ("logistic", "lda")
PEER_SOLVERS = ("lbfgs", "newton")  # of dask-ml: the most exact, and the fastest; its default, ADMM, takes minutes
PEER_PLACE = "processes"
IRIS = "three classes (iris)"


@dataclass(frozen=True)
class ClusterRow:
    """One fit. ``ratio`` is to the time in memory; ``accuracy`` is on the training rows, of the three classes alone."""

    rows: int
    columns: int
    partitions: int
    task: str
    place: str
    library: str
    seconds: float
    passes: int | None
    ratio: float | None
    difference: float | None
    accuracy: float | None


@dataclass(frozen=True)
class Fitted:
    """Coefficients and the time that they took."""

    coef: NDArray[np.float64]
    passes: int | None
    seconds: float


def measure(shape: Shape, partitions: int, repeats: int) -> Iterator[ClusterRow]:
    """In memory first, then with each scheduler."""
    X, y = make(shape, partition_sizes(shape.rows, partitions))
    here = {task: _fitted(FITS[task], X, y, repeats) for task in MEASURED}
    del X, y
    gc.collect()
    for task, found in here.items():
        yield _row(shape, 1, task, "memory", "separatrix", found, found)
    for place, scheduler in SCHEDULERS.items():
        with scheduler():
            rows, labels = (each.persist() for each in make_dask(shape, partitions))
            for task in MEASURED:
                found = _fitted(FITS[task], rows, labels, repeats)
                yield _row(shape, partitions, task, place, "separatrix", found, here[task])
            if find_spec("dask_ml") and place == PEER_PLACE:
                positive = (labels == 1).persist()
                for solver in PEER_SOLVERS:
                    found = _fitted(_peer(solver), rows, positive, repeats=1, warm=False)
                    yield _row(shape, partitions, "logistic", place, f"dask-ml {solver}", found, here["logistic"])
    yield from _iris()


def _fitted(estimator: Callable[[], Any], X: Any, y: Any, repeats: int, *, warm: bool = True) -> Fitted:
    if warm:
        estimator().fit(X, y)
    runs = [timed(lambda: estimator().fit(X, y)) for _ in range(repeats)]
    model = runs[-1][0]
    coef = np.append(np.ravel(model.coef_), np.ravel(model.intercept_))
    return Fitted(coef, vars(model).get("n_passes_"), median(seconds for _, seconds in runs))


def _row(
    shape: Shape, partitions: int, task: str, place: str, library: str, found: Fitted, memory: Fitted
) -> ClusterRow:
    return ClusterRow(
        shape.rows,
        shape.columns,
        partitions,
        task,
        place,
        library,
        found.seconds,
        found.passes,
        found.seconds / memory.seconds,
        float(np.abs(found.coef - memory.coef).max() / np.abs(memory.coef).max()),
        None,
    )


def _peer(solver: str) -> Callable[[], Any]:
    """dask-ml's logistic regression with the same penalty (on its bias too) and the tolerance that it has by itself."""
    peer = import_module("dask_ml.linear_model").LogisticRegression
    return lambda: peer(C=1.0, solver=solver)


def _iris() -> Iterator[ClusterRow]:
    """Three classes in three partitions, one class in each."""
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    da = import_module("dask.array")
    rows, labels = da.from_array(X, chunks=(50, 4)), da.from_array(y, chunks=50)
    libraries = {"separatrix": FITS["logistic"]}
    if find_spec("dask_ml"):
        libraries["dask-ml lbfgs"] = _peer("lbfgs")
    for library, estimator in libraries.items():
        with SCHEDULERS["threads"](), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # dask-ml's inner loops overflow on the way
            model, seconds = timed(lambda: estimator().fit(rows, labels))  # noqa: B023  (called at once)
            accuracy = float((np.asarray(model.predict(rows)) == y).mean())
        passes = vars(model).get("n_passes_")
        yield ClusterRow(150, 4, 3, IRIS, "threads", library, seconds, passes, None, None, accuracy)


def text(rows: Sequence[ClusterRow]) -> str:
    """For a terminal."""
    head = f"{'task':22}{'place':11}{'library':16}{'seconds':>9}{'/ memory':>10}{'difference':>12}{'accuracy':>10}"
    lines = [
        f"{r.task:22}{r.place:11}{r.library:16}{r.seconds:9.3f}"
        f"{_cell(r.ratio, '.2f'):>10}{_cell(r.difference, '.1e'):>12}{_cell(r.accuracy, '.3f'):>10}"
        for r in rows
    ]
    return "\n".join([head, *lines])


def _cell(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def main(arguments: Sequence[str] | None = None, results: Path = RESULTS) -> None:
    """The command line; results go to a folder of this one."""
    options = _parser().parse_args(arguments)
    shape = Shape(QUICK_ROWS if options.quick else options.rows, options.columns)
    if not find_spec("dask_ml"):
        print("dask-ml is not installed and is left out.", file=sys.stderr)
    rows = list(measure(shape, options.partitions, 1 if options.quick else 15))
    whole = (shape.rows, shape.columns, options.partitions) == (ROWS, COLUMNS, PARTITIONS)
    place = write_records(rows, folder_of(whole=whole, folder=results) / "cluster.csv", circumstances())
    print(text(rows))
    print(f"\nWritten to {place.parent.name}/{place.name}.", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale.cluster", description="Fits of partitions.")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--columns", type=int, default=COLUMNS)
    parser.add_argument("--partitions", type=int, default=PARTITIONS)
    parser.add_argument("--quick", action="store_true", help="few rows: shows that it runs, not how fast")
    return parser


if __name__ == "__main__":
    main()
