# SPDX-License-Identifier: BSD-3-Clause
"""``separatrix datasets``: the data sets that come with the package, listed or written to a file.

``separatrix demo`` goes the whole way on one of them.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, NamedTuple

import typer

from separatrix.cli.console import Voice
from separatrix.cli.errors import CommandError, writing, wrote
from separatrix.cli.files import STANDARD, require_free
from separatrix.cli.options import Force, Json, examples, nearest

__all__ = ["CATALOGUE", "VERBS", "datasets", "demo"]


class Entry(NamedTuple):
    """The function that makes a data set, the name of its target, and a line on it."""

    function: str
    target: str
    about: str


ROWS = None  # of the demo's table: as many as the data set has by itself
CATALOGUE = {
    "loans": Entry("make_loans", "outcome", "loans repaid or not: ids, dates, gaps, categories; the demo's table"),
    "lobsters": Entry("load_lobsters", "survived", "159 juvenile lobsters: survival by size; real"),
    "mixed-types": Entry("make_mixed_types", "customer", "customers who stay or leave: five kinds of columns"),
    "separable": Entry("make_separable", "class", "two classes on two sides of a plane, with a margin"),
    "overlapping": Entry("make_overlapping", "class", "normal classes that overlap"),
    "outliers": Entry("make_outliers", "class", "narrow classes and far rows that mislead least squares"),
    "label-noise": Entry("make_label_noise", "class", "two classes, one label in ten wrong"),
    "xor-clusters": Entry("make_xor_clusters", "class", "four clusters that no line separates"),
    "gaussian-grid": Entry("make_gaussian_grid", "class", "clusters on a grid, two classes in turn"),
}


def datasets(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="The one to write; all are listed without.", show_default=False),
    ] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Where to; - is CSV.", show_default=False)
    ] = None,
    rows: Annotated[
        int | None, typer.Option("--rows", metavar="N", help="How many, of those that are generated.", min=2)
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Of those that are generated.", min=0)] = 0,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """List the data sets that come with the package, or write one to a file."""
    if name is None:
        _list(Voice(as_json=as_json))
        return
    entry = _entry(name)
    if output is None:
        raise typer.BadParameter(f"say where to: separatrix datasets {name} -o {name}.csv", param_hint="--output")
    if as_json and output == STANDARD:
        raise typer.BadParameter("with --json, standard output is taken: name a file.", param_hint="--output")
    require_free([output], force=force)
    count = _write(name, output, rows=rows, seed=seed, force=force)
    if output != STANDARD:
        wrote(output)
    voice = Voice(as_json=as_json, to_stderr=output == STANDARD)
    voice.say(f"Written: {output}, {count:,} rows. The target is {entry.target}.")
    voice.finish({"name": name, "target": entry.target, "rows": count, "files": {"data": output}})


def demo(
    folder: Annotated[
        str, typer.Option("--folder", metavar="DIR", help="Where the table, the model and the report go.")
    ] = "separatrix-demo",
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Fit a table of loans that comes with the package, end to end, in less than a minute."""
    from separatrix.cli.fit import fit_and_write
    from separatrix.cli.studies import Question

    voice = Voice(as_json=as_json)
    home, target = Path(folder), CATALOGUE["loans"].target
    is_new = not home.exists()
    data, model, report = (str(home / name) for name in ("loans.csv", "model.sx", "report.html"))
    try:
        with writing(home):
            home.mkdir(exist_ok=True)
        require_free([data, model, report], force=force)
        voice.say(f"The same as: separatrix fit {data} --target {target} -o {model} --report {report}", "")
        with TemporaryDirectory() as aside:
            draft = Path(aside, "loans.csv")
            _write("loans", str(draft), rows=ROWS, seed=0, force=False)
            question = Question(str(draft), target, shown=data)
            fit_and_write(question, voice, model=model, report=report, beside={data: draft.read_bytes()})
    except BaseException:
        if is_new and home.is_dir() and not any(home.iterdir()):
            home.rmdir()
        raise
    voice.say(f"Try: separatrix explain {model}", f"The report is at {report}: open it in a browser.")


def _write(name: str, output: str, *, rows: int | None, seed: int, force: bool) -> int:
    """Write a data set of the catalogue; the number of rows."""
    from separatrix.files import open_writer

    table = _table(name, _entry(name), rows, seed)
    with writing(output), open_writer(output, force=force) as writer:
        writer.write(table)
    return int(table.num_rows)


def _entry(name: str) -> Entry:
    if name not in CATALOGUE:
        raise typer.BadParameter(f"there is no data set {name!r}. {nearest(name, CATALOGUE)}", param_hint="NAME")
    return CATALOGUE[name]


def _list(voice: Voice) -> None:
    from separatrix.cli.render import plain_table

    table = plain_table("name", "target", "about")
    for name, entry in CATALOGUE.items():
        table.add_row(name, entry.target, entry.about)
    voice.say(table, "", "Write one to a file: separatrix datasets loans -o loans.csv")
    voice.finish({"datasets": [{"name": n, "target": e.target, "about": e.about} for n, e in CATALOGUE.items()]})


def _table(name: str, entry: Entry, rows: int | None, seed: int) -> Any:
    """The columns and the target as one Arrow table."""
    import numpy as np
    import pyarrow as pa

    from separatrix import datasets as home

    if name == "lobsters":
        if rows is not None:
            raise CommandError("usage", "lobsters is a real data set of 159 rows; leave out --rows.")
        X, y = home.load_lobsters(return_X_y=True)
        columns = {"size (mm)": X[:, 0]}
    else:
        make = getattr(home, entry.function)
        X, y, *_ = make(rng=seed) if rows is None else make(rows, rng=seed)
        columns = X if isinstance(X, dict) else {f"x{d}": column for d, column in enumerate(np.asarray(X).T)}
    return pa.table({key: pa.array(values, from_pandas=True) for key, values in columns.items()} | {entry.target: y})


VERBS = (
    (
        datasets,
        examples(
            "separatrix datasets",
            "separatrix datasets loans -o loans.csv",
            "separatrix datasets xor-clusters --rows 5000 --seed 3 -o clusters.parquet",
        ),
    ),
    (demo, examples("separatrix demo", "separatrix demo --folder /tmp/try --force")),
)
