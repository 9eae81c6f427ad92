# SPDX-License-Identifier: BSD-3-Clause
"""Compare evidence with cross-validation, and with a plain loop; keep the results and print them.

python -m benchmarks.evidence [tables] [grid] [--quick] [--splits N] [--only NAME ...]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.evidence import duel, grid
from benchmarks.evidence.tables import TABLES
from benchmarks.machine import machine_name
from benchmarks.record import RESULTS, SCRATCH

NAMES = tuple(table.name for table in TABLES)
PARTS = ("tables", "grid")
SPLITS = 10


def main(arguments: Sequence[str] | None = None, folder: Path = RESULTS) -> None:
    """The command line; results go to a folder of this one."""
    options = _parser().parse_args(arguments)
    parts = options.parts or PARTS
    if "tables" in parts:
        _tables(options, folder)
    if "grid" in parts:
        result = grid.explore(rows=60, side=4, cells=2) if options.quick else grid.explore()
        grid.write(result, folder / _place(whole=not options.quick) / "grid.csv")
        print(grid.text(result))


def _tables(options: argparse.Namespace, folder: Path) -> None:
    chosen = [table for table in TABLES if table.name in options.only]
    for table in chosen:
        if not table.is_here:
            print(f"{table.name}: skipped, {table.folder} is not kept beside the project", file=sys.stderr)
    bouts = []
    here = [table for table in chosen if table.is_here]
    for bout in duel.fight(here, 2 if options.quick else options.splits, 300 if options.quick else duel.MOST_TRAINING):
        bouts.append(bout)
        print(
            f"{bout.table} {bout.split}: {bout.log_loss / bout.log_loss_cv:.4f} of the log-loss, "
            f"{bout.seconds / bout.seconds_cv:.2f} of the time",
            file=sys.stderr,
        )
    whole = not options.quick and tuple(options.only) == NAMES and len(here) == len(chosen)
    duel.write_bouts(bouts, folder / _place(whole=whole) / "evidence.csv")
    if bouts:
        print(duel.text(duel.verdicts(bouts)))


def _place(*, whole: bool) -> str:
    """A whole run is kept under the kind of machine; any other is scratch."""
    return machine_name() if whole else SCRATCH


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.evidence", description="What the evidence is worth.")
    parser.add_argument("parts", nargs="*", metavar="PART", help="tables, grid; default: both")
    parser.add_argument("--quick", action="store_true", help="few rows: shows that it runs, not how well")
    parser.add_argument("--splits", type=int, default=SPLITS, help=f"of each table; default {SPLITS}")
    parser.add_argument("--only", nargs="+", metavar="TABLE", choices=NAMES, default=NAMES, help=", ".join(NAMES))
    return parser


if __name__ == "__main__":
    main()
