# SPDX-License-Identifier: BSD-3-Clause
"""Fits of rows in Parquet files: time by the pass, against bare reading of the same files, and peak memory.

    python -m benchmarks.scale.files [--rows 40000000] [--columns 20] [--files 8] [--folder PATH] [--keep] [--quick]

Each task runs in a process of its own. Bare reading decodes every column, on all cores, and does nothing with it; the
faster of two ways to read is the unit. A fit's seconds are from the scan to fitted attributes, so that finding the
classes and fitting a sample count among its passes.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from benchmarks.record import RESULTS
from benchmarks.scale.child import READINGS, TASKS, run_child
from benchmarks.scale.record import circumstances, folder_of, write_records
from benchmarks.scale.tables import Shape, write_parquet

__all__ = ["FileRow", "main", "measure", "text"]

ROUNDS = 2  # of bare reading, the faster of which counts
ROWS, COLUMNS, FILES = 40_000_000, 20, 8
QUICK_ROWS = 300_000


@dataclass(frozen=True)
class FileRow:
    """One task. ``over_reading`` is the time of one pass over that of bare reading."""

    rows: int
    columns: int
    files: int
    gigabytes: float
    task: str
    seconds: float
    passes: int
    seconds_per_pass: float
    over_reading: float
    peak_mb: float


def measure(shape: Shape, folder: Path, files: int) -> Iterator[FileRow]:
    """Write the files, then one task after another."""
    with ProcessPoolExecutor(1, get_context("spawn")) as elsewhere:  # so that this process stays small: see `child`
        size = elsewhere.submit(write_parquet, shape, folder, files).result()
    outcomes = {task: run_child(task, folder) for _ in range(ROUNDS - 1) for task in READINGS}
    outcomes |= {task: run_child(task, folder) for task in TASKS if task not in READINGS}
    for task in READINGS:  # the last round after the fits: neither they nor reading always come first
        outcomes[task] = min(outcomes[task], run_child(task, folder), key=lambda outcome: outcome.seconds)
    unit = min(outcomes[task].seconds for task in READINGS)
    for task in TASKS:
        found = outcomes[task]
        per_pass = found.seconds / found.passes
        yield FileRow(
            shape.rows,
            shape.columns,
            files,
            size / 1e9,
            task,
            found.seconds,
            found.passes,
            per_pass,
            per_pass / unit,
            found.peak_mb,
        )


def text(rows: Sequence[FileRow]) -> str:
    """For a terminal."""
    head = f"{'task':24}{'seconds':>9}{'passes':>8}{'per pass':>10}{'/ reading':>11}{'peak MB':>9}"
    lines = [
        f"{r.task:24}{r.seconds:9.2f}{r.passes:8}{r.seconds_per_pass:10.2f}{r.over_reading:11.2f}{r.peak_mb:9.0f}"
        for r in rows
    ]
    return "\n".join([head, *lines])


def main(arguments: Sequence[str] | None = None, results: Path = RESULTS) -> None:
    """The command line; results go to a folder of this one."""
    options = _parser().parse_args(arguments)
    shape = Shape(QUICK_ROWS if options.quick else options.rows, options.columns)
    folder = options.folder or Path(tempfile.mkdtemp(prefix="separatrix-files-"))
    table = folder / f"{shape.rows}x{shape.columns}"
    try:
        rows = list(measure(shape, table, options.files))
    finally:
        if not options.keep:
            shutil.rmtree(table if options.folder else folder, ignore_errors=True)
    whole = (shape.rows, shape.columns, options.files) == (ROWS, COLUMNS, FILES)
    place = write_records(rows, folder_of(whole=whole, folder=results) / "files.csv", circumstances())
    print(text(rows))
    print(f"\nWritten to {place.parent.name}/{place.name}.", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale.files", description="Fits of rows in files.")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--columns", type=int, default=COLUMNS)
    parser.add_argument("--files", type=int, default=FILES)
    parser.add_argument("--folder", type=Path, help="where the files are written; default: a temporary folder")
    parser.add_argument("--keep", action="store_true", help="do not remove them")
    parser.add_argument("--quick", action="store_true", help="few rows: shows that it runs, not how fast")
    return parser


if __name__ == "__main__":
    main()
