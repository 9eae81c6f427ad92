# SPDX-License-Identifier: BSD-3-Clause
"""``separatrix report``: how a saved model does on labelled rows, in figures and as one HTML file."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Annotated

import typer

from separatrix.cli.console import Voice, steps
from separatrix.cli.document import figures_of, study_document
from separatrix.cli.errors import CommandError
from separatrix.cli.files import require_ending, require_free, write_together
from separatrix.cli.options import Data, Force, Json, Level, Positive, Saved, examples

if TYPE_CHECKING:
    from separatrix.study import Study

__all__ = ["VERBS", "report"]


def report(
    model: Saved,
    data: Data,
    target: Annotated[
        str | None, typer.Option("--target", "-t", metavar="COL", help="The labels; by default as at the fit.")
    ] = None,
    positive: Positive = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where to write it: .html.")
    ] = "report.html",
    level: Level = 0.95,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Judge a saved model on labelled rows: figures of merit, and a report on it."""
    from dataclasses import replace

    from separatrix.cli.files import load_model, name_of, require_of_tables
    from separatrix.cli.studies import contents_of, notes_to_say, positive_of, say_files

    require_ending(output, [".html", ".htm"], what="a report")
    require_free([output], force=force, inputs=[model, data])
    fitted, names = load_model(model)
    require_of_tables(fitted, model)
    side = positive_of(fitted.classes_.tolist(), positive or names.get("positive"))
    voice = Voice(as_json=as_json)
    study, said = _examined(fitted, model, data, target or names.get("target"), level, hidden=as_json)
    study = replace(study, positive=side)
    write_together(contents_of(study, report=output, saved=model))
    voice.say(f"{data}: {study.n_rows:,} rows of {name_of(data)} judged by {model}.")
    _say_figures(study, voice)
    voice.notes([*said, *notes_to_say(study.notes)])
    say_files({"report": output}, voice)
    voice.finish(study_document(study, [*said, *map(str, study.notes)], {"report": output}))


def _examined(
    fitted: object, model: str, data: str, target: str | None, level: float, *, hidden: bool
) -> tuple[Study, list[str]]:
    """What the model makes of the rows of the table, and what there is to say of the file."""
    from separatrix.cli.files import about, as_labels, name_of, open_data, read_rows, require_columns
    from separatrix.cli.scoring import Scorer
    from separatrix.study import examine

    if target is None:
        raise CommandError("data", f"{model} does not say which column it predicts. Name it: --target COL")
    scorer = Scorer(fitted, level=None, target=target)
    table = open_data(data, scorer.types)
    require_columns(table, [target], why="is the target")
    require_columns(table, scorer.inputs, why="the model needs")
    with steps("Reading", hidden=hidden) as progress, about(table.path):
        rows = read_rows(table)
        if scorer.classes.dtype.kind in "UO":  # labels of a file may look like numbers
            rows = as_labels(rows, target)
        study = examine(scorer.model, rows, target, name=name_of(data), level=level, progress=progress)
    return study, list(table.notes)


def _say_figures(study: Study, voice: Voice) -> None:
    from separatrix.cli.render import plain_table

    table = plain_table("figure", "value", "standard error", right=(1, 2))
    for name, (value, error) in figures_of(study).items():
        if not isnan(value):
            table.add_row(name.replace("_", " "), f"{value:.4f}", "" if isnan(error) else f"{error:.4f}")
    many = study.positive is not None and len(study.classes) > 2
    voice.title(f"Figures, of {study.positive} against the other classes" if many else "Figures")
    voice.say(table)


VERBS = (
    (
        report,
        examples(
            "separatrix report model.sx this_year.csv -o this_year.html",
            "separatrix report model.sx labelled.parquet --target churn -o check.html --force",
        ),
    ),
)
