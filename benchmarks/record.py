# SPDX-License-Identifier: BSD-3-Clause
"""Runs on disk: ``results/MACHINE/MODE.csv``, one line per measurement, and ``MODE.toml`` in the same folder.

The mode is ``full``, ``quick`` or ``toy``. The files are written after every task, so that a run can be resumed.
"""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from benchmarks.machine import Config, to_toml
from benchmarks.problems import PROBLEMS

__all__ = ["LONGER", "RESULTS", "SCRATCH", "Row", "Run", "committed_runs", "read_run", "write_run"]

RESULTS = Path(__file__).parent / "results"
LONGER = "longer than"  # note of a fit that was interrupted
SCRATCH = "scratch"  # name of a run that is not kept: with tiny tables, or only some of the problems


@dataclass(frozen=True)
class Row:
    """One measurement. Fields that do not apply to the task are None, an empty cell in the file.

    ``grams`` and ``reads`` are the time divided by that of ``X.T @ X`` and of ``X @ w``. ``gradient`` is its largest
    component per row; ``gradient_sd`` is also divided by the column's standard deviation. ``note`` says why a row has
    no time ("not installed", "left out", "failed: ..."), or that the time is a lower bound ("longer than").
    """

    problem: str
    task: str
    library: str
    version: str
    seconds: float | None
    grams: float | None
    reads: float | None
    passes: int | None
    peak_mb: float | None
    peak_ratio: float | None
    gap: float | None
    gradient: float | None
    gradient_sd: float | None
    n: int
    m: int
    k: int
    dtype: str
    date: str
    note: str = ""

    @property
    def is_bound(self) -> bool:
        """Whether the fit was interrupted, so that its time is a lower bound."""
        return self.note == LONGER


READERS: Mapping[str, Callable[[str], Any]] = {
    "str": str,
    "int": int,
    "int | None": lambda cell: int(cell) if cell else None,
    "float | None": lambda cell: float(cell) if cell else None,
}


@dataclass(frozen=True)
class Run:
    """All measurements of one machine in one mode, with the date and a description of the machine."""

    name: str
    mode: str
    config: Config
    rows: Sequence[Row]

    def with_rows(self, rows: Sequence[Row]) -> Run:
        """Replace the rows of these problems and tasks, or add them, in the order of the problems."""
        new = {(row.problem, row.task) for row in rows}
        merged = [row for row in self.rows if (row.problem, row.task) not in new] + list(rows)
        order = {key: i for i, key in enumerate((p.name, task) for p in PROBLEMS for task in p.tasks)}
        return replace(self, rows=sorted(merged, key=lambda row: order.get((row.problem, row.task), len(order))))


def write_run(run: Run, folder: Path = RESULTS) -> Path:
    """Write both files and return their folder."""
    place = folder / run.name
    place.mkdir(parents=True, exist_ok=True)
    with (place / f"{run.mode}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Row)], lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _cell(value) for name, value in asdict(row).items()} for row in run.rows)
    (place / f"{run.mode}.toml").write_text(to_toml(run.config), encoding="utf-8")
    return place


def read_run(place: Path, mode: str) -> Run:
    """Read a run from the folder of `write_run`; floats have six digits."""
    with (place / f"{mode}.csv").open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    rows = [Row(**{field.name: READERS[str(field.type)](line[field.name]) for field in fields(Row)}) for line in lines]
    return Run(place.name, mode, tomllib.loads((place / f"{mode}.toml").read_text(encoding="utf-8")), rows)


def committed_runs(folder: Path = RESULTS) -> list[Run]:
    """The newest kept run of each machine, sorted by name; a full run before a quick one of the same day."""
    newest: dict[str, Run] = {}
    for mode in ("quick", "full"):
        for file in sorted(folder.glob(f"*/{mode}.csv")):
            run = read_run(file.parent, mode)
            older = newest.get(run.name)
            if run.name != SCRATCH and (older is None or older.config["date"] <= run.config["date"]):  # type: ignore[operator]
                newest[run.name] = run
    return [newest[name] for name in sorted(newest)]


def _cell(value: str | float | None) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
