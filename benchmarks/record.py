# SPDX-License-Identifier: BSD-3-Clause
"""A run on disk: ``results/NAME/results.csv``, one line per measurement, and ``config.toml`` in the same folder."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from benchmarks.machine import Config, to_toml

__all__ = ["RESULTS", "SCRATCH", "Row", "Run", "committed_runs", "read_run", "write_run"]

RESULTS = Path(__file__).parent / "results"
SCRATCH = "scratch"  # name of a run that is not kept: with tiny tables, or only some of the problems


@dataclass(frozen=True)
class Row:
    """One measurement. Fields that do not apply to the task are None, an empty cell in the file.

    ``gradient`` is its largest component per row; ``gradient_sd`` is also divided by the column's standard deviation.
    """

    problem: str
    task: str
    library: str
    version: str
    seconds: float
    grams: float | None
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


@dataclass(frozen=True)
class Run:
    """All measurements of one process, with the date and a description of the machine."""

    name: str
    config: Config
    rows: Sequence[Row]


def write_run(run: Run, folder: Path = RESULTS) -> Path:
    """Write both files and return their folder."""
    place = folder / run.name
    place.mkdir(parents=True, exist_ok=True)
    with (place / "results.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Row)], lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _cell(value) for name, value in asdict(row).items()} for row in run.rows)
    (place / "config.toml").write_text(to_toml(run.config), encoding="utf-8")
    return place


def read_run(place: Path) -> Run:
    """Read a run from the folder of `write_run`; floats have six digits."""
    with (place / "results.csv").open(newline="", encoding="utf-8") as file:
        rows = [_row(line) for line in csv.DictReader(file)]
    return Run(place.name, tomllib.loads((place / "config.toml").read_text(encoding="utf-8")), rows)


def committed_runs(folder: Path = RESULTS) -> list[Run]:
    """All kept runs, sorted by name."""
    places = sorted(file.parent for file in folder.glob("*/results.csv"))
    return [read_run(place) for place in places if place.name != SCRATCH]


def _cell(value: str | float | None) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _row(line: dict[str, str]) -> Row:
    return Row(
        problem=line["problem"],
        task=line["task"],
        library=line["library"],
        version=line["version"],
        seconds=float(line["seconds"]),
        grams=_number(line["grams"]),
        passes=int(line["passes"]) if line["passes"] else None,
        peak_mb=_number(line["peak_mb"]),
        peak_ratio=_number(line["peak_ratio"]),
        gap=_number(line["gap"]),
        gradient=_number(line["gradient"]),
        gradient_sd=_number(line["gradient_sd"]),
        n=int(line["n"]),
        m=int(line["m"]),
        k=int(line["k"]),
        dtype=line["dtype"],
    )


def _number(cell: str) -> float | None:
    return float(cell) if cell else None
