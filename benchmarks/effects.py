# SPDX-License-Identifier: BSD-3-Clause
"""Average slopes and comparisons of all columns with their standard errors: time and memory, beside statsmodels.

    python -m benchmarks.effects [--rows 1000000] [--columns 20] [--classes 3] [--peer-rows 50000] [--quick]

Each task runs in a process of its own, because the peak of a process cannot be reset. The fit is not measured.
``peak_mb`` is the growth of the peak of the process during the task; for rows in memory, they are not part of it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import timed
from benchmarks.scale.child import peak_bytes

__all__ = ["TASKS", "Outcome", "Shape", "main", "run"]


@dataclass(frozen=True)
class Shape:
    """Size of a table."""

    rows: int
    columns: int
    classes: int


@dataclass(frozen=True)
class Outcome:
    """What a task took, and its first estimate with the standard error, which show that all tasks agree."""

    task: str
    rows: int
    seconds: float
    peak_mb: float
    estimate: float
    error: float


def make(shape: Shape) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """A table of normal columns, with labels from a softmax model."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(shape.rows, shape.columns))
    W = 0.3 * rng.normal(size=(shape.columns, shape.classes))
    return X, np.asarray((X @ W + rng.gumbel(size=(shape.rows, shape.classes))).argmax(axis=1))


def ours(question: str, in_file: bool = False) -> Callable[[Shape], Callable[[], Any]]:
    """One of our functions on the rows of the fit, in memory or in a Parquet file."""

    def prepare(shape: Shape) -> Callable[[], Any]:
        import separatrix as sx

        X, y = make(shape)
        model = sx.LogisticRegression(alpha=0).fit(X, y)
        data: Any = X
        if in_file:
            import pyarrow as pa
            import pyarrow.parquet as pq

            path = Path(tempfile.mkdtemp(), "rows.parquet")
            pq.write_table(pa.table({f"x{d}": x for d, x in enumerate(X.T)}), path)
            del X
            data = sx.scan(path)
        _ = model.weight_distribution_
        ask = getattr(sx.effects, question)
        ask(model, make(Shape(1000, shape.columns, shape.classes))[0])
        return lambda: [float(ask(model, data)[name][0]) for name in ("estimate", "standard_error")]

    return prepare


def peer(shape: Shape) -> Callable[[], Any]:
    """Average slopes of statsmodels."""
    import statsmodels.api as sm

    X, y = make(shape)
    fit = sm.MNLogit(y, sm.add_constant(X)).fit(disp=0)

    def margins() -> list[float]:
        found = fit.get_margeff()
        return [float(found.margeff[0, 0]), float(found.margeff_se[0, 0])]

    return margins


TASKS: dict[str, Callable[[Shape], Callable[[], Any]]] = {
    "slopes": ours("slopes"),
    "slopes, Parquet": ours("slopes", in_file=True),
    "comparisons": ours("comparisons"),
    "predictions": ours("predictions"),
    "statsmodels get_margeff": peer,
}


def run(task: str, shape: Shape) -> Outcome:
    """The outcome of a task in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.effects", "--task", task, json.dumps(asdict(shape))]
    finished = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return Outcome(**json.loads(finished.stdout.splitlines()[-1]))


def measure(task: str, shape: Shape) -> Outcome:
    """Prepare, then measure."""
    action = TASKS[task](shape)
    before = peak_bytes()
    (estimate, error), seconds = timed(action)
    return Outcome(task, shape.rows, seconds, (peak_bytes() - before) / 1e6, estimate, error)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all tasks, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--peer-rows", type=int, default=50_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--classes", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="2000 rows of 4 columns, to see that it runs")
    parser.add_argument("--task", nargs=2, metavar=("TASK", "SHAPE"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.task:
        print(json.dumps(asdict(measure(options.task[0], Shape(**json.loads(options.task[1]))))))
        return
    if options.quick:
        options.rows = options.peer_rows = 2000
        options.columns = 4
    sizes = {"statsmodels get_margeff": options.peer_rows}
    print(f"{'task':24}  {'rows':>9}  {'seconds':>8}  {'peak MB':>8}  {'estimate':>10}  {'error':>10}")
    for task in TASKS:
        found = run(task, Shape(sizes.get(task, options.rows), options.columns, options.classes))
        print(
            f"{task:24}  {found.rows:9,}  {found.seconds:8.3f}  {found.peak_mb:8.1f}  {found.estimate:10.3g}"
            f"  {found.error:10.3g}",
            flush=True,
        )


if __name__ == "__main__":
    main()
