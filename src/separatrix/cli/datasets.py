# SPDX-License-Identifier: BSD-3-Clause
"""``separatrix datasets``: list or write the data sets of the package. ``separatrix demo``: fit one of them."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import Annotated

import typer

from separatrix._lazy import pa
from separatrix._text import counted, did_you_mean
from separatrix.cli.console import Printer
from separatrix.cli.errors import STANDARD, CommandError, writing, written
from separatrix.cli.files import require_free, require_local
from separatrix.cli.fit import study_file
from separatrix.cli.layout import TextTable
from separatrix.cli.options import Force, Json, command, complete_from, within

# Target and description by name; the function make_NAME creates the data set, load_lobsters the real one.
CATALOGUE = {
    "loans": ("outcome", "loans repaid or not: dates, missing values, categories; used by demo"),
    "lobsters": ("survived", "survival of 159 juvenile lobsters by size; real data"),
    "mixed-types": ("customer", "customers who stay or leave: five types of columns"),
    "separable": ("class", "two classes separated by a hyperplane, with a margin"),
    "overlapping": ("class", "overlapping normal classes"),
    "outliers": ("class", "narrow classes with outliers that mislead least squares"),
    "label-noise": ("class", "two classes, one label in ten wrong"),
    "xor-clusters": ("class", "four clusters that no line separates"),
    "gaussian-grid": ("class", "clusters on a grid, two alternating classes"),
}


@command(
    "separatrix datasets",
    "separatrix datasets loans -o loans.csv",
    "separatrix datasets xor-clusters --rows 5000 --seed 3 -o clusters.parquet",
)
def datasets(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="Data set to write; by default all are listed.",
            show_default=False,
            autocompletion=complete_from(CATALOGUE),
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Output file; - writes CSV to standard output.", show_default=False
        ),
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option("--rows", metavar="N", help="Number of rows of a generated data set.", callback=within(2)),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="Random seed of a generated data set.", callback=within(0))
    ] = 0,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """List the data sets of the package, or write one to a file."""
    if name is None:
        printer, table = Printer(as_json=as_json), TextTable("name", "target", "about")
        for key, (target, about) in CATALOGUE.items():
            table.add_row(key, target, about)
        printer.text(table, "", "Write one to a file: separatrix datasets loans -o loans.csv")
        listed = [{"name": key, "target": target, "about": about} for key, (target, about) in CATALOGUE.items()]
        printer.document({"datasets": listed})
        return
    if name not in CATALOGUE:
        raise typer.BadParameter(f"there is no data set {name!r}.{did_you_mean(name, CATALOGUE)}", param_hint="NAME")
    if output is None:
        raise typer.BadParameter(f"name the file: separatrix datasets {name} -o {name}.csv", param_hint="--output")
    if as_json and output == STANDARD:
        raise typer.BadParameter("--json needs standard output: name an output file.", param_hint="--output")
    require_free([output], force=force)
    target, count = CATALOGUE[name][0], _write(name, output, rows=rows, seed=seed, force=force)
    if output != STANDARD:
        written.append(output)
    printer = Printer(as_json=as_json, to_stderr=output == STANDARD)
    printer.text(f"Written: {output}, {counted(count, 'row')}. The target is {target}.")
    printer.document({"name": name, "target": target, "rows": count, "files": {"data": output}})


@command("separatrix demo", "separatrix demo --folder /tmp/try --force")
def demo(
    folder: Annotated[
        str, typer.Option("--folder", metavar="DIR", help="Folder for the table, the model and the report.")
    ] = "separatrix-demo",
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Fit a model to a table of loans that comes with the package, in less than a minute."""
    require_local([folder])
    printer, home, target = Printer(as_json=as_json), Path(folder), CATALOGUE["loans"][0]
    data, model, report = (str(home / name) for name in ("loans.csv", "model.sx", "report.html"))
    is_new = not home.exists()
    try:
        with writing(home):
            home.mkdir(parents=True, exist_ok=True)
        require_free([data, model, report], force=force)
        fit = shlex.join(["separatrix", "fit", data, "--target", target, "-o", model, "--report", report])
        printer.line(f"This command is the same as: {fit}", "")
        _write("loans", data, rows=None, seed=0, force=force)
        outputs = {"data": data, "model": model, "report": report}
        study_file(data, target, outputs, force=force, as_json=as_json)
    except BaseException:
        if is_new and not written:
            shutil.rmtree(home, ignore_errors=True)
        raise
    printer.text("", f"Open {report} in a browser to read the report.")


def _write(name: str, output: str, *, rows: int | None, seed: int, force: bool) -> int:
    """Write a data set of the catalogue with its target as the last column, and return the number of rows."""
    import numpy as np

    from separatrix import datasets as home
    from separatrix.files import open_writer

    if name == "lobsters":
        if rows is not None:
            raise CommandError("usage", "lobsters is a real data set of 159 rows; omit --rows.")
        X, y = home.load_lobsters(return_X_y=True)
        columns = {"size (mm)": X[:, 0]}
    else:
        make = getattr(home, f"make_{name.replace('-', '_')}")
        X, y, *_ = make(rng=seed) if rows is None else make(rows, rng=seed)
        columns = X if isinstance(X, dict) else {f"x{d}": column for d, column in enumerate(np.asarray(X).T)}
    arrays = {key: pa.array(values, from_pandas=True) for key, values in columns.items()}
    with writing(output), open_writer(output, force=force) as writer:
        writer.write(pa.table(arrays | {CATALOGUE[name][0]: y}))
    return len(y)
