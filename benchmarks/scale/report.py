# SPDX-License-Identifier: BSD-3-Clause
"""The tables of docs/scale.md, from the results that are kept.

    python -m benchmarks.scale.report        rewrites what stands between its marks in the page

The prose of the page is written by hand; a table is whatever stands between ``<!-- table: NAME -->`` and
``<!-- end -->``. A test compares the page with the results.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchmarks.record import RESULTS
from benchmarks.scale.cluster import ClusterRow
from benchmarks.scale.constants import ConstantRow, from_rows
from benchmarks.scale.files import FileRow
from benchmarks.scale.outlook import CARD, OUTLOOKS, card_fits, outlook
from benchmarks.scale.record import Circumstances, read_records
from benchmarks.scale.simulate import SimulatedRow

__all__ = ["PAGE", "TABLES", "fill", "main"]

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"
HERE, CARDS = "amd-epyc-2-cores", "h200"
MARKS = re.compile(r"(<!-- table: (\w+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)

WORDS = {
    "labels": "labels",
    "draw": "drawing the sample",
    "value_grad": "value and gradient",
    "value_grad_hess": "value, gradient and Hessian",
    "extent": "extent of the columns",
    "first_look": "class moments",
}
SINGLES = {
    "bandwidth": ("memory bandwidth, all cores", 1e-9, "GB/s"),
    "reading": ("bare reading of Parquet, all cores", 1e9, "core-ns per value"),
    "decoding": ("decoding Parquet into blocks of rows", 1e9, "core-ns per value"),
    "label_reading": ("reading the labels of a file", 1e9, "core-ns per row"),
    "network": ("transfer from a worker process to the client", 1e-9, "GB/s"),
    "solve": ("Cholesky factorisation", 1e12, "ps times M³"),
}
FITS = {"logistic": "logistic", "posterior": "logistic with posterior and evidence", "lda": "linear discriminant"}
ON_CARDS = ("logistic with posterior and evidence", "linear discriminant")


def constants_table(folder: Path) -> str:
    """Work by the pass, then the rest."""
    rows, about = read_records(folder / HERE / "constants.csv", ConstantRow)
    found = from_rows(rows)
    works = [
        [WORDS.get(name, name), *(f"{1e9 * each:.3g}" for each in (work.row, work.number, work.pair))]
        for name, work in found.work.items()
    ]
    singles = [[words, f"{getattr(found, name) * scale:.3g}", unit] for name, (words, scale, unit) in SINGLES.items()]
    for scheduler in found.graph:
        words = f"Dask with {scheduler}: time per round, and per partition"
        singles.append([words, f"{1e3 * found.graph[scheduler]:.2g}, {1e3 * found.task[scheduler]:.2g}", "ms"])
        slow = ", ".join(f"{WORDS.get(kind, kind)} {pace:.2g}" for kind, pace in found.pace[scheduler].items())
        singles.append([f"Dask with {scheduler}: time of a pass, relative to no Dask (ρ)", slow, "ratio"])
    return "\n\n".join(
        [
            _about(about),
            _table(["one pass, core-ns", "per row (r)", "per value (s)", "per pair of columns (q)"], works),
            _table(["", "measured", "unit"], singles),
        ]
    )


def simulated_table(folder: Path) -> str:
    """Predicted and measured."""
    rows, about = read_records(folder / HERE / "simulate.csv", SimulatedRow)
    header = ["place", "rows x columns", "fit", "passes", "predicted, s", "measured, s", "ratio"]
    lines = [
        [
            r.place,
            _shape(r.rows, r.columns),
            FITS[r.task],
            str(r.passes),
            _s(r.predicted),
            _s(r.measured),
            f"{r.ratio:.2f}",
        ]
        for r in rows
    ]
    far = max(max(row.ratio, 1 / row.ratio) for row in rows)
    last = f"Predicted and measured times differ by a factor of at most {far:.2f}."
    return f"{_about(about)}\n\n{_table(header, lines)}\n\n{last}"


def files_table(folder: Path) -> str:
    """Fits of Parquet files."""
    rows, about = read_records(folder / HERE / "files.csv", FileRow)
    header = ["task", "seconds", "passes", "seconds per pass", "relative to bare reading", "peak RSS, MB"]
    lines = [
        [
            FITS.get(r.task, r.task),
            _s(r.seconds),
            str(r.passes),
            _s(r.seconds_per_pass),
            f"{r.over_reading:.2f}",
            f"{r.peak_mb:.0f}",
        ]
        for r in rows
    ]
    shape = f"{_shape(rows[0].rows, rows[0].columns)} float64 in {rows[0].files} files, {rows[0].gigabytes:.2g} GB."
    return f"{shape} {_about(about)}\n\n{_table(header, lines)}"


def cluster_table(folder: Path) -> str:
    """Fits of partitions."""
    rows, about = read_records(folder / HERE / "cluster.csv", ClusterRow)
    header = ["fit", "rows x columns", "place", "library", "seconds", "relative to memory", "difference", "accuracy"]
    lines = [
        [
            FITS.get(r.task, r.task),
            _shape(r.rows, r.columns),
            r.place,
            r.library,
            _s(r.seconds),
            "" if r.ratio is None else f"{r.ratio:.2f}",
            "" if r.difference is None else f"{r.difference:.0e}",
            "" if r.accuracy is None else f"{r.accuracy:.3f}",
        ]
        for r in rows
    ]
    return f"{_about(about)}\n\n{_table(header, lines)}"


def outlook_table(folder: Path) -> str:
    """What the constants predict for other places."""
    constants = from_rows(read_records(folder / HERE / "constants.csv", ConstantRow)[0])
    header = ["rows x columns", "place", "fit", "passes", "predicted", "largest part"]
    lines = []
    for each in OUTLOOKS:
        for fit, words in FITS.items():
            found = outlook(each, fit, constants)
            shape = f"{_shape(each.rows, each.columns)} float{8 * each.itemsize}"
            share = found.parts[found.bound] / found.seconds
            lines.append(
                [shape, each.place.name, words, str(found.passes), _span(found.seconds), f"{found.bound}, {share:.0%}"]
            )
    return _table(header, lines)


def card_table(folder: Path) -> str:
    """What the fits measured on a card would take for all that it holds."""
    rows = card_fits(folder / CARDS / "gpu.csv", ON_CARDS)
    gigabytes = CARD.rows * CARD.columns * CARD.itemsize / 1e9
    header = [
        "fit",
        "passes",
        "measured, 1e+07 x 256",
        f"predicted, {_shape(CARD.rows, CARD.columns)} ({gigabytes:.0f} GB)",
    ]
    return _table(header, [[r.task, str(r.passes), _span(r.measured), _span(r.predicted)] for r in rows])


TABLES: Mapping[str, Callable[[Path], str]] = {
    "constants": constants_table,
    "simulated": simulated_table,
    "files": files_table,
    "cluster": cluster_table,
    "outlook": outlook_table,
    "card": card_table,
}


def fill(page: str, folder: Path = RESULTS) -> str:
    """The page with every table made anew; a sentence instead of one whose results are not there."""

    def made(found: re.Match[str]) -> str:
        return f"{found[1]}{_made(found[2], folder)}\n{found[4]}"

    return MARKS.sub(made, page)


def _made(name: str, folder: Path) -> str:
    try:
        return TABLES[name](folder)
    except FileNotFoundError as error:
        return f"*Not measured yet: `{Path(str(error.filename)).name}` is not among the results.*"


def _table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = ["---"] * len(header)
    return "\n".join("| " + " | ".join(line) + " |" for line in [header, rule, *lines])


def _about(about: Circumstances) -> str:
    return f"{about.machine}; {about.versions}; {about.date}."


def _shape(rows: float, columns: int) -> str:
    return f"{rows:.3g} x {columns}" if rows >= 1e4 else f"{rows:.0f} x {columns}"


def _s(seconds: float) -> str:
    return f"{seconds:.3g}"


def _span(seconds: float) -> str:
    """In the unit that people would say it in."""
    for unit, size in (("h", 3600.0), ("min", 60.0), ("s", 1.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{1e3 * seconds:.3g} ms"


def main() -> None:
    """Rewrite the tables of the page."""
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
