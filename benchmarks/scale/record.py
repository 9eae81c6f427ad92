# SPDX-License-Identifier: BSD-3-Clause
"""Records on disk: one CSV for each kind of record, one line for each record, beside the other results of a machine.

Every line says on what kind of machine and with which versions it was measured, as a file may be read alone.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.machine import describe, machine_name
from benchmarks.record import RESULTS, SCRATCH

__all__ = ["Circumstances", "circumstances", "folder_of", "read_records", "write_records"]

Record = TypeVar("Record")

SPOKEN = ("numpy", "numba", "pyarrow", "dask", "distributed")

# By the annotation of a field: what its cell says.
READERS: Mapping[str, Callable[[str], Any]] = {
    "str": str,
    "int": int,
    "float": float,
    "int | None": lambda cell: int(cell) if cell else None,
    "float | None": lambda cell: float(cell) if cell else None,
}


@dataclass(frozen=True)
class Circumstances:
    """The first columns of every file: the kind of machine, and versions."""

    date: str
    machine: str
    versions: str


def circumstances() -> Circumstances:
    """Those of this process."""
    about = describe()
    machine = f"{about['cpu']}, {about['cores']} cores, {about['memory_gb']} GB"
    versions = f"python {about['python']}, " + ", ".join(f"{name} {version(name)}" for name in SPOKEN)
    return Circumstances(str(about["date"]), machine, versions)


def folder_of(*, whole: bool, folder: Path = RESULTS) -> Path:
    """A whole run is kept under the kind of machine, in place of the one before; any other is scratch."""
    return folder / (machine_name() if whole else SCRATCH)


def write_records(records: Sequence[Any], path: Path, about: Circumstances) -> Path:
    """One line for each, all of one kind; numbers to six digits."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [asdict(about) | asdict(record) for record in records]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _cell(value) for name, value in line.items()} for line in lines)
    return path


def read_records(path: Path, kind: type[Record]) -> tuple[list[Record], Circumstances]:
    """What `write_records` wrote."""
    with path.open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    return [_record(line, kind) for line in lines], _record(lines[0], Circumstances)


def _record(line: Mapping[str, str], kind: type[Record]) -> Record:
    return kind(**{f.name: READERS[str(f.type)](line[f.name]) for f in fields(kind)})  # type: ignore[arg-type]


def _cell(value: str | float | None) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
